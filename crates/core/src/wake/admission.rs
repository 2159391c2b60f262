//! Admission: decides whether a cause becomes a message. A refused cause is never queued; a queued one may
//! be delayed.

use super::eligibility::{AgentAvailability, Candidate, CauseFacts, Obstacle, eligibility};
use super::{Gate, Refusal};
use crate::time::Millis;

/// The result of admission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdmissionResult {
    /// The cause becomes a message.
    Queued {
        /// The earliest start; none for immediately.
        not_before: Option<Millis>,
    },
    /// The cause is refused.
    Refused(Refusal),
}

/// Evaluates a cause. Returns the result and every gate up to the first refusal.
#[must_use]
pub fn admit(agent: &AgentAvailability, facts: &CauseFacts, now: Millis) -> (AdmissionResult, Vec<Gate>) {
    let (mut gates, mut not_before) = (Vec::new(), None);
    for check in eligibility(&Candidate::Cause(agent, facts), now) {
        let obstacle = check.obstacle.clone();
        gates.push(check.into());
        match obstacle {
            Some(Obstacle::Refusal(refusal)) => return (AdmissionResult::Refused(refusal), gates),
            Some(delay) => not_before = not_before.max(delay.until()),
            None => {}
        }
    }
    (AdmissionResult::Queued { not_before }, gates)
}

#[cfg(test)]
mod tests {
    use super::super::{AgentControl, InteractionMode, Lifecycle};
    use super::*;
    use crate::cause::{Cause, DEPTH_MAX, MessageOrigin};
    use crate::change::LogicalChangeKey;
    use crate::id::AgentId;
    use crate::id::RuleId;
    use crate::key::Digest;
    use proptest::prelude::*;

    const NOW: Millis = Millis(1_000_000);

    fn agent(name: &str) -> AgentId {
        AgentId::parse(name).expect("id")
    }

    fn standing() -> AgentAvailability {
        AgentAvailability {
            lifecycle: Lifecycle::Active,
            control: AgentControl::Running,
            mode: InteractionMode::Hybrid,
            sleep_until: None,
        }
    }

    fn notice(author: &str) -> Cause {
        Cause {
            origin: MessageOrigin::Subscription {
                subscription: RuleId::parse("gym").expect("id"),
                change: LogicalChangeKey(Digest::of(b"change")),
                seq: 1,
                tokens: Vec::new(),
                author: author.to_owned(),
            },
            ..Cause::default()
        }
    }

    fn facts(cause: &Cause) -> CauseFacts {
        CauseFacts::of(cause, &agent("coach"))
    }

    fn refused(standing: &AgentAvailability, facts: &CauseFacts) -> Option<&'static str> {
        let (admitted, gates) = admit(standing, facts, NOW);
        match admitted {
            AdmissionResult::Queued { .. } => None,
            AdmissionResult::Refused(refusal) => {
                let shut = gates.last().expect("a gate");
                assert!(!shut.passed && shut.detail.is_some(), "{gates:?}");
                Some(refusal.code())
            }
        }
    }

    #[test]
    fn each_gate_refuses_with_its_own_reason() {
        let (person, own) = (notice("person"), notice("agent:coach"));
        let deep = Cause {
            depth: DEPTH_MAX + 1,
            ..person.clone()
        };
        let dormant = AgentAvailability {
            lifecycle: Lifecycle::Dormant,
            ..standing()
        };
        let created = AgentAvailability {
            lifecycle: Lifecycle::Created,
            ..standing()
        };
        let destroyed = AgentAvailability {
            lifecycle: Lifecycle::Destroyed,
            ..standing()
        };
        let stopped = AgentAvailability {
            control: AgentControl::Stopped,
            ..standing()
        };
        let interactive = AgentAvailability {
            mode: InteractionMode::Interactive,
            ..standing()
        };
        let not_so = CauseFacts {
            predicate: Some(false),
            ..facts(&person)
        };
        let unguarded = CauseFacts {
            guard: Some(false),
            ..facts(&person)
        };
        let aside = CauseFacts {
            is_paused: true,
            ..facts(&person)
        };
        let aside_and_not_so = CauseFacts {
            predicate: Some(false),
            ..aside
        };
        let idle = CauseFacts {
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
    fn a_paused_agent_queues_messages() {
        let paused = AgentAvailability {
            control: AgentControl::Paused,
            ..standing()
        };
        let cause = notice("person");
        assert_eq!(
            admit(&paused, &facts(&cause), NOW).0,
            AdmissionResult::Queued { not_before: None }
        );
    }

    #[test]
    fn a_sleep_barrier_delays_automatic_causes_and_not_people() {
        let until = Millis(NOW.0 + 500);
        let asleep = AgentAvailability {
            sleep_until: Some(until),
            ..standing()
        };
        let cause = notice("person");
        let (admitted, gates) = admit(&asleep, &facts(&cause), NOW);
        assert_eq!(
            admitted,
            AdmissionResult::Queued {
                not_before: Some(until)
            }
        );
        assert!(gates.iter().any(|gate| gate.gate == "sleep" && !gate.passed));
        let spoken = Cause::default();
        let (admitted, gates) = admit(&asleep, &facts(&spoken), NOW);
        assert_eq!(admitted, AdmissionResult::Queued { not_before: None });
        let sleep = gates.iter().find(|gate| gate.gate == "sleep").expect("recorded");
        assert!(
            sleep.passed && sleep.detail.as_deref().is_some_and(|d| d.contains("operator")),
            "{sleep:?}"
        );
    }

    #[test]
    fn the_later_of_sleep_barrier_and_window_applies() {
        let asleep = AgentAvailability {
            sleep_until: Some(Millis(NOW.0 + 5)),
            ..standing()
        };
        let cause = notice("person");
        let window = CauseFacts {
            not_before: Some(Millis(NOW.0 + 9)),
            ..facts(&cause)
        };
        assert_eq!(
            admit(&asleep, &window, NOW).0,
            AdmissionResult::Queued {
                not_before: Some(Millis(NOW.0 + 9))
            }
        );
        let past = CauseFacts {
            not_before: Some(Millis(NOW.0 - 9)),
            ..facts(&cause)
        };
        assert_eq!(
            admit(&standing(), &past, NOW).0,
            AdmissionResult::Queued { not_before: None }
        );
    }

    proptest! {
        #[test]
        fn only_a_stopped_or_destroyed_agent_refuses_a_person(
            lifecycle in prop::sample::select(Lifecycle::ALL.to_vec()),
            control in prop::sample::select(AgentControl::ALL.to_vec()),
            mode in prop::sample::select(InteractionMode::ALL.to_vec()),
            sleep_until in prop::option::of((0_i64..2_000_000).prop_map(Millis)),
        ) {
            let standing = AgentAvailability { lifecycle, control, mode, sleep_until };
            let spoken = Cause::default();
            let (admitted, _) = admit(&standing, &facts(&spoken), NOW);
            let shut = lifecycle == Lifecycle::Destroyed || control == AgentControl::Stopped;
            prop_assert_eq!(matches!(admitted, AdmissionResult::Refused(_)), shut);
        }

        #[test]
        fn automatic_causes_wake_only_active_agents_that_are_not_interactive(
            lifecycle in prop::sample::select(Lifecycle::ALL.to_vec()),
            control in prop::sample::select(AgentControl::ALL.to_vec()),
            mode in prop::sample::select(InteractionMode::ALL.to_vec()),
        ) {
            let standing = AgentAvailability { lifecycle, control, mode, sleep_until: None };
            let cause = notice("person");
            let (admitted, gates) = admit(&standing, &facts(&cause), NOW);
            let open = lifecycle == Lifecycle::Active && mode != InteractionMode::Interactive && control != AgentControl::Stopped;
            prop_assert_eq!(matches!(admitted, AdmissionResult::Queued { .. }), open);
            prop_assert_eq!(gates.iter().all(|gate| gate.passed), open);
        }
    }
}
