//! Compares every combination of facts with a reference formula.

use proptest::prelude::*;

use super::*;
use crate::key::Digest;

const NOW: Millis = Millis(1_000_000_000);

/// Times around the boundaries of every rule.
fn times() -> Vec<Millis> {
    let offsets = [-70_000, -1, 0, 1, 60_000, 60_001, 70_000, 90_000_000];
    let mut times: Vec<Millis> = offsets.iter().map(|ms| Millis(NOW.0 + ms)).collect();
    times.extend([Millis(i64::MIN), Millis(i64::MAX)]);
    times
}

fn maybe<T: Clone>(values: &[T]) -> Vec<Option<T>> {
    let some = values.iter().cloned().map(Some);
    some.chain([None]).collect()
}

fn agents() -> Vec<AgentAvailability> {
    let mut agents = Vec::new();
    for lifecycle in Lifecycle::ALL {
        for control in AgentControl::ALL {
            for mode in InteractionMode::ALL {
                for sleep_until in maybe(&times()) {
                    agents.push(AgentAvailability {
                        lifecycle,
                        control,
                        mode,
                        sleep_until,
                    });
                }
            }
        }
    }
    agents
}

fn set_back(taken: Millis) -> bool {
    i128::from(taken.0) > i128::from(NOW.0) + 60_000
}

#[test]
fn a_queued_message_starts_exactly_when_the_reference_allows_it() {
    let open = [None, Some(RunKey(Digest::of(b"open")))];
    let mut delays = vec![None];
    for until in times() {
        delays.extend(
            times()
                .into_iter()
                .map(|admitted_at| Some(Delay { until, admitted_at })),
        );
    }
    let mut begun = 0;
    for agent in agents() {
        for (delay, is_braked) in delays.iter().flat_map(|one| [(*one, true), (*one, false)]) {
            for open_run in open {
                let facts = MessageFacts {
                    delay,
                    is_braked,
                    open_run,
                };
                let has_come = delay.is_none_or(|one| {
                    one.until <= NOW || set_back(one.admitted_at) && agent.sleep_until != Some(one.until)
                });
                let twin = agent.lifecycle != Lifecycle::Destroyed
                    && agent.control == AgentControl::Running
                    && !is_braked
                    && open_run.is_none()
                    && has_come;
                let found = may_begin(&Candidate::Message(&agent, &facts), NOW);
                assert_eq!(found, twin, "{agent:?} {facts:?}");
                begun += usize::from(found);
            }
        }
    }
    assert!(begun > 1_000, "{begun}");
}

/// The waits with their earlier numeric encoding: a time, the maximum time, or one millisecond less for a
/// turn.
fn waits() -> Vec<(Wait, i64)> {
    let mut waits = vec![
        (Wait::Decision { until: None }, i64::MAX),
        (Wait::Children, i64::MAX),
        (Wait::Turn, i64::MAX - 1),
    ];
    for until in times().into_iter().filter(|until| until.0 < i64::MAX - 1) {
        waits.push((Wait::Due { until }, until.0));
        waits.push((Wait::Decision { until: Some(until) }, until.0));
    }
    waits
}

#[test]
fn an_open_run_continues_exactly_when_the_reference_allows_it() {
    let mut suspensions = vec![(None, None)];
    for (wait, due) in waits() {
        let since = times().into_iter();
        suspensions.extend(since.map(|since| (Some(Suspension { wait, since }), Some((due, since)))));
    }
    for (suspension, due) in suspensions {
        for bits in 0..8_u8 {
            let facts = RunFacts {
                suspension,
                is_cancel_requested: bits & 1 > 0,
                is_braked: bits & 2 > 0,
                is_other_under_way: bits & 4 > 0,
                room: 0,
            };
            let is_due = due.is_none_or(|(due, since)| {
                due <= NOW.0
                    || due < i64::MAX - 1 && set_back(since)
                    || due == i64::MAX - 1 && (facts.is_cancel_requested || !facts.is_other_under_way)
            });
            let twin = is_due && (!facts.is_braked || facts.is_cancel_requested);
            assert_eq!(may_begin(&Candidate::Run(&facts), NOW), twin, "{facts:?}");
        }
    }
}

#[test]
fn a_parked_run_continues_exactly_when_the_reference_allows_it() {
    let needed = 100;
    for (until, since) in times()
        .into_iter()
        .flat_map(|one| times().into_iter().map(move |other| (one, other)))
    {
        for (room, bits) in [0, 99, 100, u64::MAX]
            .into_iter()
            .flat_map(|room| (0..8_u8).map(move |bits| (room, bits)))
        {
            let wait = Wait::Budget {
                until: Some(until),
                needed,
                limit: None,
            };
            let facts = RunFacts {
                suspension: Some(Suspension { wait, since }),
                is_cancel_requested: bits & 1 > 0,
                is_braked: bits & 2 > 0,
                is_other_under_way: bits & 4 > 0,
                room,
            };
            let is_due = room >= 100 || until <= NOW || set_back(since);
            let twin = is_due && (!facts.is_braked || facts.is_cancel_requested);
            assert_eq!(may_begin(&Candidate::Run(&facts), NOW), twin, "{facts:?}");
        }
    }
}

#[test]
fn a_cause_is_admitted_exactly_when_the_reference_allows_it() {
    for agent in agents() {
        for bits in 0..64_u8 {
            let asker = if bits & 1 > 0 {
                Asker::Person
            } else {
                Asker::Automatic
            };
            let facts = CauseFacts {
                asker,
                is_own_write: bits & 2 > 0,
                depth: DEPTH_MAX + u32::from(bits & 4 > 0),
                predicate: Some(bits & 8 > 0),
                guard: Some(bits & 16 > 0),
                is_paused: bits & 32 > 0,
                has_work: None,
                not_before: None,
            };
            let is_refused = eligibility(&Candidate::Cause(&agent, &facts), NOW)
                .into_iter()
                .any(|check| matches!(check.obstacle, Some(Obstacle::Refusal(_))));
            let may_wake = match asker {
                Asker::Person => agent.lifecycle != Lifecycle::Destroyed,
                Asker::Automatic => {
                    agent.lifecycle == Lifecycle::Active && agent.mode != InteractionMode::Interactive
                }
            };
            let twin = may_wake
                && agent.control != AgentControl::Stopped
                && bits & 2 == 0
                && bits & 4 == 0
                && bits & 8 > 0
                && bits & 16 > 0
                && bits & 32 == 0;
            assert_eq!(!is_refused, twin, "{agent:?} {facts:?}");
        }
    }
}

fn any_time() -> impl Strategy<Value = Millis> {
    (NOW.0 - 200_000..NOW.0 + 200_000).prop_map(Millis)
}

fn any_run() -> impl Strategy<Value = RunFacts> {
    let waits: Vec<Wait> = waits()
        .into_iter()
        .map(|(wait, _)| wait)
        .chain([-1, 1, 90_000].map(|ms| Wait::Budget {
            until: Some(Millis(NOW.0 + ms)),
            needed: 100,
            limit: None,
        }))
        .collect();
    let suspension = (prop::sample::select(waits), any_time());
    let suspension = suspension.prop_map(|(wait, since)| Suspension { wait, since });
    let facts = (prop::option::of(suspension), any::<[bool; 3]>(), 0_u64..200);
    facts.prop_map(|(suspension, [cancel, braked, other], room)| RunFacts {
        suspension,
        is_cancel_requested: cancel,
        is_braked: braked,
        is_other_under_way: other,
        room,
    })
}

proptest! {
    /// Releasing a brake, requesting a cancellation or ending another run never blocks a run.
    #[test]
    fn fewer_obstacles_never_stop_a_run(facts in any_run()) {
        let begins = |facts: &RunFacts| may_begin(&Candidate::Run(facts), NOW);
        if begins(&facts) {
            let released = RunFacts { is_braked: false, ..facts };
            let ending = RunFacts { is_cancel_requested: true, ..facts };
            let alone = RunFacts { is_other_under_way: false, ..facts };
            let richer = RunFacts { room: facts.room + 1, ..facts };
            let resumed = RunFacts { suspension: None, ..facts };
            prop_assert!(begins(&released) && begins(&ending) && begins(&alone) && begins(&resumed));
            prop_assert!(begins(&richer));
        }
    }

    /// A run that may start stays eligible as time passes.
    #[test]
    fn passing_time_never_stops_a_run(facts in any_run(), ms in 0_i64..1_000_000) {
        let wait = facts.suspension.map(|suspension| suspension.since);
        // Excludes waits from before the clock was set back: their exemption ends when the clock catches
        // up.
        prop_assume!(wait.is_none_or(|since| since <= NOW));
        if may_begin(&Candidate::Run(&facts), NOW) {
            prop_assert!(may_begin(&Candidate::Run(&facts), Millis(NOW.0 + ms)));
        }
    }

    /// For the same facts, `why-not` reports every refusal that a record contains.
    #[test]
    fn every_refusal_of_a_message_is_among_the_agents_holds(
        agent in prop::sample::select(agents()),
        is_braked: bool,
        is_busy: bool,
    ) {
        let open_run = is_busy.then(|| RunKey(Digest::of(b"open")));
        let facts = MessageFacts { delay: None, is_braked, open_run };
        let codes: Vec<&str> = super::super::holds(&agent, &facts, NOW).iter().map(|hold| hold.code.as_str()).collect();
        match super::super::decide(&agent, &facts, NOW).0 {
            super::super::WakeVerdict::Run => prop_assert!(may_begin(&Candidate::Message(&agent, &facts), NOW)),
            super::super::WakeVerdict::Refused(refusal) => prop_assert!(codes.contains(&refusal.code())),
        }
    }
}
