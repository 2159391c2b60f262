//! The tools for files: reading, writing, editing, patching, listing and searching.
//!
//! | module | about |
//! |---|---|
//! | `location` | where a path leads, and whether a call may go there |
//! | `beneath` | opens files beneath a root folder, without following symlinks |
//! | `change_set` | changes several files together, or none |
//! | `text` | line endings, binary contents, diffs |
//! | `read` | `ReadFile` |
//! | `edit` | `WriteFile` and `EditFile` |
//! | `patch` | `ApplyPatch` and its two grammars |
//! | `scan` | `ListFiles` and `SearchFiles`: their arguments and results |
//! | `scan_task` | the walk through folders, inside the sandbox |
//! | `judged` | the paths of a walk on which policies decide one by one |
//! | `search` | the search of file contents, inside the sandbox |
//! | `fault` | the errors of file tools |
//!
//! A call is parsed, its paths are located and judged, and only then is anything opened. Reading and writing
//! happen in this process through descriptors; walks through folders happen in a sandboxed process, because
//! their library opens files by name.

mod beneath;
mod change_set;
pub(crate) mod edit;
mod fault;
pub(crate) mod judged;
pub(crate) mod location;
pub(crate) mod patch;
pub(crate) mod read;
pub(crate) mod scan;
pub(crate) mod scan_task;
mod search;
mod text;

use serde_json::{Value, json};
use wakeful_core::conversation::Attachment;
use wakeful_core::policy::{CallFacts, PathAccess, PathScope, TARGETS_MAX, Target};
use wakeful_core::step::ToolError;
use wakeful_core::tool::ChangedEntity;
use wakeful_ports::tool::{CallGrant, ToolOutcome, ToolRequest};

use self::change_set::Change;
use self::edit::{EditFile, WriteFile};
use self::fault::fault;
use self::location::{Location, Reach};
use self::patch::FilePatch;
use self::patch::apply::{ApplyPatch, PatchedFiles};
use self::read::ReadFile;
use self::scan::ScanCall;
use crate::options::OutputLimits;
use crate::outcome::{failed, succeeded};

/// Longest preview of a change, in characters: a screen or two, which a person reads before an approval.
pub(crate) const PREVIEW_CHARS_MAX: usize = 12_000;

/// A call of a file tool with checked arguments.
#[derive(Debug)]
pub(crate) enum FileCall {
    Read(ReadFile),
    Write(WriteFile),
    Edit(EditFile),
    Patch(ApplyPatch, Vec<FilePatch>),
    Scan(ScanCall),
}

impl FileCall {
    pub(crate) fn parse(tool: &str, input: &Value) -> Result<Self, ToolError> {
        match tool {
            read::READ_FILE => ReadFile::parse(input).map(Self::Read),
            edit::WRITE_FILE => WriteFile::parse(input).map(Self::Write),
            edit::EDIT_FILE => EditFile::parse(input).map(Self::Edit),
            patch::apply::APPLY_PATCH => {
                ApplyPatch::parse(input).map(|(arguments, files)| Self::Patch(arguments, files))
            }
            _ => ScanCall::parse(tool, input).map(Self::Scan),
        }
    }

    /// The field that names the path, in errors.
    const fn field(&self) -> &'static str {
        match self {
            Self::Read(_) | Self::Write(_) | Self::Edit(_) | Self::Scan(_) => "path",
            Self::Patch(..) => "patch",
        }
    }

    /// The paths of the call, resolved and judged. A patch has one or two for each file.
    fn locate(&self, reach: &Reach) -> Result<Vec<[Option<Location>; 2]>, ToolError> {
        let one = |path: &str, access| Ok(vec![[Some(reach.locate("path", path, access)?), None]]);
        match self {
            Self::Read(call) => one(&call.path, PathAccess::Read),
            Self::Write(call) => one(&call.path, PathAccess::Write),
            Self::Edit(call) => one(&call.path, PathAccess::Write),
            Self::Scan(call) => one(call.path(), PathAccess::Read),
            Self::Patch(_, files) => files
                .iter()
                .map(|file| patch::apply::locate(reach, file))
                .collect(),
        }
    }

    /// Checks that the paths of the call can be resolved.
    pub(crate) fn check(&self, reach: &Reach) -> Result<(), ToolError> {
        self.locate(reach).map(drop)
    }

    /// The facts for policies.
    pub(crate) fn facts(&self, reach: &Reach) -> CallFacts {
        let targets = match self.locate(reach) {
            Ok(located) => targets_of(&located),
            // The folders changed since the arguments were checked, so nothing is known about the path.
            Err(error) => vec![Target::Path {
                path: error.message,
                access: PathAccess::Write,
                scope: PathScope::Outside,
            }],
        };
        CallFacts {
            targets,
            ..CallFacts::default()
        }
    }

    /// The first path of the call that is denied, with the entry of the list that denies it.
    pub(crate) fn denied(&self, reach: &Reach) -> Option<String> {
        let located = self.locate(reach).ok()?;
        let mut locations = located.iter().flatten().flatten();
        locations.find_map(|location| reach.denial(location))
    }

    /// The one location of a call with one path, if the call may go there.
    fn permitted(&self, reach: &Reach, grant: &CallGrant) -> Result<Vec<[Option<Location>; 2]>, ToolError> {
        let located = self.locate(reach)?;
        for location in located.iter().flatten().flatten() {
            location.check(self.field(), grant)?;
        }
        Ok(located)
    }

    /// The location that a walk through folders starts from, if the call may go there.
    pub(crate) fn scan(self, reach: &Reach, grant: &CallGrant) -> Result<(ScanCall, Location), ToolError> {
        let location = self
            .permitted(reach, grant)?
            .into_iter()
            .flatten()
            .flatten()
            .next();
        match (self, location) {
            (Self::Scan(call), Some(location)) => Ok((call, location)),
            (Self::Scan(_) | Self::Read(_) | Self::Write(_) | Self::Edit(_) | Self::Patch(..), _) => Err(
                fault("unknown_tool", "the tool does not walk through folders", ""),
            ),
        }
    }

    /// The changes that the call would make; none for a call that only reads.
    fn changes(self, located: Vec<[Option<Location>; 2]>) -> Result<PatchedFiles, ToolError> {
        let mut first = located.iter().flatten().flatten().next().cloned();
        let mut one = |change: &dyn Fn(Location) -> Result<Change, ToolError>| {
            let Some(location) = first.take() else {
                return Ok(PatchedFiles::default());
            };
            let change = change(location)?;
            Ok(PatchedFiles {
                summaries: vec![edit::result_of(&change)],
                changes: vec![change],
            })
        };
        match self {
            Self::Write(call) => one(&|location| call.clone().change(location)),
            Self::Edit(call) => one(&|location| call.clone().change(location)),
            Self::Patch(_, files) => PatchedFiles::of(&files, located),
            Self::Read(_) | Self::Scan(_) => Ok(PatchedFiles::default()),
        }
    }

    /// The changes as a unified diff for the person who decides about them; none for a call that only reads, or
    /// that would fail. Contents outside the agent's folders are not read: such a change is shown by its arguments.
    pub(crate) fn preview(self, reach: &Reach) -> Option<String> {
        let located = self.locate(reach).ok()?;
        let may_read = |location: &Location| match location.scope {
            PathScope::Workspace | PathScope::Protected | PathScope::Temporary | PathScope::Granted => true,
            PathScope::Outside | PathScope::Denied => false,
        };
        let mut all = located.iter().flatten().flatten();
        if all.clone().any(|location| location.scope == PathScope::Denied) {
            return None;
        }
        if !all.all(may_read) {
            let shown = self.unread_preview(&located)?;
            return Some(text::bounded(&shown, PREVIEW_CHARS_MAX));
        }
        let changes = self.changes(located).ok()?.changes;
        let diffs: String = changes.iter().map(diff_of).collect();
        (!diffs.is_empty()).then(|| text::bounded(&diffs, PREVIEW_CHARS_MAX))
    }

    /// What the arguments say about a change of files that are not read.
    fn unread_preview(&self, located: &[[Option<Location>; 2]]) -> Option<String> {
        let mut first = located.iter().flatten().flatten();
        match self {
            Self::Write(call) => first.next().map(|location| call.unread_preview(location)),
            Self::Edit(call) => first.next().map(|location| call.unread_preview(location)),
            Self::Patch(call, _) => {
                let files: String = first.map(|location| edit::described(location, None)).collect();
                Some(format!("{files}{}", call.patch))
            }
            Self::Read(_) | Self::Scan(_) => None,
        }
    }

    /// Reads or changes files.
    fn perform(self, act: &Act<'_>) -> Result<FileResult, ToolError> {
        let located = self.permitted(act.reach, &act.request.grant)?;
        if let Self::Read(call) = &self {
            let chars_max = act.output.chars(call.max_output_tokens);
            let location = located.iter().flatten().flatten().next();
            let missing = || fault("invalid_arguments", "the path is missing", "");
            return call.read(location.ok_or_else(missing)?, chars_max);
        }
        if act.request.is_read_only {
            let hint = "describe the change to the person instead";
            return Err(fault("read_only_run", "this run may change no files", hint));
        }
        let (is_patch, is_dry_run) = match &self {
            Self::Patch(call, _) => (true, call.dry_run == Some(true)),
            Self::Read(_) | Self::Write(_) | Self::Edit(_) | Self::Scan(_) => (false, false),
        };
        let PatchedFiles {
            changes,
            mut summaries,
        } = self.changes(located)?;
        let mut changed = Vec::new();
        if !is_dry_run {
            changed = changes
                .iter()
                .map(|change| ChangedEntity::new(FILE, &change.location.absolute))
                .collect();
            let bytes = changes.iter().map(Change::written_bytes).sum();
            (act.reserve)(bytes)?;
            change_set::commit(&changes, act.request.operation_id)?;
        }
        let result = match summaries.pop() {
            Some(summary) if !is_patch => summary,
            last => {
                summaries.extend(last);
                json!({"ok": true, "dry_run": is_dry_run, "files": summaries})
            }
        };
        Ok(FileResult {
            result,
            images: Vec::new(),
            changed,
        })
    }
}

/// The result of a call that reads or changes files.
#[derive(Debug)]
pub(crate) struct FileResult {
    /// The result as the model reads it.
    result: Value,
    /// What the model sees with it.
    images: Vec<Attachment>,
    /// The files that were changed.
    changed: Vec<ChangedEntity>,
}

/// The kind of a changed file, as in the contracts.
const FILE: &str = "file";

impl From<Value> for FileResult {
    fn from(result: Value) -> Self {
        Self {
            result,
            images: Vec::new(),
            changed: Vec::new(),
        }
    }
}

/// A call to perform, with what it needs.
pub(crate) struct Act<'a> {
    pub(crate) request: &'a ToolRequest,
    pub(crate) reach: &'a Reach,
    pub(crate) output: OutputLimits,
    /// Counts bytes against the agent's quota before they are written.
    pub(crate) reserve: &'a dyn Fn(u64) -> Result<(), ToolError>,
}

/// Performs a call that reads or changes files.
pub(crate) fn perform(act: &Act<'_>) -> ToolOutcome {
    let request = act.request;
    let done = FileCall::parse(&request.tool, &request.input).and_then(|call| call.perform(act));
    match done {
        Ok(FileResult {
            result,
            images,
            changed,
        }) => ToolOutcome {
            images,
            changed,
            ..succeeded(result.to_string())
        },
        Err(fault) => failed(&request.tool, &fault),
    }
}

fn targets_of(located: &[[Option<Location>; 2]]) -> Vec<Target> {
    let mut targets: Vec<Target> = located.iter().flatten().flatten().map(Location::target).collect();
    targets.dedup();
    targets.truncate(TARGETS_MAX);
    targets
}

/// The change of one file as a unified diff.
fn diff_of(change: &Change) -> String {
    let [old, new] = change.texts();
    let shown = &change.location.shown;
    let (before, after) = (format!("a/{shown}"), format!("b/{shown}"));
    let before = if change.old.is_some() {
        &before
    } else {
        "/dev/null"
    };
    let after = if change.new.is_some() { &after } else { "/dev/null" };
    text::unified_diff(&old, &new, [before, after])
}
