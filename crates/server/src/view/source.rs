//! Sources over the wire.

use wakeful_api::{AddSource, Source, SourceKind, SourceScan};
use wakeful_core::id::{BadId, SourceId};
use wakeful_core::outside;
use wakeful_ports::outside::Listed;
use wakeful_runtime::outside::{Looked, NewSource};

/// A source.
#[must_use]
pub fn source(listed: &Listed) -> Source {
    let Listed { source, entries } = listed;
    Source {
        source_id: source.source_id.to_string(),
        kind: match source.kind {
            outside::SourceKind::Folder => SourceKind::Folder,
            outside::SourceKind::Git => SourceKind::Git,
        },
        path: source.path.clone(),
        created_at: source.created_at.rfc3339(),
        entries: *entries,
        trouble: source.trouble.clone(),
    }
}

/// What somebody wants to be watched.
pub fn new_source(new: AddSource) -> Result<NewSource, BadId> {
    Ok(NewSource {
        source_id: new.source_id.as_deref().map(SourceId::parse).transpose()?,
        kind: match new.kind {
            SourceKind::Folder => outside::SourceKind::Folder,
            SourceKind::Git => outside::SourceKind::Git,
        },
        path: new.path,
    })
}

/// What a look came to.
#[must_use]
pub fn source_scan(source: &SourceId, looked: Looked) -> SourceScan {
    SourceScan {
        source_id: source.to_string(),
        changes: looked.changes,
        unreadable: looked.unreadable,
    }
}
