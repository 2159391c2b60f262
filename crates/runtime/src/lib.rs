//! The loops that perform what the core decided.
//!
//! | module | does |
//! |---|---|
//! | [`wake`] | admits a message and decides its wake, in one transaction |
//! | [`run`] | the driver: loads a run, performs its effects, feeds results back, until it ends |
//! | [`step`] | performs one effect: a model request or an action |
//! | [`wait`] | waiting: for a moment, or for a person's answer |
//! | [`inquiry`] | a model request: the gates, the money, the question |
//! | [`api`] | what the server and the commands call: messages, runs, agents, events |
//! | [`service`] | the daemon's loop: whoever has something to do is driven, within bounds |
//! | [`notice`] | from change to wake: whoever subscribes to something is told of it, once |
//! | [`outside`] | from watched folders and repositories to changes, each once |
//! | [`timer`] | the clock's loop: schedules that are due become messages, and what became of them is kept |
//! | [`hub`] | hands committed events to whoever listens |
//! | [`proof`] | checks logs and runs, signs heads, erases and exports |
//! | [`saga`] | takes back writes to the journal whose run can never go on |
//! | [`problem`] | a failure of the engine in words, the same on every face |
//! | [`retention`] | the care of data: what is too old goes, what nobody names is swept |
//! | [`report`] | what a finished run looks like from outside |
//!
//! There is no recovery code, but for [`saga`], which takes back and never goes on. A run that a crash cut off has effects
//! without results, and the ordinary driver meets them like any others; the one difference, that a plain action may not be
//! tried again, is the core's rule.
#![forbid(unsafe_code)]

mod absorb;
mod admission;
pub mod api;
mod halt;
pub mod hub;
mod interject;
mod missing_blob;
mod model_call;
pub mod notice;
pub mod problem;
pub mod proof;
pub mod retention;
pub mod run;
pub mod saga;
pub mod schedule;
pub mod service;
mod stamp;
mod step;
pub mod stored_run;
mod sub_run;
mod tool_call;
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
use wakeful_core::key::RunKey;
use wakeful_core::problem::Problem;
use wakeful_core::report::Event;
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Lifecycle, Refusal};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::guidance::GuidanceSource;
use wakeful_ports::policy::Policy;
use wakeful_store::Store;
/// For those who may not name the store: what its verbs speak of.
pub use wakeful_store::{PendingStop, StoreError, rows};

use crate::api::subscription::SubscriptionError;

/// Everything the loops need of the world.
#[derive(Clone)]
pub struct Engine<M, T> {
    /// Where everything durable is.
    pub store: Store,
    /// Who answers model requests.
    pub model: Arc<M>,
    /// Who carries out actions.
    pub tools: Arc<T>,
    /// Who says what may be done.
    pub policy: Arc<dyn Policy>,
    /// Who knows what people wrote down for agents.
    pub guidance: Arc<dyn GuidanceSource>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where salts come from.
    pub entropy: Arc<dyn Entropy>,
    /// When to come to a stop.
    pub halt: Halt,
    /// Who is shown what was committed.
    pub observer: Arc<dyn Observer>,
    /// This process, as the store knows it.
    pub runner: RunnerId,
    /// What holds where nobody said otherwise.
    pub defaults: EngineDefaults,
}

/// What holds where nobody said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineDefaults {
    /// What all agents together may spend in a day until a person sets a cap.
    pub daily_cap: MicroUsd,
    /// How a person confirms that a provider may be shown an agent's work.
    pub privacy: PrivacyMode,
    /// How long a question stands before it grows more severe; none for ever.
    pub decision_deadline_ms: Option<u64>,
    /// Whether new schedules make up for firings that were missed.
    pub catches_up_by_default: bool,
}

/// How a person confirms that a provider may be shown an agent's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivacyMode {
    /// By asking for a run that needs it.
    Implied,
    /// In so many words, and not otherwise.
    Explicit,
}

impl Default for EngineDefaults {
    fn default() -> Self {
        Self {
            daily_cap: DAILY_CAP_DEFAULT,
            privacy: PrivacyMode::Implied,
            decision_deadline_ms: Some(DEADLINE_MS_DEFAULT),
            catches_up_by_default: false,
        }
    }
}

/// Someone who is shown events right after their commit. Must not block: the run waits.
pub trait Observer: Send + Sync + 'static {
    /// These events of an agent are durable now. None means: some are, but only the store knows which.
    fn on_events(&self, agent: &AgentId, events: &[Event]);

    /// A model says something that is not durable yet.
    fn on_text_delta(&self, _spoken: &TextDelta<'_>) {}

    /// Reserved money was settled: some of it may be free again. Without a default, so that every wrapper forwards it.
    fn on_spend_settled(&self);
}

/// A piece of what a model says.
#[derive(Debug, Clone, Copy)]
pub struct TextDelta<'a> {
    /// Who speaks.
    pub agent: &'a AgentId,
    /// In which run.
    pub run: RunKey,
    /// Which request of the run, from 0.
    pub attempt: u32,
    /// Which piece of it, from 0.
    pub chunk: u32,
    /// The words.
    pub text: &'a str,
}

/// Why the engine could not go on. A run that failed is not among these: that is an outcome.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// There is no such agent.
    #[error("there is no agent {0}")]
    UnknownAgent(AgentId),
    /// There is no such run.
    #[error("there is no run {0}")]
    UnknownRun(RunKey),
    /// The wake was refused; the reason names the way out.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The idempotency key was used before, for another message.
    #[error("the idempotency key was used before with another prompt")]
    KeyReused {
        /// The run that has the key.
        run: RunKey,
    },
    /// Another process drives this agent.
    #[error("agent {agent} is being driven by another process ({by})")]
    AgentBusy {
        /// Which agent.
        agent: AgentId,
        /// Who holds it.
        by: RunnerId,
    },
    /// This process may no longer act for the agent. Nothing was done.
    #[error("the lease on agent {0} has run out")]
    LeaseLost(AgentId),
    /// There is an agent of that name already.
    #[error("there is an agent {0} already")]
    AgentExists(AgentId),
    /// The model or the tools of a run cannot be had. It waits until they can.
    #[error("agent {agent} cannot work: {}", problem.message)]
    NoEngine {
        /// Which agent.
        agent: AgentId,
        /// What is missing.
        problem: Box<Problem>,
    },
    /// There is no money for the run's next request. It waits, and nothing is lost.
    #[error(
        "run {run} of agent {agent} waits: its next request may cost {} USD ({})",
        exceeded.needed, exceeded.words()
    )]
    BudgetExceeded {
        /// Which agent.
        agent: AgentId,
        /// Which run.
        run: RunKey,
        /// The cap that stands in the way.
        exceeded: BudgetExceeded,
    },
    /// Driving the agent broke off in a way that only a mistake of ours explains.
    #[error("driving agent {0} broke off by a mistake in Wakeful")]
    Panicked(AgentId),
    /// A run of a machine that this program does not have.
    #[error("run {run} needs machine {machine} version {version}, which this program does not have")]
    MachineVersion {
        /// Which run.
        run: RunKey,
        /// The machine.
        machine: String,
        /// Its version.
        version: u32,
    },
    /// Only what has ended can be erased or exported.
    #[error("run {run} has not ended")]
    NotEnded {
        /// Which run.
        run: RunKey,
    },
    /// What tells of an erasure stays.
    #[error("event {seq} tells of what was taken away, and stays")]
    NotErasable {
        /// Which event.
        seq: u64,
    },
    /// What it was told is gone.
    #[error("the contents of run {run} were erased")]
    RunErased {
        /// Which run.
        run: RunKey,
    },
    /// What it was told was too old to be kept.
    #[error("what run {run} was told is too old, and was taken away")]
    RunPruned {
        /// Which run.
        run: RunKey,
    },
    /// A stored state or journal that cannot be read, or an input that cannot be.
    #[error("run {run} cannot go on: {why}")]
    InvalidState {
        /// Which run.
        run: RunKey,
        /// What is wrong.
        why: String,
    },
    /// A run waits for a person's answer.
    #[error("run {run} of agent {agent} waits for a decision")]
    DecisionPending {
        /// Whose run.
        agent: AgentId,
        /// Which run.
        run: RunKey,
    },
    /// A brake holds a run that has begun.
    #[error("run {run} of agent {agent} is held by a brake")]
    Braked {
        /// Whose run.
        agent: AgentId,
        /// Which run.
        run: RunKey,
    },
    /// A run was taken up again and again and never moved.
    #[error("run {run} was taken up {claims} times and never moved")]
    CrashLoop {
        /// Which run.
        run: RunKey,
        /// How often.
        claims: u32,
    },
    /// A run was moved aside, because it cannot go on.
    #[error("run {run} cannot go on and was moved aside: {why}")]
    Quarantined {
        /// Which run.
        run: RunKey,
        /// Why.
        why: String,
    },
    /// No such question.
    #[error("there is no decision {0}")]
    UnknownDecision(String),
    /// More than one question begins like this.
    #[error("several decisions begin with {0}")]
    AmbiguousDecision(String),
    /// The answer cannot be taken.
    #[error(transparent)]
    Unanswerable(#[from] AnswerError),
    /// The run does not stand aside.
    #[error("run {run} is {status}, not quarantined")]
    NotQuarantined {
        /// Which run.
        run: RunKey,
        /// Where it stands.
        status: RunStatus,
    },
    /// A subscription cannot be made or found.
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    /// An agent cannot go there from where it stands in its life.
    #[error("agent {agent} is {} and cannot become {}", from.as_str(), to.as_str())]
    Lifecycle {
        /// Which agent.
        agent: AgentId,
        /// Where it stands.
        from: Lifecycle,
        /// Where it was to go.
        to: Lifecycle,
    },
    /// There is no trigger at this address: it never was, was revoked, or has another address now.
    #[error("there is no such trigger")]
    UnknownTrigger,
    /// A moment that has passed.
    #[error("{} has passed", .0.rfc3339())]
    TimeInPast(Millis),
    /// A schedule cannot be had, or not like this.
    #[error(transparent)]
    Schedule(#[from] ScheduleRefusal),
    /// The database said no.
    #[error(transparent)]
    Store(#[from] StoreError),
}
