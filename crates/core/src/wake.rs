//! Whether a message becomes a run. Every candidate leaves a record, also when the answer is no, so that
//! "why" and "why not" can be answered afterwards from what was kept.

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
pub use self::hold::{DelayKind, Hold, HoldCode, holds};
pub use self::outcome::WakeOutcome;
pub use self::wait::{SET_BACK_MS, Suspension, Wait, WaitKind, is_set_back};
use crate::key::RunKey;
use crate::time::Millis;

/// Refusals of one agent, source, code and day that are kept one by one. Beyond them only the count grows.
pub const REFUSALS_KEPT_MAX: u64 = 100;

string_enum! {
    /// Whether an agent works on what waits for it. A person's word, beside the lifecycle.
    pub enum AgentControl {
        /// It does.
        Running = "running",
        /// It keeps what comes and begins nothing.
        Paused = "paused",
        /// It takes nothing in until a person lets it go on.
        Stopped = "stopped",
    }
}

string_enum! {
    /// Where an agent stands in its life. The order is that of concurrent writes: the greater one is read.
    #[derive(PartialOrd, Ord)]
    pub enum Lifecycle {
        /// It is made and not yet let loose: only a person wakes it.
        Created = "created",
        /// It may be woken.
        Active = "active",
        /// It is put to rest: only a person wakes it.
        Dormant = "dormant",
        /// It is gone for good. What it did stays to be read.
        Destroyed = "destroyed",
    }
}

impl Lifecycle {
    /// Whether an agent may go from here to there. Nothing comes back to `created`, and nothing comes back from `destroyed`.
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
        /// Made for one call; shown only when asked for by name.
        Private = "private",
    }
}

string_enum! {
    /// Who may wake an agent.
    #[derive(Default)]
    pub enum InteractionMode {
        /// Changes, moments and calls from outside. A person may speak to it, which is recorded as an override.
        Autonomous = "autonomous",
        /// Only people.
        Interactive = "interactive",
        /// Both.
        #[default]
        Hybrid = "hybrid",
    }
}

/// The answer, kept with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum WakeVerdict {
    /// The message becomes a run.
    Run,
    /// It does not, for this reason.
    Refused(Refusal),
}

/// Why a wake was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Refusal {
    /// One run at a time: two runs in one thread would answer each other's questions.
    #[error("the agent has an unfinished run {run}")]
    RunOpen {
        /// The run in the way.
        run: RunKey,
    },
    /// A person paused the agent.
    #[error("the agent is paused")]
    Paused,
    /// A brake holds the agent, or all of them.
    #[error("the agent is braked")]
    Braked,
    /// A person stopped the agent: it takes nothing in.
    #[error("the agent is stopped")]
    Stopped,
    /// The agent is not let loose yet, and this is not a person's word.
    #[error("the agent is created and not yet active")]
    NotActive,
    /// The agent is put to rest, and this is not a person's word.
    #[error("the agent is dormant")]
    Dormant,
    /// The agent is gone for good.
    #[error("the agent is destroyed")]
    Destroyed,
    /// Only people wake this agent.
    #[error("the agent is interactive: only a person wakes it")]
    InteractiveOnly,
    /// The agent itself made the change.
    #[error("the agent made this change itself")]
    OwnWrite,
    /// Too many agents' acts precede it.
    #[error("more than {max} causes made by agents precede it", max = crate::cause::DEPTH_MAX)]
    CausalDepthExceeded,
    /// The tokens match, and no changed record is as the subscription wants it.
    #[error("no changed record is as the subscription wants it")]
    PredicateFalse,
    /// What was to be true beforehand is not.
    #[error("the guard does not hold")]
    GuardFalse,
    /// A person put the subscription aside, which would have woken the agent.
    #[error("the subscription is paused; it would have matched")]
    SubscriptionPaused,
    /// Nothing has changed since the agent last ran.
    #[error("nothing has changed since the agent last ran")]
    NothingToDo,
    /// As many messages wait for the agent as are kept.
    #[error("as many messages wait for the agent as are kept")]
    QueueFull,
}

impl Refusal {
    /// Those that their code says all about.
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

    /// The refusal that a kept code stands for; none for a code that says too little, or that is none of ours.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        Self::PLAIN.into_iter().find(|refusal| refusal.code() == code)
    }

    /// What would have to change, in words for a person; none where nothing is to be done about it.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::RunOpen { .. } => Some("wait for that run, or cancel it"),
            Self::Paused | Self::Stopped => Some("let it go on with `wakeful agent resume`"),
            Self::Braked => Some("release the brake with `wakeful brake off`; nothing was lost"),
            Self::NotActive | Self::Dormant => Some("let it loose with `wakeful agent activate`"),
            Self::Destroyed => Some("make another agent"),
            Self::InteractiveOnly => Some("change its mode with `wakeful agent mode`"),
            Self::PredicateFalse => Some("change the subscription's predicate"),
            Self::GuardFalse => Some("change the guard, or what it looks at"),
            Self::SubscriptionPaused => Some("take it up again with `wakeful subscriptions resume`"),
            Self::NothingToDo => Some("change something it watches, or add the schedule with `--always`"),
            Self::QueueFull => Some("let the agent work through what waits"),
            Self::OwnWrite | Self::CausalDepthExceeded => None,
        }
    }
}

/// One check on the way to a wake, with its result, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Gate {
    /// What was checked.
    pub gate: String,
    /// Whether it let the message pass.
    pub passed: bool,
    /// What was found, where a yes or no says too little.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Gate {
    /// A check with its result.
    #[must_use]
    pub fn new(gate: &str, passed: bool) -> Self {
        Self {
            gate: gate.to_owned(),
            passed,
            detail: None,
        }
    }

    /// The same, with what was found.
    #[must_use]
    pub fn with(self, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..self
        }
    }
}

/// Decides whether an admitted message becomes a run now: the verdict and every gate that was looked at. Its time is no
/// reason to refuse it: that was judged when it was chosen.
#[must_use]
pub fn decide(agent: &AgentAvailability, message: &MessageFacts, now: Millis) -> (WakeVerdict, Vec<Gate>) {
    let checks = eligibility(&Candidate::Message(agent, message), now);
    let refusals = checks.iter().filter_map(|check| match &check.obstacle {
        Some(Obstacle::Refusal(refusal)) => Some(refusal),
        Some(Obstacle::Asleep(_) | Obstacle::NotBefore(_) | Obstacle::Waiting(_)) | None => None,
    });
    let refusals: Vec<&Refusal> = refusals.collect();
    // Stopped before the brake, under which messages are kept: a stopped agent takes nothing in.
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

    /// What something is spelled as, by both of our spellings.
    fn spelled<T: Serialize>(value: &T, word: &'static str) -> &'static str {
        assert_eq!(serde_json::to_value(value).expect("JSON"), word);
        word
    }

    #[test]
    fn how_an_agent_stands_is_spelled_in_these_words_and_no_others() {
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

    #[test]
    fn a_life_goes_on_between_active_and_dormant_and_is_over_once() {
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
    fn an_agent_with_nothing_open_runs() {
        let (verdict, gates) = decided(false, AgentControl::Running, None);
        assert_eq!(verdict, WakeVerdict::Run);
        assert!(gates.iter().all(|gate| gate.passed));
    }

    #[test]
    fn a_paused_agent_begins_nothing() {
        let (verdict, gates) = decided(false, AgentControl::Paused, None);
        assert_eq!(verdict, WakeVerdict::Refused(Refusal::Paused));
        let failed: Vec<_> = gates.iter().filter(|gate| !gate.passed).collect();
        assert!(
            matches!(failed.as_slice(), [gate] if gate.gate == "control"),
            "{failed:?}"
        );
    }

    #[test]
    fn a_braked_agent_begins_nothing_whatever_else_holds() {
        let (verdict, gates) = decided(true, AgentControl::Paused, None);
        assert_eq!(verdict, WakeVerdict::Refused(Refusal::Braked));
        assert!(gates.iter().any(|gate| gate.gate == "brake" && !gate.passed));
    }

    #[test]
    fn a_stopped_agent_takes_nothing_in_brake_or_no_brake() {
        for is_braked in [true, false] {
            let (verdict, _) = decided(is_braked, AgentControl::Stopped, None);
            assert_eq!(verdict, WakeVerdict::Refused(Refusal::Stopped));
        }
    }

    #[test]
    fn an_agent_with_an_open_run_is_refused_and_the_run_is_named() {
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
