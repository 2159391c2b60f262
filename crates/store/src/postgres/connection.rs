//! One connection to a PostgreSQL server: statements, transactions, and what its errors mean to callers.

use std::collections::HashMap;
use std::error::Error;
use std::io;

use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use postgres::{Client, Config, NoTls, Statement};
use wakeful_ports::store::StoreError;

use crate::commit::Commit;
use crate::schema::Schema;
use crate::sql::{Access, Dialect, Param, Row, Sql, Value};

/// What every connection is told first. A statement has half a minute, which only a stuck lock takes. A process
/// that is stopped in the middle of a transaction loses its connection when it would lose its lease, so that
/// its locks do not outlive it.
const GREETING: &str = "
    SET statement_timeout TO 30000;
    SET idle_in_transaction_session_timeout TO 15000;";

/// What the connection of a reader is told as well.
const GREETING_OF_READER: &str = "SET default_transaction_read_only TO on";

/// A connection.
pub(crate) struct Connection {
    client: Client,
    access: Access,
    statements: HashMap<&'static str, Statement>,
    trouble: Trouble,
}

/// What the last failure means for the transaction at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing but the failure itself.
    None,
    /// It met another transaction; the same closure may well succeed a moment later.
    Collided,
    /// The connection is of no more use.
    Lost,
}

impl Connection {
    /// Connects. Every failure to do so means that the database cannot be reached.
    pub(crate) fn open(config: &Config, schema: &Schema, access: Access) -> Result<Self, StoreError> {
        let unreachable = |error: postgres::Error| StoreError::Unreachable(error.into());
        let mut client = config.connect(NoTls).map_err(unreachable)?;
        let place = format!("SET search_path TO {};", schema.namespace);
        client
            .batch_execute(&format!("{place}{GREETING}"))
            .map_err(unreachable)?;
        if access == Access::Read {
            client.batch_execute(GREETING_OF_READER).map_err(unreachable)?;
        }
        Ok(Self {
            client,
            access,
            statements: HashMap::new(),
            trouble: Trouble::None,
        })
    }

    /// Runs statements that are no part of any verb.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        let done = self.client.batch_execute(sql);
        done.map_err(|error| self.said(error))
    }

    /// Creates something that somebody else may be creating at the same moment: `IF NOT EXISTS` alone lets the
    /// slower of two fail.
    pub(crate) fn create(&mut self, sql: &str) -> Result<(), StoreError> {
        const THERE: [SqlState; 4] = [
            SqlState::UNIQUE_VIOLATION,
            SqlState::DUPLICATE_SCHEMA,
            SqlState::DUPLICATE_TABLE,
            SqlState::DUPLICATE_OBJECT,
        ];
        match self.client.batch_execute(sql) {
            Err(error) if error.code().is_some_and(|code| THERE.contains(code)) => Ok(()),
            done => done.map_err(|error| self.said(error)),
        }
    }

    /// Begins a transaction that reads one consistent state.
    pub(crate) fn begin_reading(&mut self) -> Result<(), StoreError> {
        self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    /// Begins a transaction that writes. Rows are locked explicitly, so the weakest level is enough.
    pub(crate) fn begin_writing(&mut self) -> Result<(), StoreError> {
        self.begin("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    }

    fn begin(&mut self, sql: &str) -> Result<(), StoreError> {
        self.trouble = Trouble::None;
        self.batch(sql)
    }

    /// Ends a transaction without a trace.
    pub(crate) fn rollback(&mut self) -> Result<(), StoreError> {
        self.batch("ROLLBACK")
    }

    /// What the last failure of this transaction means.
    pub(crate) fn trouble(&self) -> Trouble {
        if self.client.is_closed() {
            Trouble::Lost
        } else {
            self.trouble
        }
    }

    /// The statement, prepared once per connection; only then are its parameters spelled the server's way.
    fn statement(&mut self, sql: &'static str) -> Result<Statement, StoreError> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let prepared = self.client.prepare(&dollars(sql));
        let statement = prepared.map_err(|error| self.said(error))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// What the server's refusal means to the caller.
    fn said(&mut self, error: postgres::Error) -> StoreError {
        let Some(code) = error.code() else {
            let lost = error.is_closed() || error.source().is_some_and(|source| source.is::<io::Error>());
            if lost {
                self.trouble = Trouble::Lost;
                return StoreError::Unreachable(error.into());
            }
            return StoreError::Backend(error.into());
        };
        if COLLISIONS.contains(code) {
            self.trouble = Trouble::Collided;
        } else if FAREWELLS.contains(code) {
            self.trouble = Trouble::Lost;
            return StoreError::Unreachable(error.into());
        } else if *code == SqlState::DISK_FULL {
            return StoreError::Full;
        } else if REFUSALS.contains(code) && !self.may_not_even_read(code) {
            return StoreError::ReadOnly;
        } else if DAMAGES.contains(code) {
            return StoreError::Corrupt(error.into());
        } else if SHORTAGES.contains(code) {
            return StoreError::Device(error.into());
        }
        StoreError::Backend(error.into())
    }

    /// A reader who lacks a right lacks that of reading.
    fn may_not_even_read(&self, code: &SqlState) -> bool {
        self.access == Access::Read && *code == SqlState::INSUFFICIENT_PRIVILEGE
    }
}

const COLLISIONS: [SqlState; 2] = [
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
];

const FAREWELLS: [SqlState; 6] = [
    SqlState::ADMIN_SHUTDOWN,
    SqlState::CRASH_SHUTDOWN,
    SqlState::CANNOT_CONNECT_NOW,
    SqlState::DATABASE_DROPPED,
    SqlState::IDLE_SESSION_TIMEOUT,
    SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
];

const REFUSALS: [SqlState; 2] = [
    SqlState::READ_ONLY_SQL_TRANSACTION,
    SqlState::INSUFFICIENT_PRIVILEGE,
];

/// The server has no place, or its disk fails.
const SHORTAGES: [SqlState; 6] = [
    SqlState::INSUFFICIENT_RESOURCES,
    SqlState::OUT_OF_MEMORY,
    SqlState::TOO_MANY_CONNECTIONS,
    SqlState::CONFIGURATION_LIMIT_EXCEEDED,
    SqlState::SYSTEM_ERROR,
    SqlState::IO_ERROR,
];

const DAMAGES: [SqlState; 2] = [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED];

impl Commit for Connection {
    fn commit(&mut self) -> Result<(), StoreError> {
        self.batch("COMMIT")
    }
}

impl Sql for Connection {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let statement = self.statement(sql)?;
        let done = self.client.execute(&statement, &typed(&statement, params)?);
        done.map_err(|error| self.said(error))
    }

    fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let statement = self.statement(sql)?;
        let rows = self.client.query(&statement, &typed(&statement, params)?);
        rows.map_err(|error| self.said(error))?.iter().map(row).collect()
    }
}

/// Our `?1` as the server's `$1`. None of our statements has a question mark elsewhere.
fn dollars(sql: &str) -> String {
    sql.replace('?', "$")
}

/// Parameters in the exact types the statement expects: the driver refuses any other, also for a null.
fn typed<'a>(
    statement: &Statement,
    params: &'a [Param<'a>],
) -> Result<Vec<&'a (dyn ToSql + Sync)>, StoreError> {
    const NO_INT: &Option<i64> = &None;
    const NO_TEXT: &Option<&str> = &None;
    const NO_BYTES: &Option<&[u8]> = &None;
    let pairs = params.iter().zip(statement.params());
    let values = pairs.map(|(param, ty)| -> Result<&(dyn ToSql + Sync), StoreError> {
        match param {
            Param::Null if *ty == Type::INT8 => Ok(NO_INT),
            Param::Null if *ty == Type::TEXT => Ok(NO_TEXT),
            Param::Null if *ty == Type::BYTEA => Ok(NO_BYTES),
            Param::Null => Err(StoreError::Malformed("parameter")),
            Param::Int(value) => Ok(value),
            Param::Text(text) => Ok(text),
            Param::Bytes(bytes) => Ok(bytes),
        }
    });
    values.collect()
}

fn row(row: &postgres::Row) -> Result<Row, StoreError> {
    let unexpected = |error: postgres::Error| StoreError::Backend(error.into());
    let columns = row.columns().iter().enumerate();
    let values = columns.map(|(index, column)| {
        let ty = column.type_();
        let value = if *ty == Type::INT8 {
            row.try_get::<_, Option<i64>>(index)
                .map_err(unexpected)?
                .map(Value::Int)
        } else if *ty == Type::TEXT {
            row.try_get::<_, Option<String>>(index)
                .map_err(unexpected)?
                .map(Value::Text)
        } else if *ty == Type::BYTEA {
            row.try_get::<_, Option<Vec<u8>>>(index)
                .map_err(unexpected)?
                .map(Value::Bytes)
        } else {
            return Err(StoreError::Malformed("column type"));
        };
        Ok(value.unwrap_or(Value::Null))
    });
    Ok(Row::new(values.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_parameters_are_spelled_with_dollars() {
        assert_eq!(dollars("a = ?1 AND b = ?12"), "a = $1 AND b = $12");
    }
}
