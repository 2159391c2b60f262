//! Garbage collection of blob files without a row, left by a transaction that never committed or by a
//! deleted row.
//!
//! A file is written, or found to exist, before the transaction that refers to it, so a file without a row
//! may be about to get one. Two measures protect it: every writer touches the file it finds, and only files
//! that were not touched for a long time are removed; and a lock excludes removal while a writer checks and
//! touches a file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
use wakeful_core::blob::BlobHash;
use wakeful_core::key::Digest;

use crate::pack::{place, refused};
use crate::rows::{DataSize, FileSweep};
use crate::store::{Store, run_blocking};
use crate::{Result, View};

/// A file without a row that was not touched for this long cannot belong to a pending transaction: it is
/// far longer than any transition takes from packing to commit.
pub const FILE_AGE: Duration = Duration::from_hours(24);

/// Files checked while the lock is held: a few milliseconds, during which large blobs cannot be packed.
const FILES_AT_ONCE_MAX: usize = 500;

/// Number of folders for blob files, chosen by the first byte of the hash.
const FOLDERS: u16 = 256;

/// Rows read per query.
const PAGE: u32 = 1_000;

/// Result of comparing the blob folder with the blob table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlobFileReport {
    /// Files without a row.
    pub orphans: DataSize,
    /// Rows whose file is missing: their contents are lost.
    pub missing: u64,
}

/// Takes the shared lock that prevents removal of blob files until the returned file is dropped. Several
/// writers and copiers may hold it at the same time.
pub fn keep_files(folder: &Path) -> io::Result<File> {
    let lock = open_lock(folder)?;
    lock.lock_shared()?;
    Ok(lock)
}

/// Takes the exclusive lock for removing blob files, or returns `None` while a writer or copier holds the
/// shared lock.
fn may_remove(folder: &Path) -> io::Result<Option<File>> {
    let lock = open_lock(folder)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn open_lock(folder: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join("lock"))
}

/// Updates the modification time of a file that a row is about to refer to, unless it is recent enough.
/// Returns whether the file exists.
pub(crate) fn touch(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let age = file.metadata()?.modified()?.elapsed();
    if age.is_ok_and(|age| age < FILE_AGE / 4) {
        return Ok(true);
    }
    let unset = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_OMIT,
    };
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: unset,
        last_modification: now,
    };
    futimens(&file, &times)?;
    Ok(true)
}

/// Removes files that have no row and were not touched for [`FILE_AGE`].
pub(crate) async fn sweep(store: &Store, folder: &Path) -> Result<FileSweep> {
    let mut swept = FileSweep {
        is_all: true,
        ..FileSweep::default()
    };
    for number in 0..FOLDERS {
        let files = listed(folder, number).await?;
        let old: Vec<_> = files.into_iter().filter(|(_, path)| is_old(path)).collect();
        for some in old.chunks(FILES_AT_ONCE_MAX) {
            let (some, folder) = (some.to_vec(), folder.to_owned());
            let removed = store.read(move |view| remove(view, &folder, &some)).await?;
            match removed {
                Some(removed) => swept.removed = swept.removed.and(removed),
                None => swept.is_all = false,
            }
        }
    }
    Ok(swept)
}

/// Returns `None` while a writer or copier holds the lock.
fn remove(view: &mut View<'_>, folder: &Path, files: &[(BlobHash, PathBuf)]) -> Result<Option<DataSize>> {
    let Some(_lock) = may_remove(folder).map_err(refused)? else {
        return Ok(None);
    };
    let mut removed = DataSize::default();
    for (hash, path) in files {
        // Check again under the lock: the file may have been touched in between.
        if !is_old(path) || view.has_blob(hash)? {
            continue;
        }
        let bytes = fs::metadata(path).map_or(0, |found| found.len());
        match fs::remove_file(path) {
            Ok(()) => removed = removed.and(DataSize { rows: 1, bytes }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(Some(removed))
}

/// Whether a file was not touched for [`FILE_AGE`], by the clock of the file system. A modification time in
/// the future counts as recent.
fn is_old(path: &Path) -> bool {
    let touched = fs::metadata(path).and_then(|found| found.modified());
    let age = touched.ok().and_then(|touched| touched.elapsed().ok());
    age.is_some_and(|age| age >= FILE_AGE)
}

/// Returns the files of one folder that are named like a blob, ordered by name.
async fn listed(folder: &Path, number: u16) -> Result<Vec<(BlobHash, PathBuf)>> {
    let inner = folder.join(format!("{number:02x}"));
    run_blocking(move || {
        let entries = match fs::read_dir(&inner) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(refused(error)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(refused)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if let Some(digest) = name.and_then(Digest::from_hex) {
                files.push((BlobHash(digest), path));
            }
        }
        files.sort();
        Ok(files)
    })
    .await
}

/// Compares the blob folder with the blob table.
pub(crate) async fn inspect(store: &Store, folder: &Path) -> Result<BlobFileReport> {
    let mut found = BlobFileReport::default();
    for number in 0..FOLDERS {
        let files = listed(folder, number).await?;
        let orphans = store.read(move |view| {
            let mut orphans = DataSize::default();
            for (hash, path) in &files {
                if !view.has_blob(hash)? {
                    let bytes = fs::metadata(path).map_or(0, |found| found.len());
                    orphans = orphans.and(DataSize { rows: 1, bytes });
                }
            }
            Ok(orphans)
        });
        found.orphans = found.orphans.and(orphans.await?);
    }
    let mut after = None;
    loop {
        let named = store.read(move |view| view.blob_files(after, PAGE)).await?;
        let Some(last) = named.last() else {
            return Ok(found);
        };
        after = Some(*last);
        let missing = named
            .iter()
            .filter(|hash| !place(folder, hash).1.exists())
            .count();
        found.missing = found.missing.saturating_add(missing as u64);
    }
}
