//! Brakes, and stop requests that the database does not have yet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;

use crate::endpoint::endpoints;
use crate::text::{DateTime, Text};

endpoints! { "brake":
    /// The brakes that are on.
    ListBrakes {} = Get "/api/brake" -> BrakeList { 200 "The brakes" }
    /// Sets a brake on one agent or on all. Messages are queued, nothing starts, and what runs is stopped. A brake that is on
    /// stays as it was set. It is in force when this answers, also where the database does not take it: then `not_durable` says
    /// why, and it is stored as soon as that is possible.
    SetBrake = Post "/api/brake" -> BrakeList { 200 "It holds", 404 "There is no such agent" }
    /// Releases a brake. What it held goes on where it stopped. Nothing happens where there was none. It counts only when the
    /// database has it.
    ReleaseBrake = Post "/api/brake/release" -> BrakeList {
        200 "What still holds",
        403 "An agent's own tool asks (`caller_is_tool_process`)",
        404 "There is no such agent",
    }
}

/// A brake that is on: nothing that it holds begins anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Brake {
    /// Who is held; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Why, in the words of whoever set it; empty where they said nothing.
    pub reason: String,
    /// By which way it came.
    pub channel: Channel,
    /// When it was set.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// Why it is not durable yet; absent where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_durable: Option<NotDurable>,
}

/// Why a brake or a cancellation that is in force is not in the database yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotDurable {
    /// What is in the way, such as `disk_full`, `database_unreachable` or `database_slow`.
    pub code: String,
    /// One sentence about it.
    pub message: String,
    /// Whether it is kept in the home and so survives a restart.
    pub is_saved: bool,
}

/// A cancellation that is in force and not in the database yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingCancel {
    /// The run that ends.
    pub run_key: String,
    /// Why it is not durable yet.
    pub not_durable: NotDurable,
}

/// The brakes that are on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrakeList {
    /// Whether everything is held.
    pub is_on: bool,
    /// Every brake, that of all first.
    pub brakes: Vec<Brake>,
}

/// A brake to set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBrake {
    /// Who is to be held; all where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Text<AgentId>>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub reason: Option<String>,
}

/// A brake to release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseBrake {
    /// Whose; that of all where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Text<AgentId>>,
}
