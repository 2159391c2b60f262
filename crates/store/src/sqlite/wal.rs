//! The write-ahead log next to a database. The newest commits exist only there, so a removed log must be
//! detected before anything is read without it, and before a commit to it is acknowledged.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::pack::refused;
use crate::{Result, StoreError};

/// The write-ahead log of an open database.
pub(crate) struct Wal {
    path: PathBuf,
    number: u64,
}

impl Wal {
    /// Returns the log that a connection has just started to use.
    pub(crate) fn of(database: &Path) -> Result<Self> {
        let path = beside(database, "-wal")?;
        let number = fs::metadata(&path).map_err(refused)?.ino();
        Ok(Self { path, number })
    }

    /// Fails if the log is not where the next process would look for it: then what is written to it has no
    /// directory entry. The connection still has the file open, and copies it to the database when it
    /// closes normally.
    pub(crate) fn check(&self) -> Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if found.ino() == self.number => Ok(()),
            Ok(_) => Err(StoreError::LogRemoved),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::LogRemoved),
            Err(error) => Err(refused(error)),
        }
    }
}

/// Fails if a database has the index of a log but no log. SQLite creates the log first and removes it last,
/// so another program removed it, and with it the newest commits.
pub(crate) fn refuse_without(database: &Path) -> Result<()> {
    if !database.try_exists().map_err(refused)? {
        return Ok(());
    }
    let (index, log) = (beside(database, "-shm")?, beside(database, "-wal")?);
    let is_alone = || Ok(index.try_exists().map_err(refused)? && !log.try_exists().map_err(refused)?);
    // Check twice: another process may have closed the database between the two lookups.
    match is_alone()? && is_alone()? {
        true => Err(StoreError::LogRemoved),
        false => Ok(()),
    }
}

/// SQLite looks next to the file itself, not next to a symbolic link to it.
fn beside(database: &Path, ending: &str) -> Result<PathBuf> {
    let mut name = database.canonicalize().map_err(refused)?.into_os_string();
    name.push(ending);
    Ok(PathBuf::from(name))
}
