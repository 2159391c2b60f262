//! What models cost, and what they may.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TokenUsage;
use wakeful_core::attempt::AttemptOutcome;
use wakeful_core::budget::{CapScope, MicroUsd};
use wakeful_core::failure::ModelFailureKind;
use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::inference::ReceiptChannel;

use crate::endpoint::endpoints;
use crate::text::{Date, DateTime, Text};

endpoints! { "budget":
    /// What was spent today, what may be, and what the last days cost.
    GetBudget {} = Get "/api/budget" -> Budget { 200 "Today's money" }
    /// Sets the cap of an agent or of all together, or removes it. Runs that wait for money are looked at again.
    SetCap = Post "/api/budget" -> Budget { 200 "It holds from the next request on", 404 "There is no such agent" }
    /// What an agent's last days cost.
    GetAgentSpending { agent_id: Text<AgentId> } = Get "/api/agents/{agent_id}/spending" -> AgentSpending { 200 "Its days" }
    /// Every confirmation that a provider may be shown agents' work, oldest first.
    ListPrivacyReceipts {} = Get "/api/privacy-receipts" -> Vec<PrivacyReceipt> { 200 "The confirmations" }
    /// Confirms that a provider may be shown agents' work, under the rules that hold now.
    ConfirmProvider { provider: Text<RuleId> } = Post "/api/privacy-receipts/{provider}" -> Vec<PrivacyReceipt> {
        200 "It is confirmed, for every set of rules there is",
    }
}

/// Where a cap comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapOrigin {
    /// A person set it.
    Set,
    /// Nobody did: the settings' number, or 5 dollars.
    Default,
}

/// What was spent today, what may be, and what the last days cost. Amounts are dollars as text, so that none is rounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// The day, by the calendar of UTC.
    #[schemars(with = "Date")]
    pub day: String,
    /// When the next one begins.
    #[schemars(with = "DateTime")]
    pub next_day_at: String,
    /// What all agents together may spend in a day.
    pub daily_cap_usd: String,
    /// Where that cap comes from.
    pub cap_origin: CapOrigin,
    /// What they spent today.
    pub spent_usd: String,
    /// What is put aside for requests that are under way.
    pub reserved_usd: String,
    /// Every agent that has a cap of its own or spent something today, by name.
    pub agents: Vec<AgentBudget>,
    /// The last days on which something was spent, oldest first; at most 31.
    pub days: Vec<DaySpending>,
}

/// What one agent spent today, and may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentBudget {
    /// Which agent.
    pub agent_id: String,
    /// What it may spend in a day; absent where only the cap of all holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cap_usd: Option<String>,
    /// What it spent today.
    pub spent_usd: String,
    /// What is put aside for its requests that are under way.
    pub reserved_usd: String,
    /// Model requests today.
    pub requests: u64,
}

/// What a day cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DaySpending {
    /// The day, by the calendar of UTC.
    #[schemars(with = "Date")]
    pub day: String,
    /// What was spent.
    pub spent_usd: String,
    /// What is still put aside.
    pub reserved_usd: String,
    /// Model requests.
    pub requests: u64,
}

/// What an agent's last days cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSpending {
    /// Which agent.
    pub agent_id: String,
    /// The days on which it spent something, oldest first; at most 31.
    pub days: Vec<DaySpending>,
}

/// A cap to set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    { "required": ["daily_usd"], "properties": { "daily_usd": { "type": "string" }, "unset": { "const": false } } },
    { "required": ["unset"], "properties": { "daily_usd": { "type": "null" }, "unset": { "const": true } } },
]))]
pub struct SetCap {
    /// Whose cap; of all agents together when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Text<AgentId>>,
    /// Dollars a day, at most 1000000 with six decimals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_usd: Option<Text<MicroUsd>>,
    /// Takes the cap away instead: the default holds again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unset: bool,
}

/// A confirmation that a provider may be shown agents' work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrivacyReceipt {
    /// Which provider.
    pub provider: String,
    /// Under which rules. Under others it has to be given anew.
    pub policy_version: String,
    /// How it was given.
    pub channel: ReceiptChannel,
    /// When.
    #[schemars(with = "DateTime")]
    pub at: String,
}

/// All attempts at the model rounds of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptTimeline {
    /// In the order in which they were made.
    pub attempts: Vec<Attempt>,
    /// The model that was asked for.
    pub requested_model_ref: String,
    /// The model that was asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_model_ref: Option<String>,
    /// The model that answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winning_model_ref: Option<String>,
    /// The tokens of all of them, where anybody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregated_token_usage: Option<TokenUsage>,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// The step it is recorded as.
    pub operation_id: String,
    /// Who provides the model.
    pub provider: String,
    /// The model that was asked.
    pub model_ref: String,
    /// Which attempt with this model in its round, from 1.
    pub attempt: u32,
    /// How many it may have.
    pub max_attempts: u32,
    /// When it began.
    #[schemars(with = "DateTime")]
    pub started_at: String,
    /// When it ended.
    #[schemars(with = "DateTime")]
    pub completed_at: String,
    /// How long it took; waiting before it does not count.
    pub duration_ms: u64,
    /// What failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<String>,
    /// What can be done about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disposition: Option<ModelFailureKind>,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Whether the next model of the route was asked because of it.
    pub advanced_to_fallback: bool,
    /// How long was waited after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    /// Tokens, as far as the provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// What it cost, in dollars; absent where it cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// The rule by which the model might be asked, or the code of the gate that stayed shut.
    pub rule: String,
    /// What happened on the way, where something went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_diagnostics: Option<serde_json::Value>,
}

/// Why a run waits for money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParkedReason {
    /// `budget_exceeded`.
    pub code: String,
    /// Whose cap stands in the way.
    pub scope: CapScope,
    /// The cap of a day.
    pub cap_usd: String,
    /// What the day had seen, spent and put aside, when the run was parked.
    pub spent_usd: String,
    /// What the next request may cost at most.
    pub needed_usd: String,
    /// The day it was.
    #[schemars(with = "Date")]
    pub day: String,
}
