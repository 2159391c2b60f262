//! Checks across settings of the file: every referenced provider and route must be defined.

use wakeful_core::suggestion;
use wakeful_models::{BuiltinProvider, ModelRef};

use super::layer::{Layer, LoadedConfig, SettingOrigin};
use super::settings::Settings;
use crate::failure::Failure;

/// One inconsistency in the file.
#[derive(Debug)]
pub(super) struct CrossFinding {
    pub(super) line: usize,
    pub(super) message: String,
    pub(super) hint: String,
}

/// Finds references to undefined providers and routes, and sections that lack a required field.
pub(super) fn cross_check(file: &Layer) -> Result<Vec<CrossFinding>, Failure> {
    let settings = LoadedConfig::merge([file.clone()])?.config;
    let mut found = Vec::new();
    let mut report = |path: &[&str], message: String, hint: String| {
        let at = file
            .iter()
            .find(|(known, _)| known.iter().zip(path).all(|(one, other)| one == other));
        let line = match at {
            Some((_, (_, SettingOrigin::File { line }))) => *line,
            Some(_) | None => 1,
        };
        found.push(CrossFinding { line, message, hint });
    };
    if let Some((message, hint)) = missing_target(settings.model.default.as_deref(), &settings) {
        report(&["model", "default"], format!("model.default: {message}"), hint);
    }
    if let Some((message, hint)) = missing_provider(settings.provider.name.as_deref(), &settings) {
        report(&["provider", "name"], format!("provider.name: {message}"), hint);
    }
    for (name, provider) in &settings.providers {
        if BuiltinProvider::named(name).is_none() && provider.kind.is_none() {
            let message = format!("providers.{name} is not a built-in provider, and has no kind");
            report(
                &["providers", name],
                message,
                "add `kind = …` to the section".to_owned(),
            );
        }
    }
    for name in settings.prices.keys() {
        let has = |field: &str| file.keys().any(|path| *path == ["prices", name, field]);
        if let Some(missing) = ["input", "output"].into_iter().find(|field| !has(field)) {
            let message = format!("prices.\"{name}\" has no {missing}");
            report(
                &["prices", name],
                message,
                format!("add `{missing} = …` to the section"),
            );
        }
    }
    Ok(found)
}

/// The undefined target of a model reference, as message and hint.
fn missing_target(model: Option<&str>, settings: &Settings) -> Option<(String, String)> {
    match ModelRef::parse(model?).ok()? {
        ModelRef::Hosted { provider, .. } => missing_provider(Some(&provider), settings),
        ModelRef::Route { name } if !settings.routes.contains_key(&name) => Some((
            format!("unknown route {name}"),
            format!("use another route, or define it in [routes.{name}]"),
        )),
        ModelRef::Demo | ModelRef::Scripted { .. } | ModelRef::Route { .. } => None,
    }
}

/// A provider that is neither built in nor defined, as message and hint.
fn missing_provider(name: Option<&str>, settings: &Settings) -> Option<(String, String)> {
    let name = name
        .filter(|name| BuiltinProvider::named(name).is_none() && !settings.providers.contains_key(*name))?;
    let built_in = BuiltinProvider::ALL.iter().map(|known| known.name);
    let known: Vec<&str> = built_in
        .chain(settings.providers.keys().map(String::as_str))
        .collect();
    let hint = match suggestion::nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!(
            "use one of {}, or define it in [providers.{name}]",
            known.join(", ")
        ),
    };
    Some((format!("unknown provider {name}"), hint))
}
