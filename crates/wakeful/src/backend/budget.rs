//! Money, models and confirmations, at the daemon or in the database.

use std::collections::BTreeSet;

use wakeful_api::{AgentSpending, AgentStatus, Budget, Receipt, SetCap, SetModel};
use wakeful_core::budget::MicroUsd;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_runtime::desk::Ledger as _;
use wakeful_server::view::{self, Going};

use super::Front;
use crate::failure::Failure;

/// By which door a confirmation came.
const CHANNEL: &str = "cli";

impl Front {
    /// What was spent, and what may be.
    pub(crate) async fn budget(&self) -> Result<Budget, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.get("/api/budget").await?),
            Self::Here(clerk) => Ok(view::budget(&clerk.budget().await?)),
        }
    }

    /// What an agent's last days cost.
    pub(crate) async fn spending(&self, agent: AgentId) -> Result<AgentSpending, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.get(&format!("/api/agents/{agent}/spending")).await?),
            Self::Here(clerk) => Ok(view::spending(&agent, &clerk.spending(agent.clone()).await?)),
        }
    }

    /// Sets the cap of an agent or of all together, or takes it away.
    pub(crate) async fn set_cap(
        &self,
        agent: Option<AgentId>,
        daily: Option<MicroUsd>,
    ) -> Result<Budget, Failure> {
        match self {
            Self::Daemon(client) => {
                let set = SetCap {
                    agent_id: agent.map(|agent| agent.to_string()),
                    daily_usd: daily.map(|daily| daily.to_string()),
                    unset: daily.is_none(),
                };
                Ok(client.post("/api/budget", &set).await?)
            }
            Self::Here(clerk) => Ok(view::budget(&clerk.set_cap(agent, daily).await?)),
        }
    }

    /// Makes the clock's day the day of the budget. Only where no daemon runs: it would go by the clock that it knows.
    pub(crate) async fn reset_budget_day(&self) -> Result<Budget, Failure> {
        match self {
            Self::Daemon(_) => Err(Failure::usage(
                "daemon_running",
                "the day of the budget cannot be reset while a daemon runs".to_owned(),
                "stop it with `wakeful daemon stop`, set the clock right, and try again",
            )),
            Self::Here(clerk) => Ok(view::budget(&clerk.reset_day(CHANNEL).await?)),
        }
    }

    /// Chooses an agent's model, which was looked at, or gives it the default back.
    pub(crate) async fn set_model(
        &self,
        agent: AgentId,
        model: Option<String>,
    ) -> Result<AgentStatus, Failure> {
        match self {
            Self::Daemon(client) => Ok(client
                .post(
                    &format!("/api/agents/{agent}/model"),
                    &SetModel {
                        clear: model.is_none(),
                        model,
                    },
                )
                .await?),
            Self::Here(clerk) => {
                let agent = clerk.set_model(agent, model).await?;
                Ok(view::agent_status(&agent, Going::Well))
            }
        }
    }

    /// Confirms that a provider may be shown agents' work. A daemon goes by the rules that it was started with.
    pub(crate) async fn confirm(
        &self,
        provider: String,
        versions: BTreeSet<PolicyVersion>,
    ) -> Result<Vec<Receipt>, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.post(&format!("/api/receipts/{provider}"), &()).await?),
            Self::Here(clerk) => {
                let receipts = clerk.confirm(provider, versions, CHANNEL).await?;
                Ok(receipts.iter().map(view::receipt).collect())
            }
        }
    }

    /// Every confirmation, oldest first.
    pub(crate) async fn receipts(&self) -> Result<Vec<Receipt>, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.get("/api/receipts").await?),
            Self::Here(clerk) => Ok(clerk.receipts().await?.iter().map(view::receipt).collect()),
        }
    }
}
