//! Files of blobs that no row names: left by a commit that never came, or by a row that was swept.
//!
//! A file is written, or found in its place, before the transaction that names it. So a file without a row may be
//! about to get one. Two things keep it: whoever finds a file touches it, and only files that nobody has touched for
//! long are removed; and a lock lies between finding and removing.

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

/// A file that nobody has touched for this long, and that no row names, is not about to be named by anybody: far
/// longer than any transition takes from packing to commit.
pub const FILE_AGE: Duration = Duration::from_hours(24);

/// Files that are looked at while the lock is held: a few milliseconds, during which nobody packs a large blob.
const FILES_AT_ONCE_MAX: usize = 500;

/// Blobs are spread over this many folders, by the first byte of their names.
const FOLDERS: u16 = 256;

/// Rows that are read at once.
const PAGE: u32 = 1_000;

/// What stands in the folder of blobs and in their table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlobFileReport {
    /// Files that no row names.
    pub orphans: DataSize,
    /// Rows whose file is gone: contents that are lost.
    pub missing: u64,
}

/// Keeps everybody from removing files of blobs, until the answer is dropped. Those who write or copy them may hold it
/// at the same time.
pub fn keep_files(folder: &Path) -> io::Result<File> {
    let lock = open_lock(folder)?;
    lock.lock_shared()?;
    Ok(lock)
}

/// The right to remove files of blobs; none while somebody writes or copies them.
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

/// Makes a file young: somebody is about to name it. One that is young enough is left alone. Says whether there is one.
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

/// Removes files that no row names and that nobody has touched for long.
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

/// None while somebody writes or copies files.
fn remove(view: &mut View<'_>, folder: &Path, files: &[(BlobHash, PathBuf)]) -> Result<Option<DataSize>> {
    let Some(_lock) = may_remove(folder).map_err(refused)? else {
        return Ok(None);
    };
    let mut removed = DataSize::default();
    for (hash, path) in files {
        // Looked at again under the lock: it may have been touched in between.
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

/// Whether nobody has touched a file for long. The clock that stamped it tells; one from the future is young.
fn is_old(path: &Path) -> bool {
    let touched = fs::metadata(path).and_then(|found| found.modified());
    let age = touched.ok().and_then(|touched| touched.elapsed().ok());
    age.is_some_and(|age| age >= FILE_AGE)
}

/// The files of one of the folders that have the name of a blob, by name.
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

/// Holds the folder of blobs against their table.
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
