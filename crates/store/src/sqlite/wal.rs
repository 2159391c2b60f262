//! The write-ahead log beside a database. What was committed last is there and nowhere else, so that a log which is
//! gone is noticed: before anything is read without it, and before a commit into it is acknowledged.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::pack::refused;
use crate::{Result, StoreError};

/// The log of an open database.
pub(crate) struct Wal {
    path: PathBuf,
    number: u64,
}

impl Wal {
    /// The log that a connection has just begun to use.
    pub(crate) fn of(database: &Path) -> Result<Self> {
        let path = beside(database, "-wal")?;
        let number = fs::metadata(&path).map_err(refused)?.ino();
        Ok(Self { path, number })
    }

    /// An error when it is no longer where the next process would look for it. What is written to it then is on no
    /// disk's list of files. The connection still has it, and moves it into the database when it closes in good order.
    pub(crate) fn check(&self) -> Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if found.ino() == self.number => Ok(()),
            Ok(_) => Err(StoreError::LogRemoved),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::LogRemoved),
            Err(error) => Err(refused(error)),
        }
    }
}

/// An error when a database has the index of a log and no log. SQLite makes the log first and removes it last, so
/// somebody else removed it, and what was committed last with it.
pub(crate) fn refuse_without(database: &Path) -> Result<()> {
    if !database.try_exists().map_err(refused)? {
        return Ok(());
    }
    let (index, log) = (beside(database, "-shm")?, beside(database, "-wal")?);
    let is_alone = || Ok(index.try_exists().map_err(refused)? && !log.try_exists().map_err(refused)?);
    // Looked at twice: somebody may have closed it between the first look at the one and at the other.
    match is_alone()? && is_alone()? {
        true => Err(StoreError::LogRemoved),
        false => Ok(()),
    }
}

/// SQLite looks beside the file itself, not beside a link to it.
fn beside(database: &Path, ending: &str) -> Result<PathBuf> {
    let mut name = database.canonicalize().map_err(refused)?.into_os_string();
    name.push(ending);
    Ok(PathBuf::from(name))
}
