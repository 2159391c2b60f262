//! Messages to agents.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Says something to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// What is said.
    #[schema(min_length = 1, max_length = 262144)]
    pub text: String,
    /// Names the message: the same key again is the same message. A fresh one is drawn when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub idempotency_key: Option<String>,
}

/// Whether a message was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// It was, and it is durable now.
    New,
    /// The same message had been admitted before.
    Known,
}

/// A message that is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// Whose queue it is in.
    pub agent_id: String,
    /// The run that answers it, now or later.
    pub run_key: String,
    /// Whether it was new.
    pub admission: Admission,
}
