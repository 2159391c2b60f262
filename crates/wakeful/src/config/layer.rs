//! One source of settings over the other, and where each value came from. Pure: nothing is looked at here.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use wakeful_core::json::digest;

use super::key::Key;
use super::named::Named;
use super::values::Config;
use crate::failure::Failure;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is built in.
    Default,
    /// It stands in `config.toml`.
    File { line: usize },
    /// This variable says so.
    Variable(String),
    /// This flag says so.
    Flag(&'static str),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => write!(f, "built in"),
            Self::File { line } => write!(f, "config.toml, line {line}"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Default => json!({"kind": "default"}),
            Self::File { line } => json!({"kind": "file", "line": line}),
            Self::Variable(name) => json!({"kind": "environment", "name": name}),
            Self::Flag(flag) => json!({"kind": "flag", "name": flag}),
        }
        .serialize(serializer)
    }
}

/// The values of one source; each was found acceptable.
pub(super) type Layer = BTreeMap<Key, (Value, Origin)>;

/// The same of settings whose names people choose. Only the file has them.
pub(super) type NamedLayer = BTreeMap<Named, (Value, Origin)>;

/// A source as it was read: what is sound, and what is not.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) layer: Layer,
    pub(super) named: NamedLayer,
    pub(super) problems: Vec<Failure>,
}

/// What the flags of a call say. It wins over everything else.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    given: Vec<(Key, &'static str, String)>,
}

impl Overrides {
    /// Adds a flag, if it was given.
    pub(crate) fn flag(mut self, key: Key, flag: &'static str, value: Option<impl ToString>) -> Self {
        let given = value.map(|value| (key, flag, value.to_string()));
        self.given.extend(given);
        self
    }

    pub(super) fn layer(&self) -> Read {
        let mut read = Read::default();
        for (key, flag, text) in &self.given {
            let value = key.read(text);
            if key.accepts(&value) {
                read.layer.insert(*key, (value, Origin::Flag(flag)));
            } else {
                let message = format!("{flag}: expected {}, found {text:?}", key.expected());
                read.problems.push(Failure::usage(
                    "bad_value",
                    message,
                    "give another value, or leave it out",
                ));
            }
        }
        read
    }
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    values: Value,
    origins: BTreeMap<Key, Origin>,
    named: NamedLayer,
}

impl Loaded {
    /// The settings whose names people chose, with where each stands.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&Named, &Value, &Origin)> {
        self.named
            .iter()
            .map(|(named, (value, origin))| (named, value, origin))
    }

    /// Where the value of a setting came from.
    pub(crate) fn origin(&self, key: Key) -> &Origin {
        self.origins.get(&key).unwrap_or(&Origin::Default)
    }

    /// The value of a setting, unless it has none.
    pub(crate) fn value(&self, key: Key) -> Option<&Value> {
        let (section, name) = key.parts();
        self.values.get(section)?.get(name)
    }

    /// The value of a setting, if this very call asks for it by a flag or a variable.
    pub(crate) fn wished<T: serde::de::DeserializeOwned>(&self, key: Key) -> Option<T> {
        match self.origin(key) {
            Origin::Flag(_) | Origin::Variable(_) => serde_json::from_value(self.value(key)?.clone()).ok(),
            Origin::Default | Origin::File { .. } => None,
        }
    }

    /// One name for all values together: equal settings have equal fingerprints, wherever they came from.
    pub(crate) fn fingerprint(&self) -> String {
        // Text, numbers and maps with text as keys always have a canonical form.
        digest(&self.config).map_or_else(|_| String::new(), |digest| digest.to_string())
    }
}

/// Puts each layer over those before it, and all of them over what is built in.
#[cfg(test)]
pub(super) fn merge(layers: &[Layer]) -> Result<Loaded, Failure> {
    merge_all(layers, NamedLayer::new())
}

/// The same with the settings whose names people chose.
pub(super) fn merge_all(layers: &[Layer], named: NamedLayer) -> Result<Loaded, Failure> {
    let broken = |error: serde_json::Error| {
        let message = format!("the settings contradict one another: {error}");
        Failure::usage("config_invalid", message, "`wakeful config doctor` looks closer")
    };
    let mut values = serde_json::to_value(Config::default()).map_err(broken)?;
    let mut origins = BTreeMap::new();
    for (key, (value, origin)) in layers.iter().flatten() {
        let (section, name) = key.parts();
        if let Some(members) = values.get_mut(section).and_then(Value::as_object_mut) {
            members.insert(name.to_owned(), value.clone());
            origins.insert(*key, origin.clone());
        }
    }
    for (name, (value, _)) in &named {
        insert(&mut values, &name.path(), value);
    }
    let config: Config = serde_json::from_value(values.clone()).map_err(broken)?;
    Ok(Loaded {
        config,
        values,
        origins,
        named,
    })
}

/// Puts a value where its path leads; what is not there yet is made.
fn insert(values: &mut Value, path: &[&str], value: &Value) {
    let Some((first, rest)) = path.split_first() else {
        *values = value.clone();
        return;
    };
    if let Some(members) = values.as_object_mut() {
        let member = members.entry(*first).or_insert_with(|| json!({}));
        insert(member, rest, value);
    }
}
