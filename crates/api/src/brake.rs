//! Endpoints and types for brakes, and for stop requests that are in force before the database has stored
//! them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;

use crate::endpoint::endpoints;
use crate::text::{DateTime, Text};

endpoints! { "brake":
    /// Lists the brakes that are set.
    ListBrakes {} = Get "/api/brake" -> BrakeList { 200 "The brakes" }
    /// Sets a brake on one agent or on all agents.
    ///
    /// Messages are queued, nothing starts, and work in progress is stopped. A brake that is already set is
    /// not changed. The brake is in force when the response is sent, even if the database cannot store it;
    /// `not_durable` then contains the reason, and the brake is stored as soon as possible.
    SetBrake = Post "/api/brake" -> BrakeList { 200 "The brake is in force", 404 "The agent does not exist" }
    /// Releases a brake.
    ///
    /// Held work resumes where it stopped. Releasing a brake that is not set has no effect. The release
    /// takes effect only when the database has stored it.
    ReleaseBrake = Post "/api/brake/release" -> BrakeList {
        200 "The brakes that are still set",
        403 "The caller is a tool process of an agent (`caller_is_tool_process`)",
        404 "The agent does not exist",
    }
}

/// A brake that is set. It prevents the agents that it holds from starting anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Brake {
    /// The agent that the brake holds. Absent if the brake holds all agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The reason given when the brake was set; empty if none was given.
    pub reason: String,
    /// The channel through which the brake was set.
    pub channel: Channel,
    /// When the brake was set.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// Why the brake is not stored in the database yet. Absent once it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_durable: Option<NotDurable>,
}

/// Why a brake or cancellation that is in force is not stored in the database yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotDurable {
    /// The error code, such as `disk_full`, `database_unreachable` or `database_slow`.
    pub code: String,
    /// A description of the error in one sentence.
    pub message: String,
    /// Whether the request is stored in the home folder and therefore survives a restart.
    pub is_saved: bool,
}

/// A cancellation that is in force and not stored in the database yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingCancel {
    /// The run that is cancelled.
    pub run_key: String,
    /// Why the cancellation is not stored yet.
    pub not_durable: NotDurable,
}

/// The brakes that are set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrakeList {
    /// Whether the brake for all agents is set.
    pub is_on: bool,
    /// All brakes; the brake for all agents comes first.
    pub brakes: Vec<Brake>,
}

/// The brake to set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBrake {
    /// The agent to hold. If absent, all agents are held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Text<AgentId>>,
    /// The reason for the brake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub reason: Option<String>,
}

/// The brake to release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseBrake {
    /// The agent whose brake is released. If absent, the brake for all agents is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Text<AgentId>>,
}
