//! Reads database files in folders that this process cannot write to.
//!
//! SQLite reads a file in WAL mode through an index next to it. It fails if that index cannot be created,
//! although the file is complete: on read-only media, for example, or on a full disk. SQLite can treat the
//! file as immutable, which is correct only while no other process writes to it, for example through
//! another mount. So the file is checked again after each read, and such a connection is never reused.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::pack::refused;
use crate::sqlite::connection::is_unopenable;
use crate::{Result, StoreError};

/// A file that no process was writing when it was checked.
#[derive(Debug)]
pub(crate) struct ImmutableFile {
    path: PathBuf,
    stamp: FileStamp,
}

/// Inode, length and change time: they change when a file is written or replaced.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp(u64, u64, (i64, i64));

impl ImmutableFile {
    /// Checks a file that SQLite could not read. Returns `None` if it has a log that must be read as well,
    /// or if SQLite failed for another reason than the missing index: the folder is writable and the disk
    /// is not full.
    pub(crate) fn instead(path: &Path, error: &StoreError) -> Result<Option<Self>> {
        let is_full = matches!(error, StoreError::Full);
        if !is_full && !is_unopenable(error) {
            return Ok(None);
        }
        let still = Self::look(path)?;
        let is_kept_out = is_full || !still.folder_can_be_written();
        Ok((is_kept_out && !still.has_log()).then_some(still))
    }

    fn look(path: &Path) -> Result<Self> {
        // SQLite looks for the log next to the file itself, not next to a symbolic link to it.
        let path = path.canonicalize().map_err(refused)?;
        let metadata = fs::metadata(&path).map_err(refused)?;
        Ok(Self {
            stamp: FileStamp::of(&metadata),
            path,
        })
    }

    /// Fails if the file may have been written since it was first checked.
    pub(crate) fn check(&self) -> Result<()> {
        let now = fs::metadata(&self.path).map_err(refused)?;
        if self.stamp != FileStamp::of(&now) || self.has_log() {
            return Err(StoreError::Backend(
                "the database was written to while it was read without locks".into(),
            ));
        }
        Ok(())
    }

    /// Returns the URI with which SQLite treats the file as immutable.
    pub(crate) fn address(&self) -> String {
        address(&self.path)
    }

    /// Whether there is a log with content. A log that cannot be checked counts as one.
    fn has_log(&self) -> bool {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        match fs::metadata(log) {
            Ok(log) => log.len() > 0,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    fn folder_can_be_written(&self) -> bool {
        let folder = self.path.parent().unwrap_or(&self.path);
        accessat(CWD, folder, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    }
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        Self(
            metadata.ino(),
            metadata.len(),
            (metadata.ctime(), metadata.ctime_nsec()),
        )
    }
}

/// Converts an absolute path to a URI. A folder may have any name, so all but the plainest bytes are
/// escaped.
fn address(path: &Path) -> String {
    let mut address = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                address.push(char::from(*byte));
            }
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address.push_str("?immutable=1");
    address
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::sqlite::connection::store_error;

    #[test]
    fn a_path_of_any_bytes_becomes_a_uri() {
        let path = OsStr::from_bytes(b"/a b/%3f?#&=\xff/agent.sqlite");
        assert_eq!(
            address(Path::new(path)),
            "file:///a%20b/%253f%3F%23%26%3D%FF/agent.sqlite?immutable=1"
        );
    }

    #[test]
    fn a_file_in_a_writable_folder_is_never_treated_as_immutable() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        fs::write(&path, "").unwrap();
        let unopenable = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        let unopenable = store_error(rusqlite::Error::SqliteFailure(unopenable, None));
        assert!(ImmutableFile::instead(&path, &unopenable).unwrap().is_none());
    }

    #[test]
    fn without_room_for_an_index_a_file_without_log_is_read() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        fs::write(&path, "").unwrap();
        let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_SHMSIZE);
        let full = store_error(rusqlite::Error::SqliteFailure(full, None));
        assert!(matches!(full, StoreError::Full), "{full:?}");
        let still = ImmutableFile::instead(&path, &full)
            .unwrap()
            .expect("it lies still");
        still.check().unwrap();
        fs::write(home.path().join("agent.sqlite-wal"), "something").unwrap();
        assert!(still.check().is_err(), "another process writes");
        assert!(
            ImmutableFile::instead(&path, &full).unwrap().is_none(),
            "a log must be read as well"
        );
        let broken = StoreError::Device("a bad sector".into());
        assert!(ImmutableFile::instead(&path, &broken).unwrap().is_none());
    }
}
