//! The loops that perform what the core decided.
//!
//! | module | does |
//! |---|---|
//! | [`wake`] | admits a message and decides its wake, in one transaction |
//! | [`run`] | the driver: loads a run, performs its effects, feeds results back, until it ends |
//! | [`step`] | performs one effect: a model request or an action |
//! | [`report`] | what a finished run looks like from outside |
//!
//! There is no recovery code. A run that a crash cut off has effects without results, and the ordinary driver
//! meets them like any others; the one difference, that a plain action may not be tried again, is the core's rule.
#![forbid(unsafe_code)]

mod halt;
pub mod report;
pub mod run;
mod step;
pub mod wake;

use std::sync::Arc;

pub use halt::{Halt, HaltSwitch};
use wakeful_core::id::{AgentId, RunnerId};
use wakeful_core::key::RunKey;
use wakeful_core::report::Sealed;
use wakeful_core::wake::Refusal;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::policy::Policy;
use wakeful_ports::store::StoreError;

/// Everything the loops need of the world.
#[derive(Clone)]
pub struct Engine<S, M, T> {
    /// Where everything durable is.
    pub store: S,
    /// Who answers model requests.
    pub model: Arc<M>,
    /// Who carries out actions.
    pub tools: Arc<T>,
    /// Who says what may be done.
    pub policy: Arc<dyn Policy>,
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
}

/// Someone who is shown events right after their commit. Must not block: the run waits.
pub trait Observer: Send + Sync + 'static {
    /// These events of a run are durable now.
    fn saw(&self, run: &RunKey, events: &[Sealed]);
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
    /// A stored state or journal that cannot be read, or an input that cannot be.
    #[error("run {run} cannot go on: {why}")]
    Broken {
        /// Which run.
        run: RunKey,
        /// What is wrong.
        why: String,
    },
    /// The database said no.
    #[error(transparent)]
    Store(#[from] StoreError),
}
