//! What was erased, as it goes over the wire.

use wakeful_api::Erasure;
use wakeful_runtime::proof::Erased;

/// What was erased.
#[must_use]
pub const fn erasure(erased: &Erased) -> Erasure {
    let Erased {
        seq,
        events,
        transitions,
        blobs,
    } = erased;
    Erasure {
        seq: *seq,
        events: *events,
        transitions: *transitions,
        blobs: *blobs,
    }
}
