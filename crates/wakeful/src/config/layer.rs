//! Puts one source of settings over the other, and remembers where each value came from.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde::Serialize;
use serde_json::{Value, json};
use wakeful_core::json::digest;

use super::schema::{PREFIX, Setting, distance, dotted, is_near};
use super::settings::Settings;
use crate::failure::Failure;

/// Variables of Wakeful that are no settings.
const OTHER_VARIABLES: [&str; 3] = ["WAKEFUL_HOME", "WAKEFUL_DATABASE", "WAKEFUL_TOKEN"];

/// Where a value came from.
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

/// The accepted values of one source, by the path of each setting.
pub(super) type Layer = BTreeMap<Vec<String>, (Value, SettingOrigin)>;

/// One source: its accepted values, and everything that is wrong with it.
#[derive(Debug, Default)]
pub(super) struct ParsedLayer {
    pub(super) layer: Layer,
    pub(super) problems: Vec<Failure>,
}

/// The variables of Wakeful in the environment of this process. An empty one counts as unset, as in every shell.
pub(super) fn variables() -> BTreeMap<String, OsString> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty())
        .collect()
}

/// The settings among them.
pub(super) fn environment(variables: &BTreeMap<String, OsString>) -> ParsedLayer {
    let mut read = ParsedLayer::default();
    // Most calls have no variable that could be a setting, and then do without the schema.
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
        let hint = "set it to another value, or unset it";
        read.problems
            .push(Failure::usage("bad_environment", message, hint));
    }
    read
}

/// Variables that resemble one of Wakeful and are not read. Others may belong to another program.
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
        let message = format!("the environment variable {name} is not read");
        let hint = format!("did you mean {meant}? Else unset it");
        Some(Failure::usage("bad_environment", message, hint))
    });
    misspelt.collect()
}

/// The flags of a call that set something. They win over everything else.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    given: Vec<(&'static str, &'static str, String)>,
}

impl Overrides {
    /// Adds the flag of a setting, if it was given.
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
            let hint = "give another value, or leave it out";
            read.problems.push(Failure::usage("bad_value", message, hint));
        }
        read
    }
}

/// The settings in force, with the origin of each value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadedConfig {
    pub(crate) config: Settings,
    values: Value,
    origins: BTreeMap<Vec<String>, SettingOrigin>,
}

impl LoadedConfig {
    /// Puts each layer over those before it, and all of them over what is built in.
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
            Failure::usage("config_invalid", message, "`wakeful config doctor` looks closer")
        })?;
        Ok(Self {
            config,
            values,
            origins,
        })
    }

    /// Every setting with one value, then every list and every setting with a chosen name that the file has.
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
        // An empty list is one that nobody has set.
        let is_set = value.as_array().is_none_or(|list| !list.is_empty()) || self.origins.contains_key(path);
        Some(value).filter(|value| is_set && !value.is_null())
    }

    fn origin_at(&self, path: &[String]) -> &SettingOrigin {
        self.origins.get(path).unwrap_or(&SettingOrigin::Default)
    }

    /// The value of the setting with this name, unless it has none.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.at(&Setting::find(name)?.path)
    }

    pub(crate) fn origin(&self, name: &str) -> &SettingOrigin {
        let setting = Setting::find(name);
        setting.map_or(&SettingOrigin::Default, |setting| self.origin_at(&setting.path))
    }

    /// The value of a setting, if this very call asks for it by a flag or a variable.
    pub(crate) fn wished<T: serde::de::DeserializeOwned>(&self, name: &str) -> Option<T> {
        match self.origin(name) {
            SettingOrigin::Flag { .. } | SettingOrigin::Environment { .. } => {
                serde_json::from_value(self.value(name)?.clone()).ok()
            }
            SettingOrigin::Default | SettingOrigin::File { .. } => None,
        }
    }

    /// One name for all values together: equal settings have equal fingerprints, wherever they came from.
    pub(crate) fn fingerprint(&self) -> String {
        // Text, numbers and maps with text as keys always have a canonical form.
        digest(&self.config).map_or_else(|_| String::new(), |digest| digest.to_string())
    }
}

/// Puts a value where its path leads; missing sections are made.
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
