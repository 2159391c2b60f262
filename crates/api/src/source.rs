//! What is watched outside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::SourceId;
use wakeful_core::watch::SourceKind;

use crate::endpoint::endpoints;
use crate::text::{DateTime, Text};

endpoints! { "sources":
    /// All sources by name.
    ListSources {} = Get "/api/sources" -> SourceList { 200 "The sources" }
    /// Watches a folder or a Git repository from now on. What is there already is read once and is no change, so this takes as
    /// long as reading it. The same one again is the same one.
    AddSource = Post "/api/sources" -> Source {
        200 "It is watched",
        409 "The name or the path is taken, there are too many, or it cannot be watched",
    }
    /// Watches a source no longer, and forgets what was seen of it.
    RemoveSource { source_id: Text<SourceId> } = Delete "/api/sources/{source_id}" -> Source {
        200 "It is gone; this is what it was",
    }
    /// Scans a source now.
    ScanSource { source_id: Text<SourceId> } = Post "/api/sources/{source_id}/scan" -> SourceScan {
        200 "What it came to",
        409 "It cannot be read; the message says why",
    }
}

/// Something outside that is watched: what changes there wakes whoever subscribes to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// Its name.
    pub source_id: String,
    /// What it is.
    pub kind: SourceKind,
    /// Where it is.
    pub path: String,
    /// When it was added. What was there already is no change.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// How many files or refs it had when it was last looked at.
    pub entries: u64,
    /// Why it could not be looked at, or not be heard, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// All sources by name: there are few.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceList {
    /// The sources.
    pub sources: Vec<Source>,
}

/// A source to add. The same one again is the same one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddSource {
    /// Its name; made up where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<Text<SourceId>>,
    /// What it is.
    pub kind: SourceKind,
    /// Where it is: a whole path.
    #[schemars(length(min = 1, max = 4096))]
    pub path: String,
}

/// What a look at a source came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceScan {
    /// Which source.
    pub source_id: String,
    /// How many changes it told.
    pub changes: u64,
    /// How many files or refs could not be read; they are taken to be as they were.
    pub unreadable: u64,
}
