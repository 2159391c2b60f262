//! Starts a run in the transaction that admits its message, and keeps it until the loop drives it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::conversation::Entry;
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_store::rows::Agent;

use super::Workshop;
use crate::EngineError;
use crate::api::Starter;
use crate::run::Claimed;
use crate::wake::PreparedStart;

/// Starts runs with the engines of a service.
pub(super) struct ServiceStarter<W> {
    pub(super) workshop: Arc<W>,
    /// Runs that the loop has not driven yet.
    pub(super) started: Mutex<BTreeMap<RunKey, Box<Claimed>>>,
}

impl<W> ServiceStarter<W> {
    /// A run that was started here and that the loop has not driven yet.
    pub(super) fn take(&self, run: RunKey) -> Option<Box<Claimed>> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.remove(&run)
    }
}

impl<W: Workshop> Starter for ServiceStarter<W> {
    fn prepare<'a>(
        &'a self,
        agent: &'a Agent,
        message: Message,
        entry: Entry,
    ) -> Pin<Box<dyn Future<Output = Result<PreparedStart, EngineError>> + Send + 'a>> {
        Box::pin(async move {
            let limits = self.workshop.limits(agent, &message);
            let engine = self.workshop.engine(&agent.agent_id, &limits)?;
            engine.prepare_start(message, entry, limits).await
        })
    }

    fn started(&self, claimed: Box<Claimed>) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.insert(claimed.run_key(), claimed);
    }
}
