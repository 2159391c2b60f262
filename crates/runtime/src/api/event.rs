//! Events: reading, following and erasing them.

use std::sync::Arc;

use wakeful_core::id::AgentId;
use wakeful_store::rows::EventRow;

use super::shared::Shared;
use crate::hub::Listener;
use crate::proof::{ErasureRequest, erase};
use crate::{EngineError, Observer as _, Stamp};
use wakeful_core::proof::Erasure;

pub struct EventApi {
    pub(super) shared: Arc<Shared>,
}

impl EventApi {
    /// Erases contents of ended runs. The log stays verifiable and records the erasure.
    pub async fn erase(&self, wanted: ErasureRequest) -> Result<Erasure, EngineError> {
        let agent = wanted.agent.clone();
        let stamp = Stamp {
            at: self.shared.clock.now(),
            salt: self.shared.entropy.random_bytes(),
        };
        erase(&self.shared.store, wanted, stamp, |event| {
            self.shared.hub.on_events(&agent, &[event]);
        })
        .await
    }

    /// Returns events of an agent after a sequence number, oldest first.
    pub async fn after(&self, agent: AgentId, seq: u64, limit: u32) -> Result<Vec<EventRow>, EngineError> {
        self.shared
            .of_agent(agent, move |view, agent| view.events(agent, seq, limit))
            .await
    }

    /// Returns the newest events of an agent before a sequence number, oldest first.
    pub async fn before(&self, agent: AgentId, seq: u64, limit: u32) -> Result<Vec<EventRow>, EngineError> {
        self.shared
            .of_agent(agent, move |view, agent| view.events_before(agent, seq, limit))
            .await
    }

    /// Subscribes to committed events and model output from now on.
    #[must_use]
    pub fn listen(&self) -> Listener {
        self.shared.hub.listen()
    }

    /// The number of active listeners.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.shared.hub.listeners()
    }
}
