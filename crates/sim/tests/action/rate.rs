//! Rates of tools, with real runs on a real store: a call above the rate waits and is performed later.

use wakeful_core::conversation::CALLS_PER_ROUND_MAX;
use wakeful_core::decision::Channel;
use wakeful_core::rate::TOOL_CALLS_PER_MINUTE;
use wakeful_core::run::RunStatus;
use wakeful_core::wake::WaitKind;

use super::*;

const LIMIT: usize = TOOL_CALLS_PER_MINUTE as usize;
const ALL: usize = 2 * CALLS_PER_ROUND_MAX;

/// A daemon whose second run waits, because both runs together call the tool too often, and that run.
async fn over_the_rate() -> (Daemon, RunKey) {
    let daemon = Daemon::begin(Setting {
        calls: CALLS_PER_ROUND_MAX,
        class: EffectClass::Idempotent,
        ..Setting::default()
    })
    .await;
    daemon.tools.permits.add_permits(999);
    daemon.settle().await;
    let waits = send(&daemon.api, "turn-2").await;
    daemon.settle().await;
    assert_eq!(daemon.begun().len(), LIMIT);
    assert_eq!(waits_for(&daemon, waits).await, Some(WaitKind::Rate));
    (daemon, waits)
}

async fn waits_for(daemon: &Daemon, run: RunKey) -> Option<WaitKind> {
    let run = daemon.api.runs.get(run).await.expect("a run");
    run.row.wait().map(wakeful_core::wake::Wait::kind)
}

async fn pass(daemon: &Daemon, ms: u64) {
    daemon.ticks.pass(ms);
    daemon.settle().await;
}

async fn assert_completed(daemon: &Daemon, run: RunKey) {
    let (status, steps) = daemon.outcome_of(run).await;
    assert_eq!(status, RunStatus::Completed.as_str());
    assert!(
        steps.iter().all(|(status, _)| *status == StepStatus::Ok),
        "{steps:?}"
    );
    assert_eq!(daemon.begun().len(), ALL, "each call was performed once");
}

// Conformance: A-211
#[tokio::test]
async fn the_sixty_first_call_is_performed_in_the_next_minute() {
    let (daemon, waits) = over_the_rate().await;
    pass(&daemon, 59_000).await;
    assert_eq!(daemon.begun().len(), LIMIT);
    pass(&daemon, 1_001).await;
    assert_completed(&daemon, waits).await;
}

#[tokio::test]
async fn a_wait_for_a_rate_survives_a_restart() {
    let (mut daemon, waits) = over_the_rate().await;
    daemon.crash(|_| {}).await;
    pass(&daemon, 59_000).await;
    assert_eq!(daemon.begun().len(), LIMIT, "the wait continues");
    pass(&daemon, 1_001).await;
    assert_completed(&daemon, waits).await;
}

#[tokio::test]
async fn a_run_that_waits_for_a_rate_is_cancelled_at_once() {
    let (daemon, waits) = over_the_rate().await;
    daemon.api.runs.cancel(waits).await.expect("requested");
    daemon.settle().await;
    assert_eq!(daemon.outcome_of(waits).await.0, RunStatus::Cancelled.as_str());
    pass(&daemon, 120_000).await;
    assert_eq!(daemon.begun().len(), LIMIT);
}

#[tokio::test]
async fn a_brake_holds_a_run_whose_rate_is_free_again() {
    let (daemon, waits) = over_the_rate().await;
    let set = daemon.api.brakes.set(None, "stop".into(), Channel::Cli).await;
    set.expect("braked");
    pass(&daemon, 120_000).await;
    assert_eq!(daemon.begun().len(), LIMIT);
    let released = daemon.api.brakes.release(None, Channel::Cli).await;
    released.expect("released");
    daemon.settle().await;
    assert_completed(&daemon, waits).await;
}
