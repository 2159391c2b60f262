//! String representations of small values. The schema describes each representation and deserialization
//! checks it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use wakeful_core::budget::{DAILY_CAP_MAX, MicroUsd, parse_cap};
use wakeful_core::id::{AgentId, EventName, RuleId, SessionId, SourceId, TurnId};
use wakeful_core::journal::{CalendarDay, RecordId};
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::secret::SecretName;
use wakeful_core::time::Millis;

/// Maximum number of rows in a list.
pub const LIMIT_MAX: u32 = 500;

/// Number of rows in a list if the caller gives no limit.
const LIMIT_DEFAULT: u32 = 100;

/// Text without control characters.
pub(crate) const NO_CONTROL: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

/// One line of text that is not blank.
pub(crate) const LINE: &str = concat!(
    r"^[^\u0000-\u001f\u007f-\u009f]*",
    r"[^\s\u0000-\u001f\u007f-\u009f]",
    r"[^\u0000-\u001f\u007f-\u009f]*$"
);

/// Text without the NUL character, which PostgreSQL does not store.
pub(crate) const NO_ZERO: &str = r"^[^\u0000]*$";

/// Text that is not blank.
pub(crate) const NOT_BLANK: &str = r"[^\s\u0085]";

/// A core value in its string representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text<T>(pub T);

/// The string representation of a value.
pub trait Spelling: Sized {
    /// Returns the schema of the string.
    fn schema() -> Schema;

    /// Parses the string. The error states what the string must be.
    fn read(text: &str) -> Result<Self, String>;

    /// Formats the value.
    fn spell(&self) -> String;
}

impl<T> From<T> for Text<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: Spelling> std::fmt::Display for Text<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.spell())
    }
}

impl<T: Spelling> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.spell())
    }
}

impl<'de, T: Spelling> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        T::read(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl<T: Spelling> JsonSchema for Text<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

macro_rules! spelling {
    ($type:ty, $schema:tt, $read:expr, $spell:expr) => {
        impl Spelling for $type {
            fn schema() -> Schema {
                json_schema!($schema)
            }

            fn read(text: &str) -> Result<Self, String> {
                $read(text)
            }

            fn spell(&self) -> String {
                $spell(self)
            }
        }
    };
}

/// Implements `Spelling` for a name: lower-case letters and digits, with the separators that the type
/// allows between them.
macro_rules! name {
    ($type:ty, $pattern:literal) => {
        spelling!(
            $type,
            { "type": "string", "minLength": 1, "maxLength": 64, "pattern": $pattern },
            |text: &str| <$type>::parse(text).map_err(|error| error.to_string()),
            ToString::to_string
        );
    };
}

/// Implements `Spelling` for a hash.
macro_rules! hash {
    ($type:ident) => {
        spelling!(
            $type,
            { "type": "string", "pattern": "^[0-9a-f]{64}$" },
            |text: &str| Digest::from_hex(text).map($type).ok_or_else(|| "must be 64 lower-case hex digits".to_owned()),
            ToString::to_string
        );
    };
}

name!(AgentId, "^[a-z0-9][a-z0-9_-]*$");
name!(SessionId, "^[a-z0-9][a-z0-9_-]*$");
name!(RuleId, "^[a-z0-9][a-z0-9_-]*$");
name!(SourceId, "^[a-z0-9][a-z0-9_-]*$");
name!(EventName, "^[a-z0-9][a-z0-9._-]*$");
spelling!(
    SecretName,
    { "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Z_][A-Z0-9_]*$" },
    |text: &str| SecretName::parse(text).map_err(|problem| problem.message),
    ToString::to_string
);
hash!(RunKey);
hash!(OperationId);
spelling!(
    TurnId,
    { "type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$" },
    |text: &str| TurnId::parse(text).map_err(|error| error.to_string()),
    ToString::to_string
);
spelling!(
    RecordId,
    { "type": "string", "pattern": "^[0-9a-f]{32}$" },
    |text: &str| RecordId::parse("id", text).map_err(|_| "must be 32 lower-case hex digits".to_owned()),
    ToString::to_string
);
spelling!(
    CalendarDay,
    { "type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" },
    |text: &str| CalendarDay::parse(text).map_err(|error| error.to_string()),
    ToString::to_string
);
spelling!(
    Millis,
    { "type": "string", "format": "date-time" },
    |text: &str| Millis::parse(text).ok_or_else(|| "must be a time such as 2026-02-17T16:00:00Z".to_owned()),
    |at: &Millis| at.rfc3339()
);
spelling!(
    MicroUsd,
    { "type": "string", "pattern": "^([0-9]{1,6}([.][0-9]{1,6})?|1000000([.]0{1,6})?)$" },
    |text: &str| parse_cap(text)
        .ok_or_else(|| format!("must be dollars from 0 to {DAILY_CAP_MAX} with at most six decimals, such as 2.50")),
    ToString::to_string
);

/// Between `MIN` and `MAX` lower-case hex digits: an id or a prefix of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hex<const MIN: usize, const MAX: usize>(String);

impl<const MIN: usize, const MAX: usize> Hex<MIN, MAX> {
    /// Returns the digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> TryFrom<String> for Hex<MIN, MAX> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if (MIN..=MAX).contains(&text.len()) && text.bytes().all(is_digit) {
            return Ok(Self(text));
        }
        let count = if MIN == MAX {
            MIN.to_string()
        } else {
            format!("{MIN} to {MAX}")
        };
        Err(format!("must be {count} lower-case hex digits"))
    }
}

impl<const MIN: usize, const MAX: usize> Serialize for Hex<MIN, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Hex<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::try_from(text).map_err(serde::de::Error::custom)
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Hex<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Hex".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": format!("^[0-9a-f]{{{MIN},{MAX}}}$") })
    }
}

/// The maximum number of rows in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32")]
pub struct Limit(pub u32);

impl Default for Limit {
    fn default() -> Self {
        Self(LIMIT_DEFAULT)
    }
}

impl TryFrom<u32> for Limit {
    type Error = String;

    fn try_from(rows: u32) -> Result<Self, String> {
        match rows {
            1..=LIMIT_MAX => Ok(Self(rows)),
            _ => Err(format!("must be 1 to {LIMIT_MAX}; request several pages instead")),
        }
    }
}

impl JsonSchema for Limit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": LIMIT_MAX })
    }
}

/// The schema of a `String` that contains a time.
pub(crate) type DateTime = Text<Millis>;

/// The schema of a `String` that contains a day.
pub(crate) type Date = Text<CalendarDay>;

/// The schema of a `Value` that is an object.
pub(crate) type Object = Map<String, Value>;

/// Deserializes an integer that may have a decimal point, because `5` and `5.0` are the same number in
/// JSON.
pub(crate) fn whole<'de, D: Deserializer<'de>, T: std::str::FromStr>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let spelled = number
        .as_f64()
        .filter(|number| number.fract() == 0.0)
        .map(|number| format!("{number:.0}"));
    let parsed = spelled.and_then(|digits| digits.parse().ok());
    parsed
        .map(Some)
        .ok_or_else(|| serde::de::Error::custom(format!("{number} is not a whole number or is too large")))
}

/// Deserializes a required integer that may have a decimal point.
pub(crate) fn whole_number<'de, D: Deserializer<'de>, T: std::str::FromStr>(
    deserializer: D,
) -> Result<T, D::Error> {
    whole(deserializer)?.ok_or_else(|| serde::de::Error::custom("a whole number is missing"))
}
