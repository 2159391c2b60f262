//! Publishes committed events and streamed model output to listeners. Publishing never waits: a listener
//! that falls behind receives a lag error and reads the rest from the store.

use std::sync::Arc;

use tokio::sync::{Notify, broadcast, watch};
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::report::{Event, EventKind};
use wakeful_ports::tool::OutputStream;
use wakeful_store::rows::EventRow;

use crate::{Observer, TextDelta, ToolOutputDelta};

/// Maximum number of messages that a listener may lag behind. A screenful of activity of many agents;
/// beyond it, reading pages from the store is cheaper than memory.
pub const LISTENER_LAG_MAX: usize = 1_024;

/// A message to listeners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HubMessage {
    /// Events of one agent became durable, in this order. An empty list means: some did, read the store.
    Events {
        agent_id: AgentId,
        events: Vec<EventRow>,
    },
    /// Streamed text of a model. It is not stored; the resulting round is.
    Words {
        agent_id: AgentId,
        run_key: RunKey,
        /// The number of the request within the run.
        attempt: u32,
        /// The number of the piece within the request.
        chunk: u32,
        text: String,
    },
    /// Output of a running action. It is not stored; the result of the action is.
    ToolOutput {
        agent_id: AgentId,
        run_key: RunKey,
        operation_id: OperationId,
        stream: OutputStream,
        /// The number of the piece within the action.
        chunk: u32,
        text: String,
    },
}

/// The publisher of committed events and streamed text.
#[derive(Debug)]
pub struct Hub {
    listeners: broadcast::Sender<Arc<HubMessage>>,
    /// The number of events since the last reset.
    growth: watch::Sender<u64>,
    /// Notified when something happened that agents may subscribe to.
    agent_notice: Notify,
    /// Notified when a run ended and may have left unfinished sagas.
    ended: Notify,
    /// Notified when reserved money was settled.
    settled: Notify,
}

/// The receiving end of a listener.
pub type Listener = broadcast::Receiver<Arc<HubMessage>>;

impl Hub {
    /// A hub without listeners.
    #[must_use]
    pub fn new() -> Self {
        Self {
            listeners: broadcast::Sender::new(LISTENER_LAG_MAX),
            growth: watch::Sender::new(0),
            agent_notice: Notify::new(),
            ended: Notify::new(),
            settled: Notify::new(),
        }
    }

    /// Subscribes to messages from now on.
    #[must_use]
    pub fn listen(&self) -> Listener {
        self.listeners.subscribe()
    }

    /// The number of active listeners.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.listeners.receiver_count()
    }

    /// Resolves when this many events were published since the last reset. A notification without events
    /// counts as one.
    pub async fn wait_for_events(&self, events: u64) {
        // This fails only if the hub is dropped, and `self` borrows it.
        let _ = self.growth.subscribe().wait_for(|seen| *seen >= events).await;
    }

    /// Resolves when a run ended or an agent changed since the last call. Supports one waiter.
    pub(crate) async fn wait_for_agent_notice(&self) {
        self.agent_notice.notified().await;
    }

    /// Resolves when a run ended or was abandoned since the last call. Supports one waiter.
    pub async fn wait_for_run_end(&self) {
        self.ended.notified().await;
    }

    /// Resolves when reserved money was settled since the last call. Supports one waiter.
    pub(crate) async fn wait_for_settlement(&self) {
        self.settled.notified().await;
    }

    /// Signals that something may have happened that agents subscribe to; the details are in the store.
    pub(crate) fn notify_agent_notice(&self) {
        self.agent_notice.notify_one();
    }

    /// Restarts the event count at zero.
    pub fn reset_event_count(&self) {
        self.growth.send_replace(0);
    }

    /// Builds the message only if there are listeners, so that an unobserved runtime pays nothing.
    fn broadcast(&self, news: impl FnOnce() -> HubMessage) {
        if self.listeners.receiver_count() > 0 {
            // An error only means that the last listener disconnected meanwhile.
            let _ = self.listeners.send(Arc::new(news()));
        }
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Hub {
    fn on_events(&self, agent: &AgentId, events: &[Event]) {
        let count = u64::try_from(events.len()).unwrap_or(u64::MAX).max(1);
        self.growth.send_modify(|seen| *seen = seen.saturating_add(count));
        // An empty list means that the events must be read from the store.
        let has = |kinds: [EventKind; 2]| {
            events.is_empty() || events.iter().any(|event| kinds.contains(&event.sealed.kind))
        };
        if has([EventKind::RunEnded, EventKind::AgentStateChanged]) {
            self.agent_notice.notify_one();
        }
        if has([EventKind::RunEnded, EventKind::QuarantineResolved]) {
            self.ended.notify_one();
        }
        self.broadcast(|| HubMessage::Events {
            agent_id: agent.clone(),
            events: events.iter().map(EventRow::from).collect(),
        });
    }

    fn on_spend_settled(&self) {
        self.settled.notify_one();
    }

    fn on_text_delta(&self, spoken: &TextDelta<'_>) {
        self.broadcast(|| HubMessage::Words {
            agent_id: spoken.agent.clone(),
            run_key: spoken.run,
            attempt: spoken.attempt,
            chunk: spoken.chunk,
            text: spoken.text.to_owned(),
        });
    }

    fn on_tool_output(&self, printed: &ToolOutputDelta<'_>) {
        self.broadcast(|| HubMessage::ToolOutput {
            agent_id: printed.agent.clone(),
            run_key: printed.run,
            operation_id: printed.operation_id,
            stream: printed.stream,
            chunk: printed.chunk,
            text: printed.text.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use wakeful_core::id::Incarnation;
    use wakeful_core::key::Digest;
    use wakeful_core::report::{EventDraft, LogHead, SealedEvent};
    use wakeful_core::time::Millis;

    use super::*;

    async fn rings_at(kinds: &[EventKind]) -> bool {
        let hub = Hub::new();
        let agent = AgentId::parse("main").expect("a name");
        let mut head = LogHead {
            next_seq: 1,
            chain_hash: Digest::ZERO,
            incarnation: Incarnation::new("h.1"),
        };
        let events = kinds.iter().map(|kind| {
            let draft = EventDraft::new(wakeful_core::report::payload::RowsBound { records: Vec::new() });
            let mut sealed = SealedEvent::new(draft, Millis(0), None, [0; 32]).expect("canonical");
            sealed.kind = *kind;
            head.chain(&agent, sealed)
        });
        hub.on_events(&agent, &events.collect::<Vec<_>>());
        tokio::select! {
            biased;
            () = hub.wait_for_run_end() => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn saga_recovery_is_notified_when_a_run_ends_or_is_abandoned() {
        assert!(rings_at(&[EventKind::RunEnded]).await);
        assert!(rings_at(&[EventKind::QuarantineResolved]).await);
        assert!(rings_at(&[]).await, "only the store knows what happened");
        assert!(!rings_at(&[EventKind::RunStarted]).await);
    }
}
