//! The daemon's loop: drives agents that have work, one message after the other per agent, many agents at once, within
//! bounds. It sleeps without a timer until it is signalled that there may be work.

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

/// Most agents driven at the same time. Each may hold a process and a model request; the rest waits in line.
pub const AGENTS_AT_ONCE_MAX: usize = 64;

/// How often a database that others write to is looked at. Where this process is the only writer, never.
const SHARED_POLL_MS: u64 = 1_000;

/// When a look that failed is tried again.
const RETRY_MS: u64 = 1_000;

/// Failed looks in a row after which a service that drives one run gives up. A daemon never does.
const FAILED_LOOKS_MAX: u32 = 5;

/// As long as more than these are known to have work, nobody asks who else has.
const AGENTS_KNOWN_MIN: usize = 4 * AGENTS_AT_ONCE_MAX;

/// The longest sleep before somebody who is due: who trusts a clock for longer is fooled when it is set.
const DUE_POLL_MS_MAX: u64 = 60_000;

/// Makes engines: which model and which tools a run gets is configuration, and so the binary's business.
pub trait EngineFactory: Send + Sync {
    /// Answers model requests.
    type Model: Model;
    /// Carries out actions.
    type Tools: ToolHost;

    /// How the run of this message is limited.
    fn resolve_options(&self, agent: &Agent, message: &Message) -> ResolvedOptions;

    /// An engine for a run with these limits. The error is why there is none, in the words of the binary.
    fn engine(
        &self,
        agent: &AgentId,
        limits: &ResolvedOptions,
    ) -> Result<Engine<Self::Model, Self::Tools>, EngineError>;

    /// An engine that can do nothing but end a run: for one whose model or folder is gone and that a person wants to
    /// see ended. What comes with it is kept until the run has ended.
    fn engine_for_ending(
        &self,
        agent: &AgentId,
    ) -> Result<EndingEngine<Self::Model, Self::Tools>, EngineError>;
}

/// An engine that ends a run, and what must live as long as it.
pub type EndingEngine<M, T> = (Engine<M, T>, Box<dyn Send>);

/// Whether others write to the same database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriterMode {
    /// This process alone: every change passes through it.
    Alone,
    /// Others as well: it has to look.
    Many,
}

/// What the service needs.
pub struct Options<W> {
    /// Where everything durable is.
    pub store: Store,
    /// Whether others write there.
    pub writers: WriterMode,
    /// This process, as the store knows it.
    pub runner: RunnerId,
    /// Who makes engines. They must share `hub` as observer and `halt`.
    pub workshop: Arc<W>,
    /// Where news is handed over.
    pub hub: Arc<Hub>,
    /// When to come to a stop.
    pub halt: Halt,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where salts come from.
    pub entropy: Arc<dyn Entropy>,
    /// What holds where nobody said otherwise.
    pub governance: EngineDefaults,
}

/// The loop.
pub struct Service<W> {
    store: Store,
    writers: WriterMode,
    runner: RunnerId,
    workshop: Arc<W>,
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

/// Who is being driven, and who waits for a place.
#[derive(Default)]
struct ActiveAgents {
    tasks: JoinSet<TurnResult>,
    line: Dispatcher,
    /// Who had work at the last look.
    ready: Vec<AgentId>,
    /// The run that each of them is to be driven for, where other runs are out of scope.
    targets: BTreeMap<AgentId, RunKey>,
    /// A task that panicked does not say whose it was.
    by_task: BTreeMap<Id, AgentId>,
    /// When to look without having been told: where others write, or when a look has failed.
    look_at: Option<u64>,
    /// How many looks in a row failed.
    failed_looks: u32,
    /// Why a limited service gave up.
    failure: Option<StoreError>,
    /// When the next run that rests is due.
    due_at: Option<u64>,
    /// How far each log had grown when listeners were last told.
    told: BTreeMap<AgentId, u64>,
    /// Whether nothing in scope can go on by itself.
    is_done: bool,
    /// Whether a run waited for the budget at the last look.
    waits_for_budget: bool,
    /// Whether the runs that waited for the budget before this process started were tried again.
    has_retried_budget: bool,
}

impl<W: EngineFactory + 'static> Service<W> {
    /// The service, its API, and the runs that are stuck.
    #[must_use]
    pub fn new(options: Options<W>) -> (Self, RuntimeApi, StuckAgents) {
        let daily_cap = options.governance.daily_cap;
        let api = RuntimeApi::new(ApiContext {
            store: options.store.clone(),
            clock: Arc::clone(&options.clock),
            entropy: Arc::clone(&options.entropy),
            hub: Arc::clone(&options.hub),
            governance: options.governance,
        });
        let stuck = StuckAgents::default();
        let starter = ServiceStarter {
            workshop: Arc::clone(&options.workshop),
            started: Mutex::default(),
        };
        let service = Self {
            store: options.store,
            writers: options.writers,
            runner: options.runner,
            workshop: options.workshop,
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

    /// Starts runs in the transaction that admits their messages; this service drives them. `create` is the agent to
    /// create with the message, if it does not exist.
    #[must_use]
    pub fn start_at_once(&self, create: Option<NewAgent>) -> StartAtOnce {
        self.starter.start_at_once(create)
    }

    /// Drives until a stop is asked for and everything under way has come to a safe point. What an earlier life left
    /// open is work like any other, and comes first.
    pub async fn run(self) {
        // A failed look at the database is repeated until it succeeds, so there is no error.
        let _ = self.work().await;
    }

    /// Drives one run and the runs it started until none of them can go on by itself. The error is why the database could not
    /// be read.
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
            // Fixed beforehand: what happens meanwhile does not put it off.
            let moments = [busy.look_at, busy.due_at, busy.line.next_due_ms()];
            let moment = moments.into_iter().flatten().min();
            // A look that failed is tried again at its own moment: whoever has rested enough would bring it about at once,
            // again and again, as long as the database is away.
            let moment = if busy.failed_looks > 0 {
                busy.look_at
            } else {
                moment
            };
            tokio::select! {
                biased;
                () = self.halt.asked() => break,
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

    /// Resolves at a moment. Never where there is none, because nothing can change unheard.
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

    /// Tells listeners whose logs have grown, by whomever: what others commit does not pass through this process.
    async fn broadcast_foreign_commits(&self, busy: &mut ActiveAgents) {
        if self.writers == WriterMode::Alone || self.hub.listeners() == 0 {
            return;
        }
        let Ok(heads) = self.store.read(|view| view.heads()).await else {
            return;
        };
        for (agent, last) in heads {
            if busy.told.insert(agent.clone(), last) != Some(last) {
                self.hub.on_events(&agent, &[]);
            }
        }
    }

    /// Begins with every agent that has work and is not being driven, as far as the places allow.
    async fn begin_all(&self, busy: &mut ActiveAgents) {
        let (wall, now) = (self.clock.now(), self.clock.monotonic_ms());
        let read = self.ready_work(busy, wall).await;
        let next = match (self.writers, &read) {
            (_, Err(_)) => Some(now.saturating_add(RETRY_MS)),
            (WriterMode::Many, Ok(_)) => Some(now.saturating_add(SHARED_POLL_MS)),
            (WriterMode::Alone, Ok(_)) => None,
        };
        // A moment that is fixed already stays: where much happens here, others must be heard of as well.
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
        // Looked at once more before it comes, if it is far: the clock may be set meanwhile.
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

    /// Finds the work that can be done now. At the first look of a process, runs that wait for the budget are tried again:
    /// its configuration may have other prices than that of the process which let them wait.
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

    /// Starts the turns of the next agents among those that had work at the last look.
    fn begin(&self, busy: &mut ActiveAgents) {
        for agent in busy
            .line
            .choose(&busy.ready, self.clock.monotonic_ms(), self.scope.concurrency())
        {
            let target = busy.targets.get(&agent).copied();
            let turn = AgentTurn {
                store: self.store.clone(),
                workshop: Arc::clone(&self.workshop),
                runner: self.runner.clone(),
                clock: Arc::clone(&self.clock),
                entropy: Arc::clone(&self.entropy),
                hub: Arc::clone(&self.hub),
                is_forgiven: self.stuck.is_of_place(&agent),
                daily_cap: self.daily_cap,
                agent: agent.clone(),
                target,
            };
            let started = target.and_then(|run| self.starter.take(run));
            let task = busy.tasks.spawn(turn.take(started));
            busy.by_task.insert(task.id(), agent);
        }
    }

    fn finished(&self, done: Result<(Id, TurnResult), JoinError>, busy: &mut ActiveAgents) {
        let (id, turned) = match done {
            Ok((id, turned)) => (id, Some(turned)),
            // A panic is a bug of ours; the daemon and the others live, and the agent says what happened.
            Err(error) => (error.id(), None),
        };
        let Some(agent) = busy.by_task.remove(&id) else {
            return;
        };
        let panicked = || Err(EngineError::Panicked(agent.clone()));
        let result = turned.map_or_else(panicked, |(_, result)| result);
        let how = match &result {
            Ok(Some(DriveOutcome::Ended | DriveOutcome::Stopped)) => DispatchResult::Worked,
            // Within one run, only the work of another run of its tree is a reason to try again.
            Ok(Some(DriveOutcome::Braked) | None) if self.scope != Scope::All => DispatchResult::Stuck,
            // A release of the brake makes the loop look at the agent again.
            Ok(Some(DriveOutcome::Waiting(_) | DriveOutcome::Braked) | None) => DispatchResult::Idle,
            // Its run is listed again when the budget has room for it.
            Err(EngineError::BudgetExceeded { .. }) if self.scope == Scope::All => DispatchResult::Idle,
            Err(_) => DispatchResult::Stuck,
        };
        // The time until which it waits, and whether an answer came since it looked for one, another look tells.
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
        // Who rests has work: without it, it would rest no more.
        if how == DispatchResult::Idle && !busy.line.is_backing_off(&agent) {
            busy.ready.retain(|ready| *ready != agent);
        }
        if is_worth_a_look {
            // Where very many have work, asking the database who after every turn would cost more than the turn.
            if busy.ready.len() > AGENTS_KNOWN_MIN {
                self.begin(busy);
            } else {
                self.work.signal_any();
            }
        }
        self.stuck.note(&agent, result.map(drop));
    }
}
