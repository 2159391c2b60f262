//! The backup file format: a plain tar archive with a checksum per entry, so that standard tools can read
//! it and a missing or changed entry is always detected.
//!
//! | entry | holds |
//! |---|---|
//! | `wakeful-backup.json` | first: the manifest (format, creation time, program version, source home) |
//! | databases, settings, blobs | one entry for each file, under its path in the home |
//! | `SHA256SUMS` | last: a checksum for each preceding entry, in the format of `sha256sum -c` |

mod block;
mod read;
mod write;

use serde::{Deserialize, Serialize};

pub(crate) use self::read::{ArchiveContents, extract, verify};
pub(crate) use self::write::Writer;

/// Name of the first entry, the manifest.
pub(crate) const ABOUT: &str = "wakeful-backup.json";

/// Name of the last entry, the checksums.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// The format that this program writes and reads. Development builds wrote format 1; this program cannot
/// read their databases.
pub(crate) const FORMAT: u32 = 2;

/// Maximum number of files in one archive. A home has a file for each large blob, and the list of files is
/// held in memory.
const FILES_MAX: usize = 4_000_000;

/// Maximum size of the manifest.
const ABOUT_BYTES_MAX: u64 = 1 << 20;

/// The manifest of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BackupManifest {
    pub(crate) format: u32,
    /// Version of the program that made the backup.
    pub(crate) program: String,
    pub(crate) made_at: String,
    /// Schema version of `agent.sqlite`.
    pub(crate) schema: u32,
    /// Host and incarnation that the backup was made from.
    pub(crate) incarnation: String,
    /// Whether the backup includes tokens and private keys.
    pub(crate) with_secrets: bool,
}

/// Why a file cannot be used as a backup.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    #[error("not a Wakeful backup")]
    Foreign,
    #[error("made by a development build of Wakeful, whose homes this program cannot read")]
    Development,
    #[error("format {found} is not supported; this program supports up to {FORMAT}")]
    Newer { found: u32 },
    #[error("the file is truncated")]
    Truncated,
    #[error("the file is damaged: {0}")]
    Damaged(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Whether the name is a relative path that stays inside the home.
fn is_inside(name: &str) -> bool {
    let fits = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !part.is_empty() && !part.starts_with('.') && part.chars().all(is_plain)
    };
    !name.is_empty() && name.split('/').all(fits)
}

#[cfg(test)]
mod tests;
