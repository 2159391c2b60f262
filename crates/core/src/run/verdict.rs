//! The record of a verdict: when a call is planned, and when the rules for a planned one became stricter.

use super::approval::needs_approval;
use super::refusal::Refusal;
use super::{ReplyCall, Restriction, Transition};
use crate::key::OperationId;
use crate::policy::{GateStage, PolicyEffect, RuleName, decision_steps};
use crate::report::EventDraft;
use crate::report::payload::PolicyDecided;
use crate::step::{Action, CallReads};

impl Transition {
    pub(super) fn show_verdict(
        &mut self,
        operation_id: OperationId,
        call: &ReplyCall,
        read: &CallReads,
        refusal: Option<&Refusal>,
    ) {
        self.show_guardrails(operation_id, &call.parts.tool, &read.guardrails);
        let (effect, rule) = match refusal {
            None if needs_approval(read) => (PolicyEffect::Ask, read.verdict.rule.clone()),
            Some(refused) if refused.stage == GateStage::Quota => {
                (PolicyEffect::Deny, refused.reason(&call.parts.tool))
            }
            None | Some(_) => (read.verdict.effect, read.verdict.rule.clone()),
        };
        let verdict = PolicyDecided {
            operation_id,
            tool: call.parts.tool.clone(),
            input: call.preview.clone(),
            effect,
            reason: reason(&rule, read.constraint.as_ref(), refusal),
            rule,
            targets: read.targets.clone(),
            steps: decision_steps(&read.verdict, effect, refusal.map(|refused| refused.stage)),
            status: refusal.map(|refused| refused.status),
            code: refusal.map(|refused| refused.fault.kind.clone()),
            stage: refusal.map(|refused| refused.stage),
            category: refusal.and_then(Refusal::category),
        };
        self.events.push(EventDraft {
            policy_version: Some(read.verdict.policy_version.clone()),
            ..EventDraft::new(verdict)
        });
    }

    pub(super) fn show_restriction(
        &mut self,
        action: &Action,
        restriction: &Restriction,
        refusal: Option<&Refusal>,
    ) {
        let Restriction {
            preview,
            verdict,
            targets,
            constraint,
            ..
        } = restriction;
        self.show_guardrails(action.operation_id, &action.tool, &restriction.guardrails);
        let decided = PolicyDecided {
            operation_id: action.operation_id,
            tool: action.tool.clone(),
            input: preview.clone(),
            effect: verdict.effect,
            rule: verdict.rule.clone(),
            reason: reason(&verdict.rule, constraint.as_ref(), refusal),
            targets: targets.clone(),
            steps: decision_steps(verdict, verdict.effect, refusal.map(|refused| refused.stage)),
            status: refusal.map(|refused| refused.status),
            code: refusal.map(|refused| refused.fault.kind.clone()),
            stage: refusal.map(|refused| refused.stage),
            category: refusal.and_then(Refusal::category),
        };
        self.events.push(EventDraft {
            policy_version: Some(verdict.policy_version.clone()),
            ..EventDraft::new(decided)
        });
    }
}

/// Why the call was decided so, for people: the constraint that excludes a target, the message of the gate that
/// stopped it, or what the rule says.
fn reason(rule: &str, constraint: Option<&String>, refusal: Option<&Refusal>) -> String {
    let of_gate = || refusal.filter(|refused| refused.stage != GateStage::Policy);
    let of_rule = || {
        let built_in = RuleName::parse(rule).map(RuleName::words);
        built_in.unwrap_or("a policy in a file").to_owned()
    };
    constraint
        .cloned()
        .or_else(|| of_gate().map(|refused| refused.fault.message.clone()))
        .unwrap_or_else(of_rule)
}
