//! Why and why not, and how a person looks after an agent, at the daemon or in the database.

use wakeful_api::{AgentStatus, ExternalTrigger, SetMode, SetSleep, WhyNot, WhyRun};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::wake::Lifecycle;
use wakeful_runtime::desk::{AgentChange, Reasons as _, Tending as _, Triggers as _};
use wakeful_server::view::{self, Going};

use super::Front;
use crate::failure::Failure;

/// What is to be done with a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TriggerDeed {
    Show,
    Rotate,
    Revoke,
}

impl Front {
    /// The trigger of an agent, as it then stands.
    pub(crate) async fn trigger(
        &self,
        agent: AgentId,
        deed: TriggerDeed,
    ) -> Result<ExternalTrigger, Failure> {
        match self {
            Self::Daemon(client) => {
                let verb = match deed {
                    TriggerDeed::Show => "",
                    TriggerDeed::Rotate => "/rotate",
                    TriggerDeed::Revoke => "/revoke",
                };
                let path = format!("/api/agents/{agent}/trigger{verb}");
                Ok(client.post(&path, &()).await?)
            }
            Self::Here(clerk) => {
                let found = match deed {
                    TriggerDeed::Show => clerk.trigger(agent).await?,
                    TriggerDeed::Rotate => clerk.rotate_trigger(agent).await?,
                    TriggerDeed::Revoke => clerk.revoke_trigger(agent).await?,
                };
                Ok(view::external_trigger(&found))
            }
        }
    }

    /// What led to a run, or to none.
    pub(crate) async fn why(&self, run: RunKey) -> Result<WhyRun, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.get(&format!("/api/runs/{run}/why")).await?),
            Self::Here(clerk) => Ok(view::why(&clerk.why(run).await?)),
        }
    }

    /// What kept an agent from being woken.
    pub(crate) async fn why_not(&self, agent: AgentId, since: Option<Millis>) -> Result<WhyNot, Failure> {
        match self {
            Self::Daemon(client) => {
                let since = since
                    .map(|since| format!("?since={}", since.rfc3339()))
                    .unwrap_or_default();
                Ok(client.get(&format!("/api/agents/{agent}/why-not{since}")).await?)
            }
            Self::Here(clerk) => Ok(view::why_not(&clerk.why_not(agent, since).await?)),
        }
    }

    /// Changes how an agent stands.
    pub(crate) async fn tend(&self, agent: AgentId, change: AgentChange) -> Result<AgentStatus, Failure> {
        let client = match self {
            Self::Daemon(client) => client,
            Self::Here(clerk) => {
                let agent = clerk.tend(agent, change).await?;
                return Ok(view::agent_status(&agent, Going::Well));
            }
        };
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
