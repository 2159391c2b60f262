//! Content, named by its hash. Journals and states hold the hash; the bytes are kept once.

use serde::{Deserialize, Serialize};

use crate::key::Digest;

/// Names some bytes by their SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobHash(pub Digest);

impl std::fmt::Display for BlobHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Bytes together with the name they must be kept under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    hash: BlobHash,
    bytes: Vec<u8>,
}

impl Blob {
    /// Names the bytes. The only way to make one, so that a blob's name is always true.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self {
            hash: BlobHash(Digest::of(&bytes)),
            bytes,
        }
    }

    /// The name.
    #[must_use]
    pub const fn hash(&self) -> BlobHash {
        self.hash
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
