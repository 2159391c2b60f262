//! Packing of blobs: compression, and the files of large blobs. All of it happens before the transaction.
//!
//! A file is complete and durable before any row refers to it: it is written under a temporary name, synced
//! and renamed, and the folders are synced as well. A crash in between leaves a file without a row, or a
//! draft that is removed later. Only an erasure may remove a file that a row is about to refer to; so the
//! writer checks the file again inside the transaction, where erasures run as well.

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

/// Packed blobs up to this size are stored in their row. Above it a file is cheaper than database pages,
/// which would also pass through the write-ahead log.
pub const INLINE_BYTES_MAX: usize = 64 * 1024;

/// Maximum size of a blob: twice the full output of a command in which every byte has to be escaped twice,
/// and small enough to be held in memory together with its packed form.
pub const BLOB_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A draft this old was left by a crash. Another process may still be writing a younger one, which takes
/// seconds on the slowest disk.
pub const DRAFT_AGE: Duration = Duration::from_hours(1);

/// Maximum number of drafts removed when the store opens: far more than crashes leave, and done in
/// milliseconds.
const SWEPT_MAX: usize = 1_000;

/// Where large blobs are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LargeBlobs<'a> {
    /// In their row, like small ones: the database has no folder of its own.
    Row,
    /// In a file below this folder.
    File(&'a Path),
}

/// Compresses a blob if that saves enough space, and writes the file of a large one.
pub(crate) fn pack(blob: &Blob, large: LargeBlobs<'_>) -> Result<PackedBlob> {
    let bytes = blob.bytes();
    if bytes.len() > BLOB_BYTES_MAX {
        let text = format!("a blob of {} bytes is larger than {BLOB_BYTES_MAX}", bytes.len());
        return Err(StoreError::Backend(text.into()));
    }
    let compressed = lz4_flex::block::compress_prepend_size(bytes);
    // Savings below a tenth do not justify decompression on every read.
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

/// Decompresses a blob. The result must have the size stored in its row.
pub(crate) fn unpack(packed: &[u8], size: u64) -> Result<Vec<u8>> {
    // The declared size precedes the compressed bytes and determines the allocation, so it is verified
    // first.
    let (declared, rest) = packed
        .split_first_chunk::<4>()
        .ok_or_else(|| damaged("a packed blob is truncated"))?;
    let declared = u32::from_le_bytes(*declared);
    let length = usize::try_from(declared)
        .ok()
        .filter(|length| *length <= BLOB_BYTES_MAX);
    let Some(length) = length.filter(|_| u64::from(declared) == size) else {
        return Err(damaged(format!(
            "a packed blob declares {declared} bytes, but its row {size}"
        )));
    };
    lz4_flex::block::decompress(rest, length).map_err(|error| StoreError::Corrupt(error.into()))
}

/// Reads the compressed bytes of a large blob. A missing file is corruption, because a row refers to it.
pub(crate) fn read_file(folder: &Path, hash: &BlobHash) -> Result<Vec<u8>> {
    fs::read(place(folder, hash).1).map_err(|error| StoreError::Corrupt(error.into()))
}

/// Creates the error for corrupt stored bytes.
pub(crate) fn damaged(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into().into())
}

/// Converts a file system error to a store error.
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

/// Returns the folder and the file of a blob. The folder is two hex digits, so that none becomes too large
/// to list.
pub(crate) fn place(folder: &Path, hash: &BlobHash) -> (PathBuf, PathBuf) {
    let name = hash.to_string();
    let inner = folder.join(name.get(..2).unwrap_or_default());
    let file = inner.join(name);
    (inner, file)
}

/// Removes the file of a blob that no row refers to. A blob without a file was stored in its row.
pub(crate) fn remove_file(folder: &Path, hash: &BlobHash) -> Result<()> {
    match fs::remove_file(place(folder, hash).1) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refused(error)),
    }
}

/// Rewrites the file of a blob if an erasure has removed it since it was packed.
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
    // The lock prevents removal between the check and the touch.
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
            // Report the first error; a leftover draft is removed later.
            let _ = fs::remove_file(&draft);
            return Err(error);
        }
        fail_point::fail_point("blob.after_rename");
    }
    // Also sync if the file existed: the process that renamed it may have stopped before syncing.
    [Some(inner.as_path()), Some(folder), folder.parent()]
        .into_iter()
        .flatten()
        .try_for_each(sync_folder)
}

/// Returns a different name for every call, because the same blob may be packed twice at the same time.
fn draft_name(hash: &BlobHash) -> String {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    format!("{hash}.{}.{number}{DRAFT_ENDING}", std::process::id())
}

const DRAFT_ENDING: &str = ".draft";

/// Drafts have their own folder, so that leftovers are found without listing all blobs.
fn drafts(folder: &Path) -> PathBuf {
    folder.join("drafts")
}

/// Removes drafts left by a crash. Failures are ignored, because a leftover draft is harmless.
pub(crate) fn sweep_drafts(folder: &Path) {
    let Ok(entries) = fs::read_dir(drafts(folder)) else {
        return;
    };
    let left = entries.filter_map(Result::ok).filter(is_left_behind);
    for draft in left.take(SWEPT_MAX) {
        let _ = fs::remove_file(draft.path());
    }
}

/// Whether a draft is too old to be still in use, by the clock of the file system. A modification time in
/// the future counts as recent.
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
    // A relative path with one component has the parent "".
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    File::open(folder)?.sync_all()
}
