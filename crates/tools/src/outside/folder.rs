//! The files of a folder.
//!
//! What a `.gitignore`, a `.ignore` or a `.wakefulignore` leaves out is not there. Links are not followed, and what is
//! neither file nor folder is passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ignore::{DirEntry, WalkBuilder};
use rustix::fs::{Mode, OFlags};
use sha2::{Digest as _, Sha256};
use wakeful_core::outside::{BadSource, DEPTH_MAX, Difference, HASHED_BYTES_MAX, Known, large_mark};
use wakeful_core::time::Millis;

use super::Found;

/// The ignore file that is ours alone.
const IGNORE_FILE: &str = ".wakefulignore";

/// What is read at once of a file.
const CHUNK_BYTES: usize = 64 * 1_024;

/// How long after a write another one may bear the same time: clocks of file systems tick slowly, and some only every
/// two seconds.
const TICK_MS: i64 = 2_000;

/// A look at a folder.
pub(super) struct Walk<'a> {
    pub(super) root: &'a Path,
    pub(super) home: &'a Path,
    pub(super) entries_max: usize,
    pub(super) now: Millis,
    /// Whether nobody waits for it any more.
    pub(super) given_up: &'a AtomicBool,
}

/// What came of reading one file.
enum ReadFile {
    Is(Known),
    Gone,
    Unreadable,
}

impl Walk<'_> {
    /// Looks at everything, and compares it with what was seen.
    pub(super) fn go(&self, known: &BTreeMap<Vec<u8>, Known>) -> Result<Found, BadSource> {
        let no_folder = || BadSource::NoFolder(self.root.display().to_string());
        if !self.root.is_dir() {
            return Err(no_folder());
        }
        let (mut found, mut met) = (Found::default(), BTreeSet::new());
        let mut dark: Vec<PathBuf> = Vec::new();
        let mut count = 0_usize;
        for entry in self.walk() {
            count += 1;
            self.may_go_on(count)?;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let path = path_of(&error).unwrap_or_else(|| self.root.to_owned());
                    if path == self.root {
                        return Err(no_folder());
                    }
                    found.unreadable += 1;
                    dark.push(path);
                    continue;
                }
            };
            let Some(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                found.folders.push(entry.into_path());
            } else if kind.is_file() {
                self.file(&entry, known, &mut found, &mut met);
            }
        }
        // An unmounted disk is no deletion: what cannot be looked at is as it was.
        if !self.root.is_dir() {
            return Err(no_folder());
        }
        let gone = known.keys().filter(|name| !met.contains(*name));
        let gone = gone.filter(|name| !dark.iter().any(|dark| self.path(name).starts_with(dark)));
        let gone: Vec<Difference> = gone
            .filter_map(|name| Difference::of(name.clone(), known.get(name), None))
            .collect();
        found.differences.extend(gone);
        found.differences.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// The folders there are, without reading any file.
    pub(super) fn folders(&self) -> Result<Vec<PathBuf>, BadSource> {
        let (mut folders, mut count) = (Vec::new(), 0_usize);
        for entry in self.walk() {
            count += 1;
            self.may_go_on(count)?;
            let is_folder = |entry: &DirEntry| entry.file_type().is_some_and(|kind| kind.is_dir());
            folders.extend(entry.ok().filter(is_folder).map(DirEntry::into_path));
        }
        Ok(folders)
    }

    fn may_go_on(&self, count: usize) -> Result<(), BadSource> {
        if count > self.entries_max {
            return Err(BadSource::TooManyFiles {
                path: self.root.display().to_string(),
                found: count,
            });
        }
        if self.given_up.load(Ordering::Relaxed) {
            // Nobody reads this answer.
            return Err(BadSource::NoFolder(self.root.display().to_string()));
        }
        Ok(())
    }

    fn walk(&self) -> ignore::Walk {
        let home = self.home.to_owned();
        let is_ours = move |entry: &DirEntry| entry.file_name() != ".git" && entry.path() != home;
        WalkBuilder::new(self.root)
            .standard_filters(false)
            .ignore(true)
            .git_ignore(true)
            .git_exclude(true)
            .require_git(false)
            .add_custom_ignore_filename(IGNORE_FILE)
            .follow_links(false)
            .max_depth(Some(DEPTH_MAX))
            .filter_entry(is_ours)
            .build()
    }

    fn path(&self, name: &[u8]) -> PathBuf {
        self.root.join(std::ffi::OsStr::from_bytes(name))
    }

    fn file(
        &self,
        entry: &DirEntry,
        known: &BTreeMap<Vec<u8>, Known>,
        found: &mut Found,
        met: &mut BTreeSet<Vec<u8>>,
    ) {
        let Ok(name) = entry.path().strip_prefix(self.root) else {
            return;
        };
        let name = name.as_os_str().as_bytes().to_vec();
        let was = known.get(&name);
        match self.read(entry.path(), was) {
            ReadFile::Is(now) => {
                found
                    .differences
                    .extend(Difference::of(name.clone(), was, Some(now)));
                met.insert(name);
            }
            ReadFile::Gone => {}
            ReadFile::Unreadable => {
                found.unreadable += 1;
                met.insert(name);
            }
        }
    }

    /// What a file is now. One that the file system says nothing new of is not read.
    fn read(&self, path: &Path, was: Option<&Known>) -> ReadFile {
        match std::fs::symlink_metadata(path) {
            Ok(now) if !now.is_file() => return ReadFile::Gone,
            Ok(now) => {
                let is_same = |was: &&Known| was.stamp.is_some() && was.stamp == self.stamp(&now);
                if let Some(was) = was.filter(is_same) {
                    return ReadFile::Is(was.clone());
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => return ReadFile::Gone,
            Err(_) => return ReadFile::Unreadable,
        }
        // What became a pipe or a link since is not opened.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => {
                return ReadFile::Gone;
            }
            Err(_) => return ReadFile::Unreadable,
        };
        self.hashed(file).unwrap_or(ReadFile::Unreadable)
    }

    fn hashed(&self, mut file: File) -> std::io::Result<ReadFile> {
        let before = file.metadata()?;
        if !before.is_file() {
            return Ok(ReadFile::Gone);
        }
        let mark = if before.len() > HASHED_BYTES_MAX {
            large_mark(before.len(), &written_at(&before)).as_bytes().to_vec()
        } else {
            // A file that grows while it is read is read no further than it may be.
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
        // What was written while it was read has to be read again.
        let stamp = self
            .stamp(&before)
            .filter(|_| file.metadata().is_ok_and(|after| times(&after) == times(&before)));
        Ok(ReadFile::Is(Known {
            mark,
            size: before.len(),
            stamp,
        }))
    }

    /// What the file system says of a file; none where it may say the same of another content.
    fn stamp(&self, file: &std::fs::Metadata) -> Option<String> {
        let newest = file.mtime().max(file.ctime()).saturating_mul(1_000);
        let is_settled = newest.saturating_add(TICK_MS) < self.now.0;
        is_settled.then(|| times(file))
    }
}

fn times(file: &std::fs::Metadata) -> String {
    format!(
        "{}|{}.{:09}|{}|{}",
        written_at(file),
        file.ctime(),
        file.ctime_nsec(),
        file.ino(),
        file.len()
    )
}

fn written_at(file: &std::fs::Metadata) -> String {
    format!("{}.{:09}", file.mtime(), file.mtime_nsec())
}

/// Where a walk could not go on.
fn path_of(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        ignore::Error::Loop { child, .. } => Some(child.clone()),
        ignore::Error::Io(_)
        | ignore::Error::Glob { .. }
        | ignore::Error::UnrecognizedFileType(_)
        | ignore::Error::InvalidDefinition => None,
    }
}
