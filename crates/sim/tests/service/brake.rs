//! What a brake writes, and what it holds.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::report::Kind;
use wakeful_core::step::Status;
use wakeful_ports::tool::Stop;
use wakeful_runtime::EngineError;
use wakeful_runtime::desk::{Deciding as _, Desk as _};

use super::{Daemon, First};

/// Waits for a place, and then for leave to begin; why it does not, if it is stopped before.
pub(super) async fn let_in(place: &Notify, stop: &impl Stop) -> Option<String> {
    let waited = async {
        place.notified().await;
        stop.cleared().await;
    };
    tokio::select! {
        biased;
        () = stop.stopped() => Some("cancelled".to_owned()),
        () = waited => None,
    }
}

#[tokio::test]
async fn a_brake_and_the_word_of_it_are_one_transaction() {
    let daemon = Daemon::begin(First::WantsTool).await;
    let agent = AgentId::parse("main").expect("a name");
    let told = async || {
        let events = daemon
            .clerk
            .events_after(agent.clone(), 0, 100)
            .await
            .expect("events");
        events
            .iter()
            .filter(|row| row.kind == Kind::BrakeChanged.as_str())
            .count()
    };
    let writes = || daemon.store.writes.load(Ordering::Relaxed);
    for (number, whom) in [None, Some(agent.clone())].into_iter().enumerate() {
        let before = writes();
        let set = daemon
            .clerk
            .brake(whom.clone(), "stop".into(), Channel::Cli)
            .await;
        assert_eq!((set.expect("set").len(), writes() - before), (1, 1));
        assert_eq!(told().await, 2 * number + 1);
        let before = writes();
        let left = daemon.clerk.release(whom, Channel::Cli).await;
        assert_eq!((left.expect("released").len(), writes() - before), (0, 1));
        assert_eq!(told().await, 2 * number + 2);
    }
    let nobody = AgentId::parse("nobody").expect("a name");
    let released = daemon.clerk.release(Some(nobody), Channel::Cli).await;
    assert!(
        matches!(released, Err(EngineError::UnknownAgent(_))),
        "{released:?}"
    );
}

#[tokio::test]
async fn what_waited_for_a_place_does_not_begin_after_a_brake_was_acknowledged() {
    for brakes in [true, false] {
        let daemon = Daemon::begin(First::WantsTool).await;
        let place: Arc<Notify> = Arc::default();
        *daemon.mailer.1.lock().expect("a place") = Some(Arc::clone(&place));
        daemon.approve(daemon.run).await;
        assert_eq!((daemon.status().await.as_str(), daemon.mails()), ("open", 0));
        if brakes {
            let set = daemon.clerk.brake(None, "stop".into(), Channel::Cli).await;
            assert_eq!(set.expect("set").len(), 1);
        } else {
            daemon.clerk.cancel(daemon.run).await.expect("asked for");
        }
        // It gets its place before anybody has looked again: no time has passed.
        place.notify_one();
        daemon.settle().await;
        assert_eq!(daemon.mails(), 0);
        daemon.pass(1_000).await;
        if brakes {
            daemon.clerk.release(None, Channel::Cli).await.expect("released");
            daemon.settle().await;
        }
        let report = daemon.clerk.run(daemon.run).await.expect("a report");
        assert_eq!(report.status, if brakes { "completed" } else { "cancelled" });
        let calls: Vec<Status> = report.tool_calls().map(|step| step.status).collect();
        assert_eq!((calls.len(), daemon.mails()), (1, 0), "{calls:?}");
        assert_ne!(calls[0], Status::Ok);
    }
}

#[tokio::test]
async fn what_waited_for_a_place_begins_when_nothing_stands_against_it() {
    let daemon = Daemon::begin(First::WantsTool).await;
    let place: Arc<Notify> = Arc::default();
    *daemon.mailer.1.lock().expect("a place") = Some(Arc::clone(&place));
    daemon.approve(daemon.run).await;
    place.notify_one();
    daemon.settle().await;
    assert_eq!((daemon.status().await.as_str(), daemon.mails()), ("completed", 1));
}
