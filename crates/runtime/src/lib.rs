//! The loops that perform what the core decides.
//!
//! | module | does |
//! |---|---|
//! | `admission` | stores a cause as a queued message, or as a refusal with its reason |
//! | `absorb` | finds an agent's next work; one run may handle several queued messages |
//! | [`wake`] | decides whether a message's run starts; commits the wake record and the run's first state |
//! | [`run`] | the driver: loads a run, performs its effects and feeds results back until it ends |
//! | `step` | chooses and performs the next effect of a run |
//! | `model_call` | one model request: gates, reservation, sending; the core decides about retries |
//! | `tool_call` | performs actions in the sandbox |
//! | `snapshot` | records the workspace before a run's first write and after its last one |
//! | `sub_run` | starts runs of other agents and reports their ends to the parent |
//! | `interject` | lets a person's message join a run in progress |
//! | `wait` | waits for timers, people's answers and the ends of sub-runs |
//! | [`api`] | the services that the server and the commands call, one per noun |
//! | [`service`] | the service loop: drives agents that have work, within bounds |
//! | [`notice`] | from change to message: dispatches each notice once to its subscriptions |
//! | [`watch`] | turns changes of watched folders and repositories into notices, each once |
//! | [`schedule`] | the scheduler: turns due firings into messages and records their outcomes |
//! | [`hub`] | publishes committed events to listeners |
//! | [`proof`] | verifies logs and runs, signs heads, erases and exports |
//! | [`saga`] | undoes journal writes whose run can never continue |
//! | [`problem`] | describes engine errors, the same way in every interface |
//! | [`retention`] | prunes old data and removes unreferenced blobs |
//! | [`stored_run`] | a stored run as clients see it |
//!
//! No code is specific to recovery except [`saga`], which only undoes. An interrupted run has effects
//! without results, and the ordinary driver handles them like any others; the one difference, that a plain
//! action may not be retried, is a rule of the core.
#![forbid(unsafe_code)]

mod absorb;
mod admission;
pub mod api;
mod budget;
mod halt;
mod hook;
mod host_policy;
pub mod hub;
mod interject;
mod judgement;
mod missing_blob;
mod model_call;
pub mod notice;
mod offered_tools;
pub mod problem;
pub mod proof;
mod provenance;
mod redaction;
pub mod retention;
pub mod run;
pub mod saga;
pub mod schedule;
pub mod service;
mod snapshot;
mod stamp;
mod step;
pub mod stored_run;
mod sub_run;
mod tool_call;
mod tool_output;
mod wait;
pub mod wake;
pub mod watch;

use std::sync::Arc;

pub use api::schedule::ScheduleRefusal;
pub use halt::{Halt, HaltSwitch};
pub use stamp::Stamp;
use wakeful_core::budget::{BudgetExceeded, DAILY_CAP_DEFAULT, MicroUsd};
use wakeful_core::decision::{AnswerError, DEADLINE_MS_DEFAULT};
use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::key::{DecisionId, OperationId, RunKey};
use wakeful_core::problem::Problem;
use wakeful_core::report::Event;
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Lifecycle, Refusal};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::guidance::GuidanceSource;
use wakeful_ports::policy::Policy;
use wakeful_ports::snapshot::{SnapshotError, WorkspaceSnapshots};
pub use wakeful_ports::tool::OutputStream;
use wakeful_store::Store;
/// Re-exported for crates that do not depend on the store.
pub use wakeful_store::{PendingStop, StoreError, rows};

use crate::api::subscription::SubscriptionError;

/// The dependencies of the loops.
#[derive(Clone)]
pub struct Engine<M, T> {
    pub store: Store,
    pub model: Arc<M>,
    pub tools: Arc<T>,
    /// Decides which actions are allowed.
    pub policy: Arc<dyn Policy>,
    /// Provides the instructions that people wrote for agents.
    pub guidance: Arc<dyn GuidanceSource>,
    /// Records the workspace before a run's first write, and what the run left.
    pub snapshots: Arc<dyn WorkspaceSnapshots>,
    pub clock: Arc<dyn Clock>,
    /// Source of salts.
    pub entropy: Arc<dyn Entropy>,
    /// Set when the process shuts down.
    pub halt: Halt,
    /// Receives committed events.
    pub observer: Arc<dyn Observer>,
    /// This process's id in the store.
    pub runner: RunnerId,
    pub defaults: EngineDefaults,
}

/// Defaults for everything that is not configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineDefaults {
    /// The daily cap for all agents together until a person sets one.
    pub daily_cap: MicroUsd,
    /// How a person confirms that a provider may receive an agent's work.
    pub privacy: PrivacyMode,
    /// How long a decision waits for an answer before its severity is raised; none for no deadline.
    pub decision_deadline_ms: Option<u64>,
    /// Whether new schedules catch up missed firings.
    pub catches_up_by_default: bool,
    /// How many calls of one tool an agent may begin within a minute; 0 for no limit.
    pub tool_calls_per_minute: u32,
}

/// How a person confirms that a provider may receive an agent's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivacyMode {
    /// By requesting a run that needs the provider.
    Implied,
    /// Only by an explicit confirmation.
    Explicit,
}

impl Default for EngineDefaults {
    fn default() -> Self {
        Self {
            daily_cap: DAILY_CAP_DEFAULT,
            privacy: PrivacyMode::Implied,
            decision_deadline_ms: Some(DEADLINE_MS_DEFAULT),
            catches_up_by_default: false,
            tool_calls_per_minute: 0,
        }
    }
}

/// Receives events right after their commit. Must not block, because the run waits.
pub trait Observer: Send + Sync + 'static {
    /// These events of an agent were committed. If the list is empty, the log may have grown by events that
    /// the caller does not have; read them from the store.
    fn on_events(&self, agent: &AgentId, events: &[Event]);

    /// A model produced text that is not durable yet.
    fn on_text_delta(&self, _spoken: &TextDelta<'_>) {}

    /// A running action produced output that is not durable yet.
    fn on_tool_output(&self, _printed: &ToolOutputDelta<'_>) {}

    /// Reserved money was settled, so some of it may be available again. Has no default, so that every
    /// wrapper forwards it.
    fn on_spend_settled(&self);
}

/// A piece of a model's streamed text.
#[derive(Debug, Clone, Copy)]
pub struct TextDelta<'a> {
    pub agent: &'a AgentId,
    pub run: RunKey,
    /// The number of the request within the run, from 0.
    pub attempt: u32,
    /// The number of the piece within the request, from 0.
    pub chunk: u32,
    pub text: &'a str,
}

/// A piece of the output of a running action: whole lines, without keys of providers. When much is printed
/// at once, the middle is left out.
#[derive(Debug, Clone, Copy)]
pub struct ToolOutputDelta<'a> {
    pub agent: &'a AgentId,
    pub run: RunKey,
    pub operation_id: OperationId,
    pub stream: OutputStream,
    /// The number of the piece within the action, from 0.
    pub chunk: u32,
    pub text: &'a str,
}

/// Digits of an id that is one of several candidates.
const CANDIDATE_DIGITS: usize = 12;

fn listed(candidates: &[DecisionId]) -> String {
    let short = |id: &DecisionId| id.to_string().chars().take(CANDIDATE_DIGITS).collect();
    candidates.iter().map(short).collect::<Vec<String>>().join(", ")
}

/// Why the engine could not continue. A failed run is not an error but an outcome.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("there is no agent {0}")]
    UnknownAgent(AgentId),
    #[error("there is no run {0}")]
    UnknownRun(RunKey),
    #[error("there is no limit with an id that begins with {0}")]
    UnknownLimit(String),
    /// The wake was refused; the refusal contains the reason and the fix.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The idempotency key was used for another message.
    #[error("the idempotency key was used before with another prompt")]
    KeyReused {
        /// The run that has the key.
        run: RunKey,
    },
    /// Another process drives this agent.
    #[error("agent {agent} is being driven by another process ({by})")]
    AgentBusy {
        agent: AgentId,
        /// The runner that drives the agent.
        by: RunnerId,
    },
    /// This process may no longer act for the agent. Nothing was done.
    #[error("the lease on agent {0} has run out")]
    LeaseLost(AgentId),
    #[error("there is an agent {0} already")]
    AgentExists(AgentId),
    /// The model or the tools of a run are unavailable. The run waits until they are available.
    #[error("agent {agent} cannot work: {}", problem.message)]
    NoEngine { agent: AgentId, problem: Box<Problem> },
    /// The budget does not cover the run's next request. The run is parked and nothing is lost.
    #[error("run {run} of agent {agent} waits: {}", exceeded.words())]
    BudgetExceeded {
        agent: AgentId,
        run: RunKey,
        /// The exceeded cap.
        exceeded: BudgetExceeded,
    },
    /// Driving the agent panicked because of a bug in Wakeful.
    #[error("internal error while driving agent {0} (please report)")]
    Panicked(AgentId),
    /// The run needs a machine version that this program does not have.
    #[error("run {run} needs machine {machine} version {version}, which this program does not have")]
    MachineVersion {
        run: RunKey,
        machine: String,
        version: u32,
    },
    /// Only ended runs can be erased or exported.
    #[error("run {run} has not ended")]
    NotEnded { run: RunKey },
    /// Another retry of the run has not ended.
    #[error("another retry of run {run} has not ended: run {retry}")]
    RetryOpen { run: RunKey, retry: RunKey },
    #[error("run {run} has no step {step}")]
    UnknownStep { run: RunKey, step: OperationId },
    /// The record of an erasure cannot be erased.
    #[error("event {seq} records an erasure and cannot be erased")]
    NotErasable { seq: u64 },
    /// The run's contents were erased.
    #[error("the contents of run {run} were erased")]
    RunErased { run: RunKey },
    /// The run's contents were pruned by retention.
    #[error("the contents of run {run} were removed by retention")]
    RunPruned { run: RunKey },
    /// A stored state, run log or input is unreadable.
    #[error("run {run} cannot continue: {why}")]
    InvalidState { run: RunKey, why: String },
    /// The run waits for a person's answer.
    #[error("run {run} of agent {agent} waits for a decision")]
    DecisionPending { agent: AgentId, run: RunKey },
    /// A brake holds a run that has started.
    #[error("run {run} of agent {agent} is held by a brake")]
    Braked { agent: AgentId, run: RunKey },
    /// The run was claimed repeatedly without progress.
    #[error("run {run} was started {claims} times without progress")]
    CrashLoop { run: RunKey, claims: u32 },
    /// The run was quarantined because it cannot continue.
    #[error("run {run} cannot continue and is quarantined: {why}")]
    Quarantined { run: RunKey, why: String },
    #[error("there is no decision {0}")]
    UnknownDecision(String),
    /// Several decisions match the prefix.
    #[error("several decisions begin with {given}: {}", listed(candidates))]
    AmbiguousDecision {
        given: String,
        /// Some of the matching decisions.
        candidates: Vec<DecisionId>,
    },
    /// The answer was not accepted.
    #[error(transparent)]
    Unanswerable(#[from] AnswerError),
    /// The run is not quarantined.
    #[error("run {run} is {status}, not quarantined")]
    NotQuarantined { run: RunKey, status: RunStatus },
    /// A subscription cannot be created or found.
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    /// The lifecycle change is not allowed from the current state.
    #[error("agent {agent} is {} and cannot become {}", from.as_str(), to.as_str())]
    Lifecycle {
        agent: AgentId,
        from: Lifecycle,
        to: Lifecycle,
    },
    /// No trigger has this URL: it never existed, was revoked or was rotated.
    #[error("there is no such trigger")]
    UnknownTrigger,
    /// A setting of an agent is invalid; the problem names it.
    #[error("{}", .0.message)]
    Setting(Box<Problem>),
    /// A time that must be in the future has passed.
    #[error("{} has passed", .0.rfc3339())]
    TimeInPast(Millis),
    /// An operation on a schedule was refused.
    #[error(transparent)]
    Schedule(#[from] ScheduleRefusal),
    /// The changes of a run cannot be shown or undone.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The database operation failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
