//! What agents want to be woken for.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A subscription: a change that it matches wakes its agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
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
    #[schema(nullable = false, value_type = Option<Object>)]
    pub predicate: Option<serde_json::Value>,
    /// What must hold of the agent and of the change: a predicate over `since_last_run_ms`, `queued`, `author` and `depth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub guard: Option<serde_json::Value>,
    /// How long nothing begins after a wake by it; what comes meanwhile is gathered.
    pub cooldown_ms: u64,
    /// How long changes are gathered before the first of them wakes.
    pub debounce_ms: u64,
    /// What the agent is told to do; may be empty.
    pub say: String,
    /// When it was made. It does not see what was before.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Whether it wakes its agent, or is put aside.
    pub is_active: bool,
}

/// Subscriptions by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionList {
    /// The subscriptions.
    pub subscriptions: Vec<Subscription>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next_after: Option<String>,
}

/// A subscription to make. The same name with the same terms again is the same subscription.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSubscription {
    /// Its name; made up where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        min_length = 1,
        max_length = 64,
        pattern = "^[a-z0-9][a-z0-9_-]*$"
    )]
    pub subscription_id: Option<String>,
    /// Who is woken.
    #[schema(min_length = 1, max_length = 64, pattern = "^[a-z0-9][a-z0-9_-]*$")]
    pub agent_id: String,
    /// Tokens of which one is enough.
    #[serde(default)]
    #[schema(max_items = 256)]
    pub any: Vec<String>,
    /// Tokens that must all be there.
    #[serde(default)]
    #[schema(max_items = 256)]
    pub all: Vec<String>,
    /// What a changed record must be like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub predicate: Option<serde_json::Value>,
    /// What must hold of the agent and of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub guard: Option<serde_json::Value>,
    /// How long nothing begins after a wake by it.
    #[serde(default, deserialize_with = "whole_ms")]
    #[schema(maximum = 604_800_000)]
    pub cooldown_ms: u64,
    /// How long changes are gathered before the first of them wakes.
    #[serde(default, deserialize_with = "whole_ms")]
    #[schema(maximum = 3_600_000)]
    pub debounce_ms: u64,
    /// What the agent is told to do.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub say: String,
}

/// A number of milliseconds, also where somebody writes it with a fraction of nothing.
fn whole_ms<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = crate::message::whole(deserializer)?;
    number.ok_or_else(|| serde::de::Error::custom("a whole number is missing"))
}
