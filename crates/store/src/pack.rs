//! Packing blobs: compression, and the files of large ones. All of it happens before the transaction.
//!
//! A file is complete and durable before any row names it: it is written under another name, synced, moved
//! to its place, and the folders are synced as well. A crash in between leaves a file that nobody names, or a draft
//! that is swept away later. Only an erasure takes a file away that may be about to be named; so whoever names it looks
//! once more, inside of the transaction, and the erasure looks there as well.

use std::fs::{self, DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wakeful_core::blob::{Blob, BlobHash};
use wakeful_ports::fail_point;
use wakeful_ports::planted_bugs;

use crate::blob_files;
use crate::rows::{PackedBlob, PackedBody};
use crate::{Result, StoreError};

/// Packed blobs up to this size are kept in their row. Above it a file is cheaper than pages of the database,
/// which the write-ahead log would carry as well.
pub const INLINE_BYTES_MAX: usize = 64 * 1024;

/// Largest blob at all: twice what the full output of a command becomes when every byte of it has to be escaped
/// twice over, and small enough to be held in memory together with its packed form.
pub const BLOB_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A draft this old was left by a crash. A younger one may be just being written by another process, which takes
/// seconds on the slowest disk.
pub const DRAFT_AGE: Duration = Duration::from_hours(1);

/// Drafts that one opening sweeps at most: far more than crashes leave, and done in milliseconds.
const SWEPT_MAX: usize = 1_000;

/// Where large blobs go.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LargeBlobs<'a> {
    /// Into their row like small ones: the database has no folder of its own.
    Row,
    /// Into a file below this folder.
    File(&'a Path),
}

/// Compresses a blob where that pays, and writes the file of a large one.
pub(crate) fn pack(blob: &Blob, large: LargeBlobs<'_>) -> Result<PackedBlob> {
    let bytes = blob.bytes();
    if bytes.len() > BLOB_BYTES_MAX {
        let text = format!("a blob of {} bytes is larger than {BLOB_BYTES_MAX}", bytes.len());
        return Err(StoreError::Backend(text.into()));
    }
    let compressed = lz4_flex::block::compress_prepend_size(bytes);
    // Below a tenth the space is not worth the work of every later reading.
    let pays = compressed.len() <= bytes.len() - bytes.len() / 10;
    let packed = if pays { compressed.len() } else { bytes.len() };
    let body = match large {
        LargeBlobs::File(folder) if packed > INLINE_BYTES_MAX => {
            write_file(folder, &blob.hash(), &compressed).map_err(refused)?;
            PackedBody::File(compressed)
        }
        LargeBlobs::File(_) | LargeBlobs::Row if pays => PackedBody::Lz4(compressed),
        LargeBlobs::File(_) | LargeBlobs::Row => PackedBody::Raw(bytes.to_vec()),
    };
    Ok(PackedBlob {
        hash: blob.hash(),
        size: bytes.len() as u64,
        body,
    })
}

/// The bytes of a compressed blob, which must have the size its row says.
pub(crate) fn unpack(packed: &[u8], size: u64) -> Result<Vec<u8>> {
    // The size stands before the compressed bytes and decides how much memory is taken, so it is not believed.
    let (declared, rest) = packed
        .split_first_chunk::<4>()
        .ok_or_else(|| damaged("a packed blob is cut short"))?;
    let declared = u32::from_le_bytes(*declared);
    let length = usize::try_from(declared)
        .ok()
        .filter(|length| *length <= BLOB_BYTES_MAX);
    let Some(length) = length.filter(|_| u64::from(declared) == size) else {
        return Err(damaged(format!(
            "a packed blob says {declared} bytes, its row {size}"
        )));
    };
    lz4_flex::block::decompress(rest, length).map_err(|error| StoreError::Corrupt(error.into()))
}

/// The compressed bytes of a large blob. A missing file is damage, since a row names it.
pub(crate) fn read_file(folder: &Path, hash: &BlobHash) -> Result<Vec<u8>> {
    fs::read(place(folder, hash).1).map_err(|error| StoreError::Corrupt(error.into()))
}

/// Says that stored bytes are not what they should be.
pub(crate) fn damaged(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into().into())
}

/// What a file system's refusal means to the caller.
pub(crate) fn refused(error: io::Error) -> StoreError {
    const FULL: [io::ErrorKind; 2] = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    const CLOSED: [io::ErrorKind; 2] = [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem];
    let kind = error.kind();
    if FULL.contains(&kind) {
        StoreError::Full
    } else if CLOSED.contains(&kind) {
        StoreError::ReadOnly
    } else {
        StoreError::Device(error.into())
    }
}

/// The folder and the file of a blob: two hex digits of folder, so that none grows too long to list.
pub(crate) fn place(folder: &Path, hash: &BlobHash) -> (PathBuf, PathBuf) {
    let name = hash.to_string();
    let inner = folder.join(name.get(..2).unwrap_or_default());
    let file = inner.join(name);
    (inner, file)
}

/// Removes the file of a content that no row names. One without a file was kept in its row.
pub(crate) fn remove_file(folder: &Path, hash: &BlobHash) -> Result<()> {
    match fs::remove_file(place(folder, hash).1) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refused(error)),
    }
}

/// Writes the file of a content anew that an erasure has taken away since it was packed.
pub(crate) fn restore_file(folder: &Path, hash: &BlobHash, compressed: &[u8]) -> Result<()> {
    match place(folder, hash).1.try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => write_file(folder, hash, compressed).map_err(refused),
        Err(error) => Err(refused(error)),
    }
}

fn write_file(folder: &Path, hash: &BlobHash, compressed: &[u8]) -> io::Result<()> {
    let (inner, file) = place(folder, hash);
    fs::create_dir_all(&inner)?;
    // Nobody sweeps between the look and the touch.
    let _lock = blob_files::keep_files(folder)?;
    if !blob_files::touch(&file)? {
        let drafts = drafts(folder);
        fs::create_dir_all(&drafts)?;
        let draft = drafts.join(draft_name(hash));
        let written = write_synced(&draft, compressed).and_then(|()| {
            fail_point::fail_point("blob.before_rename");
            fs::rename(&draft, &file)
        });
        if let Err(error) = written {
            // The first error is the one to report; a draft that stays behind is only litter.
            let _ = fs::remove_file(&draft);
            return Err(error);
        }
        fail_point::fail_point("blob.after_rename");
    }
    // Also when the file was there: whoever moved it may have been stopped before this.
    [Some(inner.as_path()), Some(folder), folder.parent()]
        .into_iter()
        .flatten()
        .try_for_each(sync_folder)
}

/// Different in every call, because the same blob may be packed twice at once.
fn draft_name(hash: &BlobHash) -> String {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    format!("{hash}.{}.{number}{DRAFT_ENDING}", std::process::id())
}

const DRAFT_ENDING: &str = ".draft";

/// Drafts have a folder of their own, so that those that a crash left are found without listing all blobs.
fn drafts(folder: &Path) -> PathBuf {
    folder.join("drafts")
}

/// Removes drafts that a crash left. One that cannot be removed is only litter, so nobody is told.
pub(crate) fn sweep_drafts(folder: &Path) {
    let Ok(entries) = fs::read_dir(drafts(folder)) else {
        return;
    };
    let left = entries.filter_map(Result::ok).filter(is_left_behind);
    for draft in left.take(SWEPT_MAX) {
        let _ = fs::remove_file(draft.path());
    }
}

/// Whether a draft is too old to be still written. The clock that stamped it tells; one from the future is young.
fn is_left_behind(entry: &DirEntry) -> bool {
    let is_draft = entry
        .file_name()
        .as_encoded_bytes()
        .ends_with(DRAFT_ENDING.as_bytes());
    let written = entry.metadata().and_then(|metadata| metadata.modified());
    let age = written.ok().and_then(|written| written.elapsed().ok());
    is_draft && age.is_some_and(|age| age >= DRAFT_AGE)
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    if planted_bugs::is_planted("blob_unsynced") {
        return Ok(());
    }
    file.sync_all()
}

pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    // A relative path of one part has the parent "".
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    File::open(folder)?.sync_all()
}
