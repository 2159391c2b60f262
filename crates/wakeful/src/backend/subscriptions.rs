//! Subscriptions.

use wakeful_api::{CreateSubscription, Subscription, SubscriptionList};
use wakeful_core::id::{AgentId, RuleId};

use super::Backend;
use crate::failure::Failure;

/// Subscriptions per request.
const PAGE: u32 = 500;

impl Backend {
    /// Makes a subscription.
    pub(crate) async fn subscribe(&self, new: CreateSubscription) -> Result<Subscription, Failure> {
        Ok(self.client.post("/api/subscriptions", &new).await?)
    }

    /// Takes one away.
    pub(crate) async fn unsubscribe(&self, id: RuleId) -> Result<Subscription, Failure> {
        Ok(self.client.delete(&format!("/api/subscriptions/{id}")).await?)
    }

    /// Pauses a subscription.
    pub(crate) async fn pause_subscription(&self, id: RuleId) -> Result<Subscription, Failure> {
        let path = format!("/api/subscriptions/{id}/pause");
        Ok(self.client.post(&path, &serde_json::json!({})).await?)
    }

    /// Resumes a subscription.
    pub(crate) async fn resume_subscription(&self, id: RuleId) -> Result<Subscription, Failure> {
        let path = format!("/api/subscriptions/{id}/resume");
        Ok(self.client.post(&path, &serde_json::json!({})).await?)
    }

    /// All of them by name, or all of one agent.
    pub(crate) async fn subscriptions(&self, agent: Option<AgentId>) -> Result<Vec<Subscription>, Failure> {
        let (mut all, mut after): (Vec<Subscription>, Option<RuleId>) = (Vec::new(), None);
        loop {
            let page = self.subscription_page(agent.clone(), after).await?;
            all.extend(page.subscriptions);
            let Some(next) = page.next_after else {
                return Ok(all);
            };
            after = Some(RuleId::parse(&next)?);
        }
    }

    async fn subscription_page(
        &self,
        agent: Option<AgentId>,
        after: Option<RuleId>,
    ) -> Result<SubscriptionList, Failure> {
        let agent = agent
            .map(|agent| format!("&agent_id={agent}"))
            .unwrap_or_default();
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        let path = format!("/api/subscriptions?limit={PAGE}{agent}{after}");
        Ok(self.client.get(&path).await?)
    }
}
