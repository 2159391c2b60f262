//! Endpoints and types for permission policies: which are in force, and why a call is permitted or not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wakeful_core::hook::HookEvent;
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::policy::{DenialCategory, GateStage, PermissionMode, PolicyEffect};
use wakeful_core::sandbox_policy::SandboxPolicy;
use wakeful_core::step::StepStatus;

use crate::endpoint::endpoints;
use crate::text::Text;

endpoints! { "policies":
    /// Shows the policies in force for an agent: those that people wrote and those that follow from settings.
    GetAgentPolicy { agent_id: Text<AgentId> } = Get "/api/agents/{agent_id}/policy" -> AgentPolicy {
        200 "The policies, in the order in which one of them gives its name to a verdict",
    }
    /// Explains the verdict on a call that an agent could make. Nothing is executed.
    ExplainCall = Post "/api/agents/{agent_id}/policy/explain" -> PolicyExplanation {
        200 "The verdict, what decided it, and which single change makes it less strict",
        409 "The workspace of the agent cannot be used",
    }
    /// Explains the verdict that a recorded call of a run would have now, beside the recorded one.
    ExplainStep { run_key: Text<RunKey>, operation_id: Text<OperationId> }
        = Get "/api/runs/{run_key}/steps/{operation_id}/policy" -> PolicyExplanation {
        200 "The verdict now, what decides it, and the recorded verdict",
        404 "The run or the step does not exist (`run_unknown`, `step_unknown`)",
        409 "The step is not a call, or its arguments are not stored in full",
    }
}

/// The call to explain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainCall {
    /// The agent's name.
    pub agent_id: Text<AgentId>,
    /// The tool.
    #[schemars(length(min = 1, max = 64))]
    pub tool: String,
    /// The tool's arguments.
    #[serde(default)]
    pub input: Value,
    /// Whether the call is made in a read-only run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_read_only: bool,
}

/// The policies in force for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPolicy {
    /// The agent.
    pub agent_id: String,
    /// How much the agent may do without a person.
    pub mode: PermissionMode,
    /// The version of everything that a verdict depends on.
    pub policy_version: String,
    /// The policies.
    pub policies: Vec<PolicyRecord>,
    /// The files that are refused. The last valid version of a policy file stays in force; a hook file blocks
    /// every call until it is valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<PolicyFileProblem>,
    /// The folder of the policies for all agents, and that of the agent.
    pub folders: Vec<String>,
    /// What the agent's sandbox allows, and the limits of its tools.
    pub sandbox: SandboxPolicy,
    /// The hooks of the operator that run for the agent, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRecord>,
}

/// One policy in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyRecord {
    /// Its name in verdicts.
    pub rule: String,
    /// The file, or `settings`.
    pub source: String,
    /// The line on which it begins. Absent for a policy that follows from settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What it does when it matches: `permit`, `ask` or `forbid`.
    pub kind: String,
    /// Its Cedar text.
    pub text: String,
}

/// A hook in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookRecord {
    /// When it runs.
    pub event: HookEvent,
    /// The tools for which it runs; empty for all.
    pub matcher: String,
    /// `command` or `http`.
    pub kind: String,
    /// The command or the address.
    pub hook: String,
    /// The time that it may take, in milliseconds.
    pub timeout_ms: u64,
    /// The file that defines it.
    pub source: String,
}

/// Why a policy file or a hook file is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFileProblem {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The reason.
    pub message: String,
}

/// The verdict on a call, with what led to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyExplanation {
    /// The agent.
    pub agent_id: String,
    /// The tool.
    pub tool: String,
    /// The verdict.
    pub effect: PolicyEffect,
    /// The rule that decided.
    pub rule: String,
    /// What the rule says; the rule's own text of `@ask` for a policy that a person wrote.
    pub reason: String,
    /// The stage at which the call stops, if it is denied or its arguments are invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<GateStage>,
    /// The category, if the call is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<DenialCategory>,
    /// The permission mode of the agent.
    pub mode: PermissionMode,
    /// The version of everything that the verdict depends on.
    pub policy_version: String,
    /// The command of the call, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<ExplainedCommand>,
    /// What was decided about each target, or about the call if it has none.
    pub targets: Vec<ExplainedTarget>,
    /// The single changes that make the verdict less strict.
    pub alternatives: Vec<PolicyAlternative>,
    /// For a recorded call that the rule `foreign_target` stopped: what it acts on, and what would have to differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_targets: Option<ForeignTargetExplanation>,
    /// For a recorded call: how today's verdict differs from the recorded one. Absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The recorded verdict, for a recorded call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedVerdict>,
}

/// Why the rule `foreign_target` stopped a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignTargetExplanation {
    /// What only untrusted data can have named.
    pub targets: Vec<String>,
    /// The untrusted data that the run had read.
    pub sources: Vec<String>,
    /// What would have to differ. Each of these is enough.
    pub changes: Vec<String>,
}

/// A command as policies see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedCommand {
    /// The command.
    pub text: String,
    /// Its program; empty if the command is not simple.
    pub program: String,
    /// Whether it is one program with plain words.
    pub is_simple: bool,
}

/// What was decided about one target of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedTarget {
    /// The target with its facts; `call` for a call without targets.
    pub target: String,
    /// The verdict on it.
    pub effect: PolicyEffect,
    /// The rule that decided.
    pub rule: String,
    /// The policies that determine the verdict.
    pub policies: Vec<String>,
    /// Errors of evaluation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

/// A single change after which the verdict is less strict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyAlternative {
    /// What would have to differ.
    pub change: String,
    /// The verdict then.
    pub effect: PolicyEffect,
}

/// The verdict that was recorded with a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedVerdict {
    /// The status of the step.
    pub status: StepStatus,
    /// The rule that permitted or denied it, or the error.
    pub rule: String,
    /// The recorded verdict; absent if its event was erased or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<PolicyEffect>,
    /// Why, as it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the call acted on when it was judged. The explanation judges the same targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The policy version under which it was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<String>,
}
