//! The names of the settings, what each accepts, and which one was meant.

use std::net::IpAddr;
use std::path::Path;

use serde_json::{Value, json};
use wakeful_core::id::AgentId;
use wakeful_core::run::ROUNDS_MAX;
use wakeful_models::ModelRef;

use super::values::{DAILY_USD_MAX, PER_MINUTE_MAX};
use crate::failure::Failure;

/// Longest text of a setting: the longest path that Linux takes.
const TEXT_BYTES_MAX: usize = 4_096;

/// Begins every variable of ours.
pub(super) const PREFIX: &str = "WAKEFUL_";

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    ServerAddress,
    ServerPort,
    ServerAdvertise,
    ServerTokenFile,
    ServerRatePerMinute,
    ServerTurnsPerMinute,
    ModelDefault,
    AgentDefault,
    AgentWorkspace,
    AgentMaxRounds,
    BudgetDailyUsd,
    ProviderName,
}

/// What a setting accepts.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Address,
    Integer { min: i64, max: i64 },
    Amount { max: f64 },
    Url,
    Path,
    Model,
    Agent,
    Word,
}

impl Key {
    pub(crate) const ALL: [Self; 12] = [
        Self::ServerAddress,
        Self::ServerPort,
        Self::ServerAdvertise,
        Self::ServerTokenFile,
        Self::ServerRatePerMinute,
        Self::ServerTurnsPerMinute,
        Self::ModelDefault,
        Self::AgentDefault,
        Self::AgentWorkspace,
        Self::AgentMaxRounds,
        Self::BudgetDailyUsd,
        Self::ProviderName,
    ];

    /// Its section and its name there.
    pub(super) const fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::ServerAddress => ("server", "address"),
            Self::ServerPort => ("server", "port"),
            Self::ServerAdvertise => ("server", "advertise"),
            Self::ServerTokenFile => ("server", "token_file"),
            Self::ServerRatePerMinute => ("server", "rate_per_minute"),
            Self::ServerTurnsPerMinute => ("server", "turns_per_minute"),
            Self::ModelDefault => ("model", "default"),
            Self::AgentDefault => ("agent", "default"),
            Self::AgentWorkspace => ("agent", "workspace"),
            Self::AgentMaxRounds => ("agent", "max_rounds"),
            Self::BudgetDailyUsd => ("budget", "daily_usd"),
            Self::ProviderName => ("provider", "name"),
        }
    }

    const fn kind(self) -> Kind {
        let per_minute = Kind::Integer {
            min: 1,
            max: PER_MINUTE_MAX as i64,
        };
        match self {
            Self::ServerAddress => Kind::Address,
            Self::ServerPort => Kind::Integer {
                min: 0,
                max: u16::MAX as i64,
            },
            Self::ServerAdvertise => Kind::Url,
            Self::ServerTokenFile | Self::AgentWorkspace => Kind::Path,
            Self::ServerRatePerMinute | Self::ServerTurnsPerMinute => per_minute,
            Self::ModelDefault => Kind::Model,
            Self::AgentDefault => Kind::Agent,
            Self::AgentMaxRounds => Kind::Integer {
                min: 1,
                max: ROUNDS_MAX as i64,
            },
            Self::BudgetDailyUsd => Kind::Amount { max: DAILY_USD_MAX },
            Self::ProviderName => Kind::Word,
        }
    }

    /// The name a person writes, such as `server.port`.
    pub(crate) fn name(self) -> String {
        let (section, name) = self.parts();
        format!("{section}.{name}")
    }

    /// The variable that sets it: `WAKEFUL_SECTION_NAME`, and for the default of a section `WAKEFUL_SECTION`.
    pub(crate) fn variable(self) -> String {
        let (section, name) = self.parts();
        let words = if name == "default" {
            section.to_owned()
        } else {
            format!("{section}_{name}")
        };
        format!("{PREFIX}{}", words.to_ascii_uppercase())
    }

    /// The setting of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// The setting that was probably meant. A name without its section counts as the one that has it.
    pub(super) fn nearest(name: &str) -> Option<Self> {
        let distance = |key: &Self| {
            let whole = strsim::damerau_levenshtein(name, &key.name());
            match name.contains('.') {
                true => whole,
                false => whole.min(strsim::damerau_levenshtein(name, key.parts().1)),
            }
        };
        let near = Self::ALL.into_iter().map(|key| (distance(&key), key)).min()?;
        is_near(near.0, name).then_some(near.1)
    }

    /// Makes a value of what was typed in a variable, a flag or a call. A number that is none stays text, so that
    /// the check can name it.
    pub(super) fn read(self, text: &str) -> Value {
        let text = text.trim();
        match self.kind() {
            Kind::Integer { .. } => text.parse::<i64>().map_or_else(|_| json!(text), Value::from),
            Kind::Amount { .. } => text.parse::<f64>().map_or_else(|_| json!(text), Value::from),
            Kind::Path => json!(whole_path(text)),
            Kind::Model => match ModelRef::parse(text) {
                Ok(ModelRef::Scripted { file }) => {
                    json!(format!("scripted:{}", whole_path(&file.to_string_lossy())))
                }
                Ok(ModelRef::Demo | ModelRef::Hosted { .. }) | Err(_) => json!(text),
            },
            Kind::Address | Kind::Url | Kind::Agent | Kind::Word => json!(text),
        }
    }

    /// The value that somebody typed, or what is wrong with it.
    pub(crate) fn typed(self, text: &str) -> Result<Value, Failure> {
        let value = self.read(text);
        if self.accepts(&value) {
            return Ok(value);
        }
        let message = format!("{}: expected {}, found {text:?}", self.name(), self.expected());
        Err(Failure::usage("bad_value", message, "give another value"))
    }

    /// The way out for whoever wrote an unknown name.
    pub(crate) fn meant(name: &str) -> String {
        Self::nearest(name).map_or_else(
            || "`wakeful config get` lists the settings there are".to_owned(),
            |key| format!("did you mean {}?", key.name()),
        )
    }

    /// What this setting accepts, for a sentence that begins with "expected".
    pub(super) fn expected(self) -> String {
        match self.kind() {
            Kind::Address => "an IP address such as \"127.0.0.1\"".to_owned(),
            Kind::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Amount { max } => format!("a number from 0 to {max}"),
            Kind::Url => "a URL such as \"https://wakeful.example.org\"".to_owned(),
            Kind::Path => "an absolute path".to_owned(),
            Kind::Model => {
                "a model reference: \"demo\", \"scripted:FILE\" with an absolute path, or \"PROVIDER/MODEL\""
                    .to_owned()
            }
            Kind::Agent => "the name of an agent: a-z, 0-9, '-' and '_'".to_owned(),
            Kind::Word => "one word: a-z, 0-9, '-' and '_'".to_owned(),
        }
    }

    /// Whether a value can be this setting.
    pub(super) fn accepts(self, value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        let is_text = !text.is_empty() && text.len() <= TEXT_BYTES_MAX && !text.contains(char::is_control);
        match self.kind() {
            Kind::Integer { min, max } => value.as_i64().is_some_and(|number| (min..=max).contains(&number)),
            Kind::Amount { max } => value.as_f64().is_some_and(|number| (0.0..=max).contains(&number)),
            Kind::Address => text.parse::<IpAddr>().is_ok(),
            Kind::Url => is_text && is_base_url(text),
            Kind::Path => is_text && Path::new(text).is_absolute(),
            Kind::Model => {
                is_text
                    && match ModelRef::parse(text) {
                        Ok(ModelRef::Demo | ModelRef::Hosted { .. }) => true,
                        Ok(ModelRef::Scripted { file }) => file.is_absolute(),
                        Err(_) => false,
                    }
            }
            // A provider's name is a word of the same form.
            Kind::Agent | Kind::Word => AgentId::parse(text).is_ok(),
        }
    }
}

/// Whether a distance is that of a slip and not of another word.
pub(super) fn is_near(distance: usize, name: &str) -> bool {
    distance <= (name.chars().count() / 3).max(1)
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
