//! Events: the log that everything a person sees is a projection of.

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
    /// Events of one agent: a page of them, or with `Accept: text/event-stream` all from there on as they happen.
    ListAgentEvents = Get "/api/agents/{agent_id}/events" -> EventPage { 200 "The events" } with {
        media: &["application/json", "text/event-stream"],
        headers: &[LAST_EVENT_ID],
    }
    /// Events of all listed agents: a page of them, or with `Accept: text/event-stream` all as they happen.
    ListEvents = Get "/api/events" -> EventFeed { 200 "The events", 404 "The cursor was never given out" } with {
        media: &["application/json", "text/event-stream"],
        headers: &[LAST_EVENT_ID],
    }
}

const LAST_EVENT_ID: Header = Header {
    name: "Last-Event-ID",
    text: "For streams: the id of the last event seen; pages do not look at it",
    schema: String::json_schema,
};

/// Which events of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAgentEvents {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// Only those with a greater number, oldest first. A page begins with the first when absent, a stream with the next.
    #[schemars(range(max = SEQ_MAX))]
    pub after_seq: Option<u64>,
    /// Only those with a smaller number; without `after_seq` the newest of them, oldest first. Not for a stream.
    #[schemars(range(max = SEQ_MAX))]
    pub before_seq: Option<u64>,
    /// For a stream of a browser: a one-use ticket, which stands in for the header `X-Wakeful-Token`.
    pub ticket: Option<String>,
    /// Most rows of a page.
    #[serde(default)]
    pub limit: Limit,
}

/// Which events of all listed agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListEvents {
    /// Go on from here, as an earlier answer said. When absent, a page has the newest, and a stream begins with the next.
    #[schemars(length(max = 16384))]
    pub cursor: Option<String>,
    /// For a stream of a browser: a one-use ticket, which stands in for the header `X-Wakeful-Token`.
    pub ticket: Option<String>,
    /// Most rows of a page.
    #[serde(default)]
    pub limit: Limit,
}

/// The greatest whole number that every reader of JSON holds exactly.
pub const SEQ_MAX: u64 = (1 << 53) - 1;

/// One event of one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its name: the hash that chains it to everything before it.
    pub event_id: String,
    /// Whose event it is.
    pub agent_id: String,
    /// Its number in the agent's log, counted from 1 without gaps.
    pub seq: u64,
    /// When it happened.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// What happened.
    #[schemars(skip)]
    pub kind: String,
    /// The run it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// The version of the rules that had a part in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
    /// How it is shown, the same on every surface.
    pub presentation: Presentation,
    /// Where it came from, as far as it is known.
    pub provenance: Provenance,
    /// The details; empty when they were erased. The schema has them by kind.
    #[schemars(flatten, with = "EventContent")]
    pub payload: Value,
    /// Whether the details are gone for good.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

/// The kind and the payload of an event, for the schema: those that this version writes, those of erased events, and
/// kinds of a newer version.
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
    /// Go on from here.
    pub next_after_seq: u64,
    /// Whether there is more.
    pub has_more: bool,
}

/// Events of all listed agents, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventFeed {
    /// The events.
    pub events: Vec<Event>,
    /// Go on from here. What is inside may change; it is only good for giving it back.
    pub cursor: String,
    /// Whether there is more.
    pub has_more: bool,
}

/// A piece of text as the model produces it. Only on streams, never stored, without an id: what was said is in the
/// event and the transcript that follow. A new attempt begins again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delta {
    /// Who speaks.
    pub agent_id: String,
    /// In which run.
    pub run_key: String,
    /// Which request of the run, from 0; a greater one replaces what came before.
    pub attempt: u32,
    /// Which piece of it, from 0.
    pub chunk: u32,
    /// The words.
    pub text: String,
}
