//! Endpoints and types for subscriptions, which wake agents when matching changes are committed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::{AgentId, RuleId};

use crate::endpoint::endpoints;
use crate::predicate::Predicate;
use crate::text::{DateTime, Limit, Object, Text, whole, whole_number};

endpoints! { "subscriptions":
    /// Lists subscriptions by name.
    ListSubscriptions {
        /// Return only subscriptions of this agent.
        agent_id: Option<Text<AgentId>>,
        /// Return only subscriptions whose name sorts after this one.
        after: Option<Text<RuleId>>,
        /// The maximum number of subscriptions.
        #[serde(default)]
        limit: Limit
    } = Get "/api/subscriptions" -> SubscriptionList { 200 "The subscriptions", 404 "The agent does not exist" }
    /// Creates a subscription: changes that match it wake its agent from now on.
    ///
    /// Creating the same subscription again has no effect.
    CreateSubscription = Post "/api/subscriptions" -> Subscription {
        200 "The subscription exists",
        404 "The agent does not exist",
        409 "The name is taken, there are too many subscriptions, or the specification is too large",
    }
    /// Changes terms of a subscription. Terms that are absent stay as they are.
    ///
    /// Changes that are not dispatched yet are matched against the new terms. Messages that it queued stay
    /// queued.
    EditSubscription = Post "/api/subscriptions/{subscription_id}" -> Subscription {
        200 "The subscription with its terms",
        409 "The specification is too large",
    }
    /// Deletes a subscription. Messages that it queued stay queued.
    DeleteSubscription { subscription_id: Text<RuleId> } = Delete "/api/subscriptions/{subscription_id}" -> Subscription {
        200 "The deleted subscription",
    }
    /// Pauses a subscription: it wakes nothing until it is resumed.
    ///
    /// Matches during the pause are counted as refused and are not delivered later. Messages that it queued
    /// stay queued.
    PauseSubscription { subscription_id: Text<RuleId> } = Post "/api/subscriptions/{subscription_id}/pause" -> Subscription {
        200 "The subscription is paused",
    }
    /// Resumes a subscription. It matches changes that are committed from now on.
    ResumeSubscription { subscription_id: Text<RuleId> } = Post "/api/subscriptions/{subscription_id}/resume" -> Subscription {
        200 "The subscription is active",
    }
}

/// A subscription. Changes that match it wake its agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subscription {
    /// The subscription's name.
    pub subscription_id: String,
    /// The agent that the subscription wakes.
    pub agent_id: String,
    /// Tokens of which at least one must match: a kind such as `TASK`, a value such as `task.status=done`,
    /// or `id:` followed by a record id.
    pub any: Vec<String>,
    /// Tokens that must all match.
    pub all: Vec<String>,
    /// A predicate over the changed record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Object>")]
    pub predicate: Option<serde_json::Value>,
    /// A predicate over the agent and the change: `since_last_run_ms`, `queued`, `author` and `depth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Object>")]
    pub guard: Option<serde_json::Value>,
    /// How long nothing starts after a wake by this subscription, in milliseconds. Changes in that time are
    /// collected.
    pub cooldown_ms: u64,
    /// How long changes are collected before they wake the agent, in milliseconds, counted from the first
    /// of them.
    pub debounce_ms: u64,
    /// The instruction for the agent; may be empty.
    pub message: String,
    /// When the subscription was created. It does not match earlier changes.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// Whether the subscription is active and not paused.
    pub is_active: bool,
    /// Words of the subscription that match nothing, such as a misspelt category, each in one sentence with the
    /// nearest word that exists. Only in the responses to its creation and to a change of its terms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A list of subscriptions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionList {
    /// The subscriptions, sorted by name.
    pub subscriptions: Vec<Subscription>,
    /// The value of `after` for the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
}

/// The subscription to create. Creating it again with the same name and specification has no effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [
    { "required": ["any"], "properties": { "any": { "minItems": 1 } } },
    { "required": ["all"], "properties": { "all": { "minItems": 1 } } },
]))]
pub struct CreateSubscription {
    /// The subscription's name. If absent, a name is generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<Text<RuleId>>,
    /// The agent that the subscription wakes.
    pub agent_id: Text<AgentId>,
    /// Tokens of which at least one must match.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub any: Vec<String>,
    /// Tokens that must all match.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub all: Vec<String>,
    /// A predicate over the changed record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Predicate>")]
    pub predicate: Option<serde_json::Value>,
    /// A predicate over the agent and the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Predicate>")]
    pub guard: Option<serde_json::Value>,
    /// How long nothing starts after a wake by this subscription, in milliseconds.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = 604_800_000))]
    pub cooldown_ms: u64,
    /// How long changes are collected before they wake the agent, in milliseconds, counted from the first
    /// of them.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = 3_600_000))]
    pub debounce_ms: u64,
    /// The instruction for the agent.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    pub message: String,
}

/// New terms of a subscription. Terms that are absent stay as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("not" = { "anyOf": [
    { "required": ["predicate", "clear_predicate"], "properties": { "predicate": { "type": "object" }, "clear_predicate": { "const": true } } },
    { "required": ["guard", "clear_guard"], "properties": { "guard": { "type": "object" }, "clear_guard": { "const": true } } },
] }))]
pub struct EditSubscription {
    /// The subscription's name.
    pub subscription_id: Text<RuleId>,
    /// Tokens of which at least one must match; they replace the present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub any: Option<Vec<String>>,
    /// Tokens that must all match; they replace the present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub all: Option<Vec<String>>,
    /// A predicate over the changed record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Predicate>")]
    pub predicate: Option<serde_json::Value>,
    /// Remove the predicate. Cannot be combined with `predicate`.
    #[serde(default)]
    pub clear_predicate: bool,
    /// A predicate over the agent and the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Predicate>")]
    pub guard: Option<serde_json::Value>,
    /// Remove the guard. Cannot be combined with `guard`.
    #[serde(default)]
    pub clear_guard: bool,
    /// How long nothing starts after a wake by this subscription, in milliseconds.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 604_800_000))]
    pub cooldown_ms: Option<u64>,
    /// How long changes are collected before they wake the agent, in milliseconds, counted from the first
    /// of them.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3_600_000))]
    pub debounce_ms: Option<u64>,
    /// The instruction for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub message: Option<String>,
}
