//! Whether a cause becomes a message. What is refused here is never queued; what is kept may have to wait for a moment.

use super::{Control, Gate, Lifecycle, Mode, Refusal};
use crate::cause::{Cause, DEPTH_MAX, Origin};
use crate::id::AgentId;
use crate::journal::Author;
use crate::time::Millis;

/// How an agent stands when a cause arises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Who it is.
    pub agent_id: AgentId,
    /// Where it stands in its life.
    pub lifecycle: Lifecycle,
    /// Whether it works on what waits for it.
    pub control: Control,
    /// Who may wake it.
    pub mode: Mode,
    /// Until when it is not to be woken.
    pub sleep_until: Option<Millis>,
}

/// What was found out about a cause before it is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts<'a> {
    /// What arose.
    pub cause: &'a Cause,
    /// Whether a changed record is as the subscription wants it; none where nothing was wanted.
    pub predicate: Option<bool>,
    /// Whether the guard holds; none where there is none.
    pub guard: Option<bool>,
    /// Whether what it came by is put aside.
    pub is_paused: bool,
    /// Whether there is something to do; none where nobody asks, because it is wanted anyway.
    pub has_work: Option<bool>,
    /// The earliest moment that a cooldown or a debounce window allows.
    pub not_before: Option<Millis>,
    /// What time it is.
    pub now: Millis,
}

/// What becomes of a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admitted {
    /// It becomes a message, which may begin at once, or from a moment on.
    Queued {
        /// The moment; none for at once.
        not_before: Option<Millis>,
    },
    /// It does not.
    Refused(Refusal),
}

/// Judges a cause: what becomes of it, and every gate up to the first that stays shut.
#[must_use]
pub fn admit(standing: &Standing, facts: &Facts<'_>) -> (Admitted, Vec<Gate>) {
    let by_person = facts.cause.origin == Origin::Operator;
    let mut gates = Vec::new();
    let checks: [(&str, Option<Refusal>); 9] = [
        ("lifecycle", lifecycle(standing.lifecycle, by_person)),
        (
            "control",
            (standing.control == Control::Stopped).then_some(Refusal::Stopped),
        ),
        (
            "mode",
            (standing.mode == Mode::Interactive && !by_person).then_some(Refusal::InteractiveOnly),
        ),
        (
            "own_write",
            is_own(standing, &facts.cause.origin).then_some(Refusal::OwnWrite),
        ),
        (
            "causal_depth",
            (facts.cause.depth > DEPTH_MAX).then_some(Refusal::CausalDepthExceeded),
        ),
        (
            "predicate",
            (facts.predicate == Some(false)).then_some(Refusal::PredicateFalse),
        ),
        (
            "guard",
            (facts.guard == Some(false)).then_some(Refusal::GuardFalse),
        ),
        // After what is asked of the change: one that is refused here would have woken the agent.
        (
            "subscription",
            facts.is_paused.then_some(Refusal::SubscriptionPaused),
        ),
        (
            "work",
            (facts.has_work == Some(false)).then_some(Refusal::NothingToDo),
        ),
    ];
    for (gate, refusal) in checks {
        let gate = Gate::new(gate, refusal.is_none());
        match refusal {
            Some(refusal) => {
                gates.push(gate.with(refusal.to_string()));
                return (Admitted::Refused(refusal), gates);
            }
            None => gates.push(gate),
        }
    }
    gates.extend(overrides(standing, facts, by_person));
    let barrier = standing
        .sleep_until
        .filter(|until| *until > facts.now && !by_person);
    let not_before = facts.not_before.filter(|moment| *moment > facts.now).max(barrier);
    (Admitted::Queued { not_before }, gates)
}

const fn lifecycle(lifecycle: Lifecycle, by_person: bool) -> Option<Refusal> {
    match (lifecycle, by_person) {
        (Lifecycle::Destroyed, _) => Some(Refusal::Destroyed),
        (Lifecycle::Dormant, false) => Some(Refusal::Dormant),
        (Lifecycle::Created, false) => Some(Refusal::NotActive),
        (Lifecycle::Active, _) | (Lifecycle::Dormant | Lifecycle::Created, true) => None,
    }
}

/// An agent that woke on its own writes would never sleep.
fn is_own(standing: &Standing, origin: &Origin) -> bool {
    match origin {
        Origin::Subscription { author, .. } => {
            Author::parse(author) == Some(Author::Agent(standing.agent_id.clone()))
        }
        Origin::Operator | Origin::Schedule { .. } | Origin::Trigger { .. } | Origin::Run { .. } => false,
    }
}

/// What would have held something else back, or holds this back for a while.
fn overrides(standing: &Standing, facts: &Facts<'_>, by_person: bool) -> Vec<Gate> {
    let mut gates = Vec::new();
    if let Some(until) = standing.sleep_until.filter(|until| *until > facts.now) {
        let found = if by_person {
            "passed by the operator"
        } else {
            "waits"
        };
        gates.push(Gate::new("sleep", by_person).with(format!("asleep until {}: {found}", until.rfc3339())));
    }
    if by_person && standing.mode == Mode::Autonomous {
        gates.push(Gate::new("mode", true).with("autonomous: passed by the operator"));
    }
    if by_person && matches!(standing.lifecycle, Lifecycle::Dormant | Lifecycle::Created) {
        let found = format!("{}: passed by the operator", standing.lifecycle.as_str());
        gates.push(Gate::new("lifecycle", true).with(found));
    }
    if let Some(moment) = facts.not_before.filter(|moment| *moment > facts.now) {
        gates.push(Gate::new("window", false).with(format!("waits until {}", moment.rfc3339())));
    }
    gates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::LogicalChangeKey;
    use crate::id::RuleId;
    use crate::key::Digest;
    use proptest::prelude::*;

    const NOW: Millis = Millis(1_000_000);

    fn agent(name: &str) -> AgentId {
        AgentId::parse(name).expect("id")
    }

    fn standing() -> Standing {
        Standing {
            agent_id: agent("coach"),
            lifecycle: Lifecycle::Active,
            control: Control::Running,
            mode: Mode::Hybrid,
            sleep_until: None,
        }
    }

    fn notice(author: &str) -> Cause {
        Cause {
            origin: Origin::Subscription {
                subscription: RuleId::parse("gym").expect("id"),
                change: LogicalChangeKey(Digest::of(b"change")),
                seq: 1,
                tokens: Vec::new(),
                author: author.to_owned(),
            },
            ..Cause::default()
        }
    }

    fn facts(cause: &Cause) -> Facts<'_> {
        Facts {
            cause,
            predicate: None,
            guard: None,
            is_paused: false,
            has_work: None,
            not_before: None,
            now: NOW,
        }
    }

    fn refused(standing: &Standing, facts: &Facts<'_>) -> Option<&'static str> {
        let (admitted, gates) = admit(standing, facts);
        match admitted {
            Admitted::Queued { .. } => None,
            Admitted::Refused(refusal) => {
                let shut = gates.last().expect("a gate");
                assert!(!shut.passed && shut.detail.is_some(), "{gates:?}");
                Some(refusal.code())
            }
        }
    }

    #[test]
    fn each_gate_stays_shut_for_its_own_reason() {
        let (person, own) = (notice("person"), notice("agent:coach"));
        let deep = Cause {
            depth: DEPTH_MAX + 1,
            ..person.clone()
        };
        let dormant = Standing {
            lifecycle: Lifecycle::Dormant,
            ..standing()
        };
        let created = Standing {
            lifecycle: Lifecycle::Created,
            ..standing()
        };
        let destroyed = Standing {
            lifecycle: Lifecycle::Destroyed,
            ..standing()
        };
        let stopped = Standing {
            control: Control::Stopped,
            ..standing()
        };
        let interactive = Standing {
            mode: Mode::Interactive,
            ..standing()
        };
        let not_so = Facts {
            predicate: Some(false),
            ..facts(&person)
        };
        let unguarded = Facts {
            guard: Some(false),
            ..facts(&person)
        };
        let aside = Facts {
            is_paused: true,
            ..facts(&person)
        };
        let aside_and_not_so = Facts {
            predicate: Some(false),
            ..aside.clone()
        };
        let idle = Facts {
            has_work: Some(false),
            ..facts(&person)
        };
        let cases = [
            (&dormant, facts(&person), "dormant"),
            (&created, facts(&person), "not_active"),
            (&destroyed, facts(&person), "destroyed"),
            (&stopped, facts(&person), "stopped"),
            (&interactive, facts(&person), "interactive_only"),
            (&standing(), facts(&own), "own_write"),
            (&standing(), facts(&deep), "causal_depth_exceeded"),
            (&standing(), not_so, "predicate_false"),
            (&standing(), unguarded, "guard_false"),
            (&standing(), aside, "subscription_paused"),
            (&standing(), aside_and_not_so, "predicate_false"),
            (&standing(), idle, "nothing_to_do"),
        ];
        for (standing, facts, code) in cases {
            assert_eq!(refused(standing, &facts), Some(code));
        }
        assert_eq!(
            refused(&standing(), &facts(&notice("agent:planner"))),
            None,
            "another's write wakes"
        );
    }

    #[test]
    fn a_paused_agent_keeps_what_comes() {
        let paused = Standing {
            control: Control::Paused,
            ..standing()
        };
        let cause = notice("person");
        assert_eq!(
            admit(&paused, &facts(&cause)).0,
            Admitted::Queued { not_before: None }
        );
    }

    #[test]
    fn a_sleeping_agent_is_woken_when_its_barrier_falls_and_by_a_person_at_once() {
        let until = Millis(NOW.0 + 500);
        let asleep = Standing {
            sleep_until: Some(until),
            ..standing()
        };
        let cause = notice("person");
        let (admitted, gates) = admit(&asleep, &facts(&cause));
        assert_eq!(
            admitted,
            Admitted::Queued {
                not_before: Some(until)
            }
        );
        assert!(gates.iter().any(|gate| gate.gate == "sleep" && !gate.passed));
        let spoken = Cause::default();
        let (admitted, gates) = admit(&asleep, &facts(&spoken));
        assert_eq!(admitted, Admitted::Queued { not_before: None });
        let sleep = gates.iter().find(|gate| gate.gate == "sleep").expect("recorded");
        assert!(
            sleep.passed && sleep.detail.as_deref().is_some_and(|d| d.contains("operator")),
            "{sleep:?}"
        );
    }

    #[test]
    fn the_later_of_barrier_and_window_holds() {
        let asleep = Standing {
            sleep_until: Some(Millis(NOW.0 + 5)),
            ..standing()
        };
        let cause = notice("person");
        let window = Facts {
            not_before: Some(Millis(NOW.0 + 9)),
            ..facts(&cause)
        };
        assert_eq!(
            admit(&asleep, &window).0,
            Admitted::Queued {
                not_before: Some(Millis(NOW.0 + 9))
            }
        );
        let past = Facts {
            not_before: Some(Millis(NOW.0 - 9)),
            ..facts(&cause)
        };
        assert_eq!(admit(&standing(), &past).0, Admitted::Queued { not_before: None });
    }

    proptest! {
        #[test]
        fn a_persons_word_is_refused_only_by_a_stopped_or_a_destroyed_agent(
            lifecycle in prop::sample::select(Lifecycle::ALL.to_vec()),
            control in prop::sample::select(Control::ALL.to_vec()),
            mode in prop::sample::select(Mode::ALL.to_vec()),
            sleep_until in prop::option::of((0_i64..2_000_000).prop_map(Millis)),
        ) {
            let standing = Standing { agent_id: agent("coach"), lifecycle, control, mode, sleep_until };
            let spoken = Cause::default();
            let (admitted, _) = admit(&standing, &facts(&spoken));
            let shut = lifecycle == Lifecycle::Destroyed || control == Control::Stopped;
            prop_assert_eq!(matches!(admitted, Admitted::Refused(_)), shut);
        }

        #[test]
        fn whoever_wakes_by_itself_is_active_and_not_interactive(
            lifecycle in prop::sample::select(Lifecycle::ALL.to_vec()),
            control in prop::sample::select(Control::ALL.to_vec()),
            mode in prop::sample::select(Mode::ALL.to_vec()),
        ) {
            let standing = Standing { agent_id: agent("coach"), lifecycle, control, mode, sleep_until: None };
            let cause = notice("person");
            let (admitted, gates) = admit(&standing, &facts(&cause));
            let open = lifecycle == Lifecycle::Active && mode != Mode::Interactive && control != Control::Stopped;
            prop_assert_eq!(matches!(admitted, Admitted::Queued { .. }), open);
            prop_assert_eq!(gates.iter().all(|gate| gate.passed), open);
        }
    }
}
