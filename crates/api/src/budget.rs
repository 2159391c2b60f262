//! Endpoints and types for the cost of model requests, budget caps and privacy receipts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TokenUsage;
use wakeful_core::attempt::AttemptOutcome;
use wakeful_core::budget::{BudgetPeriod, BudgetResource, BudgetScope, MicroUsd};
use wakeful_core::failure::ModelFailureKind;
use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::inference::ReceiptChannel;

use crate::endpoint::endpoints;
use crate::text::{Date, DateTime, Hex, NO_CONTROL, Text, whole_number};

endpoints! { "budget":
    /// Retrieves today's spending, the caps and the cost of the last days.
    GetBudget {} = Get "/api/budget" -> Budget { 200 "The budget" }
    /// Sets or removes the daily cap of one agent or of all agents together.
    ///
    /// Runs that are parked for budget are checked again.
    SetCap = Post "/api/budget" -> Budget { 200 "The cap applies from the next request on", 404 "The agent does not exist" }
    /// Lists all limits with their use, including the daily caps on money.
    ListLimits {} = Get "/api/budget/limits" -> Vec<BudgetLimit> { 200 "The limits" }
    /// Sets a limit on what agents use, or changes one whose use is kept.
    ///
    /// A new limit counts use from now on. Work that it does not cover waits until the period ends or a person raises
    /// the limit. A limit of zero lets nothing start that uses the resource.
    SetLimit = Post "/api/budget/limits" -> BudgetLimit {
        200 "The limit applies to work that starts from now on", 404 "The agent does not exist"
    }
    /// Changes a limit. Its use is kept, and work that waits for it is checked again.
    ChangeLimit = Post "/api/budget/limits/{limit_id}" -> BudgetLimit { 200 "The changed limit", 404 "The limit does not exist" }
    /// Removes a limit with its use. A removed daily cap on all agents has its default again.
    ClearLimit { limit_id: Hex<1, 64> } = Delete "/api/budget/limits/{limit_id}" -> BudgetLimit {
        200 "The limit as it was", 404 "The limit does not exist"
    }
    /// Retrieves the spending of an agent for the last days.
    GetAgentSpending { agent_id: Text<AgentId> } = Get "/api/agents/{agent_id}/spending" -> AgentSpending { 200 "The spending per day" }
    /// Lists all privacy receipts, oldest first.
    ///
    /// A privacy receipt confirms that a provider may receive agents' work.
    ListPrivacyReceipts {} = Get "/api/privacy-receipts" -> Vec<PrivacyReceipt> { 200 "The privacy receipts" }
    /// Confirms that a provider may receive agents' work under the current policies.
    ConfirmProvider { provider: Text<RuleId> } = Post "/api/privacy-receipts/{provider}" -> Vec<PrivacyReceipt> {
        200 "The provider is confirmed for every policy version",
    }
}

/// The origin of a cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapOrigin {
    /// Set by a person.
    Set,
    /// The default: the cap in the settings, or 5 dollars.
    Default,
}

/// Today's spending, the caps and the cost of the last days. Amounts are decimal strings in US dollars, so
/// that no amount is rounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// The current day in UTC.
    #[schemars(with = "Date")]
    pub day: String,
    /// When the next day begins.
    #[schemars(with = "DateTime")]
    pub next_day_at: String,
    /// The daily cap of all agents together.
    pub daily_cap_usd: String,
    /// The origin of that cap.
    pub cap_origin: CapOrigin,
    /// The amount spent by all agents today.
    pub spent_usd: String,
    /// The amount reserved for requests in progress.
    pub reserved_usd: String,
    /// All agents that have their own cap or spent something today, sorted by name.
    pub agents: Vec<AgentBudget>,
    /// The last days with spending, oldest first; at most 31.
    pub days: Vec<DaySpending>,
}

/// The spending and the cap of one agent today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentBudget {
    /// The agent's name.
    pub agent_id: String,
    /// The daily cap of the agent. Absent if only the cap for all agents applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cap_usd: Option<String>,
    /// The amount spent today.
    pub spent_usd: String,
    /// The amount reserved for the agent's requests in progress.
    pub reserved_usd: String,
    /// The number of model requests today.
    pub requests: u64,
}

/// The spending of one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DaySpending {
    /// The day in UTC.
    #[schemars(with = "Date")]
    pub day: String,
    /// The amount spent.
    pub spent_usd: String,
    /// The amount that is still reserved.
    pub reserved_usd: String,
    /// The number of model requests.
    pub requests: u64,
}

/// The spending of an agent for the last days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSpending {
    /// The agent's name.
    pub agent_id: String,
    /// The days with spending, oldest first; at most 31.
    pub days: Vec<DaySpending>,
}

/// The cap to set. Give either `daily_usd` or `unset`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    { "required": ["daily_usd"], "properties": { "daily_usd": { "type": "string" }, "unset": { "const": false } } },
    { "required": ["unset"], "properties": { "daily_usd": { "type": "null" }, "unset": { "const": true } } },
]))]
pub struct SetCap {
    /// The agent whose cap is set. If absent, the cap of all agents together is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Text<AgentId>>,
    /// The cap in dollars per day, at most 1000000, with at most six decimals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_usd: Option<Text<MicroUsd>>,
    /// Remove the cap, so that the default applies again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unset: bool,
}

/// A limit on what agents use, and its use. Amounts are in the smallest unit of the resource: millionths of a dollar,
/// tokens, milliseconds, calls or bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetLimit {
    /// The id of the limit. Commands accept its first digits.
    pub limit_id: String,
    /// Whose use it counts.
    pub scope: BudgetScope,
    /// The agent, the session as `AGENT/SESSION`, or the key of the run. Absent for all agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What it counts.
    pub resource: BudgetResource,
    /// How long use counts. Always `lifetime` for a run, a tree of runs and a session.
    pub period: BudgetPeriod,
    /// The limit.
    pub max: u64,
    /// What is used in the current period.
    pub used: u64,
    /// What is reserved for work in progress.
    pub reserved: u64,
    /// Whether a person set it, or it is the default.
    pub origin: CapOrigin,
    /// When the period ends. Absent for a limit that is never reset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub period_ends_at: Option<String>,
    /// Since when use is counted. Absent for a daily cap, which counts the whole day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub counted_since: Option<String>,
    /// When the limit is used up if its use continues at the average rate. Absent if that is after the period, or
    /// nothing was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub exhausted_at: Option<String>,
}

/// The limit to set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetLimit {
    /// Whose use it counts.
    pub scope: BudgetScope,
    /// The agent, the session as `AGENT/SESSION`, or the first digits of the key of a run. Required unless the scope
    /// is `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 300), regex(pattern = NO_CONTROL))]
    pub subject: Option<String>,
    /// What it counts.
    pub resource: BudgetResource,
    /// How long use counts: `daily` unless given. A run, a tree of runs and a session have no period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<BudgetPeriod>,
    /// The limit, in the smallest unit of the resource.
    #[serde(deserialize_with = "whole_number")]
    #[schemars(range(max = 1_000_000_000_000_000_u64))]
    pub max: u64,
}

/// The new amount of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeLimit {
    /// The id of the limit, or its first digits.
    pub limit_id: Hex<1, 64>,
    /// The limit, in the smallest unit of the resource.
    #[serde(deserialize_with = "whole_number")]
    #[schemars(range(max = 1_000_000_000_000_000_u64))]
    pub max: u64,
}

/// A confirmation that a provider may receive agents' work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrivacyReceipt {
    /// The name of the provider.
    pub provider: String,
    /// The policy version that was confirmed. Another version needs a new confirmation.
    pub policy_version: String,
    /// The channel through which the confirmation was given.
    pub channel: ReceiptChannel,
    /// When the confirmation was given.
    #[schemars(with = "DateTime")]
    pub at: String,
}

/// All attempts of the model rounds of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptTimeline {
    /// The attempts, in the order in which they were made.
    pub attempts: Vec<Attempt>,
    /// The model that the run requested.
    pub requested_model_ref: String,
    /// The model of the latest attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_model_ref: Option<String>,
    /// The model that answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winning_model_ref: Option<String>,
    /// The tokens of all attempts. Absent if no provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregated_token_usage: Option<TokenUsage>,
}

/// One request to one model within a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// The step that records the attempt.
    pub operation_id: String,
    /// The provider of the model.
    pub provider: String,
    /// The model that was requested.
    pub model_ref: String,
    /// The number of the attempt with this model within its round, starting at 1.
    pub attempt: u32,
    /// The maximum number of attempts with this model in the round.
    pub max_attempts: u32,
    /// When the attempt started.
    #[schemars(with = "DateTime")]
    pub started_at: String,
    /// When the attempt ended.
    #[schemars(with = "DateTime")]
    pub completed_at: String,
    /// The duration in milliseconds, without the backoff before the attempt.
    pub duration_ms: u64,
    /// The code of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<String>,
    /// Whether the failure can be retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disposition: Option<ModelFailureKind>,
    /// How the attempt ended.
    pub outcome: AttemptOutcome,
    /// Whether this attempt caused the run to use the next model of the route.
    pub advanced_to_fallback: bool,
    /// The backoff after the attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    /// The tokens used, if the provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// The cost in dollars. Absent if the attempt cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// The policy rule that allowed the request, or the code of the gate that refused it.
    pub rule: String,
    /// Transport details of a failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_diagnostics: Option<serde_json::Value>,
}

/// Why a run waits for budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParkedReason {
    /// The code, always `budget_exceeded`.
    pub code: String,
    /// The scope of the exceeded limit.
    pub scope: BudgetScope,
    /// What the limit counts.
    pub resource: BudgetResource,
    /// The period of the limit.
    pub period: BudgetPeriod,
    /// The id of the limit. Absent for a daily cap on money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_id: Option<String>,
    /// The limit, in the smallest unit of the resource.
    pub max: u64,
    /// What was used and reserved in the period when the run was parked.
    pub used: u64,
    /// What the next step may use at most.
    pub needed: u64,
    /// When the period ends, and the run continues by itself. Absent if only a person can let it continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub until: Option<String>,
    /// The command that raises the limit.
    pub command: String,
    /// Why the step does not start, in one sentence.
    #[serde(default)]
    pub message: String,
    /// What to do.
    #[serde(default)]
    pub hint: String,
}
