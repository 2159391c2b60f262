//! Tool invocations: the audit record of a call, with all its links, for performed and denied calls alike.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blob::BlobHash;
use crate::id::{AgentId, PolicyVersion, ThreadId};
use crate::key::{Digest, OperationId};
use crate::policy::{DenialCategory, GateStage, refusal_stage};
use crate::step::StepStatus;

string_enum! {
    /// Whether a call was permitted.
    #[derive(PartialOrd, Ord)]
    pub enum ComplianceStatus {
        Compliant = "compliant",
        /// It was denied, and nothing was performed.
        NonCompliant = "non_compliant",
    }
}

string_enum! {
    /// A step of the trail that a call leaves.
    #[derive(PartialOrd, Ord)]
    pub enum TrailStep {
        Policy = "policy",
        Quota = "quota",
        Audit = "audit",
        Handler = "handler",
        /// The result, with its compliance status.
        ToolResult = "tool_result",
        Counters = "counters",
        /// This record.
        ToolInvocation = "tool_invocation",
    }
}

/// What a step stores about its tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// The call id that the provider assigned; the result has the same.
    pub call_id: String,
    /// Hash of the arguments.
    pub input: Digest,
    /// The version of the policy that judged the call.
    pub policy_version: PolicyVersion,
    /// How the call ended; none while it is open.
    pub end: Option<CallEnd>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallEnd {
    /// The last stage that the call reached.
    pub stage: GateStage,
    /// Set if the call was denied.
    pub category: Option<DenialCategory>,
    /// Hash of the result for the model.
    pub output: BlobHash,
}

impl CallEnd {
    /// The end of a call that was performed, or that its tool denied.
    #[must_use]
    pub fn performed(status: StepStatus, code: Option<&str>, output: BlobHash) -> Self {
        let (stage, category) = match status {
            StepStatus::Denied => {
                let category = code.map_or(DenialCategory::OutOfScope, DenialCategory::of_code);
                let stage = code.and_then(refusal_stage).unwrap_or(GateStage::Scope);
                (stage, Some(category))
            }
            StepStatus::Failed | StepStatus::OutcomeUnknown => (GateStage::Execute, None),
            StepStatus::Ok
            | StepStatus::Partial
            | StepStatus::Planned
            | StepStatus::WaitingForApproval
            | StepStatus::Intended => (GateStage::Record, None),
        };
        Self {
            stage,
            category,
            output,
        }
    }
}

/// A tool call that has ended. None of its links can be absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvocation {
    pub operation_id: OperationId,
    /// The tool.
    pub invokes_tool: String,
    /// Hash of the arguments.
    pub has_input: Digest,
    /// Hash of the content that the model received.
    pub has_output: BlobHash,
    /// The conversation thread.
    pub in_session: ThreadId,
    /// The agent.
    pub invoked_by: AgentId,
    /// The call id under which the result is in the transcript.
    pub produced_tool_result: String,
    /// The version of the policy that judged the call.
    pub governed_by_policy: PolicyVersion,
    pub has_compliance_status: ComplianceStatus,
    /// The last stage that the call reached.
    pub stage: GateStage,
    /// Set if the call was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial_category: Option<DenialCategory>,
    /// The steps that the call left, in order.
    pub trail: Vec<TrailStep>,
}

/// The parts of a call's record that its run provides.
#[derive(Debug, Clone, Copy)]
pub struct CallContext<'a> {
    pub operation_id: OperationId,
    pub tool: &'a str,
    pub agent_id: &'a AgentId,
    pub thread_id: &'a ThreadId,
}

impl ToolInvocation {
    /// The record of a call that has ended; none for an open one, and for one whose run was abandoned while
    /// it was performed, because it has no result.
    #[must_use]
    pub fn of(context: CallContext<'_>, record: &CallRecord) -> Option<Self> {
        let CallEnd {
            stage,
            category,
            output,
        } = record.end?;
        Some(Self {
            operation_id: context.operation_id,
            invokes_tool: context.tool.to_owned(),
            has_input: record.input,
            has_output: output,
            in_session: context.thread_id.clone(),
            invoked_by: context.agent_id.clone(),
            produced_tool_result: record.call_id.clone(),
            governed_by_policy: record.policy_version.clone(),
            has_compliance_status: match category {
                Some(_) => ComplianceStatus::NonCompliant,
                None => ComplianceStatus::Compliant,
            },
            stage,
            denial_category: category,
            trail: trail(stage),
        })
    }
}

/// The steps that a call leaves whose last stage is this one. Every call is audited and has a record; only
/// one that its tool handled has a handler, a result of it and counters.
#[must_use]
pub fn trail(stage: GateStage) -> Vec<TrailStep> {
    let is_left = |step: &TrailStep| match step {
        TrailStep::Policy => stage >= GateStage::Policy,
        TrailStep::Quota => stage >= GateStage::Quota,
        TrailStep::Handler | TrailStep::ToolResult | TrailStep::Counters => stage >= GateStage::Execute,
        TrailStep::Audit | TrailStep::ToolInvocation => true,
    };
    TrailStep::ALL.into_iter().filter(is_left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invocation(end: CallEnd) -> ToolInvocation {
        let record = CallRecord {
            call_id: "call-1".to_owned(),
            input: Digest::of(b"arguments"),
            policy_version: PolicyVersion::new("rules-1"),
            end: Some(end),
        };
        let (agent_id, thread_id) = (AgentId::parse("a").expect("an id"), ThreadId::new("a/main"));
        let context = CallContext {
            operation_id: OperationId(Digest::of(b"operation")),
            tool: "ReadFile",
            agent_id: &agent_id,
            thread_id: &thread_id,
        };
        ToolInvocation::of(context, &record).expect("it has ended")
    }

    fn end(stage: GateStage, category: Option<DenialCategory>) -> CallEnd {
        CallEnd {
            stage,
            category,
            output: BlobHash(Digest::of(b"output")),
        }
    }

    // Conformance: A-197
    #[test]
    fn an_invocation_without_any_one_link_is_refused() {
        let denied = invocation(end(GateStage::Scope, Some(DenialCategory::OutOfScope)));
        assert_eq!(denied.has_compliance_status, ComplianceStatus::NonCompliant);
        let sent = serde_json::to_value(&denied).expect("JSON");
        assert_eq!(
            serde_json::from_value::<ToolInvocation>(sent.clone()).ok(),
            Some(denied)
        );
        for link in [
            "invokesTool",
            "hasInput",
            "hasOutput",
            "inSession",
            "invokedBy",
            "producedToolResult",
            "governedByPolicy",
            "hasComplianceStatus",
        ] {
            let mut partial = sent.clone();
            partial
                .as_object_mut()
                .expect("an object")
                .remove(link)
                .expect(link);
            let error = serde_json::from_value::<ToolInvocation>(partial).expect_err(link);
            assert!(error.to_string().contains(link), "{error}");
        }
    }

    #[test]
    fn a_call_leaves_seven_steps_and_fewer_when_it_stops() {
        let words = |stage| {
            trail(stage)
                .into_iter()
                .map(TrailStep::as_str)
                .collect::<Vec<_>>()
        };
        let all = [
            "policy",
            "quota",
            "audit",
            "handler",
            "tool_result",
            "counters",
            "tool_invocation",
        ];
        assert_eq!(words(GateStage::Record), all);
        assert_eq!(words(GateStage::Execute), all);
        assert_eq!(
            words(GateStage::Quota),
            ["policy", "quota", "audit", "tool_invocation"]
        );
        assert_eq!(words(GateStage::Policy), ["policy", "audit", "tool_invocation"]);
        assert_eq!(words(GateStage::Scope), ["audit", "tool_invocation"]);
    }

    #[test]
    fn a_denial_by_the_tool_itself_is_not_compliant() {
        let output = BlobHash(Digest::of(b"output"));
        for (code, stage, category) in [
            ("out_of_scope", GateStage::Scope, DenialCategory::OutOfScope),
            (
                "outside_workspace",
                GateStage::Sandbox,
                DenialCategory::OutOfScope,
            ),
            ("host_not_allowed", GateStage::Sandbox, DenialCategory::OutOfScope),
            ("read_only_run", GateStage::Sandbox, DenialCategory::OutOfScope),
            (
                "protected_path",
                GateStage::Sandbox,
                DenialCategory::ConfirmationRequired,
            ),
            ("denied_path", GateStage::Sandbox, DenialCategory::UnsafeTarget),
            (
                "write_quota_exceeded",
                GateStage::Quota,
                DenialCategory::BudgetExceeded,
            ),
        ] {
            assert_eq!(StepStatus::of_code(Some(code)), StepStatus::Denied, "{code}");
            let denied = CallEnd::performed(StepStatus::Denied, Some(code), output);
            assert_eq!((denied.stage, denied.category), (stage, Some(category)), "{code}");
            assert_eq!(
                invocation(denied).has_compliance_status,
                ComplianceStatus::NonCompliant
            );
        }
        let failed = invocation(CallEnd::performed(
            StepStatus::Failed,
            Some("spawn_failed"),
            output,
        ));
        assert_eq!(
            (failed.has_compliance_status, failed.stage),
            (ComplianceStatus::Compliant, GateStage::Execute)
        );
    }
}
