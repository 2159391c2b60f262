//! Sagas: the progress of writes that touch both databases, and the journal to which they were written.

use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::run::RunStatus;
use wakeful_core::saga::{Saga, SagaPhase, SagaStatus};
use wakeful_core::time::Millis;

use crate::rows::SagaRow;
use crate::sql::{Row, Sql, at_most_one, exactly_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View, row_binding};

/// An action that was postponed and is intended again already has its saga.
const BEGIN: &str = "
    INSERT INTO saga (operation_id, run_key, phase, status, last_error, updated_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (operation_id) DO NOTHING";

impl Tx<'_> {
    /// Begins a saga with the intent of its action. An existing saga is not changed.
    pub fn begin_saga(&mut self, saga: &Saga, run: &RunKey, at: Millis) -> Result<()> {
        let params = [
            (&saga.operation_id).into(),
            run.into(),
            saga.phase.as_str().into(),
            saga.status.as_str().into(),
            saga.last_error.as_deref().into(),
            at.into(),
        ];
        if self.sql.execute(BEGIN, &params)? > 0 {
            self.sql
                .touch(&row_binding::SAGA, &[(&saga.operation_id).into()], Some(at));
        }
        Ok(())
    }
}

const ADVANCE: &str = "
    UPDATE saga SET phase = ?4, status = ?5, last_error = ?6, updated_at_ms = ?7
    WHERE operation_id = ?1 AND phase = ?2 AND status = ?3";

impl Tx<'_> {
    /// Advances a saga. Fails with [`StoreError::Conflict`] if it is not in the expected state.
    pub fn advance_saga(&mut self, seen: &Saga, next: &Saga, at: Millis) -> Result<()> {
        let params = [
            (&seen.operation_id).into(),
            seen.phase.as_str().into(),
            seen.status.as_str().into(),
            next.phase.as_str().into(),
            next.status.as_str().into(),
            next.last_error.as_deref().into(),
            at.into(),
        ];
        self.sql
            .touch(&row_binding::SAGA, &[(&seen.operation_id).into()], Some(at));
        exactly_one(self.sql.execute(ADVANCE, &params)?)
    }
}

const UNFINISHED: &str = "
    SELECT saga.operation_id, saga.run_key, saga.phase, saga.status, saga.last_error, saga.updated_at_ms,
        run.agent_id, run.status
    FROM saga LEFT JOIN run ON run.run_key = saga.run_key
    WHERE saga.status IN ('open', 'stuck') ORDER BY saga.updated_at_ms, saga.operation_id LIMIT ?1";

impl View<'_> {
    /// Returns unfinished sagas, oldest first. At most [`ROWS_MAX`].
    pub fn unfinished_sagas(&mut self) -> Result<Vec<SagaRow>> {
        records(self.sql.query(UNFINISHED, &[limit(ROWS_MAX)])?, read)
    }
}

const ONE: &str = "
    SELECT saga.operation_id, saga.run_key, saga.phase, saga.status, saga.last_error, saga.updated_at_ms,
        run.agent_id, run.status
    FROM saga LEFT JOIN run ON run.run_key = saga.run_key WHERE saga.operation_id = ?1";

impl View<'_> {
    /// Returns one saga, finished or not.
    pub fn saga(&mut self, operation: &OperationId) -> Result<Option<SagaRow>> {
        at_most_one(self.sql.query(ONE, &[operation.into()])?)
            .map(read)
            .transpose()
    }
}

fn read(mut row: Row) -> Result<SagaRow> {
    let operation_id = OperationId(row.digest("saga.operation_id")?);
    let run_key = RunKey(row.digest("saga.run_key")?);
    let saga = Saga {
        operation_id,
        phase: row.word("saga.phase", SagaPhase::parse)?,
        status: row.word("saga.status", SagaStatus::parse)?,
        last_error: row.optional_text("saga.last_error")?,
    };
    let updated_at = row.millis("saga.updated_at_ms")?;
    let agent = row.optional_text("run.agent_id")?;
    let agent_id = agent.map(|agent| AgentId::parse(&agent)).transpose();
    Ok(SagaRow {
        saga,
        run_key,
        agent_id: agent_id.map_err(|_| StoreError::Malformed("run.agent_id"))?,
        // A quarantined run may still continue.
        run_open: matches!(
            row.optional_text("run.status")?
                .as_deref()
                .and_then(RunStatus::parse),
            Some(RunStatus::Open | RunStatus::Quarantined)
        ),
        updated_at,
    })
}

const JOURNAL_HOST: &str = "SELECT host_id FROM journal_host";

impl View<'_> {
    /// Returns the host of the journal to which this database's sagas were written, or `None` before the
    /// first saga.
    pub fn journal_host(&mut self) -> Result<Option<String>> {
        let row = at_most_one(self.sql.query(JOURNAL_HOST, &[])?);
        row.map(|mut row| row.text("journal_host.host_id")).transpose()
    }
}

const REMEMBER: &str = "
    INSERT INTO journal_host (row_id, host_id) VALUES (1, ?1)
    ON CONFLICT (row_id) DO UPDATE SET host_id = excluded.host_id WHERE journal_host.host_id <> excluded.host_id";

impl Tx<'_> {
    /// Stores the host of the journal, so that a replaced journal is detected.
    pub fn set_journal_host(&mut self, host_id: &str, at: Millis) -> Result<()> {
        if self.sql.execute(REMEMBER, &[host_id.into()])? > 0 {
            self.sql
                .touch(&row_binding::JOURNAL_HOST, &[1_i64.into()], Some(at));
        }
        Ok(())
    }
}
