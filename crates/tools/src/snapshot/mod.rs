//! Snapshots of workspaces in Git repositories in the home: one per workspace, apart from any repository of
//! the workspace itself.
//!
//! | module | about |
//! |---|---|
//! | `git` | running Git, bounded, with no setting of the person or the workspace |
//! | `walk` | which files of a workspace a snapshot covers |
//! | `take` | writing a snapshot with `git fast-import` |
//! | `recorded` | reading snapshots and comparing two of them |
//! | `restore` | undoing a run, and undoing that |
//! | `entry` | reading and replacing single files without following links |
//!
//! The refs are the state: `refs/runs/RUN/before` exists as soon as the state before the run is complete, so
//! a crash needs no repair.

mod entry;
mod git;
mod recorded;
mod restore;
mod take;
mod walk;

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wakeful_core::key::{Digest, RunKey};
use wakeful_core::snapshot::{RunChanges, SNAPSHOT_MS_MAX, UndoReport};
use wakeful_core::time::Millis;
use wakeful_ports::snapshot::{
    ChangeQuery, RestoreMode, RestoreRequest, RunWorkspace, SnapshotError, SnapshotFuture, WorkspaceSnapshots,
};

pub use self::git::find_git;
use self::git::{Git, deadline};
use self::recorded::Recorded;
use self::restore::RecordedRun;
use self::take::Snapshot;
use self::walk::Coverage;
use crate::untrusted_writes::{PeriodEnd, UntrustedWrites};

/// The folder in the home.
pub const FOLDER: &str = "snapshots";

/// Longest duration of reading or restoring a snapshot.
const READ_MS_MAX: u64 = 60_000;

/// Longest duration of removing contents that no snapshot needs.
const GC_MS_MAX: u64 = 120_000;

/// How often a lock is tried again.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Longest reason that is stored.
const REASON_BYTES_MAX: usize = 1_000;

/// Snapshots in the folder of a home. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GitSnapshots(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    /// The program; none if it is not installed.
    git: Option<PathBuf>,
    snapshot_ms_max: u64,
}

/// The files of one workspace in the home.
struct Storage {
    folder: PathBuf,
    git: Git,
}

/// Which state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunState {
    Before,
    After,
    /// The state of the workspace when a person looks at an unfinished run.
    Now,
}

impl RunState {
    fn of(self, run: RunKey) -> String {
        let name = match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Now => "now",
        };
        format!("refs/runs/{run}/{name}")
    }
}

impl GitSnapshots {
    /// Uses the folder `snapshots` of a home. `git` is the program, as [`find_git`] returns it.
    #[must_use]
    pub fn new(home: &Path, git: Option<PathBuf>) -> Self {
        Self::bounded(home, git, SNAPSHOT_MS_MAX)
    }

    /// Uses another time limit for a snapshot, for tests.
    #[must_use]
    pub fn bounded(home: &Path, git: Option<PathBuf>, snapshot_ms_max: u64) -> Self {
        Self(Arc::new(Inner {
            folder: home.join(FOLDER),
            git,
            snapshot_ms_max,
        }))
    }

    fn blocking<T, F>(&self, work: F, lost: T) -> SnapshotFuture<'static, T>
    where
        T: Send + 'static,
        F: FnOnce(&Inner) -> T + Send + 'static,
    {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            tokio::task::spawn_blocking(move || work(&inner))
                .await
                .unwrap_or(lost)
        })
    }
}

impl Storage {
    fn unavailable(&self, run: RunKey) -> PathBuf {
        self.folder.join("unavailable").join(run.to_string())
    }

    /// The reason why a state of the run is not recorded.
    fn reason(&self, run: RunKey) -> Option<String> {
        fs::read_to_string(self.unavailable(run)).ok()
    }

    fn has_begun(&self, run: RunKey) -> bool {
        let before = self.git.repository.join(RunState::Before.of(run));
        before.exists() || self.unavailable(run).exists()
    }

    fn state(&self, run: RunKey, state: RunState, until: Instant) -> Option<Recorded<'_>> {
        Some(Recorded {
            git: &self.git,
            commit: self.git.read_ref(&state.of(run))?,
            deadline: until,
        })
    }

    /// Locks the snapshots of the workspace: shared to take one, exclusive to restore and to remove.
    fn lock(&self, mode: LockMode, until: Instant) -> Result<File, String> {
        let failed = |error: std::io::Error| error.to_string();
        let file = File::create(self.folder.join("lock")).map_err(failed)?;
        loop {
            let tried = match mode {
                LockMode::Shared => file.try_lock_shared(),
                LockMode::Exclusive => file.try_lock(),
            };
            match tried {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error.to_string()),
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOCK_POLL),
                Err(TryLockError::WouldBlock) => {
                    return Err("the snapshots of this workspace are in use".to_owned());
                }
            }
        }
    }

    fn take(&self, of: &RunWorkspace, state: RunState, at: Millis, until: Instant) -> Result<(), String> {
        let workspace = Path::new(&of.workspace);
        if self.git.program.as_os_str().is_empty() {
            return Err("the program git was not found; install it to see and undo changes".to_owned());
        }
        if self.git.program.starts_with(workspace) {
            return Err("the program git is in the workspace".to_owned());
        }
        let _lock = self.lock(LockMode::Shared, until)?;
        self.git.create(until)?;
        let coverage = match state {
            RunState::Before => Coverage::default(),
            RunState::After | RunState::Now => match self.state(of.run, RunState::Before, until) {
                Some(before) => before.coverage()?,
                None => return Err("the state before the run is not recorded".to_owned()),
            },
        };
        Snapshot {
            git: &self.git,
            workspace,
            name: &state.of(of.run),
            coverage: &coverage,
            at,
            cache: self.folder.join("stat-cache"),
            deadline: until,
        }
        .take()
    }

    /// Stores why a state is not recorded, so that a later state is never mistaken for it.
    fn store_reason(&self, of: &RunWorkspace, reason: &str) {
        tracing::warn!(run = %of.run, reason, "no snapshot of the workspace");
        let path = self.unavailable(of.run);
        let reason: String = reason.chars().take(REASON_BYTES_MAX).collect();
        let made = path.parent().map_or(Ok(()), make_private);
        if let Err(error) = made.and_then(|()| fs::write(&path, reason)) {
            tracing::warn!(run = %of.run, %error, "the reason cannot be stored");
        }
    }

    fn remove_ref(&self, name: &str) {
        let _ = fs::remove_file(self.git.repository.join(name));
    }

    fn forget(&self, run: RunKey) {
        let _ = fs::remove_dir_all(self.git.repository.join(format!("refs/runs/{run}")));
        let _ = fs::remove_file(self.unavailable(run));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockMode {
    Shared,
    Exclusive,
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

impl Inner {
    /// The storage of a workspace, which need not exist.
    fn storage(&self, workspace: &str) -> Storage {
        let name: String = Digest::of(workspace.as_bytes())
            .to_string()
            .chars()
            .take(32)
            .collect();
        self.storage_in(self.folder.join(name))
    }

    fn storage_in(&self, folder: PathBuf) -> Storage {
        let git = Git {
            program: self.git.clone().unwrap_or_default(),
            repository: folder.join("repository.git"),
        };
        Storage { folder, git }
    }

    fn record(&self, of: &RunWorkspace, state: RunState, at: Millis) {
        let storage = self.storage(&of.workspace);
        let before = storage.git.repository.join(RunState::Before.of(of.run));
        let is_due = match state {
            RunState::Before => !storage.has_begun(of.run),
            RunState::After | RunState::Now => before.exists(),
        };
        if !is_due {
            return;
        }
        let made = make_private(&storage.folder).map_err(|error| error.to_string());
        let taken = made.and_then(|()| storage.take(of, state, at, deadline(self.snapshot_ms_max)));
        match taken {
            Ok(()) => {
                let _ = fs::write(storage.folder.join("workspace"), &of.workspace);
                if state == RunState::After {
                    let _ = fs::remove_file(storage.unavailable(of.run));
                }
            }
            Err(reason) => {
                storage.remove_ref(&state.of(of.run));
                storage.store_reason(of, &reason);
            }
        }
    }

    fn changes(&self, of: &RunWorkspace, query: &ChangeQuery) -> Result<RunChanges, SnapshotError> {
        let (storage, until) = (self.storage(&of.workspace), deadline(READ_MS_MAX));
        let Some(before) = storage.state(of.run, RunState::Before, until) else {
            return match storage.reason(of.run) {
                Some(reason) => Ok(RunChanges {
                    workspace: of.workspace.clone(),
                    unavailable: Some(reason),
                    ..RunChanges::default()
                }),
                None => Err(SnapshotError::Missing(of.run)),
            };
        };
        let lock = storage.lock(LockMode::Shared, until);
        let lock = lock.map_err(|_| SnapshotError::Locked)?;
        let (after, until_now) = match storage.state(of.run, RunState::After, until) {
            Some(after) => (after, false),
            None => {
                let until = deadline(self.snapshot_ms_max);
                let taken = storage.take(of, RunState::Now, Millis(0), until);
                taken.map_err(SnapshotError::Unavailable)?;
                let now = storage.state(of.run, RunState::Now, until);
                (now.ok_or(SnapshotError::Missing(of.run))?, true)
            }
        };
        let compared = before.compare(&after, query);
        if until_now {
            storage.remove_ref(&RunState::Now.of(of.run));
        }
        drop(lock);
        Ok(RunChanges {
            workspace: of.workspace.clone(),
            until_now,
            ..compared.map_err(SnapshotError::Failed)?
        })
    }

    fn restore(&self, of: &RunWorkspace, request: &RestoreRequest) -> Result<UndoReport, SnapshotError> {
        let (storage, until) = (self.storage(&of.workspace), deadline(READ_MS_MAX));
        let unavailable = |state| match storage.reason(of.run) {
            Some(reason) => SnapshotError::Unavailable(reason),
            None if state == RunState::Before => SnapshotError::Missing(of.run),
            None => SnapshotError::Unavailable("the state that the run left is not recorded".to_owned()),
        };
        let state = |state| {
            storage
                .state(of.run, state, until)
                .ok_or_else(|| unavailable(state))
        };
        let (before, after) = (state(RunState::Before)?, state(RunState::After)?);
        let mode = match request.mode {
            RestoreMode::Plan => LockMode::Shared,
            RestoreMode::Perform => LockMode::Exclusive,
        };
        // Exclusive, so that no run of the workspace takes its first snapshot meanwhile.
        let lock = storage.lock(mode, deadline(self.snapshot_ms_max));
        let _lock = lock.map_err(|_| SnapshotError::Locked)?;
        if !Path::new(&of.workspace).is_dir() {
            return Err(SnapshotError::NoWorkspace(of.workspace.clone()));
        }
        let run = RecordedRun {
            git: &storage.git,
            before,
            after,
        };
        let restore = || run.restore(Path::new(&of.workspace), request);
        let report = match request.mode {
            RestoreMode::Plan => restore(),
            RestoreMode::Perform => self.keeping_untrusted(of, restore),
        };
        report.map_err(SnapshotError::Failed)
    }

    /// Restores files in a period of their own, if the workspace has untrusted files.
    fn keeping_untrusted<T>(
        &self,
        of: &RunWorkspace,
        restore: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let home = self.folder.parent().unwrap_or(&self.folder);
        let words = |error: io::Error| format!("the record of untrusted files cannot be written: {error}");
        let folder = Path::new(&of.workspace).canonicalize().map_err(words)?;
        let writes = UntrustedWrites::of(home, &folder);
        let open = writes.begin_undo(of.run).map_err(words)?;
        let report = restore();
        if let Some(open) = open {
            writes.end(&open, PeriodEnd::Kept).map_err(words)?;
        }
        report
    }

    /// Removes old snapshots of every workspace.
    fn prune(&self, before: Millis) -> u64 {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        folders
            .map(|entry| self.prune_one(&self.storage_in(entry.path()), before))
            .sum()
    }

    fn prune_one(&self, storage: &Storage, before: Millis) -> u64 {
        let Ok(_lock) = storage.lock(LockMode::Exclusive, Instant::now()) else {
            return 0;
        };
        let until = deadline(GC_MS_MAX);
        let arguments = [
            "for-each-ref",
            "--format=%(committerdate:unix) %(refname)",
            "refs/runs/*/before",
        ];
        let Ok(listed) = storage.git.output(&arguments, READ_LIST_BYTES_MAX, until) else {
            return 0;
        };
        let (mut removed, mut left) = (0, 0_u64);
        for line in String::from_utf8_lossy(&listed.bytes).lines() {
            let Some((seconds, name)) = line.split_once(' ') else {
                continue;
            };
            let run = name.split('/').nth(2).and_then(Digest::from_hex).map(RunKey);
            let at = seconds.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(1_000);
            match run.filter(|_| at < before.0) {
                Some(run) => {
                    storage.forget(run);
                    removed += 1;
                }
                None => left += 1,
            }
        }
        if removed > 0 && left == 0 {
            let _ = fs::remove_dir_all(&storage.folder);
        } else if removed > 0 {
            // The cache may name contents that are removed now.
            let _ = fs::remove_file(storage.folder.join("stat-cache"));
            let collected = storage
                .git
                .output(&["gc", "--quiet", "--prune=now"], 4_096, until);
            if let Err(reason) = collected {
                tracing::warn!(reason, "contents of removed snapshots stay until the next round");
            }
        }
        removed
    }
}

/// Largest list of refs that is read.
const READ_LIST_BYTES_MAX: usize = 16 * 1_024 * 1_024;

impl WorkspaceSnapshots for GitSnapshots {
    fn has_begun(&self, of: &RunWorkspace) -> bool {
        self.0.storage(&of.workspace).has_begun(of.run)
    }

    fn record_before(&self, of: RunWorkspace, at: Millis) -> SnapshotFuture<'static, ()> {
        self.blocking(move |inner| inner.record(&of, RunState::Before, at), ())
    }

    fn record_after(&self, of: RunWorkspace, at: Millis) -> SnapshotFuture<'static, ()> {
        self.blocking(move |inner| inner.record(&of, RunState::After, at), ())
    }

    fn changes(
        &self,
        of: RunWorkspace,
        query: ChangeQuery,
    ) -> SnapshotFuture<'static, Result<RunChanges, SnapshotError>> {
        let lost = Err(SnapshotError::Failed("internal error (please report)".to_owned()));
        self.blocking(move |inner| inner.changes(&of, &query), lost)
    }

    fn restore(
        &self,
        of: RunWorkspace,
        request: RestoreRequest,
    ) -> SnapshotFuture<'static, Result<UndoReport, SnapshotError>> {
        let lost = Err(SnapshotError::Failed("internal error (please report)".to_owned()));
        self.blocking(move |inner| inner.restore(&of, &request), lost)
    }

    fn forget(&self, of: RunWorkspace) -> SnapshotFuture<'static, ()> {
        self.blocking(move |inner| inner.storage(&of.workspace).forget(of.run), ())
    }

    fn prune(&self, before: Millis) -> SnapshotFuture<'static, u64> {
        self.blocking(move |inner| inner.prune(before), 0)
    }
}

#[cfg(test)]
mod tests;
