//! The recovery scanner: sagas whose run can never go on are taken back.
//!
//! What an open run left between intent and result is not touched here: the ordinary driver carries it out again under
//! the same operation id. Every line may be the last one before a crash; the next look finds the saga where it stands,
//! and the journal knows by the operation id what it has done already.

use wakeful_core::saga::{Saga, SagaAction, SagaInput};
use wakeful_ports::clock::Clock;
use wakeful_ports::fail_point;
use wakeful_ports::journal::Journal;
use wakeful_store::rows::SagaRow;
use wakeful_store::{Store, StoreError};

use wakeful_core::problem::with_causes;

/// What a look at the unfinished sagas came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SagaRecovery {
    /// Taken back.
    pub undone: u32,
    /// Neither finished nor taken back: a person decides.
    pub stuck: u32,
    /// Left to the drivers of their runs.
    pub left: u32,
}

/// Looks at every unfinished saga once, and takes back what nobody will ever go on with.
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
        // Whoever moved it meanwhile sees to it.
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
        None => format!("run {} is gone", row.run_key),
    };
    SagaInput::Abandoned { why }
}

/// Undoes an operation in the journal, then writes down that it is undone, or why not.
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

/// Commits what an input leads to. None when somebody else has moved it since it was seen.
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

/// Lets a person say that the journal is right as it is. None when there is no such saga, or none that is stuck.
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
