//! Approvals within a run: requesting one for an action and continuing with the answer.

use super::plan::Plan;
use super::refusal::{Refusal, not_permitted};
use super::{
    DecisionWrite, InputReads, ReplyCall, Restriction, RunMachine, RunPhase, StepWrite, Transition,
    UnexpectedInput,
};
use crate::decision::{ApprovalOutcome, ApprovalRequest, ProposedAction};
use crate::key::{DecisionId, OperationId};
use crate::policy::{GateStage, PolicyEffect, targets_digest};
use crate::report::EventDraft;
use crate::report::payload::DecisionAsked;
use crate::step::{Action, ActionStatus, CallReads, OUTCOME_UNKNOWN, PendingApproval, ToolError, UNDECIDED};
use crate::time::Millis;

/// Error code of an action that a person denied.
pub const DENIED_BY_PERSON: &str = "denied_by_person";

/// Error code of an action whose approval request timed out.
pub const DECISION_TIMED_OUT: &str = "decision_timed_out";

impl RunMachine {
    /// Returns the decision that this run waits for.
    #[must_use]
    pub fn waits_on(&self) -> Option<DecisionId> {
        let next = self.next_open()?;
        (next.fate == ActionStatus::AwaitingApproval).then_some(next.question.as_ref()?.decision_id)
    }

    /// Returns the decision whose approval expired before the action began.
    #[must_use]
    pub fn expired_approval(&self, now: Millis) -> Option<DecisionId> {
        let next = self.next_open()?;
        let lapsed = next.fate == ActionStatus::Waiting && has_approval_expired(next, Some(now));
        lapsed.then_some(next.question.as_ref()?.decision_id)
    }

    /// Returns whether an open action has an approval that may expire before it is used.
    #[must_use]
    pub fn has_permissions(&self) -> bool {
        let RunPhase::Acting { actions, .. } = &self.phase else {
            return false;
        };
        let is_permitted = |action: &Action| action.question.as_ref().is_some_and(|one| one.until.is_some());
        actions
            .iter()
            .any(|action| super::is_open(action) && is_permitted(action))
    }

    /// Returns the first action that has not ended, if no intent is open.
    fn next_open(&self) -> Option<&Action> {
        let RunPhase::Acting { actions, .. } = &self.phase else {
            return None;
        };
        let next = actions.iter().find(|action| super::is_open(action))?;
        let idle = actions.iter().all(|action| action.fate != ActionStatus::Intended);
        idle.then_some(next)
    }

    /// Applies a closed decision: the action may begin, or it is cancelled.
    pub(super) fn decided(
        self,
        mut plan: Plan,
        decision_id: DecisionId,
        ruling: ApprovalOutcome,
        reads: &InputReads,
    ) -> Result<Transition, UnexpectedInput> {
        let mut moved = self.unmoved();
        let Some(action) = asked_about(&mut plan.actions, decision_id)
            .filter(|action| action.fate == ActionStatus::AwaitingApproval)
        else {
            return Err(UnexpectedInput::ForeignDecision(decision_id));
        };
        moved.decisions.push(DecisionWrite::Apply(decision_id));
        match ruling {
            ApprovalOutcome::Approved { until, opens_hosts } => {
                moved.turn.has_open_hosts |= opens_hosts;
                action.fate = ActionStatus::Waiting;
                moved.steps.push(StepWrite::Approve(action.operation_id));
                if let Some(question) = &mut action.question {
                    question.until = Some(until);
                }
            }
            ApprovalOutcome::Denied { note } => {
                let said = note.map_or_else(String::new, |note| format!(": {note}"));
                let message = format!("a person did not permit this action{said}");
                let fault = ToolError::denied(
                    DENIED_BY_PERSON,
                    &message,
                    "do without it, or ask for something else",
                );
                moved.cancel_action(action, &Refusal::denied(GateStage::Decision, fault))?;
            }
            ApprovalOutcome::TimedOut | ApprovalOutcome::Expired => {
                let message = "no person decided in time whether this action is allowed";
                let fault =
                    ToolError::denied(DECISION_TIMED_OUT, message, "do without it, or ask again later");
                moved.cancel_action(action, &Refusal::denied(GateStage::Decision, fault))?;
            }
        }
        moved.advance(plan, reads)?;
        Ok(moved)
    }

    /// An approval was not used before it expired: requests it again under a new decision id.
    pub(super) fn renew_expired_approval(
        self,
        mut plan: Plan,
        inquiry: ApprovalRequest,
    ) -> Result<Transition, UnexpectedInput> {
        let mut moved = self.unmoved();
        let old = inquiry.decision_id;
        let waits = |action: &&mut Action| {
            matches!(
                action.fate,
                ActionStatus::AwaitingApproval | ActionStatus::Waiting
            )
        };
        let Some(action) = asked_about(&mut plan.actions, old).filter(waits) else {
            return Err(UnexpectedInput::ForeignDecision(old));
        };
        if action.fate == ActionStatus::AwaitingApproval {
            moved.decisions.push(DecisionWrite::Apply(old));
        } else {
            moved.steps.push(StepWrite::AwaitApproval(action.operation_id));
        }
        let asked = action.question.as_ref().map_or(1, |question| question.asked);
        let decision_id = DecisionId::new(&action.operation_id, asked);
        action.fate = ActionStatus::AwaitingApproval;
        action.question = Some(PendingApproval {
            decision_id,
            asked: asked.saturating_add(1),
            until: None,
            targets: targets_digest(&inquiry.targets),
        });
        moved.ask_person(ApprovalRequest {
            decision_id,
            ..inquiry
        });
        moved.turn.phase = plan.acting(0);
        Ok(moved)
    }
}

impl Transition {
    /// Requests approval for a call if it needs one.
    pub(super) fn ask_about(
        &mut self,
        operation_id: OperationId,
        call: &ReplyCall,
        read: &CallReads,
    ) -> Option<PendingApproval> {
        if !needs_approval(read) {
            return None;
        }
        let action = ProposedAction {
            operation_id,
            tool: &call.parts.tool,
            input: &call.preview,
            class: read.class,
            risk: read.risk,
        };
        let inquiry = ApprovalRequest {
            diff: read.diff.clone(),
            evidence: read.evidence.clone(),
            ..ApprovalRequest::new(action, approval_rule(read), read.seen.newest_unknown)
        }
        .with_targets(read.class, read.targets.clone());
        let question = PendingApproval {
            decision_id: inquiry.decision_id,
            asked: 1,
            until: None,
            targets: targets_digest(&inquiry.targets),
        };
        self.ask_person(inquiry);
        Some(question)
    }

    /// Applies stricter rules to planned actions that have not begun.
    pub(super) fn restrict_all(
        &mut self,
        actions: &mut [Action],
        restricted: &[Restriction],
    ) -> Result<(), UnexpectedInput> {
        for restriction in restricted {
            let is_meant = |action: &&mut Action| action.operation_id == restriction.operation_id;
            if let Some(action) = actions.iter_mut().find(is_meant) {
                self.restrict(action, restriction)?;
            }
        }
        Ok(())
    }

    /// Denies an action that has not begun, or requests an approval that it does not have.
    fn restrict(&mut self, action: &mut Action, restriction: &Restriction) -> Result<(), UnexpectedInput> {
        let Restriction {
            preview,
            verdict,
            stop,
            risk,
            diff,
            targets,
            constraint,
            evidence,
            ..
        } = restriction;
        // An approval holds only for the targets that the person saw.
        let is_approved = action.question.as_ref().is_some_and(|one| one.covers(targets));
        match (&action.fate, verdict.effect) {
            // The person is no longer asked, because no answer would permit the action.
            (ActionStatus::Waiting | ActionStatus::AwaitingApproval, PolicyEffect::Deny) => {
                self.withdraw(action);
                let refused = match stop {
                    Some(stop) => Refusal::denied(stop.stage, stop.fault()),
                    None => {
                        let fault = not_permitted(&verdict.rule, constraint.as_deref());
                        Refusal::denied(GateStage::Policy, fault)
                    }
                };
                self.show_restriction(action, restriction, Some(&refused));
                self.cancel_action(action, &refused)
            }
            (ActionStatus::Waiting, PolicyEffect::Ask) if !is_approved => {
                self.show_restriction(action, restriction, None);
                let proposed = ProposedAction {
                    operation_id: action.operation_id,
                    tool: &action.tool,
                    input: preview,
                    class: action.class,
                    risk: *risk,
                };
                let asked = action.question.as_ref().map_or(0, |question| question.asked);
                let inquiry = ApprovalRequest {
                    decision_id: DecisionId::new(&action.operation_id, asked),
                    diff: diff.clone(),
                    evidence: evidence.clone(),
                    ..ApprovalRequest::new(proposed, &verdict.rule, None)
                }
                .with_targets(action.class, targets.clone());
                action.fate = ActionStatus::AwaitingApproval;
                self.steps.push(StepWrite::AwaitApproval(action.operation_id));
                action.question = Some(PendingApproval {
                    decision_id: inquiry.decision_id,
                    asked: asked.saturating_add(1),
                    until: None,
                    targets: targets_digest(targets),
                });
                self.ask_person(inquiry);
                Ok(())
            }
            (
                ActionStatus::Waiting
                | ActionStatus::AwaitingApproval
                | ActionStatus::Intended
                | ActionStatus::Started(_)
                | ActionStatus::Settled(_),
                PolicyEffect::Permit | PolicyEffect::Ask | PolicyEffect::Deny,
            ) => Ok(()),
        }
    }

    fn ask_person(&mut self, inquiry: ApprovalRequest) {
        self.events.push(EventDraft::new(DecisionAsked::from(&inquiry)));
        self.decisions.push(DecisionWrite::Ask(Box::new(inquiry)));
    }

    /// Withdraws the open approval request of an action that will not begin.
    pub(super) fn withdraw(&mut self, action: &Action) {
        if let (ActionStatus::AwaitingApproval, Some(question)) = (&action.fate, &action.question) {
            self.decisions.push(DecisionWrite::Withdraw(question.decision_id));
        }
    }
}

/// Returns whether an action that policy allows needs approval first.
pub(super) fn needs_approval(read: &CallReads) -> bool {
    read.verdict.effect == PolicyEffect::Ask || read.seen.unknown
}

/// Returns the rule that requires the approval.
pub(super) fn approval_rule(read: &CallReads) -> &str {
    if read.seen.unknown {
        OUTCOME_UNKNOWN
    } else {
        &read.verdict.rule
    }
}

/// Returns whether the approval of an action has expired.
pub(super) fn has_approval_expired(action: &Action, now: Option<Millis>) -> bool {
    let until = action.question.as_ref().and_then(|question| question.until);
    until.zip(now).is_some_and(|(until, now)| now >= until)
}

fn asked_about(actions: &mut [Action], decision_id: DecisionId) -> Option<&mut Action> {
    let mut actions = actions.iter_mut();
    actions.find(|action| {
        action
            .question
            .as_ref()
            .is_some_and(|one| one.decision_id == decision_id)
    })
}

/// The error of an action that may not begin because an identical one ended unknown.
pub(super) fn undecided() -> Refusal {
    let message = "the outcome of an identical action of this run is unknown";
    let hint = "check with another call whether it happened; if you repeat this call, a person decides whether it is performed";
    Refusal::denied(GateStage::Decision, ToolError::denied(UNDECIDED, message, hint))
}
