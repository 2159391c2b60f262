//! Starting sub-runs of other agents and waiting for their results.

use super::plan::Plan;
use super::{RunMachine, RunPhase, SubRunStart, Transition, UnexpectedInput};
use crate::key::OperationId;
use crate::report::EventDraft;
use crate::report::payload::SubRunStarted;
use crate::step::{Action, ActionStatus, ChildRun};

impl RunMachine {
    /// Returns the sub-runs whose results have not been recorded.
    #[must_use]
    pub fn children(&self) -> Vec<(OperationId, ChildRun)> {
        let RunPhase::Acting { actions, .. } = &self.phase else {
            return Vec::new();
        };
        let child = |action: &'_ Action| match &action.fate {
            ActionStatus::Started(child) => Some((action.operation_id, child.clone())),
            ActionStatus::Waiting
            | ActionStatus::AwaitingApproval
            | ActionStatus::Intended
            | ActionStatus::Settled(_) => None,
        };
        actions.iter().filter_map(child).collect()
    }

    /// Returns whether the run is blocked until a sub-run ends.
    #[must_use]
    pub fn waits_on_runs(&self) -> bool {
        let RunPhase::Acting { actions, .. } = &self.phase else {
            return false;
        };
        let is_intended = |action: &Action| action.fate == ActionStatus::Intended;
        !actions.iter().any(is_intended) && !self.children().is_empty()
    }

    /// Returns the provider's call id of an action, for its result.
    #[must_use]
    pub fn call_id(&self, operation_id: OperationId) -> Option<&str> {
        let RunPhase::Acting { actions, .. } = &self.phase else {
            return None;
        };
        let mut actions = actions.iter();
        let action = actions.find(|action| action.operation_id == operation_id)?;
        Some(&action.call_id)
    }

    /// Records that intended actions started sub-runs. Each action ends when its sub-run ends.
    pub(super) fn started(
        self,
        mut plan: Plan,
        delay_ms: u64,
        starts: Vec<SubRunStart>,
    ) -> Result<Transition, UnexpectedInput> {
        let mut moved = self.unmoved();
        for start in starts {
            let SubRunStart {
                operation_id,
                child,
                depth,
            } = start;
            let intended = |action: &&mut Action| {
                action.operation_id == operation_id && action.fate == ActionStatus::Intended
            };
            let Some(action) = plan.actions.iter_mut().find(intended) else {
                return Err(UnexpectedInput::ForeignOperation(operation_id));
            };
            moved.events.push(EventDraft::new(SubRunStarted {
                operation_id,
                tool: action.tool.clone(),
                child_agent_id: child.agent_id.clone(),
                child_run_key: child.run_key,
                depth,
            }));
            action.fate = ActionStatus::Started(child);
        }
        moved.turn.phase = plan.acting(delay_ms);
        Ok(moved)
    }
}
