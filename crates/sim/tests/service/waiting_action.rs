//! Actions that wait for a slot: a brake, a cancellation or a halt meanwhile prevents them from starting.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;
use wakeful_core::decision::Channel;
use wakeful_core::step::StepStatus;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::tool::{NOT_BEGUN, StopSignal};

use super::{Daemon, First};

/// Waits for a slot, and then for permission to start. Returns the reason if the action must not start.
pub(super) async fn let_in(place: &Notify, stop: &impl StopSignal) -> Option<String> {
    let waited = async {
        place.notified().await;
        stop.start_allowed().await;
    };
    tokio::select! {
        biased;
        () = stop.start_forbidden() => Some(NOT_BEGUN.to_owned()),
        () = waited => None,
    }
}

impl Daemon {
    /// Makes the next action wait for this slot.
    pub(super) fn fills_places(&self) -> Arc<Notify> {
        let place: Arc<Notify> = Arc::default();
        *self.mailer.1.lock().expect("a place") = Some(Arc::clone(&place));
        place
    }

    /// Starts a daemon with an approved action that waits for its slot.
    async fn with_one_waiting() -> (Self, Arc<Notify>) {
        let daemon = Self::begin(First::WantsTool).await;
        let place = daemon.fills_places();
        daemon.approve(daemon.run).await;
        assert_eq!((daemon.status().await.as_str(), daemon.mails()), ("open", 0));
        (daemon, place)
    }

    /// The status of the run, the outcomes of its actions, and the number of sent mails.
    async fn sent(&self) -> (String, Vec<StepStatus>, u32) {
        let run = self.api.runs.get(self.run).await.expect("a run");
        let calls = run.tool_calls().map(|step| step.status).collect();
        (run.row.status.to_string(), calls, self.mails())
    }
}

#[tokio::test]
async fn a_brake_delays_an_action_waiting_for_a_slot_until_its_release() {
    let (daemon, place) = Daemon::with_one_waiting().await;
    let set = daemon.api.brakes.set(None, "stop".into(), Channel::Cli).await;
    assert_eq!(set.expect("set").len(), 1);
    // The action gets its slot before the next check: no time has passed.
    place.notify_one();
    daemon.settle().await;
    assert_eq!(daemon.mails(), 0);
    daemon.pass(1_000).await;
    assert_eq!((daemon.status().await.as_str(), daemon.mails()), ("open", 0));
    daemon
        .api
        .brakes
        .release(None, Channel::Cli)
        .await
        .expect("released");
    daemon.settle().await;
    assert_eq!(daemon.sent().await, ("completed".into(), vec![StepStatus::Ok], 1));
}

#[tokio::test]
async fn a_cancelled_run_does_not_start_its_action_waiting_for_a_slot() {
    let (daemon, place) = Daemon::with_one_waiting().await;
    daemon.api.runs.cancel(daemon.run).await.expect("asked for");
    place.notify_one();
    daemon.settle().await;
    assert_eq!(daemon.mails(), 0);
    daemon.pass(1_000).await;
    assert_eq!(
        daemon.sent().await,
        ("cancelled".into(), vec![StepStatus::Failed], 0)
    );
}

#[tokio::test]
async fn a_halt_delays_an_action_waiting_for_a_slot_until_the_restart() {
    for is_freed in [true, false] {
        let (mut daemon, place) = Daemon::with_one_waiting().await;
        let before_ms = daemon.ticks.monotonic_ms();
        daemon.life.0.set();
        if is_freed {
            place.notify_one();
        }
        daemon.settle().await;
        assert_eq!(daemon.mails(), 0, "it began although a stop was asked for");
        assert!(daemon.life.1.is_finished(), "nothing runs that could end in time");
        assert_eq!(daemon.ticks.monotonic_ms(), before_ms);
        let world = (&daemon.ticks, &daemon.mailer);
        (daemon.life, daemon.api, daemon.stuck) =
            Daemon::serve((&daemon.store, &daemon.faults), world, First::WantsTool);
        daemon.settle().await;
        assert_eq!(daemon.sent().await, ("completed".into(), vec![StepStatus::Ok], 1));
    }
}

#[tokio::test]
async fn an_action_waiting_for_a_slot_does_not_start_without_the_lease() {
    let (daemon, place) = Daemon::with_one_waiting().await;
    daemon.faults.has_no_lease.store(true, Ordering::Relaxed);
    place.notify_one();
    daemon.settle().await;
    assert_eq!(daemon.mails(), 0);
    daemon.pass(1_000).await;
    assert_eq!(daemon.mails(), 0);
}

#[tokio::test]
async fn an_action_waiting_for_a_slot_starts_when_nothing_prevents_it() {
    let (daemon, place) = Daemon::with_one_waiting().await;
    place.notify_one();
    daemon.settle().await;
    assert_eq!(daemon.sent().await, ("completed".into(), vec![StepStatus::Ok], 1));
}
