//! What a setting accepts, how it is typed, and how that is said to people.

use std::net::IpAddr;
use std::path::Path;

use serde_json::{Value, json};
use wakeful_core::id::AgentId;
use wakeful_models::{ModelRef, THINKING_TOKENS_MAX, Thinking};

use crate::secret::Handle;

/// Longest text of a setting: the longest path that Linux takes.
const TEXT_BYTES_MAX: usize = 4_096;

/// Longest word that goes into a header, such as the version of an interface.
const VERSION_CHARS_MAX: usize = 64;

/// What a setting accepts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Address,
    Integer {
        min: i64,
        max: i64,
    },
    Amount {
        max: f64,
    },
    Truth,
    Url,
    Path,
    Model,
    Agent,
    Word,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// The version of an interface.
    Version,
    /// Where a key is; never the key itself.
    Handle,
    /// Several, each accepted by itself.
    List {
        of: &'static Kind,
        min: usize,
        max: usize,
    },
    /// A model of a route: its form is checked and not whether there is such a provider, which its turn will show.
    Candidate,
    /// The name of a model, or its beginning and `*`.
    Pattern,
    /// How much a model is asked to think: a word, or a number of tokens.
    Thinking,
    /// A word of a command line.
    Text,
}

impl Kind {
    /// Makes a value of what was typed in a variable, a flag or a call. A number that is none stays text, so that
    /// the check can name it.
    pub(super) fn read(self, text: &str) -> Value {
        let text = text.trim();
        match self {
            Self::Integer { .. } | Self::Thinking => {
                text.parse::<i64>().map_or_else(|_| json!(text), Value::from)
            }
            Self::Amount { .. } => text.parse::<f64>().map_or_else(|_| json!(text), Value::from),
            Self::Truth => text.parse::<bool>().map_or_else(|_| json!(text), Value::from),
            Self::Path => json!(whole_path(text)),
            Self::Model | Self::Candidate => match ModelRef::parse(text) {
                Ok(ModelRef::Scripted { file }) => {
                    json!(format!("scripted:{}", whole_path(&file.to_string_lossy())))
                }
                Ok(ModelRef::Demo | ModelRef::Hosted { .. } | ModelRef::Route { .. }) | Err(_) => json!(text),
            },
            Self::List { of, .. } => {
                let parts = text.split(',').filter(|part| !part.trim().is_empty());
                Value::Array(parts.map(|part| of.read(part)).collect())
            }
            Self::Address
            | Self::Url
            | Self::Agent
            | Self::Word
            | Self::OneOf(_)
            | Self::Version
            | Self::Handle
            | Self::Pattern
            | Self::Text => json!(text),
        }
    }

    /// What it accepts, for a sentence that begins with "expected".
    pub(super) fn expected(self) -> String {
        match self {
            Self::Address => "an IP address such as \"127.0.0.1\"".to_owned(),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Amount { max } => format!("a number from 0 to {max}"),
            Self::Truth => "true or false".to_owned(),
            Self::Url => "a URL such as \"https://wakeful.example.org\"".to_owned(),
            Self::Path => "an absolute path".to_owned(),
            Self::Candidate => {
                "a model and no route: \"demo\", \"scripted:FILE\" with an absolute path, or \"PROVIDER/MODEL\"".to_owned()
            }
            Self::Model => {
                "a model reference: \"demo\", \"scripted:FILE\" with an absolute path, \"route:NAME\" or \"PROVIDER/MODEL\""
                    .to_owned()
            }
            Self::Agent => "the name of an agent: a-z, 0-9, '-' and '_'".to_owned(),
            Self::Word => "one word: a-z, 0-9, '-' and '_'".to_owned(),
            Self::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                format!("one of {}", words.join(", "))
            }
            Self::Version => format!("1 to {VERSION_CHARS_MAX} letters, digits and '.', '_', '-'"),
            Self::Handle => {
                "where the key is, and never the key itself: \"env:NAME\", \"file:/PATH\", \"keyring:SERVICE/ACCOUNT\" or \"none\""
                    .to_owned()
            }
            Self::List { of, min, max } => format!("a list of {min} to {max}, each {}", of.expected()),
            Self::Pattern => "the name of a model, such as \"anthropic/*\"".to_owned(),
            Self::Thinking => {
                let words = Self::OneOf(&Thinking::WORDS).expected();
                format!("{words}, or tokens to think with: a whole number from 1 to {THINKING_TOKENS_MAX}")
            }
            Self::Text => "a text of one line".to_owned(),
        }
    }

    /// Whether a value may be shown to whoever wrote it wrongly. What may be a key may not.
    pub(super) fn is_shown(self) -> bool {
        match self {
            // A command may be given a key, however unwise that is.
            Self::Handle | Self::Url | Self::Text => false,
            Self::List { of, .. } => of.is_shown(),
            Self::Address
            | Self::Integer { .. }
            | Self::Amount { .. }
            | Self::Truth
            | Self::Path
            | Self::Model
            | Self::Agent
            | Self::Word
            | Self::OneOf(_)
            | Self::Version
            | Self::Candidate
            | Self::Pattern
            | Self::Thinking => true,
        }
    }

    /// Whether a value can be this.
    pub(super) fn accepts(self, value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        let is_text = !text.is_empty() && text.len() <= TEXT_BYTES_MAX && !text.contains(char::is_control);
        match self {
            Self::Integer { min, max } => value.as_i64().is_some_and(|number| (min..=max).contains(&number)),
            Self::Amount { max } => value.as_f64().is_some_and(|number| (0.0..=max).contains(&number)),
            Self::Truth => value.is_boolean(),
            Self::Address => text.parse::<IpAddr>().is_ok(),
            Self::Url => is_text && is_base_url(text),
            Self::Path => is_text && Path::new(text).is_absolute(),
            Self::Model => is_text && is_reference(text),
            Self::Candidate => is_text && is_reference(text) && !text.starts_with("route:"),
            // A provider's name is a word of the same form.
            Self::Agent | Self::Word => AgentId::parse(text).is_ok(),
            Self::OneOf(words) => words.contains(&text),
            Self::Version => {
                let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
                is_text && text.len() <= VERSION_CHARS_MAX && text.chars().all(fits)
            }
            Self::Handle => Handle::parse(text).is_ok(),
            Self::List { of, min, max } => value.as_array().is_some_and(|list| {
                (min..=max).contains(&list.len()) && list.iter().all(|one| of.accepts(one))
            }),
            Self::Pattern => is_text && !text.contains(char::is_whitespace),
            Self::Thinking => {
                let tokens = value.as_i64();
                let is_tokens =
                    tokens.is_some_and(|tokens| (1..=i64::from(THINKING_TOKENS_MAX)).contains(&tokens));
                is_tokens || Thinking::parse(text).is_some()
            }
            Self::Text => is_text,
        }
    }
}

fn is_reference(text: &str) -> bool {
    match ModelRef::parse(text) {
        Ok(ModelRef::Demo | ModelRef::Hosted { .. } | ModelRef::Route { .. }) => true,
        Ok(ModelRef::Scripted { file }) => file.is_absolute(),
        Err(_) => false,
    }
}

/// The path from the root: the daemon that reads it works in another folder than the person who wrote it.
fn whole_path(text: &str) -> String {
    let whole = std::path::absolute(text).ok();
    whole
        .and_then(|path| path.into_os_string().into_string().ok())
        .unwrap_or_else(|| text.to_owned())
}

/// A scheme and a host, perhaps a port and a path, and nothing that a path could not be put behind.
fn is_base_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split('/').next());
    let odd = |c: char| c.is_whitespace() || matches!(c, '?' | '#' | '@' | '"' | '<' | '>' | '\\');
    host.is_some_and(|host| !host.is_empty()) && !text.contains(odd)
}
