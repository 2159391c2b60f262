//! Saga recovery: undoes sagas whose run can never continue.
//!
//! Sagas of open runs are not touched here: the driver performs their operation again under the same
//! operation id. A crash is possible at every line; the next scan continues with the stored phase, and the
//! journal recognizes by the operation id what it has already done.

use wakeful_core::saga::{Saga, SagaAction, SagaInput};
use wakeful_ports::clock::Clock;
use wakeful_ports::fail_point;
use wakeful_ports::journal::Journal;
use wakeful_store::rows::SagaRow;
use wakeful_store::{Store, StoreError};

use wakeful_core::problem::with_causes;

/// The result of scanning the unfinished sagas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SagaRecovery {
    pub undone: u32,
    /// Neither finished nor undone: a person must decide.
    pub stuck: u32,
    /// Left to the drivers of their runs.
    pub left: u32,
}

/// Checks every unfinished saga once, and undoes those whose run can never continue.
pub async fn recover(
    store: &Store,
    journal: &dyn Journal,
    clock: &dyn Clock,
) -> Result<SagaRecovery, StoreError> {
    let mut recovered = SagaRecovery::default();
    for row in store.read(|view| view.unfinished_sagas()).await? {
        let given_up = match row.saga.next_action(row.run_open) {
            SagaAction::Nothing => continue,
            SagaAction::Driver => {
                recovered.left += 1;
                continue;
            }
            SagaAction::GiveUp => advance(store, clock, row.saga.clone(), why(&row)).await?,
            SagaAction::Undo => Some(row.saga),
        };
        // Another process advanced the saga meanwhile and is responsible for it.
        let Some(saga) = given_up else { continue };
        match compensate(store, journal, clock, saga).await? {
            Some(saga) if saga.is_over() => recovered.undone += 1,
            Some(_) => recovered.stuck += 1,
            None => {}
        }
    }
    Ok(recovered)
}

fn why(row: &SagaRow) -> SagaInput {
    let why = match &row.agent_id {
        Some(agent) => format!(
            "run {} of agent {agent} ended before this was finished",
            row.run_key
        ),
        None => format!("run {} no longer exists", row.run_key),
    };
    SagaInput::Abandoned { why }
}

/// Undoes an operation in the journal, then records the result or the error.
async fn compensate(
    store: &Store,
    journal: &dyn Journal,
    clock: &dyn Clock,
    saga: Saga,
) -> Result<Option<Saga>, StoreError> {
    fail_point::fail_point("saga.before_undo");
    let undone = journal.undo(saga.operation_id, clock.now()).await;
    fail_point::fail_point("saga.after_undo");
    let input = match undone {
        Ok(_) => SagaInput::Undone,
        Err(error) => SagaInput::UndoFailed {
            why: with_causes(&error),
        },
    };
    let moved = advance(store, clock, saga, input).await;
    fail_point::fail_point("saga.after_close");
    moved
}

/// Commits the result of an input. Returns none if another process has advanced the saga since it was read.
async fn advance(
    store: &Store,
    clock: &dyn Clock,
    seen: Saga,
    input: SagaInput,
) -> Result<Option<Saga>, StoreError> {
    let Ok(next) = seen.clone().apply(input) else {
        return Ok(None);
    };
    let (now, moved) = (clock.now(), next.clone());
    match store.write(move |tx| tx.advance_saga(&seen, &moved, now)).await {
        Ok(()) => Ok(Some(next)),
        Err(StoreError::Conflict) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Resolves a stuck saga by keeping the journal as it is. Returns none if no such saga is stuck.
pub async fn resolve_stuck(
    store: &Store,
    clock: &dyn Clock,
    operation: wakeful_core::key::OperationId,
) -> Result<Option<Saga>, StoreError> {
    let Some(row) = store.read(move |view| view.saga(&operation)).await? else {
        return Ok(None);
    };
    advance(store, clock, row.saga, SagaInput::Kept).await
}
