//! Rows of subscriptions.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::subscription::SubscriptionSpec;
use wakeful_core::time::Millis;

#[derive(Debug, Clone, PartialEq)]
pub struct SubscriptionRow {
    pub subscription_id: RuleId,
    /// The agent to wake.
    pub agent_id: AgentId,
    /// What it matches, when it wakes the agent, and with which message.
    pub spec: SubscriptionSpec,
    /// The newest journal change when the subscription was created. It matches only later ones.
    pub journal_seq: u64,
    /// The time from which its newest message may start.
    pub last_due: Option<Millis>,
    pub created_at: Millis,
    /// Whether it wakes the agent or is paused.
    pub is_active: bool,
    /// The version of the subscriptions when it was created or resumed. It matches agent notices stored
    /// under this version or a later one.
    pub version: u64,
}

/// The result of creating a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscribeOutcome {
    /// The subscription was created; the subscriptions now have this version.
    New(u64),
    /// The same subscription already exists.
    Same,
    /// Another subscription has this name.
    Differs,
    /// The agent has the maximum number of subscriptions.
    AgentFull,
    /// The home has the maximum number of subscriptions.
    Full,
}

/// The key of a candidate subscription for a notice. Notices are dispatched in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubscriptionKey {
    /// The agent to wake.
    pub agent_id: AgentId,
    pub subscription_id: RuleId,
}

impl SubscriptionKey {
    /// Returns the stored form.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{}/{}", self.agent_id, self.subscription_id)
    }

    /// Parses the stored form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (agent, rule) = text.split_once('/')?;
        Some(Self {
            agent_id: AgentId::parse(agent).ok()?,
            subscription_id: RuleId::parse(rule).ok()?,
        })
    }
}
