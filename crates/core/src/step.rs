//! One action of a run: what it is called, how often it may be tried, how it ended, what the model reads of it.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::blob::{Blob, BlobHash};
use crate::conversation::Block;
use crate::failure::truncate_chars;
use crate::id::AgentId;
use crate::json::{NotCanonical, canonical};
use crate::key::{ActionBase, ActionParts, DecisionId, Digest, OperationId, RunKey, derived_hash};
use crate::policy;
use crate::retry::RetryPolicy;
use crate::time::Millis;

/// Longest tool name taken over from a model. Registered names are far shorter; an invented one is only shown.
pub const TOOL_NAME_CHARS_MAX: usize = 64;

/// Longest call id taken over from a provider, in bytes: a plan's ids are part of the machine's state.
pub const CALL_ID_BYTES_MAX: usize = 128;

string_enum! {
    /// What may happen to an action when nobody knows whether it took place. The promise we give is per class.
    pub enum EffectClass {
        /// A write of our own, inside the transition's transaction: exactly once.
        Internal = "internal",
        /// A pure read, or a sink that refuses a second use of the operation id: tried again.
        Idempotent = "idempotent",
        /// Anything else that leaves the process: at most once.
        Plain = "plain",
        /// A write to the journal under the operation id: tried again, and undone if its run can never go on.
        Saga = "saga",
    }
}

/// What recovery does with an intent that has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashRecovery {
    /// Do it again under the same operation id.
    Again,
    /// Say that the outcome is unknown, and never repeat it silently.
    Unknown,
}

impl EffectClass {
    /// What an intent without a result means for this class.
    #[must_use]
    pub const fn after_crash(self) -> CrashRecovery {
        match self {
            Self::Internal | Self::Idempotent | Self::Saga => CrashRecovery::Again,
            Self::Plain => CrashRecovery::Unknown,
        }
    }
}

string_enum! {
    /// Where a step stands.
    #[schemars(rename = "StepStatus")]
    pub enum StepStatus {
        /// In the plan; nobody has begun it.
        Planned = "planned",
        /// It may begin any moment, or has begun.
        Intended = "intended",
        /// It did what was asked.
        Ok = "ok",
        /// It did not, and we know that.
        Failed = "failed",
        /// It was not allowed to begin.
        Denied = "denied",
        /// It may or may not have happened.
        OutcomeUnknown = "outcome_unknown",
    }
}

/// The word by which a tool says that an action may or may not have happened.
pub const OUTCOME_UNKNOWN: &str = "outcome_unknown";

/// The word for an action that may not begin before a person has decided what became of its equal.
pub const UNDECIDED: &str = "outcome_unknown_undecided";

impl StepStatus {
    /// How an action ended, from the word its tool gave for what went wrong.
    #[must_use]
    pub fn of_code(code: Option<&str>) -> Self {
        match code {
            None => Self::Ok,
            Some(OUTCOME_UNKNOWN) => Self::OutcomeUnknown,
            Some(_) => Self::Failed,
        }
    }
}

/// What was found about one call before the machine decides on it. Loaded by the driver, kept in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReads {
    /// The class of the registered tool; [`EffectClass::Plain`] for a tool nobody registered.
    pub class: EffectClass,
    /// What is wrong with the arguments, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ToolError>,
    /// What the policy says.
    pub verdict: policy::PolicyVerdict,
    /// How often it may be tried again by itself; none for what may not be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// Equal actions earlier in this run.
    pub seen: PriorActions,
}

/// Equal actions of the same run, up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorActions {
    /// How many there were.
    pub count: u64,
    /// Whether one of them ended with its outcome unknown.
    pub unknown: bool,
    /// The newest of those whose outcome is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_unknown: Option<OperationId>,
}

/// Why a tool call could not be carried out, in words its caller can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolError {
    /// A stable word, such as `invalid_arguments`.
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// The field at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

impl ToolError {
    /// A fault without a field.
    #[must_use]
    pub fn new(kind: &str, message: &str, hint: &str) -> Self {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        Self {
            kind: kind.to_owned(),
            message: truncate_chars(message, 500),
            field: None,
            hint,
            retryable: false,
        }
    }

    /// What the model reads: the same shape for every refusal and every failure.
    #[must_use]
    pub fn receipt(&self, tool: &str) -> String {
        let mut receipt = json!({
            "ok": false,
            "tool_name": tool,
            "kind": self.kind,
            "message": self.message,
            "retryable": self.retryable,
        });
        if let Some(members) = receipt.as_object_mut() {
            let optional = [("hint", &self.hint), ("field", &self.field)];
            members.extend(
                optional
                    .into_iter()
                    .filter_map(|(k, v)| Some((k.to_owned(), json!(v.as_ref()?)))),
            );
        }
        receipt.to_string()
    }
}

/// One action of the plan at hand, small enough to be part of the machine's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Its name in the outside world.
    pub operation_id: OperationId,
    /// The provider's id of the call.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// What equal actions are known by.
    pub base: ActionBase,
    /// What may happen to it after a crash.
    pub class: EffectClass,
    /// How it stands.
    pub fate: ActionStatus,
    /// Its equal ended unknown while it was under way: once taken back, it does not begin again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub doubted: bool,
    /// The question that a person is asked about it, the last one if there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<PendingApproval>,
    /// How often it may be tried again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// How often it failed and was to be tried again.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub failures: u32,
}

/// A question about an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingApproval {
    /// Its name.
    pub decision_id: DecisionId,
    /// How often the action was asked about.
    pub asked: u32,
    /// Until when the permission stands, once it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_none_yet(failures: &u32) -> bool {
    *failures == 0
}

/// How an action of the plan stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionStatus {
    /// Permitted, not yet intended.
    Waiting,
    /// A person is asked whether it may begin.
    AwaitingApproval,
    /// Its intent is committed.
    Intended,
    /// It started a run, and ends with it.
    Started(ChildRun),
    /// It ended; this is what the model reads of it.
    Settled(BlobHash),
}

/// A run that an action started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildRun {
    /// Whose run it is.
    pub agent_id: AgentId,
    /// Its name.
    pub run_key: RunKey,
}

/// How one performed action ended. The contents are kept as a blob; the journal holds its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResult {
    /// Which action.
    pub operation_id: OperationId,
    /// How it ended.
    pub status: StepStatus,
    /// The transcript entry it makes.
    pub content: BlobHash,
    /// How long it took.
    pub duration_ms: u64,
    /// The level of isolation that was really enforced, where it applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The stable word of what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// That it may be tried again, where the tool says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<RetryAfter>,
}

/// That an action failed for the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryAfter {
    /// How long to wait first, where somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

/// The transcript entry of a tool's result, as a blob.
pub fn result_blob(call_id: &str, is_error: bool, content: String) -> Result<Blob, NotCanonical> {
    let block = Block::ToolResult {
        call_id: call_id.to_owned(),
        is_error,
        content,
    };
    canonical(&[block]).map(Blob::new)
}

/// What a run is told of an action that a crash cut off between intent and result.
#[must_use]
pub fn unknown_fault() -> ToolError {
    ToolError::new(
        OUTCOME_UNKNOWN,
        "the program was stopped after this action was allowed to begin and before its result was recorded; \
         it may or may not have happened",
        "look at the world before you go on; an identical call waits until a person decides",
    )
}

/// The operation id of a model request: requests of a run are counted, so no arguments are needed.
#[must_use]
pub fn model_operation(run: &RunKey, request: u32) -> OperationId {
    OperationId::new(run, &derived_hash("action.model", &[&request.to_string()]))
}

/// A tool's name as it is kept and shown: a model may invent one of any length and with control characters.
/// No registered name has either, so that none is ever made from an invented one.
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

/// Names an action by tool, arguments and scope. Targets stay empty until tools have declared ones.
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
    use super::*;

    #[test]
    fn a_plain_effect_is_never_tried_again_after_a_crash() {
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
    fn a_receipt_names_tool_kind_field_and_way_out() {
        let fault = ToolError {
            field: Some("cmd".into()),
            ..ToolError::new("invalid_arguments", "cmd is missing", "give cmd")
        };
        let receipt: serde_json::Value = serde_json::from_str(&fault.receipt("ExecCommand")).expect("json");
        let expected = json!({"ok": false, "tool_name": "ExecCommand", "kind": "invalid_arguments",
            "message": "cmd is missing", "hint": "give cmd", "field": "cmd", "retryable": false});
        assert_eq!(receipt, expected);
    }

    #[test]
    fn an_invented_tool_name_is_kept_short_and_printable_and_never_becomes_another_ones() {
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
    fn the_order_of_arguments_does_not_make_another_action() {
        let parts = |text: &str| {
            let value = serde_json::from_str(text).expect("json");
            action_parts("T", &value, &json!({})).expect("canonical").base()
        };
        assert_eq!(parts(r#"{"a":1,"b":2}"#), parts(r#"{"b":2,"a":1}"#));
        assert_ne!(parts(r#"{"a":1}"#), parts(r#"{"a":2}"#));
    }
}
