//! Event payloads about decisions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decision::{
    ApprovalRequest, BlastRadius, Channel, Decision, DecisionKind, DecisionStatus, Severity,
};
use crate::key::{DecisionId, OperationId};

/// A decision was requested from a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionAsked {
    /// Id of the decision.
    pub decision_id: DecisionId,
    /// The waiting action.
    pub operation_id: OperationId,
    /// Kind of decision.
    pub kind: DecisionKind,
    /// The question in one line.
    pub title: String,
    /// The tool that the action uses.
    pub tool: String,
    /// Beginning of the tool's arguments.
    pub input: String,
    /// Ids of the possible answers.
    pub options: Vec<String>,
    /// How urgent the answer is.
    pub severity: Severity,
    /// How far the consequences reach.
    pub blast_radius: BlastRadius,
    /// The policy rule that requires approval.
    pub rule: String,
    /// The earlier action that this one would repeat.
    #[serde(default)]
    pub retries: Option<OperationId>,
}

impl From<&ApprovalRequest> for DecisionAsked {
    fn from(inquiry: &ApprovalRequest) -> Self {
        Self {
            decision_id: inquiry.decision_id,
            operation_id: inquiry.operation_id,
            kind: inquiry.kind,
            title: inquiry.title.clone(),
            tool: inquiry.tool.clone(),
            input: inquiry.input.clone(),
            options: inquiry.options.iter().map(|option| option.id.clone()).collect(),
            severity: inquiry.severity,
            blast_radius: inquiry.blast_radius,
            rule: inquiry.rule.clone(),
            retries: inquiry.retries,
        }
    }
}

/// A decision was answered, or cancelled after its deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionAnswered {
    /// Id of the decision.
    pub decision_id: DecisionId,
    /// The waiting action.
    pub operation_id: OperationId,
    /// The tool that the action uses.
    pub tool: String,
    /// Status of the decision.
    pub status: DecisionStatus,
    /// Version of the decision; increases with every change.
    pub version: u32,
    /// The question in one line, if it was not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Severity, if it was not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The answer, if there is one.
    #[serde(flatten)]
    pub answer: Option<AnswerGiven>,
}

impl DecisionAnswered {
    /// The event of a decision that was closed without an answer.
    #[must_use]
    pub fn new(decision: &Decision) -> Self {
        Self {
            decision_id: decision.inquiry.decision_id,
            operation_id: decision.inquiry.operation_id,
            tool: decision.inquiry.tool.clone(),
            status: decision.status,
            version: decision.version,
            title: None,
            severity: None,
            answer: None,
        }
    }
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerGiven {
    /// Id of the chosen option.
    pub option: String,
    /// Channel through which it arrived.
    pub channel: Channel,
    /// The note that the person added.
    #[serde(default)]
    pub note: Option<String>,
}

impl From<&Decision> for DecisionEscalated {
    fn from(decision: &Decision) -> Self {
        Self {
            decision_id: decision.inquiry.decision_id,
            operation_id: decision.inquiry.operation_id,
            tool: decision.inquiry.tool.clone(),
            title: decision.inquiry.title.clone(),
            status: decision.status,
            severity: decision.inquiry.severity,
            version: decision.version,
        }
    }
}

/// A decision passed its deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionEscalated {
    /// Id of the decision.
    pub decision_id: DecisionId,
    /// The waiting action.
    pub operation_id: OperationId,
    /// The tool that the action uses.
    pub tool: String,
    /// The question in one line.
    pub title: String,
    /// Status of the decision.
    pub status: DecisionStatus,
    /// The new severity.
    pub severity: Severity,
    /// Version of the decision; increases with every change.
    pub version: u32,
}
