//! Opens files beneath a root folder without following symlinks, and replaces them atomically.
//!
//! The kernel resolves every path from a descriptor of the root, so a symlink or a rename that a command makes
//! meanwhile leads to an error and never to a file outside. Symlinks are resolved before, when the path is
//! judged; what is opened is exactly the judged path.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, CWD, FileType, FsWord, Mode, OFlags, ResolveFlags, Stat, fstat, fstatfs, mkdirat, openat2,
    statat,
};
use rustix::io::Errno;

/// How paths are resolved: not above the root, through no symlink, and through no link of `/proc`.
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// How often a path is resolved again after a rename elsewhere confused the kernel's check.
const ATTEMPTS_MAX: u32 = 8;

/// The file systems whose files are views into the kernel: proc, sysfs, cgroup, debugfs, tracefs, securityfs,
/// configfs and devpts. Their sizes are wrong, and some block or act when they are read.
const KERNEL_FILE_SYSTEMS: [FsWord; 9] = [
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x6265_6570,
    0x1cd1,
];

/// Setuid and setgid.
pub(super) const SET_ID_BITS: u32 = 0o6000;

/// Why a path could not be opened.
#[derive(Debug)]
pub(super) enum OpenError {
    /// Nothing is there.
    Missing,
    /// It is a folder.
    Folder,
    /// A part of the path that must be a folder is a file.
    NotFolder,
    /// It is a FIFO, a socket, a device or a file of the kernel.
    NotRegular(&'static str),
    /// A symlink or a mount appeared on the path after it was resolved.
    Changed,
    /// The kernel does not support this way to open files.
    Unsupported,
    Io(io::Error),
}

impl From<Errno> for OpenError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::ISDIR => Self::Folder,
            Errno::NOTDIR => Self::NotFolder,
            Errno::LOOP | Errno::XDEV | Errno::AGAIN => Self::Changed,
            Errno::NOSYS => Self::Unsupported,
            other => Self::Io(other.into()),
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Opens a folder by its absolute path, which contains no symlinks.
pub(super) fn open_root(path: &Path) -> Result<OwnedFd, OpenError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(CWD, path, flags, Mode::empty(), resolve)?)
}

/// Opens a path beneath a root. An empty path is the root itself.
fn open_at(root: impl AsFd, relative: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, OpenError> {
    let path = if relative.as_os_str().is_empty() {
        Path::new(".")
    } else {
        relative
    };
    let mut attempts = 0;
    loop {
        attempts += 1;
        match openat2(root.as_fd(), path, flags | OFlags::CLOEXEC, mode, RESOLVE) {
            Err(Errno::AGAIN | Errno::INTR) if attempts < ATTEMPTS_MAX => {}
            opened => return Ok(opened?),
        }
    }
}

/// Opens a folder beneath a root.
pub(super) fn open_folder(root: impl AsFd, relative: &Path) -> Result<OwnedFd, OpenError> {
    open_at(root, relative, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
}

/// Opens a regular file for reading. Its type is known before it is opened, because opening a device may act.
pub(super) fn open_file(root: impl AsFd, relative: &Path) -> Result<(File, Stat), OpenError> {
    let place = open_at(&root, relative, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
    check_regular(&place)?;
    // A FIFO that takes its place meanwhile does not block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let file = open_at(&root, relative, flags, Mode::empty())?;
    let stat = check_regular(&file)?;
    Ok((File::from(file), stat))
}

/// What is known about an entry of an open folder without opening it; none if it is missing.
pub(super) fn stat_entry(folder: impl AsFd, name: &Path) -> Result<Option<Stat>, OpenError> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Refuses everything but ordinary files.
pub(super) fn check_type(stat: &Stat) -> Result<(), OpenError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(OpenError::Folder),
        FileType::Symlink => Err(OpenError::Changed),
        FileType::Fifo => Err(OpenError::NotRegular("a FIFO")),
        FileType::Socket => Err(OpenError::NotRegular("a socket")),
        FileType::CharacterDevice | FileType::BlockDevice => Err(OpenError::NotRegular("a device")),
        FileType::Unknown => Err(OpenError::NotRegular("of an unknown type")),
    }
}

fn check_regular(file: &OwnedFd) -> Result<Stat, OpenError> {
    let stat = fstat(file)?;
    check_type(&stat)?;
    let kind = fstatfs(file)?.f_type;
    if KERNEL_FILE_SYSTEMS.contains(&kind) {
        return Err(OpenError::NotRegular("a file of the kernel"));
    }
    Ok(stat)
}

/// Opens the folder that contains a path, and creates it and its parents if they are missing. Adds the number
/// of created folders, so that they can be removed again.
pub(super) fn open_parent(root: &OwnedFd, relative: &Path, created: &mut u32) -> Result<OwnedFd, OpenError> {
    let parent = relative.parent().unwrap_or_else(|| Path::new(""));
    let mut folder = open_folder(root, Path::new(""))?;
    for part in parent.components() {
        let Component::Normal(name) = part else { continue };
        let name = Path::new(name);
        folder = match open_folder(&folder, name) {
            Err(OpenError::Missing) => {
                match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) => *created += 1,
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                open_folder(&folder, name)?
            }
            opened => opened?,
        };
    }
    Ok(folder)
}

/// Opens the folder that contains a path; none if it does not exist.
pub(super) fn existing_parent(root: &OwnedFd, relative: &Path) -> Result<Option<OwnedFd>, OpenError> {
    let parent = relative.parent().unwrap_or_else(|| Path::new(""));
    match open_folder(root, parent) {
        Ok(folder) => Ok(Some(folder)),
        Err(OpenError::Missing) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates a new file in an open folder, for writing.
pub(super) fn create_file(folder: &OwnedFd, name: &Path) -> Result<File, OpenError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    Ok(File::from(open_at(folder, name, flags, Mode::RUSR | Mode::WUSR)?))
}

/// The last component of a path.
pub(super) fn file_name(relative: &Path) -> Option<&Path> {
    relative.file_name().map(Path::new)
}

/// Longest name of a file that the file systems accept.
const NAME_BYTES_MAX: usize = 255;

/// Whether a file system accepts the name.
pub(super) fn is_name_short(name: &Path) -> bool {
    name.as_os_str().as_bytes().len() <= NAME_BYTES_MAX
}
