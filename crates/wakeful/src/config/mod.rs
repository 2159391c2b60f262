//! The settings of a home: built-in values, then `config.toml`, then the environment, then flags.
//!
//! | module | does |
//! |---|---|
//! | [`settings`] | the settings as one struct, which is also their JSON Schema |
//! | [`inference`] | the parts about providers, routes, agents and prices |
//! | [`schema`] | the names of the settings, read from the schema, and which one was meant |
//! | [`value`] | the values that a setting accepts, by its schema |
//! | [`layer`] | merges the sources and remembers where each value came from |
//! | [`cross_check`] | checks between settings |
//! | [`file`] | reads, edits and replaces `config.toml` |
//!
//! Reading creates nothing, not even the home. Whatever is wrong is refused and never ignored: a misspelt limit would
//! otherwise be no limit.

mod cross_check;
mod file;
mod inference;
mod layer;
mod schema;
mod settings;
mod value;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub(crate) use self::file::ConfigEdit;
pub(crate) use self::inference::{PriceSettings, ProviderSettings, ThinkingSetting};
pub(crate) use self::layer::{LoadedConfig, Overrides, SettingOrigin};
pub(crate) use self::schema::Setting;
pub(crate) use self::settings::{LogFormat, LogLevel, LogSettings, Settings, WebhookFormat};
use crate::failure::Failure;
use crate::home::Home;

/// The settings in force for a home, which need not exist.
pub(crate) fn load(home: &Path, flags: &Overrides) -> Result<LoadedConfig, Failure> {
    merge([
        file::layer(&path(home))?,
        layer::environment(&layer::variables()),
        flags.layer(),
    ])
}

/// The settings without the environment of this process: those that stay.
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

/// Everything that is wrong with the file and the environment.
pub(crate) fn problems(home: &Path) -> Vec<Failure> {
    let file = file::layer(&path(home)).map_or_else(|unreadable| vec![unreadable], |read| read.problems);
    let variables = layer::variables();
    let environment = layer::environment(&variables).problems;
    file.into_iter()
        .chain(environment)
        .chain(layer::misspelt_variables(&variables))
        .collect()
}

/// Where a home's settings are.
pub(crate) fn path(home: &Path) -> PathBuf {
    home.join(crate::home::CONFIG)
}

/// The JSON Schema of `config.toml`.
pub(crate) fn schema() -> &'static serde_json::Value {
    schema::Node::root().0
}

/// Changes the file as a whole or not at all. Says whether there was anything to change.
pub(crate) fn change(home: &Home, edits: &[ConfigEdit]) -> Result<bool, Failure> {
    file::change(home.root(), &path(home.root()), edits)
}
