//! What events say about questions to people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decision::{
    ApprovalRequest, BlastRadius, Channel, Decision, DecisionKind, DecisionStatus, Severity,
};
use crate::key::{DecisionId, OperationId};

/// A person is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionAsked {
    /// Which question.
    pub decision_id: DecisionId,
    /// The action that waits.
    pub operation_id: OperationId,
    /// What is asked.
    pub kind: DecisionKind,
    /// In one line.
    pub title: String,
    /// The tool that would be used.
    pub tool: String,
    /// How its arguments begin.
    pub input: String,
    /// What may be answered.
    pub options: Vec<String>,
    /// How much depends on it.
    pub severity: Severity,
    /// How far it reaches.
    pub blast_radius: BlastRadius,
    /// The rule that made it a question.
    pub rule: String,
    /// The action that this one would do again.
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

/// A question was answered, or its time ran out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionAnswered {
    /// Which question.
    pub decision_id: DecisionId,
    /// The action that waits.
    pub operation_id: OperationId,
    /// The tool that would be used.
    pub tool: String,
    /// How the question stands.
    pub status: DecisionStatus,
    /// Grows with every change of the question.
    pub version: u32,
    /// The question in one line, where nobody answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How much depends on it, where nobody answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The answer, where there is one.
    #[serde(flatten)]
    pub answer: Option<AnswerGiven>,
}

impl DecisionAnswered {
    /// A question that is closed, without an answer.
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

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerGiven {
    /// Which option.
    pub option: String,
    /// By which way it came.
    pub channel: Channel,
    /// What the person said beside it.
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

/// A question was left too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionEscalated {
    /// Which question.
    pub decision_id: DecisionId,
    /// The action that waits.
    pub operation_id: OperationId,
    /// The tool that would be used.
    pub tool: String,
    /// The question in one line.
    pub title: String,
    /// How the question stands.
    pub status: DecisionStatus,
    /// How much depends on it now.
    pub severity: Severity,
    /// Grows with every change of the question.
    pub version: u32,
}
