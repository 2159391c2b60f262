//! The ports of a daemon in a scenario: model, tools, clock and salts, and the engine factory over them.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use wakeful_core::conversation::{Block, ToolCall, ToolSpec, Usage};
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::inference::ModelProfile;
use wakeful_core::journal::{Author, Mutation};
use wakeful_core::key::OperationId;
use wakeful_core::message::Message;
use wakeful_core::prompt::ModelRequest;
use wakeful_core::run::runtime_failure;
use wakeful_core::step::{EffectClass, ToolError};
use wakeful_core::sub_run::START_RUN;
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::guidance::NoGuidance;
use wakeful_ports::journal::{Journal as _, WriteRequest};
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};
use wakeful_ports::snapshot::NoSnapshots;
use wakeful_ports::tool::{StopSignal, ToolHost, ToolOutcome, ToolRequest};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{EndingEngine, EngineFactory};
use wakeful_runtime::wake::ResolvedOptions;
use wakeful_runtime::{Engine, EngineDefaults, EngineError, Halt};
use wakeful_store::Store;
use wakeful_store::rows::Agent;

use super::script::{AGENTS, one_of};
use super::world::DaemonProcess;
use crate::faulty_store::Process as _;
use crate::ledger::Site;
use crate::rng::Rng;
use crate::tool_policy::tool_policy;

/// A tool that writes a task to the journal.
const WRITE: &str = "Write";

/// A tool with an effect that must not be repeated.
const MAIL: &str = "Mail";

/// Maximum number of requests of a run in which the model calls tools.
const WANTS_MAX: u32 = 2;

/// Maximum delay of a model response. During a request the daemon checks for cancellation many times a
/// second.
const DELAY_MS_MAX: u32 = 1_500;

pub(crate) struct AlertClock(pub(crate) DaemonProcess);

impl Clock for AlertClock {
    fn now(&self) -> Millis {
        self.0.world.wall.now()
    }

    fn monotonic_ms(&self) -> u64 {
        self.0.world.wall.ticks_ms()
    }

    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.0.sleep(ms))
    }

    fn sleep_until(&self, moment: Millis) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.0.world.wall.wait_until(moment))
    }
}

/// Salts derived from the seed.
pub(crate) struct AlertSalts(pub(crate) DaemonProcess);

impl Entropy for AlertSalts {
    fn random_bytes(&self) -> [u8; 32] {
        self.0.world.salt()
    }
}

/// A model whose response depends only on the run and the number of the request.
pub(crate) struct AlertModel(DaemonProcess);

/// The model reference of a run: its causal depth and its run key.
fn named(depth: u32, message: &Message) -> String {
    format!("sim:{depth}:{}", message.run_key)
}

impl AlertModel {
    fn said(&self, model_ref: &str, request: u32) -> (u64, Result<Vec<Block>, ModelFailure>) {
        let mut parts = model_ref.split(':').skip(1);
        let depth: u32 = parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
        let place = format!("said/{}/{request}", parts.next().unwrap_or_default());
        let mut chance = Rng::at(self.0.world.seed, &place);
        let delay_ms = match chance.below(5) {
            0 => u64::from(1 + chance.below(DELAY_MS_MAX)),
            _ => 0,
        };
        let text = || vec![Block::Text { text: "done".into() }];
        // Runs deep in a chain of wakes call fewer tools, so that scenarios end soon.
        let is_calm = request >= WANTS_MAX || !chance.one_in(2 + depth);
        let answer = match chance.below(12) {
            0 if request < WANTS_MAX => Err(failure(ModelFailureKind::FailFast, None)),
            1 if request < WANTS_MAX => Err(failure(ModelFailureKind::Retryable, Some(30_000))),
            _ if is_calm => Ok(text()),
            2..6 => Ok(vec![call(&mut chance, MAIL)]),
            6..8 => Ok(vec![call(&mut chance, START_RUN)]),
            8 => Ok(vec![call(&mut chance, WRITE), call(&mut chance, START_RUN)]),
            _ => Ok(vec![call(&mut chance, WRITE)]),
        };
        (delay_ms, answer)
    }
}

fn call(chance: &mut Rng, name: &str) -> Block {
    let input = match name {
        START_RUN => json!({"agent_id": one_of(chance, &AGENTS), "initial_message": "a part of it"}),
        _ => json!({"n": chance.below(3)}),
    };
    Block::ToolUse(ToolCall {
        call_id: format!("{}-{}", name.to_lowercase(), chance.below(1_000_000)),
        name: name.to_owned(),
        input,
    })
}

fn failure(kind: ModelFailureKind, retry_after_ms: Option<u64>) -> ModelFailure {
    let artifact = FailureArtifact::new(
        FailureCategory::Transport,
        "no_luck",
        "the provider is unavailable",
    );
    ModelFailure {
        retry_after_ms,
        ..ModelFailure::new(kind, artifact)
    }
}

impl Model for AlertModel {
    fn profile(&self, _: &str) -> ModelProfile {
        ModelProfile::here("sim")
    }

    async fn call(&self, request: ModelRequest, _: &dyn DeltaSink) -> Result<ModelResponse, ModelFailure> {
        self.0.pass(Site::BeforeAsk).await;
        let model_ref = &request.model_ref;
        if !model_ref.starts_with("sim:") {
            self.0.world.complain(format!("unexpected model {model_ref}"));
            return Err(runtime_failure("unknown_model", "unknown model"));
        }
        let run = model_ref.rsplit(':').next().unwrap_or_default().to_owned();
        self.0
            .world
            .note(|ledger| *ledger.asked.entry(run).or_default() += 1);
        let (delay_ms, answer) = self.said(model_ref, request.request);
        if delay_ms > 0 {
            self.0.sleep(delay_ms).await;
        }
        self.0.pass(Site::AfterAnswer).await;
        answer.map(|blocks| ModelResponse {
            blocks,
            usage: Usage::of(1, 1),
        })
    }
}

/// Tools that write to the journal or have an effect that must not be repeated.
pub(crate) struct AlertTools(DaemonProcess);

impl AlertTools {
    async fn write(&self, act: ToolRequest) -> Result<(), String> {
        let title = format!("task {}", act.input.get("n").and_then(Value::as_u64).unwrap_or(0));
        let order = WriteRequest {
            operation_id: act.operation_id,
            author: Author::Agent(act.agent_id),
            mutation: Mutation::CreateTask {
                title,
                details: String::new(),
                category: None,
            },
            at: act.at,
        };
        let written = self.0.world.journal.write(order).await;
        written.map(drop).map_err(|error| error.to_string())
    }
}

impl ToolHost for AlertTools {
    fn specs(&self) -> Vec<ToolSpec> {
        let spec = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: format!("does what a {name} does"),
            input_schema: json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
            freeform: None,
        };
        vec![spec(WRITE), spec(MAIL)]
    }

    fn class(&self, tool: &str) -> Option<EffectClass> {
        match tool {
            WRITE => Some(EffectClass::Idempotent),
            MAIL => Some(EffectClass::Plain),
            _ => None,
        }
    }

    fn check(&self, _: &str, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn perform(&self, act: ToolRequest, _: impl StopSignal) -> ToolOutcome {
        self.0.pass(Site::BeforeAct).await;
        if act.tool == MAIL {
            let operation = act.operation_id;
            self.0.world.note(|ledger| ledger.deeds.push(operation));
        } else if let Err(why) = self.write(act).await {
            self.0
                .world
                .complain(format!("the journal refused a write of an agent: {why}"));
        }
        self.0.pass(Site::AfterAct).await;
        ToolOutcome {
            content: "{}".into(),
            code: None,
            exit_status: None,
            sandbox: None,
            blobs: Vec::new(),
            images: Vec::new(),
            changed: Vec::new(),
            retry_after: None,
        }
    }

    async fn clean_up(&self, _: OperationId) {
        self.0.pass(Site::Clear).await;
    }
}

/// Creates the engines of a daemon.
pub(crate) struct SimEngineFactory {
    pub(crate) being: DaemonProcess,
    pub(crate) store: Store,
    pub(crate) hub: Arc<Hub>,
    pub(crate) halt: Halt,
}

impl EngineFactory for SimEngineFactory {
    type Model = AlertModel;
    type Tools = AlertTools;

    fn resolve_options(&self, _: &Agent, message: &Message) -> ResolvedOptions {
        let above = message.parent.as_ref().map_or(0, |parent| parent.depth);
        let depth = message.cause.depth.saturating_add(above);
        ResolvedOptions {
            model_ref: named(depth, message),
            fallbacks: Vec::new(),
            max_rounds: 5,
            workspace: "/somewhere".into(),
            deny_tools: BTreeSet::new(),
            ask_tools: BTreeSet::new(),
        }
    }

    fn engine(
        &self,
        _: &AgentId,
        _: &ResolvedOptions,
    ) -> Result<Engine<AlertModel, AlertTools>, EngineError> {
        let names = [WRITE, MAIL, START_RUN].map(str::to_owned);
        Ok(Engine {
            store: self.store.clone(),
            model: Arc::new(AlertModel(self.being.clone())),
            tools: Arc::new(AlertTools(self.being.clone())),
            policy: Arc::new(tool_policy(names.into())),
            guidance: Arc::new(NoGuidance),
            snapshots: Arc::new(NoSnapshots),
            clock: Arc::new(AlertClock(self.being.clone())),
            entropy: Arc::new(AlertSalts(self.being.clone())),
            halt: self.halt.clone(),
            observer: Arc::<Hub>::clone(&self.hub),
            runner: runner(&self.being),
            defaults: EngineDefaults::default(),
        })
    }

    fn engine_for_ending(
        &self,
        agent: &AgentId,
    ) -> Result<EndingEngine<AlertModel, AlertTools>, EngineError> {
        Err(EngineError::UnknownAgent(agent.clone()))
    }
}

/// The runner id of a daemon.
pub(crate) fn runner(being: &DaemonProcess) -> RunnerId {
    RunnerId::new(format!("life-{}", being.number))
}
