//! Reads and replaces single entries of a workspace by handles of their folders, so that no link leads out
//! of it.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, mkdirat, open, openat, readlinkat,
    renameat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use wakeful_core::key::Digest;
use wakeful_core::snapshot::{CurrentEntry, FILE_BYTES_MAX, FileKind, FileState, SkipReason};

use crate::remove_tree::fresh_name;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The name of a content in the repository of snapshots, which uses SHA-256.
pub(super) fn content_name(bytes: &[u8]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    Digest::from_bytes(hash.finalize().into())
}

/// The kind of an entry; none for folders and special files.
pub(super) fn kind_of(about: &Stat) -> Option<FileKind> {
    match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile if about.st_mode & 0o100 != 0 => Some(FileKind::Executable),
        FileType::RegularFile => Some(FileKind::Regular),
        FileType::Symlink => Some(FileKind::Symlink),
        FileType::Directory
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => None,
    }
}

/// The content of a file or the target of a link. None if it is larger than a snapshot covers.
pub(super) fn read(folder: BorrowedFd<'_>, name: &CStr, kind: FileKind) -> Result<Option<Vec<u8>>, Errno> {
    if kind == FileKind::Symlink {
        return Ok(Some(readlinkat(folder, name, Vec::new())?.into_bytes()));
    }
    // An entry that became a pipe or a link meanwhile is not opened.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(folder, name, flags, Mode::empty())?);
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= FILE_BYTES_MAX))
}

/// What exists under a name now.
pub(super) fn current(folder: BorrowedFd<'_>, name: &CStr) -> CurrentEntry {
    let about = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(about) => about,
        Err(Errno::NOENT) => return CurrentEntry::Absent,
        Err(_) => return CurrentEntry::Other,
    };
    if FileType::from_raw_mode(about.st_mode) == FileType::Directory {
        return CurrentEntry::Folder;
    }
    let Some(kind) = kind_of(&about) else {
        return CurrentEntry::Other;
    };
    match read(folder, name, kind) {
        Ok(Some(bytes)) => CurrentEntry::Is(FileState {
            kind,
            content: content_name(&bytes),
        }),
        Err(Errno::NOENT) => CurrentEntry::Absent,
        Ok(None) | Err(_) => CurrentEntry::Other,
    }
}

/// The workspace, opened once.
pub(super) struct Root {
    folder: OwnedFd,
    device: u64,
}

/// The folder of a path.
pub(super) enum Parent {
    Is(OwnedFd, CString),
    /// The folder does not exist.
    Missing,
    /// Another entry, such as a link, is in place of the folder with this path.
    Blocked(Vec<u8>),
}

/// A state to write.
pub(super) struct NewFile<'a> {
    pub(super) kind: FileKind,
    pub(super) bytes: &'a [u8],
    /// Permission bits; set-id bits are never restored.
    pub(super) mode: u32,
    /// The state that is replaced; none if nothing may exist under the name.
    pub(super) replaces: Option<FileState>,
}

impl Root {
    pub(super) fn open(workspace: &Path) -> Result<Self, Errno> {
        let folder = open(workspace, FOLDER, Mode::empty())?;
        let device = fstat(&folder)?.st_dev;
        Ok(Self { folder, device })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    pub(super) const fn device(&self) -> u64 {
        self.device
    }

    /// Opens the folder of a path, one component at a time.
    pub(super) fn parent(&self, path: &[u8]) -> Result<Parent, Errno> {
        self.walk(path, |_, _| Err(Errno::NOENT))
    }

    /// Opens the folder of a path, and creates the missing folders.
    pub(super) fn make_parent(&self, path: &[u8]) -> Result<Parent, Errno> {
        self.walk(path, |folder, name| {
            mkdirat(folder, name, Mode::from_raw_mode(0o755))
        })
    }

    fn walk(
        &self,
        path: &[u8],
        on_missing: impl Fn(BorrowedFd<'_>, &CStr) -> Result<(), Errno>,
    ) -> Result<Parent, Errno> {
        let mut folder = self.folder.try_clone().map_err(|_| Errno::MFILE)?;
        let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let last = parts.pop().unwrap_or_default();
        let mut end = 0;
        for part in parts {
            end += part.len() + 1;
            let name = component(part)?;
            let opened = match openat(&folder, &name, FOLDER, Mode::empty()) {
                Err(Errno::NOENT) => match on_missing(folder.as_fd(), &name) {
                    Err(Errno::NOENT) => return Ok(Parent::Missing),
                    Ok(()) | Err(Errno::EXIST) => openat(&folder, &name, FOLDER, Mode::empty()),
                    Err(error) => return Err(error),
                },
                opened => opened,
            };
            folder = match opened {
                Ok(opened) => opened,
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    return Ok(Parent::Blocked(path.get(..end - 1).unwrap_or(path).to_vec()));
                }
                Err(error) => return Err(error),
            };
            if fstat(&folder)?.st_dev != self.device {
                return Err(Errno::XDEV);
            }
        }
        Ok(Parent::Is(folder, component(last)?))
    }

    /// What exists at a path now. Paths below a removed entry do not exist.
    pub(super) fn current(&self, path: &[u8], removed: &BTreeSet<Vec<u8>>) -> CurrentEntry {
        match self.parent(path) {
            Ok(Parent::Is(folder, name)) => current(folder.as_fd(), &name),
            Ok(Parent::Missing) => CurrentEntry::Absent,
            Ok(Parent::Blocked(at)) if removed.contains(&at) => CurrentEntry::Absent,
            Ok(Parent::Blocked(_)) | Err(_) => CurrentEntry::Other,
        }
    }

    /// Writes a file if the state that it replaces is still there. Nothing else is ever lost: the new file
    /// is exchanged with the present one, which is checked afterwards and put back if it is another.
    pub(super) fn write(&self, path: &[u8], new: &NewFile<'_>) -> Result<(), SkipReason> {
        let unwritable = |_: Errno| SkipReason::Unwritable;
        let Parent::Is(folder, name) = self.make_parent(path).map_err(unwritable)? else {
            return Err(SkipReason::ChangedSince);
        };
        let temporary = temporary_name();
        let written = new.create(folder.as_fd(), &temporary);
        let placed = written
            .map_err(unwritable)
            .and_then(|()| new.place(folder.as_fd(), &temporary, &name));
        if placed.is_err() {
            let _ = unlinkat(&folder, &temporary, AtFlags::empty());
        }
        placed
    }

    /// Removes a file if it still has this state.
    pub(super) fn remove(&self, path: &[u8], state: FileState) -> Result<(), SkipReason> {
        let Ok(Parent::Is(folder, name)) = self.parent(path) else {
            return Err(SkipReason::ChangedSince);
        };
        let temporary = temporary_name();
        match renameat_with(&folder, &name, &folder, &temporary, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(SkipReason::ChangedSince),
            Err(_) => return Err(SkipReason::Unwritable),
        }
        if current(folder.as_fd(), &temporary) != CurrentEntry::Is(state) {
            // If another file appeared under the name meanwhile, both stay.
            let _ = renameat_with(&folder, &temporary, &folder, &name, RenameFlags::NOREPLACE);
            return Err(SkipReason::ChangedSince);
        }
        unlinkat(&folder, &temporary, AtFlags::empty()).map_err(|_| SkipReason::Unwritable)
    }

    /// Removes a folder if it is empty.
    pub(super) fn remove_folder(&self, path: &[u8]) {
        if let Ok(Parent::Is(folder, name)) = self.parent(path) {
            let _is_in_use = unlinkat(&folder, &name, AtFlags::REMOVEDIR);
        }
    }

    /// Creates a folder if nothing exists at its path.
    pub(super) fn make_folder(&self, path: &[u8]) {
        if let Ok(Parent::Is(folder, name)) = self.make_parent(path) {
            let _exists = mkdirat(&folder, &name, Mode::from_raw_mode(0o755));
        }
    }
}

impl NewFile<'_> {
    fn create(&self, folder: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        if self.kind == FileKind::Symlink {
            return symlinkat(OsStr::from_bytes(self.bytes), folder, name);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(folder, name, flags, Mode::from_raw_mode(0o600))?);
        let written = file.write_all(self.bytes);
        written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        fchmod(&file, Mode::from_raw_mode(self.mode & 0o777))
    }

    fn place(&self, folder: BorrowedFd<'_>, temporary: &CStr, name: &CStr) -> Result<(), SkipReason> {
        let Some(replaced) = self.replaces else {
            let placed = renameat_with(folder, temporary, folder, name, RenameFlags::NOREPLACE);
            return placed.map_err(|error| match error {
                Errno::EXIST | Errno::NOTEMPTY => SkipReason::ChangedSince,
                _ => SkipReason::Unwritable,
            });
        };
        match renameat_with(folder, temporary, folder, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(SkipReason::ChangedSince),
            // The file system cannot exchange: check, then replace.
            Err(Errno::INVAL | Errno::NOSYS) => {
                if current(folder, name) != CurrentEntry::Is(replaced) {
                    return Err(SkipReason::ChangedSince);
                }
                return renameat(folder, temporary, folder, name).map_err(|_| SkipReason::Unwritable);
            }
            Err(_) => return Err(SkipReason::Unwritable),
        }
        if current(folder, temporary) == CurrentEntry::Is(replaced) {
            return unlinkat(folder, temporary, AtFlags::empty()).map_err(|_| SkipReason::Unwritable);
        }
        let _ = renameat_with(folder, temporary, folder, name, RenameFlags::EXCHANGE);
        Err(SkipReason::ChangedSince)
    }
}

fn temporary_name() -> CString {
    // The name contains no zero byte.
    CString::new(format!(".wakeful-undo-{}", fresh_name())).unwrap_or_default()
}

/// One component of a path that cannot lead upwards.
fn component(part: &[u8]) -> Result<CString, Errno> {
    if part.is_empty() || part == b"." || part == b".." {
        return Err(Errno::INVAL);
    }
    CString::new(part).map_err(|_| Errno::INVAL)
}
