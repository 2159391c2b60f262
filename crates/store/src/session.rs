//! One transaction as the runtime sees it: the domain verbs over one [`Sql`].

mod alert;
mod cause;
mod deciding;
mod proof;
mod schedule;
mod sql;
mod trigger;

use std::collections::BTreeSet;
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
use wakeful_ports::care::{Aged, CareRow, Held, Names, NamesFrom, Old, Taken};
use wakeful_ports::records::{
    Admission, Agent, CapRow, Claim, EntryRow, EventRow, Fence, JournalRow, LockedHead, Overview, PackedBlob,
    QueueRow, ReceiptRow, Reservation, RunFilter, RunRow, Runner, SagaRow, SpendDay, StepEnd, StepRow,
    WakeRow,
};
use wakeful_ports::stops::Stops as _;
use wakeful_ports::store::{StoreError, Tx, View};

use crate::bound::Touched;
use crate::sql::Sql;
use crate::stops::Stops;
use crate::{
    agent, blob, bound, care, entry, event, head, host, journal, message, naming, queue, run, runner, saga,
    spend, step, wake,
};

/// An open transaction.
pub(crate) struct Session<'a> {
    sql: &'a mut dyn Sql,
    blobs: Option<&'a Path>,
    failed: bool,
    registered: Option<RunnerId>,
    stops: Option<Arc<Stops>>,
    touched: Touched,
}

impl<'a> Session<'a> {
    /// Verbs over an open transaction; `blobs` is the folder of large blobs, where there is one.
    pub(crate) fn new(sql: &'a mut dyn Sql, blobs: Option<&'a Path>) -> Self {
        Self {
            sql,
            blobs,
            failed: false,
            registered: None,
            stops: None,
            touched: Touched::default(),
        }
    }

    /// The same, in which pending stop requests hold beside what the database says.
    pub(crate) fn beside(&mut self, stops: Arc<Stops>) -> &mut Self {
        self.stops = Some(stops);
        self
    }

    /// Whether a statement failed. Such a transaction must not commit even if its closure swallowed the error:
    /// PostgreSQL has given it up already and would answer "done" to a commit that does nothing.
    pub(crate) const fn failed(&self) -> bool {
        self.failed
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

    /// Removes the files of blobs that no row names.
    pub(crate) fn discard(&mut self, gone: &[BlobHash]) -> Result<(), StoreError> {
        let folder = self.blobs;
        gone.iter().try_for_each(|hash| blob::discard(self, folder, hash))
    }

    /// Binds the rows that this transaction wrote and that govern to the home's log. The last thing before its commit:
    /// the lock on that log comes after all others.
    pub(crate) fn bind_records(&mut self) -> Result<(), StoreError> {
        let touched = std::mem::take(&mut self.touched);
        bound::bind(self, touched)
    }

    /// The runner that registered itself in this transaction.
    pub(crate) fn into_registered(self) -> Option<RunnerId> {
        self.registered
    }
}

impl View for Session<'_> {
    fn incarnation(&mut self) -> Result<Incarnation, StoreError> {
        host::incarnation(self)
    }

    fn agent(&mut self, agent: &AgentId) -> Result<Option<Agent>, StoreError> {
        agent::one(self, agent)
    }

    fn agents(&mut self, with_private: bool) -> Result<Vec<Agent>, StoreError> {
        agent::list(self, with_private)
    }

    fn overview(&mut self, agent: &AgentId) -> Result<Option<Overview>, StoreError> {
        let overview = queue::overview(self, agent)?;
        Ok(overview.map(|overview| self.with_pending(overview)))
    }

    fn overviews(&mut self, with_private: bool) -> Result<Vec<Overview>, StoreError> {
        let overviews = queue::overviews(self, with_private)?;
        let overviews = overviews.into_iter();
        Ok(overviews.map(|overview| self.with_pending(overview)).collect())
    }

    fn heads(&mut self) -> Result<Vec<(AgentId, u64)>, StoreError> {
        head::all(self)
    }

    fn due_run(&mut self, agent: &AgentId, now: Millis) -> Result<Option<RunKey>, StoreError> {
        queue::due_run(self, agent, now)
    }

    fn agents_with_work(&mut self, now: Millis) -> Result<Vec<AgentId>, StoreError> {
        queue::agents_with_work(self, now)
    }

    fn queue(&mut self, agent: &AgentId, limit: u32) -> Result<Vec<QueueRow>, StoreError> {
        queue::list(self, agent, limit)
    }

    fn is_queued(&mut self, run: &RunKey) -> Result<bool, StoreError> {
        queue::holds(self, run)
    }

    fn run(&mut self, run: &RunKey) -> Result<Option<RunRow>, StoreError> {
        run::one(self, run)
    }

    fn runs(&mut self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        run::list(self, filter)
    }

    fn runs_with_prefix(&mut self, hex_prefix: &str) -> Result<Vec<RunKey>, StoreError> {
        run::with_prefix(self, hex_prefix)
    }

    fn message(&mut self, run: &RunKey) -> Result<Option<Message>, StoreError> {
        message::one(self, run)
    }

    fn wake(&mut self, run: &RunKey) -> Result<Option<WakeRow>, StoreError> {
        wake::one(self, run)
    }

    fn journal(&mut self, run: &RunKey, after: i64, limit: u32) -> Result<Vec<JournalRow>, StoreError> {
        journal::after(self, run, after, limit)
    }

    fn steps(&mut self, run: &RunKey, after: i64, limit: u32) -> Result<Vec<StepRow>, StoreError> {
        step::after(self, run, after, limit)
    }

    fn seen(&mut self, run: &RunKey, base: &ActionBase) -> Result<Seen, StoreError> {
        step::seen(self, run, base)
    }

    fn entries(&mut self, thread: &ThreadId, newest: u32) -> Result<Vec<EntryRow>, StoreError> {
        entry::newest(self, thread, newest)
    }

    fn blob(&mut self, hash: &BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        let folder = self.blobs;
        blob::one(self, folder, hash)
    }

    fn cancel_requested(&mut self, run: &RunKey) -> Result<bool, StoreError> {
        let is_pending = self.stops.as_ref().is_some_and(|stops| stops.is_cancelled(run));
        Ok(is_pending || run::cancel_requested(self, run)?)
    }

    fn events(&mut self, agent: &AgentId, after_seq: u64, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        event::after(self, agent, after_seq, limit)
    }

    fn events_before(
        &mut self,
        agent: &AgentId,
        before_seq: u64,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        event::before(self, agent, before_seq, limit)
    }

    fn caps(&mut self) -> Result<Vec<CapRow>, StoreError> {
        spend::caps(self)
    }

    fn cap(&mut self, agent: Option<&AgentId>) -> Result<Option<MicroUsd>, StoreError> {
        spend::cap(self, agent)
    }

    fn spent(&mut self, day: Day, agent: &AgentId) -> Result<Spent, StoreError> {
        spend::spent(self, day, agent)
    }

    fn latest_spend_day(&mut self) -> Result<Option<Day>, StoreError> {
        spend::latest_day(self)
    }

    fn spent_by_run(&mut self, run: &RunKey) -> Result<MicroUsd, StoreError> {
        spend::of_run(self, run)
    }

    fn spend_days(&mut self, agent: Option<&AgentId>, from: Day) -> Result<Vec<SpendDay>, StoreError> {
        spend::days(self, agent, from)
    }

    fn spent_on(&mut self, day: Day) -> Result<Vec<SpendDay>, StoreError> {
        spend::on_day(self, day)
    }

    fn is_confirmed(&mut self, provider: &str, version: &PolicyVersion) -> Result<bool, StoreError> {
        spend::is_confirmed(self, provider, version)
    }

    fn receipts(&mut self) -> Result<Vec<ReceiptRow>, StoreError> {
        spend::receipts(self)
    }

    fn unfinished_sagas(&mut self) -> Result<Vec<SagaRow>, StoreError> {
        saga::unfinished(self)
    }

    fn saga(&mut self, operation: &OperationId) -> Result<Option<SagaRow>, StoreError> {
        saga::one(self, operation)
    }

    fn journal_host(&mut self) -> Result<Option<String>, StoreError> {
        saga::journal_host(self)
    }

    fn runners(&mut self) -> Result<Vec<Runner>, StoreError> {
        runner::list(self)
    }

    fn held(&mut self, class: DataClass) -> Result<Held, StoreError> {
        care::held(self, class)
    }

    fn oldest(&mut self, class: DataClass, before: Millis, limit: u32) -> Result<Vec<Aged>, StoreError> {
        care::oldest(self, class, before, limit)
    }

    fn is_pruned(&mut self, run: &RunKey) -> Result<bool, StoreError> {
        care::is_pruned(self, run)
    }

    fn care(&mut self) -> Result<CareRow, StoreError> {
        care::care(self)
    }

    fn blobs_below(
        &mut self,
        generation: i64,
        after: Option<BlobHash>,
        limit: u32,
    ) -> Result<Vec<BlobHash>, StoreError> {
        blob::below(self, generation, after, limit)
    }

    fn blob_files(&mut self, after: Option<BlobHash>, limit: u32) -> Result<Vec<BlobHash>, StoreError> {
        blob::files(self, after, limit)
    }

    fn has_blob(&mut self, hash: &BlobHash) -> Result<bool, StoreError> {
        blob::is_there(self, hash)
    }

    fn names(&mut self, from: &NamesFrom, limit: u32) -> Result<Names, StoreError> {
        naming::names(self, from, limit)
    }

    fn names_of(&mut self, old: &Old) -> Result<BTreeSet<BlobHash>, StoreError> {
        naming::names_of(self, old)
    }

    fn held_by(&mut self, blobs: &[BlobHash]) -> Result<Held, StoreError> {
        blob::held(self, blobs)
    }
}

impl Tx for Session<'_> {
    fn create_agent(&mut self, agent: &Agent) -> Result<bool, StoreError> {
        agent::create(self, agent)
    }

    fn set_control(&mut self, agent: &AgentId, control: Control) -> Result<bool, StoreError> {
        queue::set_control(self, agent, control)
    }

    fn claim_head(&mut self, agent: &AgentId, runner: &RunnerId) -> Result<Claim, StoreError> {
        head::claim(self, agent, runner)
    }

    fn release_head(&mut self, agent: &AgentId, fence: Fence) -> Result<(), StoreError> {
        head::release(self, agent, fence)
    }

    fn lock_head(&mut self, agent: &AgentId, fence: Fence) -> Result<LockedHead, StoreError> {
        head::lock(self, agent, fence)
    }

    fn lock_head_to_announce(&mut self, agent: &AgentId) -> Result<Option<LockedHead>, StoreError> {
        head::lock_to_announce(self, agent)
    }

    fn put_head(&mut self, agent: &AgentId, head: &LockedHead) -> Result<(), StoreError> {
        head::put(self, agent, head)
    }

    fn admit_message(&mut self, message: &Message) -> Result<Admission, StoreError> {
        message::admit(self, message)
    }

    fn enqueue(&mut self, message: &Message, seq: u64, not_before: Option<Millis>) -> Result<(), StoreError> {
        queue::append(self, message, seq, not_before)
    }

    fn dequeue(&mut self, agent: &AgentId, run: &RunKey) -> Result<(), StoreError> {
        queue::take(self, agent, run)
    }

    fn put_wake(&mut self, wake: &WakeRow) -> Result<(), StoreError> {
        wake::put(self, wake)
    }

    fn create_run(&mut self, run: &RunRow) -> Result<(), StoreError> {
        run::create(self, run)
    }

    fn put_state(&mut self, run: &RunRow, expected: i64) -> Result<(), StoreError> {
        run::put_state(self, run, expected)
    }

    fn append_input(&mut self, row: &JournalRow) -> Result<(), StoreError> {
        journal::append(self, row)
    }

    fn put_step(&mut self, step: &StepRow) -> Result<(), StoreError> {
        step::put(self, step)
    }

    fn intend_step(&mut self, operation: &OperationId) -> Result<(), StoreError> {
        step::intend(self, operation)
    }

    fn postpone_step(&mut self, operation: &OperationId) -> Result<(), StoreError> {
        step::postpone(self, operation)
    }

    fn settle_step(&mut self, end: &StepEnd) -> Result<(), StoreError> {
        step::settle(self, end)
    }

    fn append_event(&mut self, agent: &AgentId, event: &Event) -> Result<(), StoreError> {
        self.touched.note(Some(event.sealed.at));
        event::append(self, agent, event)
    }

    fn append_entry(&mut self, thread: &ThreadId, entry: &EntryRow) -> Result<(), StoreError> {
        entry::append(self, thread, entry)
    }

    fn put_blob(&mut self, blob: &PackedBlob) -> Result<(), StoreError> {
        let folder = self.blobs;
        blob::put(self, folder, blob)
    }

    fn add_usage(&mut self, agent: &AgentId, usage: Usage, model_rounds: u64) -> Result<(), StoreError> {
        agent::add_usage(self, agent, usage, model_rounds)
    }

    fn set_cap(
        &mut self,
        agent: Option<&AgentId>,
        daily: Option<MicroUsd>,
        at: Millis,
    ) -> Result<(), StoreError> {
        spend::set_cap(self, agent, daily, at)
    }

    fn lock_spending(&mut self, clock: Day) -> Result<Day, StoreError> {
        spend::lock(self, clock)
    }

    fn reset_spend_day(&mut self, clock: Day) -> Result<(), StoreError> {
        spend::reset_day(self, clock)
    }

    fn reserve(&mut self, reservation: &Reservation) -> Result<(), StoreError> {
        spend::reserve(self, reservation)
    }

    fn settle_spend(&mut self, operation: &OperationId, cost: Option<MicroUsd>) -> Result<(), StoreError> {
        spend::settle(self, operation, cost)
    }

    fn put_receipt(&mut self, receipt: &ReceiptRow) -> Result<(), StoreError> {
        spend::put_receipt(self, receipt)
    }

    fn set_model(&mut self, agent: &AgentId, model_ref: Option<&str>) -> Result<bool, StoreError> {
        agent::set_model(self, agent, model_ref)
    }

    fn request_cancel(&mut self, run: &RunKey, at: Millis) -> Result<(), StoreError> {
        run::request_cancel(self, run, at)
    }

    fn register_runner(&mut self, runner: &Runner) -> Result<(), StoreError> {
        runner::register(self, runner)?;
        self.registered = Some(runner.runner_id.clone());
        Ok(())
    }

    fn begin_saga(&mut self, saga: &Saga, run: &RunKey, at: Millis) -> Result<(), StoreError> {
        saga::begin(self, saga, run, at)
    }

    fn move_saga(&mut self, seen: &Saga, next: &Saga, at: Millis) -> Result<(), StoreError> {
        saga::advance(self, seen, next, at)
    }

    fn remember_journal(&mut self, host_id: &str, at: Millis) -> Result<(), StoreError> {
        saga::remember_journal(self, host_id, at)
    }

    fn bury_runner(&mut self, runner: &RunnerId) -> Result<(), StoreError> {
        runner::bury(self, runner)
    }

    fn settle_run(&mut self, run: &RunKey) -> Result<(), StoreError> {
        spend::settle_run(self, run)
    }

    fn prune(&mut self, agent: &AgentId, old: &Old, at_most: u32) -> Result<Taken, StoreError> {
        care::prune(self, agent, old, at_most)
    }

    fn put_care(&mut self, care: &CareRow, expected: i64) -> Result<bool, StoreError> {
        care::put_care(self, care, expected)
    }

    fn sweep_blobs(&mut self, blobs: &[BlobHash], below: i64) -> Result<Held, StoreError> {
        blob::sweep(self, blobs, below)
    }

    fn begin_life(&mut self, number: i64, at: Millis) -> Result<Incarnation, StoreError> {
        host::begin_life(self, number, at)
    }
}
