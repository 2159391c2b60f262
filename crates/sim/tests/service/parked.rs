//! Runs without budget for today: they continue when their next day begins, independent of clock changes
//! and suspended machines.

use wakeful_core::budget::{MicroUsd, Price, PriceBasis, UtcDay};
use wakeful_core::conversation::Usage;
use wakeful_core::inference::ModelProfile;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;

use super::{Daemon, First, post};

/// The cap of a day: one request, and no second one.
pub(super) const CAP: MicroUsd = MicroUsd(150);

/// The cost of a request.
const TOKENS: u64 = 100;

/// Maximum time until a daemon without notifications checks again.
const LOOK_MS: u64 = 60_000;

const HOUR_MS: i64 = 3_600_000;

/// A millionth of a dollar for every token of a reply.
pub(super) fn terms() -> ModelProfile {
    let price = Price {
        input: MicroUsd(0),
        output: MicroUsd(1_000_000),
        cached_read: MicroUsd(0),
        cached_write: MicroUsd(0),
    };
    ModelProfile {
        price: Some((price, PriceBasis::Configured)),
        output_tokens_max: TOKENS,
        ..ModelProfile::here("sim")
    }
}

pub(super) fn usage() -> Usage {
    Usage::of(1, TOKENS)
}

/// A daemon that has spent the day's budget at ten o'clock, and whose next run waits for another day.
async fn parked() -> Daemon {
    let mut daemon = Daemon::begin(First::Costs).await;
    assert_eq!(daemon.status().await, "completed");
    let ten = Millis(UtcDay::of(daemon.ticks.now()).next().begins().0 + 10 * HOUR_MS);
    daemon.ticks.set(ten);
    daemon.run = post(&daemon.api, "turn-2").await;
    daemon.settle().await;
    assert_eq!(daemon.status().await, "completed", "it is another day");
    daemon.run = post(&daemon.api, "turn-3").await;
    daemon.settle().await;
    assert_eq!(daemon.status().await, "open");
    assert_eq!(daemon.stuck.all().len(), 1, "it says why");
    daemon
}

#[tokio::test]
async fn a_parked_run_continues_by_itself_on_the_next_day() {
    let daemon = parked().await;
    let left = u64::try_from(14 * HOUR_MS).expect("a time");
    daemon.pass(left - 2 * LOOK_MS).await;
    assert_eq!(daemon.status().await, "open", "it is still the same day");
    daemon.pass(3 * LOOK_MS).await;
    assert_eq!(daemon.status().await, "completed");
    assert!(
        daemon.ticks.monotonic_ms() <= left + 1_000,
        "it comes when the day turns"
    );
}

#[tokio::test]
async fn a_parked_run_notices_the_next_day_after_the_machine_slept() {
    let daemon = parked().await;
    // The wall clock advances, and the monotonic time does not.
    let tomorrow = UtcDay::of(daemon.ticks.now()).next().begins();
    daemon.ticks.set(Millis(tomorrow.0 + HOUR_MS));
    let began = daemon.ticks.monotonic_ms();
    while daemon.status().await == "open" && daemon.ticks.advance() {
        daemon.settle().await;
    }
    assert_eq!(daemon.status().await, "completed");
    let late_ms = daemon.ticks.monotonic_ms() - began;
    assert!(late_ms <= LOOK_MS, "{late_ms} ms after it woke up");
}

#[tokio::test]
async fn a_parked_run_stays_parked_when_the_clock_is_set_back() {
    let daemon = parked().await;
    let now = daemon.ticks.now();
    daemon.ticks.set(Millis(now.0 - HOUR_MS));
    daemon.pass(3 * LOOK_MS).await;
    assert_eq!(daemon.status().await, "open", "it is the same day");
    let long_ago = UtcDay(UtcDay::of(now).0 - 3_652);
    daemon.ticks.set(Millis(long_ago.begins().0 + HOUR_MS));
    daemon.pass(10 * LOOK_MS).await;
    assert_eq!(daemon.status().await, "open", "an earlier day has no new budget");
}

#[tokio::test]
async fn a_parked_run_writes_nothing_on_the_same_day() {
    let daemon = parked().await;
    let writes = || daemon.faults.writes.load(std::sync::atomic::Ordering::Relaxed);
    let before = writes();
    daemon.pass(10 * LOOK_MS).await;
    assert_eq!(writes(), before);
}

#[tokio::test]
async fn a_raised_cap_lets_a_parked_run_continue_at_once() {
    let daemon = parked().await;
    let began = daemon.ticks.monotonic_ms();
    let raised = daemon.api.budgets.set_cap(None, Some(MicroUsd(2 * TOKENS))).await;
    raised.expect("raised");
    daemon.settle().await;
    assert_eq!(daemon.status().await, "completed");
    assert_eq!(daemon.ticks.monotonic_ms(), began, "nothing waited for a time");
    assert!(daemon.stuck.all().is_empty());
}

#[tokio::test]
async fn a_cap_raised_too_little_writes_nothing_for_a_parked_run() {
    let daemon = parked().await;
    let writes = || daemon.faults.writes.load(std::sync::atomic::Ordering::Relaxed);
    let before = writes();
    let raised = daemon
        .api
        .budgets
        .set_cap(None, Some(MicroUsd(2 * TOKENS - 1)))
        .await;
    raised.expect("raised");
    daemon.settle().await;
    assert_eq!(writes(), before + 1, "the cap alone");
    assert_eq!(daemon.status().await, "open");
}

#[tokio::test]
async fn a_restarted_daemon_reports_why_a_run_is_parked() {
    let mut daemon = parked().await;
    daemon.life.1.abort();
    let world = (&daemon.ticks, &daemon.mailer);
    let again = Daemon::serve((&daemon.store, &daemon.faults), world, First::Costs);
    (daemon.life, daemon.api, daemon.stuck) = again;
    daemon.settle().await;
    assert_eq!(daemon.status().await, "open");
    assert_eq!(daemon.stuck.all().len(), 1);
}
