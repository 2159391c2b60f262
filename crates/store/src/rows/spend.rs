//! Rows of caps, reservations, daily spending, and privacy receipts.

use wakeful_core::budget::{MicroUsd, UtcDay};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::ReceiptChannel;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::time::Millis;

/// A cap that a person set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapRow {
    /// The agent whose spending is limited; `None` for all agents together.
    pub agent_id: Option<AgentId>,
    /// The maximum cost of a day.
    pub daily: MicroUsd,
    pub set_at: Millis,
}

/// The maximum cost of a model request, reserved before it is sent, with the decision that permitted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The step for which it is reserved.
    pub operation_id: OperationId,
    pub run_key: RunKey,
    pub agent_id: AgentId,
    /// The day to which it counts.
    pub day: UtcDay,
    pub model_ref: String,
    /// The rule that permitted the request.
    pub rule: String,
    /// The policy version of that rule.
    pub policy_version: PolicyVersion,
    pub amount: MicroUsd,
}

/// The spending of one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendDay {
    /// `None` for all agents together.
    pub agent_id: Option<AgentId>,
    pub day: UtcDay,
    /// The amount reserved for requests that have not ended.
    pub reserved: MicroUsd,
    /// The amount spent.
    pub settled: MicroUsd,
    /// Number of requests.
    pub requests: u64,
}

/// A person's confirmation that a provider may receive agents' work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivacyReceiptRow {
    pub provider: String,
    /// The policy version under which it was confirmed.
    pub policy_version: PolicyVersion,
    /// How the confirmation arrived.
    pub channel: ReceiptChannel,
    pub at: Millis,
}
