//! Hands what was committed, and what a model is saying, to whoever listens. Nothing waits for a listener: one that
//! is too slow is told so and reads the rest from the store.

use std::sync::Arc;

use tokio::sync::{Notify, broadcast, watch};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::report::{Event, EventKind};
use wakeful_store::rows::EventRow;

use crate::{Observer, TextDelta};

/// Most pieces of news that a listener may lie behind. A screenful of activity of many agents; beyond it, reading
/// pages from the store is cheaper than memory.
pub const LISTENER_LAG_MAX: usize = 1_024;

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HubMessage {
    /// Events of one agent became durable, in this order. None at all means: something did, look at the store.
    Events {
        /// Whose events.
        agent_id: AgentId,
        /// The events.
        events: Vec<EventRow>,
    },
    /// A model says something. It is not stored; the round that follows is.
    Words {
        /// Who speaks.
        agent_id: AgentId,
        /// In which run.
        run_key: RunKey,
        /// Which request of the run.
        attempt: u32,
        /// Which piece of it.
        chunk: u32,
        /// The words.
        text: String,
    },
}

/// The place where news is handed over.
#[derive(Debug)]
pub struct Hub {
    listeners: broadcast::Sender<Arc<HubMessage>>,
    /// How many events were seen since somebody last forgot them.
    growth: watch::Sender<u64>,
    /// Rung when something happened that agents may subscribe to.
    turned: Notify,
    /// Rung when a run may have left something behind.
    ended: Notify,
    /// Rung when reserved money was settled.
    settled: Notify,
}

/// A listener's end.
pub type Listener = broadcast::Receiver<Arc<HubMessage>>;

impl Hub {
    /// A hub without listeners.
    #[must_use]
    pub fn new() -> Self {
        Self {
            listeners: broadcast::Sender::new(LISTENER_LAG_MAX),
            growth: watch::Sender::new(0),
            turned: Notify::new(),
            ended: Notify::new(),
            settled: Notify::new(),
        }
    }

    /// Listens from now on.
    #[must_use]
    pub fn listen(&self) -> Listener {
        self.listeners.subscribe()
    }

    /// How many listen.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.listeners.receiver_count()
    }

    /// Resolves when so many events were seen since they were last forgotten. An event that only the store knows of
    /// counts as one.
    pub async fn wait_for_events(&self, events: u64) {
        // It fails only when the hub is gone, which we are part of.
        let _ = self.growth.subscribe().wait_for(|seen| *seen >= events).await;
    }

    /// Resolves when a run ended or an agent was changed since this was last asked. For one listener.
    pub(crate) async fn wait_for_agent_notice(&self) {
        self.turned.notified().await;
    }

    /// Resolves when a run ended or was given up since this was last asked. For one listener.
    pub async fn wait_for_run_end(&self) {
        self.ended.notified().await;
    }

    /// Resolves when reserved money was settled since this was last asked. For one listener.
    pub(crate) async fn wait_for_settlement(&self) {
        self.settled.notified().await;
    }

    /// Something may have happened that agents subscribe to: whoever looks finds it in the store.
    pub(crate) fn notify_agent_notice(&self) {
        self.turned.notify_one();
    }

    /// Counts anew from here on.
    pub fn reset_event_count(&self) {
        self.growth.send_replace(0);
    }

    /// Made only when somebody listens: a runtime that nobody watches pays nothing.
    fn broadcast(&self, news: impl FnOnce() -> HubMessage) {
        if self.listeners.receiver_count() > 0 {
            // An error only means that the last listener left in between.
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
        // None means that only the store knows which there are.
        let has = |kinds: [EventKind; 2]| {
            events.is_empty() || events.iter().any(|event| kinds.contains(&event.sealed.kind))
        };
        if has([EventKind::RunEnded, EventKind::AgentStateChanged]) {
            self.turned.notify_one();
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
    async fn whoever_takes_back_what_runs_left_behind_hears_when_one_ended_or_was_given_up() {
        assert!(rings_at(&[EventKind::RunEnded]).await);
        assert!(rings_at(&[EventKind::QuarantineResolved]).await);
        assert!(rings_at(&[]).await, "only the store knows what happened");
        assert!(!rings_at(&[EventKind::RunStarted]).await);
    }
}
