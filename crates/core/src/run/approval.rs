//! Waiting for a person: asking whether an action may be taken, and going on with the answer.

use super::plan::Plan;
use super::{DecisionWrite, InputReads, ReplyCall, RunMachine, RunPhase, Transition, UnexpectedInput};
use crate::decision::{ApprovalOutcome, ApprovalRequest, ProposedAction};
use crate::key::{DecisionId, OperationId};
use crate::policy;
use crate::report::EventDraft;
use crate::report::payload::DecisionAsked;
use crate::step::{Action, ActionStatus, CallReads, OUTCOME_UNKNOWN, PendingApproval, StepStatus, ToolError};
use crate::time::Millis;

/// What is said of an action that a person did not permit.
pub const DENIED_BY_PERSON: &str = "denied_by_person";

/// What is said of an action that nobody decided on in time.
pub const DECISION_TIMED_OUT: &str = "decision_timed_out";

impl RunMachine {
    /// The question that this run waits for, if it waits for one.
    #[must_use]
    pub fn waits_on(&self) -> Option<DecisionId> {
        let next = self.next_open()?;
        (next.fate == ActionStatus::AwaitingApproval).then_some(next.question.as_ref()?.decision_id)
    }

    /// The question whose permission has run out before the action could begin, if there is one.
    #[must_use]
    pub fn expired_approval(&self, now: Millis) -> Option<DecisionId> {
        let next = self.next_open()?;
        let lapsed = next.fate == ActionStatus::Waiting && has_lapsed(next, Some(now));
        lapsed.then_some(next.question.as_ref()?.decision_id)
    }

    /// Whether a permission that was given may have run out by the time it is used.
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

    /// The first action that has not begun, when nothing is under way.
    fn next_open(&self) -> Option<&Action> {
        let RunPhase::Acting { actions, .. } = &self.phase else {
            return None;
        };
        let next = actions.iter().find(|action| super::is_open(action))?;
        let idle = actions.iter().all(|action| action.fate != ActionStatus::Intended);
        idle.then_some(next)
    }

    /// A question was closed: the action may begin, or it is called off.
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
            ApprovalOutcome::Approved { until } => {
                action.fate = ActionStatus::Waiting;
                if let Some(question) = &mut action.question {
                    question.until = Some(until);
                }
            }
            ApprovalOutcome::Denied { note } => {
                let said = note.map_or_else(String::new, |note| format!(": {note}"));
                let message = format!("a person did not permit this action{said}");
                let fault = ToolError::new(
                    DENIED_BY_PERSON,
                    &message,
                    "do without it, or ask for something else",
                );
                moved.cancel_action(action, StepStatus::Denied, &fault)?;
            }
            ApprovalOutcome::TimedOut | ApprovalOutcome::Expired => {
                let message = "nobody decided in time whether this action may be taken";
                let fault = ToolError::new(DECISION_TIMED_OUT, message, "do without it, or ask again later");
                moved.cancel_action(action, StepStatus::Denied, &fault)?;
            }
        }
        moved.advance(plan, reads);
        Ok(moved)
    }

    /// A permission was not used in time: the same is asked again.
    pub(super) fn lapsed(
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
        }
        let asked = action.question.as_ref().map_or(1, |question| question.asked);
        let decision_id = DecisionId::new(&action.operation_id, asked);
        action.fate = ActionStatus::AwaitingApproval;
        action.question = Some(PendingApproval {
            decision_id,
            asked: asked.saturating_add(1),
            until: None,
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
    /// Asks a person about an action where that is needed.
    pub(super) fn ask_about(
        &mut self,
        operation_id: OperationId,
        call: &ReplyCall,
        read: &CallReads,
    ) -> Option<PendingApproval> {
        if !is_asked(read) {
            return None;
        }
        let action = ProposedAction {
            operation_id,
            tool: &call.parts.tool,
            input: &call.preview,
            class: read.class,
        };
        let inquiry = ApprovalRequest::new(action, asking_rule(read), read.seen.newest_unknown);
        let question = PendingApproval {
            decision_id: inquiry.decision_id,
            asked: 1,
            until: None,
        };
        self.ask_person(inquiry);
        Some(question)
    }

    fn ask_person(&mut self, inquiry: ApprovalRequest) {
        self.events.push(EventDraft::new(DecisionAsked::from(&inquiry)));
        self.decisions.push(DecisionWrite::Ask(Box::new(inquiry)));
    }

    /// Nobody has to answer about an action that will not begin.
    pub(super) fn withdraw(&mut self, action: &Action) {
        if let (ActionStatus::AwaitingApproval, Some(question)) = (&action.fate, &action.question) {
            self.decisions.push(DecisionWrite::Withdraw(question.decision_id));
        }
    }
}

/// Whether an action that may begin needs approval first.
pub(super) fn is_asked(read: &CallReads) -> bool {
    read.verdict.effect == policy::PolicyEffect::Ask || read.seen.unknown
}

/// The rule that makes an action a question.
pub(super) fn asking_rule(read: &CallReads) -> &str {
    if read.seen.unknown {
        OUTCOME_UNKNOWN
    } else {
        &read.verdict.rule
    }
}

/// Whether the permission for an action has run out.
pub(super) fn has_lapsed(action: &Action, now: Option<Millis>) -> bool {
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
