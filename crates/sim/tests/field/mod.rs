//! Known field failures of such systems, each with the test that rules it out.
//!
//! | failure | test |
//! |---|---|
//! | a stale running flag | `schedule::overlap::a_stale_running_flag_does_not_swallow_wakes` |
//! | a dropped in-flight message | here |
//! | a timer-only agent that is not reloaded | `schedule::a_timer_only_agent_is_reloaded_after_a_restart` |
//! | a wrong kind of wait that never ends | here |
//! | a month-old message that is replayed | `schedule::a_month_old_message_is_not_replayed`, and here |
//! | A wakes B wakes A | `notice::two_agents_that_wake_one_another_stop_at_a_bound` |

use std::sync::atomic::Ordering;

use wakeful_core::cause::Priority;
use wakeful_core::id::TurnId;
use wakeful_core::message::RunOptions;
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::api::{AgentChange, IncomingMessage, TriggerDelivery};
use wakeful_store::rows::{RunFilter, RunRow};

use crate::notice::notice_daemon::{Daemon, Home, agent, on};
use crate::schedule::scheduled_daemon::{MINUTE_MS, Says, ScheduledDaemon};

fn post(name: &str, turn: &str) -> IncomingMessage {
    IncomingMessage {
        thread: None,
        agent: agent(name),
        turn: TurnId::parse(turn).expect("a turn"),
        text: format!("this is {turn}"),
        attachments: Vec::new(),
        run_options: RunOptions::default(),
        priority: Priority::default(),
    }
}

fn ended(runs: &[RunRow]) -> usize {
    runs.iter().filter(|run| run.status != RunStatus::Open).count()
}

/// Kills a daemon during a model request and starts the next one.
async fn dies_while_it_asks(home: &Home, daemon: Daemon) -> Daemon {
    daemon.settle().await;
    assert_eq!(home.oracle.heard().len(), 1, "the model is asked");
    daemon.kill();
    home.oracle.holds.store(false, Ordering::Relaxed);
    let daemon = home.serve();
    daemon.settle().await;
    daemon
}

// Conformance
#[tokio::test]
async fn messages_in_progress_or_queued_at_a_crash_are_answered_once() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.create("coach").await;
    home.oracle.holds.store(true, Ordering::Relaxed);
    for turn in ["first", "second"] {
        daemon
            .api
            .messages
            .send(post("coach", turn))
            .await
            .expect("taken in");
    }
    let daemon = dies_while_it_asks(&home, daemon).await;
    let runs = daemon.runs("coach").await;
    assert_eq!((runs.len(), ended(&runs)), (2, 2));
    assert!(daemon.queue("coach").await.is_empty());
    // The sender received no response and sends it again: it is the same message.
    let again = daemon
        .api
        .messages
        .send(post("coach", "first"))
        .await
        .expect("known");
    daemon.settle().await;
    assert_eq!((again.is_new, daemon.runs("coach").await.len()), (false, 2));
    let heard = home.oracle.heard();
    let answered = heard.iter().filter(|request| request.contains("this is second"));
    assert!(answered.count() >= 1 && heard.len() == 3, "{heard:?}");
}

#[tokio::test]
async fn a_change_in_progress_at_a_crash_is_answered_once() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.subscribed("coach", on("TASK")).await;
    home.oracle.holds.store(true, Ordering::Relaxed);
    home.add_task("Leg day", None).await;
    let daemon = dies_while_it_asks(&home, daemon).await;
    let runs = daemon.runs("coach").await;
    assert_eq!((runs.len(), ended(&runs)), (1, 1));
}

#[tokio::test]
async fn a_run_waiting_for_a_time_continues_after_a_restart() {
    let house = ScheduledDaemon::fresh(Says::Later).await;
    house
        .api
        .messages
        .send(post("main", "first"))
        .await
        .expect("taken in");
    house.ground.pass(1_000).await;
    let open = async |house: &ScheduledDaemon| {
        let read = house.ground.store.read(|view| view.runs(&all())).await;
        read.expect("runs")
            .iter()
            .filter(|run| run.status == RunStatus::Open)
            .count()
    };
    assert_eq!(open(&house).await, 1, "the model is not there for a minute");
    let ground = house.kill().await;
    ground.pass(10_000).await;
    let house = ScheduledDaemon::open(&ground, Says::Done).await;
    assert_eq!(open(&house).await, 1, "its moment has not come");
    ground.pass(2 * MINUTE_MS).await;
    assert_eq!((open(&house).await, house.runs().await), (0, 1));
}

fn all() -> RunFilter {
    RunFilter {
        limit: 100,
        ..RunFilter::default()
    }
}

#[tokio::test]
async fn a_message_held_by_a_sleep_barrier_starts_on_time_after_restart() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.subscribed("coach", on("TASK")).await;
    let asleep = daemon
        .api
        .agents
        .change(agent("coach"), AgentChange::Sleep(Millis(60_000)));
    asleep.await.expect("asleep");
    home.add_task("Leg day", None).await;
    daemon.settle().await;
    daemon.kill();
    let daemon = home.serve();
    daemon.settle().await;
    assert_eq!(
        (
            daemon.runs("coach").await.len(),
            daemon.queue("coach").await.len()
        ),
        (0, 1)
    );
    // The killed daemon may have left a wait behind.
    while daemon.runs("coach").await.is_empty() && home.ticks.advance() {
        daemon.settle().await;
    }
    assert_eq!(
        (home.ticks.now(), daemon.runs("coach").await.len()),
        (Millis(60_000), 1)
    );
}

#[tokio::test]
async fn a_delivery_repeated_after_a_month_and_a_restart_wakes_no_agent() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    let capability = house
        .api
        .triggers
        .get(crate::schedule::scheduled_daemon::agent("main"))
        .await;
    let row = capability.expect("a trigger").row;
    let delivery = TriggerDelivery {
        name: Some(TurnId::parse("delivery-1").expect("a name")),
        content_type: None,
        correlation: None,
        causation: None,
        body: b"something happened".to_vec(),
    };
    let first = house
        .api
        .triggers
        .deliver(row.clone(), delivery.clone())
        .await
        .expect("taken in");
    house.ground.pass(MINUTE_MS).await;
    let ground = house.kill().await;
    ground.pass(40 * 24 * 60 * MINUTE_MS).await;
    let house = ScheduledDaemon::open(&ground, Says::Done).await;
    let again = house.api.triggers.deliver(row, delivery).await.expect("known");
    ground.pass(MINUTE_MS).await;
    assert_eq!(
        (first.is_new, again.is_new, first.run_key),
        (true, false, again.run_key)
    );
    assert_eq!((house.runs().await, house.asked()), (1, 1));
}
