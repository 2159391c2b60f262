//! The settings of a home: defaults, then `config.toml`, then the environment, then flags.
//!
//! | module | does |
//! |---|---|
//! | [`settings`] | the settings as one struct, which is also their JSON Schema |
//! | [`backup`] | the part about daily backups |
//! | [`inference`] | the parts about providers, routes, agents and prices |
//! | [`schema`] | the names of the settings, read from the schema, and suggestions for misspelt names |
//! | [`value`] | the values that a setting accepts, by its schema |
//! | [`layer`] | merges the sources and records the origin of each value |
//! | [`live`] | the settings of a running process, which follow the file |
//! | [`cross_check`] | checks across settings |
//! | [`file`] | reads, edits and replaces `config.toml` |
//!
//! Reading creates nothing, not even the home. Invalid settings are refused and never ignored, because a
//! misspelt limit would otherwise have no effect.

mod backup;
mod cross_check;
mod file;
mod inference;
mod layer;
mod live;
mod refresh;
mod schema;
mod settings;
mod value;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) use self::backup::Backup;
pub(crate) use self::file::{ConfigEdit, provider_exists};
pub(crate) use self::inference::{PriceSettings, ProviderSettings, ThinkingSetting};
pub(crate) use self::layer::{LoadedConfig, Overrides, SettingOrigin};
pub(crate) use self::live::{LiveSettings, needs_restart};
pub(crate) use self::schema::Setting;
pub(crate) use self::settings::{LogFormat, LogLevel, LogSettings, Settings, WebhookFormat};
use crate::failure::Failure;
use crate::home::Home;

/// The effective settings of a home, which need not exist.
pub(crate) fn load(home: &Path, flags: &Overrides) -> Result<LoadedConfig, Failure> {
    merge([
        file::layer(&path(home))?,
        layer::environment(&layer::variables()),
        flags.layer(),
    ])
}

/// The code of a settings file that cannot be understood.
pub(crate) const INVALID: &str = "config_invalid";

/// The settings of this call alone, if the file of the home is invalid.
pub(crate) fn load_without_file(flags: &Overrides) -> Result<LoadedConfig, Failure> {
    merge([layer::environment(&layer::variables()), flags.layer()])
}

/// The persistent settings: without the environment of this process.
pub(crate) fn load_lasting(home: &Path, flags: &Overrides) -> Result<LoadedConfig, Failure> {
    merge([file::layer(&path(home))?, flags.layer()])
}

fn merge<const N: usize>(sources: [layer::ParsedLayer; N]) -> Result<LoadedConfig, Failure> {
    let mut layers = Vec::with_capacity(N);
    for source in sources {
        match source.problems.into_iter().next() {
            Some(problem) => return Err(problem),
            None => layers.push(source.layer),
        }
    }
    LoadedConfig::merge(layers)
}

/// All errors in the file and the environment.
pub(crate) fn problems(home: &Path) -> Vec<Failure> {
    let file = file::layer(&path(home)).map_or_else(|unreadable| vec![unreadable], |read| read.problems);
    let variables = layer::variables();
    let environment = layer::environment(&variables).problems;
    file.into_iter()
        .chain(environment)
        .chain(layer::misspelt_variables(&variables))
        .collect()
}

/// Path of a home's settings file.
pub(crate) fn path(home: &Path) -> PathBuf {
    home.join(crate::home::CONFIG)
}

/// The JSON Schema of `config.toml`.
pub(crate) fn schema() -> &'static serde_json::Value {
    schema::Node::root().0
}

/// Sets a setting to a JSON value as if it was typed, or removes it from the file if the value is null.
pub(crate) fn change_value(home: &Home, name: &str, value: &Value) -> Result<(), Failure> {
    let text = (!value.is_null()).then(|| value_text(Some(value)));
    let edit = match text {
        None => ConfigEdit::Unset(Setting::known(name)?.name()),
        Some(text) => {
            let key = name.to_owned();
            let setting = Setting::known(name)?;
            if value.is_array() {
                // As text, a list would be split at the commas in its values.
                let value = setting.list(value)?;
                ConfigEdit::SetList { key, value }
            } else {
                setting.typed(&text)?;
                ConfigEdit::Set { key, text }
            }
        }
    };
    change(home, &[edit]).map(drop)
}

/// Formats a value for people and scripts: text without quotes, a list as it is typed.
pub(crate) fn value_text(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::Array(list)) => {
            let parts: Vec<String> = list.iter().map(|one| value_text(Some(one))).collect();
            parts.join(",")
        }
        Some(value) => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    }
}

/// Applies all edits or none. Returns whether the file changed.
pub(crate) fn change(home: &Home, edits: &[ConfigEdit]) -> Result<bool, Failure> {
    file::change(home.root(), &path(home.root()), edits)
}
