//! Calls that may not begin: the stage at which each stops, and its error.

use crate::blob::BlobHash;
use crate::conversation::CALLS_PER_ROUND_MAX;
use crate::policy::{DenialCategory, GateStage, PolicyEffect, denial_category, denial_code};
use crate::step::{CallReads, StepStatus, ToolError};
use crate::sub_run::{self, START_RUN, STARTS_PER_ROUND_MAX};
use crate::tool::CallEnd;

/// Why a call may not begin.
pub(super) struct Refusal {
    pub(super) status: StepStatus,
    pub(super) stage: GateStage,
    pub(super) fault: ToolError,
}

impl Refusal {
    /// A call that is not allowed.
    pub(super) const fn denied(stage: GateStage, fault: ToolError) -> Self {
        Self {
            status: StepStatus::Denied,
            stage,
            fault,
        }
    }

    /// A call that is allowed and cannot begin.
    pub(super) const fn failed(stage: GateStage, fault: ToolError) -> Self {
        Self {
            status: StepStatus::Failed,
            stage,
            fault,
        }
    }

    /// The category, if the call was denied.
    pub(super) fn category(&self) -> Option<DenialCategory> {
        let of_code = || DenialCategory::of_code(&self.fault.kind);
        (self.status == StepStatus::Denied).then(|| self.fault.category.unwrap_or_else(of_code))
    }

    /// The end of the call with this result for the model.
    pub(super) fn end(&self, output: BlobHash) -> CallEnd {
        CallEnd {
            stage: self.stage,
            category: self.category(),
            output,
        }
    }
}

/// Returns why an action may not begin, in the order of the checks: arguments, gates, policy, limit of
/// calls.
pub(super) fn refusal(position: usize, read: &CallReads) -> Option<Refusal> {
    if let Some(fault) = &read.fault {
        return Some(Refusal::failed(GateStage::Validate, fault.clone()));
    }
    if let Some(stop) = &read.stop {
        return Some(Refusal::denied(stop.stage, stop.fault()));
    }
    if read.verdict.effect == PolicyEffect::Deny {
        return Some(Refusal::denied(
            GateStage::Policy,
            not_permitted(&read.verdict.rule, read.constraint.as_deref()),
        ));
    }
    (position >= CALLS_PER_ROUND_MAX).then(|| {
        let message = format!("a reply may ask for at most {CALLS_PER_ROUND_MAX} tools");
        let fault = ToolError::new("too_many_calls", &message, "ask for the rest in the next round");
        Refusal::failed(GateStage::Validate, fault)
    })
}

/// The error of an action that a rule denies, with the constraint that excludes its target.
pub(super) fn not_permitted(rule: &str, constraint: Option<&str>) -> ToolError {
    let message = match constraint {
        Some(constraint) => format!("the policy does not permit this call ({rule}): {constraint}"),
        None => format!("the policy does not permit this tool ({rule})"),
    };
    ToolError {
        category: Some(denial_category(rule)),
        ..ToolError::new(denial_code(rule), &message, "use another tool, or ask a person")
    }
}

/// Returns an error if the reply starts too many runs.
pub(super) fn too_many_starts(tool: &str, starts: usize) -> Option<Refusal> {
    let is_over = tool == START_RUN && starts > STARTS_PER_ROUND_MAX;
    is_over.then(|| Refusal::failed(GateStage::Validate, sub_run::too_many()))
}
