//! The service loop: drives agents that have work, one message at a time per agent and many agents at once,
//! within bounds. A daemon drives all agents; `wakeful run` without a daemon drives one run and its sub-runs.
//! The loop sleeps until it is signalled; it sets a timer only for due times, retries and other writers.

mod scope;
mod start;
mod stuck;
mod turn;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::task::{Id, JoinError, JoinSet};
use wakeful_core::budget::MicroUsd;
use wakeful_core::dispatcher::{DispatchResult, Dispatcher};
use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::model::Model;
use wakeful_ports::snapshot::{NoSnapshots, WorkspaceSnapshots};
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::Agent;
use wakeful_store::{Store, StoreError, WorkQuery};

use self::scope::{ReadyWork, Scope};
use self::start::ServiceStarter;
pub use self::stuck::StuckAgents;
use self::turn::{AgentTurn, TurnResult};
use crate::api::{ApiContext, NewAgent, RuntimeApi, StartAtOnce, WorkSignal};
use crate::hub::Hub;
use crate::run::DriveOutcome;
use crate::wake::ResolvedOptions;
use crate::{Engine, EngineDefaults, EngineError, Halt, Observer as _};

/// Maximum number of agents driven at the same time. Each may use a process and a model request; the rest
/// are queued.
pub const AGENTS_AT_ONCE_MAX: usize = 64;

/// Poll interval for a database with other writers. Not used when this process is the only writer.
const SHARED_POLL_MS: u64 = 1_000;

/// Delay before a failed query for work is retried.
const RETRY_MS: u64 = 1_000;

/// Number of consecutive failed queries after which a service that drives one run gives up. A daemon never
/// does.
const FAILED_LOOKS_MAX: u32 = 5;

/// The database is not queried for further work while more than this number of agents are known to have
/// some.
const AGENTS_KNOWN_MIN: usize = 4 * AGENTS_AT_ONCE_MAX;

/// The longest sleep before a due time: the clock may be set meanwhile.
const DUE_POLL_MS_MAX: u64 = 60_000;

/// Creates engines. The binary implements it, because the model and the tools of a run are configuration.
pub trait EngineFactory: Send + Sync {
    type Model: Model;
    type Tools: ToolHost;

    /// The options for the run of this message.
    fn resolve_options(&self, agent: &Agent, message: &Message) -> ResolvedOptions;

    /// Creates an engine for a run with these options. The error explains why that is impossible.
    fn engine(
        &self,
        agent: &AgentId,
        limits: &ResolvedOptions,
    ) -> Result<Engine<Self::Model, Self::Tools>, EngineError>;

    /// Creates an engine that can only end a run, for a run to be cancelled whose model or folder is
    /// missing. The second value is kept alive until the run has ended.
    fn engine_for_ending(
        &self,
        agent: &AgentId,
    ) -> Result<EndingEngine<Self::Model, Self::Tools>, EngineError>;

    /// The states of workspaces before and after runs, which the engines record.
    fn snapshots(&self) -> Arc<dyn WorkspaceSnapshots> {
        Arc::new(NoSnapshots)
    }
}

/// An engine that ends a run, and a value that must live as long.
pub type EndingEngine<M, T> = (Engine<M, T>, Box<dyn Send>);

/// Whether other processes write to the same database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriterMode {
    /// Only this process writes, so every change is signalled.
    Alone,
    /// Others write too, so the database is polled.
    Many,
}

/// The dependencies of the service.
pub struct Options<W> {
    pub store: Store,
    /// Whether other processes write to the store.
    pub writers: WriterMode,
    /// This process's id in the store.
    pub runner: RunnerId,
    /// Creates engines. They must use `hub` as observer and share `halt`.
    pub engine_factory: Arc<W>,
    /// Publishes committed events.
    pub hub: Arc<Hub>,
    /// Set when the process shuts down.
    pub halt: Halt,
    pub clock: Arc<dyn Clock>,
    /// Source of salts.
    pub entropy: Arc<dyn Entropy>,
    /// Defaults for everything that is not configured.
    pub governance: EngineDefaults,
}

/// The service loop.
pub struct Service<W> {
    store: Store,
    writers: WriterMode,
    runner: RunnerId,
    engine_factory: Arc<W>,
    halt: Halt,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    hub: Arc<Hub>,
    work: Arc<WorkSignal>,
    stuck: StuckAgents,
    scope: Scope,
    daily_cap: MicroUsd,
    starter: Arc<ServiceStarter<W>>,
}

/// The agents being driven, and those waiting for a free slot.
#[derive(Default)]
struct ActiveAgents {
    tasks: JoinSet<TurnResult>,
    line: Dispatcher,
    /// The agents that had work at the last query.
    ready: Vec<AgentId>,
    /// The run to drive for each agent, if other runs are out of scope.
    targets: BTreeMap<AgentId, RunKey>,
    /// The agent of each task, because a panicked task does not return it.
    by_task: BTreeMap<Id, AgentId>,
    /// When to query without a signal: if others write, or after a failed query.
    look_at: Option<u64>,
    /// The number of consecutive failed queries.
    failed_looks: u32,
    /// Why a service that drives one run gave up.
    failure: Option<StoreError>,
    /// When the next waiting run is due.
    due_at: Option<u64>,
    /// The position of each log that listeners were last notified about.
    notified_seq: BTreeMap<AgentId, u64>,
    /// Whether nothing in scope can continue by itself.
    is_done: bool,
    /// Whether a run was parked for budget at the last query.
    waits_for_budget: bool,
    /// Whether the runs parked before this process started were retried.
    has_retried_budget: bool,
}

impl<W: EngineFactory + 'static> Service<W> {
    /// Returns the service, its API, and the agents that are stuck.
    #[must_use]
    pub fn new(options: Options<W>) -> (Self, RuntimeApi, StuckAgents) {
        let daily_cap = options.governance.daily_cap;
        let api = RuntimeApi::new(ApiContext {
            store: options.store.clone(),
            clock: Arc::clone(&options.clock),
            entropy: Arc::clone(&options.entropy),
            hub: Arc::clone(&options.hub),
            governance: options.governance,
            snapshots: options.engine_factory.snapshots(),
        });
        let stuck = StuckAgents::default();
        let starter = ServiceStarter {
            engine_factory: Arc::clone(&options.engine_factory),
            started: Mutex::default(),
        };
        let service = Self {
            store: options.store,
            writers: options.writers,
            runner: options.runner,
            engine_factory: options.engine_factory,
            halt: options.halt,
            clock: options.clock,
            entropy: options.entropy,
            hub: options.hub,
            work: api.work(),
            stuck: stuck.clone(),
            scope: Scope::All,
            daily_cap,
            starter: Arc::new(starter),
        };
        (service, api, stuck)
    }

    /// Starts runs in the transaction that admits their messages; this service drives them. `create` is the
    /// agent to create with the message, if it does not exist.
    #[must_use]
    pub fn start_at_once(&self, create: Option<NewAgent>) -> StartAtOnce {
        self.starter.start_at_once(create)
    }

    /// Runs until the process halts and all runs have reached a safe point. Runs left open by an earlier
    /// process are ordinary work and come first.
    pub async fn run(self) {
        // A failed query is repeated until it succeeds, so no error is returned.
        let _ = self.work().await;
    }

    /// Drives one run and its sub-runs until none of them can continue by itself. Returns an error if the
    /// database could not be read.
    pub async fn drive(self, run: RunKey) -> Result<(), StoreError> {
        let limited = Self {
            scope: Scope::Tree(run),
            // Other processes cancel, brake and answer without the lock of the home.
            writers: WriterMode::Many,
            ..self
        };
        limited.work().await
    }

    async fn work(self) -> Result<(), StoreError> {
        let mut busy = ActiveAgents::default();
        self.work.signal_any();
        while !self.halt.is_set() && !busy.is_done {
            // Computed before waiting, so that signals do not postpone it.
            let moments = [busy.look_at, busy.due_at, busy.line.next_due_ms()];
            let moment = moments.into_iter().flatten().min();
            // A failed query is retried at its own time. An agent whose backoff has ended would otherwise
            // trigger queries in a loop while the database is unreachable.
            let moment = if busy.failed_looks > 0 {
                busy.look_at
            } else {
                moment
            };
            tokio::select! {
                biased;
                () = self.halt.wait_until_set() => break,
                Some(done) = busy.tasks.join_next_with_id(), if !busy.tasks.is_empty() => {
                    self.finished(done, &mut busy);
                }
                () = self.work.wait() => self.begin_all(&mut busy).await,
                () = self.hub.wait_for_settlement(), if busy.waits_for_budget => self.begin_all(&mut busy).await,
                () = self.sleep_until(moment) => {
                    (busy.look_at, busy.due_at) = (None, None);
                    self.broadcast_foreign_commits(&mut busy).await;
                    self.begin_all(&mut busy).await;
                }
            }
        }
        while let Some(done) = busy.tasks.join_next_with_id().await {
            self.finished(done, &mut busy);
        }
        busy.failure.map_or(Ok(()), Err)
    }

    /// Sleeps until a time, or forever if there is none, because every change is signalled.
    async fn sleep_until(&self, moment: Option<u64>) {
        match moment {
            Some(at) => {
                self.clock
                    .sleep(at.saturating_sub(self.clock.monotonic_ms()))
                    .await
            }
            None => std::future::pending().await,
        }
    }

    /// Notifies listeners whose logs have grown: commits of other processes do not pass through this one.
    async fn broadcast_foreign_commits(&self, busy: &mut ActiveAgents) {
        if self.writers == WriterMode::Alone || self.hub.listeners() == 0 {
            return;
        }
        let Ok(heads) = self.store.read(|view| view.heads()).await else {
            return;
        };
        for (agent, last) in heads {
            if busy.notified_seq.insert(agent.clone(), last) != Some(last) {
                self.hub.on_events(&agent, &[]);
            }
        }
    }

    /// Queries for work and starts a turn of every agent that has some and is not being driven, as far as
    /// there are free slots.
    async fn begin_all(&self, busy: &mut ActiveAgents) {
        let (wall, now) = (self.clock.now(), self.clock.monotonic_ms());
        let read = self.ready_work(busy, wall).await;
        let next = match (self.writers, &read) {
            (_, Err(_)) => Some(now.saturating_add(RETRY_MS)),
            (WriterMode::Many, Ok(_)) => Some(now.saturating_add(SHARED_POLL_MS)),
            (WriterMode::Alone, Ok(_)) => None,
        };
        // Keep an earlier time that is already set: frequent local signals must not postpone the poll for
        // other writers.
        busy.look_at = next.map(|next| busy.look_at.map_or(next, |fixed| fixed.min(next)));
        let ReadyWork {
            agents,
            targets,
            without_budget,
            next,
        } = match read {
            Ok(found) => found,
            Err(error) => {
                busy.failed_looks = busy.failed_looks.saturating_add(1);
                if self.scope != Scope::All && busy.failed_looks >= FAILED_LOOKS_MAX {
                    (busy.is_done, busy.failure) = (true, Some(error));
                }
                return;
            }
        };
        busy.failed_looks = 0;
        // Check a distant due time again earlier, because the clock may be set meanwhile.
        busy.due_at = next.map(|due| now.saturating_add(due.since(wall).clamp(1, DUE_POLL_MS_MAX)));
        self.stuck.retain(&agents, &without_budget);
        busy.waits_for_budget = !without_budget.is_empty();
        self.work
            .take_signalled()
            .iter()
            .for_each(|agent| busy.line.reset_backoff(agent));
        (busy.ready, busy.targets) = (agents, targets);
        self.begin(busy);
        busy.is_done = self.scope != Scope::All && busy.tasks.is_empty() && busy.due_at.is_none();
    }

    /// Finds the work that can be done now. The first query of a process retries parked runs, because its
    /// configuration may have other prices than the process that parked them.
    async fn ready_work(&self, busy: &mut ActiveAgents, now: Millis) -> Result<ReadyWork, StoreError> {
        let (scope, daily_cap) = (self.scope, self.daily_cap);
        let query = WorkQuery { now, daily_cap };
        let ready = self.store.read(move |view| scope.ready_work(view, query)).await?;
        if busy.has_retried_budget || ready.without_budget.is_empty() {
            busy.has_retried_budget = true;
            return Ok(ready);
        }
        self.store.write(|tx| tx.end_budget_waits(None)).await?;
        busy.has_retried_budget = true;
        self.store.read(move |view| scope.ready_work(view, query)).await
    }

    /// Starts the turns of the next agents among those that had work at the last query.
    fn begin(&self, busy: &mut ActiveAgents) {
        for agent in busy
            .line
            .choose(&busy.ready, self.clock.monotonic_ms(), self.scope.concurrency())
        {
            let target = busy.targets.get(&agent).copied();
            let turn = AgentTurn {
                store: self.store.clone(),
                engine_factory: Arc::clone(&self.engine_factory),
                runner: self.runner.clone(),
                clock: Arc::clone(&self.clock),
                entropy: Arc::clone(&self.entropy),
                hub: Arc::clone(&self.hub),
                should_reset_claims: self.stuck.is_of_place(&agent),
                daily_cap: self.daily_cap,
                agent: agent.clone(),
                target,
            };
            let started = target.and_then(|run| self.starter.take(run));
            let task = busy.tasks.spawn(turn.take(started));
            busy.by_task.insert(task.id(), agent);
        }
    }

    /// Handles the end of an agent's turn: backoff, further work, and the record of stuck agents.
    fn finished(&self, done: Result<(Id, TurnResult), JoinError>, busy: &mut ActiveAgents) {
        let (id, turned) = match done {
            Ok((id, turned)) => (id, Some(turned)),
            // A panic is a bug in Wakeful; the daemon and the other agents continue, and the agent is
            // reported as stuck.
            Err(error) => (error.id(), None),
        };
        let Some(agent) = busy.by_task.remove(&id) else {
            return;
        };
        let panicked = || Err(EngineError::Panicked(agent.clone()));
        let result = turned.map_or_else(panicked, |(_, result)| result);
        let how = match &result {
            Ok(Some(DriveOutcome::Ended | DriveOutcome::Stopped)) => DispatchResult::Worked,
            // When driving one run, only progress of another run of its tree is a reason to retry.
            Ok(Some(DriveOutcome::Braked) | None) if self.scope != Scope::All => DispatchResult::Stuck,
            // Releasing the brake signals the agent again.
            Ok(Some(DriveOutcome::Waiting(_) | DriveOutcome::Braked) | None) => DispatchResult::Idle,
            // The run is listed again when the budget allows it.
            Err(EngineError::BudgetExceeded { .. }) if self.scope == Scope::All => DispatchResult::Idle,
            Err(_) => DispatchResult::Stuck,
        };
        // Query again: it finds the time until which the run waits, and whether an answer arrived
        // meanwhile.
        if matches!(
            result,
            Ok(Some(DriveOutcome::Waiting(_))) | Err(EngineError::BudgetExceeded { .. })
        ) {
            self.work.signal_any();
        }
        let is_worth_a_look = busy.line.record_result(&agent, how, self.clock.monotonic_ms());
        if self.scope != Scope::All {
            if how == DispatchResult::Worked {
                busy.line = Dispatcher::default();
            }
            self.work.signal_any();
        }
        // An agent in backoff still has work, so it stays in the list.
        if how == DispatchResult::Idle && !busy.line.is_backing_off(&agent) {
            busy.ready.retain(|ready| *ready != agent);
        }
        if is_worth_a_look {
            // With very many ready agents, a query after every turn would cost more than the turn.
            if busy.ready.len() > AGENTS_KNOWN_MIN {
                self.begin(busy);
            } else {
                self.work.signal_any();
            }
        }
        self.stuck.note(&agent, result.map(drop));
    }
}
