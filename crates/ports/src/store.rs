//! Durable reads and transactions, in domain verbs.
//!
//! [`View`] reads, [`Tx`] reads and writes inside one transaction. A transaction is a closure over owned data
//! that may run more than once (a serialisation failure, or a failed group, runs it again), so it must not
//! change anything but through its [`Tx`]. Encoding, compression and hashing happen before it.

mod alert;
mod cause;
mod deciding;
mod proof;
mod schedule;
mod trigger;

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

pub use self::alert::{AlertTx, AlertView};
pub use self::cause::{CauseTx, CauseView};
pub use self::deciding::{DecidingTx, DecidingView};
pub use self::proof::{ProofTx, ProofView};
pub use self::schedule::{ScheduleTx, ScheduleView};
pub use self::trigger::{TriggerTx, TriggerView};
use wakeful_core::blob::{Blob, BlobHash};
use wakeful_core::budget::{Day, MicroUsd, Spent};
use wakeful_core::conversation::Usage;
use wakeful_core::id::{AgentId, Incarnation, PolicyVersion, RunnerId, ThreadId};
use wakeful_core::key::{ActionBase, OperationId, RunKey};
use wakeful_core::message::Message;
use wakeful_core::report::Event;
use wakeful_core::retention::DataClass;
use wakeful_core::saga::Saga;
use wakeful_core::step::Seen;
use wakeful_core::time::Millis;
use wakeful_core::wake::Control;

use crate::care::{Aged, CareRow, Held, Names, NamesFrom, Old, SweptFiles, Taken};
use crate::records::{
    Admission, Agent, CapRow, Claim, EntryRow, EventRow, Fence, JournalRow, LockedHead, Overview, PackedBlob,
    QueueRow, ReceiptRow, Reservation, RunFilter, RunRow, Runner, SagaRow, SpendDay, StepEnd, StepRow,
    WakeRow,
};
use crate::stops::Stops;

/// Most rows that a listing verb returns, whatever it is asked for.
pub const ROWS_MAX: u32 = 10_000;

/// Why a store call failed, as callers must tell the cases apart.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Someone else moved the run first. Load again and try again: the transaction is lost with it. Where the database
    /// is far away, a later verb may be the one that says so, or the commit.
    #[error("the run changed since it was read")]
    Conflict,
    /// This runner no longer holds the agent. It must stop writing for it.
    #[error("another runner has taken over agent {0}")]
    FenceLost(AgentId),
    /// A brake holds the agent: nothing of it may begin.
    #[error("agent {0} is braked")]
    Braked(AgentId),
    /// As many messages wait for this agent as are kept. Nothing was written.
    #[error("as many messages wait for agent {0} as are kept")]
    QueueFull(AgentId),
    /// The disk is full. Nothing was written.
    #[error("the disk is full")]
    Full,
    /// The home or its file system does not let us write. Nothing was written.
    #[error("the database cannot be written")]
    ReadOnly,
    /// The file is damaged or is no database.
    #[error("the database is damaged")]
    Corrupt(#[source] Source),
    /// The log beside the database is gone, and what was committed last with it. Nothing more is written.
    #[error("the write-ahead log beside the database was removed")]
    LogRemoved,
    /// The file belongs to another program.
    #[error("the database belongs to another program")]
    Foreign,
    /// A development build wrote it, before the first schema that is kept readable. Nothing is touched.
    #[error("the database was written by a development build of Wakeful, which this program cannot read")]
    DevelopmentHome,
    /// A newer Wakeful wrote it.
    #[error("the database has schema {found}, this program knows up to {known}")]
    NewerSchema {
        /// What it has.
        found: u32,
        /// What we know.
        known: u32,
    },
    /// An older Wakeful wrote it, and a reader may not change it.
    #[error("the database has schema {found}, reading needs {known}, and whoever only reads changes nothing")]
    OlderSchema {
        /// What it has.
        found: u32,
        /// What we need.
        known: u32,
    },
    /// There is no database yet, and a reader may not make one.
    #[error("there is no database yet")]
    Absent,
    /// The address of the database cannot be understood.
    #[error("the address of the database cannot be understood")]
    BadAddress(#[source] Source),
    /// The database server does not answer.
    #[error("the database cannot be reached")]
    Unreachable(#[source] Source),
    /// A stored value is not what this program writes.
    #[error("unexpected value in {0}")]
    Malformed(&'static str),
    /// The store is shutting down or its thread has gone.
    #[error("the store has been closed")]
    Closed,
    /// What the database lies on failed: a disk, a quota, a server without memory. Nothing was written, and it may pass.
    #[error("what the database lies on failed")]
    Device(#[source] Source),
    /// The database said no for another reason. Nothing was written.
    #[error("storage failed")]
    Backend(#[source] Source),
}

/// What an error was caused by.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// Reads.
pub trait View: AlertView + CauseView + DecidingView + ProofView + ScheduleView + TriggerView {
    /// The host and its life, as it enters event hashes.
    fn incarnation(&mut self) -> Result<Incarnation, StoreError>;
    /// One agent.
    fn agent(&mut self, agent: &AgentId) -> Result<Option<Agent>, StoreError>;
    /// All agents by name; private ones only when asked for. At most [`ROWS_MAX`].
    fn agents(&mut self, with_private: bool) -> Result<Vec<Agent>, StoreError>;
    /// One agent with what waits for it and what it does.
    fn overview(&mut self, agent: &AgentId) -> Result<Option<Overview>, StoreError>;
    /// All agents by name, with what waits for them and what they do; private ones only when asked for. At most
    /// [`ROWS_MAX`].
    fn overviews(&mut self, with_private: bool) -> Result<Vec<Overview>, StoreError>;
    /// Every agent, listed or not, with the number of its newest event. At most [`ROWS_MAX`].
    fn heads(&mut self) -> Result<Vec<(AgentId, u64)>, StoreError>;
    /// The run that an agent goes on with: one that is open and due. There is one exactly where an open run is what
    /// [`Self::agents_with_work`] lists the agent for.
    fn due_run(&mut self, agent: &AgentId, now: Millis) -> Result<Option<RunKey>, StoreError>;
    /// Agents that have something to do: an open run that is due, or a message that waits while they are not paused.
    fn agents_with_work(&mut self, now: Millis) -> Result<Vec<AgentId>, StoreError>;
    /// The messages of an agent that wait, the one whose turn it is first.
    fn queue(&mut self, agent: &AgentId, limit: u32) -> Result<Vec<QueueRow>, StoreError>;
    /// Whether the message of a run waits for its turn.
    fn is_queued(&mut self, run: &RunKey) -> Result<bool, StoreError>;
    /// One run.
    fn run(&mut self, run: &RunKey) -> Result<Option<RunRow>, StoreError>;
    /// Runs, newest first.
    fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError>;
    /// Keys of runs that begin with these hex digits: at most two, which is enough to know it is ambiguous.
    fn runs_with_prefix(&mut self, hex_prefix: &str) -> Result<Vec<RunKey>, StoreError>;
    /// The message of a run.
    fn message(&mut self, run: &RunKey) -> Result<Option<Message>, StoreError>;
    /// The wake record of a run.
    fn wake(&mut self, run: &RunKey) -> Result<Option<WakeRow>, StoreError>;
    /// The journal of a run, oldest first, after an ordinal.
    fn journal(&mut self, run: &RunKey, after: i64, limit: u32) -> Result<Vec<JournalRow>, StoreError>;
    /// The steps of a run, oldest first, after an ordinal.
    fn steps(&mut self, run: &RunKey, after: i64, limit: u32) -> Result<Vec<StepRow>, StoreError>;
    /// Equal actions of a run.
    fn seen(&mut self, run: &RunKey, base: &ActionBase) -> Result<Seen, StoreError>;
    /// The newest entries of a thread, oldest first.
    fn entries(&mut self, thread: &ThreadId, newest: u32) -> Result<Vec<EntryRow>, StoreError>;
    /// A blob's bytes, uncompressed and checked against its name.
    fn blob(&mut self, hash: &BlobHash) -> Result<Option<Vec<u8>>, StoreError>;
    /// Whether somebody asked for the end of a run.
    fn cancel_requested(&mut self, run: &RunKey) -> Result<bool, StoreError>;
    /// Events of an agent, oldest first, after a number.
    fn events(&mut self, agent: &AgentId, after_seq: u64, limit: u32) -> Result<Vec<EventRow>, StoreError>;
    /// The newest events of an agent before a number, oldest first.
    fn events_before(
        &mut self,
        agent: &AgentId,
        before_seq: u64,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError>;
    /// The caps that people set; that of all agents together first.
    fn caps(&mut self) -> Result<Vec<CapRow>, StoreError>;
    /// The cap of one agent, or of all together, if a person set one.
    fn cap(&mut self, agent: Option<&AgentId>) -> Result<Option<MicroUsd>, StoreError>;
    /// What a day has seen, settled and reserved, by an agent and by all.
    fn spent(&mut self, day: Day, agent: &AgentId) -> Result<Spent, StoreError>;
    /// The latest day that anything was reserved on, if there is one.
    fn latest_spend_day(&mut self) -> Result<Option<Day>, StoreError>;
    /// What a run cost so far, requests whose end nobody knows included.
    fn spent_by_run(&mut self, run: &RunKey) -> Result<MicroUsd, StoreError>;
    /// The days of one agent, or of all together, from one day on, oldest first. At most [`ROWS_MAX`].
    fn spend_days(&mut self, agent: Option<&AgentId>, from: Day) -> Result<Vec<SpendDay>, StoreError>;
    /// What each agent spent on a day, by name. At most [`ROWS_MAX`].
    fn spent_on(&mut self, day: Day) -> Result<Vec<SpendDay>, StoreError>;
    /// Whether a person confirmed a provider under these rules.
    fn is_confirmed(&mut self, provider: &str, version: &PolicyVersion) -> Result<bool, StoreError>;
    /// Every confirmation of a provider, oldest first. At most [`ROWS_MAX`].
    fn receipts(&mut self) -> Result<Vec<ReceiptRow>, StoreError>;
    /// The runners that are registered.
    fn runners(&mut self) -> Result<Vec<Runner>, StoreError>;
    /// How much of a class of data there is. Looks at all of it.
    fn held(&mut self, class: DataClass) -> Result<Held, StoreError>;
    /// What of a class may be taken away and is older than a moment, oldest first, by time, agent and place. Never what
    /// belongs to an open run or a waiting message, nor what is among the newest of its agent. Looks at all of it.
    fn oldest(&mut self, class: DataClass, before: Millis, limit: u32) -> Result<Vec<Aged>, StoreError>;
    /// Whether what a run was told was taken away because it was old.
    fn is_pruned(&mut self, run: &RunKey) -> Result<bool, StoreError>;
    /// How far the care of data has come.
    fn care(&mut self) -> Result<CareRow, StoreError>;
    /// Blobs that were last put before a generation, by name, after one.
    fn blobs_below(
        &mut self,
        generation: i64,
        after: Option<BlobHash>,
        limit: u32,
    ) -> Result<Vec<BlobHash>, StoreError>;
    /// Blobs whose bytes are files of their own, by name, after one.
    fn blob_files(&mut self, after: Option<BlobHash>, limit: u32) -> Result<Vec<BlobHash>, StoreError>;
    /// Whether there is a blob of this name. Its bytes are not looked at.
    fn has_blob(&mut self, hash: &BlobHash) -> Result<bool, StoreError>;
    /// Names of blobs that rows hold, from a place on.
    fn names(&mut self, from: &NamesFrom, limit: u32) -> Result<Names, StoreError>;
    /// Names of blobs that the rows of something old hold; of a run whose lines may go, all of its rows.
    fn names_of(&mut self, old: &Old) -> Result<BTreeSet<BlobHash>, StoreError>;
    /// How many of these blobs there are, and how much room they take.
    fn held_by(&mut self, blobs: &[BlobHash]) -> Result<Held, StoreError>;
    /// Sagas that are not over, oldest first. At most [`ROWS_MAX`].
    fn unfinished_sagas(&mut self) -> Result<Vec<SagaRow>, StoreError>;
    /// One saga, over or not.
    fn saga(&mut self, operation: &OperationId) -> Result<Option<SagaRow>, StoreError>;
    /// The host of the journal that this database's sagas were written to; none before the first.
    fn journal_host(&mut self) -> Result<Option<String>, StoreError>;
}

/// Reads and writes of one transaction.
pub trait Tx: View + AlertTx + CauseTx + DecidingTx + ProofTx + ScheduleTx + TriggerTx {
    /// Makes an agent with an empty log. False when the name is taken.
    fn create_agent(&mut self, agent: &Agent) -> Result<bool, StoreError>;
    /// Pauses an agent or lets it go on. False when there is no such agent.
    fn set_control(&mut self, agent: &AgentId, control: Control) -> Result<bool, StoreError>;
    /// Takes the right to write for an agent; a new fence makes every older one worthless.
    fn claim_head(&mut self, agent: &AgentId, runner: &RunnerId) -> Result<Claim, StoreError>;
    /// Gives the right back, if this fence still holds it.
    fn release_head(&mut self, agent: &AgentId, fence: Fence) -> Result<(), StoreError>;
    /// Locks an agent's head for this transaction. First of all writes; fails with [`StoreError::FenceLost`].
    fn lock_head(&mut self, agent: &AgentId, fence: Fence) -> Result<LockedHead, StoreError>;
    /// Locks an agent's head for announcing something, whoever drives the agent: what enters a queue changes no
    /// run, so it needs no fence, only the chain's next place. None when there is no such agent.
    fn lock_head_to_announce(&mut self, agent: &AgentId) -> Result<Option<LockedHead>, StoreError>;
    /// Stores a head that was moved on.
    fn put_head(&mut self, agent: &AgentId, head: &LockedHead) -> Result<(), StoreError>;
    /// Keeps a message, unless its key is there already.
    fn admit_message(&mut self, message: &Message) -> Result<Admission, StoreError>;
    /// Lets an admitted message wait for its turn at the place of the event that announced it, as urgent as it is and not
    /// before a moment. Fails with [`StoreError::QueueFull`].
    fn enqueue(&mut self, message: &Message, seq: u64, not_before: Option<Millis>) -> Result<(), StoreError>;
    /// Takes a message out of the queue; [`StoreError::Conflict`] when somebody else has.
    fn dequeue(&mut self, agent: &AgentId, run: &RunKey) -> Result<(), StoreError>;
    /// Keeps a wake record; a later verdict for the same key replaces an earlier refusal.
    fn put_wake(&mut self, wake: &WakeRow) -> Result<(), StoreError>;
    /// Makes a run.
    fn create_run(&mut self, run: &RunRow) -> Result<(), StoreError>;
    /// Stores a run's next state. `expected` is the version it was read at; another one is [`StoreError::Conflict`].
    fn put_state(&mut self, run: &RunRow, expected: i64) -> Result<(), StoreError>;
    /// Appends to a run's journal.
    fn append_input(&mut self, row: &JournalRow) -> Result<(), StoreError>;
    /// Puts a step down. Its ordinal is given here.
    fn put_step(&mut self, step: &StepRow) -> Result<(), StoreError>;
    /// Marks a planned step as intended.
    fn intend_step(&mut self, operation: &OperationId) -> Result<(), StoreError>;
    /// Marks an intended step as planned again: nobody has begun it.
    fn postpone_step(&mut self, operation: &OperationId) -> Result<(), StoreError>;
    /// Writes down how a step ended. A step ends once; a second end is a [`StoreError::Conflict`].
    fn settle_step(&mut self, end: &StepEnd) -> Result<(), StoreError>;
    /// Appends an event that has its place.
    fn append_event(&mut self, agent: &AgentId, event: &Event) -> Result<(), StoreError>;
    /// Appends to a thread.
    fn append_entry(&mut self, thread: &ThreadId, entry: &EntryRow) -> Result<(), StoreError>;
    /// Keeps a blob; nothing happens when it is there already.
    fn put_blob(&mut self, blob: &PackedBlob) -> Result<(), StoreError>;
    /// Adds to an agent's counters.
    fn add_usage(&mut self, agent: &AgentId, usage: Usage, model_rounds: u64) -> Result<(), StoreError>;
    /// Sets a cap of one agent or of all together, or takes it away.
    fn set_cap(
        &mut self,
        agent: Option<&AgentId>,
        daily: Option<MicroUsd>,
        at: Millis,
    ) -> Result<(), StoreError>;
    /// Keeps everybody else from reserving until this transaction ends: two that look at once would both find room. Gives
    /// the day to reserve on: that of the clock, or a later one that was reserved on before.
    fn lock_spending(&mut self, clock: Day) -> Result<Day, StoreError>;
    /// Counts what was spent on later days for this one, and forgets those days.
    fn reset_spend_day(&mut self, clock: Day) -> Result<(), StoreError>;
    /// Puts money aside. Whoever calls has locked the day and found room.
    fn reserve(&mut self, reservation: &Reservation) -> Result<(), StoreError>;
    /// Turns money that was put aside into what was spent; without a cost, all of it. Nothing happens where none was.
    fn settle_spend(&mut self, operation: &OperationId, cost: Option<MicroUsd>) -> Result<(), StoreError>;
    /// Settles in full whatever is put aside for a run that will not go on.
    fn settle_run(&mut self, run: &RunKey) -> Result<(), StoreError>;
    /// Keeps that a person confirmed a provider; the first confirmation stands.
    fn put_receipt(&mut self, receipt: &ReceiptRow) -> Result<(), StoreError>;
    /// Chooses an agent's model, or none for the default. False when there is no such agent.
    fn set_model(&mut self, agent: &AgentId, model_ref: Option<&str>) -> Result<bool, StoreError>;
    /// Asks for the end of a run.
    fn request_cancel(&mut self, run: &RunKey, at: Millis) -> Result<(), StoreError>;
    /// Registers this process.
    fn register_runner(&mut self, runner: &Runner) -> Result<(), StoreError>;
    /// Begins a saga with the intent of its action. One that began before stays as it is.
    fn begin_saga(&mut self, saga: &Saga, run: &RunKey, at: Millis) -> Result<(), StoreError>;
    /// Moves a saga on; [`StoreError::Conflict`] when it is not where it was seen.
    fn move_saga(&mut self, seen: &Saga, next: &Saga, at: Millis) -> Result<(), StoreError>;
    /// Remembers which journal is meant, so that another one in its place is noticed.
    fn remember_journal(&mut self, host_id: &str, at: Millis) -> Result<(), StoreError>;
    /// Removes a runner that is known to be dead, and frees what it held.
    fn bury_runner(&mut self, runner: &RunnerId) -> Result<(), StoreError>;
    /// Takes away something old, at most so many rows of it. What is gone already counts as nothing.
    fn prune(&mut self, agent: &AgentId, old: &Old, at_most: u32) -> Result<Taken, StoreError>;
    /// Notes how far the care of data has come, if its generation is still the expected one. False when it is not.
    fn put_care(&mut self, care: &CareRow, expected: i64) -> Result<bool, StoreError>;
    /// Removes those of these blobs that were not put again since a generation. Their files stay for now.
    fn sweep_blobs(&mut self, blobs: &[BlobHash], below: i64) -> Result<Held, StoreError>;
    /// Begins a new life of this database, after a restore: no agent is held by anybody, and every later event is
    /// chained under a name that was never used before. The number must be higher than that of every life before it.
    fn begin_life(&mut self, number: i64, at: Millis) -> Result<Incarnation, StoreError>;
}

/// A database behind the verbs.
pub trait Store: Clone + Send + Sync + 'static {
    /// Reads from a consistent view.
    fn read<T, F>(&self, f: F) -> impl Future<Output = Result<T, StoreError>> + Send
    where
        T: Send + 'static,
        F: FnOnce(&mut dyn View) -> Result<T, StoreError> + Send + 'static;

    /// Runs one transaction. An error of the closure rolls it back; `Ok` means it is durable.
    fn write<T, F>(&self, f: F) -> impl Future<Output = Result<T, StoreError>> + Send
    where
        T: Send + 'static,
        F: Fn(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static;

    /// Makes a blob ready for storing, off the writing thread. A large one is a synced file when this returns.
    fn pack(&self, blob: Blob) -> impl Future<Output = Result<PackedBlob, StoreError>> + Send;

    /// Removes the files of contents that are no longer there, and what is left of erased text in the pages of the
    /// database, as far as that is in our hands. Whoever erased something calls this after the commit.
    fn discard(&self, gone: Vec<BlobHash>) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Whether this process may certainly still act for the agents it claimed.
    fn holds_lease(&self) -> bool;

    /// The stop requests that hold in this process whatever the database does. None where the database is all there is.
    fn stops(&self) -> Option<Arc<dyn Stops>> {
        None
    }

    /// Why what the database lies on refused the last write, until one has worked again.
    fn trouble(&self) -> Option<StoreError> {
        None
    }

    /// Removes files of blobs that no row names and that are old enough that nobody is about to name them. Where blobs
    /// are rows there are none.
    fn sweep_files(&self) -> impl Future<Output = Result<SweptFiles, StoreError>> + Send {
        std::future::ready(Ok(SweptFiles {
            is_all: true,
            ..SweptFiles::default()
        }))
    }
}
