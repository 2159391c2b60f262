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

/// Everything in some bytes that could be the name of a blob: each 64 hex digits in a row. Whoever looks for what is
/// still named rather keeps too much, so digits that only look like a name count as one.
pub fn names_in(bytes: &[u8]) -> impl Iterator<Item = BlobHash> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    bytes
        .split(move |byte| !is_digit(byte))
        .flat_map(|digits| digits.windows(NAME_DIGITS))
        .filter_map(|digits| Digest::from_hex(std::str::from_utf8(digits).ok()?))
        .map(BlobHash)
}

/// Hex digits of a name.
const NAME_DIGITS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_wherever_they_stand() {
        let (one, two) = (Blob::new(vec![1]).hash(), Blob::new(vec![2]).hash());
        let text = format!(
            r#"{{"content":"{one}","note":"see {two}."}} {}"#,
            &one.to_string()[1..]
        );
        assert_eq!(names_in(text.as_bytes()).collect::<Vec<_>>(), [one, two]);
        // A digit before it may belong to something else.
        let glued = format!("0{one}f");
        assert!(names_in(glued.as_bytes()).any(|name| name == one));
        assert_eq!(names_in(&[0xff; 100]).count(), 0);
    }
}
