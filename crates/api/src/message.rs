//! Messages: what enters an agent's queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::attachment::ATTACHMENTS_BYTES_MAX;
use wakeful_core::cause::Priority;
use wakeful_core::id::{AgentId, TurnId};

use crate::TriggerDeliveryResult;
use crate::endpoint::{Access, BODY_BYTES_MAX, Header, endpoints};
use crate::text::{DateTime, Text, whole};

endpoints! { "messages":
    /// Puts a message into an agent's queue. It is durable when this answers.
    SendMessage = Post "/api/agents/{agent_id}/messages" -> AcceptedMessage {
        202 "It is kept; its run answers it, now or later",
        409 "The key was used before for another message, two keys differ, an attachment is not what it says, or the model, \
             the workspace or a tool does not exist here",
    } with { headers: &[IDEMPOTENCY_KEY], body_bytes_max: MESSAGE_BODY_BYTES_MAX }
    /// Wakes the agent of a trigger. The body, of any kind, is given to the agent as untrusted data. `Idempotency-Key` or
    /// `X-Delivery-Id` names the delivery; one that comes again is the same. Without a name, equal bodies within a minute are one.
    /// `X-Correlation-Id` and `X-Causation-Id` say what it belongs together with and what it was caused by; they are kept and shown.
    DeliverExternalTrigger { external_trigger_id: String, token: String } = Post "/api/external-triggers/{external_trigger_id}/{token}" -> TriggerDeliveryResult {
        202 "It is accepted, or was before",
        404 "There is no such trigger: never was, revoked, or with another address",
        409 "The agent accepts nothing now; the code says why",
    } with { access: Access::Public, raw_body: Some("application/octet-stream") }
}

/// Largest body of a message in bytes: all that may be attached, in base64, and what any other body may have.
const MESSAGE_BODY_BYTES_MAX: usize = BODY_BYTES_MAX + ATTACHMENTS_BYTES_MAX.div_ceil(3) * 4;

/// Names what is sent.
pub(crate) const IDEMPOTENCY_KEY: Header = Header {
    name: "Idempotency-Key",
    text: "Names what is sent, like `key` in the body",
    schema: |_| schemars::json_schema!({ "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]([ -~]*[!-~])?$" }),
};

/// A message for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// What the agent is to do. At most 256 KiB.
    #[schemars(length(min = 1, max = 262144))]
    pub text: String,
    /// Names this message: the same key with the same message again is the same message, with another it is an
    /// error. The header `Idempotency-Key` does the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
    /// Who answers; the daemon's model when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub model: Option<String>,
    /// Most model rounds before the run is ended.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 100000))]
    pub max_rounds: Option<u32>,
    /// The folder this run's commands run in; the agent's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub workspace: Option<String>,
    /// Tools that this run may not use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub deny_tools: Vec<String>,
    /// Tools that this run may use only after a person said so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub ask_tools: Vec<String>,
    /// How soon it wants its turn; `normal` when absent. It says nothing about trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Pictures and documents, at most 20 MiB together; the model is shown them before the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub attachments: Vec<AttachmentInput>,
}

impl SendMessage {
    /// A message that leaves everything else to the agent.
    #[must_use]
    pub const fn new(agent: AgentId, text: String) -> Self {
        Self {
            agent_id: Text(agent),
            text,
            key: None,
            model: None,
            max_rounds: None,
            workspace: None,
            deny_tools: Vec::new(),
            ask_tools: Vec::new(),
            priority: None,
            attachments: Vec::new(),
        }
    }
}

/// A picture or a document that comes with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachmentInput {
    /// Its file name, without folders.
    #[schemars(
        length(min = 1, max = 255),
        regex(pattern = r"^[^/\u0000-\u001f\u007f-\u009f]+$")
    )]
    pub name: String,
    /// What it is, and its first bytes must say the same.
    #[schemars(regex(pattern = "^(image/(png|jpeg|gif|webp)|application/pdf|text/plain)$"))]
    pub media_type: String,
    /// Its bytes in base64 with padding; at most 5 MiB before that.
    #[schemars(
        length(min = 4, max = 6990508),
        regex(pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")
    )]
    pub data: String,
}

/// A message that is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedMessage {
    /// The run that answers it, now or later.
    pub run_key: String,
    /// Whose queue it is in.
    pub agent_id: String,
    /// Whether it was new.
    pub admission: Admission,
}

/// Whether a message was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// It was.
    New,
    /// The same message was there already.
    Duplicate,
}

/// A message that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedMessage {
    /// The run that will answer it.
    pub run_key: String,
    /// The number of the event that announced it: the order of the queue among equal priorities.
    pub seq: u64,
    /// How soon it wants its turn.
    #[serde(default)]
    pub priority: Priority,
    /// When it came.
    #[schemars(with = "DateTime")]
    pub admitted_at: String,
    /// How it begins.
    pub preview: String,
}

#[cfg(test)]
mod tests {
    use super::SendMessage;

    #[test]
    fn a_whole_number_may_be_spelled_with_a_point_and_nothing_else_passes() {
        let read = |rounds: &str| {
            let body = format!(r#"{{"agent_id": "main", "text": "x", "max_rounds": {rounds}}}"#);
            serde_json::from_str::<SendMessage>(&body)
                .ok()
                .map(|message| message.max_rounds)
        };
        for (spelled, meant) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("1e2", Some(100)),
            ("null", None),
        ] {
            assert_eq!(read(spelled), Some(meant), "{spelled}");
        }
        for wrong in ["5.5", "-1", "4294967296", "1e300", "\"5\"", "true"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
