//! Endpoints and types for external triggers: secret URLs through which external systems wake an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::external_trigger::{DeliveryMode, TriggerStatus};
use wakeful_core::id::AgentId;

use crate::endpoint::endpoints;
use crate::text::{DateTime, Text};

endpoints! { "agents":
    /// Retrieves the external trigger of an agent, and creates it if there is none.
    ///
    /// The path stays the same until it is rotated or revoked.
    GetExternalTrigger { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/external-trigger" -> ExternalTrigger {
        200 "The trigger; its path is a secret",
    }
    /// Replaces the path of the external trigger. The previous path stops working.
    RotateExternalTrigger { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/external-trigger/rotate" -> ExternalTrigger {
        200 "The trigger; its path is a secret",
    }
    /// Revokes the external trigger: it accepts no deliveries until its path is rotated.
    RevokeExternalTrigger { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/external-trigger/revoke" -> ExternalTrigger {
        200 "The trigger, without a path",
    }
}

/// The secret URL through which external systems wake an agent. Anyone who has the URL can wake the agent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalTrigger {
    /// The trigger's id.
    pub external_trigger_id: String,
    /// The agent that the trigger wakes.
    pub target_agent_id: String,
    /// The path to POST to, below the daemon's address. Absent while the trigger is revoked. Keep it
    /// secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_path: Option<String>,
    /// How a delivery is handled.
    pub delivery_mode: DeliveryMode,
    /// Whether the trigger accepts deliveries.
    pub status: TriggerStatus,
    /// The number of accepted deliveries.
    pub trigger_count: u64,
    /// When the newest delivery was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub last_triggered_at: Option<String>,
    /// When the trigger was created.
    #[schemars(with = "DateTime")]
    pub created_at: String,
}

/// Omits the path, so that logging a trigger does not leak the secret.
impl std::fmt::Debug for ExternalTrigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "ExternalTrigger({}, {})",
            self.external_trigger_id, self.status
        )
    }
}

/// The result of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggerDeliveryResult {
    /// The key of the run that the delivery may start.
    pub run_key: String,
    /// Whether the delivery was new. A repeated delivery is not accepted twice.
    pub is_new: bool,
}
