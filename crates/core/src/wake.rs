//! Wakes: decides whether a message becomes a run. Every candidate leaves a record, including refused ones,
//! so that "why" and "why not" can be answered later from stored data.

mod admission;
mod eligibility;
mod hold;
mod outcome;
mod wait;

use serde::{Deserialize, Serialize};

pub use self::admission::{AdmissionResult, admit};
pub use self::eligibility::{
    AgentAvailability, Asker, Candidate, CauseFacts, Check, Delay, MessageFacts, Obstacle, RunFacts,
    eligibility, may_begin,
};
pub use self::hold::{BrakeSet, DelayKind, Hold, HoldCode, ModelHold, holds};
pub use self::outcome::WakeOutcome;
pub use self::wait::{SET_BACK_MS, StoredWait, Suspension, Wait, WaitKind, is_set_back};
use crate::key::RunKey;
use crate::time::Millis;

/// Refusals stored individually per agent, source, code and day. Beyond the limit only a counter grows.
pub const REFUSALS_KEPT_MAX: u64 = 100;

string_enum! {
    /// Whether an agent works on its queue. A person sets it, independently of the lifecycle.
    pub enum AgentControl {
        /// It works on its queue.
        Running = "running",
        /// Messages are queued; nothing starts.
        Paused = "paused",
        /// Messages are refused until a person resumes it.
        Stopped = "stopped",
    }
}

string_enum! {
    /// The lifecycle of an agent. The order resolves concurrent writes: the greatest value wins.
    #[derive(PartialOrd, Ord)]
    pub enum Lifecycle {
        /// Created and not yet active: only a person wakes it.
        Created = "created",
        Active = "active",
        /// Dormant: only a person wakes it.
        Dormant = "dormant",
        /// Permanently destroyed. Its history stays readable.
        Destroyed = "destroyed",
    }
}

impl Lifecycle {
    /// Returns whether an agent may change to `next`. No state leads to `created`, and none leads away from
    /// `destroyed`.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (Self::Created | Self::Dormant, Self::Active)
            | (Self::Created | Self::Active, Self::Dormant)
            | (Self::Created | Self::Active | Self::Dormant, Self::Destroyed) => true,
            (_, Self::Created)
            | (Self::Destroyed, _)
            | (Self::Active, Self::Active)
            | (Self::Dormant, Self::Dormant) => false,
        }
    }
}

string_enum! {
    /// Whether an agent is listed.
    #[derive(Default)]
    pub enum Visibility {
        /// Named by a person and listed.
        #[default]
        Public = "public",
        /// Temporary, created for one run; listed only on request.
        Private = "private",
    }
}

string_enum! {
    /// Which causes may wake an agent.
    #[derive(Default)]
    pub enum InteractionMode {
        /// Changes, schedules and external triggers. A message from a person is accepted and recorded as an
        /// override.
        Autonomous = "autonomous",
        /// Only people.
        Interactive = "interactive",
        /// People and automatic causes.
        #[default]
        Hybrid = "hybrid",
    }
}

/// The result of a wake, stored with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum WakeVerdict {
    /// The message becomes a run.
    Run,
    /// The message does not become a run, for this reason.
    Refused(Refusal),
}

/// Why a wake was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Refusal {
    /// An agent has one run at a time: two runs in one transcript would answer each other's questions.
    #[error("the agent has an unfinished run {run}")]
    RunOpen { run: RunKey },
    /// A person paused the agent.
    #[error("the agent is paused")]
    Paused,
    /// A brake is set for the agent or for all agents.
    #[error("the agent is braked")]
    Braked,
    /// A person stopped the agent, so it accepts no messages.
    #[error("the agent is stopped")]
    Stopped,
    /// The agent is not active yet, and the cause is not a person.
    #[error("the agent is created and not yet active")]
    NotActive,
    /// The agent is dormant, and the cause is not a person.
    #[error("the agent is dormant")]
    Dormant,
    /// The agent was permanently destroyed.
    #[error("the agent is destroyed")]
    Destroyed,
    /// Only people wake this agent.
    #[error("the agent is interactive: only a person wakes it")]
    InteractiveOnly,
    /// The agent made the change itself.
    #[error("the agent made this change itself")]
    OwnWrite,
    /// The causal depth exceeds the limit.
    #[error("more than {max} causes made by agents precede it", max = crate::cause::DEPTH_MAX)]
    CausalDepthExceeded,
    /// The tokens match, but no changed record satisfies the predicate.
    #[error("no changed record matches the subscription's predicate")]
    PredicateFalse,
    #[error("the guard does not hold")]
    GuardFalse,
    /// The subscription matches but is paused.
    #[error("the subscription is paused; it would have matched")]
    SubscriptionPaused,
    /// Nothing has changed since the agent last ran.
    #[error("nothing has changed since the agent last ran")]
    NothingToDo,
    /// The agent's queue is full.
    #[error("the agent's queue is full")]
    QueueFull,
}

impl Refusal {
    /// Refusals that are completely described by their code.
    const PLAIN: [Self; 14] = [
        Self::Paused,
        Self::Braked,
        Self::Stopped,
        Self::NotActive,
        Self::Dormant,
        Self::Destroyed,
        Self::InteractiveOnly,
        Self::OwnWrite,
        Self::CausalDepthExceeded,
        Self::PredicateFalse,
        Self::GuardFalse,
        Self::SubscriptionPaused,
        Self::NothingToDo,
        Self::QueueFull,
    ];

    /// Returns the refusal for a stored code; none for a code without enough detail or an unknown one.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Self::PLAIN.into_iter().find(|refusal| refusal.code() == code)
    }

    /// Returns what a person can do about the refusal; none if there is nothing to do.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::RunOpen { .. } => Some("wait for that run, or cancel it"),
            Self::Paused | Self::Stopped => Some("resume it with `wakeful agent resume ID`"),
            Self::Braked => Some(
                "release the brake with `wakeful brake off` (or `wakeful brake off --agent ID`); messages stay queued",
            ),
            Self::NotActive | Self::Dormant => Some("activate it with `wakeful agent activate ID`"),
            Self::Destroyed => Some("create another agent with `wakeful agent create ID`"),
            Self::InteractiveOnly => Some("change its mode with `wakeful agent mode ID MODE`"),
            Self::PredicateFalse => Some("change the subscription's predicate"),
            Self::GuardFalse => Some("change the guard, or what it looks at"),
            Self::SubscriptionPaused => Some("resume it with `wakeful subscriptions resume`"),
            Self::NothingToDo => {
                Some("change something it watches, or use `wakeful schedule edit ID --always true`")
            }
            Self::QueueFull => {
                Some("wait for the agent to catch up, or cancel some messages with `wakeful runs cancel`")
            }
            Self::OwnWrite | Self::CausalDepthExceeded => None,
        }
    }
}

/// One check before a wake and its result. Gates are recorded in the order of evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Gate {
    /// The name of the check.
    pub gate: String,
    pub passed: bool,
    /// What was found, if the result needs an explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Gate {
    #[must_use]
    pub fn new(gate: &str, passed: bool) -> Self {
        Self {
            gate: gate.to_owned(),
            passed,
            detail: None,
        }
    }

    /// Adds what was found.
    #[must_use]
    pub fn with(self, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..self
        }
    }
}

/// Decides whether an admitted message becomes a run now. Returns the verdict and every evaluated gate. The
/// delay of the message is not checked again, because dispatch checked it when it chose the message.
#[must_use]
pub fn decide(agent: &AgentAvailability, message: &MessageFacts, now: Millis) -> (WakeVerdict, Vec<Gate>) {
    let checks = eligibility(&Candidate::Message(agent, message), now);
    let refusals = checks.iter().filter_map(|check| match &check.obstacle {
        Some(Obstacle::Refusal(refusal)) => Some(refusal),
        Some(Obstacle::Asleep(_) | Obstacle::NotBefore(_) | Obstacle::Waiting(_)) | None => None,
    });
    let refusals: Vec<&Refusal> = refusals.collect();
    // Stopped takes precedence over the brake: messages stay queued under a brake, but a stopped agent
    // accepts none.
    let stopped = refusals.iter().find(|refusal| ***refusal == Refusal::Stopped);
    let weightiest = match refusals.first() {
        Some(Refusal::Destroyed) | None => refusals.first(),
        Some(_) => stopped.or(refusals.first()),
    };
    let weightiest = weightiest.map(|refusal| (*refusal).clone());
    let verdict = weightiest.map_or(WakeVerdict::Run, WakeVerdict::Refused);
    (verdict, checks.into_iter().map(Gate::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Digest;

    /// Asserts that a value serializes as this word, and returns the word.
    fn spelled<T: Serialize>(value: &T, word: &'static str) -> &'static str {
        assert_eq!(serde_json::to_value(value).expect("JSON"), word);
        word
    }

    // Conformance: L-028
    #[test]
    fn the_words_of_agent_states_are_fixed() {
        let lives = Lifecycle::ALL.map(|life| spelled(&life, life.as_str()));
        assert_eq!(lives, ["created", "active", "dormant", "destroyed"]);
        let modes = InteractionMode::ALL.map(|mode| spelled(&mode, mode.as_str()));
        assert_eq!(modes, ["autonomous", "interactive", "hybrid"]);
        let controls = AgentControl::ALL.map(|control| spelled(&control, control.as_str()));
        assert_eq!(controls, ["running", "paused", "stopped"]);
        assert!(Lifecycle::ALL.map(|life| Lifecycle::parse(life.as_str())) == Lifecycle::ALL.map(Some));
        assert!(
            InteractionMode::ALL.map(|mode| InteractionMode::parse(mode.as_str()))
                == InteractionMode::ALL.map(Some)
        );
        for other in ["Active", "asleep", ""] {
            assert_eq!(
                (Lifecycle::parse(other), InteractionMode::parse(other)),
                (None, None)
            );
        }
    }

    // Conformance: L-070
    #[test]
    fn a_lifecycle_alternates_between_active_and_dormant_until_destroyed() {
        let may = Lifecycle::ALL.map(|from| {
            let to = Lifecycle::ALL.into_iter().filter(|to| from.may_become(*to));
            to.map(Lifecycle::as_str).collect::<Vec<_>>().join(" ")
        });
        let from_each = [
            "active dormant destroyed",
            "dormant destroyed",
            "active destroyed",
            "",
        ];
        assert_eq!(may, from_each);
    }

    fn decided(is_braked: bool, control: AgentControl, open_run: Option<RunKey>) -> (WakeVerdict, Vec<Gate>) {
        let agent = AgentAvailability {
            lifecycle: Lifecycle::Active,
            control,
            mode: InteractionMode::Hybrid,
            sleep_until: None,
        };
        let message = MessageFacts {
            delay: None,
            is_braked,
            open_run,
        };
        decide(&agent, &message, Millis(0))
    }

    #[test]
    fn an_agent_without_an_open_run_starts_one() {
        let (verdict, gates) = decided(false, AgentControl::Running, None);
        assert_eq!(verdict, WakeVerdict::Run);
        assert!(gates.iter().all(|gate| gate.passed));
    }

    #[test]
    fn a_paused_agent_starts_nothing() {
        let (verdict, gates) = decided(false, AgentControl::Paused, None);
        assert_eq!(verdict, WakeVerdict::Refused(Refusal::Paused));
        let failed: Vec<_> = gates.iter().filter(|gate| !gate.passed).collect();
        assert!(
            matches!(failed.as_slice(), [gate] if gate.gate == "control"),
            "{failed:?}"
        );
    }

    #[test]
    fn a_braked_agent_starts_nothing_in_any_other_state() {
        let (verdict, gates) = decided(true, AgentControl::Paused, None);
        assert_eq!(verdict, WakeVerdict::Refused(Refusal::Braked));
        assert!(gates.iter().any(|gate| gate.gate == "brake" && !gate.passed));
    }

    #[test]
    fn a_stopped_agent_refuses_messages_with_or_without_a_brake() {
        for is_braked in [true, false] {
            let (verdict, _) = decided(is_braked, AgentControl::Stopped, None);
            assert_eq!(verdict, WakeVerdict::Refused(Refusal::Stopped));
        }
    }

    #[test]
    fn a_message_during_an_open_run_is_refused_with_its_key() {
        let run = RunKey(Digest::of(b"open"));
        let (verdict, gates) = decided(false, AgentControl::Running, Some(run));
        let WakeVerdict::Refused(refusal) = verdict else {
            panic!("was not refused")
        };
        assert_eq!(refusal.code(), "run_open");
        assert!(refusal.to_string().contains(&run.to_string()), "{refusal}");
        assert_eq!(gates.iter().filter(|gate| !gate.passed).count(), 1);
    }
}
