//! What a person has settled for a home: built-in values, then `config.toml`, then the environment, then flags.
//!
//! | module | does |
//! |---|---|
//! | [`values`] | the settings as types, which are also their JSON Schema |
//! | [`inference`] | those of providers, routes, agents and prices |
//! | [`key`] | their names, and which one was meant |
//! | [`named`] | the names that people choose themselves, such as those of providers |
//! | [`kind`] | what each accepts |
//! | [`cross`] | what one setting says of another |
//! | [`layer`] | puts one source over the other and remembers where each value came from |
//! | [`environment`] | the variables `WAKEFUL_…` |
//! | [`file`] | reads, edits and replaces `config.toml` |
//!
//! Reading makes nothing, not even the home. What is wrong is refused and never passed over: a limit that was
//! misspelt would otherwise be no limit.

mod cross;
mod environment;
mod file;
mod inference;
mod key;
mod kind;
mod layer;
mod named;
mod values;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub(crate) use self::file::Change;
pub(crate) use self::inference::{PriceSettings, ProviderSettings, ThinkingSetting};
pub(crate) use self::key::Key;
pub(crate) use self::layer::{Loaded, Origin, Overrides};
pub(crate) use self::named::Named;
pub(crate) use self::values::Config;
use crate::failure::Failure;
use crate::home::Home;

/// The settings in force for a home, which need not exist.
pub(crate) fn load(home: &Path, flags: &Overrides) -> Result<Loaded, Failure> {
    effective(home, environment::layer(&environment::found()), flags)
}

/// The settings without what the environment says today: what is written down, and what is to be.
pub(crate) fn load_lasting(home: &Path, flags: &Overrides) -> Result<Loaded, Failure> {
    effective(home, layer::Read::default(), flags)
}

fn effective(home: &Path, environment: layer::Read, flags: &Overrides) -> Result<Loaded, Failure> {
    let layers = [file::layer(&path(home))?, environment, flags.layer()];
    let (mut sound, mut named) = (Vec::new(), layer::NamedLayer::new());
    for read in layers {
        if let Some(problem) = read.problems.into_iter().next() {
            return Err(problem);
        }
        sound.push(read.layer);
        named.extend(read.named);
    }
    layer::merge_all(&sound, named)
}

/// Everything that is wrong with the file and the environment.
pub(crate) fn problems(home: &Path) -> Vec<Failure> {
    let file = match file::layer(&path(home)) {
        Ok(read) => read.problems,
        Err(unreadable) => vec![unreadable],
    };
    let variables = environment::found();
    let environment = environment::layer(&variables).problems;
    file.into_iter()
        .chain(environment)
        .chain(environment::misspelt(&variables))
        .collect()
}

/// Where a home's settings are.
pub(crate) fn path(home: &Path) -> PathBuf {
    home.join(crate::home::CONFIG)
}

/// The JSON Schema of `config.toml`.
pub(crate) fn schema() -> serde_json::Value {
    schemars::schema_for!(Config).to_value()
}

/// Changes the file as a whole or not at all. Says whether there was anything to change.
pub(crate) fn change(home: &Home, changes: &[Change]) -> Result<bool, Failure> {
    file::change(home.root(), &path(home.root()), changes)
}
