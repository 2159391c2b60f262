//! What setting a brake writes.

use std::sync::atomic::Ordering;

use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::report::EventKind;
use wakeful_runtime::EngineError;

use super::{Daemon, First};

#[tokio::test]
async fn a_brake_and_its_event_are_one_transaction() {
    let daemon = Daemon::begin(First::WantsTool).await;
    let agent = AgentId::parse("main").expect("a name");
    let told = async || {
        let events = daemon
            .api
            .events
            .after(agent.clone(), 0, 100)
            .await
            .expect("events");
        events
            .iter()
            .filter(|row| row.kind == EventKind::BrakeChanged.as_str())
            .count()
    };
    let writes = || daemon.faults.writes.load(Ordering::Relaxed);
    for (number, whom) in [None, Some(agent.clone())].into_iter().enumerate() {
        let before = writes();
        let set = daemon
            .api
            .brakes
            .set(whom.clone(), "stop".into(), Channel::Cli)
            .await;
        assert_eq!((set.expect("set").len(), writes() - before), (1, 1));
        assert_eq!(told().await, 2 * number + 1);
        let before = writes();
        let left = daemon.api.brakes.release(whom, Channel::Cli).await;
        assert_eq!((left.expect("released").len(), writes() - before), (0, 1));
        assert_eq!(told().await, 2 * number + 2);
    }
    let nobody = AgentId::parse("nobody").expect("a name");
    let released = daemon.api.brakes.release(Some(nobody), Channel::Cli).await;
    assert!(
        matches!(released, Err(EngineError::UnknownAgent(_))),
        "{released:?}"
    );
}
