//! Tells the service loop that there is work.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use wakeful_core::id::AgentId;

/// Tells the service that there may be something to do. What exactly, it finds in the store.
#[derive(Debug, Default)]
pub(crate) struct WorkSignal {
    there: Notify,
    /// A schedule was changed: what is next has to be looked for.
    rearm: Notify,
    /// To whom something happened since the service last looked: a reason to try again for who is stuck.
    roused: Mutex<BTreeSet<AgentId>>,
}

impl WorkSignal {
    /// There may be something to do. Said before anybody waits, it is heard by the next who does.
    pub(crate) fn signal_any(&self) {
        self.there.notify_one();
    }

    /// The same, because of this agent.
    pub(crate) fn signal_agent(&self, agent: AgentId) {
        let mut roused = self.roused.lock().unwrap_or_else(PoisonError::into_inner);
        roused.insert(agent);
        drop(roused);
        self.signal_any();
    }

    /// A schedule was changed. Said before anybody waits, it is heard by the next who does.
    pub(crate) fn rearm_scheduler(&self) {
        self.rearm.notify_one();
    }

    pub(crate) async fn wait_for_rearm(&self) {
        self.rearm.notified().await;
    }

    pub(crate) async fn wait(&self) {
        self.there.notified().await;
    }

    /// To whom something happened since this was last asked.
    pub(crate) fn take_signalled(&self) -> BTreeSet<AgentId> {
        std::mem::take(&mut *self.roused.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
