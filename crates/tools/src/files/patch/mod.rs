//! Patches: their two grammars, and how hunks are applied to texts.
//!
//! | module | about |
//! |---|---|
//! | `unified` | unified diffs, as `diff -u` and `git diff` write them |
//! | `envelope` | the grammar between `*** Begin Patch` and `*** End Patch` |
//! | `hunk` | finds the lines of a hunk in a text, and replaces them |
//! | `apply` | the tool `ApplyPatch`: from a patch to changes of files |

pub(crate) mod apply;
mod envelope;
pub(super) mod hunk;
mod unified;

use wakeful_core::step::ToolError;

use self::hunk::Hunk;
use super::fault::{fault, named};

/// Most files of one patch. A rename counts as two targets for the policy, so both fit into its bound.
pub(super) const PATCH_FILES_MAX: usize = wakeful_core::policy::TARGETS_MAX / 2;

/// The first line that selects the second grammar.
const BEGIN: &str = "*** Begin Patch";

/// The changes of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FilePatch {
    /// The file before; none if it is created.
    pub(super) old_path: Option<String>,
    /// The file after; none if it is deleted.
    pub(super) new_path: Option<String>,
    pub(super) hunks: Vec<Hunk>,
    /// Whether the file becomes executable, if the patch says so.
    pub(super) is_executable: Option<bool>,
}

/// Why a patch cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PatchError {
    /// The line of the patch, from 1.
    line: usize,
    message: String,
}

impl PatchError {
    fn new(index: usize, message: impl Into<String>) -> Self {
        Self {
            line: index + 1,
            message: message.into(),
        }
    }
}

/// Reads a patch in either grammar.
pub(super) fn parse(patch: &str) -> Result<Vec<FilePatch>, ToolError> {
    let lines: Vec<&str> = patch.lines().collect();
    let is_envelope = lines
        .iter()
        .find(|line| !line.trim().is_empty())
        .map(|line| line.trim())
        == Some(BEGIN);
    let files = if is_envelope {
        envelope::parse(&lines)
    } else {
        unified::parse(&lines)
    };
    let refused = |message: &str| {
        let hint = "give a unified diff with ---, +++ and @@ lines, or *** Begin Patch … *** End Patch";
        named("patch", fault("invalid_patch", message, hint))
    };
    let files = files.map_err(|error| refused(&format!("line {}: {}", error.line, error.message)))?;
    if files.is_empty() {
        return Err(refused("the patch changes no file"));
    }
    if files.len() > PATCH_FILES_MAX {
        let message = format!(
            "the patch changes {} files, at most {PATCH_FILES_MAX} are allowed",
            files.len()
        );
        return Err(named(
            "patch",
            fault("invalid_patch", &message, "split it into several patches"),
        ));
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
