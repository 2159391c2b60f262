//! Contents, of which some may be lost: the file of a large one can be gone while its row is there.

use wakeful_core::blob::BlobHash;
use wakeful_store::{StoreError, View};

/// How contents are read.
pub(crate) type BlobReader = fn(&mut View<'_>, &BlobHash) -> Result<Vec<u8>, StoreError>;

/// A content; nothing where it is gone, and an error where it is lost.
pub(crate) fn read_or_error(view: &mut View<'_>, hash: &BlobHash) -> Result<Vec<u8>, StoreError> {
    view.blob(hash).map(Option::unwrap_or_default)
}

/// A content; nothing where it is gone or lost. What cannot be read any more names nothing, and must not keep the rest.
pub(crate) fn read_or_none(view: &mut View<'_>, hash: &BlobHash) -> Result<Vec<u8>, StoreError> {
    match read_or_error(view, hash) {
        Err(StoreError::Corrupt(_)) => Ok(Vec::new()),
        read => read,
    }
}
