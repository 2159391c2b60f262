//! Endpoint and type for erasing contents from an agent's log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::proof::Erasure;

use crate::SEQ_MAX;
use crate::endpoint::endpoints;
use crate::text::{LINE, Text, whole};

endpoints! { "events":
    /// Erases the contents of a finished run or of a range of events.
    ///
    /// The log stays verifiable and records the erasure. Audit entries of the contents are removed as well; the request is
    /// recorded as the consent to it. Messages to the agent that were typed in `wakeful chat` are removed too.
    EraseContent = Post "/api/agents/{agent_id}/erasures" -> Erasure {
        200 "The contents are erased",
        404 "The agent or the run does not exist",
        409 "The run has not ended, the last event precedes the first, or the log changed at the same time",
    }
}

/// The contents to erase, of a run or of a range of events, and the reason. Runs that are still open cannot
/// be erased.
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
    /// The run whose contents are erased: its transcript, its messages and the details of its events. Give
    /// either `run_key` or `first_seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<Text<RunKey>>,
    /// The sequence number of the first event whose contents are erased.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = SEQ_MAX))]
    pub first_seq: Option<u64>,
    /// The sequence number of the last event whose contents are erased. Defaults to `first_seq`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = SEQ_MAX))]
    pub last_seq: Option<u64>,
    /// The reason for the erasure. It is stored in the log.
    #[schemars(length(min = 1, max = 500), regex(pattern = LINE))]
    pub reason: String,
}
