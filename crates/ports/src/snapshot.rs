//! Snapshots of workspaces: the state before a run's first write and the state that the run left, so that
//! its changes can be shown and undone.

use std::future::Future;
use std::pin::Pin;

use wakeful_core::key::RunKey;
use wakeful_core::snapshot::{RunChanges, UndoDirection, UndoReport};
use wakeful_core::time::Millis;

/// A run and the folder that it works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunWorkspace {
    pub run: RunKey,
    /// The absolute path.
    pub workspace: String,
}

/// Which changes of a run to return.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeQuery {
    /// Files and folders in the workspace; every file if empty.
    pub paths: Vec<String>,
    pub detail: ChangeDetail,
}

/// How much of the changes to return.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChangeDetail {
    /// The list of files and the unified diff.
    #[default]
    Diff,
    /// Only the list of files.
    Files,
}

/// What to restore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreRequest {
    /// Files and folders in the workspace; every file if empty.
    pub paths: Vec<String>,
    pub direction: UndoDirection,
    pub mode: RestoreMode,
}

/// Whether to change files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RestoreMode {
    /// Report what would be done.
    #[default]
    Plan,
    Perform,
}

/// Why the changes of a run cannot be shown or undone.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The run wrote nothing, or retention removed its snapshots.
    #[error("run {0} has no snapshot of its workspace")]
    Missing(RunKey),
    /// No snapshot could be taken.
    #[error("there is no usable snapshot: {0}")]
    Unavailable(String),
    /// The workspace no longer exists or cannot be read.
    #[error("the workspace {0} cannot be read")]
    NoWorkspace(String),
    /// Another run works in the workspace.
    #[error("run {0} works in the same workspace")]
    WorkspaceBusy(RunKey),
    /// Another restoration or a snapshot of the workspace takes too long.
    #[error("the snapshots of this workspace are in use")]
    Locked,
    /// Git or the file system failed.
    #[error("reading the snapshot failed: {0}")]
    Failed(String),
}

/// The future of an operation on snapshots.
pub type SnapshotFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Takes and restores snapshots. Taking one never fails a run: if it is not possible, the reason is stored
/// and shown with the run's changes.
pub trait WorkspaceSnapshots: Send + Sync + 'static {
    /// Whether the state before the run is recorded, or the reason why not. Reads a small file at most.
    fn has_begun(&self, of: &RunWorkspace) -> bool;

    /// Records the state before the run, unless it is recorded. Takes bounded time.
    fn record_before(&self, of: RunWorkspace, at: Millis) -> SnapshotFuture<'static, ()>;

    /// Records the state that the run left, if the state before it is recorded. Takes bounded time.
    fn record_after(&self, of: RunWorkspace, at: Millis) -> SnapshotFuture<'static, ()>;

    /// Returns the changes of a run.
    fn changes(
        &self,
        of: RunWorkspace,
        query: ChangeQuery,
    ) -> SnapshotFuture<'static, Result<RunChanges, SnapshotError>>;

    /// Restores files of a run that are in the recorded state.
    fn restore(
        &self,
        of: RunWorkspace,
        request: RestoreRequest,
    ) -> SnapshotFuture<'static, Result<UndoReport, SnapshotError>>;

    /// Removes the snapshots of one run. Has no effect without any.
    fn forget(&self, of: RunWorkspace) -> SnapshotFuture<'static, ()>;

    /// Removes the snapshots that were taken before a time, and returns their number.
    fn prune(&self, before: Millis) -> SnapshotFuture<'static, u64>;
}

/// Takes no snapshots.
#[derive(Debug, Clone, Copy)]
pub struct NoSnapshots;

impl WorkspaceSnapshots for NoSnapshots {
    fn has_begun(&self, _: &RunWorkspace) -> bool {
        true
    }

    fn record_before(&self, _: RunWorkspace, _: Millis) -> SnapshotFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn record_after(&self, _: RunWorkspace, _: Millis) -> SnapshotFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn changes(
        &self,
        of: RunWorkspace,
        _: ChangeQuery,
    ) -> SnapshotFuture<'static, Result<RunChanges, SnapshotError>> {
        Box::pin(std::future::ready(Err(SnapshotError::Missing(of.run))))
    }

    fn restore(
        &self,
        of: RunWorkspace,
        _: RestoreRequest,
    ) -> SnapshotFuture<'static, Result<UndoReport, SnapshotError>> {
        Box::pin(std::future::ready(Err(SnapshotError::Missing(of.run))))
    }

    fn forget(&self, _: RunWorkspace) -> SnapshotFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn prune(&self, _: Millis) -> SnapshotFuture<'static, u64> {
        Box::pin(std::future::ready(0))
    }
}
