//! Endpoints and types for messages, the entries of an agent's queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::attachment::ATTACHMENTS_BYTES_MAX;
use wakeful_core::budget::{BudgetResource, MicroUsd};
use wakeful_core::cause::Priority;
use wakeful_core::id::{AgentId, SessionId, TurnId};

use crate::TriggerDeliveryResult;
use crate::endpoint::{Access, BODY_BYTES_MAX, Header, endpoints};
use crate::text::{DateTime, Object, Text, whole};

endpoints! { "messages":
    /// Adds a message to an agent's queue. The message is durable when the response is sent.
    SendMessage = Post "/api/agents/{agent_id}/messages" -> AcceptedMessage {
        202 "The message is stored; its run starts now or later",
        409 "The key was already used for a different message, the two keys differ, an attachment does not match its media type, \
            the schema of the answer cannot be used (`bad_answer_schema`), or the model, the workspace or a tool does not exist",
    } with { headers: &[IDEMPOTENCY_KEY], body_bytes_max: MESSAGE_BODY_BYTES_MAX, unredacted: &["attachments"] }
    /// Wakes the agent of an external trigger.
    ///
    /// The agent receives the body, which can have any content type, as untrusted data. `Idempotency-Key`
    /// or `X-Delivery-Id` names the delivery, so that a repeated delivery is accepted once; without a name,
    /// equal bodies within a minute are one delivery. `X-Correlation-Id` and `X-Causation-Id` name the
    /// chain of causes and the direct cause; they are stored and shown.
    DeliverExternalTrigger { external_trigger_id: String, token: String } =
        Post "/api/external-triggers/{external_trigger_id}/{token}" -> TriggerDeliveryResult {
        202 "The delivery is accepted, or was accepted before",
        404 "The trigger does not exist, was revoked, or has a different path",
        409 "The agent does not accept messages now; the code gives the reason",
    } with { access: Access::Public, raw_body: Some("application/octet-stream") }
}

/// Largest body of a message in bytes: the largest attachments in base64, plus the limit of other bodies.
const MESSAGE_BODY_BYTES_MAX: usize = BODY_BYTES_MAX + ATTACHMENTS_BYTES_MAX.div_ceil(3) * 4;

/// The header that names a message or a delivery.
pub(crate) const IDEMPOTENCY_KEY: Header = Header {
    name: "Idempotency-Key",
    text: "The idempotency key, like `key` in the body",
    schema: |_| schemars::json_schema!({ "type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]([ -~]*[!-~])?$" }),
};

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// The text of the message. At most 256 KiB.
    #[schemars(length(min = 1, max = 262144))]
    pub text: String,
    /// The idempotency key. Repeating the same message with the same key has no further effect; a different
    /// message with the same key is an error. The header `Idempotency-Key` does the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
    /// The conversation that the message belongs to. Each conversation of an agent has its own transcript.
    /// Defaults to `cli`, which the command line and the page share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Text<SessionId>>,
    /// The model for this run. Defaults to the agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub model: Option<String>,
    /// The maximum number of model rounds, after which the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 100000))]
    pub max_rounds: Option<u32>,
    /// The folder in which the commands of this run are executed. Defaults to the agent's workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub workspace: Option<String>,
    /// Tools that this run may not use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub deny_tools: Vec<String>,
    /// Tools that require a person's approval in this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub ask_tools: Vec<String>,
    /// A JSON Schema that the answer must fit; at most 32 KiB. The supported keywords are those of `wakeful help
    /// schema`; another one is refused. The model may correct an answer that does not fit once, then the run fails
    /// with `answer_not_valid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Object>")]
    pub answer_schema: Option<serde_json::Value>,
    /// Whether this run may only read and plan: it changes no file, record or remote system. Its commands
    /// cannot write in the workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_read_only: bool,
    /// What this run may use together with its sub-runs.
    #[serde(default, skip_serializing_if = "RunLimits::is_empty")]
    pub limits: RunLimits,
    /// The priority in the queue. Defaults to `normal`. It does not affect trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Images and documents, at most 20 MiB together. The model receives them before the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub attachments: Vec<AttachmentInput>,
}

impl SendMessage {
    /// Creates a message with default options.
    #[must_use]
    pub fn new(agent: AgentId, text: String) -> Self {
        Self {
            agent_id: Text(agent),
            text,
            key: None,
            thread: None,
            model: None,
            max_rounds: None,
            workspace: None,
            deny_tools: Vec::new(),
            ask_tools: Vec::new(),
            answer_schema: None,
            is_read_only: false,
            limits: RunLimits::default(),
            priority: None,
            attachments: Vec::new(),
        }
    }
}

/// What a run may use together with its sub-runs. A run that needs more waits until a person raises its limit. The limits
/// are removed when the run ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunLimits {
    /// The cost of model requests in dollars, at most 1000000, with at most six decimals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Text<MicroUsd>>,
    /// The tokens of requests and replies.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub tokens: Option<u64>,
    /// The time that model requests and tool calls take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub run_time_ms: Option<u64>,
    /// The tool calls that start.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub tool_calls: Option<u64>,
    /// The bytes that file tools and commands write to disk.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(max = 1_000_000_000_000_000_u64))]
    pub written_bytes: Option<u64>,
}

impl RunLimits {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Sets the limit on a resource, in its smallest unit.
    pub fn set(&mut self, resource: BudgetResource, max: u64) {
        match resource {
            BudgetResource::Money => self.cost_usd = Some(Text(MicroUsd(max))),
            BudgetResource::Tokens => self.tokens = Some(max),
            BudgetResource::RunTime => self.run_time_ms = Some(max),
            BudgetResource::ToolCalls => self.tool_calls = Some(max),
            BudgetResource::WrittenBytes => self.written_bytes = Some(max),
        }
    }

    /// The limit on a resource, in its smallest unit.
    #[must_use]
    pub fn get(&self, resource: BudgetResource) -> Option<u64> {
        match resource {
            BudgetResource::Money => self.cost_usd.as_ref().map(|usd| usd.0.0),
            BudgetResource::Tokens => self.tokens,
            BudgetResource::RunTime => self.run_time_ms,
            BudgetResource::ToolCalls => self.tool_calls,
            BudgetResource::WrittenBytes => self.written_bytes,
        }
    }
}

/// An image or a document that is sent with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachmentInput {
    /// The file name, without folders.
    #[schemars(
        length(min = 1, max = 255),
        regex(pattern = r"^[^/\u0000-\u001f\u007f-\u009f]+$")
    )]
    pub name: String,
    /// The media type, which must match the first bytes of the file.
    #[schemars(regex(pattern = "^(image/(png|jpeg|gif|webp)|application/pdf|text/plain)$"))]
    pub media_type: String,
    /// The contents in base64 with padding; at most 5 MiB before encoding.
    #[schemars(
        length(min = 4, max = 6990508),
        regex(pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")
    )]
    pub data: String,
}

/// A message that was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedMessage {
    /// The key of the run that handles the message, now or later.
    pub run_key: String,
    /// The agent whose queue contains the message.
    pub agent_id: String,
    /// Whether the message was new.
    pub admission: Admission,
    /// In how many texts of the message a secret or a key was replaced before it was stored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Whether a message was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// The message was new.
    New,
    /// The same message was already stored.
    Duplicate,
}

/// A queued message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedMessage {
    /// The key of the run that will handle the message.
    pub run_key: String,
    /// The sequence number of the event that recorded the message. It orders messages of equal priority.
    pub seq: u64,
    /// The priority in the queue.
    #[serde(default)]
    pub priority: Priority,
    /// When the message was stored.
    #[schemars(with = "DateTime")]
    pub admitted_at: String,
    /// The beginning of the message.
    pub preview: String,
    /// The conversation that the message belongs to. Absent if no person sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::SendMessage;

    #[test]
    fn an_integer_may_be_written_with_a_decimal_point() {
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
