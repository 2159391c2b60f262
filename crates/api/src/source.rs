//! What is watched outside.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// The files of a folder and of those below it.
    Folder,
    /// The refs of a Git repository.
    Git,
}

/// Something outside that is watched: what changes there wakes whoever subscribes to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Source {
    /// Its name.
    pub source_id: String,
    /// What it is.
    pub kind: SourceKind,
    /// Where it is.
    pub path: String,
    /// When it was added. What was there already is no change.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// How many files or refs it had when it was last looked at.
    pub entries: u64,
    /// Why it could not be looked at, or not be heard, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub trouble: Option<String>,
}

/// All sources by name: there are few.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceList {
    /// The sources.
    pub sources: Vec<Source>,
}

/// A source to add. The same one again is the same one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddSource {
    /// Its name; made up where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        min_length = 1,
        max_length = 64,
        pattern = "^[a-z0-9][a-z0-9_-]*$"
    )]
    pub source_id: Option<String>,
    /// What it is.
    pub kind: SourceKind,
    /// Where it is: a whole path.
    #[schema(min_length = 1, max_length = 4096)]
    pub path: String,
}

/// What a look at a source came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceScan {
    /// Which source.
    pub source_id: String,
    /// How many changes it told.
    pub changes: u64,
    /// How many files or refs could not be read; they are taken to be as they were.
    pub unreadable: u64,
}
