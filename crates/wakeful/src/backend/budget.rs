//! Budgets, models and confirmations.

use wakeful_api::{AgentSpending, AgentStatus, Budget, Receipt, SetCap, SetModel};
use wakeful_core::budget::MicroUsd;
use wakeful_core::id::AgentId;

use super::Backend;
use crate::failure::Failure;

impl Backend {
    /// What was spent, and what may be.
    pub(crate) async fn budget(&self) -> Result<Budget, Failure> {
        Ok(self.client.get("/api/budget").await?)
    }

    /// What an agent's last days cost.
    pub(crate) async fn spending(&self, agent: AgentId) -> Result<AgentSpending, Failure> {
        Ok(self.client.get(&format!("/api/agents/{agent}/spending")).await?)
    }

    /// Sets the cap of an agent or of all together, or takes it away.
    pub(crate) async fn set_cap(
        &self,
        agent: Option<AgentId>,
        daily: Option<MicroUsd>,
    ) -> Result<Budget, Failure> {
        let set = SetCap {
            agent_id: agent.map(|agent| agent.to_string()),
            daily_usd: daily.map(|daily| daily.to_string()),
            unset: daily.is_none(),
        };
        Ok(self.client.post("/api/budget", &set).await?)
    }

    /// Chooses an agent's model, which was looked at, or gives it the default back.
    pub(crate) async fn set_model(
        &self,
        agent: AgentId,
        model: Option<String>,
    ) -> Result<AgentStatus, Failure> {
        Ok(self
            .client
            .post(
                &format!("/api/agents/{agent}/model"),
                &SetModel {
                    clear: model.is_none(),
                    model,
                },
            )
            .await?)
    }

    /// Confirms that a provider may be shown agents' work. A daemon goes by the rules that it was started with.
    pub(crate) async fn confirm(&self, provider: &str) -> Result<Vec<Receipt>, Failure> {
        Ok(self
            .client
            .post(&format!("/api/receipts/{provider}"), &())
            .await?)
    }

    /// Every confirmation, oldest first.
    pub(crate) async fn receipts(&self) -> Result<Vec<Receipt>, Failure> {
        Ok(self.client.get("/api/receipts").await?)
    }
}
