//! A firing while the one before it is under way.

use wakeful_core::run::RunStatus;
use wakeful_core::schedule::{Concurrency, ExecutionOutcome, Schedule};
use wakeful_core::time::Millis;
use wakeful_core::wake::AgentControl;

use super::scheduled_daemon::{HOUR_MS, Says, ScheduledDaemon, agent, every};
use super::{because, run};

#[tokio::test]
async fn the_three_ways_with_one_that_waits() {
    let house = ScheduledDaemon::fresh(Says::Done).await;
    for policy in Concurrency::ALL {
        house
            .add(policy.as_str(), every(3_600), |draft| draft.concurrency = policy)
            .await;
    }
    // What comes is kept and nothing begins.
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
        .expect("goes on");
    house.ground.pass(1_000).await;
    assert_eq!(
        house.runs().await,
        1,
        "one run takes up two, one, and the second of two"
    );
}

#[tokio::test]
async fn a_run_that_is_open_is_left_alone_or_ended_for_a_later_one() {
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
    // What it asked for last is gone: nobody will ever say that it has ended.
    let stale = Schedule {
        last_run: Some(made.run_key(Millis(1))),
        ..made
    };
    let put = house.ground.store.write(move |tx| tx.put_schedule(&stale)).await;
    put.expect("written");
    house.ground.pass(HOUR_MS + 1).await;
    assert_eq!(house.outcomes("hourly").await, run(1));
}
