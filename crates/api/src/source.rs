//! Endpoints and types for sources: watched folders and Git repositories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::SourceId;
use wakeful_core::watch::SourceKind;

use crate::endpoint::endpoints;
use crate::text::{DateTime, Text};

endpoints! { "sources":
    /// Lists all sources by name.
    ListSources {} = Get "/api/sources" -> SourceList { 200 "The sources" }
    /// Starts watching a folder or a Git repository.
    ///
    /// Existing contents are scanned once and do not count as changes, so the request takes as long as the
    /// scan. Adding the same source again has no effect.
    AddSource = Post "/api/sources" -> Source {
        200 "The source is watched",
        409 "The name or the path is taken, there are too many sources, or the source cannot be watched",
    }
    /// Stops watching a source and deletes its stored scan results.
    RemoveSource { source_id: Text<SourceId> } = Delete "/api/sources/{source_id}" -> Source {
        200 "The removed source",
    }
    /// Scans a source now.
    ScanSource { source_id: Text<SourceId> } = Post "/api/sources/{source_id}/scan" -> SourceScan {
        200 "The result of the scan",
        409 "The source cannot be read; the message gives the reason",
    }
}

/// A watched folder or Git repository. Its changes wake the agents that subscribe to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The source's name.
    pub source_id: String,
    /// The kind of source.
    pub kind: SourceKind,
    /// The path of the source.
    pub path: String,
    /// When the source was added. Contents from before do not count as changes.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// The number of files or refs in the last scan.
    pub entries: u64,
    /// Why the last scan or watch failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// A list of all sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceList {
    /// The sources, sorted by name.
    pub sources: Vec<Source>,
}

/// The source to add. Adding the same source again has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddSource {
    /// The source's name. If absent, a name is generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<Text<SourceId>>,
    /// The kind of source.
    pub kind: SourceKind,
    /// The absolute path of the source.
    #[schemars(length(min = 1, max = 4096))]
    pub path: String,
}

/// The result of a scan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceScan {
    /// The source's name.
    pub source_id: String,
    /// The number of changes that were found.
    pub changes: u64,
    /// The number of files or refs that could not be read. They are treated as unchanged.
    pub unreadable: u64,
}
