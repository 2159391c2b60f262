//! The changes of step rows that a transition writes.

use wakeful_core::conversation::Usage;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::run::{RunInput, StepWrite};
use wakeful_core::saga::Saga;
use wakeful_core::time::Millis;
use wakeful_ports::planted_bugs;
use wakeful_store::rows::{SpendSettlement, StepRow, StepSettlement};

/// A change of a step's row.
pub(super) enum StepChange {
    Put(Box<StepRow>),
    Intend(OperationId),
    Postpone(OperationId),
    AwaitApproval(OperationId),
    Approve(OperationId),
    Settle(StepSettlement),
    Saga(Saga),
}

/// The row change of a step that the machine wrote.
pub(super) fn step_change(run_key: RunKey, write: StepWrite, input: &RunInput, at: Millis) -> StepChange {
    match write {
        StepWrite::Put {
            operation_id,
            name,
            class,
            base,
            status,
            reason,
            call,
        } => StepChange::Put(Box::new(StepRow {
            operation_id,
            run_key,
            ordinal: 0,
            name,
            class,
            base,
            status,
            reason,
            put_at: at,
            duration_ms: None,
            sandbox: None,
            exit_status: None,
            usage: Usage::default(),
            attempt: None,
            call,
        })),
        StepWrite::Saga(saga) => StepChange::Saga(saga),
        StepWrite::Intend(operation_id) => StepChange::Intend(operation_id),
        StepWrite::Postpone(operation_id) => StepChange::Postpone(operation_id),
        StepWrite::AwaitApproval(operation_id) => StepChange::AwaitApproval(operation_id),
        StepWrite::Approve(operation_id) => StepChange::Approve(operation_id),
        StepWrite::Settle {
            operation_id,
            status,
            duration_ms,
            sandbox,
            exit_status,
            reason,
            usage,
            attempt,
            end,
        } => StepChange::Settle(StepSettlement {
            operation_id,
            status,
            duration_ms,
            sandbox,
            exit_status,
            reason,
            usage,
            end,
            settlement: match (attempt.as_ref().and_then(|attempt| attempt.cost), input) {
                (Some(_), _) if planted_bugs::is_planted("money_kept") => SpendSettlement::Nothing,
                (Some(cost), _) => SpendSettlement::Cost(cost),
                // A request may have been in progress, and its result was not awaited.
                (None, RunInput::Cancelled) => SpendSettlement::InFull,
                (None, _) => SpendSettlement::Nothing,
            },
            // A record of bounded texts and numbers always has a JSON form.
            attempt: attempt.and_then(|attempt| serde_json::to_string(&attempt).ok()),
        }),
    }
}
