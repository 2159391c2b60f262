//! What proves a log, and what is erased from it.

use wakeful_core::blob::BlobHash;
use wakeful_core::id::{AgentId, SourceName};
use wakeful_core::key::RunKey;
use wakeful_core::proof::chain::{Life, Place};
use wakeful_core::proof::head::SignedHead;
use wakeful_core::proof::signing::PublicKey;
use wakeful_core::time::Millis;
use wakeful_ports::records::{
    BoundRow, DecisionRow, DeliveryRow, Inconsistency, KeyPart, NoticeRow, PlacedEntry, QueuePlace, RunMarks,
    RunRow,
};
use wakeful_ports::store::{ProofTx, ProofView, StoreError};

use super::Session;
use crate::{audit, bound, entry, erasure, proof};

impl ProofView for Session<'_> {
    fn logs(&mut self, after: Option<&AgentId>, limit: u32) -> Result<Vec<(AgentId, Place)>, StoreError> {
        proof::logs(self, after, limit)
    }

    fn log_end(&mut self, agent: &AgentId) -> Result<Option<Place>, StoreError> {
        proof::log_end(self, agent)
    }

    fn lives(&mut self, agent: &AgentId) -> Result<Vec<Life>, StoreError> {
        proof::lives(self, agent)
    }

    fn first_event_since(&mut self, agent: &AgentId, at: Millis) -> Result<Option<u64>, StoreError> {
        proof::first_event_since(self, agent, at)
    }

    fn run_span(&mut self, agent: &AgentId, run: &RunKey) -> Result<Option<(u64, u64)>, StoreError> {
        proof::run_span(self, agent, run)
    }

    fn unended_among(
        &mut self,
        agent: &AgentId,
        first: u64,
        last: u64,
    ) -> Result<Option<RunKey>, StoreError> {
        erasure::unended_among(self, agent, first, last)
    }

    fn signed_heads(
        &mut self,
        agent: &AgentId,
        after_seq: u64,
        limit: u32,
    ) -> Result<Vec<SignedHead>, StoreError> {
        proof::signed_heads(self, agent, after_seq, limit)
    }

    fn newest_heads(&mut self) -> Result<Vec<SignedHead>, StoreError> {
        proof::newest_heads(self)
    }

    fn unsigned(
        &mut self,
        key: &PublicKey,
        after: Option<&AgentId>,
        limit: u32,
    ) -> Result<Vec<(AgentId, Place)>, StoreError> {
        proof::unsigned(self, key, after, limit)
    }

    fn contents(&mut self, run: &RunRow, after: i64, limit: u32) -> Result<Vec<(i64, BlobHash)>, StoreError> {
        entry::of_run(self, run, after, limit)
    }

    fn bound_tables(&mut self) -> Vec<&'static str> {
        bound::ALL.iter().map(|bound| bound.table).collect()
    }

    fn bound_rows(
        &mut self,
        table: &str,
        after: Option<&[KeyPart]>,
        limit: u32,
    ) -> Result<Vec<BoundRow>, StoreError> {
        let bound = bound::named(table).ok_or(StoreError::Malformed("record_bound.table"))?;
        bound::rows(self, bound, after, limit)
    }

    fn inconsistencies(&mut self, rule: usize) -> Result<Option<Vec<Inconsistency>>, StoreError> {
        audit::inconsistencies(self, rule)
    }

    fn bound_row_count(&mut self) -> Result<u64, StoreError> {
        bound::count(self)
    }

    fn placed_entries(
        &mut self,
        run: &RunRow,
        after: i64,
        limit: u32,
    ) -> Result<Vec<PlacedEntry>, StoreError> {
        audit::placed_entries(self, run, after, limit)
    }

    fn decisions_of_run(&mut self, run: &RunKey) -> Result<Vec<DecisionRow>, StoreError> {
        audit::decisions_of_run(self, run)
    }

    fn queue_places(
        &mut self,
        after: Option<(&AgentId, u64)>,
        limit: u32,
    ) -> Result<Vec<QueuePlace>, StoreError> {
        audit::queue_places(self, after, limit)
    }

    fn wake_source(&mut self, run: &RunKey) -> Result<Option<SourceName>, StoreError> {
        audit::wake_source(self, run)
    }

    fn notices(&mut self, after: Option<(&AgentId, u64)>, limit: u32) -> Result<Vec<NoticeRow>, StoreError> {
        audit::notices(self, after, limit)
    }

    fn deliveries(
        &mut self,
        after: Option<&DeliveryRow>,
        limit: u32,
    ) -> Result<Vec<DeliveryRow>, StoreError> {
        audit::deliveries(self, after, limit)
    }

    fn run_marks(&mut self, run: &RunKey) -> Result<Option<RunMarks>, StoreError> {
        audit::run_marks(self, run)
    }
}

impl ProofTx for Session<'_> {
    fn put_signed_head(&mut self, head: &SignedHead) -> Result<(), StoreError> {
        proof::put_signed_head(self, head)
    }

    fn erase_events(
        &mut self,
        agent: &AgentId,
        span: (u64, u64),
        run: Option<&RunKey>,
    ) -> Result<u64, StoreError> {
        erasure::events(self, agent, span, run)
    }

    fn erase_run(&mut self, run: &RunRow) -> Result<u64, StoreError> {
        erasure::run(self, run)
    }

    fn erase_message(&mut self, run: &RunKey) -> Result<(), StoreError> {
        erasure::message(self, run)
    }

    fn erase_blobs(&mut self, hashes: &[BlobHash], below: i64) -> Result<Vec<BlobHash>, StoreError> {
        erasure::blobs(self, hashes, below)
    }
}
