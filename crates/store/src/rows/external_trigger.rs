//! Triggers of systems outside.

use wakeful_core::external_trigger::TriggerStatus;
use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::time::Millis;

/// The capability by which systems outside may wake an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalTriggerRow {
    /// Its name.
    pub trigger_id: RuleId,
    /// Who is woken.
    pub agent_id: AgentId,
    /// Counts its addresses: an older one is worth nothing.
    pub generation: u64,
    /// Whether it may be called.
    pub status: TriggerStatus,
    /// How many deliveries were taken in.
    pub delivered: u64,
    /// When the newest of them was.
    pub last_at: Option<Millis>,
    /// When it was made.
    pub created_at: Millis,
}

/// A delivery from outside that is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// By which trigger it came.
    pub trigger_id: RuleId,
    /// Its name.
    pub delivery: String,
    /// When.
    pub at: Millis,
}
