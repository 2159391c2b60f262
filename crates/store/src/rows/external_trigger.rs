//! Rows of external triggers.

use wakeful_core::external_trigger::TriggerStatus;
use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::time::Millis;

/// The capability by which an external system may wake an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalTriggerRow {
    pub trigger_id: RuleId,
    /// The agent to wake.
    pub agent_id: AgentId,
    /// Incremented when the URL is replaced; URLs of an older generation are invalid.
    pub generation: u64,
    /// Whether the trigger accepts deliveries.
    pub status: TriggerStatus,
    /// Number of accepted deliveries.
    pub delivered: u64,
    /// When the newest delivery was accepted.
    pub last_at: Option<Millis>,
    pub created_at: Millis,
}

/// A stored delivery, used to detect repetitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    pub trigger_id: RuleId,
    /// The delivery id.
    pub delivery: String,
    pub at: Millis,
}
