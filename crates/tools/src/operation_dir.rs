//! The private folder of an operation, and what an interrupted operation left behind.
//!
//! `<scratch>/<operation id>/tmp` is the command's `TMPDIR`. `process.json` beside it, which the command
//! cannot reach, names the supervisor, so that Wakeful finds it after a restart.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wakeful_core::key::OperationId;

use crate::process::{ProcessIdentity, kill_tree};
use crate::quarantine;
use crate::remove_tree::{self, RemovalLimits};

/// How long clearing waits for processes that it killed.
const CLEAR_MAX: Duration = Duration::from_secs(5);

const RECORD: &str = "process.json";
const TEMPORARY: &str = "tmp";

#[derive(Debug, Clone)]
pub(crate) struct OperationDir {
    path: PathBuf,
}

impl OperationDir {
    /// The folder of an operation, whether or not it exists.
    pub(crate) fn of(scratch: &Path, operation_id: OperationId) -> Self {
        Self {
            path: scratch.join(operation_id.to_string()),
        }
    }

    /// The command's folder for temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.path.join(TEMPORARY)
    }

    /// Creates the folder, empty.
    pub(crate) fn make(&self) -> io::Result<()> {
        self.clear();
        DirBuilder::new().mode(0o700).create(&self.path)?;
        DirBuilder::new().mode(0o700).create(self.temporary())
    }

    /// Records which process the operation runs in.
    pub(crate) fn record(&self, identity: &ProcessIdentity) -> io::Result<()> {
        // Renamed into place, because a partial record would identify no process. Not synced: after a power
        // loss, no process exists to be found.
        let new = self.path.join("process.json.new");
        fs::write(&new, serde_json::to_vec(identity)?)?;
        fs::rename(new, self.path.join(RECORD))
    }

    /// Kills the processes that still run and removes the folder.
    pub(crate) fn clear(&self) {
        if let Ok(json) = fs::read(self.path.join(RECORD))
            && let Ok(identity) = serde_json::from_slice::<ProcessIdentity>(&json)
            && let Some(supervisor) = identity.find()
        {
            kill_tree(supervisor, Instant::now() + CLEAR_MAX);
        }
        self.remove();
    }

    /// Removes the folder. What cannot be removed within the limits is quarantined.
    pub(crate) fn remove(&self) {
        if let Some(left) = remove_tree::remove(&self.path, RemovalLimits::default()).left {
            quarantine::put(&self.path, &left);
        }
    }
}
