//! Merges the sources of settings, and records the origin of each value.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde::Serialize;
use serde_json::{Value, json};
use wakeful_core::json::digest;
use wakeful_core::suggestion::{distance, is_near};

use super::schema::{PREFIX, Setting, dotted};
use super::settings::Settings;
use crate::failure::Failure;

/// Environment variables of Wakeful that are not settings.
const OTHER_VARIABLES: [&str; 3] = ["WAKEFUL_HOME", "WAKEFUL_DATABASE", "WAKEFUL_TOKEN"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum SettingOrigin {
    Default,
    File { line: usize },
    Environment { name: String },
    Flag { name: &'static str },
}

impl std::fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => write!(f, "built in"),
            Self::File { line } => write!(f, "config.toml, line {line}"),
            Self::Environment { name } => write!(f, "environment variable {name}"),
            Self::Flag { name } => write!(f, "flag {name}"),
        }
    }
}

/// The accepted values of one source, by setting path.
pub(super) type Layer = BTreeMap<Vec<String>, (Value, SettingOrigin)>;

/// One source: its accepted values and its errors.
#[derive(Debug, Default)]
pub(super) struct ParsedLayer {
    pub(super) layer: Layer,
    pub(super) problems: Vec<Failure>,
}

/// The environment variables with Wakeful's prefix. An empty variable counts as unset.
pub(super) fn variables() -> BTreeMap<String, OsString> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty())
        .collect()
}

/// Parses the settings among the variables.
pub(super) fn environment(variables: &BTreeMap<String, OsString>) -> ParsedLayer {
    let mut read = ParsedLayer::default();
    // Most processes have no such variable; then the schema is not needed.
    if variables
        .keys()
        .all(|name| OTHER_VARIABLES.contains(&name.as_str()))
    {
        return read;
    }
    for setting in Setting::single() {
        let name = setting.variable();
        let Some(text) = variables.get(&name) else {
            continue;
        };
        let value = text.to_str().map(|text| setting.node.read(text));
        if let Some(value) = value.filter(|value| setting.node.accepts(value)) {
            let origin = SettingOrigin::Environment { name };
            read.layer.insert(setting.path, (value, origin));
            continue;
        }
        let (key, expected) = (setting.name(), setting.node.expected());
        let message =
            format!("the environment variable {name} sets {key}: expected {expected}, found {text:?}");
        let hint = "set another value, or unset it";
        read.problems
            .push(Failure::usage("bad_environment", message, hint));
    }
    read
}

/// Finds variables that resemble one of Wakeful's but are not read. Others may belong to another program.
pub(super) fn misspelt_variables(variables: &BTreeMap<String, OsString>) -> Vec<Failure> {
    let known = Setting::single().map(|setting| setting.variable());
    let known: Vec<String> = known.chain(OTHER_VARIABLES.map(str::to_owned)).collect();
    let unknown = variables.keys().filter(|name| !known.contains(name));
    let misspelt = unknown.filter_map(|name| {
        let words = |name: &str| name.trim_start_matches(PREFIX).to_owned();
        let distances = known
            .iter()
            .map(|known| (distance(&words(name), &words(known)), known));
        let (_, meant) = distances
            .min()
            .filter(|(distance, _)| is_near(*distance, &words(name)))?;
        let message = format!("unknown environment variable {name}");
        let hint = format!("did you mean {meant}? Otherwise unset it");
        Some(Failure::usage("bad_environment", message, hint))
    });
    misspelt.collect()
}

/// Settings given as command-line flags, which override all other sources.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    given: Vec<(&'static str, &'static str, String)>,
}

impl Overrides {
    /// Adds a setting if its flag was given.
    pub(crate) fn flag(
        mut self,
        key: &'static str,
        flag: &'static str,
        value: Option<impl ToString>,
    ) -> Self {
        let given = value.map(|value| (key, flag, value.to_string()));
        self.given.extend(given);
        self
    }

    pub(super) fn layer(&self) -> ParsedLayer {
        let mut read = ParsedLayer::default();
        for (key, flag, text) in &self.given {
            let setting = match Setting::known(key) {
                Ok(setting) => setting,
                Err(unknown) => {
                    read.problems.push(unknown);
                    continue;
                }
            };
            let value = setting.node.read(text);
            if setting.node.accepts(&value) {
                let origin = SettingOrigin::Flag { name: flag };
                read.layer.insert(setting.path, (value, origin));
                continue;
            }
            let message = format!("{flag}: expected {}, found {text:?}", setting.node.expected());
            let hint = "use another value, or omit the flag";
            read.problems.push(Failure::usage("bad_value", message, hint));
        }
        read
    }
}

/// The effective settings, with the origin of each value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadedConfig {
    pub(crate) config: Settings,
    values: Value,
    origins: BTreeMap<Vec<String>, SettingOrigin>,
}

impl LoadedConfig {
    /// Merges the layers over the defaults; later layers override earlier ones.
    pub(super) fn merge(layers: impl IntoIterator<Item = Layer>) -> Result<Self, Failure> {
        let mut values = json!(Settings::default());
        let mut origins = BTreeMap::new();
        for (path, (value, origin)) in layers.into_iter().flatten() {
            insert(&mut values, &path, value);
            origins.insert(path, origin);
        }
        let read = serde_path_to_error::deserialize(&values);
        let config = read.map_err(|error| {
            let path: Vec<String> = error.path().iter().map(ToString::to_string).collect();
            let origin = origins.get(&path).unwrap_or(&SettingOrigin::Default);
            let message = format!("{}: {} ({origin})", error.path(), error.inner());
            Failure::usage(
                "config_invalid",
                message,
                "`wakeful config doctor` explains the problem",
            )
        })?;
        Ok(Self {
            config,
            values,
            origins,
        })
    }

    /// These settings, as if all of them were defaults.
    pub(super) fn without_origins(config: &Settings) -> Self {
        Self {
            config: config.clone(),
            values: json!(config),
            origins: BTreeMap::new(),
        }
    }

    /// Every setting with a single value, followed by the lists and named settings in the file.
    pub(crate) fn all(&self) -> impl Iterator<Item = (String, Option<&Value>, &SettingOrigin)> {
        let single: Vec<Vec<String>> = Setting::single().map(|setting| setting.path).collect();
        let others = self.origins.keys().filter(|path| !single.contains(path));
        let others: Vec<Vec<String>> = others.cloned().collect();
        single
            .into_iter()
            .chain(others)
            .map(|path| (dotted(&path), self.at(&path), self.origin_at(&path)))
    }

    fn at(&self, path: &[String]) -> Option<&Value> {
        let value = path
            .iter()
            .try_fold(&self.values, |value, part| value.get(part))?;
        // An empty list counts as not set.
        let is_set = value.as_array().is_none_or(|list| !list.is_empty()) || self.origins.contains_key(path);
        Some(value).filter(|value| is_set && !value.is_null())
    }

    fn origin_at(&self, path: &[String]) -> &SettingOrigin {
        self.origins.get(path).unwrap_or(&SettingOrigin::Default)
    }

    /// The value of a setting, if it has one.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.at(&Setting::find(name)?.path)
    }

    pub(crate) fn origin(&self, name: &str) -> &SettingOrigin {
        let setting = Setting::find(name);
        setting.map_or(&SettingOrigin::Default, |setting| self.origin_at(&setting.path))
    }

    /// The value of a setting, if a flag or an environment variable of this call sets it.
    pub(crate) fn value_for_this_call<T: serde::de::DeserializeOwned>(&self, name: &str) -> Option<T> {
        match self.origin(name) {
            SettingOrigin::Flag { .. } | SettingOrigin::Environment { .. } => {
                serde_json::from_value(self.value(name)?.clone()).ok()
            }
            SettingOrigin::Default | SettingOrigin::File { .. } => None,
        }
    }

    /// A fingerprint of all values: equal settings have equal fingerprints, regardless of their origin.
    pub(crate) fn fingerprint(&self) -> String {
        // Text, numbers and maps with text keys always have a canonical form.
        digest(&self.config).map_or_else(|_| String::new(), |digest| digest.to_string())
    }
}

/// Inserts a value at its path and creates missing sections.
fn insert(values: &mut Value, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *values = value;
        return;
    };
    if values.is_null() {
        *values = json!({});
    }
    if let Some(members) = values.as_object_mut() {
        insert(members.entry(first.clone()).or_insert(Value::Null), rest, value);
    }
}
