//! What comes from outside: watched folders and Git repositories, what was seen of them, and what a difference says.
//!
//! A *source* has *entries*: files, or refs. Each has a *mark*, which tells whether it is the same as before: the hash of
//! a file's content, the commit of a ref. A look compares what is there with what was seen, and only what differs is a
//! change. Nobody can tell who wrote a file, so its author is the outside.

mod error;

use serde_json::{Value, json};

pub use self::error::{BadSource, IgnoreFileLimit};
use crate::change::Token;
use crate::id::SourceId;
use crate::journal::RecordId;
use crate::key::{Digest, OperationId, derived_hash};
use crate::time::Millis;

/// Most sources of a home.
pub const SOURCES_MAX: u32 = 64;

/// Most entries of a source: files and folders, or refs.
pub const ENTRIES_MAX: usize = 100_000;

/// Most folders above an entry.
pub const DEPTH_MAX: usize = 64;

/// Most entries of a folder source that are listed, those that are ignored among them.
pub const LISTED_MAX: usize = 1_000_000;

/// Most bytes that all names of a folder source have together: they are held in memory during a look.
pub const NAMES_BYTES_MAX: usize = 32 * 1_024 * 1_024;

/// How long one look at a source may take.
pub const SCAN_MS_MAX: u64 = 600_000;

/// Largest ignore file that is read.
pub const IGNORE_BYTES_MAX: u64 = 256 * 1_024;

/// Most lines of an ignore file.
pub const IGNORE_LINES_MAX: usize = 10_000;

/// Longest line of an ignore file; it also bounds how deep braces nest.
pub const IGNORE_LINE_BYTES_MAX: usize = 1_024;

/// Most patterns that apply to one folder, from its own ignore files and from those above it. A compiled pattern may
/// take 20 KiB.
pub const IGNORE_PATTERNS_MAX: usize = 4_000;

/// Most patterns that are compiled in one look.
pub const IGNORE_PATTERNS_PER_SCAN_MAX: usize = 100_000;

/// The largest file whose content is hashed. A larger one is known by its size and the time of its last write.
pub const HASHED_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// Most entries that one transaction tells of.
pub const CHANGES_PER_TX_MAX: usize = 256;

/// Most entries that one transaction writes down without telling.
pub const SILENT_WRITES_PER_TX_MAX: usize = 2_048;

/// Most entries of a source that are gone and still known, for those who have not heard of it yet.
pub const DELETED_ENTRIES_MAX: u32 = 10_000;

/// Longest path of a source.
pub const PATH_BYTES_MAX: usize = 4_096;

/// Longest extension that is a token. What follows the last dot of a longer one is no kind of file.
const EXTENSION_CHARS_MAX: usize = 16;

string_enum! {
    /// The kinds of sources there are.
    #[derive(PartialOrd, Ord)]
    pub enum SourceKind {
        /// The files of a folder and of those below it.
        Folder = "folder",
        /// The refs of a Git repository.
        Git = "git",
    }
}

string_enum! {
    /// What an entry of a source is, as the payload of a change unit.
    pub enum EntryKind {
        /// A file.
        File = "file",
        /// A ref of a Git repository.
        GitRef = "git_ref",
    }
}

impl SourceKind {
    /// What its entries are.
    #[must_use]
    pub const fn entry_kind(self) -> EntryKind {
        match self {
            Self::Folder => EntryKind::File,
            Self::Git => EntryKind::GitRef,
        }
    }

    /// The word by which subscriptions know its entries.
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

/// Something outside that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub source_id: SourceId,
    /// What it is.
    pub kind: SourceKind,
    /// Where it is: a whole path without links in it.
    pub path: String,
    /// On which device: others that share the database do not look for the path.
    pub device: String,
    /// When it was added.
    pub created_at: Millis,
    /// How often what was seen of it has been written. Who looks compares with one version and writes the next.
    pub version: u64,
    /// Whether not everything was written down yet that was there when it was added. Until then nothing is told.
    pub is_fresh: bool,
    /// Why it could not be looked at the last time.
    pub last_error: Option<String>,
}

/// What was seen of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryState {
    /// What tells whether it is the same: the hash of its content; a commit, or the ref that it stands for.
    pub mark: Vec<u8>,
    /// How many bytes it has; 0 of a ref.
    pub size: u64,
    /// What the file system says of it, by which reading it once more can be spared. None where that cannot be trusted:
    /// a file that was just written may be written again within the same tick of its clock.
    pub stamp: Option<String>,
}

string_enum! {
    /// How an entry changed.
    #[derive(PartialOrd, Ord)]
    pub enum EntryChange {
        /// It is there, and was not.
        Created = "created",
        /// It is another one: a file's content, a ref's commit.
        Changed = "changed",
        /// It was there, and is not.
        Deleted = "deleted",
    }
}

impl EntryChange {
    /// The word that is told. A ref moves, a file is modified.
    #[must_use]
    pub const fn word(self, kind: SourceKind) -> &'static str {
        match (self, kind) {
            (Self::Changed, SourceKind::Folder) => "modified",
            (Self::Changed, SourceKind::Git) => "moved",
            (Self::Created | Self::Deleted, _) => self.as_str(),
        }
    }
}

/// An entry of which something has to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryDiff {
    /// Its name within the source, exactly: a relative path, a ref.
    pub name: Vec<u8>,
    /// What it is now; none when it is gone.
    pub now: Option<EntryState>,
    /// What is told of it. Nothing where only the stamp is another one.
    pub change: Option<EntryChange>,
}

impl EntryDiff {
    /// What has to be written down of an entry; none when it is as it was.
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

/// An entry as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceEntry {
    /// Whose.
    pub source_id: SourceId,
    /// Of what kind.
    pub kind: SourceKind,
    /// Its name, exactly.
    pub name: Vec<u8>,
    /// See [`EntryState::mark`]; none when it is gone.
    pub mark: Option<Vec<u8>>,
    /// See [`EntryState::size`].
    pub size: u64,
    /// How it changed last; none when it was there from the beginning.
    pub change: Option<EntryChange>,
    /// When that was found.
    pub at: Millis,
}

impl SourceEntry {
    /// What it is called: the same whenever and wherever it is looked at.
    #[must_use]
    pub fn id(kind: SourceKind, source: &SourceId, name: &[u8]) -> RecordId {
        RecordId::of_outside(kind.label(), source.as_str(), name)
    }

    /// What predicates may ask of it.
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

/// What a change of an entry says.
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

/// The name of the transaction that writes this version of what was seen of a source.
#[must_use]
pub fn operation(source: &SourceId, created_at: Millis, version: u64) -> OperationId {
    let fields = [source.as_str(), &created_at.0.to_string(), &version.to_string()];
    OperationId(derived_hash("outside.look", &fields))
}

/// The mark of a file that is too large to be read: its size and when it was last written.
#[must_use]
pub fn stat_mark(size: u64, modified: &str) -> Digest {
    derived_hash("outside.large", &[&size.to_string(), modified])
}

/// What kind of file it is by its name, in lower case.
fn extension(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let fits = !stem.is_empty() && !extension.is_empty() && extension.chars().count() <= EXTENSION_CHARS_MAX;
    fits.then(|| extension.to_lowercase())
}

#[cfg(test)]
mod tests;
