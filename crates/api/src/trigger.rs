//! How systems outside wake an agent.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The one capability by which systems outside may wake an agent. Its address is a secret: whoever has it can wake the agent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExternalTrigger {
    /// Its name.
    pub external_trigger_id: String,
    /// Who is woken.
    pub target_agent_id: String,
    /// Where to POST to, under the daemon's address; absent while it is revoked. A secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub trigger_path: Option<String>,
    /// What a delivery does: `wake_hint`.
    pub delivery_mode: String,
    /// `active` or `revoked`.
    pub status: String,
    /// How many deliveries were taken in.
    pub trigger_count: u64,
    /// When the newest of them was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub last_triggered_at: Option<String>,
    /// When it was made.
    #[schema(format = DateTime)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TriggerDelivered {
    /// The run that it may become.
    pub run_key: String,
    /// Whether it was new; one that comes again is the same.
    pub is_new: bool,
}
