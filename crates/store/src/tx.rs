//! One transaction as the runtime sees it: [`View`] reads, [`Tx`] reads and writes, in domain verbs.

mod alert;
mod cause;
mod deciding;
mod proof;
mod schedule;
mod trigger;

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use wakeful_core::blob::BlobHash;
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

use crate::StoreError;
use crate::rows::{
    Admission, Aged, Agent, CapRow, CareRow, Claim, EntryRow, EventRow, Fence, Held, JournalRow, LockedHead,
    Names, NamesFrom, Old, Overview, PackedBlob, QueueRow, ReceiptRow, Reservation, RunFilter, RunRow,
    Runner, SagaRow, SpendDay, StepEnd, StepRow, Taken, WakeRow,
};
use crate::sql::Sql;
use crate::statements::Statements;
use crate::stops::Stops;
use crate::{
    agent, blob, bound, care, dispatch, entry, event, head, host, journal, message, naming, queue, run,
    runner, saga, spend, step, wake,
};

/// Most rows that a listing verb returns, whatever it is asked for.
pub const ROWS_MAX: u32 = 10_000;

/// Reads from one consistent view of the database.
pub struct View<'a> {
    pub(crate) sql: Statements<'a>,
    /// The folder of large blobs, where there is one.
    blobs: Option<&'a Path>,
    /// Stop requests that hold beside what the database says.
    stops: Option<Arc<Stops>>,
}

/// Reads and writes of one transaction.
///
/// A transaction is a closure over owned data that may run more than once (a serialization failure, or a failed group,
/// runs it again), so it must not change anything but through its `Tx`. Encoding, compression and hashing happen before
/// it.
pub struct Tx<'a> {
    view: View<'a>,
    registered: Option<RunnerId>,
}

impl<'a> Deref for Tx<'a> {
    type Target = View<'a>;

    fn deref(&self) -> &View<'a> {
        &self.view
    }
}

impl<'a> DerefMut for Tx<'a> {
    fn deref_mut(&mut self) -> &mut View<'a> {
        &mut self.view
    }
}

impl<'a> View<'a> {
    /// Reads over an open transaction; `blobs` is the folder of large blobs, where there is one.
    pub(crate) fn new(sql: &'a mut dyn Sql, blobs: Option<&'a Path>) -> Self {
        Self {
            sql: Statements::new(sql),
            blobs,
            stops: None,
        }
    }

    /// Pending stop requests hold beside what the database says.
    pub(crate) fn set_stops(&mut self, stops: Arc<Stops>) {
        self.stops = Some(stops);
    }

    /// The same where a pending brake holds the agent too.
    fn with_pending(&self, overview: Overview) -> Overview {
        let agent = &overview.agent.agent_id;
        let is_pending = self.stops.as_ref().is_some_and(|stops| stops.is_braked(agent));
        Overview {
            is_braked: overview.is_braked || is_pending,
            ..overview
        }
    }
}

impl<'a> Tx<'a> {
    /// Reads and writes over an open transaction; `blobs` is as for [`View::new`].
    pub(crate) fn new(sql: &'a mut dyn Sql, blobs: Option<&'a Path>) -> Self {
        Self {
            view: View::new(sql, blobs),
            registered: None,
        }
    }

    /// Removes the files of blobs that no row names.
    pub(crate) fn discard(&mut self, gone: &[BlobHash]) -> Result<(), StoreError> {
        let folder = self.blobs;
        gone.iter()
            .try_for_each(|hash| blob::discard(&mut self.sql, folder, hash))
    }

    /// Binds the rows that this transaction wrote and that govern to the home's log. The last thing before its commit:
    /// the lock on that log comes after all others.
    pub(crate) fn bind_records(&mut self) -> Result<(), StoreError> {
        let touched = self.sql.take_touched();
        bound::bind(&mut self.sql, touched)
    }

    /// The runner that registered itself in this transaction.
    pub(crate) fn into_registered(self) -> Option<RunnerId> {
        self.registered
    }
}

impl View<'_> {
    /// The host and its life, as it enters event hashes.
    pub fn incarnation(&mut self) -> Result<Incarnation, StoreError> {
        host::incarnation(&mut self.sql)
    }

    /// One agent.
    pub fn agent(&mut self, agent: &AgentId) -> Result<Option<Agent>, StoreError> {
        agent::one(&mut self.sql, agent)
    }

    /// All agents by name; private ones only when asked for. At most [`ROWS_MAX`].
    pub fn agents(&mut self, with_private: bool) -> Result<Vec<Agent>, StoreError> {
        agent::list(&mut self.sql, with_private)
    }

    /// One agent with what waits for it and what it does.
    pub fn overview(&mut self, agent: &AgentId) -> Result<Option<Overview>, StoreError> {
        let overview = queue::overview(&mut self.sql, agent)?;
        Ok(overview.map(|overview| self.with_pending(overview)))
    }

    /// All agents by name, with what waits for them and what they do; private ones only when asked for. At most
    /// [`ROWS_MAX`].
    pub fn overviews(&mut self, with_private: bool) -> Result<Vec<Overview>, StoreError> {
        let overviews = queue::overviews(&mut self.sql, with_private)?;
        let overviews = overviews.into_iter();
        Ok(overviews.map(|overview| self.with_pending(overview)).collect())
    }

    /// Every agent, listed or not, with the number of its newest event. At most [`ROWS_MAX`].
    pub fn heads(&mut self) -> Result<Vec<(AgentId, u64)>, StoreError> {
        head::all(&mut self.sql)
    }

    /// The run that an agent goes on with: one that is open and due. There is one exactly where an open run is what
    /// [`Self::agents_with_work`] lists the agent for.
    pub fn due_run(&mut self, agent: &AgentId, now: Millis) -> Result<Option<RunKey>, StoreError> {
        dispatch::due_run(&mut self.sql, agent, now)
    }

    /// Agents that may begin something: go on with an open run, or start the run of a message. By name, at most
    /// [`ROWS_MAX`].
    pub fn agents_with_work(&mut self, now: Millis) -> Result<Vec<AgentId>, StoreError> {
        dispatch::agents_with_work(&mut self.sql, now)
    }

    /// The messages of an agent that wait, the one whose turn it is first.
    pub fn queue(&mut self, agent: &AgentId, limit: u32) -> Result<Vec<QueueRow>, StoreError> {
        queue::list(&mut self.sql, agent, limit)
    }

    /// Whether the message of a run waits for its turn.
    pub fn is_queued(&mut self, run: &RunKey) -> Result<bool, StoreError> {
        queue::holds(&mut self.sql, run)
    }

    /// One run.
    pub fn run(&mut self, run: &RunKey) -> Result<Option<RunRow>, StoreError> {
        run::one(&mut self.sql, run)
    }

    /// Runs, newest first.
    pub fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        run::list(&mut self.sql, filter)
    }

    /// Keys of runs that begin with these hex digits: at most two, which is enough to know it is ambiguous.
    pub fn runs_with_prefix(&mut self, hex_prefix: &str) -> Result<Vec<RunKey>, StoreError> {
        run::with_prefix(&mut self.sql, hex_prefix)
    }

    /// The message of a run.
    pub fn message(&mut self, run: &RunKey) -> Result<Option<Message>, StoreError> {
        message::one(&mut self.sql, run)
    }

    /// The wake record of a run.
    pub fn wake(&mut self, run: &RunKey) -> Result<Option<WakeRow>, StoreError> {
        wake::one(&mut self.sql, run)
    }

    /// The journal of a run, oldest first, after an ordinal.
    pub fn journal(&mut self, run: &RunKey, after: i64, limit: u32) -> Result<Vec<JournalRow>, StoreError> {
        journal::after(&mut self.sql, run, after, limit)
    }

    /// The steps of a run, oldest first, after an ordinal.
    pub fn steps(&mut self, run: &RunKey, after: i64, limit: u32) -> Result<Vec<StepRow>, StoreError> {
        step::after(&mut self.sql, run, after, limit)
    }

    /// Equal actions of a run.
    pub fn seen(&mut self, run: &RunKey, base: &ActionBase) -> Result<Seen, StoreError> {
        step::seen(&mut self.sql, run, base)
    }

    /// The newest entries of a thread, oldest first.
    pub fn entries(&mut self, thread: &ThreadId, newest: u32) -> Result<Vec<EntryRow>, StoreError> {
        entry::newest(&mut self.sql, thread, newest)
    }

    /// A blob's bytes, uncompressed and checked against its name.
    pub fn blob(&mut self, hash: &BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        let folder = self.blobs;
        blob::one(&mut self.sql, folder, hash)
    }

    /// Whether somebody asked for the end of a run.
    pub fn cancel_requested(&mut self, run: &RunKey) -> Result<bool, StoreError> {
        let is_pending = self.stops.as_ref().is_some_and(|stops| stops.is_cancelled(run));
        Ok(is_pending || run::cancel_requested(&mut self.sql, run)?)
    }

    /// Events of an agent, oldest first, after a number.
    pub fn events(
        &mut self,
        agent: &AgentId,
        after_seq: u64,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        event::after(&mut self.sql, agent, after_seq, limit)
    }

    /// The newest events of an agent before a number, oldest first.
    pub fn events_before(
        &mut self,
        agent: &AgentId,
        before_seq: u64,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        event::before(&mut self.sql, agent, before_seq, limit)
    }

    /// The caps that people set; that of all agents together first.
    pub fn caps(&mut self) -> Result<Vec<CapRow>, StoreError> {
        spend::caps(&mut self.sql)
    }

    /// The cap of one agent, or of all together, if a person set one.
    pub fn cap(&mut self, agent: Option<&AgentId>) -> Result<Option<MicroUsd>, StoreError> {
        spend::cap(&mut self.sql, agent)
    }

    /// What a day has seen, settled and reserved, by an agent and by all.
    pub fn spent(&mut self, day: Day, agent: &AgentId) -> Result<Spent, StoreError> {
        spend::spent(&mut self.sql, day, agent)
    }

    /// The latest day that anything was reserved on, if there is one.
    pub fn latest_spend_day(&mut self) -> Result<Option<Day>, StoreError> {
        spend::latest_day(&mut self.sql)
    }

    /// What a run cost so far, requests whose end nobody knows included.
    pub fn spent_by_run(&mut self, run: &RunKey) -> Result<MicroUsd, StoreError> {
        spend::of_run(&mut self.sql, run)
    }

    /// The days of one agent, or of all together, from one day on, oldest first. At most [`ROWS_MAX`].
    pub fn spend_days(&mut self, agent: Option<&AgentId>, from: Day) -> Result<Vec<SpendDay>, StoreError> {
        spend::days(&mut self.sql, agent, from)
    }

    /// What each agent spent on a day, by name. At most [`ROWS_MAX`].
    pub fn spent_on(&mut self, day: Day) -> Result<Vec<SpendDay>, StoreError> {
        spend::on_day(&mut self.sql, day)
    }

    /// Whether a person confirmed a provider under these rules.
    pub fn is_confirmed(&mut self, provider: &str, version: &PolicyVersion) -> Result<bool, StoreError> {
        spend::is_confirmed(&mut self.sql, provider, version)
    }

    /// Every confirmation of a provider, oldest first. At most [`ROWS_MAX`].
    pub fn receipts(&mut self) -> Result<Vec<ReceiptRow>, StoreError> {
        spend::receipts(&mut self.sql)
    }

    /// Sagas that are not over, oldest first. At most [`ROWS_MAX`].
    pub fn unfinished_sagas(&mut self) -> Result<Vec<SagaRow>, StoreError> {
        saga::unfinished(&mut self.sql)
    }

    /// One saga, over or not.
    pub fn saga(&mut self, operation: &OperationId) -> Result<Option<SagaRow>, StoreError> {
        saga::one(&mut self.sql, operation)
    }

    /// The host of the journal that this database's sagas were written to; none before the first.
    pub fn journal_host(&mut self) -> Result<Option<String>, StoreError> {
        saga::journal_host(&mut self.sql)
    }

    /// The runners that are registered.
    pub fn runners(&mut self) -> Result<Vec<Runner>, StoreError> {
        runner::list(&mut self.sql)
    }

    /// How much of a class of data there is. Looks at all of it.
    pub fn held(&mut self, class: DataClass) -> Result<Held, StoreError> {
        care::held(&mut self.sql, class)
    }

    /// What of a class may be taken away and is older than a moment, oldest first, by time, agent and place. Never what
    /// belongs to an open run or a waiting message, nor what is among the newest of its agent. Looks at all of it.
    pub fn oldest(&mut self, class: DataClass, before: Millis, limit: u32) -> Result<Vec<Aged>, StoreError> {
        care::oldest(&mut self.sql, class, before, limit)
    }

    /// Whether what a run was told was taken away because it was old.
    pub fn is_pruned(&mut self, run: &RunKey) -> Result<bool, StoreError> {
        care::is_pruned(&mut self.sql, run)
    }

    /// How far the care of data has come.
    pub fn care(&mut self) -> Result<CareRow, StoreError> {
        care::care(&mut self.sql)
    }

    /// Blobs that were last put before a generation, by name, after one.
    pub fn blobs_below(
        &mut self,
        generation: i64,
        after: Option<BlobHash>,
        limit: u32,
    ) -> Result<Vec<BlobHash>, StoreError> {
        blob::below(&mut self.sql, generation, after, limit)
    }

    /// Blobs whose bytes are files of their own, by name, after one.
    pub fn blob_files(&mut self, after: Option<BlobHash>, limit: u32) -> Result<Vec<BlobHash>, StoreError> {
        blob::files(&mut self.sql, after, limit)
    }

    /// Whether there is a blob of this name. Its bytes are not looked at.
    pub fn has_blob(&mut self, hash: &BlobHash) -> Result<bool, StoreError> {
        blob::is_there(&mut self.sql, hash)
    }

    /// Names of blobs that rows hold, from a place on.
    pub fn names(&mut self, from: &NamesFrom, limit: u32) -> Result<Names, StoreError> {
        naming::names(&mut self.sql, from, limit)
    }

    /// Names of blobs that the rows of something old hold; of a run whose lines may go, all of its rows.
    pub fn names_of(&mut self, old: &Old) -> Result<BTreeSet<BlobHash>, StoreError> {
        naming::names_of(&mut self.sql, old)
    }

    /// How many of these blobs there are, and how much room they take.
    pub fn held_by(&mut self, blobs: &[BlobHash]) -> Result<Held, StoreError> {
        blob::held(&mut self.sql, blobs)
    }
}

impl Tx<'_> {
    /// Makes an agent with an empty log. False when the name is taken.
    pub fn create_agent(&mut self, agent: &Agent) -> Result<bool, StoreError> {
        agent::create(&mut self.sql, agent)
    }

    /// Pauses an agent or lets it go on. False when there is no such agent.
    pub fn set_control(&mut self, agent: &AgentId, control: Control) -> Result<bool, StoreError> {
        queue::set_control(&mut self.sql, agent, control)
    }

    /// Takes the right to write for an agent; a new fence makes every older one worthless.
    pub fn claim_head(&mut self, agent: &AgentId, runner: &RunnerId) -> Result<Claim, StoreError> {
        head::claim(&mut self.sql, agent, runner)
    }

    /// Gives the right back, if this fence still holds it.
    pub fn release_head(&mut self, agent: &AgentId, fence: Fence) -> Result<(), StoreError> {
        head::release(&mut self.sql, agent, fence)
    }

    /// Locks an agent's head for this transaction. First of all writes; fails with [`StoreError::FenceLost`].
    pub fn lock_head(&mut self, agent: &AgentId, fence: Fence) -> Result<LockedHead, StoreError> {
        head::lock(&mut self.sql, agent, fence)
    }

    /// Locks an agent's head for announcing something, whoever drives the agent: what enters a queue changes no
    /// run, so it needs no fence, only the chain's next place. None when there is no such agent.
    pub fn lock_head_to_announce(&mut self, agent: &AgentId) -> Result<Option<LockedHead>, StoreError> {
        head::lock_to_announce(&mut self.sql, agent)
    }

    /// Stores a head that was moved on.
    pub fn put_head(&mut self, agent: &AgentId, head: &LockedHead) -> Result<(), StoreError> {
        head::put(&mut self.sql, agent, head)
    }

    /// Keeps a message, unless its key is there already.
    pub fn admit_message(&mut self, message: &Message) -> Result<Admission, StoreError> {
        message::admit(&mut self.sql, message)
    }

    /// Lets an admitted message wait for its turn at the place of the event that announced it, as urgent as it is and not
    /// before a moment. Fails with [`StoreError::QueueFull`].
    pub fn enqueue(
        &mut self,
        message: &Message,
        seq: u64,
        not_before: Option<Millis>,
    ) -> Result<(), StoreError> {
        queue::append(&mut self.sql, message, seq, not_before)
    }

    /// Takes a message out of the queue; [`StoreError::Conflict`] when somebody else has.
    pub fn dequeue(&mut self, agent: &AgentId, run: &RunKey) -> Result<(), StoreError> {
        queue::take(&mut self.sql, agent, run)
    }

    /// Keeps a wake record; a later verdict for the same key replaces an earlier refusal.
    pub fn put_wake(&mut self, wake: &WakeRow) -> Result<(), StoreError> {
        wake::put(&mut self.sql, wake)
    }

    /// Makes a run.
    pub fn create_run(&mut self, run: &RunRow) -> Result<(), StoreError> {
        run::create(&mut self.sql, run)
    }

    /// Stores a run's next state. `expected` is the version it was read at; another one is [`StoreError::Conflict`].
    pub fn put_state(&mut self, run: &RunRow, expected: i64) -> Result<(), StoreError> {
        run::put_state(&mut self.sql, run, expected)
    }

    /// Appends to a run's journal.
    pub fn append_input(&mut self, row: &JournalRow) -> Result<(), StoreError> {
        journal::append(&mut self.sql, row)
    }

    /// Puts a step down. Its ordinal is given here.
    pub fn put_step(&mut self, step: &StepRow) -> Result<(), StoreError> {
        step::put(&mut self.sql, step)
    }

    /// Marks a planned step as intended.
    pub fn intend_step(&mut self, operation: &OperationId) -> Result<(), StoreError> {
        step::intend(&mut self.sql, operation)
    }

    /// Marks an intended step as planned again: nobody has begun it.
    pub fn postpone_step(&mut self, operation: &OperationId) -> Result<(), StoreError> {
        step::postpone(&mut self.sql, operation)
    }

    /// Writes down how a step ended. A step ends once; a second end is a [`StoreError::Conflict`].
    pub fn settle_step(&mut self, end: &StepEnd) -> Result<(), StoreError> {
        step::settle(&mut self.sql, end)
    }

    /// Appends an event that has its place.
    pub fn append_event(&mut self, agent: &AgentId, event: &Event) -> Result<(), StoreError> {
        self.sql.note_time(event.sealed.at);
        event::append(&mut self.sql, agent, event)
    }

    /// Appends to a thread.
    pub fn append_entry(&mut self, thread: &ThreadId, entry: &EntryRow) -> Result<(), StoreError> {
        entry::append(&mut self.sql, thread, entry)
    }

    /// Keeps a blob; nothing happens when it is there already.
    pub fn put_blob(&mut self, blob: &PackedBlob) -> Result<(), StoreError> {
        let folder = self.blobs;
        blob::put(&mut self.sql, folder, blob)
    }

    /// Adds to an agent's counters.
    pub fn add_usage(&mut self, agent: &AgentId, usage: Usage, model_rounds: u64) -> Result<(), StoreError> {
        agent::add_usage(&mut self.sql, agent, usage, model_rounds)
    }

    /// Sets a cap of one agent or of all together, or takes it away.
    pub fn set_cap(
        &mut self,
        agent: Option<&AgentId>,
        daily: Option<MicroUsd>,
        at: Millis,
    ) -> Result<(), StoreError> {
        spend::set_cap(&mut self.sql, agent, daily, at)
    }

    /// Keeps everybody else from reserving until this transaction ends: two that look at once would both find room. Gives
    /// the day to reserve on: that of the clock, or a later one that was reserved on before.
    pub fn lock_spending(&mut self, clock: Day) -> Result<Day, StoreError> {
        spend::lock(&mut self.sql, clock)
    }

    /// Counts what was spent on later days for this one, and forgets those days.
    pub fn reset_spend_day(&mut self, clock: Day) -> Result<(), StoreError> {
        spend::reset_day(&mut self.sql, clock)
    }

    /// Puts money aside. Whoever calls has locked the day and found room.
    pub fn reserve(&mut self, reservation: &Reservation) -> Result<(), StoreError> {
        spend::reserve(&mut self.sql, reservation)
    }

    /// Turns money that was put aside into what was spent; without a cost, all of it. Nothing happens where none was.
    pub fn settle_spend(
        &mut self,
        operation: &OperationId,
        cost: Option<MicroUsd>,
    ) -> Result<(), StoreError> {
        spend::settle(&mut self.sql, operation, cost)
    }

    /// Keeps that a person confirmed a provider; the first confirmation stands.
    pub fn put_receipt(&mut self, receipt: &ReceiptRow) -> Result<(), StoreError> {
        spend::put_receipt(&mut self.sql, receipt)
    }

    /// Chooses an agent's model, or none for the default. False when there is no such agent.
    pub fn set_model(&mut self, agent: &AgentId, model_ref: Option<&str>) -> Result<bool, StoreError> {
        agent::set_model(&mut self.sql, agent, model_ref)
    }

    /// Asks for the end of a run.
    pub fn request_cancel(&mut self, run: &RunKey, at: Millis) -> Result<(), StoreError> {
        run::request_cancel(&mut self.sql, run, at)
    }

    /// Registers this process.
    pub fn register_runner(&mut self, runner: &Runner) -> Result<(), StoreError> {
        runner::register(&mut self.sql, runner)?;
        self.registered = Some(runner.runner_id.clone());
        Ok(())
    }

    /// Begins a saga with the intent of its action. One that began before stays as it is.
    pub fn begin_saga(&mut self, saga: &Saga, run: &RunKey, at: Millis) -> Result<(), StoreError> {
        saga::begin(&mut self.sql, saga, run, at)
    }

    /// Moves a saga on; [`StoreError::Conflict`] when it is not where it was seen.
    pub fn move_saga(&mut self, seen: &Saga, next: &Saga, at: Millis) -> Result<(), StoreError> {
        saga::advance(&mut self.sql, seen, next, at)
    }

    /// Remembers which journal is meant, so that another one in its place is noticed.
    pub fn remember_journal(&mut self, host_id: &str, at: Millis) -> Result<(), StoreError> {
        saga::remember_journal(&mut self.sql, host_id, at)
    }

    /// Removes a runner that is known to be dead, and frees what it held.
    pub fn bury_runner(&mut self, runner: &RunnerId) -> Result<(), StoreError> {
        runner::bury(&mut self.sql, runner)
    }

    /// Settles in full whatever is put aside for a run that will not go on.
    pub fn settle_run(&mut self, run: &RunKey) -> Result<(), StoreError> {
        spend::settle_run(&mut self.sql, run)
    }

    /// Takes away something old, at most so many rows of it. What is gone already counts as nothing.
    pub fn prune(&mut self, agent: &AgentId, old: &Old, at_most: u32) -> Result<Taken, StoreError> {
        care::prune(&mut self.sql, agent, old, at_most)
    }

    /// Notes how far the care of data has come, if its generation is still the expected one. False when it is not.
    pub fn put_care(&mut self, care: &CareRow, expected: i64) -> Result<bool, StoreError> {
        care::put_care(&mut self.sql, care, expected)
    }

    /// Removes those of these blobs that were not put again since a generation. Their files stay for now.
    pub fn sweep_blobs(&mut self, blobs: &[BlobHash], below: i64) -> Result<Held, StoreError> {
        blob::sweep(&mut self.sql, blobs, below)
    }

    /// Begins a new life of this database, after a restore: no agent is held by anybody, and every later event is
    /// chained under a name that was never used before. The number must be higher than that of every life before it.
    pub fn begin_life(&mut self, number: i64, at: Millis) -> Result<Incarnation, StoreError> {
        host::begin_life(&mut self.sql, number, at)
    }
}
