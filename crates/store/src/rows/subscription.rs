//! Subscriptions, how far changes have become wakes, and what agents tell one another.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::notice::Telling;
use wakeful_core::subscription::Terms;
use wakeful_core::time::Millis;

/// A subscription.
#[derive(Debug, Clone, PartialEq)]
pub struct SubscriptionRow {
    /// Its name.
    pub subscription_id: RuleId,
    /// Who is woken.
    pub agent_id: AgentId,
    /// By what, when, and to do what.
    pub terms: Terms,
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
pub enum Subscribed {
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
pub struct Place {
    /// Who is woken.
    pub agent_id: AgentId,
    /// By which subscription.
    pub subscription_id: RuleId,
}

impl Place {
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

/// How far the journal's outbox was seen to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The newest change that was seen to.
    pub seq: u64,
    /// The candidate up to which it was; none where all of it was.
    pub done: Option<Place>,
}

/// How far changes have become wakes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertRow {
    /// Counts changes of the subscriptions.
    pub version: u64,
    /// How many subscriptions there are.
    pub subscriptions: u64,
    /// How far the journal's outbox was seen to.
    pub cursor: Cursor,
}

/// What an agent's own doing says to others, in the outbox, named by the event that tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TellingRow {
    /// To whom it happened.
    pub agent_id: AgentId,
    /// The event's place in that agent's log.
    pub seq: u64,
    /// What it says.
    pub telling: Telling,
    /// The candidate up to which it was seen to; none where nobody was yet.
    pub done: Option<Place>,
    /// When.
    pub at: Millis,
    /// The version of the subscriptions under which it was told.
    pub version: u64,
}

impl TellingRow {
    /// One that is to be told now. Whoever keeps it gives it its version.
    #[must_use]
    pub const fn new(agent_id: AgentId, seq: u64, telling: Telling, at: Millis) -> Self {
        Self {
            agent_id,
            seq,
            telling,
            done: None,
            at,
            version: 0,
        }
    }
}

/// A notice of an agent's doing that waits to be dispatched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeRow {
    /// To whom it happened.
    pub agent_id: AgentId,
    /// The event that tells of it.
    pub seq: u64,
    /// What it says.
    pub notice: Telling,
    /// When.
    pub at: Millis,
}
