//! The variables of the environment that set something.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::key::{Key, PREFIX, is_near};
use super::layer::{Origin, Read};
use crate::failure::Failure;

/// Variables of ours that are no settings.
const OTHERS: [&str; 3] = ["WAKEFUL_HOME", "WAKEFUL_DATABASE", "WAKEFUL_TOKEN"];

/// Our variables as this process found them. An empty one counts as unset, as it does for every shell.
pub(super) fn found() -> BTreeMap<String, OsString> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty())
        .collect()
}

/// The settings among them.
pub(super) fn layer(variables: &BTreeMap<String, OsString>) -> Read {
    let mut read = Read::default();
    for key in Key::ALL {
        let name = key.variable();
        let Some(text) = variables.get(&name) else {
            continue;
        };
        let value = text.to_str().map(|text| key.read(text));
        match value.filter(|value| key.accepts(value)) {
            Some(value) => drop(read.layer.insert(key, (value, Origin::Variable(name)))),
            None => read.problems.push(refused(key, &name, text)),
        }
    }
    read
}

/// Variables that look like one of ours and are not read. One that resembles none may be somebody else's.
pub(super) fn misspelt(variables: &BTreeMap<String, OsString>) -> Vec<Failure> {
    let known: Vec<String> = Key::ALL
        .iter()
        .map(|key| key.variable())
        .chain(OTHERS.map(str::to_owned))
        .collect();
    let strange = variables.keys().filter(|name| !known.contains(name));
    let likely = |name: &String| {
        let words = |name: &str| name.trim_start_matches(PREFIX).to_owned();
        let distances = known
            .iter()
            .map(|known| (strsim::damerau_levenshtein(&words(name), &words(known)), known));
        let (distance, meant) = distances.min()?;
        is_near(distance, &words(name)).then(|| {
            let message = format!("the environment variable {name} is not read");
            Failure::usage(
                "bad_environment",
                message,
                format!("did you mean {meant}? Else unset it"),
            )
        })
    };
    strange.filter_map(likely).collect()
}

fn refused(key: Key, name: &str, text: &OsString) -> Failure {
    let message = format!(
        "the environment variable {name} sets {}: expected {}, found {text:?}",
        key.name(),
        key.expected()
    );
    Failure::usage("bad_environment", message, "set it to another value, or unset it")
}
