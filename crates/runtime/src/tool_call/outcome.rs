//! The outcomes of actions: what the tool returned, and what stands for a result that it could not return.

use wakeful_core::blob::Blob;
use wakeful_core::conversation::ToolCall;
use wakeful_core::json::NotCanonical;
use wakeful_core::key::OperationId;
use wakeful_core::provenance::Sources;
use wakeful_core::run::{BUDGET_EXCEEDED, RunInput};
use wakeful_core::step::{
    CrashRecovery, ErrorEnvelope, StepResult, StepStatus, ToolError, result_blob_with, unknown_fault,
};
use wakeful_core::tool::{refused_connections, with_connections_of};
use wakeful_ports::fail_point;
use wakeful_ports::model::Model;
use wakeful_ports::planted_bugs;
use wakeful_ports::tool::{NOT_BEGUN, ToolHost, ToolOutcome};

use super::{ActionOutcome, BRAKED, CANCELLED, HALTED, Intent, TIMED_OUT, TimeLimit};
use crate::run::ClaimedRun;
use crate::step::{EarlyEnd, Freshness, NextAction};
use crate::{Engine, EngineError};

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// The stored result of an action: its step result, the content for the model, and the blobs that it
    /// references.
    pub(crate) fn ended(
        &self,
        operation_id: OperationId,
        call_id: &str,
        done: ToolOutcome,
        duration_ms: u64,
    ) -> Result<(StepResult, Blob, Vec<Blob>), NotCanonical> {
        let done = self.without_keys(done);
        let status = StepStatus::of_code(done.code.as_deref());
        let error = status
            .is_error()
            .then(|| ErrorEnvelope::of_receipt(&done.content))
            .flatten();
        let refused = match done.sandbox {
            Some(_) => refused_connections(&done.content),
            None => Vec::new(),
        };
        let content = result_blob_with(call_id, status.is_error(), done.content, done.images)?;
        let result = StepResult {
            operation_id,
            status,
            content: content.hash(),
            duration_ms,
            sandbox: done.sandbox,
            exit_status: done.exit_status,
            code: done.code,
            error,
            refused,
            changed: done.changed,
            written_bytes: None,
            again: done.retry_after,
            sources: Sources::none(),
        };
        Ok((result, content, done.blobs))
    }

    /// The outcome of an action that exceeded its time limit, and what it reported after the stop.
    pub(super) async fn timed_out(
        &self,
        intent: &Intent,
        limit: TimeLimit,
        late: Option<ToolOutcome>,
    ) -> ToolOutcome {
        let is_stopped = |done: &ToolOutcome| matches!(done.code.as_deref(), Some(CANCELLED | NOT_BEGUN));
        match &late {
            // Its effect is known.
            Some(done) if !is_stopped(done) => return done.clone(),
            None if intent.class.after_crash() == CrashRecovery::Unknown => {
                return self.unknown(intent.operation_id, &intent.call).await;
            }
            Some(_) | None => {}
        }
        let tool = &intent.call.name;
        let fault = match limit {
            TimeLimit::OfTool(limit_ms) => {
                let message = format!("{tool} did not end within {limit_ms} ms and was stopped");
                ToolError::new(
                    TIMED_OUT,
                    &message,
                    "ask for less at once, or for a smaller range",
                )
            }
            TimeLimit::OfBudget(limit_ms) => {
                let message =
                    format!("{tool} was stopped after {limit_ms} ms, because the run time budget is used up");
                ToolError::new(BUDGET_EXCEEDED, &message, "do what takes less time")
            }
        };
        let said = late.as_ref().map_or("", |done| done.content.as_str());
        ToolOutcome {
            content: with_connections_of(said, fault.receipt(tool)),
            code: Some(fault.kind),
            exit_status: None,
            sandbox: late.and_then(|done| done.sandbox),
            blobs: Vec::new(),
            images: Vec::new(),
            changed: Vec::new(),
            retry_after: None,
        }
    }

    /// Stops leftover processes of the action, then reports an unknown outcome.
    pub(super) async fn unknown(&self, operation_id: OperationId, call: &ToolCall) -> ToolOutcome {
        fail_point::fail_point("recover.before_clear");
        self.tools.clean_up(operation_id).await;
        fail_point::fail_point("recover.after_clear");
        let fault = unknown_fault();
        let content = fault.receipt(&call.name);
        let code = if planted_bugs::is_planted("unknown_called_ok") {
            None
        } else if planted_bugs::is_planted("unknown_called_failed") {
            Some("planted".to_owned())
        } else {
            Some(fault.kind)
        };
        ToolOutcome {
            content,
            code,
            exit_status: None,
            sandbox: None,
            blobs: Vec::new(),
            images: Vec::new(),
            changed: Vec::new(),
            retry_after: None,
        }
    }
}

/// The outcome of an action that was asked to end early.
pub(super) fn cut_short(
    claimed: &ClaimedRun,
    early: EarlyEnd,
    done: ToolOutcome,
) -> Result<ActionOutcome, EngineError> {
    // A halt or a brake is not a cancellation.
    let (word, rest) = match early {
        EarlyEnd::LeaseLost => return Err(EngineError::LeaseLost(claimed.row.agent_id.clone())),
        EarlyEnd::Cancelled => (CANCELLED, None),
        EarlyEnd::Halted => (HALTED, Some(NextAction::Stop)),
        EarlyEnd::Braked => (BRAKED, Some(NextAction::Brake)),
    };
    let code = match done.code.as_deref() {
        // As before the start: an action that has not started is left to the machine, and the intent of one
        // that an earlier process may have performed is not withdrawn.
        Some(NOT_BEGUN) => match (claimed.freshness, rest) {
            (Freshness::Fresh, _) => return Ok(ActionOutcome::Held(NextAction::just(RunInput::Postponed))),
            (Freshness::Recovered, Some(rest)) => return Ok(ActionOutcome::Held(rest)),
            (Freshness::Recovered, None) => Some(word.to_owned()),
        },
        Some(CANCELLED) => Some(word.to_owned()),
        Some(_) | None => done.code.clone(),
    };
    Ok(ActionOutcome::Done(ToolOutcome { code, ..done }))
}
