//! A firing while the previous one is in progress.

use wakeful_core::run::RunStatus;
use wakeful_core::schedule::{Concurrency, ExecutionOutcome, Schedule};
use wakeful_core::time::Millis;
use wakeful_core::wake::AgentControl;

use super::scheduled_daemon::{HOUR_MS, Says, ScheduledDaemon, agent, every};
use super::{because, run};

// Conformance
#[tokio::test]
async fn each_concurrency_policy_handles_a_queued_firing() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    for policy in Concurrency::ALL {
        house
            .add(policy.as_str(), every(3_600), |draft| draft.concurrency = policy)
            .await;
    }
    // Messages are queued and nothing starts.
    house
        .api
        .agents
        .set_control(agent("main"), AgentControl::Paused)
        .await
        .expect("paused");
    house.ground.pass(2 * HOUR_MS + 1).await;
    assert_eq!(house.outcomes("allow").await, run(2));
    assert_eq!(
        house.outcomes("forbid").await,
        [
            (ExecutionOutcome::Run, None),
            because(ExecutionOutcome::Skipped, "concurrency_forbid")
        ]
    );
    let replaced = [
        (ExecutionOutcome::Run, None),
        (ExecutionOutcome::Run, None),
        (ExecutionOutcome::Replaced, None),
    ];
    assert_eq!(house.outcomes("replace").await, replaced);
    house
        .api
        .agents
        .set_control(agent("main"), AgentControl::Running)
        .await
        .expect("resumed");
    house.ground.pass(1_000).await;
    assert_eq!(
        house.runs().await,
        1,
        "one run takes up two, one, and the second of two"
    );
}

// Conformance: A-126
#[tokio::test]
async fn an_open_run_is_kept_or_cancelled_for_a_later_firing() {
    let house = ScheduledDaemon::fresh(Says::Later).await;
    house.add("forbid", every(50), |_| {}).await;
    house.ground.pass(110_000).await;
    assert_eq!(
        house.outcomes("forbid").await,
        [
            (ExecutionOutcome::Run, None),
            because(ExecutionOutcome::Skipped, "concurrency_forbid")
        ]
    );
    let house = ScheduledDaemon::fresh(Says::Later).await;
    house
        .add("replace", every(50), |draft| {
            draft.concurrency = Concurrency::Replace
        })
        .await;
    house.ground.pass(110_000).await;
    let replaced = [
        (ExecutionOutcome::Run, None),
        (ExecutionOutcome::Run, None),
        (ExecutionOutcome::Replaced, None),
    ];
    assert_eq!(house.outcomes("replace").await, replaced);
    let records = house.records("replace").await;
    let statuses: Vec<_> = records
        .iter()
        .map(|one| one.run_status.map(RunStatus::as_str))
        .collect();
    assert_ne!(statuses.first(), Some(&Some("open")), "it was asked to end");
}

#[tokio::test]
async fn a_stale_running_flag_does_not_swallow_wakes() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    let made = house.add("hourly", every(3_600), |_| {}).await;
    // The run that it requested last was deleted, so its end is never reported.
    let stale = Schedule {
        last_run: Some(made.run_key(Millis(1))),
        ..made
    };
    let put = house.ground.store.write(move |tx| tx.put_schedule(&stale)).await;
    put.expect("written");
    house.ground.pass(HOUR_MS + 1).await;
    assert_eq!(house.outcomes("hourly").await, run(1));
}
