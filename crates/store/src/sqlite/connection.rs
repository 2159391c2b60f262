//! One connection to a SQLite database: statements, transactions, and what its errors mean to callers.

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, OpenFlags, ToSql};

use crate::commit::Commit;
use crate::sql::{Access, Dialect, Param, Row, Sql, Value, records};
use crate::sqlite::immutable::ImmutableFile;
use crate::{Result, StoreError};

/// Room for every statement of the crate, so that each is compiled once per connection.
const STATEMENTS_MAX: usize = 512;

/// Everything that is in a database, table by table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DatabaseImage(Vec<Table>);

/// One table and its rows.
#[derive(Debug, Clone, PartialEq)]
struct Table {
    empty: String,
    fill: String,
    rows: Vec<Vec<rusqlite::types::Value>>,
}

const TABLES: &str =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";

/// A connection.
pub(crate) struct Connection {
    inner: rusqlite::Connection,
}

impl Connection {
    /// Opens a file, and makes it if there is none and it is to be written. Nothing of it is read yet.
    pub(crate) fn open(path: &Path, access: Access, busy: Duration) -> Result<Self> {
        // Without the flag for URIs: a folder may be called anything.
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
            | match access {
                Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
                Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            };
        Self::with(
            rusqlite::Connection::open_with_flags(path, flags).map_err(said)?,
            busy,
        )
    }

    /// Opens a file that lies still, without locks and without its log.
    pub(crate) fn open_still(still: &ImmutableFile) -> Result<Self> {
        let flags =
            OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let inner = rusqlite::Connection::open_with_flags(still.address(), flags).map_err(said)?;
        Self::with(inner, Duration::ZERO)
    }

    /// A database in memory.
    pub(crate) fn memory() -> Result<Self> {
        Self::with(
            rusqlite::Connection::open_in_memory().map_err(said)?,
            Duration::ZERO,
        )
    }

    fn with(inner: rusqlite::Connection, busy: Duration) -> Result<Self> {
        inner.busy_timeout(busy).map_err(said)?;
        inner.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        // Otherwise a statement with `LIMIT ?` is compiled again for every new value, which is every time.
        inner
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
            .map_err(said)?;
        Ok(Self { inner })
    }

    /// Whether the file can only be read. SQLite opens it all the same and refuses each write later.
    pub(crate) fn is_read_only(&self) -> Result<bool> {
        self.inner.is_readonly("main").map_err(said)
    }

    /// A database in memory with the same pages.
    pub(crate) fn twin(&self) -> Result<Self> {
        let mut twin = Self::memory()?;
        self.copy_pages(&mut twin.inner)?;
        Ok(twin)
    }

    /// Everything that is in it.
    pub(crate) fn contents(&mut self) -> Result<DatabaseImage> {
        let names = self.query(TABLES, &[])?;
        let names = records(names, |mut row| row.text("sqlite_schema.name"))?;
        let tables = names.into_iter().map(|name| self.table(&name).map_err(said));
        tables.collect::<Result<_, _>>().map(DatabaseImage)
    }

    fn table(&self, name: &str) -> rusqlite::Result<Table> {
        let mut statement = self.inner.prepare(&format!("SELECT * FROM {name}"))?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| (0..columns).map(|column| row.get(column)).collect())?;
        Ok(Table {
            empty: format!("DELETE FROM {name}"),
            fill: format!("INSERT INTO {name} VALUES ({})", vec!["?"; columns].join(", ")),
            rows: rows.collect::<Result<_, _>>()?,
        })
    }

    /// Lets it hold this and nothing else. What was compiled stays so.
    pub(crate) fn restore(&mut self, contents: &DatabaseImage) -> Result<()> {
        self.rollback()?;
        self.begin_writing()?;
        let written = contents.0.iter().try_for_each(|table| self.fill(table));
        written.map_err(said)?;
        self.control("COMMIT")
    }

    fn fill(&self, table: &Table) -> rusqlite::Result<()> {
        self.inner.prepare_cached(&table.empty)?.execute([])?;
        for row in &table.rows {
            let row = rusqlite::params_from_iter(row);
            self.inner.prepare_cached(&table.fill)?.execute(row)?;
        }
        Ok(())
    }

    /// Copies all pages as this connection sees them into another file, which is overwritten.
    pub(crate) fn copy_to(&self, path: &Path) -> Result<()> {
        self.copy_pages(&mut rusqlite::Connection::open(path).map_err(said)?)
    }

    fn copy_pages(&self, to: &mut rusqlite::Connection) -> Result<()> {
        let copying = Backup::new(&self.inner, to).map_err(said)?;
        // All pages are asked for at once, and nobody else knows the copy: it is done, or something is wrong.
        if matches!(copying.step(-1).map_err(said)?, StepResult::Done) {
            return Ok(());
        }
        Err(StoreError::Backend("the copy was not finished".into()))
    }

    /// Runs statements that are no part of any verb, such as a migration.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<()> {
        self.inner.execute_batch(sql).map_err(said)
    }

    /// Runs a statement and throws its rows away: some pragmas answer and some do not.
    pub(crate) fn control(&mut self, sql: &'static str) -> Result<()> {
        self.query(sql, &[]).map(drop)
    }

    /// Begins a transaction that reads one consistent state.
    pub(crate) fn begin_reading(&mut self) -> Result<()> {
        self.control("BEGIN DEFERRED")
    }

    /// Begins a transaction that writes. Immediately, so that nobody can come in between reading and writing.
    pub(crate) fn begin_writing(&mut self) -> Result<()> {
        self.control("BEGIN IMMEDIATE")
    }

    /// Whether a transaction is open. SQLite ends it by itself after some errors, such as a full disk.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.inner.is_autocommit()
    }

    /// Ends a transaction without a trace.
    pub(crate) fn rollback(&mut self) -> Result<()> {
        if self.in_transaction() {
            self.control("ROLLBACK")
        } else {
            Ok(())
        }
    }
}

impl Commit for Connection {
    fn commit(&mut self) -> Result<()> {
        self.control("COMMIT")
    }
}

impl Sql for Connection {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64> {
        let mut statement = self.inner.prepare_cached(sql).map_err(said)?;
        let rows = statement
            .execute(rusqlite::params_from_iter(params))
            .map_err(said)?;
        Ok(rows as u64)
    }

    fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        let mut statement = self.inner.prepare_cached(sql).map_err(said)?;
        let columns = statement.column_count();
        let mut rows = statement
            .query(rusqlite::params_from_iter(params))
            .map_err(said)?;
        let mut answer = Vec::new();
        while let Some(row) = rows.next().map_err(said)? {
            let values = (0..columns).map(|column| value(row.get_ref(column).map_err(said)?));
            answer.push(Row::new(values.collect::<Result<_, _>>()?));
        }
        Ok(answer)
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn value(value: ValueRef<'_>) -> Result<Value> {
    match value {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(value) => Ok(Value::Int(value)),
        ValueRef::Text(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| StoreError::Malformed("text"))?;
            Ok(Value::Text(text.to_owned()))
        }
        ValueRef::Blob(bytes) => Ok(Value::Bytes(bytes.to_vec())),
        ValueRef::Real(_) => Err(StoreError::Malformed("number")),
    }
}

/// What SQLite's refusal means to the caller.
pub(crate) fn said(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt(error.into()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Backend(Box::new(Busy(error)))
        }
        // There is no room to enlarge the index of the log, which SQLite does not call full.
        Some(ErrorCode::SystemIoFailure) if extended(&error) == Some(SQLITE_IOERR_SHMSIZE) => {
            StoreError::Full
        }
        // A quota that is used up is told like a disk that fails.
        Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory) => StoreError::Device(error.into()),
        _ => StoreError::Backend(error.into()),
    }
}

fn extended(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

/// Whether an error only says that somebody else was at it.
pub(crate) fn is_busy(error: &StoreError) -> bool {
    matches!(error, StoreError::Backend(source) if source.is::<Busy>())
}

/// Whether an error only says that a file could not be opened: the database, or one that belongs beside it.
pub(crate) fn is_unopenable(error: &StoreError) -> bool {
    let StoreError::Backend(source) = error else {
        return false;
    };
    let error: Option<&rusqlite::Error> = source.downcast_ref();
    error.and_then(rusqlite::Error::sqlite_error_code) == Some(ErrorCode::CannotOpen)
}

/// Another process kept the database to itself for longer than we wait.
#[derive(Debug, thiserror::Error)]
#[error("another process keeps the database locked")]
struct Busy(#[source] rusqlite::Error);
