//! What one setting of the file says of another: a provider that is spoken of must be there.

use std::collections::BTreeSet;

use serde_json::Value;
use wakeful_models::{Known, ModelRef};

use super::key::Key;
use super::layer::{Layer, NamedLayer, Origin};
use super::named::Section;

/// A line, what is wrong there, and the way out.
type Found = (usize, String, String);

/// Everything in the file that speaks of something that is not there, or says only half of what is needed.
pub(super) fn crossed(layer: &Layer, named: &NamedLayer) -> Vec<Found> {
    let mut found = Vec::new();
    if let Some((value, origin)) = layer.get(&Key::ModelDefault) {
        found.extend(reference(&Key::ModelDefault.name(), (value, origin), named));
    }
    for (name, (value, origin)) in named {
        if (name.section, name.field) == (Section::Agents, "model") {
            found.extend(reference(&name.name(), (value, origin), named));
        }
    }
    let sections: BTreeSet<(Section, &str)> = named
        .keys()
        .map(|name| (name.section, name.name.as_str()))
        .collect();
    found.extend(sections.into_iter().filter_map(|section| whole(section, named)));
    found
}

/// Whether a section has what it cannot do without.
fn whole((section, name): (Section, &str), named: &NamedLayer) -> Option<Found> {
    let needed: &[&str] = match section {
        Section::Providers if Known::named(name).is_none() => &["kind"],
        Section::Prices => &["input", "output"],
        Section::Providers
        | Section::Model
        | Section::Agent
        | Section::Announce
        | Section::Decisions
        | Section::Inference
        | Section::Routes
        | Section::Agents
        | Section::Models => &[],
    };
    let own = |field: &str| {
        named
            .keys()
            .any(|one| one.section == section && one.name == name && one.field == field)
    };
    let missing = needed.iter().find(|field| !own(field))?;
    let first = named
        .iter()
        .find(|(one, _)| one.section == section && one.name == name)?;
    let word = section.word();
    let message = match section {
        Section::Providers => format!("{word}.{name} is no provider that is built in, and has no {missing}"),
        Section::Prices
        | Section::Model
        | Section::Agent
        | Section::Announce
        | Section::Decisions
        | Section::Inference
        | Section::Routes
        | Section::Agents
        | Section::Models => {
            format!("{word}.\"{name}\" has no {missing}")
        }
    };
    Some((
        line(&first.1.1),
        message,
        format!("add `{missing} = …` to the section"),
    ))
}

/// Whether a reference leads to a provider or a route that is there.
fn reference(full: &str, (value, origin): (&Value, &Origin), named: &NamedLayer) -> Option<Found> {
    let has =
        |section: Section, name: &str| named.keys().any(|one| one.section == section && one.name == name);
    let (message, hint) = match ModelRef::parse(value.as_str()?) {
        Ok(ModelRef::Hosted { provider, .. })
            if Known::named(&provider).is_none() && !has(Section::Providers, &provider) =>
        {
            (
                format!("{full}: there is no provider {provider}"),
                format!("name another, or describe it in [providers.{provider}]"),
            )
        }
        Ok(ModelRef::Route { name }) if !has(Section::Routes, &name) => (
            format!("{full}: there is no route {name}"),
            format!("name another, or describe it in [routes.{name}]"),
        ),
        Ok(ModelRef::Demo | ModelRef::Scripted { .. } | ModelRef::Hosted { .. } | ModelRef::Route { .. })
        | Err(_) => {
            return None;
        }
    };
    Some((line(origin), message, hint))
}

const fn line(origin: &Origin) -> usize {
    match origin {
        Origin::File { line } => *line,
        Origin::Default | Origin::Variable(_) | Origin::Flag(_) => 1,
    }
}
