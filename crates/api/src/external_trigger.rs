//! How systems outside wake an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::external_trigger::{DeliveryMode, TriggerStatus};
use wakeful_core::id::AgentId;

use crate::endpoint::endpoints;
use crate::text::{DateTime, Text};

endpoints! { "agents":
    /// The external trigger of an agent. It is made when it is first asked for, and stays the same.
    GetExternalTrigger { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/external-trigger" -> ExternalTrigger {
        200 "The trigger; its path is a secret",
    }
    /// Gives the trigger another address. The one before stops working.
    RotateExternalTrigger { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/external-trigger/rotate" -> ExternalTrigger {
        200 "The trigger; its path is a secret",
    }
    /// Revokes the trigger: it accepts nothing until it gets another address.
    RevokeExternalTrigger { agent_id: Text<AgentId> } = Post "/api/agents/{agent_id}/external-trigger/revoke" -> ExternalTrigger {
        200 "The trigger, without a path",
    }
}

/// The one capability by which systems outside may wake an agent. Its address is a secret: whoever has it can wake the agent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalTrigger {
    /// Its name.
    pub external_trigger_id: String,
    /// Who is woken.
    pub target_agent_id: String,
    /// Where to POST to, under the daemon's address; absent while it is revoked. A secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_path: Option<String>,
    /// What a delivery does.
    pub delivery_mode: DeliveryMode,
    /// Whether it accepts deliveries.
    pub status: TriggerStatus,
    /// How many deliveries were taken in.
    pub trigger_count: u64,
    /// When the newest of them was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub last_triggered_at: Option<String>,
    /// When it was made.
    #[schemars(with = "DateTime")]
    pub created_at: String,
}

/// Without the address, so that no log of a value is a leak.
impl std::fmt::Debug for ExternalTrigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "ExternalTrigger({}, {})",
            self.external_trigger_id, self.status
        )
    }
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggerDeliveryResult {
    /// The run that it may become.
    pub run_key: String,
    /// Whether it was new; one that comes again is the same.
    pub is_new: bool,
}
