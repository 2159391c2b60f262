//! Sends a message in a process that starts its run at once: both commit in one transaction.

use std::pin::Pin;
use std::sync::Arc;

use wakeful_core::conversation::TranscriptEntry;
use wakeful_core::message::Message;
use wakeful_ports::fail_point;
use wakeful_store::rows::Agent;

use super::agent::PreparedAgent;
use super::{MessageApi, MessageReceipt, NewAgent};
use crate::EngineError;
use crate::admission::{PreparedAdmission, StartedAdmission};
use crate::run::ClaimedRun;
use crate::wake::PreparedStart;

/// A future that prepares the start of a run.
pub type Preparing = Pin<Box<dyn Future<Output = Result<PreparedStart, EngineError>> + Send>>;

/// How a process starts the runs of the messages it sends. The functions hide the types of its engines.
pub struct StartAtOnce {
    /// Prepares the start of a message's run.
    pub prepare: Box<dyn Fn(Agent, Message, TranscriptEntry) -> Preparing + Send + Sync>,
    /// Receives a run whose start is committed.
    pub started: Box<dyn Fn(Box<ClaimedRun>) + Send + Sync>,
    /// The agent to create together with the message, if it does not exist.
    pub create: Option<NewAgent>,
}

impl MessageApi {
    /// Admits a message and starts its run.
    pub(super) async fn send_and_start(
        &self,
        admission: PreparedAdmission,
        entry: TranscriptEntry,
        how: &StartAtOnce,
    ) -> Result<MessageReceipt, EngineError> {
        let (agent_id, message) = (admission.message.agent_id.clone(), admission.message.clone());
        let wanted = agent_id.clone();
        let known = self.shared.store.read(move |view| view.agent(&wanted)).await?;
        let new = match (&known, how.create.clone()) {
            (None, Some(new)) => Some(PreparedAgent::new(&self.shared, new)?),
            _ => None,
        };
        let agent = known.as_ref().or(new.as_ref().map(|new| &new.agent));
        let agent = agent.ok_or_else(|| EngineError::UnknownAgent(agent_id.clone()))?;
        let run_key = message.run_key;
        let start = (how.prepare)(agent.clone(), message, entry).await?;
        let write = Arc::clone(&start.write);
        fail_point::fail_point("admit.before_commit");
        let written = self.shared.write(move |tx| {
            if let Some(new) = &new {
                new.write(tx)?;
            }
            admission.commit_and_start(tx, &write)
        });
        let written = written.await?;
        fail_point::fail_point("admit.after_commit");
        match written {
            StartedAdmission::Started(commit) => {
                (how.started)(start.committed(*commit));
                let is_new = true;
                Ok(MessageReceipt { run_key, is_new })
            }
            StartedAdmission::NotStarted(outcome) => self.shared.sent(agent_id, run_key, outcome),
            StartedAdmission::Busy(by) => Err(EngineError::AgentBusy { agent: agent_id, by }),
        }
    }
}
