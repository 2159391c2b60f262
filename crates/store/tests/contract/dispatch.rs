//! Who may begin something: what the database preselects, against the rule itself.

use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::message::Message;
use wakeful_core::stop::{StopRequest, StopTarget};
use wakeful_core::time::Millis;
use wakeful_core::wake::{
    AgentAvailability, Candidate, Control, Delay, Lifecycle, MessageFacts, Mode, RunFacts, Suspension, Wait,
    may_begin,
};
use wakeful_store::rows::{Agent, BrakeRow, RunRow};
use wakeful_store::{Store, StoreError, Tx};

use crate::world::{everywhere, sample};

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
        .read(move |view| view.agents_with_work(now))
        .await
        .expect("read")
}

/// Makes an agent's open run, and another one that is under way if there is to be one.
fn make_run(tx: &mut Tx<'_>, name: &str, facts: &RunFacts) -> Result<(), StoreError> {
    let agent_id = sample::agent_id(name);
    let run = RunRow {
        agent_id: agent_id.clone(),
        suspension: facts.suspension,
        ..sample::run(name)
    };
    tx.create_agent(&sample::agent(name))?;
    tx.create_run(&run)?;
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
        // As if it had begun to wait in the same moment.
        if let Some(suspension) = facts.suspension {
            tx.suspend_run(&run.run_key, suspension)?;
        }
    }
    Ok(())
}

fn runs() -> Vec<RunFacts> {
    let mut suspensions = vec![None];
    for since in [at(-1), at(60_000), at(60_001)] {
        let mut waits = vec![
            Wait::Children,
            Wait::Budget,
            Wait::Turn,
            Wait::Decision { until: None },
        ];
        for until in [at(-1), NOW, at(1), at(90_000_000)] {
            waits.extend([Wait::Due { until }, Wait::Decision { until: Some(until) }]);
        }
        suspensions.extend(waits.into_iter().map(|wait| Some(Suspension { wait, since })));
    }
    let mut runs = Vec::new();
    for suspension in suspensions {
        runs.extend((0..8_u8).map(|bits| RunFacts {
            suspension,
            is_cancel_requested: bits & 1 > 0,
            is_braked: bits & 2 > 0,
            is_other_under_way: bits & 4 > 0,
        }));
    }
    runs
}

#[test]
fn every_agent_whose_run_may_go_on_is_found_and_no_other() {
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
                .read(move |view| view.due_run(&agent, NOW))
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
        for control in Control::ALL {
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
                    mode: Mode::Hybrid,
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
fn every_agent_whose_message_may_begin_is_found_and_no_other() {
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
fn a_brake_that_is_not_stored_yet_keeps_agents_from_work() {
    everywhere(async |store| {
        let facts = RunFacts {
            suspension: None,
            is_cancel_requested: false,
            is_braked: false,
            is_other_under_way: false,
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
            let held = store.stops().hold(StopRequest {
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
        let due = store.read(move |view| view.due_run(&wanted, NOW)).await;
        assert_eq!(due.expect("read"), None);
    });
}

#[test]
fn ten_thousand_messages_that_may_not_begin_hide_none_that_may() {
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
fn ten_thousand_agents_that_may_not_run_hide_none_that_may() {
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
            // A brake does not keep a run from its end.
            tx.request_cancel(&sample::run_key("zz"), NOW)
        });
        made.await.expect("made");
        assert_eq!(with_work(&store, NOW).await, [sample::agent_id("zz")]);
    });
}
