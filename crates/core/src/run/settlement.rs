//! The ends of actions: results, retries after transient failures, and actions that never begin.

use super::refusal::Refusal;
use super::{StepWrite, Transition, UnexpectedInput};
use crate::conversation::Usage;
use crate::provenance::Sources;
use crate::report::EventDraft;
use crate::report::payload::{ActionCancelled, ConnectionRefused, ToolExecuted};
use crate::saga;
use crate::step::{Action, ActionStatus, EffectClass, StepResult, StepStatus, result_blob};
use crate::tool::CallEnd;

impl Transition {
    /// Records the result of an action.
    pub(super) fn settle(&mut self, action: &mut Action, result: StepResult) {
        let refused = result.refused.iter();
        let refused = refused.map(|one| ConnectionRefused::new(action.operation_id, &action.tool, one));
        self.events.extend(refused.map(EventDraft::new));
        self.events
            .push(EventDraft::new(ToolExecuted::new(&action.tool, &result)));
        self.turn.has_acted_untrusted |= self.turn.is_untrusted() && action.class == EffectClass::Plain;
        action.sources = result.sources.clone();
        let end = CallEnd::performed(result.status, result.code.as_deref(), result.content);
        self.write_end(action, result, end);
    }

    fn write_end(&mut self, action: &mut Action, result: StepResult, end: CallEnd) {
        if action.class == EffectClass::Saga && action.fate == ActionStatus::Intended {
            let saga = saga::saga_settlement(action.operation_id, result.code.as_deref());
            self.steps.push(StepWrite::Saga(saga));
        }
        action.fate = ActionStatus::Settled(result.content);
        self.steps.push(StepWrite::Settle {
            operation_id: result.operation_id,
            status: result.status,
            duration_ms: result.duration_ms,
            sandbox: result.sandbox,
            exit_status: result.exit_status,
            reason: result.code,
            usage: Usage::default(),
            attempt: None,
            end: Some(end),
        });
    }

    /// Schedules a retry of an action after a transient failure.
    pub(super) fn try_again(&mut self, action: &mut Action, result: &StepResult, wait_ms: u64) {
        action.fate = ActionStatus::Waiting;
        action.failures = action.failures.saturating_add(1);
        self.steps.push(StepWrite::Postpone(action.operation_id));
        self.events.push(EventDraft::new(ToolExecuted {
            sandbox: None,
            attempt: Some(action.failures),
            again_in_ms: Some(wait_ms),
            ..ToolExecuted::new(&action.tool, result)
        }));
    }

    /// Ends an action that will not begin.
    pub(super) fn cancel_action(
        &mut self,
        action: &mut Action,
        refused: &Refusal,
    ) -> Result<(), UnexpectedInput> {
        let (status, fault) = (refused.status, &refused.fault);
        let blob = result_blob(&action.call_id, true, fault.receipt(&action.tool))?;
        let (operation_id, content, code) = (action.operation_id, blob.hash(), Some(fault.kind.clone()));
        self.blobs.push(blob);
        action.sources = self.turn.sources_of_call(&action.tool);
        let result = StepResult {
            operation_id,
            status,
            content,
            duration_ms: 0,
            sandbox: None,
            exit_status: None,
            code,
            error: Some(fault.envelope()),
            refused: Vec::new(),
            changed: Vec::new(),
            written_bytes: None,
            again: None,
            sources: Sources::none(),
        };
        self.events.push(EventDraft::new(ActionCancelled {
            operation_id,
            tool: action.tool.clone(),
            status,
            duration_ms: 0,
            code: result.code.clone(),
            stage: Some(refused.stage),
            category: refused.category(),
            tool_error: result.error.clone(),
            error: Some(fault.envelope().flat()),
        }));
        let code = Some(refused.reason(&action.tool));
        self.write_end(action, StepResult { code, ..result }, refused.end(content));
        Ok(())
    }
}

/// Returns the wait before an automatic retry of an action; none if its result is final.
pub(super) fn wait_before_again(action: &Action, result: &StepResult) -> Option<u64> {
    let (again, policy) = (result.again?, action.retry?);
    let may = result.status == StepStatus::Failed && action.class != EffectClass::Plain && !action.doubted;
    let failures = action.failures.saturating_add(1);
    may.then(|| policy.wait_ms(failures, again.after_ms, &action.operation_id.0))
        .flatten()
}
