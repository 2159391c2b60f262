//! One connection to a PostgreSQL server: statements, transactions, and the translation of its errors.
//!
//! A round trip to the server costs more than most statements. So statements whose results are not needed
//! are buffered until a query or the end of the transaction, and sent together in one round trip.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, Statement};

use crate::commit::Commit;
use crate::schema::Schema;
use crate::sql::{Access, Dialect, Param, Row, Sql, Value, exactly_one};
use crate::{Result, StoreError};

/// How long a server may take to open a connection and to process the initial settings.
const OPEN_MAX: Duration = Duration::from_secs(5);

/// The settings of every connection. A statement may take 30 seconds, which only a stuck lock reaches. A
/// process that stops in the middle of a transaction loses its connection when it would lose its lease, so
/// that its locks do not outlive it.
const GREETING: &str = "
    SET statement_timeout TO 30000;
    SET idle_in_transaction_session_timeout TO 15000;";

/// Additional settings of a read-only connection.
const GREETING_OF_READER: &str = "SET default_transaction_read_only TO on;";

/// Maximum number of buffered statements. Enough for a transition, and few enough that a large transaction
/// does not accumulate here; and not more than [`join_all`] polls in order, which is the order in which
/// they are sent.
const LATER_MAX: usize = 30;

pub(crate) struct Connection {
    client: Client,
    // Drives only this connection, on the thread that uses it. Declared after the client so that it is
    // dropped after it.
    runtime: Runtime,
    access: Access,
    statements: HashMap<&'static str, Statement>,
    later: Vec<DeferredStatement>,
    trouble: TxFailure,
}

/// A buffered statement.
struct DeferredStatement {
    statement: Statement,
    params: Vec<Value>,
    /// Whether the statement must write exactly one row.
    is_once: bool,
}

/// What the last failure means for the current transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TxFailure {
    /// Only the statement failed.
    None,
    /// The transaction conflicted with another one; a retry of the closure may succeed.
    Collided,
    /// The connection cannot be used again.
    Lost,
}

impl Connection {
    /// Connects. Every failure means that the database cannot be reached.
    pub(crate) fn open(config: &Config, schema: &Schema, access: Access) -> Result<Self> {
        let unreachable = |error: tokio_postgres::Error| StoreError::Unreachable(error.into());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Backend(error.into()))?;
        let place = format!("SET search_path TO {};", schema.namespace);
        let more = match access {
            Access::Write => "",
            Access::Read => GREETING_OF_READER,
        };
        let greeting = format!("{place}{GREETING}{more}");
        let greeted = async {
            let (client, wire) = config.connect(NoTls).await?;
            // The client reports the end of the connection with the next request.
            tokio::spawn(async move { drop(wire.await) });
            client.batch_execute(&greeting).await?;
            Ok::<_, tokio_postgres::Error>(client)
        };
        // The driver's own timeout ends when the socket is connected; it does not cover a server that hangs
        // after that.
        let greeted = runtime.block_on(async { tokio::time::timeout(OPEN_MAX, greeted).await });
        let silent = |_| StoreError::Unreachable("the server does not answer".into());
        let client = greeted.map_err(silent)?.map_err(unreachable)?;
        Ok(Self {
            client,
            runtime,
            access,
            statements: HashMap::new(),
            later: Vec::new(),
            trouble: TxFailure::None,
        })
    }

    /// Runs statements that are not part of a domain operation.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<()> {
        self.send_all()?;
        let done = self.runtime.block_on(self.client.batch_execute(sql));
        done.map_err(|error| self.store_error(error))
    }

    /// Creates an object that another process may be creating at the same time: with `IF NOT EXISTS` alone,
    /// the slower of two fails.
    pub(crate) fn create(&mut self, sql: &str) -> Result<()> {
        const THERE: [SqlState; 4] = [
            SqlState::UNIQUE_VIOLATION,
            SqlState::DUPLICATE_SCHEMA,
            SqlState::DUPLICATE_TABLE,
            SqlState::DUPLICATE_OBJECT,
        ];
        match self.runtime.block_on(self.client.batch_execute(sql)) {
            Err(error) if error.code().is_some_and(|code| THERE.contains(code)) => Ok(()),
            done => done.map_err(|error| self.store_error(error)),
        }
    }

    /// Begins a transaction that reads one consistent snapshot.
    pub(crate) fn begin_reading(&mut self) -> Result<()> {
        self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    /// Begins a transaction that writes. Rows are locked explicitly, so the weakest isolation level is
    /// sufficient.
    pub(crate) fn begin_writing(&mut self) -> Result<()> {
        self.begin("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    }

    fn begin(&mut self, sql: &str) -> Result<()> {
        self.trouble = TxFailure::None;
        self.batch(sql)
    }

    pub(crate) fn rollback(&mut self) -> Result<()> {
        self.later.clear();
        self.batch("ROLLBACK")
    }

    /// Returns what the last failure of this transaction means.
    pub(crate) fn trouble(&self) -> TxFailure {
        if self.client.is_closed() {
            TxFailure::Lost
        } else {
            self.trouble
        }
    }

    /// Returns the statement, prepared once per connection; its parameters are converted to the server's
    /// syntax only then.
    fn statement(&mut self, sql: &'static str) -> Result<Statement> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let prepared = self.runtime.block_on(self.client.prepare(&dollars(sql)));
        let statement = prepared.map_err(|error| self.store_error(error))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Buffers a statement.
    fn keep(&mut self, sql: &'static str, params: &[Param<'_>], is_once: bool) -> Result<()> {
        if self.later.len() >= LATER_MAX {
            self.send_all()?;
        }
        let (statement, params) = (self.statement(sql)?, owned(params));
        if params.len() != statement.params().len() {
            return Err(StoreError::Malformed("parameter"));
        }
        self.later.push(DeferredStatement {
            statement,
            params,
            is_once,
        });
        Ok(())
    }

    /// Sends the buffered statements. Reports the first failure: later statements failed because of it or
    /// do not count.
    fn send_all(&mut self) -> Result<()> {
        if self.later.is_empty() {
            return Ok(());
        }
        let later = std::mem::take(&mut self.later);
        let client = &self.client;
        let sent = later.iter().map(|one| async {
            let params = typed(&one.statement, &one.params)?;
            Ok(client.execute(&one.statement, &params).await)
        });
        let done: Vec<Result<_>> = self.runtime.block_on(join_all(sent));
        for (one, done) in later.iter().zip(done) {
            let rows = done?.map_err(|error| self.store_error(error))?;
            if one.is_once {
                exactly_one(rows)?;
            }
        }
        Ok(())
    }

    /// Converts a server error to a store error.
    fn store_error(&mut self, error: tokio_postgres::Error) -> StoreError {
        let Some(code) = error.code() else {
            let lost = error.is_closed() || error.source().is_some_and(|source| source.is::<io::Error>());
            if lost {
                self.trouble = TxFailure::Lost;
                return StoreError::Unreachable(error.into());
            }
            return StoreError::Backend(error.into());
        };
        if COLLISIONS.contains(code) {
            self.trouble = TxFailure::Collided;
        } else if FAREWELLS.contains(code) {
            self.trouble = TxFailure::Lost;
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

    /// For a read-only connection, a missing privilege is the privilege to read.
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

/// The server is out of resources, or its disk fails.
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
    fn commit(&mut self) -> Result<()> {
        self.batch("COMMIT")
    }
}

impl Sql for Connection {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64> {
        self.send_all()?;
        let (statement, params) = (self.statement(sql)?, owned(params));
        let params = typed(&statement, &params)?;
        let done = self.runtime.block_on(self.client.execute(&statement, &params));
        done.map_err(|error| self.store_error(error))
    }

    fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        self.send_all()?;
        let (statement, params) = (self.statement(sql)?, owned(params));
        let params = typed(&statement, &params)?;
        let rows = self.runtime.block_on(self.client.query(&statement, &params));
        rows.map_err(|error| self.store_error(error))?
            .iter()
            .map(row)
            .collect()
    }

    fn run(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<()> {
        self.keep(sql, params, false)
    }

    fn run_once(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<()> {
        self.keep(sql, params, true)
    }
}

/// Converts `?1` to the server's `$1`. Our statements contain no other question marks.
fn dollars(sql: &str) -> String {
    sql.replace('?', "$")
}

fn owned(params: &[Param<'_>]) -> Vec<Value> {
    let values = params.iter().map(|param| match *param {
        Param::Null => Value::Null,
        Param::Int(value) => Value::Int(value),
        Param::Text(text) => Value::Text(text.to_owned()),
        Param::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
    });
    values.collect()
}

/// Converts parameters to the exact types that the statement expects: the driver rejects any other type,
/// even for a null.
fn typed<'a>(statement: &Statement, params: &'a [Value]) -> Result<Vec<&'a (dyn ToSql + Sync)>> {
    const NO_INT: &Option<i64> = &None;
    const NO_TEXT: &Option<&str> = &None;
    const NO_BYTES: &Option<&[u8]> = &None;
    let pairs = params.iter().zip(statement.params());
    let values = pairs.map(|(param, ty)| -> Result<&(dyn ToSql + Sync)> {
        match param {
            Value::Null if *ty == Type::INT8 => Ok(NO_INT),
            Value::Null if *ty == Type::TEXT => Ok(NO_TEXT),
            Value::Null if *ty == Type::BYTEA => Ok(NO_BYTES),
            Value::Null => Err(StoreError::Malformed("parameter")),
            Value::Int(value) => Ok(value),
            Value::Text(text) => Ok(text),
            Value::Bytes(bytes) => Ok(bytes),
        }
    });
    values.collect()
}

fn row(row: &tokio_postgres::Row) -> Result<Row> {
    let unexpected = |error: tokio_postgres::Error| StoreError::Backend(error.into());
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
