//! What proves a log, and what is erased from it.

use wakeful_core::blob::BlobHash;
use wakeful_core::id::{AgentId, SourceName};
use wakeful_core::key::RunKey;
use wakeful_core::proof::chain::{Life, Place};
use wakeful_core::proof::head::SignedHead;
use wakeful_core::proof::signing::PublicKey;
use wakeful_core::time::Millis;

use super::{Tx, View};
use crate::StoreError;
use crate::rows::{
    BoundRow, DecisionRow, DeliveryRow, Inconsistency, KeyPart, NoticeRow, PlacedEntry, QueuePlace, RunMarks,
    RunRow,
};
use crate::{audit, bound, entry, erasure, proof};

impl View<'_> {
    /// Every agent by name, after one, listed or not, with where its log ends.
    pub fn logs(&mut self, after: Option<&AgentId>, limit: u32) -> Result<Vec<(AgentId, Place)>, StoreError> {
        proof::logs(&mut self.sql, after, limit)
    }

    /// Where an agent's log ends; none when there is no such agent.
    pub fn log_end(&mut self, agent: &AgentId) -> Result<Option<Place>, StoreError> {
        proof::log_end(&mut self.sql, agent)
    }

    /// Which lives of the host wrote an agent's log, oldest first.
    pub fn lives(&mut self, agent: &AgentId) -> Result<Vec<Life>, StoreError> {
        proof::lives(&mut self.sql, agent)
    }

    /// The first event of an agent at or after a time.
    pub fn first_event_since(&mut self, agent: &AgentId, at: Millis) -> Result<Option<u64>, StoreError> {
        proof::first_event_since(&mut self.sql, agent, at)
    }

    /// The first and the last event of a run.
    pub fn run_span(&mut self, agent: &AgentId, run: &RunKey) -> Result<Option<(u64, u64)>, StoreError> {
        proof::run_span(&mut self.sql, agent, run)
    }

    /// A run that has not ended, or not begun, among those that events of an agent belong to, first and last included.
    pub fn unended_among(
        &mut self,
        agent: &AgentId,
        first: u64,
        last: u64,
    ) -> Result<Option<RunKey>, StoreError> {
        erasure::unended_among(&mut self.sql, agent, first, last)
    }

    /// Signed heads of an agent, after an event, oldest first.
    pub fn signed_heads(
        &mut self,
        agent: &AgentId,
        after_seq: u64,
        limit: u32,
    ) -> Result<Vec<SignedHead>, StoreError> {
        proof::signed_heads(&mut self.sql, agent, after_seq, limit)
    }

    /// The newest signed head of every agent, by name. At most [`ROWS_MAX`](super::ROWS_MAX).
    pub fn newest_heads(&mut self) -> Result<Vec<SignedHead>, StoreError> {
        proof::newest_heads(&mut self.sql)
    }

    /// Agents by name, after one, whose newest event this key has not signed, with where their logs end.
    pub fn unsigned(
        &mut self,
        key: &PublicKey,
        after: Option<&AgentId>,
        limit: u32,
    ) -> Result<Vec<(AgentId, Place)>, StoreError> {
        proof::unsigned(&mut self.sql, key, after, limit)
    }

    /// What was said in a run: the places in its thread after one, each with its content.
    pub fn contents(
        &mut self,
        run: &RunRow,
        after: i64,
        limit: u32,
    ) -> Result<Vec<(i64, BlobHash)>, StoreError> {
        entry::of_run(&mut self.sql, run, after, limit)
    }

    /// The tables whose rows are bound to the home's log.
    pub fn bound_tables(&mut self) -> Vec<&'static str> {
        bound::ALL.iter().map(|bound| bound.table).collect()
    }

    /// Rows of such a table by key, after one.
    pub fn bound_rows(
        &mut self,
        table: &str,
        after: Option<&[KeyPart]>,
        limit: u32,
    ) -> Result<Vec<BoundRow>, StoreError> {
        let bound = bound::named(table).ok_or(StoreError::Malformed("record_bound.table"))?;
        bound::rows(&mut self.sql, bound, after, limit)
    }

    /// Rows that follow from other rows and are not what those say by one of the rules, some of them. None after the last
    /// rule.
    pub fn inconsistencies(&mut self, rule: usize) -> Result<Option<Vec<Inconsistency>>, StoreError> {
        audit::inconsistencies(&mut self.sql, rule)
    }

    /// How many rows are bound to the home's log.
    pub fn bound_row_count(&mut self) -> Result<u64, StoreError> {
        bound::count(&mut self.sql)
    }

    /// The entries of a run in its thread, after a place.
    pub fn placed_entries(
        &mut self,
        run: &RunRow,
        after: i64,
        limit: u32,
    ) -> Result<Vec<PlacedEntry>, StoreError> {
        audit::placed_entries(&mut self.sql, run, after, limit)
    }

    /// The decisions of a run, oldest first, each with its columns compared with its body.
    pub fn decisions_of_run(&mut self, run: &RunKey) -> Result<Vec<DecisionRow>, StoreError> {
        audit::decisions_of_run(&mut self.sql, run)
    }

    /// The queue, by agent and place, after one.
    pub fn queue_places(
        &mut self,
        after: Option<(&AgentId, u64)>,
        limit: u32,
    ) -> Result<Vec<QueuePlace>, StoreError> {
        audit::queue_places(&mut self.sql, after, limit)
    }

    /// Where the cause of a wake record came from, as its own column says.
    pub fn wake_source(&mut self, run: &RunKey) -> Result<Option<SourceName>, StoreError> {
        audit::wake_source(&mut self.sql, run)
    }

    /// Notices that wait to be dispatched, by agent and event, after one.
    pub fn notices(
        &mut self,
        after: Option<(&AgentId, u64)>,
        limit: u32,
    ) -> Result<Vec<NoticeRow>, StoreError> {
        audit::notices(&mut self.sql, after, limit)
    }

    /// Deliveries that are remembered, by trigger and name, after one.
    pub fn deliveries(
        &mut self,
        after: Option<&DeliveryRow>,
        limit: u32,
    ) -> Result<Vec<DeliveryRow>, StoreError> {
        audit::deliveries(&mut self.sql, after, limit)
    }

    /// What retention took from a run; none where there is no such run.
    pub fn run_marks(&mut self, run: &RunKey) -> Result<Option<RunMarks>, StoreError> {
        audit::run_marks(&mut self.sql, run)
    }
}

impl Tx<'_> {
    /// Keeps a signed head; nothing happens when it is there already.
    pub fn put_signed_head(&mut self, head: &SignedHead) -> Result<(), StoreError> {
        proof::put_signed_head(&mut self.sql, head)
    }

    /// Takes payload and salt from events of an agent, first and last included; only from those of one run where one is
    /// given. Says how many had any. What tells of payloads that were taken away stays.
    pub fn erase_events(
        &mut self,
        agent: &AgentId,
        span: (u64, u64),
        run: Option<&RunKey>,
    ) -> Result<u64, StoreError> {
        erasure::events(&mut self.sql, agent, span, run)
    }

    /// Takes from a run what it was told and the lines of what was said in it, and puts another last state in the place
    /// of the one it has. Says how many rows of its journal had anything.
    pub fn erase_run(&mut self, run: &RunRow) -> Result<u64, StoreError> {
        erasure::run(&mut self.sql, run)
    }

    /// Takes from a message the name of what it says, and the words by which its sender called it.
    pub fn erase_message(&mut self, run: &RunKey) -> Result<(), StoreError> {
        erasure::message(&mut self.sql, run)
    }

    /// Removes those of these contents that no row names and that were last put before a generation, and says which they
    /// were. Nobody puts a content until the transaction ends.
    pub fn erase_blobs(&mut self, hashes: &[BlobHash], below: i64) -> Result<Vec<BlobHash>, StoreError> {
        erasure::blobs(&mut self.sql, hashes, below)
    }
}
