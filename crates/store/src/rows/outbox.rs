//! Cursors and rows of the outboxes: the journal's and that of agent notices.

use wakeful_core::id::AgentId;
use wakeful_core::notice::AgentNotice;
use wakeful_core::time::Millis;

use super::SubscriptionKey;

/// The position up to which the journal's outbox is dispatched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutboxCursor {
    /// The newest change whose dispatch has started.
    pub seq: u64,
    /// The last subscription to which that change was dispatched; `None` if its dispatch is complete.
    pub done: Option<SubscriptionKey>,
}

/// The stored progress of dispatch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutboxCursorRow {
    /// Incremented when subscriptions change.
    pub version: u64,
    /// Number of subscriptions.
    pub subscriptions: u64,
    pub cursor: OutboxCursor,
}

/// An agent notice in the outbox, identified by the event that it describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOutboxRow {
    /// The agent that the notice is about.
    pub agent_id: AgentId,
    /// The event's sequence number in that agent's log.
    pub seq: u64,
    pub agent_notice: AgentNotice,
    /// The last subscription to which the notice was dispatched; `None` before the first.
    pub done: Option<SubscriptionKey>,
    pub at: Millis,
    /// The version of the subscriptions when the notice was stored.
    pub version: u64,
}

impl AgentOutboxRow {
    /// Creates a notice to be dispatched. Storing it sets its version.
    #[must_use]
    pub const fn new(agent_id: AgentId, seq: u64, telling: AgentNotice, at: Millis) -> Self {
        Self {
            agent_id,
            seq,
            agent_notice: telling,
            done: None,
            at,
            version: 0,
        }
    }
}

/// An agent notice that is not dispatched yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeRow {
    /// The agent that the notice is about.
    pub agent_id: AgentId,
    /// The sequence number of the event that it describes.
    pub seq: u64,
    pub notice: AgentNotice,
    pub at: Millis,
}
