//! Steps: the name of an action, its retries, its result, and the text that the model reads.

mod tool_error;

use serde::{Deserialize, Serialize};

pub use self::tool_error::{DETAILS_BYTES_MAX, ErrorEnvelope, ToolError};
use crate::blob::{Blob, BlobHash};
use crate::conversation::{Attachment, Block};
use crate::failure::truncate_chars;
use crate::guardrail::GuardrailTrip;
use crate::id::AgentId;
use crate::json::{NotCanonical, canonical};
use crate::key::{ActionBase, ActionParts, DecisionId, Digest, OperationId, RunKey, derived_hash};
use crate::policy;
use crate::provenance::{Evidence, Sources};
use crate::retry::RetryPolicy;
use crate::time::Millis;
use crate::tool::{CallRisk, ChangedEntity, Connection, GateStop};

/// Longest tool name accepted from a model. Registered names are far shorter; an invented name is only
/// displayed.
pub const TOOL_NAME_CHARS_MAX: usize = 64;

/// Longest call id accepted from a provider, in bytes. The ids of a plan are part of the machine's state.
pub const CALL_ID_BYTES_MAX: usize = 128;

string_enum! {
    /// The guarantee for an action whose result is missing after a crash.
    pub enum EffectClass {
        /// A write to the agent database within the transaction of the transition: exactly once.
        Internal = "internal",
        /// A pure read, or a target that rejects a repeated operation id: retried.
        Idempotent = "idempotent",
        /// Any other external effect: at most once.
        Plain = "plain",
        /// A write to the journal under the operation id: retried, and undone if its run can never
        /// continue.
        Saga = "saga",
    }
}

/// What recovery does with an intent that has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashRecovery {
    /// Repeat it under the same operation id.
    Again,
    /// Report the outcome as unknown and never repeat it silently.
    Unknown,
}

impl EffectClass {
    /// Returns what recovery does with an intent without a result.
    #[must_use]
    pub const fn after_crash(self) -> CrashRecovery {
        match self {
            Self::Internal | Self::Idempotent | Self::Saga => CrashRecovery::Again,
            Self::Plain => CrashRecovery::Unknown,
        }
    }
}

string_enum! {
    /// How far a step has come, or how it ended.
    #[schemars(rename = "StepStatus")]
    pub enum StepStatus {
        /// It is planned and has not started.
        Planned = "planned",
        /// It starts only if a person approves it.
        WaitingForApproval = "waiting_for_approval",
        /// Its intent is committed: it has started or may start at any time.
        Intended = "intended",
        /// It succeeded. A command that ran may still have ended with a non-zero exit status.
        Ok = "ok",
        /// It did a part of what was requested, and its result says which part is missing.
        Partial = "partial",
        /// It failed with a known result.
        Failed = "failed",
        /// It was not permitted to start.
        Denied = "denied",
        /// It may or may not have happened.
        OutcomeUnknown = "outcome_unknown",
    }
}

/// The code with which a tool reports that an action may or may not have happened.
pub const OUTCOME_UNKNOWN: &str = "outcome_unknown";

/// The code with which a tool reports that it did only a part of what was requested.
pub const PARTIAL: &str = "partial";

/// The code of an action that may not begin until a person has decided about the unknown outcome of an
/// identical one.
pub const UNDECIDED: &str = "outcome_unknown_undecided";

impl StepStatus {
    /// Returns whether it has neither ended nor been refused.
    #[must_use]
    pub const fn is_open(self) -> bool {
        match self {
            Self::Planned | Self::WaitingForApproval | Self::Intended => true,
            Self::Ok | Self::Partial | Self::Failed | Self::Denied | Self::OutcomeUnknown => false,
        }
    }

    /// Returns whether its result is an error for the model. A partial result is not.
    #[must_use]
    pub const fn is_error(self) -> bool {
        match self {
            Self::Ok | Self::Partial => false,
            Self::Planned
            | Self::WaitingForApproval
            | Self::Intended
            | Self::Failed
            | Self::Denied
            | Self::OutcomeUnknown => true,
        }
    }

    /// Returns the status for the error code of a tool.
    #[must_use]
    pub fn of_code(code: Option<&str>) -> Self {
        match code {
            None => Self::Ok,
            Some(PARTIAL) => Self::Partial,
            Some(OUTCOME_UNKNOWN) => Self::OutcomeUnknown,
            Some(code) if policy::refusal_stage(code).is_some() => Self::Denied,
            Some(_) => Self::Failed,
        }
    }
}

/// The read set of one call. The driver loads it, and the run log stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReads {
    /// The class of the registered tool; [`EffectClass::Plain`] for an unregistered one.
    pub class: EffectClass,
    /// The error in the arguments, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ToolError>,
    /// The gate before the policy that denies the call, if any. Then the verdict is a denial too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<GateStop>,
    pub verdict: policy::PolicyVerdict,
    /// The risk of the tool; none if it follows from the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<CallRisk>,
    /// The automatic retries; none for an action that may not be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// Identical actions earlier in this run.
    pub seen: PriorActions,
    /// What the call would change in files, as a unified diff, if a person decides about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What the call acts on, as the verdict judged it; at most [`policy::TARGETS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<policy::Target>,
    /// The constraint that excludes a target: the path or host, and the entry of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
    /// The guardrails that the call tripped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guardrails: Vec<GuardrailTrip>,
    /// The untrusted text that names a target, if a person decides about the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The host of a page that the call reads because untrusted text links to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked_site: Option<String>,
}

/// Identical actions of the same run so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorActions {
    pub count: u64,
    /// Whether the outcome of one of them is unknown.
    pub unknown: bool,
    /// The newest one with an unknown outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_unknown: Option<OperationId>,
}

/// One action of the current plan, small enough to be part of the machine's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// The id that external systems receive.
    pub operation_id: OperationId,
    /// The call id that the provider assigned.
    pub call_id: String,
    pub tool: String,
    /// The key that identical actions share.
    pub base: ActionBase,
    /// Determines what recovery does after a crash.
    pub class: EffectClass,
    pub fate: ActionStatus,
    /// The outcome of an identical action became unknown while this one was in progress: once postponed, it
    /// does not begin again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub doubted: bool,
    /// The newest approval request for the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<PendingApproval>,
    /// The automatic retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// The number of failures that were retried.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub failures: u32,
    /// The untrusted sources of its result, once it ended.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}

/// An approval request for an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingApproval {
    pub decision_id: DecisionId,
    /// How many approvals were requested for the action.
    pub asked: u32,
    /// When the approval expires, once it is granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
    /// Hash of the targets that the request shows; none if the action had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Digest>,
}

impl PendingApproval {
    /// Returns whether a person approved the action with exactly these targets.
    #[must_use]
    pub fn covers(&self, targets: &[policy::Target]) -> bool {
        self.until.is_some() && self.targets == policy::targets_digest(targets)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_none_yet(failures: &u32) -> bool {
    *failures == 0
}

/// The status of an action of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionStatus {
    /// Permitted, not yet intended.
    Waiting,
    /// Waiting for a person's approval.
    AwaitingApproval,
    /// Its intent is committed.
    Intended,
    /// It started a run and ends with it.
    Started(ChildRun),
    /// It ended with this result for the model.
    Settled(BlobHash),
}

/// A run that an action started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildRun {
    pub agent_id: AgentId,
    pub run_key: RunKey,
}

/// The result of one performed action. The contents are a blob; the run log holds its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResult {
    pub operation_id: OperationId,
    pub status: StepStatus,
    /// The transcript entry of the result.
    pub content: BlobHash,
    pub duration_ms: u64,
    /// The isolation that was actually enforced, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The exit status of a command; none for other actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// The error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The error, if the tool reported one with its kind and message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorEnvelope>,
    /// The connections of a command that the rules for hosts refused, at most
    /// [`crate::tool::REFUSED_CONNECTIONS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Connection>,
    /// What the action changed, at most [`crate::tool::CHANGED_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedEntity>,
    /// What the action wrote to files; none while no limit is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Set if the tool allows a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<RetryAfter>,
    /// The untrusted sources of the content.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}

/// A transient failure that may be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryAfter {
    /// The requested wait before the retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

/// Creates the transcript entry of a tool result as a blob.
pub fn result_blob(call_id: &str, is_error: bool, content: String) -> Result<Blob, NotCanonical> {
    result_blob_with(call_id, is_error, content, Vec::new())
}

/// Creates the transcript entry of a tool result with images as a blob. The images follow the result in the
/// same entry, so the retention, erasure and export of the entry include them.
pub fn result_blob_with(
    call_id: &str,
    is_error: bool,
    content: String,
    images: Vec<Attachment>,
) -> Result<Blob, NotCanonical> {
    let result = Block::ToolResult {
        call_id: call_id.to_owned(),
        is_error,
        content,
    };
    let images = images.into_iter().map(Block::Attachment);
    let blocks: Vec<Block> = std::iter::once(result).chain(images).collect();
    canonical(&blocks).map(Blob::new)
}

/// The error of an action that a crash interrupted between intent and result.
#[must_use]
pub fn unknown_fault() -> ToolError {
    ToolError::new(
        OUTCOME_UNKNOWN,
        "the program was stopped after this action was allowed to begin and before its result was recorded; \
         it may or may not have happened",
        "check whether it happened before you continue; an identical call waits until a person decides",
    )
}

/// Returns the operation id of a model request. Requests of a run are numbered, so the id needs no
/// arguments.
#[must_use]
pub fn model_operation(run: &RunKey, request: u32) -> OperationId {
    OperationId::new(run, &derived_hash("action.model", &[&request.to_string()]))
}

/// Returns a tool name as it is stored and displayed, shortened and without control characters, because a
/// model may invent any name. No registered name needs this, so an invented name never becomes a registered
/// one.
fn shown_name(tool: &str) -> String {
    let printable: String = tool
        .chars()
        .map(|c| {
            if c.is_control() {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect();
    truncate_chars(&printable, TOOL_NAME_CHARS_MAX)
}

/// Names an action by tool, arguments and scope. Targets stay empty until tools declare them.
pub fn action_parts(
    tool: &str,
    arguments: &serde_json::Value,
    scope: &serde_json::Value,
) -> Result<ActionParts, NotCanonical> {
    let targets: [&str; 0] = [];
    let hash = |value: &serde_json::Value| canonical(value).map(|bytes| Digest::of(&bytes));
    Ok(ActionParts {
        tool: shown_name(tool),
        arguments: hash(arguments)?,
        scope: hash(scope)?,
        targets: canonical(&targets).map(|bytes| Digest::of(&bytes))?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plain_effect_is_never_retried_after_a_crash() {
        assert_eq!(EffectClass::Plain.after_crash(), CrashRecovery::Unknown);
        assert_eq!(EffectClass::Idempotent.after_crash(), CrashRecovery::Again);
        assert_eq!(EffectClass::Internal.after_crash(), CrashRecovery::Again);
        assert_eq!(EffectClass::Saga.after_crash(), CrashRecovery::Again);
    }

    #[test]
    fn every_status_is_read_back_as_it_was_written() {
        for status in StepStatus::ALL {
            assert_eq!(StepStatus::parse(status.as_str()), Some(status));
        }
        assert_eq!(StepStatus::parse("done"), None);
    }

    #[test]
    fn an_invented_tool_name_is_shortened_and_never_equals_another() {
        let name = |tool: &str| {
            action_parts(tool, &json!({}), &json!({}))
                .expect("canonical")
                .tool
        };
        assert_eq!(name("ExecCommand"), "ExecCommand");
        assert_eq!(name("\u{1b}[31mExecCommand\n"), "\u{fffd}[31mExecCommand\u{fffd}");
        let long = "ExecCommand".repeat(9);
        assert_eq!(name(&long).chars().count(), TOOL_NAME_CHARS_MAX);
        assert!(!long.starts_with(&name(&long)), "the cut must show");
    }

    #[test]
    fn the_order_of_arguments_does_not_change_the_action() {
        let parts = |text: &str| {
            let value = serde_json::from_str(text).expect("json");
            action_parts("T", &value, &json!({})).expect("canonical").base()
        };
        assert_eq!(parts(r#"{"a":1,"b":2}"#), parts(r#"{"b":2,"a":1}"#));
        assert_ne!(parts(r#"{"a":1}"#), parts(r#"{"a":2}"#));
    }
}
