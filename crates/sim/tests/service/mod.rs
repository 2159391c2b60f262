//! The daemon's own loop in virtual time, without external signals: a waiting run continues when its time
//! comes.

mod at_once;
mod brake;
mod clock_set_back;
mod faulty;
mod life;
mod lost_commit_reply;
mod parked;
mod resumed_behind_open_run;
mod shared_database;
mod waiting_action;
mod withdrawn_interjection;

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use serde_json::{Value, json};
use tokio::sync::Notify;
use wakeful_core::conversation::{Block, ToolCall, ToolSpec, Usage};
use wakeful_core::decision::{APPROVE, AnswerInput, Channel};
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::id::{AgentId, RunnerId, TurnId};
use wakeful_core::inference::ModelProfile;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::message::{Message, RunOptions};
use wakeful_core::problem::Problem;
use wakeful_core::prompt::ModelRequest;
use wakeful_core::run::MACHINE_VERSION;
use wakeful_core::step::{EffectClass, ToolError};
use wakeful_core::time::Millis;
use wakeful_core::wake::AgentControl;
use wakeful_policy::{PolicyEngine, ToolRegistry};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::guidance::NoGuidance;
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};
use wakeful_ports::snapshot::NoSnapshots;
use wakeful_ports::tool::{StopSignal, ToolHost, ToolOutcome, ToolRequest};
use wakeful_runtime::api::{IncomingMessage, NewAgent, RuntimeApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{EndingEngine, EngineFactory, StuckAgents};
use wakeful_runtime::wake::ResolvedOptions;
use wakeful_runtime::{Engine, EngineDefaults, EngineError, Halt};
use wakeful_store::Store;
use wakeful_store::rows::{Agent, Claim, RunRow};

use self::faulty::{FULL_TIMES, Faulty};
use self::life::Life;

const TOOL: &str = "Mail";

/// Time until a question is escalated here.
const PATIENCE_MS: u64 = 90_000;

/// The retry delay that the model requests.
const RETRY_AFTER_MS: u64 = 40_000;

/// Maximum number of scheduling turns before time advances. More than any chain of wakes here needs.
const TURNS: u32 = 200;

/// Virtual time that advances on request.
#[derive(Default)]
pub(super) struct Ticks(Mutex<TicksState>);

#[derive(Default)]
struct TicksState {
    now_ms: u64,
    /// How far the wall clock is behind.
    behind_ms: i64,
    next: u64,
    waits: BTreeMap<(u64, u64), Waker>,
}

impl Ticks {
    fn state(&self) -> MutexGuard<'_, TicksState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances to the next awaited time. Returns false if there is none.
    pub(super) fn advance(&self) -> bool {
        let mut state = self.state();
        let now_ms = state.now_ms;
        let Some(((at_ms, number), waker)) = state.waits.pop_first() else {
            return false;
        };
        state.now_ms = now_ms.max(at_ms);
        let _ = number;
        drop(state);
        waker.wake();
        true
    }

    pub(super) fn pass(&self, ms: u64) {
        let mut state = self.state();
        state.now_ms += ms;
        let newest = (state.now_ms, u64::MAX);
        let later = state.waits.split_off(&newest);
        let due = std::mem::replace(&mut state.waits, later);
        drop(state);
        due.into_values().for_each(Waker::wake);
    }
}

impl Ticks {
    /// Sets the wall clock. Waits in progress are not affected.
    pub(super) fn set(&self, wall: Millis) {
        let mut state = self.state();
        state.behind_ms = i64::try_from(state.now_ms).expect("not for ever") - wall.0;
    }
}

impl Clock for Ticks {
    fn now(&self) -> Millis {
        let state = self.state();
        Millis(i64::try_from(state.now_ms).expect("not for ever") - state.behind_ms)
    }

    fn monotonic_ms(&self) -> u64 {
        self.state().now_ms
    }

    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let key = {
            let mut state = self.state();
            state.next += 1;
            (state.now_ms + ms, state.next)
        };
        Box::pin(poll_fn(move |context| {
            let mut state = self.state();
            if state.now_ms >= key.0 {
                return Poll::Ready(());
            }
            state.waits.insert(key, context.waker().clone());
            Poll::Pending
        }))
    }
}

pub(super) struct Salts;

impl Entropy for Salts {
    fn random_bytes(&self) -> [u8; 32] {
        [7; 32]
    }
}

/// How the model handles its first request.
#[derive(Clone, Copy, PartialEq)]
enum First {
    Fails,
    WantsTool,
    /// The disk is repeatedly full during the request.
    FillsDisk,
    /// It uses the whole reservation.
    Costs,
}

struct SlowModel(First, Arc<Faulty>);

impl Model for SlowModel {
    fn profile(&self, _: &str) -> ModelProfile {
        match self.0 {
            First::Costs => parked::terms(),
            First::Fails | First::WantsTool | First::FillsDisk => ModelProfile::here("sim"),
        }
    }

    async fn call(&self, request: ModelRequest, _: &dyn DeltaSink) -> Result<ModelResponse, ModelFailure> {
        let usage = match self.0 {
            First::Costs => parked::usage(),
            First::Fails | First::WantsTool | First::FillsDisk => Usage::of(1, 1),
        };
        let text = Block::Text { text: "done".into() };
        let call = || {
            Block::ToolUse(ToolCall {
                call_id: "c1".into(),
                name: TOOL.into(),
                input: json!({}),
            })
        };
        if self.0 == First::FillsDisk {
            self.1.fill();
        }
        match (request.request, self.0) {
            (0, First::Fails) => {
                let artifact = FailureArtifact::new(FailureCategory::Transport, "busy", "come back later");
                Err(ModelFailure {
                    retry_after_ms: Some(RETRY_AFTER_MS),
                    ..ModelFailure::new(ModelFailureKind::Retryable, artifact)
                })
            }
            (0, First::WantsTool) => Ok(ModelResponse {
                blocks: vec![call()],
                usage,
            }),
            _ => Ok(ModelResponse {
                blocks: vec![text],
                usage,
            }),
        }
    }
}

/// Counts the sent mails; where a slot is required, it waits for one before sending.
#[derive(Default)]
pub(super) struct Mailer(AtomicU32, Mutex<Option<Arc<Notify>>>);

impl ToolHost for Mailer {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn class(&self, _: &str) -> Option<EffectClass> {
        Some(EffectClass::Plain)
    }

    fn check(&self, _: &str, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn perform(&self, _: ToolRequest, stop: impl StopSignal) -> ToolOutcome {
        let place = self.1.lock().unwrap_or_else(PoisonError::into_inner).take();
        let code = match place {
            Some(place) => waiting_action::let_in(&place, &stop).await,
            None => None,
        };
        self.0.fetch_add(u32::from(code.is_none()), Ordering::Relaxed);
        ToolOutcome {
            content: "{}".into(),
            code,
            exit_status: None,
            sandbox: None,
            blobs: Vec::new(),
            images: Vec::new(),
            changed: Vec::new(),
            retry_after: None,
        }
    }

    async fn clean_up(&self, _: OperationId) {}
}

struct TestEngineFactory {
    store: Store,
    faults: Arc<Faulty>,
    ticks: Arc<Ticks>,
    mailer: Arc<Mailer>,
    first: First,
    hub: Arc<Hub>,
    halt: Halt,
}

impl EngineFactory for TestEngineFactory {
    type Model = SlowModel;
    type Tools = Mailer;

    fn resolve_options(&self, _: &Agent, _: &Message) -> ResolvedOptions {
        ResolvedOptions {
            model_ref: "sim:0".into(),
            fallbacks: Vec::new(),
            max_rounds: 5,
            workspace: "/somewhere".into(),
            deny_tools: BTreeSet::new(),
            ask_tools: [TOOL.to_owned()].into(),
        }
    }

    fn engine(&self, _: &AgentId, _: &ResolvedOptions) -> Result<Engine<SlowModel, Mailer>, EngineError> {
        Ok(Engine {
            store: self.store.clone(),
            model: Arc::new(SlowModel(self.first, Arc::clone(&self.faults))),
            tools: Arc::clone(&self.mailer),
            policy: Arc::new(
                PolicyEngine::new(ToolRegistry::new([TOOL.to_owned()].into())).expect("a policy"),
            ),
            guidance: Arc::new(NoGuidance),
            snapshots: Arc::new(NoSnapshots),
            clock: Arc::<Ticks>::clone(&self.ticks),
            entropy: Arc::new(Salts),
            halt: self.halt.clone(),
            observer: Arc::<Hub>::clone(&self.hub),
            runner: RunnerId::new("daemon"),
            defaults: governance(),
        })
    }

    fn engine_for_ending(&self, agent: &AgentId) -> Result<EndingEngine<SlowModel, Mailer>, EngineError> {
        Err(EngineError::UnknownAgent(agent.clone()))
    }
}

fn governance() -> EngineDefaults {
    EngineDefaults {
        decision_deadline_ms: Some(PATIENCE_MS),
        daily_cap: parked::CAP,
        ..EngineDefaults::default()
    }
}

fn message(turn: &str) -> IncomingMessage {
    IncomingMessage {
        thread: None,
        agent: AgentId::parse("main").expect("a name"),
        turn: TurnId::parse(turn).expect("a turn"),
        text: "do it".into(),
        attachments: Vec::new(),
        run_options: RunOptions::default(),
        priority: wakeful_core::cause::Priority::Normal,
    }
}

/// Sends a message to the agent.
async fn post(api: &RuntimeApi, turn: &str) -> RunKey {
    api.messages.send(message(turn)).await.expect("posted").run_key
}

/// A daemon with one agent and one message.
struct Daemon {
    ticks: Arc<Ticks>,
    api: RuntimeApi,
    store: Store,
    faults: Arc<Faulty>,
    stuck: StuckAgents,
    mailer: Arc<Mailer>,
    run: RunKey,
    life: Life,
}

impl Daemon {
    async fn begin(first: First) -> Self {
        let (ticks, mailer): (Arc<Ticks>, Arc<Mailer>) = Default::default();
        let (store, faults) = Faulty::store();
        let (life, api, stuck) = Self::serve((&store, &faults), (&ticks, &mailer), first);
        let new = NewAgent::new(AgentId::parse("main").expect("a name"), "/somewhere".into());
        api.agents.create(new).await.expect("an agent");
        let run = post(&api, "turn-1").await;
        let daemon = Self {
            ticks,
            api,
            store,
            faults,
            stuck,
            mailer,
            run,
            life,
        };
        daemon.settle().await;
        daemon
    }

    /// Lets every task run until none has work, without advancing time.
    async fn settle(&self) {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
    }

    /// Lets time pass until no task waits, or this much has passed.
    async fn pass(&self, ms: u64) {
        let until_ms = self.ticks.monotonic_ms() + ms;
        while self.ticks.monotonic_ms() < until_ms && self.ticks.advance() {
            self.settle().await;
        }
    }

    async fn status(&self) -> String {
        self.status_of(self.run).await
    }

    async fn status_of(&self, run: RunKey) -> String {
        self.api
            .runs
            .get(run)
            .await
            .expect("a run")
            .row
            .status
            .to_string()
    }
}

#[tokio::test]
async fn a_run_with_a_retry_delay_continues_in_an_idle_daemon() {
    let daemon = Daemon::begin(First::Fails).await;
    assert_eq!(daemon.status().await, "open");
    daemon.pass(RETRY_AFTER_MS).await;
    assert_eq!(daemon.status().await, "completed");
    let late_ms = daemon.ticks.monotonic_ms() - RETRY_AFTER_MS;
    assert!(late_ms < 1_000, "it came {late_ms} ms late");
}

#[tokio::test]
async fn a_question_is_escalated_in_an_idle_daemon_and_answered_once() {
    let daemon = Daemon::begin(First::WantsTool).await;
    let asked = daemon.api.decisions.list(true).await.expect("questions");
    let [question] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    daemon.pass(PATIENCE_MS + 1).await;
    let older = daemon.api.decisions.list(true).await.expect("questions");
    assert!(
        older[0].version > question.version,
        "its deadline was not checked"
    );
    assert_eq!(daemon.mailer.0.load(Ordering::Relaxed), 0);
    let reply = AnswerInput {
        option: APPROVE.into(),
        version: Some(older[0].version),
        channel: Channel::Page,
        note: None,
    };
    let name = question.inquiry.decision_id.to_string();
    daemon.api.decisions.answer(name, reply).await.expect("taken");
    daemon.settle().await;
    assert_eq!(daemon.status().await, "completed");
    assert_eq!(daemon.mailer.0.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_repeatedly_full_disk_quarantines_no_run() {
    let daemon = Daemon::begin(First::FillsDisk).await;
    daemon.pass(24 * 60 * 60 * 1_000).await;
    assert!(daemon.faults.filled.load(Ordering::Relaxed) > FULL_TIMES);
    assert_eq!(daemon.status().await, "completed");
}

#[tokio::test]
async fn a_run_of_a_newer_program_version_is_not_touched() {
    let daemon = Daemon::begin(First::WantsTool).await;
    let run = daemon.run;
    let be_of = async |version: Option<u32>| {
        let changed = daemon.store.write(move |tx| {
            let row = tx.run(&run)?.expect("a run");
            let machine_version = version.unwrap_or(MACHINE_VERSION);
            let row = RunRow {
                machine_version,
                ..row
            };
            tx.put_state(&row, row.version)
        });
        changed.await.expect("written");
    };
    let question = daemon
        .api
        .decisions
        .list(true)
        .await
        .expect("questions")
        .remove(0);
    be_of(Some(MACHINE_VERSION + 1)).await;
    let reply = AnswerInput {
        option: APPROVE.into(),
        version: None,
        channel: Channel::Page,
        note: None,
    };
    let name = question.inquiry.decision_id.to_string();
    daemon.api.decisions.answer(name, reply).await.expect("taken");
    daemon.pass(60_000).await;
    assert_eq!(daemon.status().await, "open");
    let stuck = daemon.stuck.all();
    let [(agent, why)] = stuck.as_slice() else {
        panic!("{stuck:?}")
    };
    let problem = Problem::from(&**why);
    assert_eq!(problem.code, "machine_version_unsupported");
    let words = "only the newer wakeful that started it can continue it";
    assert!(problem.hint.contains(words), "{problem:?}");
    let (wanted, runner) = (agent.clone(), RunnerId::new("newer"));
    let claimed = daemon.store.write(move |tx| {
        let claim = tx.claim_head(&wanted, &runner)?;
        if let Claim::Won(fence) = claim {
            tx.release_head(&wanted, fence)?;
        }
        Ok(claim)
    });
    assert!(
        matches!(claimed.await, Ok(Claim::Won(_))),
        "the newer one can have it"
    );
    be_of(None).await;
    daemon
        .api
        .agents
        .set_control(agent.clone(), AgentControl::Running)
        .await
        .expect("set");
    daemon.settle().await;
    assert_eq!(daemon.status().await, "completed");
    assert_eq!(daemon.mailer.0.load(Ordering::Relaxed), 1);
}
