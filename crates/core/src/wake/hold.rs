//! Holds: the conditions that currently keep an agent's messages from starting or being admitted.

use std::borrow::Cow;

use super::eligibility::{AgentAvailability, Candidate, CauseFacts, MessageFacts, Obstacle, eligibility};
use super::{Refusal, WaitKind, WakeOutcome};
use crate::budget::BudgetExceeded;
use crate::decision::Channel;
use crate::id::AgentId;
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

string_enum! {
    /// Why the model of an agent's next run cannot be used.
    pub enum ModelHold {
        /// The provider's key is not available.
        KeyMissing = "key_missing",
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
        /// The model cannot be used.
        Model(ModelHold),
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
    pub hint: Option<Cow<'static, str>>,
}

impl Hold {
    /// The key of the provider of the agent's model is not available; `why` says what is missing.
    #[must_use]
    pub fn key_missing(provider: &str, why: &str) -> Self {
        Self {
            code: ModelHold::KeyMissing.into(),
            words: format!("its model cannot be used: {why}"),
            until: None,
            hint: Some(format!("store the key with `wakeful models key set {provider}`").into()),
        }
    }

    /// The open run waits for budget.
    #[must_use]
    pub fn over_budget(exceeded: &BudgetExceeded) -> Self {
        Self {
            code: WaitKind::Budget.into(),
            words: format!("its run waits: {}", exceeded.words()),
            until: exceeded.until.filter(|_| exceeded.fits_later()),
            hint: Some(exceeded.hint().into()),
        }
    }

    /// Says that the open run waits for a person: waiting for the run does not help.
    #[must_use]
    pub fn with_question(self) -> Self {
        Self {
            words: format!("{}, and it waits for your answer", self.words),
            hint: Some("answer it: `wakeful decision list` shows the question".into()),
            ..self
        }
    }

    /// Adds to the hold of a brake by whom, when and why it was set.
    #[must_use]
    pub fn with_brake(self, whose: Option<&AgentId>, set: &BrakeSet<'_>) -> Self {
        let whose = whose.map_or_else(|| "all agents".to_owned(), |agent| format!("agent {agent}"));
        let reason = match set.reason {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        let words = format!(
            "the brake on {whose} is set since {} (through {}){reason}",
            set.at.rfc3339(),
            set.channel
        );
        Self { words, ..self }
    }
}

/// How a brake was set.
#[derive(Debug, Clone, Copy)]
pub struct BrakeSet<'a> {
    pub reason: &'a str,
    pub channel: Channel,
    pub at: Millis,
}

impl From<Refusal> for Hold {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.outcome().into(),
            words: refusal.to_string(),
            until: None,
            hint: refusal.hint().map(Cow::Borrowed),
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
                hint: Some("end the sleep with `wakeful agent wake`".into()),
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
    use crate::budget::{BudgetScope, MicroUsd, SpendTotal, UtcDay};
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
    fn a_hold_names_the_missing_key_the_brake_and_the_budget() {
        let missing = Hold::key_missing("openai", "OPENAI_API_KEY is not set");
        assert_eq!(
            (missing.code.as_str(), missing.hint.as_deref()),
            (
                "key_missing",
                Some("store the key with `wakeful models key set openai`")
            )
        );
        let braked = found(&standing(), true, None).remove(0).with_brake(
            None,
            &BrakeSet {
                reason: "too loud",
                channel: Channel::Cli,
                at: Millis(0),
            },
        );
        assert_eq!(braked.code.as_str(), "braked");
        assert_eq!(
            braked.words,
            "the brake on all agents is set since 1970-01-01T00:00:00.000Z (through cli): too loud"
        );
        let exceeded = |needed| {
            let spent = SpendTotal {
                settled: MicroUsd(5),
                reserved: MicroUsd(0),
            };
            BudgetExceeded::of_cap(BudgetScope::All, MicroUsd(5), spent, MicroUsd(needed)).on(UtcDay(0))
        };
        assert_eq!(Hold::over_budget(&exceeded(2)).until, Some(Millis(86_400_000)));
        assert_eq!(Hold::over_budget(&exceeded(6)).until, None, "it never fits");
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

    #[test]
    fn a_run_that_waits_for_a_person_is_not_to_be_waited_for() {
        let run = crate::key::RunKey(crate::key::Digest::ZERO);
        let hold = Hold::from(Refusal::RunOpen { run }).with_question();
        assert!(hold.words.ends_with("and it waits for your answer"), "{hold:?}");
        assert!(
            hold.hint
                .is_some_and(|hint| hint.contains("wakeful decision list"))
        );
    }
}
