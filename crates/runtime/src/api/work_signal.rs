//! Notifies the service loop about work.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use wakeful_core::id::AgentId;

/// Notifies the service that there may be work; the details are in the store.
#[derive(Debug, Default)]
pub(crate) struct WorkSignal {
    there: Notify,
    /// Notified when a schedule changed, so that the scheduler recomputes the next due time.
    rearm: Notify,
    /// Agents that changed since the service last checked: a reason to retry those that are stuck.
    signalled: Mutex<BTreeSet<AgentId>>,
}

impl WorkSignal {
    /// Signals that there may be work. A notification sent before a waiter arrives is not lost.
    pub(crate) fn signal_any(&self) {
        self.there.notify_one();
    }

    /// Signals that there may be work for this agent.
    pub(crate) fn signal_agent(&self, agent: AgentId) {
        let mut roused = self.signalled.lock().unwrap_or_else(PoisonError::into_inner);
        roused.insert(agent);
        drop(roused);
        self.signal_any();
    }

    /// Signals that a schedule changed. A notification sent before a waiter arrives is not lost.
    pub(crate) fn rearm_scheduler(&self) {
        self.rearm.notify_one();
    }

    pub(crate) async fn wait_for_rearm(&self) {
        self.rearm.notified().await;
    }

    pub(crate) async fn wait(&self) {
        self.there.notified().await;
    }

    /// Returns and clears the agents signalled since the last call.
    pub(crate) fn take_signalled(&self) -> BTreeSet<AgentId> {
        std::mem::take(&mut *self.signalled.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
