//! The queue of an agent.

use wakeful_core::decision::Channel;
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, QUEUE_MAX, RunOptions};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, Suspension, Wait};
use wakeful_store::rows::{AgentOverview, BrakeRow, RunFilter, RunRow};
use wakeful_store::{Store, StoreError};

use crate::fixture::{everywhere, on_file, sample};

async fn agent(store: &Store, name: &'static str) {
    let made = store.write(move |tx| tx.create_agent(&sample::agent(name))).await;
    assert!(made.expect("written"));
}

/// Admits a message and queues it under this sequence number.
async fn post(store: &Store, turn: &str, seq: u64) -> Message {
    let message = sample::message(turn, "hello").through_api(RunOptions::default());
    let put = message.clone();
    let posted = store.write(move |tx| {
        tx.admit_message(&put)?;
        tx.enqueue(&put, seq, None)
    });
    posted.await.expect("written");
    message
}

async fn overview(store: &Store) -> AgentOverview {
    let found = store.read(|view| view.overview(&sample::agent_id("main"))).await;
    found.expect("read").expect("an agent")
}

async fn with_work(store: &Store) -> Vec<String> {
    let found = store
        .read(|view| view.agents_with_work(sample::work_at(Millis(0))))
        .await
        .expect("read");
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn messages_are_queued_in_the_order_of_their_admission_events() {
    everywhere(async |store| {
        agent(&store, "main").await;
        let (second, first) = (post(&store, "t1", 9).await, post(&store, "t2", 4).await);
        let rows = store
            .read(|view| view.queue(&sample::agent_id("main"), 10))
            .await
            .expect("read");
        let messages: Vec<_> = rows.iter().map(|row| (row.seq, row.message.clone())).collect();
        assert_eq!(messages, [(4, first.clone()), (9, second)]);
        let one = store.read(|view| view.queue(&sample::agent_id("main"), 1)).await;
        assert_eq!(one.expect("read").len(), 1);
        assert_eq!(overview(&store).await.queued, 2);
        let key = first.run_key;
        assert!(store.read(move |view| view.is_queued(&key)).await.expect("read"));
    });
}

#[test]
fn a_message_is_dequeued_once() {
    everywhere(async |store| {
        agent(&store, "main").await;
        let key = post(&store, "t1", 1).await.run_key;
        let take = async || {
            let taken = store.write(move |tx| tx.dequeue(&sample::agent_id("main"), &key));
            taken.await
        };
        take().await.expect("it waits");
        assert!(matches!(take().await, Err(StoreError::Conflict)));
        assert_eq!(overview(&store).await.queued, 0);
        assert!(!store.read(move |view| view.is_queued(&key)).await.expect("read"));
    });
}

#[test]
fn a_full_queue_refuses_a_message_and_stores_nothing() {
    // On one database only: the operation is the same, and on a server so many rows take 15 seconds.
    on_file(async |store| {
        agent(&store, "main").await;
        post(&store, "t1", 1).await;
        let filled = store.write(|tx| {
            for seq in 2..=QUEUE_MAX {
                let run_key = RunKey(sample::digest(&seq.to_string()));
                let filler = Message {
                    run_key,
                    ..sample::message("t1", "hello")
                };
                tx.enqueue(&filler, seq, None)?;
            }
            let message = sample::message("t2", "one too many");
            tx.admit_message(&message)?;
            tx.enqueue(&message, QUEUE_MAX + 1, None)
        });
        let refused = filled.await;
        assert!(matches!(refused, Err(StoreError::QueueFull(agent)) if agent.as_str() == "main"));
        assert_eq!(
            overview(&store).await.queued,
            1,
            "the whole transaction is undone"
        );
        let key = sample::message("t2", "one too many").run_key;
        assert_eq!(
            store.read(move |view| view.message(&key)).await.expect("read"),
            None
        );
    });
}

#[test]
fn an_agent_has_work_while_it_has_queued_messages_or_open_runs() {
    everywhere(async |store| {
        agent(&store, "main").await;
        agent(&store, "idle").await;
        assert_eq!(with_work(&store).await, Vec::<String>::new());
        let key = post(&store, "t1", 1).await.run_key;
        assert_eq!(with_work(&store).await, ["main"]);
        let pause = async |control| {
            let set = store.write(move |tx| tx.set_control(&sample::agent_id("main"), control));
            assert!(set.await.expect("written"));
        };
        pause(AgentControl::Paused).await;
        assert_eq!(
            with_work(&store).await,
            Vec::<String>::new(),
            "a paused agent waits"
        );
        assert_eq!(overview(&store).await.agent.control, AgentControl::Paused);
        let begun = store.write(move |tx| {
            tx.dequeue(&sample::agent_id("main"), &key)?;
            tx.create_run(&sample::run("run"))
        });
        begun.await.expect("written");
        assert_eq!(
            with_work(&store).await,
            ["main"],
            "an open run continues even if the agent is paused"
        );
        assert_eq!(overview(&store).await.open_run, Some(sample::run_key("run")));
        assert_eq!(overview(&store).await.last_run, Some(sample::run_key("run")));
    });
}

/// Creates an agent whose runs started one after the other.
async fn with_runs(store: &Store, names: &'static [&'static str]) {
    agent(store, "main").await;
    let made = store.write(move |tx| {
        for (at, name) in (1_i64..).zip(names) {
            tx.create_run(&RunRow {
                started_at: Millis(at),
                ..sample::run(name)
            })?;
        }
        Ok(())
    });
    made.await.expect("written");
}

async fn rest(store: &Store, run: &'static str, wait: Wait) {
    let since = Millis(0);
    let rested = store.write(move |tx| tx.suspend_run(&sample::run_key(run), Suspension { wait, since }));
    rested.await.expect("written");
}

/// Returns the run that the agent continues, and checks that the agent is listed as having work.
async fn due(store: &Store, at: Millis) -> Option<RunKey> {
    let found = store.read(move |view| {
        let listed = view
            .agents_with_work(sample::work_at(at))?
            .contains(&sample::agent_id("main"));
        Ok((
            view.due_run(&sample::agent_id("main"), sample::work_at(at))?,
            listed,
        ))
    });
    let (run, is_listed) = found.await.expect("read");
    assert_eq!(run.is_some(), is_listed, "a listed agent has a run to continue");
    run
}

#[test]
fn the_due_run_continues_and_not_an_older_suspended_one() {
    everywhere(async |store| {
        with_runs(&store, &["older", "newer"]).await;
        rest(&store, "older", Wait::Children).await;
        assert_eq!(due(&store, Millis(0)).await, Some(sample::run_key("newer")));
        rest(&store, "newer", Wait::Due { until: Millis(5) }).await;
        assert_eq!(due(&store, Millis(0)).await, None);
        assert_eq!(due(&store, Millis(5)).await, Some(sample::run_key("newer")));
    });
}

#[test]
fn a_run_waiting_for_its_turn_is_due_when_no_other_runs() {
    everywhere(async |store| {
        with_runs(&store, &["first", "second", "third"]).await;
        let key = sample::run_key;
        rest(&store, "first", Wait::Turn).await;
        rest(&store, "third", Wait::Turn).await;
        assert_eq!(overview(&store).await.open_run, Some(key("second")));
        assert_eq!(due(&store, Millis(0)).await, Some(key("second")));
        rest(&store, "second", Wait::Children).await;
        assert_eq!(due(&store, Millis(0)).await, None, "it waits for a person");
        let next = store.read(|view| view.next_due(Millis(0))).await;
        assert_eq!(next.expect("read"), None, "no clock brings a turn");
        let rouse = async |run| {
            let roused = store.write(move |tx| tx.make_run_due(&key(run)));
            roused.await.expect("written");
        };
        rouse("first").await;
        assert_eq!(
            due(&store, Millis(0)).await,
            None,
            "nothing that happens is a turn"
        );
        rouse("second").await;
        assert_eq!(due(&store, Millis(0)).await, Some(key("second")));
        let aside = store
            .write(move |tx| tx.set_run_status(&key("second"), RunStatus::Quarantined, Some("x"), Millis(0)));
        assert!(aside.await.expect("written"));
        assert_eq!(due(&store, Millis(0)).await, Some(key("first")));
        assert_eq!(overview(&store).await.open_run, Some(key("first")));
        // The run makes a transition and is in progress from then on.
        let moved = store.write(move |tx| {
            let Some(row) = tx.run(&key("first"))? else {
                return Err(StoreError::Conflict);
            };
            let moved = RunRow {
                version: row.version + 1,
                suspension: Some(Suspension {
                    wait: Wait::Children,
                    since: Millis(0),
                }),
                ..row.clone()
            };
            tx.put_state(&moved, row.version)
        });
        moved.await.expect("written");
        assert_eq!(due(&store, Millis(0)).await, None, "the third waits behind it");
    });
}

#[test]
fn a_cancelled_run_waits_for_neither_its_turn_nor_a_release() {
    everywhere(async |store| {
        with_runs(&store, &["first", "second"]).await;
        rest(&store, "second", Wait::Turn).await;
        let asked = store.write(|tx| tx.request_cancel(&sample::run_key("second"), Millis(0)));
        asked.await.expect("written");
        assert_eq!(due(&store, Millis(0)).await, Some(sample::run_key("second")));
        let braked = store.write(|tx| {
            tx.put_brake(&BrakeRow {
                agent_id: None,
                reason: String::new(),
                channel: Channel::Cli,
                at: Millis(0),
            })
        });
        assert!(braked.await.expect("written"));
        assert_eq!(due(&store, Millis(0)).await, Some(sample::run_key("second")));
    });
}

#[test]
fn pausing_an_unknown_agent_fails() {
    everywhere(async |store| {
        let set = store.write(|tx| tx.set_control(&sample::agent_id("nobody"), AgentControl::Paused));
        assert!(!set.await.expect("written"));
        let head = store.write(|tx| tx.lock_head_to_announce(&sample::agent_id("nobody")));
        assert_eq!(head.await.expect("written"), None);
    });
}

#[test]
fn pages_of_runs_neither_miss_nor_repeat_any() {
    everywhere(async |store| {
        agent(&store, "main").await;
        let made = store.write(|tx| {
            for number in 0..7_u8 {
                let run = RunRow {
                    // Several runs start in the same millisecond.
                    started_at: wakeful_core::time::Millis(i64::from(number / 3)),
                    ..sample::run(&number.to_string())
                };
                tx.create_run(&run)?;
            }
            Ok(())
        });
        made.await.expect("written");
        let page = async |before, limit| {
            let filter = RunFilter {
                before,
                limit,
                ..RunFilter::default()
            };
            let rows = store.read(move |view| view.runs(&filter)).await.expect("read");
            rows.iter().map(|row| row.run_key).collect::<Vec<_>>()
        };
        let all = page(None, 100).await;
        let mut pages: Vec<RunKey> = page(None, 3).await;
        while pages.len() < 7 {
            let next = page(pages.last().copied(), 3).await;
            assert!(!next.is_empty());
            pages.extend(next);
        }
        assert_eq!(pages, all);
        assert_eq!(page(all.last().copied(), 3).await, []);
        assert_eq!(page(Some(sample::run_key("unknown")), 3).await, []);
    });
}
