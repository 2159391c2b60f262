//! Sagas: where writes stand that touch both databases, and which journal they were written to.

use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::saga::{Phase, Saga, Status};
use wakeful_core::time::Millis;

use crate::bound;
use crate::rows::{RUN_OPEN, RUN_QUARANTINED, SagaRow};
use crate::sql::{Row, Sql, at_most_one, exactly_one, limit, records};
use crate::{ROWS_MAX, StoreError};

/// An action that was put off and is intended again has its saga already.
const BEGIN: &str = "
    INSERT INTO saga (operation_id, run_key, phase, status, last_error, updated_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (operation_id) DO NOTHING";

/// Begins a saga. One that began before stays as it is.
pub(crate) fn begin(sql: &mut dyn Sql, saga: &Saga, run: &RunKey, at: Millis) -> Result<(), StoreError> {
    let params = [
        (&saga.operation_id).into(),
        run.into(),
        saga.phase.as_str().into(),
        saga.status.as_str().into(),
        saga.last_error.as_deref().into(),
        at.into(),
    ];
    if sql.execute(BEGIN, &params)? > 0 {
        sql.touch(&bound::SAGA, &[(&saga.operation_id).into()], Some(at));
    }
    Ok(())
}

const ADVANCE: &str = "
    UPDATE saga SET phase = ?4, status = ?5, last_error = ?6, updated_at_ms = ?7
    WHERE operation_id = ?1 AND phase = ?2 AND status = ?3";

/// Moves a saga on. One that is not where it was seen is a conflict: somebody else has moved it.
pub(crate) fn advance(sql: &mut dyn Sql, seen: &Saga, next: &Saga, at: Millis) -> Result<(), StoreError> {
    let params = [
        (&seen.operation_id).into(),
        seen.phase.as_str().into(),
        seen.status.as_str().into(),
        next.phase.as_str().into(),
        next.status.as_str().into(),
        next.last_error.as_deref().into(),
        at.into(),
    ];
    sql.touch(&bound::SAGA, &[(&seen.operation_id).into()], Some(at));
    exactly_one(sql.execute(ADVANCE, &params)?)
}

const UNFINISHED: &str = "
    SELECT saga.operation_id, saga.run_key, saga.phase, saga.status, saga.last_error, saga.updated_at_ms,
        run.agent_id, run.status
    FROM saga LEFT JOIN run ON run.run_key = saga.run_key
    WHERE saga.status IN ('open', 'stuck') ORDER BY saga.updated_at_ms, saga.operation_id LIMIT ?1";

/// Sagas that are not over, oldest first.
pub(crate) fn unfinished(sql: &mut dyn Sql) -> Result<Vec<SagaRow>, StoreError> {
    records(sql.query(UNFINISHED, &[limit(ROWS_MAX)])?, read)
}

const ONE: &str = "
    SELECT saga.operation_id, saga.run_key, saga.phase, saga.status, saga.last_error, saga.updated_at_ms,
        run.agent_id, run.status
    FROM saga LEFT JOIN run ON run.run_key = saga.run_key WHERE saga.operation_id = ?1";

/// One saga.
pub(crate) fn one(sql: &mut dyn Sql, operation: &OperationId) -> Result<Option<SagaRow>, StoreError> {
    at_most_one(sql.query(ONE, &[operation.into()])?)
        .map(read)
        .transpose()
}

fn read(mut row: Row) -> Result<SagaRow, StoreError> {
    let operation_id = OperationId(row.digest("saga.operation_id")?);
    let run_key = RunKey(row.digest("saga.run_key")?);
    let saga = Saga {
        operation_id,
        phase: row.word("saga.phase", Phase::parse)?,
        status: row.word("saga.status", Status::parse)?,
        last_error: row.optional_text("saga.last_error")?,
    };
    let updated_at = row.millis("saga.updated_at_ms")?;
    let agent = row.optional_text("run.agent_id")?;
    let agent_id = agent.map(|agent| AgentId::parse(&agent)).transpose();
    Ok(SagaRow {
        saga,
        run_key,
        agent_id: agent_id.map_err(|_| StoreError::Malformed("run.agent_id"))?,
        // One that stands aside may still go on.
        run_open: matches!(
            row.optional_text("run.status")?.as_deref(),
            Some(RUN_OPEN | RUN_QUARANTINED)
        ),
        updated_at,
    })
}

const JOURNAL_HOST: &str = "SELECT host_id FROM journal_host";

/// The host of the journal that sagas were written to; none before the first.
pub(crate) fn journal_host(sql: &mut dyn Sql) -> Result<Option<String>, StoreError> {
    let row = at_most_one(sql.query(JOURNAL_HOST, &[])?);
    row.map(|mut row| row.text("journal_host.host_id")).transpose()
}

const REMEMBER: &str = "
    INSERT INTO journal_host (row_id, host_id) VALUES (1, ?1)
    ON CONFLICT (row_id) DO UPDATE SET host_id = excluded.host_id WHERE journal_host.host_id <> excluded.host_id";

/// Remembers which journal is meant.
pub(crate) fn remember_journal(sql: &mut dyn Sql, host_id: &str, at: Millis) -> Result<(), StoreError> {
    if sql.execute(REMEMBER, &[host_id.into()])? > 0 {
        sql.touch(&bound::JOURNAL_HOST, &[1_i64.into()], Some(at));
    }
    Ok(())
}
