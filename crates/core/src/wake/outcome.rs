//! The outcome of a cause as one word for the database, the log and the API.

use super::Refusal;

string_enum! {
    /// The outcome of a cause.
    pub enum WakeOutcome {
        /// It became a run.
        Run = "run",
        /// It waits in the queue.
        Queued = "queued",
        /// Another run handled it.
        Absorbed = "absorbed",
        /// A person cancelled it while it was queued.
        Cancelled = "cancelled",
        /// A later firing of the same schedule replaced it.
        Replaced = "replaced",
        /// The agent has an open run.
        RunOpen = "run_open",
        /// The agent is paused.
        Paused = "paused",
        /// A brake applies to the agent.
        Braked = "braked",
        /// The agent is stopped.
        Stopped = "stopped",
        /// The agent is not active yet.
        NotActive = "not_active",
        /// The agent is dormant.
        Dormant = "dormant",
        /// The agent is destroyed.
        Destroyed = "destroyed",
        /// Only people wake the agent.
        InteractiveOnly = "interactive_only",
        /// The agent made the change itself.
        OwnWrite = "own_write",
        /// The causal depth exceeds the limit.
        CausalDepthExceeded = "causal_depth_exceeded",
        /// No changed record matches the subscription's predicate.
        PredicateFalse = "predicate_false",
        /// The guard does not hold.
        GuardFalse = "guard_false",
        /// The subscription is paused.
        SubscriptionPaused = "subscription_paused",
        /// Nothing has changed since the agent last ran.
        NothingToDo = "nothing_to_do",
        /// The agent's queue is full.
        QueueFull = "queue_full",
        /// An agent may not start a run of itself.
        AgentIsItself = "agent_is_itself",
        /// The agent does not exist.
        AgentUnknown = "agent_unknown",
        /// The agent waits for the agent that would start its run.
        AgentWaits = "agent_waits",
        /// The run would be nested too deeply.
        TooDeep = "too_deep",
    }
}

impl WakeOutcome {
    /// Returns whether it is not a run and will not become one.
    #[must_use]
    pub const fn is_refusal(self) -> bool {
        !matches!(self, Self::Run | Self::Queued | Self::Absorbed)
    }
}

impl From<&Refusal> for WakeOutcome {
    fn from(refusal: &Refusal) -> Self {
        refusal.outcome()
    }
}

impl Refusal {
    /// Returns the outcome that is recorded for it.
    #[must_use]
    pub const fn outcome(&self) -> WakeOutcome {
        match self {
            Self::RunOpen { .. } => WakeOutcome::RunOpen,
            Self::Paused => WakeOutcome::Paused,
            Self::Braked => WakeOutcome::Braked,
            Self::Stopped => WakeOutcome::Stopped,
            Self::NotActive => WakeOutcome::NotActive,
            Self::Dormant => WakeOutcome::Dormant,
            Self::Destroyed => WakeOutcome::Destroyed,
            Self::InteractiveOnly => WakeOutcome::InteractiveOnly,
            Self::OwnWrite => WakeOutcome::OwnWrite,
            Self::CausalDepthExceeded => WakeOutcome::CausalDepthExceeded,
            Self::PredicateFalse => WakeOutcome::PredicateFalse,
            Self::GuardFalse => WakeOutcome::GuardFalse,
            Self::SubscriptionPaused => WakeOutcome::SubscriptionPaused,
            Self::NothingToDo => WakeOutcome::NothingToDo,
            Self::QueueFull => WakeOutcome::QueueFull,
        }
    }

    /// Returns the stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.outcome().as_str()
    }
}
