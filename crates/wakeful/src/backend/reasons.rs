//! Why a run happened or did not, triggers, and the state of an agent.

use wakeful_api::{AgentStatus, ExternalTrigger, SetMode, SetSleep, WhyNot, WhyRun};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::wake::Lifecycle;
use wakeful_runtime::desk::AgentChange;
use wakeful_server::view;

use super::Backend;
use crate::failure::Failure;

/// What is to be done with a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TriggerDeed {
    Show,
    Rotate,
    Revoke,
}

impl Backend {
    /// The trigger of an agent, as it then stands.
    pub(crate) async fn trigger(
        &self,
        agent: AgentId,
        deed: TriggerDeed,
    ) -> Result<ExternalTrigger, Failure> {
        let verb = match deed {
            TriggerDeed::Show => "",
            TriggerDeed::Rotate => "/rotate",
            TriggerDeed::Revoke => "/revoke",
        };
        let path = format!("/api/agents/{agent}/trigger{verb}");
        Ok(self.client.post(&path, &()).await?)
    }

    /// What led to a run, or to none.
    pub(crate) async fn why(&self, run: RunKey) -> Result<WhyRun, Failure> {
        Ok(self.client.get(&format!("/api/runs/{run}/why")).await?)
    }

    /// What kept an agent from being woken.
    pub(crate) async fn why_not(&self, agent: AgentId, since: Option<Millis>) -> Result<WhyNot, Failure> {
        let since = since
            .map(|since| format!("?since={}", since.rfc3339()))
            .unwrap_or_default();
        Ok(self
            .client
            .get(&format!("/api/agents/{agent}/why-not{since}"))
            .await?)
    }

    /// Changes how an agent stands.
    pub(crate) async fn tend(&self, agent: AgentId, change: AgentChange) -> Result<AgentStatus, Failure> {
        let client = &self.client;
        let path = |verb: &str| format!("/api/agents/{agent}/{verb}");
        Ok(match change {
            AgentChange::Life(Lifecycle::Active | Lifecycle::Created) => {
                client.post(&path("activate"), &()).await?
            }
            AgentChange::Life(Lifecycle::Dormant) => client.post(&path("dormant"), &()).await?,
            AgentChange::Life(Lifecycle::Destroyed) => client.post(&path("destroy"), &()).await?,
            AgentChange::Wake => client.post(&path("wake"), &()).await?,
            AgentChange::Sleep(until) => {
                let until = until.rfc3339();
                client.post(&path("sleep"), &SetSleep { until }).await?
            }
            AgentChange::Mode(mode) => {
                let mode = view::mode(mode);
                client.post(&path("mode"), &SetMode { mode }).await?
            }
        })
    }
}
