//! `WriteFile` and `EditFile`: new contents of one file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::step::ToolError;

use super::change_set::{Change, OldFile, read_old};
use super::fault::{fault, named};
use super::location::Location;
use super::text::{has_crlf, is_binary, unified_diff, with_crlf};
use crate::schema;

pub(crate) const WRITE_FILE: &str = "WriteFile";

pub(crate) const EDIT_FILE: &str = "EditFile";

/// Largest file that is edited or replaced. The old contents stay in memory until the change is made.
pub(super) const EDITED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Places that an error names.
const PLACES_MAX: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    /// File, relative to the workspace.
    pub(super) path: String,
    /// The whole new text.
    content: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditFile {
    /// File, relative to the workspace.
    pub(super) path: String,
    /// The exact text to replace.
    #[schemars(length(min = 1))]
    old: String,
    /// The text to put in its place.
    new: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: Option<bool>,
}

pub(crate) fn write_spec() -> ToolSpec {
    schema::spec::<WriteFile>(
        WRITE_FILE,
        "Create or replace a text file. Missing folders are created.",
    )
}

pub(crate) fn edit_spec() -> ToolSpec {
    schema::spec::<EditFile>(
        EDIT_FILE,
        "Replace text in a file. old must occur exactly once, or set replace_all.",
    )
}

impl WriteFile {
    pub(super) fn parse(input: &Value) -> Result<Self, ToolError> {
        schema::read(input, "the arguments are path and content")
    }

    /// The new contents, for a file that is not read.
    pub(super) fn unread_preview(&self, location: &Location) -> String {
        let name = format!("b/{}", location.shown);
        let diff = unified_diff("", &self.content, ["/dev/null", &name]);
        format!("{}{diff}", described(location, Some(self.content.len())))
    }

    /// The change of the file.
    pub(super) fn change(self, location: Location) -> Result<Change, ToolError> {
        Ok(Change {
            field: "path",
            old: read_old("path", &location, EDITED_BYTES_MAX)?,
            location,
            new: Some(self.content.into_bytes()),
            mode: None,
        })
    }
}

impl EditFile {
    pub(super) fn parse(input: &Value) -> Result<Self, ToolError> {
        let arguments: Self = schema::read(input, "the arguments are path, old, new and replace_all")?;
        let problem = |field, message, hint| Err(schema::invalid(Some(field), message, hint));
        if arguments.old.is_empty() {
            return problem("old", "old is empty", "use WriteFile to create a file");
        }
        if arguments.old == arguments.new {
            return problem("new", "new is the same as old", "give a different text");
        }
        Ok(arguments)
    }

    /// The replaced text and the new one, for a file that is not read.
    pub(super) fn unread_preview(&self, location: &Location) -> String {
        let names = ["a", "b"].map(|side| format!("{side}/{}", location.shown));
        let diff = unified_diff(&self.old, &self.new, names.each_ref().map(String::as_str));
        format!("{}{diff}", described(location, None))
    }

    /// The change of the file.
    pub(super) fn change(self, location: Location) -> Result<Change, ToolError> {
        let Some(old) = read_old("path", &location, EDITED_BYTES_MAX)? else {
            let message = format!("{} does not exist", location.shown);
            let hint = "find the file with ListFiles, or create it with WriteFile";
            return Err(named("path", fault("not_found", &message, hint)));
        };
        let text = text_of(&location, &old, "path")?;
        let new = self.replace(&location, text)?;
        Ok(Change {
            field: "path",
            location,
            new: Some(new.into_bytes()),
            old: Some(old),
            mode: None,
        })
    }

    fn replace(&self, location: &Location, text: &str) -> Result<String, ToolError> {
        let (mut old, mut new) = (self.old.clone(), self.new.clone());
        // Models read and write plain line feeds, also in files with others.
        if has_crlf(text) && !text.contains(&old) {
            (old, new) = (with_crlf(&old), with_crlf(&new));
        } else if has_crlf(text) && !old.contains('\n') {
            new = with_crlf(&new);
        }
        let count = text.matches(&old).count();
        match count {
            0 => {
                let message = format!("old does not occur in {}", location.shown);
                let hint = "read the file again and copy the text exactly, with its indentation";
                Err(named("old", fault("no_match", &message, hint)))
            }
            1 => Ok(text.replacen(&old, &new, 1)),
            _ if self.replace_all == Some(true) => Ok(text.replace(&old, &new)),
            _ => {
                let line_of = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count() + 1;
                let places = text.match_indices(&old).take(PLACES_MAX);
                let places: Vec<String> = places.map(|(at, _)| line_of(at).to_string()).collect();
                let places = places.join(", ");
                let message = format!("old occurs {count} times in {} (lines {places})", location.shown);
                let hint = "give more of the text around it, or set replace_all";
                Err(named("old", fault("several_matches", &message, hint)))
            }
        }
    }
}

/// The text of a file that is edited.
pub(super) fn text_of<'a>(location: &Location, old: &'a OldFile, field: &str) -> Result<&'a str, ToolError> {
    let text = std::str::from_utf8(&old.bytes)
        .ok()
        .filter(|_| !is_binary(&old.bytes));
    text.ok_or_else(|| {
        let message = format!("{} is not UTF-8 text", location.shown);
        let hint = "edit it with ExecCommand, or replace it with WriteFile";
        named(field, fault("binary_file", &message, hint))
    })
}

/// A line that says what a change does to a file of which only the size is known.
pub(super) fn described(location: &Location, new_bytes: Option<usize>) -> String {
    let shown = &location.shown;
    let new = new_bytes.map(|bytes| counted_bytes(bytes as u64));
    let old = std::fs::symlink_metadata(&location.absolute).ok();
    match (old.map(|found| counted_bytes(found.len())), new) {
        (Some(old), Some(new)) => format!("replaces {shown}, a file of {old}, by {new}\n"),
        (Some(old), None) => format!("changes {shown}, a file of {old}\n"),
        (None, Some(new)) => format!("creates the file {shown} ({new})\n"),
        (None, None) => format!("{shown} does not exist\n"),
    }
}

fn counted_bytes(bytes: u64) -> String {
    format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" })
}

/// The result of a change of one file, for the model.
pub(super) fn result_of(change: &Change) -> Value {
    let counts = change.line_counts();
    json!({
        "ok": true,
        "path": change.location.shown,
        "created": change.old.is_none(),
        "lines_added": counts.added,
        "lines_removed": counts.removed,
    })
}
