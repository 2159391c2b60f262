//! Actions that wait for a place: what stands against a beginning meanwhile finds them not begun.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;
use wakeful_core::decision::Channel;
use wakeful_core::step::StepStatus;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::tool::{NOT_BEGUN, StopSignal};

use super::{Daemon, First};

/// Waits for a place, and then for leave to begin; why it does not, if nothing may begin any more before.
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
    /// The next action has to wait for this place.
    pub(super) fn fills_places(&self) -> Arc<Notify> {
        let place: Arc<Notify> = Arc::default();
        *self.mailer.1.lock().expect("a place") = Some(Arc::clone(&place));
        place
    }

    /// A daemon with an action that was approved and waits for its place.
    async fn with_one_waiting() -> (Self, Arc<Notify>) {
        let daemon = Self::begin(First::WantsTool).await;
        let place = daemon.fills_places();
        daemon.approve(daemon.run).await;
        assert_eq!((daemon.status().await.as_str(), daemon.mails()), ("open", 0));
        (daemon, place)
    }

    /// How the run stands, how its actions ended, and how many mails were sent.
    async fn sent(&self) -> (String, Vec<StepStatus>, u32) {
        let run = self.api.runs.get(self.run).await.expect("a run");
        let calls = run.tool_calls().map(|step| step.status).collect();
        (run.row.status.to_string(), calls, self.mails())
    }
}

#[tokio::test]
async fn what_waited_for_a_place_does_not_begin_after_a_brake_was_acknowledged_and_goes_on_after_the_release()
{
    let (daemon, place) = Daemon::with_one_waiting().await;
    let set = daemon.api.brakes.set(None, "stop".into(), Channel::Cli).await;
    assert_eq!(set.expect("set").len(), 1);
    // It gets its place before anybody has looked again: no time has passed.
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
async fn what_waited_for_a_place_does_not_begin_after_its_run_was_cancelled() {
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
async fn what_waited_for_a_place_does_not_begin_during_a_stop_nor_hold_it_up_and_is_done_after_the_restart() {
    for is_freed in [true, false] {
        let (mut daemon, place) = Daemon::with_one_waiting().await;
        let before_ms = daemon.ticks.monotonic_ms();
        daemon.life.0.throw();
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
async fn what_waited_for_a_place_does_not_begin_when_this_process_may_no_longer_act() {
    let (daemon, place) = Daemon::with_one_waiting().await;
    daemon.faults.has_no_lease.store(true, Ordering::Relaxed);
    place.notify_one();
    daemon.settle().await;
    assert_eq!(daemon.mails(), 0);
    daemon.pass(1_000).await;
    assert_eq!(daemon.mails(), 0);
}

#[tokio::test]
async fn what_waited_for_a_place_begins_when_nothing_stands_against_it() {
    let (daemon, place) = Daemon::with_one_waiting().await;
    place.notify_one();
    daemon.settle().await;
    assert_eq!(daemon.sent().await, ("completed".into(), vec![StepStatus::Ok], 1));
}
