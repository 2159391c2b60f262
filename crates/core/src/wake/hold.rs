//! Holds: the conditions that currently keep an agent's messages from starting or being admitted.

use super::eligibility::{AgentAvailability, Candidate, CauseFacts, MessageFacts, Obstacle, eligibility};
use super::{Refusal, WaitKind, WakeOutcome};
use crate::time::Millis;

string_enum! {
    /// Why the queue delays a message.
    pub enum DelayKind {
        /// The agent sleeps.
        Asleep = "asleep",
        /// The end of a cooldown, a debounce window or a backoff is in the future.
        NotBefore = "not_before",
    }
}

string_union! {
    /// The stable code of a hold.
    pub enum HoldCode {
        /// A rule that refuses wakes.
        Refusal(WakeOutcome),
        /// A time in the future.
        Delay(DelayKind),
        /// What the open run waits for.
        Wait(WaitKind),
    }
}

/// A condition that holds an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub code: HoldCode,
    /// One sentence without a full stop.
    pub words: String,
    /// When it ends by itself; none if a person has to act.
    pub until: Option<Millis>,
    /// How to end it.
    pub hint: Option<&'static str>,
}

impl From<Refusal> for Hold {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.outcome().into(),
            words: refusal.to_string(),
            until: None,
            hint: refusal.hint(),
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
                hint: Some("end the sleep with `wakeful agent wake`"),
            },
            Obstacle::NotBefore(end) => Self {
                code: DelayKind::NotBefore.into(),
                words: format!("it waits until {}", end.rfc3339()),
                until,
                hint: None,
            },
            Obstacle::Waiting(wait) => Self {
                code: wait.kind().into(),
                words: format!("the run waits ({})", wait.kind()),
                until,
                hint: None,
            },
        }
    }
}

/// The display order: the most permanent first.
const ORDER: [&str; 6] = [
    "lifecycle",
    "control",
    "mode",
    "brake",
    "sleep",
    "one_run_at_a_time",
];

/// Returns every condition that would now refuse or delay an automatic message.
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
    fn an_agent_without_holds_is_free() {
        let rested = AgentAvailability {
            sleep_until: Some(Millis(100)),
            ..standing()
        };
        assert!(codes(&standing(), false, None).is_empty() && codes(&rested, false, None).is_empty());
    }

    #[test]
    fn every_hold_of_an_agent_is_reported_with_its_fix() {
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
        assert!(told.iter().all(|hold| hold.hint.is_some()), "{told:?}");
        assert_eq!(told[4].until, Some(Millis(101)));
    }

    #[test]
    fn a_stored_code_gives_the_same_refusal() {
        for refusal in Refusal::PLAIN {
            assert_eq!(Refusal::of_code(refusal.code()), Some(refusal));
        }
        for other in ["run_open", "run", "queued", "", "cancelled"] {
            assert_eq!(Refusal::of_code(other), None, "{other}");
        }
    }
}
