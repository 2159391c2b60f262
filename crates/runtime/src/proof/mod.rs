//! Verification, audit, replay, erasure and export over any store. The core contains the rules; this module
//! reads the rows in pages, so that memory use does not depend on the length of a log.

mod audit;
mod contents;
mod erase;
mod export;
mod head_signer;
mod replay;
mod verify;

use wakeful_core::proof::chain::ChainedEvent;
use wakeful_core::proof::replay::LoggedTransition;
use wakeful_store::rows::{EventRow, RunLogRow};

pub use self::audit::{ALTERATIONS_MAX, AuditCounts, AuditFinding, AuditReport};
pub(crate) use self::erase::erase;
pub use self::erase::{ErasureRequest, ErasureTarget, REASON_CHARS_MAX, reason};
pub use self::export::{ExportError, ExportOptions, ExportSummary, export};
pub use self::head_signer::{EVENTS_BETWEEN, HeadSigner, SIGN_AFTER_MS, sign};
pub use self::replay::{ReplayResult, replay};
pub use self::verify::{LogVerdict, VerifyOptions, VerifyReport, verify};

/// Converts an event row to the core's type.
fn link(row: &EventRow) -> ChainedEvent<'_> {
    ChainedEvent {
        seq: row.seq,
        run_key: row.run_key,
        kind: &row.kind,
        at: row.at,
        hash: row.hash,
        payload_hash: row.payload_hash,
        policy_version: &row.policy_version,
        payload: row
            .payload
            .as_ref()
            .map(|(payload, salt)| (payload.as_slice(), salt)),
    }
}

/// Converts a run log row to the core's type.
pub(crate) fn recorded(row: &RunLogRow) -> LoggedTransition<'_> {
    LoggedTransition {
        ordinal: row.ordinal,
        body: &row.body,
        reads_hash: row.reads_hash,
        state_hash: row.state_hash,
        effects_hash: row.effects_hash,
        at: row.at,
    }
}
