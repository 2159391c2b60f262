//! Endpoints and types for decisions: questions that a person answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::decision::{
    Badge, BlastRadius, Channel, DecisionKind, DecisionOption, DecisionStatus, InputGone, Severity,
};
use wakeful_core::provenance::Evidence;

use crate::endpoint::endpoints;
use crate::text::{DateTime, Hex, whole};

endpoints! { "decisions":
    /// Lists decisions: the pending ones in order of urgency, or all of them, newest first.
    ListDecisions {
        /// Return only pending decisions. With `false`, closed decisions are included and the newest come
        /// first.
        #[serde(default = "yes")]
        pending: bool
    } = Get "/api/decisions" -> DecisionList { 200 "The decisions" }
    /// Retrieves a decision with its complete arguments and its notifications.
    GetDecision {
        /// The decision's id, or its first digits.
        decision_id: Hex<1, 64>
    } = Get "/api/decisions/{decision_id}" -> Decision { 200 "The decision", 409 "Several ids begin with these digits" }
    /// Answers a decision. A decision can be answered once.
    ///
    /// If `version` is given, the answer is accepted only for that version of the decision.
    AnswerDecision = Post "/api/decisions/{decision_id}/answer" -> Decision {
        200 "The answer is stored, and the run continues",
        403 "This channel may not answer the decision (`answer_not_allowed`), or the caller is a tool process of an agent (`caller_is_tool_process`)",
        404 "The decision does not exist, or it does not have this option (`option_unknown`)",
        409 "The decision is closed (`decision_closed`), has changed since it was read (`decision_changed`), or several ids begin \
            with these digits",
    }
}

const fn yes() -> bool {
    true
}

/// The answer to a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The id of the chosen option.
    pub option: String,
    /// The channel through which the answer arrived.
    pub channel: Channel,
    /// The note that the person added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When the answer was given.
    #[schemars(with = "DateTime")]
    pub at: String,
}

/// A notification about a decision, delivered or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionNotification {
    /// The notification target: `desktop`, `webhook` or `command`.
    pub target: String,
    /// The severity of the decision when the notification was created.
    pub severity: Severity,
    /// Whether the notification was delivered.
    pub is_delivered: bool,
    /// The number of delivery attempts.
    pub attempts: u32,
    /// The error of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When delivery was last attempted.
    #[schemars(with = "DateTime")]
    pub at: String,
}

/// A question that a person answers while a run waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The decision's id.
    pub decision_id: String,
    /// The kind of decision.
    pub kind: DecisionKind,
    /// The status of the decision.
    pub status: DecisionStatus,
    /// The version, which grows with every change. Send it with an answer to ensure that the decision has
    /// not changed since you read it.
    pub version: u32,
    /// The question in one line.
    pub title: String,
    /// The tool that the action uses.
    pub tool: String,
    /// The arguments of the action as JSON: complete for a single decision, at most 4 MiB; shortened to one
    /// line in lists. Invisible characters are escaped.
    pub input: String,
    /// Whether `input` is shortened. `GET /api/decisions/{decision_id}` returns the complete arguments.
    pub is_input_cut: bool,
    /// What the action would change in files when the question was asked, as a unified diff of at most 12,000
    /// characters. Invisible characters are escaped. Absent if it changes no files, and in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What the action acts on, with symlinks resolved: `write /etc/hosts (outside)`. An approval holds only for
    /// these targets; if they change before the action begins, it is judged and asked about again. Invisible
    /// characters are escaped. Empty for an action without paths and hosts, and once they are erased.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The untrusted text that names what the action acts on, with what stands around it. Invisible characters
    /// are escaped. Absent if no such text led to the question, and once it is erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Why the complete arguments are not available. Absent if they are, and in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_gone: Option<InputGone>,
    /// The options to choose from.
    pub options: Vec<DecisionOption>,
    /// The option that is safe to choose. Absent if no option is recommended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended_option_id: Option<String>,
    /// How urgent the decision is.
    pub severity: Severity,
    /// How far the consequences of the action reach.
    pub blast_radius: BlastRadius,
    /// The policy rule that requires the decision.
    pub rule: String,
    /// Reasons why the decision is highlighted in a list.
    pub badges: Vec<Badge>,
    /// The agent whose run asks.
    pub agent_id: String,
    /// The run that waits for the decision.
    pub run_key: String,
    /// The action that waits for the decision.
    pub operation_id: String,
    /// The earlier action that this action would repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<String>,
    /// When the decision was requested.
    #[schemars(with = "DateTime")]
    pub asked_at: String,
    /// When an unanswered decision rises in severity, or is cancelled if its severity cannot rise. Absent
    /// if it has no deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub deadline_at: Option<String>,
    /// The channels through which an answer is accepted.
    pub may_answer: Vec<Channel>,
    /// When the decision was closed, for any reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub closed_at: Option<String>,
    /// The answer, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// The notifications about this decision. Returned for a single decision, not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notifications: Vec<DecisionNotification>,
}

/// A list of decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionList {
    /// The decisions; at most 500.
    pub decisions: Vec<Decision>,
    /// The number of pending decisions.
    pub pending_count: u64,
}

/// The answer to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerDecision {
    /// The decision's id, or its first digits.
    pub decision_id: Hex<1, 64>,
    /// The id of one of the decision's options.
    #[schemars(length(min = 1, max = 200))]
    pub option: String,
    /// A note to add. The model reads it if the action is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub note: Option<String>,
    /// The version of the decision that you read. If absent, the current version is answered.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::AnswerDecision;

    #[test]
    fn a_version_may_be_written_with_a_decimal_point() {
        let version = |text: &str| {
            let body = format!(r#"{{"decision_id": "a", "option": "deny", "version": {text}}}"#);
            let read = serde_json::from_str::<AnswerDecision>(&body);
            read.ok().map(|answer| answer.version)
        };
        assert_eq!(version("3"), Some(Some(3)));
        assert_eq!(version("3.0"), Some(Some(3)));
        assert_eq!(version("null"), Some(None));
        for odd in ["3.5", "-1", "4294967296", "\"3\""] {
            assert_eq!(version(odd), None, "{odd}");
        }
    }
}
