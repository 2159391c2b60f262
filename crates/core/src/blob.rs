//! Content addressed by its hash. Run logs and states contain only the hash, and the bytes are stored once.

use serde::{Deserialize, Serialize};

use crate::key::Digest;

/// The SHA-256 of a blob's content, which is its name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct BlobHash(pub Digest);

impl BlobHash {
    /// Stands for the hash of a content that a person erased.
    pub const ERASED: Self = Self(Digest::ZERO);
}

impl std::fmt::Display for BlobHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Bytes together with their hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    hash: BlobHash,
    bytes: Vec<u8>,
}

impl Blob {
    /// Computes the hash. This is the only constructor, so a blob's hash always matches its bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self {
            hash: BlobHash(Digest::of(&bytes)),
            bytes,
        }
    }

    #[must_use]
    pub const fn hash(&self) -> BlobHash {
        self.hash
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Finds everything that could be a blob hash: each sequence of 64 hex digits. Garbage collection must not
/// remove a referenced blob, so digits that only look like a hash count as a reference.
pub fn names_in(bytes: &[u8]) -> impl Iterator<Item = BlobHash> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    bytes
        .split(move |byte| !is_digit(byte))
        .flat_map(|digits| digits.windows(NAME_DIGITS))
        .filter_map(|digits| Digest::from_hex(std::str::from_utf8(digits).ok()?))
        .map(BlobHash)
}

/// Number of hex digits in a hash.
const NAME_DIGITS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_found_at_any_position() {
        let (one, two) = (Blob::new(vec![1]).hash(), Blob::new(vec![2]).hash());
        let text = format!(
            r#"{{"content":"{one}","note":"see {two}."}} {}"#,
            &one.to_string()[1..]
        );
        assert_eq!(names_in(text.as_bytes()).collect::<Vec<_>>(), [one, two]);
        // The preceding digit may belong to something else.
        let glued = format!("0{one}f");
        assert!(names_in(glued.as_bytes()).any(|name| name == one));
        assert_eq!(names_in(&[0xff; 100]).count(), 0);
    }
}
