//! Subscriptions.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::subscription::SubscriptionSpec;
use wakeful_core::time::Millis;

/// A subscription.
#[derive(Debug, Clone, PartialEq)]
pub struct SubscriptionRow {
    /// Its name.
    pub subscription_id: RuleId,
    /// Who is woken.
    pub agent_id: AgentId,
    /// By what, when, and to do what.
    pub terms: SubscriptionSpec,
    /// The newest change of the journal when it was made, which it does not see.
    pub journal_seq: u64,
    /// From when on its newest message may begin.
    pub last_due: Option<Millis>,
    /// When it was made.
    pub created_at: Millis,
    /// Whether it wakes anybody, or is put aside.
    pub is_active: bool,
    /// The version of the subscriptions when it was made or taken up again. Of agents' own doings it sees those that were
    /// told under this version or a later one.
    pub version: u64,
}

/// What became of a subscription that was to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscribeOutcome {
    /// It is kept; the subscriptions now have this version.
    New(u64),
    /// It was there before, with the same terms.
    Same,
    /// Its name is that of another one.
    Differs,
    /// The agent has as many as are kept of one.
    AgentFull,
    /// There are as many as are kept in all.
    Full,
}

/// A candidate of a notice: they are seen to in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubscriptionKey {
    /// Who is woken.
    pub agent_id: AgentId,
    /// By which subscription.
    pub subscription_id: RuleId,
}

impl SubscriptionKey {
    /// The spelling that is stored.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{}/{}", self.agent_id, self.subscription_id)
    }

    /// Reads the stored spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (agent, rule) = text.split_once('/')?;
        Some(Self {
            agent_id: AgentId::parse(agent).ok()?,
            subscription_id: RuleId::parse(rule).ok()?,
        })
    }
}
