//! The file of a backup: an ordinary tar archive in which every file stands with its checksum, so that it can be
//! looked into without us and trusted only when nothing of it is missing or changed.
//!
//! | entry | holds |
//! |---|---|
//! | `wakeful-backup.json` | the first: which format it is, when and by whom it was made, and of what |
//! | databases, settings, blobs | one entry for each file, under its path in the home |
//! | `SHA256SUMS` | the last: a checksum for each entry before it, as `sha256sum -c` reads them |

mod block;
mod read;
mod write;

use serde::{Deserialize, Serialize};

pub(crate) use self::read::{ArchiveContents, extract, verify};
pub(crate) use self::write::Writer;

/// The first entry.
pub(crate) const ABOUT: &str = "wakeful-backup.json";

/// The last entry.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// The format that this program writes and reads. Format 1 was that of development builds, whose databases are not read.
pub(crate) const FORMAT: u32 = 2;

/// Files in one archive. A home has a file for each large blob; its list is held in memory.
const FILES_MAX: usize = 4_000_000;

/// Largest first entry.
const ABOUT_BYTES_MAX: u64 = 1 << 20;

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BackupManifest {
    /// Which format it has.
    pub(crate) format: u32,
    /// The version of the program that made it.
    pub(crate) program: String,
    /// When it was made.
    pub(crate) made_at: String,
    /// The schema of `agent.sqlite`.
    pub(crate) schema: u32,
    /// The host and the life it was made in.
    pub(crate) incarnation: String,
    /// Whether tokens and private keys are in it.
    pub(crate) with_secrets: bool,
}

/// Why a file cannot be used as a backup.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    #[error("it is no backup of Wakeful")]
    Foreign,
    #[error("it was made by a development build of Wakeful, whose homes this program cannot read")]
    Development,
    #[error("it has format {found}, this program knows up to {FORMAT}")]
    Newer { found: u32 },
    #[error("it ends in the middle")]
    Truncated,
    #[error("it is damaged: {0}")]
    Damaged(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Whether a name is that of a file within a home: no way leads out of it.
fn is_inside(name: &str) -> bool {
    let fits = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !part.is_empty() && !part.starts_with('.') && part.chars().all(is_plain)
    };
    !name.is_empty() && name.split('/').all(fits)
}

#[cfg(test)]
mod tests;
