//! How the actions of one round are performed: side by side, within a time limit, and only under the policy that
//! is in force when they begin.

mod changing_policy;
mod fault;
mod flow;
mod gate;
mod judged_again;
mod process;
mod quota;
mod rate;
mod side_by_side;
mod web_search;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::conversation::{Block, ToolCall, ToolSpec, Usage};
use wakeful_core::failure::ModelFailure;
use wakeful_core::id::{AgentId, PolicyVersion, RunnerId, TurnId};
use wakeful_core::inference::{InferencePermissions, ModelProfile};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::message::RunOptions;
use wakeful_core::policy::{ActionRules, CallFacts, PermissionMode, PolicyQuery, PolicyVerdict, Target};
use wakeful_core::prompt::ModelRequest;
use wakeful_core::retry::RetryPolicy;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::step::{EffectClass, RetryAfter, StepStatus, ToolError};
use wakeful_core::tool::{
    Capability, ChangedEntity, Connection, EnvironmentCapability, RiskLevel, ToolContract, ToolQuota,
    ToolRiskClassification, WEB_SEARCH, WakeReason,
};
use wakeful_policy::{PolicyEngine, ToolRegistry};
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};
use wakeful_ports::policy::Policy;
use wakeful_ports::tool::{StopSignal, TOOL_MS_MAX, ToolHost, ToolOutcome, ToolRequest};
use wakeful_runtime::api::{IncomingMessage, NewAgent, RuntimeApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{Options, Service, WriterMode};
use wakeful_runtime::{EngineDefaults, Halt, HaltSwitch};
use wakeful_store::Store;

use self::changing_policy::ChangingPolicy;
use self::process::{Parts, Process};
use crate::engine_factory::SameEngineFactory;
use crate::service::{Salts, Ticks};

const TOOL: &str = "Look";

/// More scheduling turns than any chain of wakes here needs.
const TURNS: u32 = 400;

/// Requests some calls in its first round, and then lets the faults of the store begin.
struct Caller {
    calls: usize,
    fault: Option<Arc<fault::StageFault>>,
    /// The names of the tools that the newest request offered.
    offered: Arc<Mutex<Vec<String>>>,
    /// Whether its provider searches the web for the first reply.
    searches: bool,
}

impl Model for Caller {
    fn profile(&self, _: &str) -> ModelProfile {
        ModelProfile {
            searches_web: self.searches,
            ..ModelProfile::here("sim")
        }
    }

    async fn call(&self, request: ModelRequest, _: &dyn DeltaSink) -> Result<ModelResponse, ModelFailure> {
        let call = |number: usize| {
            Block::ToolUse(ToolCall {
                call_id: format!("c{number}"),
                name: TOOL.into(),
                input: json!({ "number": number }),
            })
        };
        let names = request.tools.iter().map(|tool| tool.name.clone());
        *self.offered.lock().expect("a list") = names.collect();
        let blocks = match request.request {
            0 => {
                if let Some(fault) = &self.fault {
                    fault.arm();
                }
                let found = self.searches.then(web_search::found);
                found.into_iter().chain((0..self.calls).map(call)).collect()
            }
            _ => vec![Block::Text { text: "done".into() }],
        };
        Ok(ModelResponse {
            blocks,
            usage: Usage::of(1, 1),
        })
    }
}

/// What happens to an action that has begun.
#[derive(Clone, Copy, PartialEq)]
enum Ending {
    /// It ends when a permit is given.
    Permit,
    /// It never ends, not even on request.
    Never,
}

/// A tool whose actions can be counted while they run.
struct Looks {
    class: EffectClass,
    ending: Ending,
    permits: Semaphore,
    running: AtomicUsize,
    running_max: AtomicUsize,
    begun: Mutex<Vec<u64>>,
    gate: GateCase,
    /// What the arguments lead to; none for a tool without paths and hosts.
    target: Mutex<Option<Target>>,
    connections: Vec<Connection>,
    /// The code with which the tool itself refuses an action.
    refuses: Option<&'static str>,
    log: Arc<CallLog>,
    /// The targets that each begun action was granted.
    granted: Mutex<Vec<Vec<Target>>>,
    /// How many actions fail at first, and ask to be repeated after a minute.
    busy: AtomicUsize,
}

/// The order in which the engine consults the tool host and the policy about a call.
#[derive(Default)]
struct CallLog(Mutex<Vec<&'static str>>);

impl CallLog {
    fn note(&self, what: &'static str) {
        self.0.lock().expect("a list").push(what);
    }
}

/// Which gate before the policy stops the calls.
#[derive(Clone, Copy, Default, PartialEq)]
enum GateCase {
    #[default]
    None,
    /// The agent may use no category.
    NoCategory,
    /// The agent lacks the capability that the tool needs.
    NoCapability,
    /// The tool is only for runs of schedules.
    OtherReason,
    /// The tool has no contract.
    NoContract,
    /// No risk classification matches the tool.
    Unclassified,
    /// The arguments do not match the tool's schema.
    BadArguments,
    /// The agent's data has a category that gives the tool no argument.
    UnlistedArgument,
}

/// When the policy starts to deny the tool.
#[derive(Clone, Copy, PartialEq)]
enum DenialMoment {
    /// After the verdicts were given, before the intents are committed.
    BeforeCommit,
    /// After the intents were committed.
    AfterCommit,
}

impl ToolHost for Looks {
    fn specs(&self) -> Vec<ToolSpec> {
        let spec = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            freeform: None,
        };
        vec![spec(TOOL), spec(WEB_SEARCH)]
    }

    fn class(&self, _: &str) -> Option<EffectClass> {
        Some(self.class)
    }

    fn check(&self, _: &str, _: &Value) -> Result<(), ToolError> {
        self.log.note("check");
        if self.gate == GateCase::BadArguments {
            return Err(ToolError::new("invalid_arguments", "number: must be text", ""));
        }
        Ok(())
    }

    fn constraint(&self, _: &str, _: &Value, _: &SandboxScope) -> Option<String> {
        let target = self.target.lock().expect("a target").clone()?;
        Some(format!("{target} is excluded by the entry \"/etc\""))
    }

    fn contract(&self, tool: &str) -> Option<ToolContract> {
        self.log.note("contract");
        let contract = ToolContract::open(tool, self.class, RiskLevel::Medium);
        match self.gate {
            GateCase::NoContract => None,
            GateCase::OtherReason => Some(ToolContract {
                allowed_wake_reasons: [WakeReason::Timer].into(),
                ..contract
            }),
            GateCase::NoCapability => Some(ToolContract {
                capabilities_required: [Capability::Environment(EnvironmentCapability::CommandRun)].into(),
                ..contract
            }),
            GateCase::None
            | GateCase::NoCategory
            | GateCase::Unclassified
            | GateCase::BadArguments
            | GateCase::UnlistedArgument => Some(contract),
        }
    }

    fn risk_classification(&self, tool: &str) -> Option<ToolRiskClassification> {
        let contract = self
            .contract(tool)
            .filter(|_| self.gate != GateCase::Unclassified)?;
        Some(ToolRiskClassification::of(&contract))
    }

    fn facts(&self, _: &str, _: &Value, _: &SandboxScope) -> CallFacts {
        self.log.note("facts");
        let target = self.target.lock().expect("a target").clone();
        CallFacts {
            targets: target.into_iter().collect(),
            ..CallFacts::default()
        }
    }

    fn retry(&self, _: &str) -> Option<RetryPolicy> {
        Some(RetryPolicy::REPEATABLE)
    }

    async fn perform(&self, act: ToolRequest, _: impl StopSignal) -> ToolOutcome {
        self.log.note("perform");
        self.granted.lock().expect("a list").push(act.grant.targets);
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.running_max.fetch_max(running, Ordering::SeqCst);
        let number = act.input.get("number").and_then(Value::as_u64).expect("a number");
        self.begun.lock().expect("a list").push(number);
        match self.ending {
            Ending::Permit => self.permits.acquire().await.expect("open").forget(),
            Ending::Never => std::future::pending().await,
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        let is_busy = self.busy.load(Ordering::SeqCst) > 0;
        if is_busy {
            self.busy.fetch_sub(1, Ordering::SeqCst);
        }
        let after_ms = Some(60_000);
        ToolOutcome {
            content: json!({ "number": number, "connections": self.connections }).to_string(),
            code: is_busy.then_some("busy").or(self.refuses).map(str::to_owned),
            exit_status: None,
            sandbox: Some("full".into()),
            blobs: Vec::new(),
            images: Vec::new(),
            changed: vec![ChangedEntity::new("task", &number.to_string())],
            retry_after: is_busy.then_some(RetryAfter { after_ms }),
        }
    }

    async fn clean_up(&self, _: OperationId) {}
}

struct Daemon {
    ticks: Arc<Ticks>,
    tools: Arc<Looks>,
    offered: Arc<Mutex<Vec<String>>>,
    api: RuntimeApi,
    store: Store,
    run: RunKey,
    policy: Arc<ChangingPolicy>,
    parts: Parts,
    process: Process,
}

fn agent() -> AgentId {
    AgentId::parse("main").expect("a name")
}

fn message(turn: &str) -> IncomingMessage {
    IncomingMessage {
        thread: None,
        agent: agent(),
        turn: TurnId::parse(turn).expect("a turn"),
        text: "look".into(),
        attachments: Vec::new(),
        run_options: RunOptions::default(),
        priority: wakeful_core::cause::Priority::Normal,
    }
}

struct Setting {
    /// A fault of the store after the model's first reply. The actions then end by themselves.
    fault: Option<Arc<fault::StageFault>>,
    calls: usize,
    class: EffectClass,
    ending: Ending,
    denies: Option<DenialMoment>,
    gate: GateCase,
    mode: PermissionMode,
    target: Option<Target>,
    refuses: Option<&'static str>,
    busy: usize,
    brakes: bool,
    quota: Option<ToolQuota>,
    /// What the commands connected to.
    connections: Vec<Connection>,
    /// The settings of an agent whose provider searches the web.
    search: Option<fn(&mut AgentSettings)>,
    /// What another process does while the first verdict is given.
    during_verdict: Option<fn(&Store)>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            fault: None,
            calls: 1,
            class: EffectClass::Plain,
            ending: Ending::Permit,
            denies: None,
            gate: GateCase::None,
            mode: PermissionMode::default(),
            target: None,
            refuses: None,
            busy: 0,
            brakes: false,
            quota: None,
            connections: Vec::new(),
            search: None,
            during_verdict: None,
        }
    }
}

fn restrict(settings: &mut AgentSettings, setting: &Setting) {
    settings.permission_mode = setting.mode;
    let quota = setting.quota.map(|quota| (TOOL.to_owned(), quota));
    settings.tool_quotas.extend(quota);
    if let Some(change) = setting.search {
        change(settings);
    }
    match setting.gate {
        GateCase::NoCategory => settings.allowed_category_ids.clear(),
        GateCase::NoCapability => {
            let read = Capability::Environment(EnvironmentCapability::FileRead);
            settings.capabilities = Some([read].into());
        }
        GateCase::None
        | GateCase::OtherReason
        | GateCase::NoContract
        | GateCase::Unclassified
        | GateCase::BadArguments
        | GateCase::UnlistedArgument => {}
    }
}

/// Sends the agent a message in a new turn.
async fn send(api: &RuntimeApi, turn: &str) -> RunKey {
    let message = IncomingMessage {
        thread: None,
        agent: AgentId::parse("main").expect("a name"),
        turn: TurnId::parse(turn).expect("a turn"),
        text: "look".into(),
        attachments: Vec::new(),
        run_options: RunOptions::default(),
        priority: wakeful_core::cause::Priority::Normal,
    };
    api.messages.send(message).await.expect("sent").run_key
}

impl Daemon {
    async fn begin(setting: Setting) -> Self {
        let ticks: Arc<Ticks> = Arc::default();
        let mut store = Store::in_memory("action").expect("a store");
        if let Some(fault) = &setting.fault {
            store = store.with_faults(Arc::<fault::StageFault>::clone(fault));
        }
        let log: Arc<CallLog> = Arc::default();
        let tools = Arc::new(Looks::new(&setting, Arc::clone(&log)));
        let policy = Arc::new(ChangingPolicy {
            gate: setting.gate,
            rules: PolicyEngine::new(ToolRegistry::new([TOOL.to_owned(), WEB_SEARCH.to_owned()].into()))
                .expect("a policy"),
            denies: AtomicBool::new(false),
            moment: setting.denies,
            versions: AtomicUsize::new(0),
            brakes: setting.brakes.then(|| store.clone()),
            log,
            during_verdict: Mutex::new(setting.during_verdict),
            store: store.clone(),
        });
        let offered: Arc<Mutex<Vec<String>>> = Arc::default();
        let model = Arc::new(Caller {
            calls: setting.calls,
            fault: setting.fault.clone(),
            offered: Arc::clone(&offered),
            searches: setting.search.is_some(),
        });
        let parts = Parts {
            store: store.clone(),
            model,
            tools: Arc::clone(&tools),
            policy: Arc::clone(&policy),
            ticks: Arc::clone(&ticks),
        };
        let (process, api) = Process::start(parts.clone());
        let agent = agent();
        let mut new = NewAgent::new(agent.clone(), "/somewhere".into());
        restrict(&mut new.settings, &setting);
        api.agents.create(new).await.expect("an agent");
        let run = send(&api, "turn-1").await;
        let daemon = Self {
            ticks,
            tools,
            offered,
            api,
            store,
            run,
            policy,
            parts,
            process,
        };
        daemon.settle().await;
        daemon
    }

    async fn settle(&self) {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
    }

    /// The status of the run, and of its actions with their codes.
    async fn outcome(&self) -> (String, Vec<(StepStatus, String)>) {
        self.outcome_of(self.run).await
    }

    async fn outcome_of(&self, run: RunKey) -> (String, Vec<(StepStatus, String)>) {
        let run = self.api.runs.get(run).await.expect("a run");
        let steps = run.tool_calls();
        let steps = steps.map(|step| (step.status, step.reason.clone()));
        (run.row.status.to_string(), steps.collect())
    }

    fn begun(&self) -> Vec<u64> {
        self.tools.begun.lock().expect("a list").clone()
    }
}
