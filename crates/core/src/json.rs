//! Canonical JSON (RFC 8785) and its hash, equal on every machine; and whole numbers in every spelling.

mod canonical;
pub mod strict;

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

use crate::key::Digest;

/// A value without a canonical form, such as a map with keys that are not strings.
#[derive(Debug, thiserror::Error)]
#[error("the value has no canonical JSON form")]
pub struct NotCanonical(#[source] serde_json::Error);

/// The canonical bytes of a value.
pub fn canonical<T: Serialize>(value: &T) -> Result<Vec<u8>, NotCanonical> {
    canonical::spell(value).map_err(NotCanonical)
}

/// The canonical form as text.
pub fn canonical_text<T: Serialize>(value: &T) -> Result<String, NotCanonical> {
    let no_text = |error| NotCanonical(serde::ser::Error::custom(error));
    String::from_utf8(canonical(value)?).map_err(no_text)
}

/// The SHA-256 of the canonical form.
pub fn digest<T: Serialize>(value: &T) -> Result<Digest, NotCanonical> {
    canonical(value).map(|bytes| Digest::of(&bytes))
}

/// The size of a value as plain JSON in bytes, without building it.
pub(crate) fn bytes_of<T: Serialize>(value: &T) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A value that cannot be serialized counts up to the error.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Deserializes whole numbers that may have a decimal point, because `5` and `5.0` are the same number in JSON.
pub fn whole_numbers<'de, D: Deserializer<'de>, T: TryFrom<u64> + Ord>(
    deserializer: D,
) -> Result<BTreeSet<T>, D::Error> {
    let numbers = Vec::<Number>::deserialize(deserializer)?;
    numbers.iter().map(whole).collect()
}

/// Deserializes an optional whole number that may have a decimal point.
pub fn whole_number<'de, D: Deserializer<'de>, T: TryFrom<u64>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    number.as_ref().map(whole).transpose()
}

fn whole<T: TryFrom<u64>, E: serde::de::Error>(number: &Number) -> Result<T, E> {
    let spelled = number.as_f64().filter(|number| number.fract() == 0.0);
    let parsed = spelled.and_then(|number| format!("{number:.0}").parse::<u64>().ok());
    let fitting = parsed.and_then(|number| T::try_from(number).ok());
    fitting.ok_or_else(|| E::custom(format!("{number} is not a whole number within the bounds")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_counted_size_matches_the_serialized_size() {
        for value in [
            json!(null),
            json!({"a": [1, -2.5, "é\n\u{1}"], "b": {}}),
            json!(""),
        ] {
            assert_eq!(bytes_of(&value), value.to_string().len());
        }
    }

    #[test]
    fn the_order_of_members_does_not_change_the_hash() {
        let here: serde_json::Value = serde_json::from_str(r#"{"b":1,"a":[1.0,"é"]}"#).expect("json");
        let there: serde_json::Value =
            serde_json::from_str(r#"{ "a":[1,"\u00e9"], "b":1.0 }"#).expect("json");
        assert_eq!(
            canonical(&here).expect("canonical"),
            r#"{"a":[1,"é"],"b":1}"#.as_bytes()
        );
        assert_eq!(digest(&here).expect("digest"), digest(&there).expect("digest"));
        assert_ne!(
            digest(&json!({"a": 1})).expect("digest"),
            digest(&json!({"a": 2})).expect("digest")
        );
    }
}
