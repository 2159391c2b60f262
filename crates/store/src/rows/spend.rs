//! Caps, reservations, what days cost, and which providers were confirmed.

use wakeful_core::budget::{MicroUsd, UtcDay};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::ReceiptChannel;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::time::Millis;

/// A cap that a person set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapRow {
    /// Whose spending it limits; none for all agents together.
    pub agent_id: Option<AgentId>,
    /// The most of a day.
    pub daily: MicroUsd,
    /// When it was set.
    pub set_at: Millis,
}

/// The largest cost of a model request, put aside before it leaves, with the decision that let it through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The step it is for.
    pub operation_id: OperationId,
    /// Which run.
    pub run_key: RunKey,
    /// Whose run it is.
    pub agent_id: AgentId,
    /// The day it counts for.
    pub day: UtcDay,
    /// The model that is asked.
    pub model_ref: String,
    /// The rule that let it through.
    pub rule: String,
    /// Under which set of rules.
    pub policy_version: PolicyVersion,
    /// How much.
    pub amount: MicroUsd,
}

/// What a day cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendDay {
    /// Who spent it; none for all agents together.
    pub agent_id: Option<AgentId>,
    /// The day.
    pub day: UtcDay,
    /// What is put aside for requests that have not ended.
    pub reserved: MicroUsd,
    /// What was spent.
    pub settled: MicroUsd,
    /// How many requests.
    pub requests: u64,
}

/// That a person confirmed that a provider may be shown an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivacyReceiptRow {
    /// Who may be shown it.
    pub provider: String,
    /// Under which rules.
    pub policy_version: PolicyVersion,
    /// How they said so.
    pub channel: ReceiptChannel,
    /// When.
    pub at: Millis,
}
