//! How far the outboxes of the journal and of agents were dispatched.

use wakeful_core::id::AgentId;
use wakeful_core::notice::AgentNotice;
use wakeful_core::time::Millis;

use super::SubscriptionKey;

/// How far the journal's outbox was seen to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutboxCursor {
    /// The newest change that was seen to.
    pub seq: u64,
    /// The candidate up to which it was; none where all of it was.
    pub done: Option<SubscriptionKey>,
}

/// How far changes have become wakes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutboxCursorRow {
    /// Counts changes of the subscriptions.
    pub version: u64,
    /// How many subscriptions there are.
    pub subscriptions: u64,
    /// How far the journal's outbox was seen to.
    pub cursor: OutboxCursor,
}

/// What an agent's own doing says to others, in the outbox, named by the event that tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOutboxRow {
    /// To whom it happened.
    pub agent_id: AgentId,
    /// The event's place in that agent's log.
    pub seq: u64,
    /// What it says.
    pub telling: AgentNotice,
    /// The candidate up to which it was seen to; none where nobody was yet.
    pub done: Option<SubscriptionKey>,
    /// When.
    pub at: Millis,
    /// The version of the subscriptions under which it was told.
    pub version: u64,
}

impl AgentOutboxRow {
    /// One that is to be told now. Whoever keeps it gives it its version.
    #[must_use]
    pub const fn new(agent_id: AgentId, seq: u64, telling: AgentNotice, at: Millis) -> Self {
        Self {
            agent_id,
            seq,
            telling,
            done: None,
            at,
            version: 0,
        }
    }
}

/// A notice of an agent's doing that waits to be dispatched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeRow {
    /// To whom it happened.
    pub agent_id: AgentId,
    /// The event that tells of it.
    pub seq: u64,
    /// What it says.
    pub notice: AgentNotice,
    /// When.
    pub at: Millis,
}
