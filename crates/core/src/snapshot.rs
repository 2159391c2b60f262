//! Snapshots of workspaces: which actions need one, and what undoing a run does with each file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::key::Digest;
use crate::policy::{CallFacts, PathAccess, Target};
use crate::step::EffectClass;

/// Maximum number of files that a snapshot covers. Writing them takes a few seconds.
pub const FILES_MAX: usize = 50_000;

/// Largest file that a snapshot covers. Larger ones are data or build output, seldom source.
pub const FILE_BYTES_MAX: u64 = 8 * 1_024 * 1_024;

/// Maximum number of bytes that a snapshot covers in all files together.
pub const TOTAL_BYTES_MAX: u64 = 512 * 1_024 * 1_024;

/// Maximum number of folder entries that are examined for a snapshot.
pub const ENTRIES_MAX: usize = 200_000;

/// Longest duration of one snapshot. An action waits for the first one of its run.
pub const SNAPSHOT_MS_MAX: u64 = 10_000;

/// Largest difference that is returned as text.
pub const DIFF_BYTES_MAX: usize = 256 * 1_024;

/// Maximum number of files that a difference or an undo lists; all are counted and processed.
pub const LISTED_MAX: usize = 1_000;

/// Maximum number of uncovered entries that are named.
pub const UNCOVERED_NAMED_MAX: usize = 20;

/// Whether an action may change the workspace, so that a snapshot must exist before it begins. Every plain
/// action counts, because a command may write anywhere in the workspace.
#[must_use]
pub fn may_write(class: EffectClass, facts: impl FnOnce() -> CallFacts) -> bool {
    let is_write = |target: &Target| match target {
        Target::Path { access, .. } => *access == PathAccess::Write,
        Target::Host { .. } | Target::Agent { .. } | Target::Secret { .. } => false,
    };
    match class {
        EffectClass::Plain => true,
        EffectClass::Idempotent => {
            let facts = facts();
            facts.command.is_some() || facts.targets.iter().any(is_write)
        }
        // They write to the databases only.
        EffectClass::Internal | EffectClass::Saga => false,
    }
}

/// The kinds of files that a snapshot distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    Regular,
    Executable,
    Symlink,
}

impl FileKind {
    /// The mode in a Git tree.
    #[must_use]
    pub const fn git_mode(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
        }
    }

    /// Parses the mode in a Git tree. None for folders and nested repositories.
    #[must_use]
    pub fn parse(git_mode: &str) -> Option<Self> {
        [Self::Regular, Self::Executable, Self::Symlink]
            .into_iter()
            .find(|kind| kind.git_mode() == git_mode)
    }
}

/// A file as a snapshot holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileState {
    pub kind: FileKind,
    /// The name of its content in the repository of snapshots.
    pub content: Digest,
}

/// What is at a path now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CurrentEntry {
    Absent,
    Is(FileState),
    /// A folder that may be removed if it is empty.
    Folder,
    /// Anything that a snapshot does not hold, or that cannot be read.
    Other,
}

/// A file that a run changed. At least one of the states exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the workspace. Not necessarily UTF-8.
    pub path: Vec<u8>,
    pub before: Option<FileState>,
    pub after: Option<FileState>,
}

string_enum! {
    /// How a run changed a file.
    pub enum FileChangeKind {
        Created = "created",
        Modified = "modified",
        Deleted = "deleted",
    }
}

string_enum! {
    /// Whether to restore the state before a run, or the state that it left.
    #[derive(Default)]
    pub enum UndoDirection {
        /// Restore the state before the run.
        #[default]
        Undo = "undo",
        /// Restore the state that the run left.
        Redo = "redo",
    }
}

string_enum! {
    /// Why a file is not restored.
    pub enum SkipReason {
        /// It was changed after the run, or after it was undone.
        ChangedSince = "changed_since",
        /// It cannot be written.
        Unwritable = "unwritable",
    }
}

/// What restoring does with one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// Write this state.
    Write(FileState),
    Remove,
    /// It has the wanted state already.
    Keep,
    Skip(SkipReason),
}

impl FileChange {
    #[must_use]
    pub const fn kind(&self) -> FileChangeKind {
        match (&self.before, &self.after) {
            (None, _) => FileChangeKind::Created,
            (Some(_), None) => FileChangeKind::Deleted,
            (Some(_), Some(_)) => FileChangeKind::Modified,
        }
    }

    /// The state from which a file is restored, and the one that it gets.
    #[must_use]
    pub const fn ends(&self, direction: UndoDirection) -> (Option<FileState>, Option<FileState>) {
        match direction {
            UndoDirection::Undo => (self.after, self.before),
            UndoDirection::Redo => (self.before, self.after),
        }
    }

    /// What restoring does with the file. Only a file in exactly the recorded state is replaced, so its
    /// content is never lost: the opposite direction restores it.
    #[must_use]
    pub fn action(&self, direction: UndoDirection, current: CurrentEntry) -> FileAction {
        let (from, to) = self.ends(direction);
        let is = |state: Option<FileState>| match (current, state) {
            (CurrentEntry::Is(current), Some(state)) => current == state,
            (CurrentEntry::Absent, None) => true,
            (CurrentEntry::Absent | CurrentEntry::Is(_) | CurrentEntry::Folder | CurrentEntry::Other, _) => {
                false
            }
        };
        if is(to) {
            return FileAction::Keep;
        }
        // A folder in place of the file may be one that the same restoration empties and removes.
        let is_from = is(from) || (from.is_none() && current == CurrentEntry::Folder);
        match (is_from, to) {
            (true, Some(state)) => FileAction::Write(state),
            (true, None) => FileAction::Remove,
            (false, _) => FileAction::Skip(SkipReason::ChangedSince),
        }
    }
}

/// A path for people: UTF-8 is unchanged, other bytes and control characters are escaped.
#[must_use]
pub fn path_text(path: &[u8]) -> String {
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Whether a path is one of these, or inside one of them. Without any, every path is selected.
#[must_use]
pub fn is_selected(path: &[u8], selected: &[String]) -> bool {
    let shown = path_text(path);
    let contains = |wanted: &String| {
        let wanted = wanted.trim_start_matches("./").trim_end_matches('/');
        let rest = shown.strip_prefix(wanted);
        wanted == "."
            || wanted.is_empty()
            || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    selected.is_empty() || selected.iter().any(contains)
}

/// The changes of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunChanges {
    /// The workspace of the run.
    pub workspace: String,
    /// The changed files, by path: at most 1,000.
    pub files: Vec<ChangedFile>,
    /// The number of changed files.
    pub files_total: u64,
    /// Added lines in all text files.
    pub lines_added: u64,
    /// Removed lines in all text files.
    pub lines_removed: u64,
    /// The unified diff, at most 256 KiB. Empty if only the list was requested.
    pub diff: String,
    /// Whether `diff` or `files` is incomplete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Whether the run wrote and its last state is not recorded, so that the changes are those up to now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_now: bool,
    /// What the snapshots do not cover.
    pub not_covered: NotCovered,
    /// Why no changes can be shown although the run may have written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// The path in the workspace; bytes that are not UTF-8 are written as `\xNN`.
    pub path: String,
    /// How it was changed.
    pub change: FileChangeKind,
    /// Added lines. Absent for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines_added: Option<u64>,
    /// Removed lines. Absent for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines_removed: Option<u64>,
}

/// Files and folders of a workspace that a snapshot does not cover.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotCovered {
    /// The number of entries. An ignored folder counts once.
    pub count: u64,
    /// The first of them, with the reason.
    pub first: Vec<UncoveredEntry>,
}

/// One file or folder that a snapshot does not cover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UncoveredEntry {
    /// The path in the workspace.
    pub path: String,
    /// Why it is not covered.
    pub reason: UncoveredReason,
}

string_enum! {
    /// Why a snapshot does not cover a file or folder.
    #[derive(PartialOrd, Ord)]
    pub enum UncoveredReason {
        /// An ignore file excludes it.
        Ignored = "ignored",
        /// It is larger than 8 MiB.
        TooLarge = "too_large",
        /// The snapshot is full: 50,000 files or 512 MiB.
        SnapshotFull = "snapshot_full",
        /// It is data of Git.
        GitData = "git_data",
        /// It is on another file system, or too deep.
        OutOfReach = "out_of_reach",
        /// It is neither a file, a folder nor a symbolic link.
        SpecialFile = "special_file",
        /// It cannot be read.
        Unreadable = "unreadable",
    }
}

/// The result of undoing a run, or of undoing that again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoReport {
    /// Whether nothing was changed, because only the plan was requested.
    pub dry_run: bool,
    /// The direction.
    pub direction: UndoDirection,
    /// Files whose content was restored, at most 1,000.
    pub restored: Vec<String>,
    /// Files that were removed, at most 1,000.
    pub removed: Vec<String>,
    /// Files that were left as they are, at most 1,000.
    pub skipped: Vec<SkippedFile>,
    /// The number of restored files.
    pub restored_total: u64,
    /// The number of removed files.
    pub removed_total: u64,
    /// The number of skipped files.
    pub skipped_total: u64,
    /// The number of files that had the wanted state already.
    pub unchanged_total: u64,
    /// What the snapshots do not cover.
    pub not_covered: NotCovered,
}

/// A file that was not restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    /// The path in the workspace.
    pub path: String,
    /// Why it was not restored.
    pub reason: SkipReason,
}

impl UndoReport {
    /// Adds a file that was restored, or would be.
    pub fn add_restored(&mut self, path: &[u8]) {
        self.restored_total += 1;
        list(&mut self.restored, path_text(path));
    }

    /// Adds a file that was removed, or would be.
    pub fn add_removed(&mut self, path: &[u8]) {
        self.removed_total += 1;
        list(&mut self.removed, path_text(path));
    }

    /// Adds a file that was not restored.
    pub fn add_skipped(&mut self, path: &[u8], reason: SkipReason) {
        self.skipped_total += 1;
        let path = path_text(path);
        list(&mut self.skipped, SkippedFile { path, reason });
    }
}

fn list<T>(items: &mut Vec<T>, item: T) {
    if items.len() < LISTED_MAX {
        items.push(item);
    }
}

#[cfg(test)]
mod tests;
