//! Scans the files of a folder.
//!
//! Entries that a `.gitignore`, a `.ignore` or a `.wakefulignore` excludes are skipped. Links are not
//! followed, and entries that are neither file nor folder are skipped. The walk uses handles without
//! recursion, within the limits of [`wakeful_core::watch`], because any writer of the folder chooses its
//! depth, its names and its ignore files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat,
};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use wakeful_core::time::Millis;
use wakeful_core::watch::{
    BadSource, DEPTH_MAX, EntryDiff, EntryState, HASHED_BYTES_MAX, LISTED_MAX, NAMES_BYTES_MAX,
    PATH_BYTES_MAX, SCAN_MS_MAX, stat_mark,
};

use super::ScannedEntries;
use super::ignore::IgnoreRules;

/// Bytes of a file per read.
const CHUNK_BYTES: usize = 64 * 1_024;

/// How long after a write another one may have the same timestamp: file system clocks are coarse, some with
/// a step of two seconds.
const TICK_MS: i64 = 2_000;

/// One scan of a folder.
pub(super) struct FolderWalk<'a> {
    pub(super) root: &'a Path,
    pub(super) home: &'a Path,
    pub(super) entries_max: usize,
    pub(super) now: Millis,
    /// Whether the caller has stopped waiting.
    pub(super) given_up: &'a AtomicBool,
}

/// An entry of a walk.
enum WalkEntry<'a> {
    Folder(PathBuf),
    File {
        folder: BorrowedFd<'a>,
        file: &'a CStr,
        /// Relative to the root.
        name: Vec<u8>,
    },
    /// A folder that cannot be listed.
    Unreadable(Vec<u8>),
}

/// A folder that is being listed.
struct Listing {
    entries: Dir,
    name: Vec<u8>,
}

/// The progress of a walk.
struct WalkStats {
    begun: Instant,
    listed: usize,
    entries: usize,
    names_bytes: usize,
}

/// The result of reading one file.
enum ReadFile {
    Is(EntryState),
    Gone,
    Unreadable,
}

impl FolderWalk<'_> {
    /// Scans everything, and compares it with the known entries.
    pub(super) fn go(&self, known: &BTreeMap<Vec<u8>, EntryState>) -> Result<ScannedEntries, BadSource> {
        let (mut found, mut met) = (ScannedEntries::default(), BTreeSet::new());
        let mut dark: BTreeSet<Vec<u8>> = BTreeSet::new();
        self.walk(&mut |entry| match entry {
            WalkEntry::Folder(path) => found.folders.push(path),
            WalkEntry::File { folder, file, name } => {
                let was = known.get(&name);
                match self.read(folder, file, was) {
                    ReadFile::Is(now) => {
                        found
                            .differences
                            .extend(EntryDiff::of(name.clone(), was, Some(now)));
                        met.insert(name);
                    }
                    ReadFile::Gone => {}
                    ReadFile::Unreadable => {
                        found.unreadable += 1;
                        met.insert(name);
                    }
                }
            }
            WalkEntry::Unreadable(name) => {
                found.unreadable += 1;
                dark.insert(name);
            }
        })?;
        // An unmounted disk is not a deletion: entries that cannot be read stay unchanged.
        self.open_root()?;
        let gone = known.keys().filter(|name| !met.contains(*name));
        let gone: Vec<EntryDiff> = gone
            .filter(|name| !is_below(&dark, name))
            .filter_map(|name| EntryDiff::of(name.clone(), known.get(name), None))
            .collect();
        found.differences.extend(gone);
        found.differences.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// The existing folders, without reading any file.
    pub(super) fn folders(&self) -> Result<Vec<PathBuf>, BadSource> {
        let mut folders = Vec::new();
        self.walk(&mut |entry| {
            if let WalkEntry::Folder(path) = entry {
                folders.push(path);
            }
        })?;
        Ok(folders)
    }

    /// Visits everything that is not ignored, depth first, with one handle per level.
    fn walk(&self, visit: &mut dyn FnMut(WalkEntry<'_>)) -> Result<(), BadSource> {
        let mut tally = WalkStats {
            begun: Instant::now(),
            listed: 0,
            entries: 0,
            names_bytes: 0,
        };
        let (mut listings, mut ignored) = (Vec::new(), IgnoreRules::default());
        let root = begin(&mut ignored, self.open_root().ok(), self.root, Vec::new())?;
        listings.push(root.ok_or_else(|| self.no_folder())?);
        visit(WalkEntry::Folder(self.root.to_owned()));
        loop {
            let depth = listings.len();
            let Some(listing) = listings.last_mut() else {
                return Ok(());
            };
            let entry = match listing.entries.read() {
                Some(Ok(entry)) => entry,
                read => {
                    if read.is_some() {
                        visit(WalkEntry::Unreadable(listing.name.clone()));
                    }
                    ignored.leave();
                    listings.pop();
                    continue;
                }
            };
            let file = entry.file_name();
            tally.list(self)?;
            if [c".", c"..", c".git"].contains(&file) {
                continue;
            }
            let folder = listing.entries.fd().map_err(|_| self.no_folder())?;
            let kind = Some(entry.file_type()).filter(|kind| *kind != FileType::Unknown);
            let kind = kind.unwrap_or_else(|| kind_of(folder, file));
            let name = joined(&listing.name, file);
            let (path, is_folder) = (self.path(&name), kind == FileType::Directory);
            if path == self.home || ignored.has(&path, is_folder) {
                continue;
            }
            tally.count(self, name.len())?;
            if kind == FileType::RegularFile {
                visit(WalkEntry::File { folder, file, name });
            } else if is_folder {
                let opened = (!is_too_deep(depth, &path)).then(|| enter(folder, file).ok());
                match begin(&mut ignored, opened.flatten(), &path, name.clone())? {
                    Some(listing) => {
                        visit(WalkEntry::Folder(path));
                        listings.push(listing);
                    }
                    None => visit(WalkEntry::Unreadable(name)),
                }
            }
        }
    }

    fn no_folder(&self) -> BadSource {
        BadSource::NoFolder(self.root.display().to_string())
    }

    /// The path of a source contains no links: a path that became a link leads elsewhere and is refused.
    fn open_root(&self) -> Result<OwnedFd, BadSource> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match openat2(CWD, self.root, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Some containers do not support this call.
            Err(Errno::NOSYS | Errno::PERM) => openat(CWD, self.root, flags, Mode::empty()),
            opened => opened,
        };
        opened.map_err(|_| self.no_folder())
    }

    fn path(&self, name: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(name))
    }

    /// The current state of a file. A file whose metadata is unchanged is not read.
    fn read(&self, folder: BorrowedFd<'_>, file: &CStr, was: Option<&EntryState>) -> ReadFile {
        match statat(folder, file, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(now) if FileType::from_raw_mode(now.st_mode) != FileType::RegularFile => {
                return ReadFile::Gone;
            }
            Ok(now) => {
                let now = self.stamp(&now);
                let is_same = |was: &&EntryState| was.stamp.is_some() && was.stamp == now;
                if let Some(was) = was.filter(is_same) {
                    return ReadFile::Is(was.clone());
                }
            }
            Err(Errno::NOENT) => return ReadFile::Gone,
            Err(_) => return ReadFile::Unreadable,
        }
        // An entry that became a pipe or a link meanwhile is not opened.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(folder, file, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return ReadFile::Gone,
            Err(_) => return ReadFile::Unreadable,
        };
        self.hashed(file).unwrap_or(ReadFile::Unreadable)
    }

    fn hashed(&self, mut file: File) -> std::io::Result<ReadFile> {
        let before = fstat(&file)?;
        if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
            return Ok(ReadFile::Gone);
        }
        let size = u64::try_from(before.st_size).unwrap_or(0);
        let mark = if size > HASHED_BYTES_MAX {
            stat_mark(size, &written_at(&before)).as_bytes().to_vec()
        } else {
            // A file that grows during the read is read only up to the limit.
            let mut rest = (&mut file).take(HASHED_BYTES_MAX);
            let (mut hash, mut chunk) = (Sha256::new(), vec![0; CHUNK_BYTES]);
            loop {
                match rest.read(&mut chunk)? {
                    0 => break,
                    read => hash.update(chunk.get(..read).unwrap_or_default()),
                }
            }
            hash.finalize().to_vec()
        };
        // A file that was written during the read must be read again.
        let stamp = self
            .stamp(&before)
            .filter(|_| fstat(&file).is_ok_and(|after| times(&after) == times(&before)));
        Ok(ReadFile::Is(EntryState { mark, size, stamp }))
    }

    /// The metadata stamp of a file; none if another content could have the same stamp.
    fn stamp(&self, file: &Stat) -> Option<String> {
        let newest = file.st_mtime.max(file.st_ctime).saturating_mul(1_000);
        let is_settled = newest.saturating_add(TICK_MS) < self.now.0;
        is_settled.then(|| times(file))
    }

    fn too_many(&self, found: usize) -> BadSource {
        BadSource::TooManyFiles {
            path: self.root.display().to_string(),
            found,
        }
    }
}

fn times(file: &Stat) -> String {
    format!(
        "{}|{}.{:09}|{}|{}",
        written_at(file),
        file.st_ctime,
        file.st_ctime_nsec,
        file.st_ino,
        file.st_size
    )
}

fn written_at(file: &Stat) -> String {
    format!("{}.{:09}", file.st_mtime, file.st_mtime_nsec)
}

impl WalkStats {
    fn list(&mut self, walk: &FolderWalk<'_>) -> Result<(), BadSource> {
        self.listed += 1;
        if self.listed > LISTED_MAX {
            return Err(walk.too_many(self.listed));
        }
        if self.begun.elapsed() >= Duration::from_millis(SCAN_MS_MAX) {
            return Err(BadSource::TooSlow(walk.root.display().to_string()));
        }
        if walk.given_up.load(Ordering::Relaxed) {
            // The result is not read.
            return Err(walk.no_folder());
        }
        Ok(())
    }

    fn count(&mut self, walk: &FolderWalk<'_>, name_bytes: usize) -> Result<(), BadSource> {
        self.entries += 1;
        self.names_bytes = self.names_bytes.saturating_add(name_bytes);
        // The root counts as an entry.
        if self.entries >= walk.entries_max {
            return Err(walk.too_many(self.entries + 1));
        }
        if self.names_bytes > NAMES_BYTES_MAX {
            return Err(BadSource::NamesTooLong(walk.root.display().to_string()));
        }
        Ok(())
    }
}

fn joined(folder: &[u8], file: &CStr) -> Vec<u8> {
    if folder.is_empty() {
        return file.to_bytes().to_vec();
    }
    [folder, b"/", file.to_bytes()].concat()
}

/// Whether a folder is too deep for a walk, or its path is too long for the kernel to watch it.
fn is_too_deep(depth: usize, path: &Path) -> bool {
    depth >= DEPTH_MAX || path.as_os_str().len() >= PATH_BYTES_MAX
}

/// Starts to list a folder after reading its ignore files; none if it cannot be listed.
fn begin(
    ignored: &mut IgnoreRules,
    folder: Option<OwnedFd>,
    path: &Path,
    name: Vec<u8>,
) -> Result<Option<Listing>, BadSource> {
    let listed = folder.and_then(|folder| Some((Dir::read_from(&folder).ok()?, folder)));
    let Some((entries, folder)) = listed else {
        return Ok(None);
    };
    ignored.enter(folder.as_fd(), path)?;
    Ok(Some(Listing { entries, name }))
}

fn kind_of(folder: BorrowedFd<'_>, file: &CStr) -> FileType {
    let found = statat(folder, file, AtFlags::SYMLINK_NOFOLLOW);
    found.map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode))
}

fn enter(folder: BorrowedFd<'_>, file: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, file, flags, Mode::empty())
}

/// Whether a name, or one of its parent folders, is in a set.
pub(super) fn is_below(set: &BTreeSet<Vec<u8>>, name: &[u8]) -> bool {
    let ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut above = ends.filter_map(|(end, _)| name.get(..end));
    !set.is_empty() && (set.contains(name) || above.any(|folder| set.contains(folder)))
}
