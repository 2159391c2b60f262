//! The values that a setting accepts, how they are typed, and how messages describe them.

use std::net::IpAddr;
use std::path::Path;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::inference::{ModelPurpose, RequestField};
use wakeful_core::policy::ForeignTargetPolicy;
use wakeful_core::run::ROUTE_MAX;
use wakeful_core::secret::check_name;
use wakeful_models::{ModelRef, THINKING_TOKENS_MAX, Thinking};
use wakeful_tools::TOOL_NAMES;

use super::schema::Node;
use crate::secret::SecretHandle;

/// Maximum length of a text setting: the longest path on Linux.
const TEXT_BYTES_MAX: usize = 4_096;

/// Maximum length of an API version, which is sent in a header.
const VERSION_CHARS_MAX: usize = 64;

/// Maximum number of patterns in one list.
const PATTERNS_MAX: usize = 64;

/// Maximum number of fields in one list.
const FIELDS_MAX: usize = 256;

/// Maximum number of words of a command.
const COMMAND_WORDS_MAX: usize = 32;

/// Whether a text matches this `format` of the schema, and a description of what the format expects.
fn check_format(format: &str, text: &str) -> (bool, &'static str) {
    match format {
        "ip" => (
            text.parse::<IpAddr>().is_ok(),
            "an IP address such as \"127.0.0.1\"",
        ),
        "base-url" => (is_base_url(text), "a URL such as \"https://wakeful.example.org\""),
        "absolute-path" => (Path::new(text).is_absolute(), "an absolute path"),
        "model" => (
            is_model(text),
            "a model reference: \"demo\", \"scripted:FILE\" with an absolute path, \"route:NAME\" or \"PROVIDER/MODEL\"",
        ),
        "model-without-route" => (
            is_model(text) && !text.starts_with("route:"),
            "a model, not a route: \"demo\", \"scripted:FILE\" with an absolute path, or \"PROVIDER/MODEL\"",
        ),
        "model-of-provider" => (
            matches!(ModelRef::parse(text), Ok(ModelRef::Hosted { .. })),
            "a model in quotes, such as \"anthropic/MODEL\"",
        ),
        "model-pattern" => (
            !text.contains(char::is_whitespace),
            "the name of a model, such as \"anthropic/*\"",
        ),
        // Agents and providers share one name format.
        "name" => (AgentId::parse(text).is_ok(), "a name of a-z, 0-9, '-' and '_'"),
        "version" => {
            let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let is_version = text.len() <= VERSION_CHARS_MAX && text.chars().all(fits);
            (is_version, "1 to 64 letters, digits and '.', '_', '-'")
        }
        "secret-name" => (
            check_name(text).is_ok(),
            "a name of A-Z, 0-9 and '_' that no program obeys",
        ),
        "key-handle" => (
            SecretHandle::parse(text).is_ok(),
            "the location of the key, never the key itself: \"env:NAME\", \"file:/PATH\", \"keyring:SERVICE/ACCOUNT\" or \"none\"",
        ),
        "category" => (
            !text.is_empty() && !text.contains(char::is_control),
            "a category of the journal, or \"*\" for every agent",
        ),
        "line" => (true, "a single line of text"),
        _ => (false, "a value"),
    }
}

/// Whether this name is valid in a section whose names have this format.
pub(super) fn is_name(format: &str, name: &str) -> bool {
    check_format(format, name).0
}

/// A description of names of this format, for messages.
pub(super) fn expected_name(format: &str) -> &'static str {
    check_format(format, "").1
}

/// One alternative type of a setting, read from its schema.
enum ValueKind {
    Truth,
    Integer { min: i64, max: i64 },
    Number { min: f64, max: f64 },
    OneOf(Vec<&'static str>),
    Text(&'static str),
    List { of: Node, min: usize, max: usize },
    Section,
}

impl Node {
    fn kind(self) -> Option<ValueKind> {
        let bound = |name: &str| self.0.get(name);
        let integer = |name: &str| bound(name).and_then(Value::as_i64);
        let number = |name: &str| bound(name).and_then(Value::as_f64);
        let count = |name: &str| usize::try_from(bound(name)?.as_u64()?).ok();
        if let Some(words) = bound("enum").and_then(Value::as_array) {
            return Some(ValueKind::OneOf(words.iter().filter_map(Value::as_str).collect()));
        }
        match bound("type")?.as_str()? {
            "boolean" => Some(ValueKind::Truth),
            "integer" => Some(ValueKind::Integer {
                min: integer("minimum")?,
                max: integer("maximum")?,
            }),
            "number" => Some(ValueKind::Number {
                min: number("minimum")?,
                max: number("maximum")?,
            }),
            "string" => Some(ValueKind::Text(bound("format")?.as_str()?)),
            "array" => Some(ValueKind::List {
                of: Self::at(self.0.get("items")?),
                min: count("minItems").unwrap_or_default(),
                max: count("maxItems")?,
            }),
            _ => Some(ValueKind::Section),
        }
    }

    fn kinds(self) -> impl Iterator<Item = ValueKind> {
        self.alternatives().filter_map(Self::kind)
    }

    /// Whether the setting is a list. Lists have no environment variable.
    pub(super) fn is_list(self) -> bool {
        self.kinds().any(|kind| matches!(kind, ValueKind::List { .. }))
    }

    /// Parses text from a variable, a flag or an argument. Text that is not a number stays text, so that
    /// the check can name it in its message.
    pub(super) fn read(self, text: &str) -> Value {
        let text = text.trim();
        let read = self.kinds().find_map(|kind| match kind {
            ValueKind::Integer { .. } => text.parse::<i64>().ok().map(Value::from),
            ValueKind::Number { .. } => text.parse::<f64>().ok().map(Value::from),
            ValueKind::Truth => text.parse::<bool>().ok().map(Value::from),
            ValueKind::Text(format) => match (format, ModelRef::parse(text)) {
                ("absolute-path", _) => Some(json!(absolute(text))),
                ("model" | "model-without-route", Ok(ModelRef::Scripted { file })) => {
                    Some(json!(format!("scripted:{}", absolute(&file.to_string_lossy()))))
                }
                _ => None,
            },
            ValueKind::List { of, .. } => {
                let parts = text.split(',').filter(|part| !part.trim().is_empty());
                Some(Value::Array(parts.map(|part| of.read(part)).collect()))
            }
            ValueKind::OneOf(_) | ValueKind::Section => None,
        });
        read.unwrap_or_else(|| json!(text))
    }

    /// A description of accepted values, for a sentence that starts with "expected".
    pub(super) fn expected(self) -> String {
        let texts = self.kinds().filter_map(|kind| match kind {
            ValueKind::Truth => Some("true or false".to_owned()),
            ValueKind::Integer { min, max } => Some(format!("a whole number from {min} to {max}")),
            ValueKind::Number { min, max } => Some(format!("a number from {min} to {max}")),
            ValueKind::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                Some(format!("one of {}", words.join(", ")))
            }
            ValueKind::Text(format) => Some(expected_name(format).to_owned()),
            ValueKind::List { of, min, max } => {
                Some(format!("a list of {min} to {max}, each {}", of.expected()))
            }
            ValueKind::Section => None,
        });
        texts.collect::<Vec<_>>().join(", or ")
    }

    /// Whether a message may repeat a wrong value.
    pub(super) fn is_shown(self) -> bool {
        self.kinds().all(|kind| match kind {
            // A URL may contain a password, and a command line may contain a key.
            ValueKind::Text(format) => !matches!(format, "base-url" | "key-handle" | "line"),
            ValueKind::List { of, .. } => of.is_shown(),
            ValueKind::Truth
            | ValueKind::Integer { .. }
            | ValueKind::Number { .. }
            | ValueKind::OneOf(_)
            | ValueKind::Section => true,
        })
    }

    pub(super) fn accepts(self, value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        self.kinds().any(|kind| match kind {
            ValueKind::Truth => value.is_boolean(),
            ValueKind::Integer { min, max } => {
                value.as_i64().is_some_and(|number| (min..=max).contains(&number))
            }
            ValueKind::Number { min, max } => {
                value.as_f64().is_some_and(|number| (min..=max).contains(&number))
            }
            ValueKind::OneOf(words) => words.contains(&text),
            ValueKind::Text(format) => {
                let is_text = !text.is_empty() && text.len() <= TEXT_BYTES_MAX;
                is_text && !text.contains(char::is_control) && is_name(format, text)
            }
            ValueKind::List { of, min, max } => value.as_array().is_some_and(|list| {
                (min..=max).contains(&list.len()) && list.iter().all(|one| of.accepts(one))
            }),
            ValueKind::Section => false,
        })
    }
}

fn is_model(text: &str) -> bool {
    match ModelRef::parse(text) {
        Ok(ModelRef::Demo | ModelRef::Hosted { .. } | ModelRef::Route { .. }) => true,
        Ok(ModelRef::Scripted { file }) => file.is_absolute(),
        Err(_) => false,
    }
}

/// Makes a path absolute, because the daemon that reads it has another working directory than the person
/// who wrote it.
fn absolute(text: &str) -> String {
    let path = std::path::absolute(text).ok();
    path.and_then(|path| path.into_os_string().into_string().ok())
        .unwrap_or_else(|| text.to_owned())
}

/// Accepts a scheme and a host with an optional port and path, but nothing (such as a query) after which a
/// path cannot be appended.
fn is_base_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split('/').next());
    let odd = |c: char| c.is_whitespace() || matches!(c, '?' | '#' | '@' | '"' | '<' | '>' | '\\');
    host.is_some_and(|host| !host.is_empty()) && !text.contains(odd)
}

fn list(items: &Value, max: usize) -> Schema {
    json_schema!({"type": "array", "items": items, "maxItems": max})
}

fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn text(format: &str) -> Value {
    json!({"type": "string", "format": format})
}

// Schemas of lists and of types that other crates define.

pub(super) fn fallbacks(_: &mut SchemaGenerator) -> Schema {
    list(&text("model-without-route"), ROUTE_MAX - 1)
}

pub(super) fn route(_: &mut SchemaGenerator) -> Schema {
    let mut models = list(&text("model-without-route"), ROUTE_MAX);
    models.insert("minItems".to_owned(), json!(1));
    models
}

pub(super) fn tools(_: &mut SchemaGenerator) -> Schema {
    list(&one_of(&TOOL_NAMES), TOOL_NAMES.len())
}

pub(super) fn channels(_: &mut SchemaGenerator) -> Schema {
    let mut channels = list(&one_of(&Channel::WORDS), Channel::WORDS.len());
    channels.insert("minItems".to_owned(), json!(1));
    channels
}

pub(super) fn command(_: &mut SchemaGenerator) -> Schema {
    list(&text("line"), COMMAND_WORDS_MAX)
}

pub(super) fn foreign_targets(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ForeignTargetPolicy::WORDS})
}

pub(super) fn purposes(_: &mut SchemaGenerator) -> Schema {
    let words = ModelPurpose::ALL.map(ModelPurpose::as_str);
    list(&one_of(&words), words.len())
}

pub(super) fn models_of_category(_: &mut SchemaGenerator) -> Schema {
    list(&text("model-pattern"), PATTERNS_MAX)
}

pub(super) fn field_list(_: &mut SchemaGenerator) -> Schema {
    list(&text("line"), FIELDS_MAX)
}

pub(super) fn request_fields(_: &mut SchemaGenerator) -> Schema {
    let words = RequestField::ALL.map(RequestField::as_str);
    list(&one_of(&words), words.len())
}

pub(super) fn allowed_models(_: &mut SchemaGenerator) -> Schema {
    let patterns = list(&text("model-pattern"), PATTERNS_MAX);
    let each = ModelPurpose::ALL.map(|category| (category.as_str().to_owned(), json!(patterns)));
    let each = serde_json::Map::from_iter(each);
    json_schema!({"anyOf": [patterns, {"type": "object", "properties": each, "additionalProperties": false}]})
}

pub(super) fn thinking(_: &mut SchemaGenerator) -> Schema {
    let tokens = json!({"type": "integer", "minimum": 1, "maximum": THINKING_TOKENS_MAX});
    json_schema!({"anyOf": [one_of(&Thinking::WORDS), tokens]})
}
