//! The result of a tool call as one message, built from what a run stores.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ToolInvocation;
use crate::key::OperationId;
use crate::step::{ErrorEnvelope, StepStatus};

string_enum! {
    /// How a tool call ended, as its result states it.
    #[derive(PartialOrd, Ord)]
    pub enum ToolResultStatus {
        Success = "success",
        Error = "error",
        /// A part of what was asked for was done.
        Partial = "partial",
    }
}

impl ToolResultStatus {
    /// The status of a call that has ended; none for an open one.
    #[must_use]
    pub const fn of(status: StepStatus) -> Option<Self> {
        match status {
            StepStatus::Ok => Some(Self::Success),
            StepStatus::Partial => Some(Self::Partial),
            StepStatus::Failed | StepStatus::Denied | StepStatus::OutcomeUnknown => Some(Self::Error),
            StepStatus::Planned | StepStatus::WaitingForApproval | StepStatus::Intended => None,
        }
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentToolResult {
    pub success: bool,
    pub status: ToolResultStatus,
    /// The call id under which the result is in the transcript.
    pub tool_action_id: String,
    pub tool_name: String,
    pub operation_id: OperationId,
    pub changed_entity_ids: Vec<String>,
    /// The tokens by which listeners were notified.
    pub changed_tokens: Vec<String>,
    /// The result as the model read it; empty for an error.
    pub payload: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

impl AgentToolResult {
    /// The result of a call that has ended, from its record and from the output that the model read.
    #[must_use]
    pub fn of(call: &ToolInvocation, status: ToolResultStatus, output: &str) -> Self {
        let error = match status {
            ToolResultStatus::Error => ErrorEnvelope::of_receipt(output),
            ToolResultStatus::Success | ToolResultStatus::Partial => None,
        };
        let payload = match status {
            ToolResultStatus::Error => Map::new(),
            ToolResultStatus::Success | ToolResultStatus::Partial => {
                serde_json::from_str(output).unwrap_or_default()
            }
        };
        Self {
            success: status != ToolResultStatus::Error,
            status,
            tool_action_id: call.produced_tool_result.clone(),
            tool_name: call.invokes_tool.clone(),
            operation_id: call.operation_id,
            changed_entity_ids: strings(&payload, "changed_entity_ids"),
            changed_tokens: strings(&payload, "changed_tokens"),
            error_code: (status == ToolResultStatus::Error).then(|| {
                let kind = error.as_ref().map(|error| error.kind.clone());
                kind.unwrap_or_else(|| NO_CODE.to_owned())
            }),
            error_message: error.map(|error| error.message),
            payload,
        }
    }
}

/// The code of an error whose output names none.
const NO_CODE: &str = "error";

fn strings(payload: &Map<String, Value>, field: &str) -> Vec<String> {
    let listed = payload.get(field).and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(Value::as_str);
    listed.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::blob::BlobHash;
    use crate::id::{AgentId, PolicyVersion, ThreadId};
    use crate::key::Digest;
    use crate::policy::GateStage;
    use crate::step::ToolError;
    use crate::tool::{CallContext, CallEnd, CallRecord};

    fn call(tool: &str) -> ToolInvocation {
        let record = CallRecord {
            call_id: "call-1".to_owned(),
            input: Digest::of(b"arguments"),
            policy_version: PolicyVersion::new("rules-1"),
            end: Some(CallEnd {
                stage: GateStage::Record,
                category: None,
                output: BlobHash(Digest::of(b"output")),
            }),
        };
        let (agent_id, thread_id) = (AgentId::parse("a").expect("an id"), ThreadId::new("a/main"));
        let context = CallContext {
            operation_id: OperationId(Digest::of(b"operation")),
            tool,
            agent_id: &agent_id,
            thread_id: &thread_id,
        };
        ToolInvocation::of(context, &record).expect("it has ended")
    }

    // Conformance: L-116
    #[test]
    fn a_result_survives_the_wire_and_an_error_has_its_code() {
        let written = json!({"ok": true, "task_id": "t", "changed_entity_ids": ["t", "u"], "changed_tokens": ["task.change:t"]});
        let done = AgentToolResult::of(
            &call("journal_create_task"),
            ToolResultStatus::Success,
            &written.to_string(),
        );
        assert_eq!(
            (done.success, done.changed_entity_ids.as_slice()),
            (true, &["t".to_owned(), "u".to_owned()][..])
        );
        assert_eq!(done.changed_tokens, ["task.change:t"]);
        assert_eq!(
            (Value::from(done.payload.clone()), done.error_code.as_deref()),
            (written, None)
        );
        let receipt =
            ToolError::new("not_found", "there is no such task", "list tasks").receipt("journal_update_task");
        let failed = AgentToolResult::of(&call("journal_update_task"), ToolResultStatus::Error, &receipt);
        assert_eq!(
            (failed.success, failed.error_code.as_deref()),
            (false, Some("not_found"))
        );
        assert_eq!(failed.error_message.as_deref(), Some("there is no such task"));
        assert!(failed.payload.is_empty() && failed.changed_entity_ids.is_empty());
        let broken = AgentToolResult::of(&call("ExecCommand"), ToolResultStatus::Error, "no JSON");
        assert_eq!(broken.error_code.as_deref(), Some(NO_CODE));
        for result in [done, failed, broken] {
            let sent = serde_json::to_value(&result).expect("JSON");
            assert_eq!(
                serde_json::from_value::<AgentToolResult>(sent.clone()).ok(),
                Some(result)
            );
            for field in [
                "success",
                "status",
                "toolActionId",
                "toolName",
                "operationId",
                "changedEntityIds",
                "changedTokens",
                "payload",
            ] {
                let mut partial = sent.clone();
                partial
                    .as_object_mut()
                    .expect("an object")
                    .remove(field)
                    .expect(field);
                let error = serde_json::from_value::<AgentToolResult>(partial).expect_err(field);
                assert!(error.to_string().contains(field), "{error}");
            }
        }
    }

    // Conformance: L-036
    #[test]
    fn a_result_has_one_of_three_statuses() {
        assert_eq!(ToolResultStatus::WORDS, ["success", "error", "partial"]);
        let cut = AgentToolResult::of(
            &call("ListFiles"),
            ToolResultStatus::Partial,
            r#"{"truncated":true}"#,
        );
        assert!(cut.success && cut.error_code.is_none());
        let mut sent = serde_json::to_value(&cut).expect("JSON");
        sent["status"] = json!("skipped");
        let error = serde_json::from_value::<AgentToolResult>(sent).expect_err("refused");
        assert!(error.to_string().contains("skipped"), "{error}");
        let statuses = StepStatus::ALL.map(ToolResultStatus::of);
        let named = StepStatus::ALL.into_iter().zip(statuses);
        for (step, status) in named {
            let is_open = matches!(
                step,
                StepStatus::Planned | StepStatus::WaitingForApproval | StepStatus::Intended
            );
            assert_eq!(status.is_none(), is_open, "{step}");
        }
    }
}
