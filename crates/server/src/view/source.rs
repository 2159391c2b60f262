//! Wire types of sources.

use wakeful_api::{AddSource, Source, SourceScan};
use wakeful_core::id::SourceId;
use wakeful_ports::watch::SourceStatus;
use wakeful_runtime::watch::{NewSource, ScanSummary};

#[must_use]
pub fn source(listed: &SourceStatus) -> Source {
    let SourceStatus { source, entries } = listed;
    Source {
        source_id: source.source_id.to_string(),
        kind: source.kind,
        path: source.path.clone(),
        created_at: source.created_at.rfc3339(),
        entries: *entries,
        last_error: source.last_error.clone(),
    }
}

/// Converts a request to add a source.
#[must_use]
pub fn new_source(new: AddSource) -> NewSource {
    NewSource {
        source_id: new.source_id.map(|id| id.0),
        kind: new.kind,
        path: new.path,
    }
}

/// The result of a scan.
#[must_use]
pub fn source_scan(source: &SourceId, looked: ScanSummary) -> SourceScan {
    SourceScan {
        source_id: source.to_string(),
        changes: looked.changes,
        unreadable: looked.unreadable,
    }
}
