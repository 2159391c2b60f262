//! What proves a log, and what is erased from it.

use wakeful_core::blob::BlobHash;
use wakeful_core::id::{AgentId, SourceName};
use wakeful_core::key::RunKey;
use wakeful_core::proof::chain::{Life, Place};
use wakeful_core::proof::head::SignedHead;
use wakeful_core::proof::signing::PublicKey;
use wakeful_core::time::Millis;

use super::StoreError;
use crate::records::{
    BoundRow, DecisionRow, DeliveryRow, Inconsistency, KeyPart, NoticeRow, PlacedEntry, QueuePlace, RunMarks,
    RunRow,
};

/// What a log is proved by.
pub trait ProofView {
    /// Every agent by name, after one, listed or not, with where its log ends.
    fn logs(&mut self, after: Option<&AgentId>, limit: u32) -> Result<Vec<(AgentId, Place)>, StoreError>;
    /// Where an agent's log ends; none when there is no such agent.
    fn log_end(&mut self, agent: &AgentId) -> Result<Option<Place>, StoreError>;
    /// Which lives of the host wrote an agent's log, oldest first.
    fn lives(&mut self, agent: &AgentId) -> Result<Vec<Life>, StoreError>;
    /// The first event of an agent at or after a time.
    fn first_event_since(&mut self, agent: &AgentId, at: Millis) -> Result<Option<u64>, StoreError>;
    /// The first and the last event of a run.
    fn run_span(&mut self, agent: &AgentId, run: &RunKey) -> Result<Option<(u64, u64)>, StoreError>;
    /// A run that has not ended, or not begun, among those that events of an agent belong to, first and last included.
    fn unended_among(&mut self, agent: &AgentId, first: u64, last: u64)
    -> Result<Option<RunKey>, StoreError>;
    /// Signed heads of an agent, after an event, oldest first.
    fn signed_heads(
        &mut self,
        agent: &AgentId,
        after_seq: u64,
        limit: u32,
    ) -> Result<Vec<SignedHead>, StoreError>;
    /// The newest signed head of every agent, by name. At most [`ROWS_MAX`](super::ROWS_MAX).
    fn newest_heads(&mut self) -> Result<Vec<SignedHead>, StoreError>;
    /// Agents by name, after one, whose newest event this key has not signed, with where their logs end.
    fn unsigned(
        &mut self,
        key: &PublicKey,
        after: Option<&AgentId>,
        limit: u32,
    ) -> Result<Vec<(AgentId, Place)>, StoreError>;
    /// What was said in a run: the places in its thread after one, each with its content.
    fn contents(&mut self, run: &RunRow, after: i64, limit: u32) -> Result<Vec<(i64, BlobHash)>, StoreError>;
    /// The tables whose rows are bound to the home's log.
    fn bound_tables(&mut self) -> Vec<&'static str>;
    /// Rows of such a table by key, after one.
    fn bound_rows(
        &mut self,
        table: &str,
        after: Option<&[KeyPart]>,
        limit: u32,
    ) -> Result<Vec<BoundRow>, StoreError>;
    /// Rows that follow from other rows and are not what those say by one of the rules, some of them. None after the last
    /// rule.
    fn inconsistencies(&mut self, rule: usize) -> Result<Option<Vec<Inconsistency>>, StoreError>;
    /// How many rows are bound to the home's log.
    fn bound_row_count(&mut self) -> Result<u64, StoreError>;
    /// The entries of a run in its thread, after a place.
    fn placed_entries(
        &mut self,
        run: &RunRow,
        after: i64,
        limit: u32,
    ) -> Result<Vec<PlacedEntry>, StoreError>;
    /// The decisions of a run, oldest first, each with its columns compared with its body.
    fn decisions_of_run(&mut self, run: &RunKey) -> Result<Vec<DecisionRow>, StoreError>;
    /// The queue, by agent and place, after one.
    fn queue_places(
        &mut self,
        after: Option<(&AgentId, u64)>,
        limit: u32,
    ) -> Result<Vec<QueuePlace>, StoreError>;
    /// Where the cause of a wake record came from, as its own column says.
    fn wake_source(&mut self, run: &RunKey) -> Result<Option<SourceName>, StoreError>;
    /// Notices that wait to be dispatched, by agent and event, after one.
    fn notices(&mut self, after: Option<(&AgentId, u64)>, limit: u32) -> Result<Vec<NoticeRow>, StoreError>;
    /// Deliveries that are remembered, by trigger and name, after one.
    fn deliveries(&mut self, after: Option<&DeliveryRow>, limit: u32)
    -> Result<Vec<DeliveryRow>, StoreError>;
    /// What retention took from a run; none where there is no such run.
    fn run_marks(&mut self, run: &RunKey) -> Result<Option<RunMarks>, StoreError>;
}

/// What is signed and what is erased.
pub trait ProofTx {
    /// Keeps a signed head; nothing happens when it is there already.
    fn put_signed_head(&mut self, head: &SignedHead) -> Result<(), StoreError>;
    /// Takes payload and salt from events of an agent, first and last included; only from those of one run where one is
    /// given. Says how many had any. What tells of payloads that were taken away stays.
    fn erase_events(
        &mut self,
        agent: &AgentId,
        span: (u64, u64),
        run: Option<&RunKey>,
    ) -> Result<u64, StoreError>;
    /// Takes from a run what it was told and the lines of what was said in it, and puts another last state in the place
    /// of the one it has. Says how many rows of its journal had anything.
    fn erase_run(&mut self, run: &RunRow) -> Result<u64, StoreError>;
    /// Takes from a message the name of what it says, and the words by which its sender called it.
    fn erase_message(&mut self, run: &RunKey) -> Result<(), StoreError>;
    /// Removes those of these contents that no row names and that were last put before a generation, and says which they
    /// were. Nobody puts a content until the transaction ends.
    fn erase_blobs(&mut self, hashes: &[BlobHash], below: i64) -> Result<Vec<BlobHash>, StoreError>;
}
