//! Hands what was committed, and what a model is saying, to whoever listens. Nothing waits for a listener: one that
//! is too slow is told so and reads the rest from the store.

use std::sync::Arc;

use tokio::sync::broadcast;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::report::Event;
use wakeful_ports::records::EventRow;

use crate::{Observer, Spoken};

/// Most pieces of news that a listener may lie behind. A screenful of activity of many agents; beyond it, reading
/// pages from the store is cheaper than memory.
pub const BEHIND_MAX: usize = 1_024;

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
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
pub struct Hub(broadcast::Sender<Arc<News>>);

/// A listener's end.
pub type Listener = broadcast::Receiver<Arc<News>>;

impl Hub {
    /// A hub without listeners.
    #[must_use]
    pub fn new() -> Self {
        Self(broadcast::Sender::new(BEHIND_MAX))
    }

    /// Listens from now on.
    #[must_use]
    pub fn listen(&self) -> Listener {
        self.0.subscribe()
    }

    /// How many listen.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.0.receiver_count()
    }

    /// Made only when somebody listens: a runtime that nobody watches pays nothing.
    fn tell(&self, news: impl FnOnce() -> News) {
        if self.0.receiver_count() > 0 {
            // An error only means that the last listener left in between.
            let _ = self.0.send(Arc::new(news()));
        }
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Hub {
    fn saw(&self, agent: &AgentId, events: &[Event]) {
        self.tell(|| News::Events {
            agent_id: agent.clone(),
            events: events.iter().map(EventRow::from).collect(),
        });
    }

    fn heard(&self, spoken: &Spoken<'_>) {
        self.tell(|| News::Words {
            agent_id: spoken.agent.clone(),
            run_key: spoken.run,
            attempt: spoken.attempt,
            chunk: spoken.chunk,
            text: spoken.text.to_owned(),
        });
    }
}
