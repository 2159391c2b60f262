//! A daemon with schedules in virtual time, whose wall clock can be set.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use serde_json::Value;
use tokio::task::JoinHandle;
use tracing::instrument::WithSubscriber as _;
use wakeful_core::conversation::{Block, ToolSpec, Usage};
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::id::{AgentId, RuleId, RunnerId};
use wakeful_core::inference::ModelProfile;
use wakeful_core::journal::{Author, Mutation};
use wakeful_core::key::{OperationId, derived_hash};
use wakeful_core::prompt::ModelRequest;
use wakeful_core::schedule::{ExecutionOutcome, FiringTime, Reason, Schedule, ScheduleDraft};
use wakeful_core::step::{EffectClass, ToolError};
use wakeful_core::time::Millis;
use wakeful_policy::{PolicyEngine, ToolRegistry};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::journal::{Journal, WriteRequest};
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};
use wakeful_ports::tool::{StopSignal, ToolHost, ToolOutcome, ToolRequest};
use wakeful_runtime::api::{NewAgent, RuntimeApi, SubscriptionApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::notice::SubscriptionIndex;
use wakeful_runtime::service::{Options, Service, WriterMode};
use wakeful_runtime::{EngineDefaults, Halt};
use wakeful_sim::OnWarning;
use wakeful_store::rows::{ExecutionWithRun, RunFilter};
use wakeful_store::{JournalStore, Store};

use crate::engine_factory::SameEngineFactory;

/// 2026-03-01T06:00:00Z.
pub(crate) const BEGIN: Millis = Millis(1_772_344_800_000);
pub(crate) const MINUTE_MS: u64 = 60_000;
pub(crate) const HOUR_MS: u64 = 60 * MINUTE_MS;

/// Scheduling turns within which a working task reads the clock or the salts.
const TURNS: u32 = 60;

/// The retry delay of an unavailable model.
const LATER_MS: u64 = MINUTE_MS;

/// Virtual time that advances on request, and a wall clock that can be set.
pub(crate) struct SimClock(Mutex<State>, AtomicU32);

struct State {
    ticks_ms: u64,
    wall: Millis,
    next: u64,
    waits: BTreeMap<(u64, u64), Waker>,
}

impl SimClock {
    pub(crate) fn at(wall: Millis) -> Arc<Self> {
        let state = State {
            ticks_ms: 0,
            wall,
            next: 0,
            waits: BTreeMap::new(),
        };
        Arc::new(Self(Mutex::new(state), AtomicU32::new(0)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records activity: every working task reads the clock or the salts.
    fn stir(&self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the wall clock. Waits in progress are not affected.
    pub(crate) fn set(&self, wall: Millis) {
        self.state().wall = wall;
    }

    /// Advances to the next awaited time, at most to `until_ms`. Returns whether a waiter was woken.
    fn advance(&self, until_ms: u64) -> bool {
        let mut state = self.state();
        let first = state.waits.first_key_value().map(|(key, _)| *key);
        let to_ms = first.map_or(until_ms, |(at_ms, _)| at_ms.min(until_ms));
        let step = to_ms.saturating_sub(state.ticks_ms);
        state.ticks_ms += step;
        state.wall.0 += i64::try_from(step).expect("small");
        let Some(key) = first.filter(|(at_ms, _)| *at_ms <= state.ticks_ms) else {
            return false;
        };
        let waker = state.waits.remove(&key);
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        true
    }
}

impl Clock for SimClock {
    fn now(&self) -> Millis {
        self.stir();
        self.state().wall
    }

    fn monotonic_ms(&self) -> u64 {
        self.state().ticks_ms
    }

    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.stir();
        let key = {
            let mut state = self.state();
            state.next += 1;
            (state.ticks_ms + ms, state.next)
        };
        Box::pin(poll_fn(move |context| {
            let mut state = self.state();
            if state.ticks_ms >= key.0 {
                return Poll::Ready(());
            }
            state.waits.insert(key, context.waker().clone());
            Poll::Pending
        }))
    }
}

struct Salts(Arc<SimClock>);

impl Entropy for Salts {
    fn random_bytes(&self) -> [u8; 32] {
        self.0.stir();
        [7; 32]
    }
}

/// The behaviour of the model.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Says {
    Done,
    /// It fails permanently.
    No,
    /// It is unavailable for a minute, again and again: its run stays open.
    Later,
}

struct Counting(Says, Arc<AtomicU32>);

impl Model for Counting {
    fn profile(&self, _: &str) -> ModelProfile {
        ModelProfile::here("sim")
    }

    async fn call(&self, _: ModelRequest, _: &dyn DeltaSink) -> Result<ModelResponse, ModelFailure> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let artifact = || FailureArtifact::new(FailureCategory::Transport, "no", "no answer");
        match self.0 {
            Says::Done => Ok(ModelResponse {
                blocks: vec![Block::Text { text: "done".into() }],
                usage: Usage::of(1, 1),
            }),
            Says::No => Err(ModelFailure::new(ModelFailureKind::FailFast, artifact())),
            Says::Later => Err(ModelFailure {
                retry_after_ms: Some(LATER_MS),
                ..ModelFailure::new(ModelFailureKind::Retryable, artifact())
            }),
        }
    }
}

struct NoTools;

impl ToolHost for NoTools {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn class(&self, _: &str) -> Option<EffectClass> {
        None
    }

    fn check(&self, _: &str, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn perform(&self, _: ToolRequest, _: impl StopSignal) -> ToolOutcome {
        panic!("there are no tools");
    }

    async fn clean_up(&self, _: OperationId) {}
}

/// The state that outlives a daemon.
#[derive(Clone)]
pub(crate) struct ScheduleFixture {
    pub(crate) wall: Arc<SimClock>,
    pub(crate) store: Store,
    pub(crate) journal: JournalStore,
    pub(crate) asked: Arc<AtomicU32>,
}

impl ScheduleFixture {
    pub(crate) fn at(wall: Millis) -> Self {
        Self {
            wall: SimClock::at(wall),
            store: Store::in_memory("timers").expect("a store"),
            journal: JournalStore::in_memory("timers").expect("a journal"),
            asked: Arc::default(),
        }
    }

    /// Lets every task run until none is active, without advancing time.
    pub(crate) async fn settle(&self) {
        loop {
            let before = self.wall.1.load(Ordering::Relaxed);
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
            if self.wall.1.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }

    pub(crate) async fn pass(&self, ms: u64) {
        self.settle().await;
        let until_ms = self.wall.monotonic_ms() + ms;
        while self.wall.monotonic_ms() < until_ms || self.wall.advance(until_ms) {
            self.wall.advance(until_ms);
            self.settle().await;
        }
    }

    /// Writes a note to the journal.
    pub(crate) async fn write(&self, name: &str, author: Author) {
        let order = WriteRequest {
            operation_id: OperationId(derived_hash("test", &[name])),
            author,
            mutation: Mutation::CreateCategory {
                name: name.to_owned(),
            },
            at: self.wall.now(),
        };
        self.journal.write(order).await.expect("written");
    }
}

/// A daemon that runs until it is killed.
pub(crate) struct ScheduledDaemon {
    pub(crate) ground: ScheduleFixture,
    pub(crate) api: RuntimeApi,
    pub(crate) alert: SubscriptionApi,
    tasks: Vec<JoinHandle<()>>,
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a name")
}

pub(crate) fn rule(name: &str) -> RuleId {
    RuleId::parse(name).expect("a name")
}

pub(crate) fn every(seconds: u64) -> FiringTime {
    FiringTime::Every {
        interval_seconds: seconds,
        anchor: BEGIN,
    }
}

impl ScheduledDaemon {
    /// Starts a daemon on this fixture.
    pub(crate) async fn open(ground: &ScheduleFixture, says: Says) -> Self {
        let hub: Arc<Hub> = Arc::default();
        let shop = SameEngineFactory {
            store: ground.store.clone(),
            model: Arc::new(Counting(says, Arc::clone(&ground.asked))),
            tools: Arc::new(NoTools),
            policy: Arc::new(PolicyEngine::new(ToolRegistry::new(BTreeSet::new())).expect("a policy")),
            clock: Arc::<SimClock>::clone(&ground.wall),
            entropy: Arc::new(Salts(Arc::clone(&ground.wall))),
            hub: Arc::clone(&hub),
        };
        let (service, api, _) = Service::new(Options {
            store: ground.store.clone(),
            writers: WriterMode::Alone,
            runner: RunnerId::new("daemon"),
            engine_factory: Arc::new(shop),
            hub: Arc::clone(&hub),
            halt: Halt::never(),
            clock: Arc::<SimClock>::clone(&ground.wall),
            entropy: Arc::new(Salts(Arc::clone(&ground.wall))),
            governance: EngineDefaults::default(),
        });
        let journal: Arc<dyn Journal> = Arc::new(ground.journal.clone());
        let timers = api.scheduler(Arc::clone(&journal), WriterMode::Alone);
        let ticking = async move { timers.run(&Halt::never()).await };
        let book: Arc<SubscriptionIndex> = Arc::default();
        let watcher = api.notice_dispatcher(Arc::clone(&journal), Arc::clone(&book), WriterMode::Alone);
        let watching = async move {
            let fail = |error: &str| panic!("{error}");
            let never = Halt::never();
            let watching = watcher.run(&never);
            watching.with_subscriber(OnWarning(fail)).await;
        };
        let tasks = vec![
            tokio::spawn(service.run()),
            tokio::spawn(ticking),
            tokio::spawn(watching),
        ];
        let house = Self {
            ground: ground.clone(),
            alert: api.subscriptions(journal, book),
            api,
            tasks,
        };
        house.ground.settle().await;
        house
    }

    /// The same with an agent `main`.
    pub(crate) async fn fresh(says: Says) -> Self {
        let house = Self::open(&ScheduleFixture::at(BEGIN), says).await;
        house.make(&["main"]).await;
        house
    }

    pub(crate) async fn make(&self, names: &[&str]) {
        for name in names {
            let new = NewAgent::new(agent(name), "/somewhere".into());
            self.api.agents.create(new).await.expect("an agent");
        }
    }

    /// Ends the daemon at once, as a power cut does.
    pub(crate) async fn kill(self) -> ScheduleFixture {
        for task in &self.tasks {
            task.abort();
        }
        for task in self.tasks {
            let _ = task.await;
        }
        self.ground
    }

    /// Adds a schedule of `main` that wakes in any case, with adjustments.
    pub(crate) async fn add(
        &self,
        id: &str,
        when: FiringTime,
        with: impl FnOnce(&mut ScheduleDraft),
    ) -> Schedule {
        let mut draft = ScheduleDraft::new(rule(id), agent("main"), when, "Look at the day.".to_owned());
        draft.always = true;
        with(&mut draft);
        let added = self.api.schedules.add(draft).await.expect("a schedule");
        self.ground.settle().await;
        added
    }

    /// Creates another agent with a schedule.
    pub(crate) async fn add_for(&self, name: &str, id: &str, when: FiringTime) -> Schedule {
        self.make(&[name]).await;
        self.add(id, when, |draft| draft.agent_id = agent(name)).await
    }

    pub(crate) async fn timer(&self, id: &str) -> Schedule {
        self.api.schedules.get(rule(id)).await.expect("a schedule")
    }

    /// The execution records of a schedule, oldest first.
    pub(crate) async fn records(&self, id: &str) -> Vec<ExecutionWithRun> {
        let (_, mut records) = self
            .api
            .schedules
            .executions(rule(id), 1_000)
            .await
            .expect("records");
        records.reverse();
        records
    }

    /// Their outcomes and reasons.
    pub(crate) async fn outcomes(&self, id: &str) -> Vec<(ExecutionOutcome, Option<Reason>)> {
        let records = self.records(id).await.into_iter();
        records.map(|one| (one.row.outcome, one.row.reason)).collect()
    }

    pub(crate) async fn runs(&self) -> usize {
        let filter = RunFilter {
            limit: 10_000,
            ..RunFilter::default()
        };
        let runs = self.ground.store.read(move |view| view.runs(&filter)).await;
        runs.expect("runs").len()
    }

    pub(crate) fn asked(&self) -> u32 {
        self.ground.asked.load(Ordering::Relaxed)
    }
}
