//! Watched sources: folders and Git repositories, their recorded entries, and the notices of their changes.
//!
//! A *source* has *entries*: files or refs. Each entry has a *mark* that identifies its version: the
//! content hash of a file, or the commit of a ref. A scan compares the current entries with the recorded
//! ones, and only differences are changes. The author of a file cannot be determined, so the change is
//! external.

mod error;

use serde_json::{Value, json};

pub use self::error::{BadSource, IgnoreFileLimit};
use crate::change::Token;
use crate::id::SourceId;
use crate::journal::RecordId;
use crate::key::{Digest, OperationId, derived_hash};
use crate::time::Millis;

/// Largest number of sources per home.
pub const SOURCES_MAX: u32 = 64;

/// Largest number of entries per source: files and folders, or refs.
pub const ENTRIES_MAX: usize = 100_000;

/// Deepest nesting of an entry.
pub const DEPTH_MAX: usize = 64;

/// Largest number of listed entries of a folder source, including ignored ones.
pub const LISTED_MAX: usize = 1_000_000;

/// Largest total size of the names of a folder source, because a scan holds them in memory.
pub const NAMES_BYTES_MAX: usize = 32 * 1_024 * 1_024;

/// Longest duration of one scan.
pub const SCAN_MS_MAX: u64 = 600_000;

/// Largest accepted ignore file.
pub const IGNORE_BYTES_MAX: u64 = 256 * 1_024;

/// Largest number of lines in an ignore file.
pub const IGNORE_LINES_MAX: usize = 10_000;

/// Longest line of an ignore file; it also limits the nesting of braces.
pub const IGNORE_LINE_BYTES_MAX: usize = 1_024;

/// Largest number of patterns that apply to one folder, from its own ignore files and those of its parents.
/// A compiled pattern may take 20 KiB.
pub const IGNORE_PATTERNS_MAX: usize = 4_000;

/// Largest number of patterns compiled in one scan.
pub const IGNORE_PATTERNS_PER_SCAN_MAX: usize = 100_000;

/// Largest file whose content is hashed. A larger file is identified by its size and modification time.
pub const HASHED_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// Largest number of entries per transaction with notices.
pub const CHANGES_PER_TX_MAX: usize = 256;

/// Largest number of entries per transaction without notices.
pub const SILENT_WRITES_PER_TX_MAX: usize = 2_048;

/// Largest number of deleted entries kept per source, for subscribers that have not processed the deletion
/// yet.
pub const DELETED_ENTRIES_MAX: u32 = 10_000;

/// Longest path of a source, in bytes.
pub const PATH_BYTES_MAX: usize = 4_096;

/// Longest extension that becomes a token. Longer suffixes do not name a file type.
const EXTENSION_CHARS_MAX: usize = 16;

string_enum! {
    /// What a source watches.
    #[derive(PartialOrd, Ord)]
    pub enum SourceKind {
        /// The files of a folder and its subfolders.
        Folder = "folder",
        /// The refs of a Git repository.
        Git = "git",
    }
}

string_enum! {
    /// The kind of an entry, as the payload of a change unit.
    pub enum EntryKind {
        File = "file",
        /// A ref of a Git repository.
        GitRef = "git_ref",
    }
}

impl SourceKind {
    #[must_use]
    pub const fn entry_kind(self) -> EntryKind {
        match self {
            Self::Folder => EntryKind::File,
            Self::Git => EntryKind::GitRef,
        }
    }

    /// Returns the token by which subscriptions select its entries.
    #[must_use]
    pub const fn semantic_key(self) -> &'static str {
        match self {
            Self::Folder => "FILE",
            Self::Git => "GIT_REF",
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Folder => "outside.file",
            Self::Git => "outside.git_ref",
        }
    }

    const fn namespace(self) -> &'static str {
        match self {
            Self::Folder => "file",
            Self::Git => "git",
        }
    }
}

/// A watched folder or Git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub source_id: SourceId,
    pub kind: SourceKind,
    /// The absolute path without symbolic links.
    pub path: String,
    /// The device that has the path; other devices that share the database do not scan it.
    pub device: String,
    pub created_at: Millis,
    /// Number of writes to its recorded entries. A scan compares with one version and writes the next.
    pub version: u64,
    /// Whether the initial scan is not completely recorded yet. Until then no notices are produced.
    pub is_fresh: bool,
    /// Why the last scan failed.
    pub last_error: Option<String>,
}

/// The recorded state of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryState {
    /// Identifies its version: the content hash of a file; the commit of a ref, or the target of a symbolic
    /// ref.
    pub mark: Vec<u8>,
    /// Size in bytes; 0 for a ref.
    pub size: u64,
    /// The file-system metadata that allows a scan to skip reading the content. None if it cannot be
    /// trusted: a recently written file may be written again within the same tick of the file-system clock.
    pub stamp: Option<String>,
}

string_enum! {
    #[derive(PartialOrd, Ord)]
    pub enum EntryChange {
        /// It exists and did not before.
        Created = "created",
        /// Its version changed: the content of a file or the commit of a ref.
        Changed = "changed",
        /// It existed and does not any more.
        Deleted = "deleted",
    }
}

impl EntryChange {
    /// Returns the word used in notices: a ref is moved, a file is modified.
    #[must_use]
    pub const fn word(self, kind: SourceKind) -> &'static str {
        match (self, kind) {
            (Self::Changed, SourceKind::Folder) => "modified",
            (Self::Changed, SourceKind::Git) => "moved",
            (Self::Created | Self::Deleted, _) => self.as_str(),
        }
    }
}

/// An entry that has to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryDiff {
    /// Its exact name within the source: a relative path or a ref.
    pub name: Vec<u8>,
    /// The current state; none if it was deleted.
    pub now: Option<EntryState>,
    /// The change that is reported. None if only the stamp differs.
    pub change: Option<EntryChange>,
}

impl EntryDiff {
    /// Compares two states of an entry; none if they are equal.
    #[must_use]
    pub fn of(name: Vec<u8>, was: Option<&EntryState>, now: Option<EntryState>) -> Option<Self> {
        let change = match (was, &now) {
            (None, None) => return None,
            (None, Some(_)) => Some(EntryChange::Created),
            (Some(_), None) => Some(EntryChange::Deleted),
            (Some(was), Some(now)) if was.mark != now.mark => Some(EntryChange::Changed),
            (Some(was), Some(now)) if was == now => return None,
            (Some(_), Some(_)) => None,
        };
        Some(Self { name, now, change })
    }
}

/// An entry as the journal stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceEntry {
    pub source_id: SourceId,
    pub kind: SourceKind,
    /// Its exact name.
    pub name: Vec<u8>,
    /// See [`EntryState::mark`]; none if it was deleted.
    pub mark: Option<Vec<u8>>,
    /// See [`EntryState::size`].
    pub size: u64,
    /// The last change; none if it existed at the initial scan.
    pub change: Option<EntryChange>,
    /// When the change was found.
    pub at: Millis,
}

impl SourceEntry {
    /// Returns the record id of an entry, which is the same in every scan.
    #[must_use]
    pub fn id(kind: SourceKind, source: &SourceId, name: &[u8]) -> RecordId {
        RecordId::of_source_entry(kind.label(), source.as_str(), name)
    }

    /// Returns the fields that predicates can use.
    #[must_use]
    pub fn fields(&self) -> Value {
        let name = String::from_utf8_lossy(&self.name);
        let mut fields = json!({
            "kind": self.kind.entry_kind(),
            "id": Self::id(self.kind, &self.source_id, &self.name).to_string(),
            "source": self.source_id.as_str(),
            "removed": self.mark.is_none(),
            "seen_at": self.at.rfc3339(),
        });
        let Some(fields_of_all) = fields.as_object_mut() else {
            return fields;
        };
        let mut say = |name: &str, value: Value| fields_of_all.insert(name.to_owned(), value);
        if let Some(change) = self.change {
            say("change", change.word(self.kind).into());
        }
        let title = self.change.map_or_else(
            || name.to_string(),
            |change| format!("{name} ({})", change.word(self.kind)),
        );
        say("title", title.into());
        match self.kind {
            SourceKind::Folder => {
                say("path", name.as_ref().into());
                say("size", self.size.into());
                if let Some(extension) = extension(&name) {
                    say("ext", extension.into());
                }
            }
            SourceKind::Git => {
                say("ref", name.as_ref().into());
                let mark = self.mark.as_deref().map(String::from_utf8_lossy);
                match mark.as_deref().map(|mark| (mark, mark.strip_prefix("ref: "))) {
                    Some((_, Some(target))) => say("target", target.into()),
                    Some((commit, None)) => say("commit", commit.into()),
                    None => None,
                };
            }
        }
        fields
    }
}

/// The namespaces of [`tokens`].
pub const NAMESPACES: [&str; 6] = [
    "file.source",
    "file.change",
    "file.ext",
    "git.source",
    "git.change",
    "git.ref",
];

/// The fields of [`SourceEntry::fields`].
pub const FIELDS: [&str; 13] = [
    "kind", "id", "source", "removed", "seen_at", "change", "title", "path", "size", "ext", "ref", "target",
    "commit",
];

/// Returns the tokens of a change.
#[must_use]
pub fn tokens(kind: SourceKind, source: &SourceId, name: &[u8], change: EntryChange) -> Vec<Token> {
    let namespace = kind.namespace();
    let word = |name: &str, value: &str| Token::Subtype {
        namespace: format!("{namespace}.{name}"),
        value: value.to_owned(),
    };
    let shown = String::from_utf8_lossy(name);
    let mut tokens = vec![
        Token::SemanticKey(kind.semantic_key().to_owned()),
        Token::EntityId(SourceEntry::id(kind, source, name).to_string()),
        word("source", source.as_str()),
        word("change", change.word(kind)),
    ];
    match kind {
        SourceKind::Folder => tokens.extend(extension(&shown).map(|extension| word("ext", &extension))),
        SourceKind::Git => tokens.push(word("ref", &shown)),
    }
    tokens
}

/// Returns the operation id of the transaction that writes this version of a source's entries.
#[must_use]
pub fn operation(source: &SourceId, created_at: Millis, version: u64) -> OperationId {
    let fields = [source.as_str(), &created_at.0.to_string(), &version.to_string()];
    OperationId(derived_hash("outside.look", &fields))
}

/// Returns the mark of a file that is too large to be hashed, from its size and modification time.
#[must_use]
pub fn stat_mark(size: u64, modified: &str) -> Digest {
    derived_hash("outside.large", &[&size.to_string(), modified])
}

/// Returns the lower-case extension of a file name.
fn extension(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let fits = !stem.is_empty() && !extension.is_empty() && extension.chars().count() <= EXTENSION_CHARS_MAX;
    fits.then(|| extension.to_lowercase())
}

#[cfg(test)]
mod tests;
