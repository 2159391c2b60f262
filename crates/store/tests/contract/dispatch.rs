//! Compares the agents that the database preselects with the eligibility rule itself.

use wakeful_core::budget::{MicroUsd, UtcDay};
use wakeful_core::decision::Channel;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::message::Message;
use wakeful_core::stop::{StopRequest, StopTarget};
use wakeful_core::time::Millis;
use wakeful_core::wake::{
    AgentAvailability, AgentControl, Candidate, Delay, InteractionMode, Lifecycle, MessageFacts, RunFacts,
    Suspension, Wait, may_begin,
};
use wakeful_store::rows::{Agent, BrakeRow, Reservation, RunRow};
use wakeful_store::{Store, StoreError, Tx};

use crate::fixture::{everywhere, sample};

const NOW: Millis = Millis(1_771_344_000_000);

fn at(ms: i64) -> Millis {
    Millis(NOW.0 + ms)
}

fn brake(agent_id: Option<AgentId>) -> BrakeRow {
    BrakeRow {
        agent_id,
        reason: String::new(),
        channel: Channel::Cli,
        at: NOW,
    }
}

async fn with_work(store: &Store, now: Millis) -> Vec<AgentId> {
    store
        .read(move |view| view.agents_with_work(sample::work_at(now)))
        .await
        .expect("read")
}

/// Creates an agent's open run, and another run in progress if the facts include one.
fn make_run(tx: &mut Tx<'_>, name: &str, facts: &RunFacts) -> Result<(), StoreError> {
    let agent_id = sample::agent_id(name);
    let run = RunRow {
        agent_id: agent_id.clone(),
        suspension: facts.suspension,
        ..sample::run(name)
    };
    tx.create_agent(&sample::agent(name))?;
    tx.create_run(&run)?;
    if let Some(Wait::Budget { .. }) = run.wait() {
        let (spent, cap) = (MicroUsd(50), MicroUsd(facts.room + 50));
        reserve(tx, name, UtcDay::of(NOW), spent)?;
        tx.set_cap(Some(&agent_id), Some(cap), NOW)?;
    }
    if facts.is_other_under_way {
        let suspension = Suspension {
            wait: Wait::Children,
            since: NOW,
        };
        tx.create_run(&RunRow {
            run_key: sample::run_key(&format!("{name} other")),
            suspension: Some(suspension),
            ..run.clone()
        })?;
    }
    if facts.is_braked {
        tx.put_brake(&brake(Some(agent_id)))?;
    }
    if facts.is_cancel_requested {
        tx.request_cancel(&run.run_key, NOW)?;
        // As if the wait had started at the same time.
        if let Some(suspension) = facts.suspension {
            tx.suspend_run(&run.run_key, suspension)?;
        }
    }
    Ok(())
}

/// The budget that the waiting runs need.
const NEEDED: u64 = 100;

fn reserve(tx: &mut Tx<'_>, name: &str, day: UtcDay, amount: MicroUsd) -> Result<(), StoreError> {
    tx.reserve(&Reservation {
        operation_id: sample::operation(name),
        run_key: sample::run_key(name),
        agent_id: sample::agent_id(name),
        day,
        model_ref: "m".to_owned(),
        rule: "r".to_owned(),
        policy_version: PolicyVersion::new("1"),
        amount,
    })
}

fn runs() -> Vec<RunFacts> {
    let mut suspensions = vec![None];
    for since in [at(-1), at(60_000), at(60_001)] {
        let mut waits = vec![Wait::Children, Wait::Turn, Wait::Decision { until: None }];
        for until in [at(-1), NOW, at(1), at(90_000_000)] {
            waits.extend([
                Wait::Due { until },
                Wait::Decision { until: Some(until) },
                Wait::Budget {
                    until: Some(until),
                    needed: NEEDED,
                    limit: None,
                },
            ]);
        }
        suspensions.extend(waits.into_iter().map(|wait| Some(Suspension { wait, since })));
    }
    let mut runs = Vec::new();
    for suspension in suspensions {
        for room in [NEEDED, NEEDED - 1] {
            runs.extend((0..8_u8).map(|bits| RunFacts {
                suspension,
                is_cancel_requested: bits & 1 > 0,
                is_braked: bits & 2 > 0,
                is_other_under_way: bits & 4 > 0,
                room,
            }));
        }
    }
    runs
}

#[test]
fn exactly_the_agents_whose_run_may_continue_are_found() {
    everywhere(async |store| {
        let made = store.write(|tx| {
            let mut named = (0..).zip(runs());
            named.try_for_each(|(number, facts)| make_run(tx, &format!("a{number}"), &facts))
        });
        made.await.expect("made");
        let mut expected: Vec<AgentId> = (0..)
            .zip(runs())
            .filter(|(_, facts)| may_begin(&Candidate::Run(facts), NOW))
            .map(|(number, _)| sample::agent_id(&format!("a{number}")))
            .collect();
        expected.sort();
        assert!(expected.len() > 50);
        assert_eq!(with_work(&store, NOW).await, expected);
        for (number, facts) in (0..).zip(runs()) {
            let name = format!("a{number}");
            let agent = sample::agent_id(&name);
            let due = store
                .read(move |view| view.due_run(&agent, sample::work_at(NOW)))
                .await
                .expect("read");
            let begins = may_begin(&Candidate::Run(&facts), NOW);
            assert_eq!(due, begins.then(|| sample::run_key(&name)), "{facts:?}");
        }
    });
}

fn messages() -> Vec<(AgentAvailability, MessageFacts)> {
    let mut delays = vec![None];
    for until in [at(-1), NOW, at(1), at(90_000_000)] {
        let admitted = [at(-1), at(60_000), at(60_001)];
        delays.extend(admitted.map(|admitted_at| Some(Delay { until, admitted_at })));
    }
    let mut messages = Vec::new();
    for delay in delays {
        for control in AgentControl::ALL {
            for (lifecycle, is_braked, is_asleep, is_busy) in [
                (Lifecycle::Active, false, false, false),
                (Lifecycle::Dormant, false, false, false),
                (Lifecycle::Destroyed, false, false, false),
                (Lifecycle::Active, true, false, false),
                (Lifecycle::Active, false, true, false),
                (Lifecycle::Active, false, false, true),
            ] {
                let agent = AgentAvailability {
                    lifecycle,
                    control,
                    mode: InteractionMode::Hybrid,
                    sleep_until: delay.map(|delay| delay.until).filter(|_| is_asleep),
                };
                let facts = MessageFacts {
                    delay,
                    is_braked,
                    open_run: is_busy.then(|| sample::run_key("open")),
                };
                messages.push((agent, facts));
            }
        }
    }
    messages
}

fn make_message(
    tx: &mut Tx<'_>,
    name: &str,
    agent: &AgentAvailability,
    facts: &MessageFacts,
) -> Result<(), StoreError> {
    let agent_id = sample::agent_id(name);
    tx.create_agent(&Agent {
        lifecycle: agent.lifecycle,
        control: agent.control,
        mode: agent.mode,
        sleep_until: agent.sleep_until,
        ..sample::agent(name)
    })?;
    let message = Message {
        agent_id: agent_id.clone(),
        run_key: sample::run_key(name),
        admitted_at: facts.delay.map_or(NOW, |delay| delay.admitted_at),
        ..sample::message(name, "hello")
    };
    tx.admit_message(&message)?;
    tx.enqueue(&message, 1, facts.delay.map(|delay| delay.until))?;
    if facts.is_braked {
        tx.put_brake(&brake(Some(agent_id.clone())))?;
    }
    if facts.open_run.is_some() {
        let suspension = Suspension {
            wait: Wait::Children,
            since: NOW,
        };
        tx.create_run(&RunRow {
            agent_id,
            run_key: sample::run_key(&format!("{name} open")),
            suspension: Some(suspension),
            ..sample::run(name)
        })?;
    }
    Ok(())
}

#[test]
fn exactly_the_agents_whose_message_may_start_are_found() {
    everywhere(async |store| {
        let made = store.write(|tx| {
            let mut named = (0..).zip(messages());
            named.try_for_each(|(number, (agent, facts))| {
                make_message(tx, &format!("a{number}"), &agent, &facts)
            })
        });
        made.await.expect("made");
        let mut expected: Vec<AgentId> = (0..)
            .zip(messages())
            .filter(|(_, (agent, facts))| may_begin(&Candidate::Message(agent, facts), NOW))
            .map(|(number, _)| sample::agent_id(&format!("a{number}")))
            .collect();
        expected.sort();
        assert!(expected.len() > 10);
        assert_eq!(with_work(&store, NOW).await, expected);
        for (number, _) in (0..).zip(messages()) {
            let agent = sample::agent_id(&format!("a{number}"));
            let is_listed = expected.contains(&agent);
            let next = store.read(move |view| {
                let overview = view.overview(&agent)?.expect("an agent");
                view.next_message(&overview, NOW)
            });
            assert_eq!(next.await.expect("read").is_some(), is_listed, "a{number}");
        }
    });
}

#[test]
fn a_brake_that_is_not_stored_yet_prevents_work() {
    everywhere(async |store| {
        let facts = RunFacts {
            suspension: None,
            is_cancel_requested: false,
            is_braked: false,
            is_other_under_way: false,
            room: 0,
        };
        let made = store.write(move |tx| {
            make_run(tx, "runs", &facts)?;
            let (agent, facts) = messages().remove(0);
            make_message(tx, "waits", &agent, &facts)
        });
        made.await.expect("made");
        let (runs, waits) = (sample::agent_id("runs"), sample::agent_id("waits"));
        assert_eq!(with_work(&store, NOW).await, [runs.clone(), waits.clone()]);
        for (id, target) in [(1, StopTarget::brake(Some(&waits))), (2, StopTarget::brake(None))] {
            let expected = if id == 1 { vec![runs.clone()] } else { Vec::new() };
            let held = store.stops().add(StopRequest {
                id,
                target,
                reason: String::new(),
                channel: Channel::Cli,
                at: NOW,
            });
            assert!(held.is_some());
            assert_eq!(with_work(&store, NOW).await, expected);
        }
        let wanted = runs.clone();
        let due = store
            .read(move |view| view.due_run(&wanted, sample::work_at(NOW)))
            .await;
        assert_eq!(due.expect("read"), None);
    });
}

#[test]
fn ten_thousand_ineligible_messages_do_not_hide_an_eligible_one() {
    everywhere(async |store| {
        let made = store.write(|tx| {
            let (active, facts) = messages().remove(0);
            let destroyed = AgentAvailability {
                lifecycle: Lifecycle::Destroyed,
                ..active
            };
            for number in 0..=10_000 {
                make_message(tx, &format!("a{number:05}"), &destroyed, &facts)?;
            }
            make_message(tx, "zz", &active, &facts)
        });
        made.await.expect("made");
        assert_eq!(with_work(&store, NOW).await, [sample::agent_id("zz")]);
    });
}

#[test]
fn ten_thousand_ineligible_agents_do_not_hide_an_eligible_one() {
    everywhere(async |store| {
        let made = store.write(|tx| {
            tx.put_brake(&brake(None))?;
            for number in 0..=10_000 {
                let name = format!("a{number:05}");
                tx.create_run(&RunRow {
                    agent_id: sample::agent_id(&name),
                    ..sample::run(&name)
                })?;
            }
            tx.create_run(&RunRow {
                agent_id: sample::agent_id("zz"),
                ..sample::run("zz")
            })?;
            // A brake does not prevent the cancellation of a run.
            tx.request_cancel(&sample::run_key("zz"), NOW)
        });
        made.await.expect("made");
        assert_eq!(with_work(&store, NOW).await, [sample::agent_id("zz")]);
    });
}

/// Creates an agent whose open run waits for budget until the next day.
fn park(tx: &mut Tx<'_>, name: &str, needed: u64) -> Result<(), StoreError> {
    let wait = Wait::Budget {
        until: Some(UtcDay::of(NOW).next().begins()),
        needed,
        limit: None,
    };
    tx.create_agent(&sample::agent(name))?;
    tx.create_run(&RunRow {
        agent_id: sample::agent_id(name),
        suspension: Some(Suspension { wait, since: NOW }),
        ..sample::run(name)
    })
}

#[test]
fn ten_thousand_agents_waiting_for_budget_do_not_hide_an_eligible_one() {
    everywhere(async |store| {
        let made = store.write(|tx| {
            tx.set_cap(None, Some(MicroUsd(100)), NOW)?;
            for number in 0..=10_000 {
                let name = format!("a{number:05}");
                let is_own_cap = number % 2 == 0;
                park(tx, &name, if is_own_cap { 100 } else { 101 })?;
                if is_own_cap {
                    tx.set_cap(Some(&sample::agent_id(&name)), Some(MicroUsd(99)), NOW)?;
                }
            }
            tx.create_run(&RunRow {
                agent_id: sample::agent_id("zz"),
                ..sample::run("zz")
            })
        });
        made.await.expect("made");
        assert_eq!(with_work(&store, NOW).await, [sample::agent_id("zz")]);
    });
}

#[test]
fn parked_runs_are_found_once_the_budget_is_sufficient() {
    everywhere(async |store| {
        let today = UtcDay::of(NOW);
        let made = store.write(move |tx| {
            for (name, needed) in [("a41", 41), ("b80", 80), ("c101", 101)] {
                park(tx, name, needed)?;
            }
            tx.create_agent(&sample::agent("d"))?;
            tx.set_cap(None, Some(MicroUsd(100)), NOW)?;
            reserve(tx, "d", today, MicroUsd(60))
        });
        made.await.expect("made");
        let found = async |now| {
            let agents = with_work(&store, now).await;
            agents.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found(NOW).await, [""; 0]);
        let all = ["a41", "b80", "c101"];
        assert_eq!(found(today.next().begins()).await, all, "the day turns");
        let settled = store.write(|tx| tx.settle_spend(&sample::operation("d"), Some(MicroUsd(20))));
        settled.await.expect("settled");
        assert_eq!(found(NOW).await, ["a41", "b80"]);
        let capped = store.write(|tx| tx.set_cap(Some(&sample::agent_id("a41")), Some(MicroUsd(40)), NOW));
        capped.await.expect("capped");
        assert_eq!(found(NOW).await, ["b80"]);
        let raised = store.write(|tx| tx.set_cap(None, None, NOW));
        raised.await.expect("raised");
        assert_eq!(found(NOW).await, ["b80", "c101"], "the configured cap holds");
        let ended = store.write(|tx| tx.end_budget_waits(Some(&sample::agent_id("a41"))));
        ended.await.expect("ended");
        assert_eq!(found(NOW).await, all, "a person wants it to be tried");
    });
}

#[test]
fn after_a_day_reset_the_affordable_runs_are_found() {
    everywhere(async |store| {
        let (today, ahead) = (UtcDay::of(NOW), UtcDay(UtcDay::of(NOW).0 + 10));
        let made = store.write(move |tx| {
            park(tx, "a", 41)?;
            tx.create_agent(&sample::agent("d"))?;
            tx.set_cap(None, Some(MicroUsd(100)), NOW)?;
            reserve(tx, "d", ahead, MicroUsd(60))?;
            let wait = Wait::Budget {
                until: Some(ahead.next().begins()),
                needed: 41,
                limit: None,
            };
            tx.suspend_run(&sample::run_key("a"), Suspension { wait, since: NOW })
        });
        made.await.expect("made");
        assert_eq!(with_work(&store, NOW).await, [] as [AgentId; 0]);
        let tomorrow = today.next().begins();
        assert_eq!(with_work(&store, tomorrow).await, [] as [AgentId; 0]);
        store
            .write(move |tx| tx.reset_spend_day(today))
            .await
            .expect("reset");
        assert_eq!(with_work(&store, NOW).await, [] as [AgentId; 0], "spent today");
        assert_eq!(with_work(&store, tomorrow).await, [sample::agent_id("a")]);
    });
}
