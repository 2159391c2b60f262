//! Runs that have no money for today: they go on by themselves when their day turns, whatever the clock and the machine did
//! meanwhile.

use wakeful_core::budget::{MicroUsd, Price, PriceBasis, UtcDay};
use wakeful_core::conversation::Usage;
use wakeful_core::inference::ModelProfile;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;

use super::{Daemon, First, post};

/// What a day may cost: one request, and no second one.
pub(super) const CAP: MicroUsd = MicroUsd(150);

/// What a request costs.
const TOKENS: u64 = 100;

/// The longest until a daemon looks that nobody told of anything.
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

/// A daemon that has spent what the day allows at ten o'clock, and whose next run waits for another day.
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
async fn a_parked_run_goes_on_by_itself_when_its_day_turns() {
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
async fn a_parked_run_notices_that_its_day_turned_while_the_machine_slept() {
    let daemon = parked().await;
    // The clock on the wall goes on, and the time that is counted does not.
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
    assert_eq!(daemon.status().await, "open", "an earlier day is no fresh one");
}

#[tokio::test]
async fn whoever_is_parked_writes_nothing_while_the_day_is_the_same() {
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
async fn a_cap_that_is_raised_too_little_writes_nothing_for_a_parked_run() {
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
async fn a_daemon_that_starts_again_says_why_a_run_is_parked() {
    let mut daemon = parked().await;
    daemon.life.1.abort();
    let world = (&daemon.ticks, &daemon.mailer);
    let again = Daemon::serve((&daemon.store, &daemon.faults), world, First::Costs);
    (daemon.life, daemon.api, daemon.stuck) = again;
    daemon.settle().await;
    assert_eq!(daemon.status().await, "open");
    assert_eq!(daemon.stuck.all().len(), 1);
}
