//! Files that nobody writes to, in folders where nobody here could.
//!
//! SQLite reads a write-ahead-logged file with the help of an index beside it, and cannot where that index cannot
//! be made, although the file is complete: on read-only media, say, or on a disk that is full. It can be told to take the file for immutable,
//! which is only true while nobody else, on the other side of a read-only mount perhaps, writes to it. So it is
//! looked at again after each reading, and no connection of this kind is kept for the next one.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::pack::refused;
use crate::sqlite::connection::is_unopenable;
use crate::{Result, StoreError};

/// A file that lay still when it was looked at.
#[derive(Debug)]
pub(crate) struct ImmutableFile {
    path: PathBuf,
    stamp: FileStamp,
}

/// What changes when a file is written or replaced: its number, its length, and when it was changed.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp(u64, u64, (i64, i64));

impl ImmutableFile {
    /// Looks at a file that SQLite could not read. None when it has a log that must be read as well, or when what kept
    /// SQLite from reading it is something else than that no index can be made: its folder can be written, and there is
    /// room.
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
        // SQLite looks for the log beside the file itself, not beside a link to it.
        let path = path.canonicalize().map_err(refused)?;
        let metadata = fs::metadata(&path).map_err(refused)?;
        Ok(Self {
            stamp: FileStamp::of(&metadata),
            path,
        })
    }

    /// An error when the file may have been written to since it was looked at.
    pub(crate) fn check(&self) -> Result<()> {
        let now = fs::metadata(&self.path).map_err(refused)?;
        if self.stamp != FileStamp::of(&now) || self.has_log() {
            return Err(StoreError::Backend(
                "the database was written to while it was read without locks".into(),
            ));
        }
        Ok(())
    }

    /// The address by which SQLite takes the file for immutable.
    pub(crate) fn address(&self) -> String {
        address(&self.path)
    }

    /// Whether there is a log that holds something. One that cannot be looked at may.
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

/// An absolute path as an address. A folder may be called anything, so all but the plainest bytes are escaped.
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
    use crate::sqlite::connection::said;

    #[test]
    fn a_path_of_any_bytes_becomes_an_address() {
        let path = OsStr::from_bytes(b"/a b/%3f?#&=\xff/agent.sqlite");
        assert_eq!(
            address(Path::new(path)),
            "file:///a%20b/%253f%3F%23%26%3D%FF/agent.sqlite?immutable=1"
        );
    }

    #[test]
    fn a_file_whose_folder_can_be_written_is_never_taken_for_still() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        fs::write(&path, "").unwrap();
        let unopenable = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        let unopenable = said(rusqlite::Error::SqliteFailure(unopenable, None));
        assert!(ImmutableFile::instead(&path, &unopenable).unwrap().is_none());
    }

    #[test]
    fn where_there_is_no_room_for_an_index_a_file_without_a_log_is_read_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        fs::write(&path, "").unwrap();
        let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_SHMSIZE);
        let full = said(rusqlite::Error::SqliteFailure(full, None));
        assert!(matches!(full, StoreError::Full), "{full:?}");
        let still = ImmutableFile::instead(&path, &full)
            .unwrap()
            .expect("it lies still");
        still.check().unwrap();
        fs::write(home.path().join("agent.sqlite-wal"), "something").unwrap();
        assert!(still.check().is_err(), "somebody writes");
        assert!(
            ImmutableFile::instead(&path, &full).unwrap().is_none(),
            "a log must be read as well"
        );
        let broken = StoreError::Device("a bad sector".into());
        assert!(ImmutableFile::instead(&path, &broken).unwrap().is_none());
    }
}
