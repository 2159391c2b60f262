//! Endpoints and types for audit entries: what was decided about each call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::audit::{AuditDecision, AuditPosition};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::policy::{DenialCategory, GateStage};
use wakeful_core::time::Millis;
use wakeful_core::tool::ToolInvocation;

use crate::SEQ_MAX;
use crate::endpoint::endpoints;
use crate::text::{DateTime, Limit, NO_CONTROL, Spelling, Text};

endpoints! { "audit":
    /// Lists audit entries, newest first.
    ///
    /// There is one entry for each verdict on a tool call, each answer of a person, and each stop of a call or of a
    /// model request, denials included. Entries are never changed, and never pruned.
    ListAuditEntries = Get "/api/audit" -> AuditList {
        200 "The entries",
        404 "The agent or the run does not exist (`agent_unknown`, `run_unknown`)",
    }
    /// Retrieves the audit entry of an event, with the record of its tool call.
    GetAuditEntry {
        agent_id: Text<AgentId>,
        /// The sequence number of the event.
        #[schemars(range(max = SEQ_MAX))]
        seq: u64
    } = Get "/api/agents/{agent_id}/audit/{seq}" -> AuditDetail {
        200 "The entry",
        404 "The agent does not exist, or the event has no entry (`audit_entry_unknown`)",
    }
}

/// Selects the audit entries to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAuditEntries {
    /// Return only entries of this agent.
    pub agent_id: Option<Text<AgentId>>,
    /// Return only entries of this run.
    pub run_key: Option<Text<RunKey>>,
    /// Return only entries about this tool.
    #[schemars(length(min = 1, max = 200), regex(pattern = NO_CONTROL))]
    pub tool: Option<String>,
    /// Return only entries with this decision.
    pub decision: Option<AuditDecision>,
    /// Return only entries that this stage decided.
    pub stage: Option<GateStage>,
    /// Return only entries of this time or later.
    pub since: Option<Text<Millis>>,
    /// Return only entries of this time or earlier.
    pub until: Option<Text<Millis>>,
    /// The cursor of an earlier response with the same filters, to continue from there.
    pub cursor: Option<Text<AuditPosition>>,
    /// The maximum number of entries. A page can be shorter, because a request examines a limited number of entries.
    #[serde(default)]
    pub limit: Limit,
}

impl Spelling for AuditPosition {
    fn schema() -> schemars::Schema {
        schemars::json_schema!({
            "type": "string", "pattern": r"^[0-9]{1,15}\.[a-z0-9][a-z0-9_-]{0,63}\.[0-9]{1,15}$",
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| "must be the cursor of an earlier response".to_owned())
    }

    fn spell(&self) -> String {
        self.to_string()
    }
}

/// A page of audit entries, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditList {
    /// The entries.
    pub entries: Vec<AuditEntry>,
    /// The cursor for the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// What was decided about a tool call or a model request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// The agent's name.
    pub agent_id: String,
    /// The sequence number of the event in the agent's log that the entry belongs to.
    pub seq: u64,
    /// When it was decided.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// The operation id of the tool call. Absent for a model request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// The tool. Empty for a model request.
    pub tool: String,
    /// What was decided.
    pub decision: AuditDecision,
    /// The stage that decided.
    pub stage: GateStage,
    /// The rule that decided, or the code of the stop.
    pub rule: String,
    /// Why.
    pub reason: String,
    /// The category of a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<DenialCategory>,
    /// The version of the policy that was applied. Absent if no policy decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
}

/// An audit entry with the record of its tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditDetail {
    /// The entry.
    pub entry: AuditEntry,
    /// The record of the tool call, performed or denied. Absent for a model request, and while the call is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation: Option<ToolInvocation>,
}
