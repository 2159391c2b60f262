//! Reading the log again is recovery, and starts nothing.

use super::notice_daemon::{Home, agent, on};

/// Number of events that are read again.
const REPLAYED: usize = 1_000;

// Conformance: H-061
#[tokio::test]
async fn reading_a_thousand_events_again_queues_and_starts_nothing() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.subscribed("coach", on("TASK")).await;
    for number in 0..5 {
        home.add_task(&format!("task {number}"), None).await;
        daemon.settle().await;
    }
    let all = async || {
        let read = daemon.api.events.after(agent("coach"), 0, 1_000).await;
        read.expect("events").len()
    };
    let (events, runs) = (all().await, daemon.runs("coach").await.len());
    assert!(events > 0 && runs > 0, "{events} events, {runs} runs");
    let mut replayed = 0;
    while replayed < REPLAYED {
        replayed += all().await;
        daemon.settle().await;
    }
    assert!(daemon.queue("coach").await.is_empty(), "nothing is queued");
    assert_eq!((all().await, daemon.runs("coach").await.len()), (events, runs));
}
