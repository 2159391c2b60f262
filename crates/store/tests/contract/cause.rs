//! Causes: order and delays in the queue, refusals, and the settings of agents.

use wakeful_core::budget::UtcDay;
use wakeful_core::cause::{Cause, MessageOrigin, Priority};
use wakeful_core::id::RuleId;
use wakeful_core::key::Digest;
use wakeful_core::message::Message;
use wakeful_core::time::Millis;
use wakeful_core::wake::{InteractionMode, Lifecycle, REFUSALS_KEPT_MAX, Suspension, Wait};
use wakeful_store::Store;
use wakeful_store::rows::{RunRow, WakeFilter, WakeRow};

use crate::fixture::{everywhere, sample};

async fn agent(store: &Store, name: &'static str) {
    let made = store.write(move |tx| tx.create_agent(&sample::agent(name))).await;
    assert!(made.expect("written"));
}

fn tick(at: i64) -> Cause {
    Cause {
        origin: MessageOrigin::Schedule {
            event: None,
            schedule: RuleId::parse("daily").expect("id"),
            scheduled_at: Millis(at),
            is_catch_up: false,
            is_by_hand: false,
        },
        ..Cause::default()
    }
}

/// Admits and queues a message.
async fn post(store: &Store, turn: &str, cause: Cause, place: (u64, Option<Millis>)) {
    let message = Message {
        cause,
        admitted_at: Millis(0),
        ..sample::message(turn, "hello")
    };
    let posted = store.write(move |tx| {
        tx.admit_message(&message)?;
        tx.enqueue(&message, place.0, place.1)
    });
    posted.await.expect("written");
}

#[test]
fn the_most_urgent_message_is_next_and_delayed_ones_do_not_block() {
    everywhere(async |store| {
        agent(&store, "main").await;
        let urgent = |priority| Cause {
            priority,
            ..Cause::default()
        };
        post(&store, "ordinary", Cause::default(), (1, None)).await;
        post(
            &store,
            "held",
            urgent(Priority::Interject),
            (2, Some(Millis(500))),
        )
        .await;
        post(&store, "urgent", urgent(Priority::Next), (3, None)).await;
        let next = async |now: i64| {
            let found = store.read(move |view| {
                let agent = view.overview(&sample::agent_id("main"))?.expect("an agent");
                Ok((
                    view.next_message(&agent, Millis(now))?,
                    view.next_message_due(Millis(now))?,
                ))
            });
            let (row, due) = found.await.expect("read");
            (row.map(|row| row.message.run_key), due)
        };
        let key = |turn: &str| Some(sample::message(turn, "hello").run_key);
        assert_eq!(next(499).await, (key("urgent"), Some(Millis(500))));
        assert_eq!(next(500).await, (key("held"), None));
        let released = store.write(|tx| tx.release_delayed(&sample::agent_id("main")));
        released.await.expect("written");
        assert_eq!(next(0).await, (key("held"), None));
    });
}

#[test]
fn a_clock_set_back_releases_delayed_messages_except_behind_a_barrier() {
    everywhere(async |store| {
        agent(&store, "main").await;
        let (admitted_at, due) = (Millis(1_000_000), Millis(1_000_500));
        let message = Message {
            admitted_at,
            ..sample::message("held", "hello")
        };
        let posted = store.write(move |tx| {
            tx.admit_message(&message)?;
            tx.enqueue(&message, 1, Some(due))
        });
        posted.await.expect("written");
        let is_ready = async |now: Millis| {
            let found = store.read(move |view| {
                let agent = view.overview(&sample::agent_id("main"))?.expect("an agent");
                let next = view.next_message(&agent, now)?;
                Ok((
                    next.is_some(),
                    !view.agents_with_work(sample::work_at(now))?.is_empty(),
                ))
            });
            let (next, with_work) = found.await.expect("read");
            assert_eq!(next, with_work, "at {now:?}");
            next
        };
        assert!(!is_ready(admitted_at).await, "it waits");
        assert!(is_ready(due).await);
        assert!(is_ready(Millis(900_000)).await, "the clock was set back");
        let sleeps = store.write(move |tx| tx.set_sleep(&sample::agent_id("main"), Some(due)));
        assert!(sleeps.await.expect("written"));
        assert!(!is_ready(Millis(900_000)).await, "a barrier is a date");
    });
}

#[test]
fn a_suspended_run_is_checked_once_after_the_clock_was_set_back() {
    everywhere(async |store| {
        agent(&store, "main").await;
        let run = sample::run("run").run_key;
        let rest = async |wait: Wait, since: Millis| {
            let rests = store.write(move |tx| tx.suspend_run(&run, Suspension { wait, since }));
            rests.await.expect("written");
        };
        let made = store.write(|tx| tx.create_run(&sample::run("run"))).await;
        made.expect("written");
        let is_due = async |now: Millis| {
            let found = store
                .read(move |view| view.agents_with_work(sample::work_at(now)))
                .await;
            !found.expect("read").is_empty()
        };
        let (now, due) = (Millis(100_000_000), Millis(200_000_000));
        rest(Wait::Due { until: due }, now).await;
        assert!(!is_due(now).await && is_due(due).await);
        assert!(!is_due(Millis(now.0 - 60_000)).await, "the clock was corrected");
        let back = Millis(now.0 - 60_001);
        assert!(is_due(back).await, "the clock was set back");
        let until = Millis(back.0 + 500);
        rest(Wait::Due { until }, back).await;
        assert!(!is_due(back).await, "it is not checked again before its time");
        assert!(is_due(Millis(back.0 + 500)).await);
        rest(Wait::Children, now).await;
        assert!(
            !is_due(back).await,
            "what never comes by itself does not come back either"
        );
    });
}

#[test]
fn the_newest_run_is_the_last_created_regardless_of_the_clock() {
    everywhere(async |store| {
        agent(&store, "main").await;
        let began = async |name: &'static str, at: i64| {
            let began = store.write(move |tx| {
                tx.create_run(&RunRow {
                    started_at: Millis(at),
                    ..sample::run(name)
                })?;
                tx.last_run_at(&sample::agent_id("main"))
            });
            began.await.expect("written")
        };
        let before = store
            .read(|view| view.last_run_at(&sample::agent_id("main")))
            .await;
        assert_eq!(before.expect("read"), None);
        assert_eq!(began("first", 5_000_000).await, Some(Millis(5_000_000)));
        assert_eq!(
            began("second", 1_000).await,
            Some(Millis(1_000)),
            "the clock was set back"
        );
    });
}

// Conformance: H-211
#[test]
fn messages_are_taken_in_order_of_rank_with_their_causes() {
    everywhere(async |store| {
        agent(&store, "main").await;
        let mut ranks = Vec::new();
        for seq in 1..=60_u64 {
            let turn = format!("turn {seq}");
            // A few of each priority in arbitrary order, the same in every test run.
            let digest = Digest::of(turn.as_bytes());
            let priority = Priority::ALL[usize::from(digest.as_bytes()[0] % 4)];
            let cause = Cause {
                priority,
                ..if seq % 2 == 0 {
                    tick(seq.cast_signed())
                } else {
                    Cause::default()
                }
            };
            post(&store, &turn, cause.clone(), (seq, None)).await;
            ranks.push((priority.rank(seq), sample::message(&turn, "hello").run_key, cause));
        }
        ranks.sort_by_key(|(rank, _, _)| *rank);
        for (_, run, cause) in ranks {
            let next = store.write(move |tx| {
                let agent = sample::agent_id("main");
                let overview = tx.overview(&agent)?.expect("an agent");
                let next = tx.next_message(&overview, Millis(0))?.expect("one more");
                tx.dequeue(&agent, &next.message.run_key)?;
                Ok((next.message.run_key, next.message.cause))
            });
            assert_eq!(next.await.expect("taken"), (run, cause));
        }
    });
}

#[test]
fn an_agent_with_only_delayed_messages_has_no_work_yet() {
    everywhere(async |store| {
        agent(&store, "main").await;
        post(&store, "held", Cause::default(), (1, Some(Millis(500)))).await;
        let with_work = async |now: i64| {
            store
                .read(move |view| view.agents_with_work(sample::work_at(Millis(now))))
                .await
                .expect("read")
        };
        assert!(with_work(499).await.is_empty());
        assert_eq!(with_work(500).await, [sample::agent_id("main")]);
    });
}

#[test]
fn only_messages_without_a_prompt_are_absorbed_together() {
    everywhere(async |store| {
        agent(&store, "main").await;
        post(&store, "a", tick(1), (1, None)).await;
        post(&store, "b", Cause::default(), (2, None)).await;
        post(&store, "c", tick(2), (3, None)).await;
        post(&store, "d", tick(3), (4, Some(Millis(900)))).await;
        let found = store.read(|view| {
            let agent = view.overview(&sample::agent_id("main"))?.expect("an agent");
            view.absorbable_messages(&agent, Millis(100), 10)
        });
        let keys: Vec<_> = found
            .await
            .expect("read")
            .into_iter()
            .map(|row| row.message.run_key)
            .collect();
        assert_eq!(
            keys,
            ["a", "c"].map(|turn| sample::message(turn, "hello").run_key)
        );
    });
}

#[test]
fn refusals_are_stored_up_to_a_limit_and_then_counted() {
    everywhere(async |store| {
        let more = REFUSALS_KEPT_MAX + 3;
        let refused = store.write(move |tx| {
            for at in 0..more {
                let at = i64::try_from(at).unwrap_or(0);
                tx.record_refusal(&WakeRow {
                    cause: tick(at),
                    at: Millis(at),
                    ..sample::wake(&format!("run {at}"), "nothing_to_do")
                })?;
            }
            Ok(())
        });
        refused.await.expect("written");
        let found = store.read(|view| {
            let agent_id = sample::agent_id("main");
            let filter = WakeFilter {
                agent_id: agent_id.clone(),
                since: Millis(0),
                limit: 1_000,
            };
            Ok((view.wakes(&filter)?, view.refusals(&agent_id, UtcDay(0))?))
        });
        let (wakes, counted) = found.await.expect("read");
        assert_eq!(wakes.len() as u64, REFUSALS_KEPT_MAX);
        assert!(wakes.is_sorted_by_key(|wake| std::cmp::Reverse(wake.at)));
        let [row] = counted.as_slice() else {
            panic!("{counted:?}")
        };
        assert_eq!(
            (row.count, row.code.as_str(), row.source.as_str()),
            (more, "nothing_to_do", "schedule:daily")
        );
        assert_eq!(
            (row.first_at, row.last_at),
            (Millis(0), Millis(i64::try_from(more).unwrap_or(0) - 1))
        );
    });
}

#[test]
fn a_run_lists_what_it_absorbed_and_the_record_stays() {
    everywhere(async |store| {
        let absorbed = WakeRow {
            absorbed_by: Some(sample::run_key("first")),
            ..sample::wake("second", "absorbed")
        };
        let wanted = absorbed.clone();
        let put = store.write(move |tx| {
            tx.put_wake(&absorbed)?;
            tx.put_wake(&sample::wake("second", "braked"))
        });
        put.await.expect("written");
        let found = store.read(|view| view.absorbed_by(&sample::run_key("first")));
        assert_eq!(found.await.expect("read"), [wanted]);
    });
}

#[test]
fn mode_lifecycle_and_sleep_of_an_agent_are_stored() {
    everywhere(async |store| {
        agent(&store, "main").await;
        let changed = store.write(|tx| {
            let agent = sample::agent_id("main");
            let nobody = sample::agent_id("nobody");
            assert!(!tx.set_mode(&nobody, InteractionMode::Interactive)?);
            assert!(tx.set_lifecycle(&agent, Lifecycle::Dormant)?);
            assert!(tx.set_sleep(&agent, Some(Millis(77)))?);
            tx.set_mode(&agent, InteractionMode::Autonomous)
        });
        assert!(changed.await.expect("written"));
        let found = store.read(|view| view.agent(&sample::agent_id("main")));
        let found = found.await.expect("read").expect("agent");
        assert_eq!(
            (found.lifecycle, found.mode, found.sleep_until),
            (Lifecycle::Dormant, InteractionMode::Autonomous, Some(Millis(77)))
        );
    });
}
