//! What may be taken out of the log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::proof::Erasure;

use crate::SEQ_MAX;
use crate::endpoint::endpoints;
use crate::text::{LINE, Text, whole};

endpoints! { "events":
    /// Erases contents of a run or of some events that have ended. The log stays whole and records the erasure.
    EraseContent = Post "/api/agents/{agent_id}/erasures" -> Erasure {
        200 "They are gone",
        404 "There is no such agent or run",
        409 "The run has not ended, the last event is before the first, or the log changed at the same moment",
    }
}

/// Contents to erase, of a run or of some events, and why. They must have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {
        "required": ["run_key"],
        "properties": { "run_key": { "type": "string" }, "first_seq": { "type": "null" }, "last_seq": { "type": "null" } },
    },
    { "required": ["first_seq"], "properties": { "run_key": { "type": "null" }, "first_seq": { "type": "integer" } } },
]))]
pub struct EraseContent {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// The run whose contents go: what was said in it, what it was told, what its events say. Or else `first_seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<Text<RunKey>>,
    /// The first event whose contents go.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = SEQ_MAX))]
    pub first_seq: Option<u64>,
    /// The last event whose contents go; the first, where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = SEQ_MAX))]
    pub last_seq: Option<u64>,
    /// Why. It stays in the log.
    #[schemars(length(min = 1, max = 500), regex(pattern = LINE))]
    pub reason: String,
}
