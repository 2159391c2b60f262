//! Removes folder trees that commands made.
//!
//! A command may make a tree of any depth and width and may remove permissions, so nothing here recurses,
//! joins paths or follows links. Every folder below the second level is moved up into the root of the
//! removal before it is emptied: at most four handles are open at a time, no path is longer than one name,
//! and depth uses no stack.

use std::ffi::{CStr, CString};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, SeekFrom, chmod, fstat, openat, openat2,
    renameat, seek, statat, unlinkat,
};
use rustix::io::Errno;

/// Most entries that one removal handles. A large build leaves a tenth of that.
pub const REMOVED_ENTRIES_MAX: u64 = 1_000_000;

/// Maximum duration of one removal. The caller that waits for a command's result waits for it.
pub const REMOVAL_TIME_MAX: Duration = Duration::from_secs(10);

/// Bytes of a directory listing per read; a name has at most 255.
const LISTING_BYTES: usize = 8 * 1_024;

/// The limits of one removal.
#[derive(Debug, Clone, Copy)]
pub struct RemovalLimits {
    pub entries_max: u64,
    pub time_max: Duration,
}

impl RemovalLimits {
    /// For callers that can wait, such as `doctor --fix`.
    pub const EXTENDED: Self = Self {
        entries_max: 100 * REMOVED_ENTRIES_MAX,
        time_max: Duration::from_secs(600),
    };
}

impl Default for RemovalLimits {
    fn default() -> Self {
        Self {
            entries_max: REMOVED_ENTRIES_MAX,
            time_max: REMOVAL_TIME_MAX,
        }
    }
}

/// The result of a removal.
#[derive(Debug)]
pub struct Removal {
    /// Entries that were removed, or moved up for removal.
    pub progress: u64,
    /// Why part of the tree still exists; none when it is gone.
    pub left: Option<RemovalRemainder>,
}

/// Why part of a tree still exists.
#[derive(Debug, thiserror::Error)]
pub enum RemovalRemainder {
    /// It has more entries than one removal handles.
    #[error("it has more than {0} entries")]
    TooMany(u64),
    /// The time limit passed.
    #[error("removing it takes longer than {} s", .0.as_secs_f32())]
    TooSlow(Duration),
    /// The kernel refused to remove an entry.
    #[error("{name:?} cannot be removed: {source}")]
    Refused {
        /// The first such entry, without its folder.
        name: String,
        source: io::Error,
    },
}

impl RemovalRemainder {
    fn refused(name: &CStr, error: Errno) -> Self {
        Self::Refused {
            name: name.to_string_lossy().into_owned(),
            source: error.into(),
        }
    }
}

impl From<RemovalRemainder> for io::Error {
    fn from(left: RemovalRemainder) -> Self {
        Self::other(left)
    }
}

/// Removes a file, or a folder with all its contents. A missing path counts as removed; a link is removed
/// and not followed. Only the parent folder is opened by path.
#[must_use]
pub fn remove(path: &Path, bounds: RemovalLimits) -> Removal {
    let gone = Removal {
        progress: 0,
        left: None,
    };
    let name = path
        .file_name()
        .and_then(|name| CString::new(name.as_bytes()).ok());
    let (Some(parent), Some(name)) = (path.parent(), name) else {
        return Removal {
            left: Some(RemovalRemainder::refused(c"", Errno::INVAL)),
            ..gone
        };
    };
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(CWD, parent, flags, Mode::empty()) {
        Ok(parent) => remove_at(&parent, &name, bounds),
        Err(Errno::NOENT) => gone,
        Err(error) => Removal {
            left: Some(RemovalRemainder::refused(&name, error)),
            ..gone
        },
    }
}

fn remove_at(parent: &OwnedFd, name: &CStr, bounds: RemovalLimits) -> Removal {
    let mut progress = 0;
    let removed = match take(parent.as_fd(), name, None) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => enter(parent.as_fd(), name).and_then(|root| {
            let mut sweep = RemovalState::new(root, bounds);
            let swept = sweep.run();
            progress = sweep.progress;
            match (
                take(parent.as_fd(), name, Some(FileType::Directory)),
                swept.err().or(sweep.refused),
            ) {
                (Ok(()) | Err(Errno::NOENT), _) => Ok(None),
                (Err(_), Some(left)) => Ok(Some(left)),
                (Err(error), None) => Err(error),
            }
        }),
        taken => taken.map(|()| None),
    };
    let left = match removed {
        Ok(left) => left,
        Err(Errno::NOENT) => None,
        Err(error) => Some(RemovalRemainder::refused(name, error)),
    };
    Removal {
        progress: progress + u64::from(left.is_none()),
        left,
    }
}

/// A removal in progress.
struct RemovalState {
    root: OwnedFd,
    bounds: RemovalLimits,
    begun: Instant,
    /// How many entries were visited.
    seen: u64,
    progress: u64,
    /// Prefix of the names of folders that were moved into the root.
    prefix: String,
    /// How many folders were moved, and how many of them were emptied.
    moved: u64,
    emptied: u64,
    /// The first entry that the kernel refused to remove.
    refused: Option<RemovalRemainder>,
}

impl RemovalState {
    fn new(root: OwnedFd, bounds: RemovalLimits) -> Self {
        Self {
            root,
            bounds,
            begun: Instant::now(),
            seen: 0,
            progress: 0,
            prefix: fresh_name(),
            moved: 0,
            emptied: 0,
            refused: None,
        }
    }

    /// Empties the root, repeatedly while that removes anything: entries may appear meanwhile.
    fn run(&mut self) -> Result<(), RemovalRemainder> {
        let root = self.root.try_clone();
        let root = root.map_err(|error| RemovalRemainder::Refused {
            name: ".".to_owned(),
            source: error,
        })?;
        loop {
            let before = self.progress;
            let is_empty = self.each(root.as_fd(), Self::remove_from_root)?;
            while self.emptied < self.moved {
                let name = self.name(self.emptied);
                self.emptied += 1;
                self.remove_from_root(root.as_fd(), &name, FileType::Directory)?;
            }
            if is_empty || self.progress == before {
                return Ok(());
            }
        }
    }

    /// Visits each entry of a folder once. Returns whether the folder was empty.
    fn each(
        &mut self,
        folder: BorrowedFd<'_>,
        handle: impl Fn(&mut Self, BorrowedFd<'_>, &CStr, FileType) -> Result<(), RemovalRemainder>,
    ) -> Result<bool, RemovalRemainder> {
        let mut is_empty = true;
        let mut buffer = [MaybeUninit::uninit(); LISTING_BYTES];
        if let Err(error) = seek(folder, SeekFrom::Start(0)) {
            self.refuse(c".", error);
        }
        let mut entries = RawDir::new(folder, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.refuse(c".", error);
                    return Ok(false);
                }
            };
            if [c".", c".."].contains(&entry.file_name()) {
                continue;
            }
            is_empty = false;
            handle(self, folder, entry.file_name(), entry.file_type())?;
        }
        Ok(is_empty)
    }

    /// Removes an entry of the root. A folder is emptied first, and its subfolders are moved up for that.
    fn remove_from_root(
        &mut self,
        root: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
    ) -> Result<(), RemovalRemainder> {
        self.may_go_on()?;
        match take(root, name, Some(kind)) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            taken => {
                self.note(name, taken);
                return Ok(());
            }
        }
        match enter(root, name) {
            Ok(folder) => {
                while !self.empty_folder(folder.as_fd())? {}
                self.note(name, take(root, name, Some(FileType::Directory)));
            }
            Err(error) => self.note(name, Err(error)),
        }
        Ok(())
    }

    /// Makes one pass over a folder. Returns whether another pass would not help.
    fn empty_folder(&mut self, folder: BorrowedFd<'_>) -> Result<bool, RemovalRemainder> {
        let before = self.progress;
        let is_empty = self.each(folder, Self::remove_or_move_up)?;
        Ok(is_empty || self.progress == before)
    }

    fn remove_or_move_up(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
    ) -> Result<(), RemovalRemainder> {
        self.may_go_on()?;
        let taken = match take(folder, name, Some(kind)) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => self.move_up(folder, name),
            taken => taken,
        };
        self.note(name, taken);
        Ok(())
    }

    fn move_up(&mut self, folder: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        let to = self.name(self.moved);
        match renameat(folder, name, &self.root, &to) {
            // The kernel writes the new parent into the folder, which requires write permission on it.
            Err(Errno::ACCESS) => {
                open_up(folder, name)?;
                renameat(folder, name, &self.root, &to)?;
            }
            moved => moved?,
        }
        self.moved += 1;
        Ok(())
    }

    fn name(&self, number: u64) -> CString {
        // The name contains no zero byte.
        CString::new(format!("{}-{number}", self.prefix)).unwrap_or_default()
    }

    fn may_go_on(&mut self) -> Result<(), RemovalRemainder> {
        self.seen += 1;
        if self.seen > self.bounds.entries_max {
            return Err(RemovalRemainder::TooMany(self.bounds.entries_max));
        }
        if self.begun.elapsed() >= self.bounds.time_max {
            return Err(RemovalRemainder::TooSlow(self.bounds.time_max));
        }
        Ok(())
    }

    fn note(&mut self, name: &CStr, result: Result<(), Errno>) {
        match result {
            Ok(()) => self.progress += 1,
            // The entry disappeared by itself.
            Err(Errno::NOENT) => {}
            Err(error) => self.refuse(name, error),
        }
    }

    fn refuse(&mut self, name: &CStr, error: Errno) {
        self.refused
            .get_or_insert_with(|| RemovalRemainder::refused(name, error));
    }
}

/// Removes one entry, unless it is a folder that is not empty.
fn take(folder: BorrowedFd<'_>, name: &CStr, kind: Option<FileType>) -> Result<(), Errno> {
    let kind = match kind {
        Some(kind) if kind != FileType::Unknown => kind,
        _ => FileType::from_raw_mode(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode),
    };
    let flags = if kind == FileType::Directory {
        AtFlags::REMOVEDIR
    } else {
        AtFlags::empty()
    };
    unlinkat(folder, name, flags)
}

/// Opens a folder for listing and changing, and restores permissions that a command removed.
fn enter(folder: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let found = open_up(folder, name)?;
    openat(
        &found,
        c".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// Grants full permissions on a folder, and opens a handle to it.
fn open_up(folder: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Does not cross mount points, even within one file system.
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    let found = match openat2(folder, name, flags, Mode::empty(), resolve) {
        // Some containers do not support this call.
        Err(Errno::NOSYS | Errno::PERM) => openat(folder, name, flags, Mode::empty())?,
        found => found?,
    };
    let is_open = Mode::from_raw_mode(fstat(&found)?.st_mode).contains(Mode::RWXU);
    if !is_open {
        // No other call changes the mode of exactly this folder, which may be unreadable.
        chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), Mode::RWXU)?;
    }
    Ok(found)
}

/// A name that no entry has.
pub(crate) fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // The keys of a hasher are random.
    let random = RandomState::new().build_hasher().finish();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{random:x}-{:x}-{count:x}", std::process::id())
}

#[cfg(test)]
mod tests;
