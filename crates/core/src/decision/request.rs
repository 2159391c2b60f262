//! The question that a run asks before an action: what would be done, to which targets, and how risky it is.

use serde::{Deserialize, Serialize};

use super::{
    APPROVE, APPROVE_HOSTS, BlastRadius, DENY, DecisionKind, DecisionOption, Severity, TITLE_CHARS_MAX,
};
use super::{Decision, DecisionPolicy, DecisionStatus, later};
use crate::failure::{CUT, truncate_chars};
use crate::id::AgentId;
use crate::key::{DecisionId, OperationId, RunKey};
use crate::policy::{FOREIGN_TARGET, HostScope, Target};
use crate::provenance::Evidence;
use crate::step::EffectClass;
use crate::time::Millis;
use crate::tool::CallRisk;

/// The part of a decision that the run machine computes, without times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Derived from the action and the number of times it was asked about.
    pub decision_id: DecisionId,
    /// The waiting action.
    pub operation_id: OperationId,
    pub kind: DecisionKind,
    /// The question in one line.
    pub title: String,
    /// The tool that the action uses.
    pub tool: String,
    /// The arguments, truncated to one line; empty once they are erased. The full arguments are in the
    /// model reply that requested the action.
    pub input: String,
    /// What the action would change in files when the question was asked, as a unified diff within a bound;
    /// none if it changes no files, or once it is erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What the action acts on, with symlinks resolved, at most `TARGETS_MAX` entries; empty once they are
    /// erased. An approval holds only for these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// The untrusted text that names a target of the action; none if no such text led to the question, or once it
    /// is erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The possible answers.
    pub options: Vec<DecisionOption>,
    /// The safe answer; `None` if neither is clearly safer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended_option_id: Option<String>,
    /// How urgent the answer is.
    pub severity: Severity,
    /// How far the consequences reach.
    pub blast_radius: BlastRadius,
    /// The policy rule that requires approval.
    pub rule: String,
    /// The earlier action that this one would repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<OperationId>,
}

/// An action that needs approval.
#[derive(Debug, Clone, Copy)]
pub struct ProposedAction<'a> {
    pub operation_id: OperationId,
    pub tool: &'a str,
    /// The arguments, possibly truncated.
    pub input: &'a str,
    /// The effect class, which determines the risk.
    pub class: EffectClass,
    /// The risk of the tool; none if it follows from the class.
    pub risk: Option<CallRisk>,
}

impl ApprovalRequest {
    /// Builds the first approval request for an action; `again` names the equal action whose outcome is
    /// unknown.
    #[must_use]
    pub fn new(action: ProposedAction<'_>, rule: &str, again: Option<OperationId>) -> Self {
        let ProposedAction {
            operation_id, tool, ..
        } = action;
        let kind = match again {
            Some(_) => DecisionKind::OutcomeUnknown,
            None => DecisionKind::ToolApproval,
        };
        let (severity, blast_radius) = match (kind, action.risk) {
            (DecisionKind::ToolApproval, Some(risk)) => (risk.severity, risk.blast_radius),
            (DecisionKind::ToolApproval | DecisionKind::OutcomeUnknown, _) => risk(action.class, kind),
        };
        let title = match kind {
            DecisionKind::ToolApproval => format!("May {tool} be used?"),
            DecisionKind::OutcomeUnknown => {
                format!("May {tool} be used again, although it may already have taken effect?")
            }
        };
        Self {
            decision_id: DecisionId::new(&operation_id, 0),
            operation_id,
            kind,
            title: truncate_chars(&title, TITLE_CHARS_MAX),
            tool: tool.to_owned(),
            input: action.input.to_owned(),
            diff: None,
            targets: Vec::new(),
            evidence: None,
            options: options(kind),
            recommended_option_id: again.map(|_| DENY.to_owned()),
            severity,
            blast_radius,
            rule: rule.to_owned(),
            retries: again,
        }
    }

    /// Sets what the action acts on. If untrusted data may have named hosts that the operator listed for the agent,
    /// one answer can open those hosts to the whole run.
    #[must_use]
    pub fn with_targets(mut self, class: EffectClass, targets: Vec<Target>) -> Self {
        let is_listed = |target: &Target| {
            matches!(
                target,
                Target::Host {
                    scope: HostScope::Allowed,
                    ..
                } | Target::Path { .. }
            )
        };
        let has_host = targets.iter().any(|target| matches!(target, Target::Host { .. }));
        let is_command = class == EffectClass::Plain;
        if self.rule == FOREIGN_TARGET && is_command && has_host && targets.iter().all(is_listed) {
            self.options.insert(1, hosts_option());
        }
        self.targets = targets;
        self
    }

    /// Creates the decision of a run that asks this at the given time.
    #[must_use]
    pub fn asked_by(
        self,
        agent_id: AgentId,
        run_key: RunKey,
        at: Millis,
        terms: impl Into<DecisionPolicy>,
    ) -> Decision {
        let DecisionPolicy {
            deadline_after_ms: patience_ms,
            may_answer,
        } = terms.into();
        Decision {
            inquiry: self,
            agent_id,
            run_key,
            status: DecisionStatus::Pending,
            version: 1,
            badges: Vec::new(),
            asked_at: at,
            patience_ms,
            deadline_at: patience_ms.map(|patience| later(at, patience)),
            may_answer,
            closed_at: None,
            answer: None,
        }
    }

    /// Whether [`Self::input`] is truncated. Complete JSON never ends with the truncation mark.
    #[must_use]
    pub fn is_input_cut(&self) -> bool {
        self.input.ends_with(CUT)
    }
}

fn options(kind: DecisionKind) -> Vec<DecisionOption> {
    match kind {
        DecisionKind::ToolApproval => vec![
            option(
                APPROVE,
                "Approve",
                "The action is performed once, with exactly these arguments.",
            ),
            option(
                DENY,
                "Deny",
                "The action is not performed; the run is informed and continues.",
            ),
        ],
        DecisionKind::OutcomeUnknown => vec![
            option(
                APPROVE,
                "Do it again",
                "The action is performed again. If it already took effect, it takes effect twice.",
            ),
            option(
                DENY,
                "Do not repeat it",
                "The action is not repeated; the run is informed and continues.",
            ),
        ],
    }
}

fn hosts_option() -> DecisionOption {
    let description = "The action is performed, and until the run ends its commands reach the hosts on the agent's list \
        without a question, also if untrusted text asks for it.";
    option(
        APPROVE_HOSTS,
        "Approve, and open the hosts for this run",
        description,
    )
}

fn option(id: &str, label: &str, description: &str) -> DecisionOption {
    DecisionOption {
        id: id.to_owned(),
        label: label.to_owned(),
        description: description.to_owned(),
        tradeoffs: None,
    }
}

/// The risk of an action; unclassified actions get the highest.
const fn risk(class: EffectClass, kind: DecisionKind) -> (Severity, BlastRadius) {
    match (class, kind) {
        (EffectClass::Internal, DecisionKind::ToolApproval) => (Severity::Low, BlastRadius::Small),
        (EffectClass::Idempotent | EffectClass::Saga, DecisionKind::ToolApproval) => {
            (Severity::Medium, BlastRadius::Small)
        }
        (EffectClass::Plain, DecisionKind::ToolApproval) | (_, DecisionKind::OutcomeUnknown) => {
            (Severity::High, BlastRadius::Unknown)
        }
    }
}
