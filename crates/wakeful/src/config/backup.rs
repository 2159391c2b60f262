//! Settings of daily backups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::backup::{BackupLimit, KEEP_DEFAULT, KEEP_MAX, MIB_DEFAULT};
use wakeful_core::retention::MIB_MAX;

/// Daily backups of the home. With PostgreSQL the database server makes the backups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Backup {
    /// Whether a daemon makes a backup every day on which something changed.
    pub(crate) daily: bool,
    /// Number of daily backups that are kept; the oldest are removed first.
    #[schemars(range(min = 1, max = KEEP_MAX))]
    pub(crate) keep: u32,
    /// Maximum MiB of all daily backups; the newest one is kept regardless of its size. 0 means no limit.
    #[schemars(range(max = MIB_MAX))]
    pub(crate) mib: u32,
    /// The folder of daily backups; an absolute path. Each home uses its own subfolder. Default: `backups` in
    /// the home.
    #[schemars(extend("format" = "absolute-path"))]
    pub(crate) folder: Option<String>,
}

impl Default for Backup {
    fn default() -> Self {
        Self {
            daily: true,
            keep: KEEP_DEFAULT,
            mib: MIB_DEFAULT,
            folder: None,
        }
    }
}

impl Backup {
    pub(crate) const fn limit(&self) -> BackupLimit {
        BackupLimit {
            keep: self.keep,
            mib: self.mib,
        }
    }
}
