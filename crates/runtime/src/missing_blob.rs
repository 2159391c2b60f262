//! Reads blobs that may be lost: the file of a large blob can be missing although its row exists.

use wakeful_core::blob::BlobHash;
use wakeful_store::{StoreError, View};

/// A function that reads a blob.
pub(crate) type BlobReader = fn(&mut View<'_>, &BlobHash) -> Result<Vec<u8>, StoreError>;

/// A blob's content: empty if it was removed, an error if it is lost.
pub(crate) fn read_or_error(view: &mut View<'_>, hash: &BlobHash) -> Result<Vec<u8>, StoreError> {
    view.blob(hash).map(Option::unwrap_or_default)
}

/// A blob's content: empty if it was removed or is lost. A lost blob references nothing and must not block
/// the caller.
pub(crate) fn read_or_none(view: &mut View<'_>, hash: &BlobHash) -> Result<Vec<u8>, StoreError> {
    match read_or_error(view, hash) {
        Err(StoreError::Corrupt(_)) => Ok(Vec::new()),
        read => read,
    }
}
