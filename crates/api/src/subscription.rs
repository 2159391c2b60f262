//! What agents want to be woken for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::{AgentId, RuleId};

use crate::endpoint::endpoints;
use crate::predicate::Predicate;
use crate::text::{DateTime, Limit, Object, Text, whole_number};

endpoints! { "subscriptions":
    /// Subscriptions by name.
    ListSubscriptions {
        /// Only those of this agent.
        agent_id: Option<Text<AgentId>>,
        /// Only those whose names come after this one.
        after: Option<Text<RuleId>>,
        /// Most subscriptions.
        #[serde(default)]
        limit: Limit
    } = Get "/api/subscriptions" -> SubscriptionList { 200 "The subscriptions", 404 "There is no such agent" }
    /// Makes a subscription: from now on, changes that it matches wake its agent. The same one again is the same one.
    CreateSubscription = Post "/api/subscriptions" -> Subscription {
        200 "It holds",
        404 "There is no such agent",
        409 "Another one has this name, there are too many, or its terms are too large",
    }
    /// Deletes a subscription. What it queued stays queued.
    DeleteSubscription { subscription_id: Text<RuleId> } = Delete "/api/subscriptions/{subscription_id}" -> Subscription {
        200 "It is gone; this is what it was",
    }
    /// Pauses a subscription: until it is resumed, it wakes nothing. What would have matched is counted as refused, and is not
    /// made up for. What it queued stays queued.
    PauseSubscription { subscription_id: Text<RuleId> } = Post "/api/subscriptions/{subscription_id}/pause" -> Subscription {
        200 "It is paused",
    }
    /// Resumes a subscription: it sees what is committed from now on.
    ResumeSubscription { subscription_id: Text<RuleId> } = Post "/api/subscriptions/{subscription_id}/resume" -> Subscription {
        200 "It wakes its agent again",
    }
}

/// A subscription: a change that it matches wakes its agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subscription {
    /// Its name.
    pub subscription_id: String,
    /// Who is woken.
    pub agent_id: String,
    /// Tokens of which one is enough: a kind such as `TASK`, a value such as `task.status=done`, or `id:` and a record.
    pub any: Vec<String>,
    /// Tokens that must all be there.
    pub all: Vec<String>,
    /// What a changed record must be like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Object>")]
    pub predicate: Option<serde_json::Value>,
    /// What must hold of the agent and of the change: a predicate over `since_last_run_ms`, `queued`, `author` and `depth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Object>")]
    pub guard: Option<serde_json::Value>,
    /// How long nothing begins after a wake by it; what comes meanwhile is gathered.
    pub cooldown_ms: u64,
    /// How long changes are gathered before the first of them wakes.
    pub debounce_ms: u64,
    /// What the agent is told to do; may be empty.
    pub message: String,
    /// When it was made. It does not see what was before.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// Whether it wakes its agent, or is put aside.
    pub is_active: bool,
}

/// Subscriptions by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionList {
    /// The subscriptions.
    pub subscriptions: Vec<Subscription>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
}

/// A subscription to make. The same name with the same terms again is the same subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [
    { "required": ["any"], "properties": { "any": { "minItems": 1 } } },
    { "required": ["all"], "properties": { "all": { "minItems": 1 } } },
]))]
pub struct CreateSubscription {
    /// Its name; made up where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<Text<RuleId>>,
    /// Who is woken.
    pub agent_id: Text<AgentId>,
    /// Tokens of which one is enough.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub any: Vec<String>,
    /// Tokens that must all be there.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub all: Vec<String>,
    /// What a changed record must be like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Predicate>")]
    pub predicate: Option<serde_json::Value>,
    /// What must hold of the agent and of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Predicate>")]
    pub guard: Option<serde_json::Value>,
    /// How long nothing begins after a wake by it.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = 604_800_000))]
    pub cooldown_ms: u64,
    /// How long changes are gathered before the first of them wakes.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = 3_600_000))]
    pub debounce_ms: u64,
    /// What the agent is told to do.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    pub message: String,
}
