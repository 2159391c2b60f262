//! Lists the files of a workspace that a snapshot covers, and those that it does not.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use wakeful_core::snapshot::{
    ENTRIES_MAX, FILE_BYTES_MAX, FILES_MAX, FileKind, TOTAL_BYTES_MAX, UncoveredReason,
};
use wakeful_core::watch::{DEPTH_MAX, PATH_BYTES_MAX};

use super::entry::{Root, kind_of};
use crate::watch::ignore::IgnoreRules;

/// What the snapshot before a run covers. The snapshot after it covers the same files and leaves out the
/// same ones, so that a changed ignore file or a file that becomes small never looks like a change.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    /// Covered files and the folders on their paths: ignore files do not apply to them.
    pub(super) kept: BTreeSet<Vec<u8>>,
    pub(super) uncovered: BTreeSet<Vec<u8>>,
}

/// A file of the workspace.
pub(super) struct WalkedFile<'a> {
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a CStr,
    pub(super) path: Vec<u8>,
    pub(super) about: Stat,
    pub(super) kind: FileKind,
}

/// What a walk found besides the files.
#[derive(Debug, Default)]
pub(super) struct WalkResult {
    /// Folders without a covered entry.
    pub(super) empty_folders: Vec<Vec<u8>>,
    pub(super) uncovered: Vec<(UncoveredReason, Vec<u8>)>,
}

pub(super) struct Walk<'a> {
    pub(super) root: &'a Root,
    pub(super) path: &'a Path,
    pub(super) coverage: &'a Coverage,
    pub(super) deadline: Instant,
}

/// What a visitor did with a file.
pub(super) enum Visited {
    Covered,
    Not(UncoveredReason),
}

struct Listing {
    entries: Dir,
    path: Vec<u8>,
    covered: usize,
}

/// The bounds that a walk has used.
#[derive(Default)]
struct Used {
    entries: usize,
    files: usize,
    bytes: u64,
}

type Visit<'a> = dyn FnMut(WalkedFile<'_>) -> Result<Visited, String> + 'a;

impl Walk<'_> {
    /// Visits every covered file, depth first, with one handle per level.
    pub(super) fn run(&self, visit: &mut Visit<'_>) -> Result<WalkResult, String> {
        let (mut found, mut used) = (WalkResult::default(), Used::default());
        let mut ignored = IgnoreRules::default();
        let mut listings = vec![self.begin(&mut ignored, self.root.fd(), Vec::new())?];
        loop {
            let depth = listings.len();
            let Some(listing) = listings.last_mut() else {
                return Ok(found);
            };
            let Some(Ok(entry)) = listing.entries.read() else {
                if let Some(listing) = listings.pop().filter(|listing| listing.covered == 0 && depth > 1) {
                    found.empty_folders.push(listing.path);
                }
                ignored.leave();
                continue;
            };
            let name: CString = entry.file_name().to_owned();
            if [c".", c".."].contains(&name.as_c_str()) {
                continue;
            }
            used.entries += 1;
            if used.entries > ENTRIES_MAX {
                return Err(format!("the workspace has more than {ENTRIES_MAX} entries"));
            }
            if Instant::now() >= self.deadline {
                return Err("reading the workspace took too long".to_owned());
            }
            let path = joined(&listing.path, &name);
            let folder = listing.entries.fd().map_err(|error| error.to_string())?;
            let about = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW);
            let judged = about
                .map_err(|_| UncoveredReason::Unreadable)
                .and_then(|about| self.judge(&ignored, &path, &name, about));
            let about = match judged {
                Ok(about) => about,
                Err(reason) => {
                    found.uncovered.push((reason, path));
                    continue;
                }
            };
            let Some(kind) = kind_of(&about) else {
                let opened = (depth < DEPTH_MAX).then(|| enter(folder, &name)).flatten();
                let Some(opened) = opened else {
                    found.uncovered.push((UncoveredReason::OutOfReach, path));
                    continue;
                };
                listing.covered += 1;
                listings.push(self.begin(&mut ignored, opened.as_fd(), path)?);
                continue;
            };
            let visited = match used.has_room(&about) {
                false => Visited::Not(UncoveredReason::SnapshotFull),
                true => visit(WalkedFile {
                    folder,
                    name: &name,
                    path: path.clone(),
                    about,
                    kind,
                })?,
            };
            match visited {
                Visited::Covered => listing.covered += 1,
                Visited::Not(reason) => found.uncovered.push((reason, path)),
            }
        }
    }

    fn begin(
        &self,
        ignored: &mut IgnoreRules,
        folder: BorrowedFd<'_>,
        path: Vec<u8>,
    ) -> Result<Listing, String> {
        let entries =
            Dir::read_from(folder).map_err(|error| format!("a folder cannot be listed: {error}"))?;
        let full: PathBuf = self.path.join(std::ffi::OsStr::from_bytes(&path));
        ignored.enter(folder, &full).map_err(|error| error.to_string())?;
        Ok(Listing {
            entries,
            path,
            covered: 0,
        })
    }

    /// Whether an entry is covered.
    fn judge(
        &self,
        ignored: &IgnoreRules,
        path: &[u8],
        name: &CStr,
        about: Stat,
    ) -> Result<Stat, UncoveredReason> {
        let kind = FileType::from_raw_mode(about.st_mode);
        let name = name.to_bytes();
        // Git refuses these names in a tree, regardless of their content.
        let is_module_link = kind == FileType::Symlink && name.eq_ignore_ascii_case(b".gitmodules");
        if name.eq_ignore_ascii_case(b".git") || is_module_link {
            return Err(UncoveredReason::GitData);
        }
        if self.coverage.uncovered.contains(path) {
            return Err(UncoveredReason::Ignored);
        }
        if about.st_dev != self.root.device() || path.len() >= PATH_BYTES_MAX {
            return Err(UncoveredReason::OutOfReach);
        }
        let is_folder = kind == FileType::Directory;
        let full = self.path.join(std::ffi::OsStr::from_bytes(path));
        if !self.coverage.kept.contains(path) && ignored.has(&full, is_folder) {
            return Err(UncoveredReason::Ignored);
        }
        match kind {
            FileType::RegularFile if u64::try_from(about.st_size).unwrap_or(0) > FILE_BYTES_MAX => {
                Err(UncoveredReason::TooLarge)
            }
            FileType::RegularFile | FileType::Directory | FileType::Symlink => Ok(about),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Err(UncoveredReason::SpecialFile),
        }
    }
}

impl Used {
    fn has_room(&mut self, about: &Stat) -> bool {
        let bytes = self
            .bytes
            .saturating_add(u64::try_from(about.st_size).unwrap_or(0));
        if self.files >= FILES_MAX || bytes > TOTAL_BYTES_MAX {
            return false;
        }
        self.files += 1;
        self.bytes = bytes;
        true
    }
}

fn enter(folder: BorrowedFd<'_>, name: &CStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::empty()).ok()
}

fn joined(folder: &[u8], name: &CStr) -> Vec<u8> {
    if folder.is_empty() {
        return name.to_bytes().to_vec();
    }
    [folder, b"/", name.to_bytes()].concat()
}
