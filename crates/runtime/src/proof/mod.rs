//! Proof over any store: the core judges, here the rows are brought, in pages, so that memory stays flat however long a
//! log is.

mod audit;
mod contents;
mod erase;
mod export;
mod notary;
mod replay;
mod verify;

use wakeful_core::proof::chain::Link;
use wakeful_core::proof::replay::Recorded;
use wakeful_store::rows::{EventRow, JournalRow};

pub use self::audit::{ALTERATIONS_MAX, Alteration, Audit, Compared};
pub(crate) use self::erase::erase;
pub use self::erase::{Erase, REASON_CHARS_MAX, What, reason};
pub use self::export::{ExportError, Exported, Leaving, export};
pub use self::notary::{EVENTS_BETWEEN, Notary, REST_MS, sign};
pub use self::replay::{Replayed, replay};
pub use self::verify::{Verdict, Verified, Wanted, verify};

/// An event as the core judges it.
fn link(row: &EventRow) -> Link<'_> {
    Link {
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

/// A transition as the core judges it.
pub(crate) fn recorded(row: &JournalRow) -> Recorded<'_> {
    Recorded {
        ordinal: row.ordinal,
        body: &row.body,
        reads_hash: row.reads_hash,
        state_hash: row.state_hash,
        effects_hash: row.effects_hash,
        at: row.at,
    }
}
