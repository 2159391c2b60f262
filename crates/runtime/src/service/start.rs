//! Starts a run in the transaction that admits its message, and holds it until the loop drives it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::conversation::TranscriptEntry;
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_store::rows::Agent;

use super::EngineFactory;
use crate::EngineError;
use crate::api::{NewAgent, StartAtOnce};
use crate::run::ClaimedRun;
use crate::wake::PreparedStart;

/// Starts runs with the engines of a service.
pub(super) struct ServiceStarter<W> {
    pub(super) engine_factory: Arc<W>,
    /// Started runs that the loop has not driven yet.
    pub(super) started: Mutex<BTreeMap<RunKey, Box<ClaimedRun>>>,
}

impl<W> ServiceStarter<W> {
    /// Removes and returns a started run that the loop has not driven yet.
    pub(super) fn take(&self, run: RunKey) -> Option<Box<ClaimedRun>> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.remove(&run)
    }
}

impl<W: EngineFactory + 'static> ServiceStarter<W> {
    /// How to send messages whose runs are started here.
    pub(super) fn start_at_once(self: &Arc<Self>, create: Option<NewAgent>) -> StartAtOnce {
        let (preparing, keeping) = (Arc::clone(self), Arc::clone(self));
        StartAtOnce {
            prepare: Box::new(move |agent, message, entry| {
                let starter = Arc::clone(&preparing);
                Box::pin(async move { starter.prepare(&agent, message, entry).await })
            }),
            started: Box::new(move |claimed| keeping.keep(claimed)),
            create,
        }
    }

    async fn prepare(
        &self,
        agent: &Agent,
        message: Message,
        entry: TranscriptEntry,
    ) -> Result<PreparedStart, EngineError> {
        let limits = self.engine_factory.resolve_options(agent, &message);
        let engine = self.engine_factory.engine(&agent.agent_id, &limits)?;
        engine.prepare_start(message, entry, limits).await
    }

    fn keep(&self, claimed: Box<ClaimedRun>) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.insert(claimed.run_key(), claimed);
    }
}
