//! Errors in a script: what is wrong, where, and how to fix it.
//!
//! An API caller can name any file that the daemon can read, so an error never repeats the file's contents.
//! It contains the line, the column, known fields of the format, and the kind of error.

use serde_path_to_error::{Path, Segment};
use serde_saphyr as yaml;
use wakeful_core::failure::truncate_chars;
use wakeful_core::suggestion;
use yaml::budget::BudgetBreach;

/// Longest field path and longest message in characters, so that an error fits on a few lines.
const TEXT_CHARS_MAX: usize = 300;

/// The keys of the format. Any other key is content of the file and is shown as a question mark.
const KEYS: [&str; 27] = [
    "after",
    "boundary",
    "cached_read",
    "cached_read_tokens",
    "cached_write",
    "cached_write_tokens",
    "delay_ms",
    "fail",
    "input",
    "input_tokens",
    "kind",
    "max_output_tokens",
    "message",
    "name",
    "output",
    "output_tokens",
    "price",
    "reasoning_tokens",
    "repeat_last",
    "retry",
    "retry_after_ms",
    "rounds",
    "status",
    "text",
    "thinking",
    "tools",
    "usage",
];

/// Largest edit distance at which an unknown key is treated as a typo.
const SLIP_MAX: usize = 2;

/// A script that cannot be used. There is only one kind of error, because callers can only show it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct ScriptError {
    /// The script's name as given.
    pub script: String,
    /// The position in the file, if known.
    pub place: Option<FilePosition>,
    /// The field, such as `rounds[1].tools[0].name`, with `?` for a key that is not part of the format.
    /// Empty if the error concerns the whole file.
    pub field: String,
    /// What is wrong and how to fix it.
    pub message: String,
}

/// A position in a file, counted like in editors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePosition {
    /// The line, starting at 1.
    pub line: u64,
    /// The column in characters, starting at 1.
    pub column: u64,
}

impl FilePosition {
    /// Returns `None` for the locations of values that the parser generated.
    pub(super) fn of(location: yaml::Location) -> Option<Self> {
        let known = location != yaml::Location::UNKNOWN;
        known.then(|| Self {
            line: location.line(),
            column: location.column(),
        })
    }
}

impl ScriptError {
    /// An error of the parser or of deserialization.
    pub(super) fn unreadable(script: &str, path: Option<&Path>, error: &yaml::Error) -> Self {
        let error = error.without_snippet();
        let (message, key) = explain(error);
        let mut field = path.map(spelled).unwrap_or_default();
        if let Some(key) = key {
            join(&mut field, &key);
        }
        let place = error.location().and_then(FilePosition::of);
        Self {
            script: script.to_owned(),
            place,
            field: truncate_chars(&field, TEXT_CHARS_MAX),
            message: truncate_chars(&message, TEXT_CHARS_MAX),
        }
    }

    fn sentence(&self) -> String {
        let place = self
            .place
            .map(|at| format!(", line {}, column {}", at.line, at.column))
            .unwrap_or_default();
        let field = if self.field.is_empty() {
            String::new()
        } else {
            format!(", {}", self.field)
        };
        format!("{}{place}{field}: {}", self.script, self.message)
    }
}

/// Formats the path in the notation that people write.
fn spelled(path: &Path) -> String {
    let mut text = String::new();
    for (depth, segment) in path.iter().enumerate() {
        match segment {
            Segment::Seq { index } => text.push_str(&format!("[{index}]")),
            // Each round is deserialized with its position, in a pair whose deserializer names the round
            // `value`.
            Segment::Map { .. } if depth == 2 => {}
            Segment::Map { key } => join(&mut text, key),
            // The only enum of the format is a unit enum without fields.
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    text
}

fn join(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(if KEYS.contains(&key) { key } else { "?" });
}

/// Returns a message for a parser error, and the key that it concerns if the path does not contain it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a foreign enum of eighty variants, most of which never arise"
)]
fn explain(error: &yaml::Error) -> (String, Option<String>) {
    use yaml::Error as E;
    match error {
        E::Eof { .. } => (
            "the script is empty; write at least `rounds:` with one entry".into(),
            None,
        ),
        E::MultipleDocuments { .. } => (ONE_DOCUMENT.into(), None),
        E::Budget { breach, .. } => (exceeded(breach), None),
        E::UnknownAnchor { .. } | E::MergeKeyNotAllowed { .. } => (NO_ALIASES.into(), None),
        E::SerdeMissingField { field, .. } => {
            ("is missing; every entry needs it".into(), Some((*field).into()))
        }
        E::SerdeUnknownField { field, expected, .. } => (unknown_key(field, expected), None),
        E::SerdeUnknownVariant { expected, .. } => (
            format!("is not a known value; use one of: {}", expected.join(", ")),
            None,
        ),
        E::UnsupportedTag { .. } => ("has a tag; tags are not supported, remove it".into(), None),
        E::NonFiniteFloat { .. } => ("must be a finite number".into(), None),
        E::DuplicateMappingKey { key, .. } => ("appears twice; keep one of the two".into(), key.clone()),
        E::InvalidScalar {
            ty: "u64" | "u16", ..
        } => ("must be a whole number, not negative".into(), None),
        E::InvalidBooleanStrict { .. } => ("must be `true` or `false`".into(), None),
        E::Unexpected { expected, .. } => (wrong_shape(expected).into(), None),
        // Messages of the checks in this crate start like this. Messages of the parser quote the value and
        // are not shown.
        E::Message { msg, .. } if msg.starts_with("must be ") => (msg.clone(), None),
        E::ExternalMessage { msg, .. } => (syntax(msg), None),
        _ => ("is not valid at this place in a script".into(), None),
    }
}

const ONE_DOCUMENT: &str = "a script is one YAML document; remove what follows the second `---` or the `...`";
const NO_ALIASES: &str = "anchors, aliases and merge keys are not supported; write the value out";

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a foreign enum; the variants named here are the ones we limit"
)]
fn exceeded(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Documents { .. } => ONE_DOCUMENT.into(),
        BudgetBreach::Anchors { .. } | BudgetBreach::Aliases { .. } => NO_ALIASES.into(),
        BudgetBreach::Depth { .. } => "is nested too deeply; flatten it".into(),
        other => format!("exceeds the size limit of a script ({other:?}); split it"),
    }
}

fn wrong_shape(expected: &str) -> &'static str {
    match expected {
        "mapping start" => "must be a mapping of `key: value`",
        "sequence start" => "must be a list of `- entry`",
        _ => "must be a single value, not a list or a mapping; put text with `: ` or `{` in quotes",
    }
}

fn unknown_key(key: &str, expected: &[&str]) -> String {
    let near = expected
        .iter()
        .map(|known| (suggestion::distance(key, known), known))
        .min();
    match near {
        Some((slip, known)) if slip <= SLIP_MAX => format!("is not a known key; did you mean `{known}`?"),
        _ => format!("is not a known key; use one of: {}", expected.join(", ")),
    }
}

/// Returns the parser's message, unless it quotes the file.
fn syntax(sentence: &str) -> String {
    match sentence.contains(['`', '\'', '"']) {
        true => "is not valid YAML here".to_owned(),
        false => format!("is not valid YAML here: {sentence}"),
    }
}
