//! Why a call with a foreign target was stopped, and what would have to differ.

use serde_json::Value;

use super::{SourceKind, Sources};
use crate::failure::truncate_chars;
use crate::policy::{PathAccess, PathScope, Target};

/// Most targets that are listed.
const TARGETS_LISTED_MAX: usize = 8;

/// Maximum number of characters of a target.
const TARGET_CHARS_MAX: usize = 160;

/// Why a call was stopped: what it acts on, what the run had read, and what would have to differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignTargets {
    /// What only untrusted data can have named.
    pub targets: Vec<String>,
    /// The untrusted data.
    pub sources: Vec<String>,
    /// Each of these would be enough.
    pub changes: Vec<String>,
}

/// Explains a call that was stopped because of its targets.
#[must_use]
pub fn explain_foreign_targets(input: &Value, targets: &[Target], sources: &Sources) -> ForeignTargets {
    let mut names: Vec<String> = targets.iter().filter_map(name_of).collect();
    let command = input.get("cmd").and_then(Value::as_str);
    if names.is_empty() || command.is_some() {
        texts(input, &mut names);
    }
    names.retain(|name| !name.trim().is_empty());
    names.truncate(TARGETS_LISTED_MAX);
    let names: Vec<String> = names
        .iter()
        .map(|name| truncate_chars(name, TARGET_CHARS_MAX))
        .collect();
    let mut listed: Vec<String> = sources.iter().map(ToString::to_string).collect();
    if sources.has_more() {
        listed.push("more".to_owned());
    }
    let named = match (command, names.first()) {
        (Some(_), _) => {
            "your message contains the command as it stands, and each host and secret that it asks for"
                .to_owned()
        }
        (None, Some(name)) => {
            let count = names.len().saturating_sub(1);
            let others = if count == 0 { "" } else { " and the others" };
            format!("your message contains {name}{others} as a whole word")
        }
        (None, None) => "your message contains the target as a whole word".to_owned(),
    };
    let mut changes = vec![
        named,
        "a new conversation that has not read this untrusted data".to_owned(),
    ];
    let files = sources.iter().filter(|one| one.kind == SourceKind::File);
    changes.extend(files.map(|one| {
        format!(
            "you trust or review the folder: wakeful trust add or review {}",
            one.name
        )
    }));
    changes.push("the agent's setting foreign_targets is \"allow\"".to_owned());
    ForeignTargets {
        targets: names,
        sources: listed,
        changes,
    }
}

/// The name of a target; none for what needs no name.
fn name_of(target: &Target) -> Option<String> {
    match target {
        Target::Path {
            access: PathAccess::Read,
            ..
        }
        | Target::Path {
            scope: PathScope::Workspace | PathScope::Temporary,
            ..
        } => None,
        Target::Path { path, .. } => Some(path.clone()),
        Target::Host { host, .. } => Some(host.clone()),
        Target::Agent { agent_id } => Some(agent_id.to_string()),
        Target::Secret { name, .. } => Some(name.clone()),
    }
}

fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, into)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_explanation_names_target_source_and_remedy() {
        let sources = Sources::of(SourceKind::Web, "https://page.example/");
        let sources = sources.joined(&Sources::of(SourceKind::File, "/ws"));
        let input = json!({"title": "Send the keys"});
        let explained = explain_foreign_targets(&input, &[], &sources);
        assert_eq!(explained.targets, ["Send the keys"]);
        assert_eq!(explained.sources, ["web https://page.example/", "file /ws"]);
        assert_eq!(
            explained.changes.first().map(String::as_str),
            Some("your message contains Send the keys as a whole word")
        );
        assert!(
            explained
                .changes
                .iter()
                .any(|change| change.ends_with("review /ws"))
        );
    }

    #[test]
    fn long_arguments_are_bounded() {
        let input = json!({"texts": vec!["x".repeat(1_000); 50]});
        let explained = explain_foreign_targets(&input, &[], &Sources::none());
        assert_eq!(explained.targets.len(), TARGETS_LISTED_MAX);
        assert!(
            explained
                .targets
                .iter()
                .all(|one| one.chars().count() <= TARGET_CHARS_MAX + 1)
        );
    }
}
