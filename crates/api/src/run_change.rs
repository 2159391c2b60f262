//! Endpoints for the changes of a run in its workspace, and for undoing them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::key::RunKey;

use crate::endpoint::endpoints;
use crate::text::{NO_ZERO, Text};
use crate::{RunChanges, UndoDirection, UndoReport};

/// Maximum number of paths in one request to undo a run.
pub const UNDO_PATHS_MAX: usize = 1_000;

/// Longest path in bytes.
pub const CHANGED_PATH_BYTES_MAX: usize = 4_096;

endpoints! { "runs":
    /// Retrieves what a run changed in its workspace.
    ///
    /// The changes are the difference between the snapshots of the workspace before the run's first write and after
    /// its last one. Files that the workspace ignores, large files and data of Git are not covered.
    GetRunChanges = Get "/api/runs/{run_key}/changes" -> RunChanges {
        200 "The changed files and the unified diff",
        404 "The run does not exist (`run_unknown`) or has no snapshot (`snapshot_missing`)",
        409 "The snapshots are in use (`snapshot_locked`)",
    }
    /// Restores the files of an ended run to their state before it, or undoes that.
    ///
    /// Only files that are exactly as the run left them are restored; the others are listed as skipped. A process that
    /// a tool started may not call this.
    UndoRun = Post "/api/runs/{run_key}/undo" -> UndoReport {
        200 "What was restored, removed and skipped",
        404 "The run does not exist (`run_unknown`) or has no snapshot (`snapshot_missing`)",
        409 "The run has not ended (`run_open`), another run works in the workspace (`workspace_busy`), or there is no \
            usable snapshot (`snapshot_unavailable`)",
    }
}

/// Which changes of a run to retrieve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRunChanges {
    /// The run's key.
    pub run_key: Text<RunKey>,
    /// Return only changes of this file or folder of the workspace.
    #[schemars(length(min = 1, max = 4096), regex(pattern = NO_ZERO))]
    pub path: Option<String>,
    /// Whether to leave out the diff and return only the list of files.
    #[serde(default)]
    pub files_only: bool,
}

/// Which files of a run to restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoRun {
    /// The run's key.
    pub run_key: Text<RunKey>,
    /// Files and folders of the workspace. Every changed file if empty.
    #[serde(default)]
    #[schemars(length(max = 1000), inner(length(min = 1, max = 4096), regex(pattern = NO_ZERO)))]
    pub paths: Vec<String>,
    /// Whether only to report what would be done.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether to restore the state before the run (`undo`) or the state that it left (`redo`).
    #[serde(default)]
    pub direction: UndoDirection,
}
