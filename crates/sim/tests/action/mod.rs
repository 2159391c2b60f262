//! How the actions of one round are performed: side by side, within a time limit, and only under the policy that
//! is in force when they begin.

mod gate;
mod quota;

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
use wakeful_core::policy::{ActionRules, PermissionMode, PolicyQuery, PolicyVerdict};
use wakeful_core::prompt::ModelRequest;
use wakeful_core::step::{EffectClass, StepStatus, ToolError};
use wakeful_core::tool::{
    Capability, EnvironmentCapability, RiskLevel, ToolContract, ToolQuota, ToolRiskClassification, WakeReason,
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

use crate::engine_factory::SameEngineFactory;
use crate::service::{Salts, Ticks};

const TOOL: &str = "Look";

/// More scheduling turns than any chain of wakes here needs.
const TURNS: u32 = 400;

/// Requests some calls in its first round.
struct Caller {
    calls: usize,
    /// The names of the tools that the newest request offered.
    offered: Arc<Mutex<Vec<String>>>,
}

impl Model for Caller {
    fn profile(&self, _: &str) -> ModelProfile {
        ModelProfile::here("sim")
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
            0 => (0..self.calls).map(call).collect(),
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
        vec![ToolSpec {
            name: TOOL.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
        }]
    }

    fn class(&self, _: &str) -> Option<EffectClass> {
        Some(self.class)
    }

    fn check(&self, _: &str, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    fn contract(&self, tool: &str) -> Option<ToolContract> {
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
            GateCase::None | GateCase::NoCategory | GateCase::Unclassified => Some(contract),
        }
    }

    fn risk_classification(&self, tool: &str) -> Option<ToolRiskClassification> {
        let contract = self
            .contract(tool)
            .filter(|_| self.gate != GateCase::Unclassified)?;
        Some(ToolRiskClassification::of(&contract))
    }

    async fn perform(&self, act: ToolRequest, _: impl StopSignal) -> ToolOutcome {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.running_max.fetch_max(running, Ordering::SeqCst);
        let number = act.input.get("number").and_then(Value::as_u64).expect("a number");
        self.begun.lock().expect("a list").push(number);
        match self.ending {
            Ending::Permit => self.permits.acquire().await.expect("open").forget(),
            Ending::Never => std::future::pending().await,
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        ToolOutcome {
            content: json!({ "number": number }).to_string(),
            code: None,
            exit_status: None,
            sandbox: None,
            blobs: Vec::new(),
            retry_after: None,
        }
    }

    async fn clean_up(&self, _: OperationId) {}
}

/// Permits the tool until a moment, and denies it afterwards. A verdict or a look at the version is one passage.
struct ChangingPolicy {
    rules: PolicyEngine,
    denies: AtomicBool,
    moment: Option<DenialMoment>,
    versions: AtomicUsize,
    during_verdict: Mutex<Option<fn(&Store)>>,
    store: Store,
}

impl ChangingPolicy {
    fn rules(&self, rules: &ActionRules) -> ActionRules {
        let mut rules = rules.clone();
        if self.denies.load(Ordering::SeqCst) {
            rules.denied.insert(TOOL.into());
        }
        rules
    }
}

impl Policy for ChangingPolicy {
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict {
        let rules = self.rules(question.rules);
        let verdict = self.rules.decide(&PolicyQuery {
            rules: &rules,
            ..question.clone()
        });
        if let Some(act) = self.during_verdict.lock().expect("a function").take() {
            act(&self.store);
        }
        if self.moment == Some(DenialMoment::BeforeCommit) {
            self.denies.store(true, Ordering::SeqCst);
        }
        verdict
    }

    fn version(&self, agent: &AgentId, rules: &ActionRules) -> PolicyVersion {
        // The first passage is the verdict's, the second the transaction's, the third the one before the action.
        let passage = self.versions.fetch_add(1, Ordering::SeqCst);
        if self.moment == Some(DenialMoment::AfterCommit) && passage == 2 {
            self.denies.store(true, Ordering::SeqCst);
        }
        self.rules.version(agent, &self.rules(rules))
    }

    fn inference(&self, agent: &AgentId) -> (InferencePermissions, PolicyVersion) {
        Policy::inference(&self.rules, agent)
    }
}

struct Daemon {
    ticks: Arc<Ticks>,
    tools: Arc<Looks>,
    offered: Arc<Mutex<Vec<String>>>,
    api: RuntimeApi,
    store: Store,
    run: RunKey,
    _switch: HaltSwitch,
}

struct Setting {
    calls: usize,
    class: EffectClass,
    ending: Ending,
    denies: Option<DenialMoment>,
    gate: GateCase,
    mode: PermissionMode,
    quota: Option<ToolQuota>,
    /// What another process does while the first verdict is given.
    during_verdict: Option<fn(&Store)>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            calls: 1,
            class: EffectClass::Plain,
            ending: Ending::Permit,
            denies: None,
            gate: GateCase::None,
            mode: PermissionMode::default(),
            quota: None,
            during_verdict: None,
        }
    }
}

fn restrict(settings: &mut AgentSettings, setting: &Setting) {
    settings.permission_mode = setting.mode;
    let quota = setting.quota.map(|quota| (TOOL.to_owned(), quota));
    settings.tool_quotas.extend(quota);
    match setting.gate {
        GateCase::NoCategory => settings.allowed_category_ids.clear(),
        GateCase::NoCapability => {
            let read = Capability::Environment(EnvironmentCapability::FileRead);
            settings.capabilities = Some([read].into());
        }
        GateCase::None | GateCase::OtherReason | GateCase::NoContract | GateCase::Unclassified => {}
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
        let store = Store::in_memory("action").expect("a store");
        let hub: Arc<Hub> = Arc::default();
        let tools = Arc::new(Looks {
            class: setting.class,
            ending: setting.ending,
            permits: Semaphore::new(0),
            running: AtomicUsize::new(0),
            running_max: AtomicUsize::new(0),
            begun: Mutex::default(),
            gate: setting.gate,
        });
        let policy = ChangingPolicy {
            rules: PolicyEngine::new(ToolRegistry::new([TOOL.to_owned()].into())).expect("a policy"),
            denies: AtomicBool::new(false),
            moment: setting.denies,
            versions: AtomicUsize::new(0),
            during_verdict: Mutex::new(setting.during_verdict),
            store: store.clone(),
        };
        let offered: Arc<Mutex<Vec<String>>> = Arc::default();
        let (switch, halt) = Halt::new();
        let (service, api, _) = Service::new(Options {
            store: store.clone(),
            writers: WriterMode::Alone,
            runner: RunnerId::new("daemon"),
            engine_factory: Arc::new(SameEngineFactory {
                store: store.clone(),
                model: Arc::new(Caller {
                    calls: setting.calls,
                    offered: Arc::clone(&offered),
                }),
                tools: Arc::clone(&tools),
                policy: Arc::new(policy),
                clock: Arc::<Ticks>::clone(&ticks),
                entropy: Arc::new(Salts),
                hub: Arc::clone(&hub),
            }),
            hub,
            halt,
            clock: Arc::<Ticks>::clone(&ticks),
            entropy: Arc::new(Salts),
            governance: EngineDefaults::default(),
        });
        tokio::spawn(service.run());
        let agent = AgentId::parse("main").expect("a name");
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
            _switch: switch,
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

#[tokio::test]
async fn at_most_four_repeatable_actions_run_at_once() {
    let daemon = Daemon::begin(Setting {
        calls: 6,
        class: EffectClass::Idempotent,
        ending: Ending::Permit,
        denies: None,
        ..Setting::default()
    })
    .await;
    assert_eq!(daemon.begun(), [0, 1, 2, 3]);
    daemon.tools.permits.add_permits(6);
    daemon.settle().await;
    assert_eq!(daemon.tools.running_max.load(Ordering::SeqCst), 4);
    assert_eq!(daemon.begun(), [0, 1, 2, 3, 4, 5]);
    let (status, steps) = daemon.outcome().await;
    assert_eq!((status.as_str(), steps.len()), ("completed", 6));
    assert!(steps.iter().all(|(status, _)| *status == StepStatus::Ok));
}

#[tokio::test]
async fn plain_actions_run_one_at_a_time() {
    let daemon = Daemon::begin(Setting {
        calls: 3,
        class: EffectClass::Plain,
        ending: Ending::Permit,
        denies: None,
        ..Setting::default()
    })
    .await;
    daemon.tools.permits.add_permits(3);
    daemon.settle().await;
    assert_eq!(daemon.tools.running_max.load(Ordering::SeqCst), 1);
    assert_eq!(daemon.begun(), [0, 1, 2]);
}

#[tokio::test]
async fn an_action_judged_by_an_outdated_policy_never_begins() {
    for class in [EffectClass::Plain, EffectClass::Idempotent] {
        for denies in [DenialMoment::BeforeCommit, DenialMoment::AfterCommit] {
            let daemon = Daemon::begin(Setting {
                calls: 1,
                class,
                ending: Ending::Permit,
                denies: Some(denies),
                ..Setting::default()
            })
            .await;
            daemon.tools.permits.add_permits(1);
            daemon.settle().await;
            assert_eq!(daemon.begun(), Vec::<u64>::new());
            let (status, steps) = daemon.outcome().await;
            assert_eq!(status, "completed");
            assert_eq!(steps, [(StepStatus::Denied, "denied_tool".to_owned())]);
        }
    }
}

#[tokio::test]
async fn a_tool_that_never_ends_is_stopped_after_its_time_limit() {
    for (class, status, reason) in [
        (EffectClass::Idempotent, StepStatus::Failed, "timed_out"),
        (EffectClass::Plain, StepStatus::OutcomeUnknown, "outcome_unknown"),
    ] {
        let daemon = Daemon::begin(Setting {
            calls: 1,
            class,
            ending: Ending::Never,
            denies: None,
            ..Setting::default()
        })
        .await;
        assert_eq!(daemon.begun(), [0]);
        while daemon.ticks.advance() && daemon.outcome().await.0 == "open" {
            daemon.settle().await;
        }
        let (run, steps) = daemon.outcome().await;
        assert_eq!(run, "completed");
        assert_eq!(steps, [(status, reason.to_owned())]);
        let waited_ms = wakeful_ports::clock::Clock::monotonic_ms(&*daemon.ticks);
        let limits = TOOL_MS_MAX..TOOL_MS_MAX + 10_000;
        assert!(limits.contains(&waited_ms), "{waited_ms}");
    }
}
