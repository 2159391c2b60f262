//! Waiting runs while the clock is set back: the wait is not extended by the difference.

use wakeful_core::decision::Decision;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;
use wakeful_store::WorkQuery;

use super::parked::CAP;
use super::{Daemon, First, PATIENCE_MS, RETRY_AFTER_MS};

const DAY_MS: i64 = 86_400_000;

/// Maximum time until a daemon without notifications checks again.
const LOOK_MS: u64 = 60_000;

#[tokio::test]
async fn a_waiting_run_waits_no_longer_after_the_clock_is_set_back() {
    for days in [1, 3_652] {
        let daemon = Daemon::begin(First::Fails).await;
        daemon.ticks.set(Millis(-days * DAY_MS));
        daemon.pass(RETRY_AFTER_MS / 2).await;
        assert_eq!(daemon.status().await, "open", "the model asks to retry later");
        daemon.pass(LOOK_MS + RETRY_AFTER_MS).await;
        assert_eq!(daemon.status().await, "completed", "{days} days");
        assert!(daemon.ticks.monotonic_ms() < 3 * RETRY_AFTER_MS, "{days} days");
    }
}

#[tokio::test]
async fn a_small_clock_correction_wakes_no_run() {
    let daemon = Daemon::begin(First::Fails).await;
    daemon.ticks.set(Millis(-30_000));
    let now = daemon.ticks.now();
    let query = WorkQuery { now, daily_cap: CAP };
    let ready = daemon.store.read(move |view| view.agents_with_work(query)).await;
    assert!(ready.expect("read").is_empty());
    daemon.pass(RETRY_AFTER_MS + LOOK_MS).await;
    assert_eq!(daemon.status().await, "completed");
}

#[tokio::test]
async fn a_temporarily_wrong_clock_closes_no_question() {
    let daemon = Daemon::begin(First::WantsTool).await;
    let asked = async || {
        daemon
            .api
            .decisions
            .list(true)
            .await
            .expect("questions")
            .remove(0)
    };
    let before = asked().await;
    let right = daemon.ticks.now();
    daemon.ticks.set(Millis(-3_652 * DAY_MS));
    daemon.pass(LOOK_MS + 2 * PATIENCE_MS).await;
    assert_eq!(asked().await, before, "its deadline is a date");
    daemon.ticks.set(right);
    daemon.pass(PATIENCE_MS / 2).await;
    assert_eq!(asked().await, before, "it still has time");
    daemon.pass(LOOK_MS + PATIENCE_MS).await;
    let left = daemon.api.decisions.list(true).await.expect("questions");
    let is_late = |one: &Decision| one.version == before.version;
    assert!(!left.iter().any(is_late), "its deadline was not checked");
}
