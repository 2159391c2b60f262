//! Lists of subscriptions.

use wakeful_api::{LIMIT_MAX, Limit, ListSubscriptions, Subscription, Text};
use wakeful_core::id::{AgentId, RuleId};

use super::Backend;
use crate::failure::Failure;

impl Backend {
    /// All subscriptions, or those of one agent, sorted by name.
    pub(crate) async fn subscriptions(&self, agent: Option<AgentId>) -> Result<Vec<Subscription>, Failure> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = ListSubscriptions {
                agent_id: agent.clone().map(Text),
                after,
                limit: Limit(LIMIT_MAX),
            };
            let page = self.call(page).await?;
            all.extend(page.subscriptions);
            let Some(next) = page.next_after else {
                return Ok(all);
            };
            after = Some(Text(RuleId::parse(&next)?));
        }
    }
}
