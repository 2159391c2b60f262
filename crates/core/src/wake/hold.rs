//! What holds an agent right now: what waits for it does not begin, or would not even be taken in.

use super::eligibility::{AgentAvailability, Candidate, CauseFacts, MessageFacts, Obstacle, eligibility};
use super::{Refusal, WaitKind, WakeOutcome};
use crate::time::Millis;

string_enum! {
    /// Why the queue holds a message back.
    pub enum DelayKind {
        /// The agent sleeps.
        Asleep = "asleep",
        /// A cooldown, a debounce window or a retry ends later.
        NotBefore = "not_before",
    }
}

string_union! {
    /// What holds an agent, for programs.
    pub enum HoldCode {
        /// A rule by which a wake is refused.
        Refusal(WakeOutcome),
        /// A time that has not come yet.
        Delay(DelayKind),
        /// What the open run waits for.
        Wait(WaitKind),
    }
}

/// One thing that holds an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Which of them, for programs.
    pub code: HoldCode,
    /// What it is, in one sentence without its full stop.
    pub words: String,
    /// Until when by itself; none where it stays until somebody acts.
    pub until: Option<Millis>,
    /// What would have to change.
    pub way_out: Option<&'static str>,
}

impl From<Refusal> for Hold {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.outcome().into(),
            words: refusal.to_string(),
            until: None,
            way_out: refusal.hint(),
        }
    }
}

impl From<Obstacle> for Hold {
    fn from(obstacle: Obstacle) -> Self {
        let until = obstacle.until();
        match obstacle {
            Obstacle::Refusal(refusal) => refusal.into(),
            Obstacle::Asleep(end) => Self {
                code: DelayKind::Asleep.into(),
                words: format!("the agent sleeps until {}: only a person wakes it", end.rfc3339()),
                until,
                way_out: Some("take the barrier away with `wakeful agent wake`"),
            },
            Obstacle::NotBefore(end) => Self {
                code: DelayKind::NotBefore.into(),
                words: format!("it waits until {}", end.rfc3339()),
                until,
                way_out: None,
            },
            Obstacle::Waiting(wait) => Self {
                code: wait.kind().into(),
                words: format!("the run waits ({})", wait.kind()),
                until,
                way_out: None,
            },
        }
    }
}

/// The order in which people are told: the most lasting first.
const ORDER: [&str; 6] = [
    "lifecycle",
    "control",
    "mode",
    "brake",
    "sleep",
    "one_run_at_a_time",
];

/// Everything that would hold a message which no person sent now: it would be refused, or wait.
#[must_use]
pub fn holds(agent: &AgentAvailability, message: &MessageFacts, now: Millis) -> Vec<Hold> {
    let mut checks = eligibility(&Candidate::Cause(agent, &CauseFacts::AUTOMATIC), now);
    checks.extend(eligibility(&Candidate::Message(agent, message), now));
    checks.sort_by_key(|check| ORDER.iter().position(|gate| *gate == check.gate));
    let mut obstacles: Vec<Obstacle> = checks.into_iter().filter_map(|check| check.obstacle).collect();
    obstacles.dedup();
    obstacles.into_iter().map(Hold::from).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{AgentControl, InteractionMode, Lifecycle};
    use super::*;
    use crate::key::{Digest, RunKey};

    fn standing() -> AgentAvailability {
        AgentAvailability {
            lifecycle: Lifecycle::Active,
            control: AgentControl::Running,
            mode: InteractionMode::Hybrid,
            sleep_until: None,
        }
    }

    fn found(standing: &AgentAvailability, is_braked: bool, open_run: Option<RunKey>) -> Vec<Hold> {
        let message = MessageFacts {
            delay: None,
            is_braked,
            open_run,
        };
        holds(standing, &message, Millis(100))
    }

    fn codes(standing: &AgentAvailability, is_braked: bool, open: Option<RunKey>) -> Vec<&'static str> {
        found(standing, is_braked, open)
            .into_iter()
            .map(|hold| hold.code.as_str())
            .collect()
    }

    #[test]
    fn an_agent_that_nothing_holds_is_free() {
        let rested = AgentAvailability {
            sleep_until: Some(Millis(100)),
            ..standing()
        };
        assert!(codes(&standing(), false, None).is_empty() && codes(&rested, false, None).is_empty());
    }

    #[test]
    fn everything_that_holds_an_agent_is_told_with_its_way_out() {
        let held = AgentAvailability {
            lifecycle: Lifecycle::Dormant,
            control: AgentControl::Paused,
            mode: InteractionMode::Interactive,
            sleep_until: Some(Millis(101)),
        };
        let open = Some(RunKey(Digest::of(b"open")));
        let all = [
            "dormant",
            "paused",
            "interactive_only",
            "braked",
            "asleep",
            "run_open",
        ];
        assert_eq!(codes(&held, true, open), all);
        let told = found(&held, true, open);
        assert!(told.iter().all(|hold| hold.way_out.is_some()), "{told:?}");
        assert_eq!(told[4].until, Some(Millis(101)));
    }

    #[test]
    fn a_kept_code_is_the_refusal_that_it_was() {
        for refusal in Refusal::PLAIN {
            assert_eq!(Refusal::of_code(refusal.code()), Some(refusal));
        }
        for other in ["run_open", "run", "queued", "", "cancelled"] {
            assert_eq!(Refusal::of_code(other), None, "{other}");
        }
    }
}
