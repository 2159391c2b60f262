//! Endpoints and types for events, the log from which all reports to people are derived.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wakeful_core::id::AgentId;
use wakeful_core::report::EventKind;
use wakeful_core::report::payload::Payload;
use wakeful_core::report::present::{Presentation, Provenance};

use crate::endpoint::{Header, endpoints};
use crate::text::{DateTime, Limit, Text};

endpoints! { "events":
    /// Lists the events of an agent.
    ///
    /// With `Accept: text/event-stream` the response is a stream that continues with new events as they
    /// happen.
    ListAgentEvents = Get "/api/agents/{agent_id}/events" -> EventPage { 200 "The events" } with {
        media: &["application/json", "text/event-stream"],
        headers: &[LAST_EVENT_ID],
    }
    /// Lists the events of all public agents.
    ///
    /// With `Accept: text/event-stream` the response is a stream of events as they happen.
    ListEvents = Get "/api/events" -> EventFeed { 200 "The events", 404 "The cursor is unknown" } with {
        media: &["application/json", "text/event-stream"],
        headers: &[LAST_EVENT_ID],
    }
}

const LAST_EVENT_ID: Header = Header {
    name: "Last-Event-ID",
    text: "For streams: the id of the last event received; ignored for pages",
    schema: String::json_schema,
};

/// Selects events of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAgentEvents {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// Return only events with a greater sequence number, oldest first. If absent, a page begins with the
    /// first event and a stream with the next new one.
    #[schemars(range(max = SEQ_MAX))]
    pub after_seq: Option<u64>,
    /// Return only events with a smaller sequence number. Without `after_seq`, returns the newest of them,
    /// oldest first. Not allowed for streams.
    #[schemars(range(max = SEQ_MAX))]
    pub before_seq: Option<u64>,
    /// For a stream in a browser: a single-use ticket that replaces the header `X-Wakeful-Token`.
    pub ticket: Option<String>,
    /// The maximum number of events in a page.
    #[serde(default)]
    pub limit: Limit,
}

/// Selects events of all public agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListEvents {
    /// The cursor of an earlier response, to continue from there. If absent, a page contains the newest
    /// events and a stream begins with the next new one.
    #[schemars(length(max = 16384))]
    pub cursor: Option<String>,
    /// For a stream in a browser: a single-use ticket that replaces the header `X-Wakeful-Token`.
    pub ticket: Option<String>,
    /// The maximum number of events in a page.
    #[serde(default)]
    pub limit: Limit,
}

/// The largest integer that every JSON parser represents exactly.
pub const SEQ_MAX: u64 = (1 << 53) - 1;

/// One event of one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The event's id: the hash that chains it to all earlier events.
    pub event_id: String,
    /// The agent whose log contains the event.
    pub agent_id: String,
    /// The sequence number in the agent's log, starting at 1 without gaps.
    pub seq: u64,
    /// When the event happened.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// The kind of event.
    #[schemars(skip)]
    pub kind: String,
    /// The run that the event belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// The version of the policy that was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
    /// The text and style in which every interface shows the event.
    pub presentation: Presentation,
    /// The origin of the event, as far as it is known.
    pub provenance: Provenance,
    /// The details of the event; empty if they were erased. The schema lists them by kind.
    #[schemars(flatten, with = "EventContent")]
    pub payload: Value,
    /// Whether the details were erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

/// The schema of the kind and payload of an event. It covers the kinds that this version writes, erased
/// events, and kinds of newer versions.
struct EventContent;

impl JsonSchema for EventContent {
    fn schema_name() -> Cow<'static, str> {
        "EventContent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let content = |kind: Value, payload: Value| {
            json!({
                "type": "object", "required": ["kind", "payload"],
                "properties": { "kind": kind, "payload": payload, "erased": { "const": false } },
            })
        };
        let known = Payload::schemas(generator).into_iter();
        let mut one_of: Vec<Value> = known
            .map(|(kind, payload)| content(json!({ "const": kind }), payload.to_value()))
            .collect();
        let newer = json!({ "type": "string", "not": { "enum": EventKind::WORDS } });
        one_of.push(content(
            newer,
            json!({ "type": "object", "additionalProperties": {} }),
        ));
        one_of.push(json!({
            "type": "object", "required": ["kind", "payload", "erased"],
            "properties": {
                "kind": { "type": "string" },
                "payload": { "type": "object", "maxProperties": 0 },
                "erased": { "const": true },
            },
        }));
        json_schema!({ "oneOf": one_of })
    }
}

/// Events of one agent, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventPage {
    /// The events.
    pub events: Vec<Event>,
    /// The value of `after_seq` for the next page.
    pub next_after_seq: u64,
    /// Whether more events follow.
    pub has_more: bool,
}

/// Events of all public agents, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventFeed {
    /// The events.
    pub events: Vec<Event>,
    /// The cursor for the next page. Treat it as opaque: its contents may change.
    pub cursor: String,
    /// Whether more events follow.
    pub has_more: bool,
}

/// A piece of text that the model is producing. Deltas are sent only on streams; they are not stored and
/// have no id. The events and the transcript that follow contain the complete text. A new attempt starts
/// from the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delta {
    /// The agent whose model produces the text.
    pub agent_id: String,
    /// The run that the text belongs to.
    pub run_key: String,
    /// The number of the model request in the run, starting at 0. Text of a greater number replaces all
    /// earlier text.
    pub attempt: u32,
    /// The number of the piece within the request, starting at 0.
    pub chunk: u32,
    /// The text of the piece.
    pub text: String,
}

/// Output of a tool call that is still running. Like text of a model, it is sent only on streams, is not
/// stored and has no id; the result of the call contains the output. It consists of whole lines. When a
/// command prints much at once, the middle is left out and a line says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolOutput {
    /// The agent whose tool call runs.
    pub agent_id: String,
    /// The run that the tool call belongs to.
    pub run_key: String,
    /// The operation id of the tool call.
    pub operation_id: String,
    /// The stream that the text was written to.
    pub stream: ToolOutputStream,
    /// The number of the piece within the tool call, starting at 0.
    pub chunk: u32,
    /// The text of the piece.
    pub text: String,
}

/// An output stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}
