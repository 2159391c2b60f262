//! One connection to a SQLite database: statements, transactions, and the translation of its errors.

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

/// Large enough for every statement of the crate, so that each is compiled once per connection.
const STATEMENTS_MAX: usize = 512;

/// The contents of a database, table by table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DatabaseImage(Vec<Table>);

#[derive(Debug, Clone, PartialEq)]
struct Table {
    empty: String,
    fill: String,
    rows: Vec<Vec<rusqlite::types::Value>>,
}

const TABLES: &str =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";

pub(crate) struct Connection {
    inner: rusqlite::Connection,
}

/// Whether triggers run for the statements of a connection.
#[derive(Clone, Copy)]
enum Triggers {
    On,
    Off,
}

impl Connection {
    /// Opens a file; with write access, creates it if it does not exist. Reads nothing yet.
    pub(crate) fn open(path: &Path, access: Access, busy: Duration) -> Result<Self> {
        // Without the URI flag, because a folder may have any name.
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
            | match access {
                Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
                Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            };
        Self::with(
            rusqlite::Connection::open_with_flags(path, flags).map_err(store_error)?,
            busy,
        )
    }

    /// Opens a file that no process writes, without locks and without its write-ahead log.
    pub(crate) fn open_still(still: &ImmutableFile) -> Result<Self> {
        let flags =
            OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let inner = rusqlite::Connection::open_with_flags(still.address(), flags).map_err(store_error)?;
        Self::with(inner, Duration::ZERO)
    }

    /// Opens a database in memory.
    pub(crate) fn memory() -> Result<Self> {
        Self::with(
            rusqlite::Connection::open_in_memory().map_err(store_error)?,
            Duration::ZERO,
        )
    }

    fn with(inner: rusqlite::Connection, busy: Duration) -> Result<Self> {
        inner.busy_timeout(busy).map_err(store_error)?;
        inner.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        // Without this setting, a statement with `LIMIT ?` is recompiled for every new value.
        inner
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
            .map_err(store_error)?;
        Ok(Self { inner })
    }

    /// Whether the file is read-only. SQLite opens it anyway and rejects each write later.
    pub(crate) fn is_read_only(&self) -> Result<bool> {
        self.inner.is_readonly("main").map_err(store_error)
    }

    /// Returns an in-memory database with the same pages.
    pub(crate) fn twin(&self) -> Result<Self> {
        let mut twin = Self::memory()?;
        self.copy_pages(&mut twin.inner)?;
        Ok(twin)
    }

    /// Returns the contents of all tables.
    pub(crate) fn contents(&mut self) -> Result<DatabaseImage> {
        let names = self.query(TABLES, &[])?;
        let names = records(names, |mut row| row.text("sqlite_schema.name"))?;
        let tables = names
            .into_iter()
            .map(|name| self.table(&name).map_err(store_error));
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

    /// Replaces the contents of all tables. Compiled statements stay valid.
    pub(crate) fn restore(&mut self, contents: &DatabaseImage) -> Result<()> {
        self.rollback()?;
        // The triggers that protect rows from other programs do not apply to a simulation that starts again.
        self.set_triggers(Triggers::Off)?;
        let restored = self.begin_writing().and_then(|()| {
            let written = contents.0.iter().try_for_each(|table| self.fill(table));
            written.map_err(store_error)?;
            self.control("COMMIT")
        });
        self.set_triggers(Triggers::On)?;
        restored
    }

    fn set_triggers(&self, triggers: Triggers) -> Result<()> {
        let config = DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
        let set = self.inner.set_db_config(config, matches!(triggers, Triggers::On));
        set.map(drop).map_err(store_error)
    }

    fn fill(&self, table: &Table) -> rusqlite::Result<()> {
        self.inner.prepare_cached(&table.empty)?.execute([])?;
        for row in &table.rows {
            let row = rusqlite::params_from_iter(row);
            self.inner.prepare_cached(&table.fill)?.execute(row)?;
        }
        Ok(())
    }

    /// Copies all pages as this connection sees them to another file, which is overwritten.
    pub(crate) fn copy_to(&self, path: &Path) -> Result<()> {
        self.copy_pages(&mut rusqlite::Connection::open(path).map_err(store_error)?)
    }

    fn copy_pages(&self, to: &mut rusqlite::Connection) -> Result<()> {
        let copying = Backup::new(&self.inner, to).map_err(store_error)?;
        // All pages are requested at once and no other process uses the copy, so anything but completion is
        // an error.
        if matches!(copying.step(-1).map_err(store_error)?, StepResult::Done) {
            return Ok(());
        }
        Err(StoreError::Backend("the copy is incomplete".into()))
    }

    /// Runs statements that are not part of a domain operation, such as a migration.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<()> {
        self.inner.execute_batch(sql).map_err(store_error)
    }

    /// Runs a statement and discards its rows: some pragmas return rows and some do not.
    pub(crate) fn control(&mut self, sql: &'static str) -> Result<()> {
        self.query(sql, &[]).map(drop)
    }

    /// Begins a transaction that reads one consistent snapshot.
    pub(crate) fn begin_reading(&mut self) -> Result<()> {
        self.control("BEGIN DEFERRED")
    }

    /// Begins an immediate transaction, so that no other writer can intervene between reading and writing.
    pub(crate) fn begin_writing(&mut self) -> Result<()> {
        self.control("BEGIN IMMEDIATE")
    }

    /// Whether a transaction is open. SQLite ends it by itself after some errors, such as a full disk.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.inner.is_autocommit()
    }

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
        let mut statement = self.inner.prepare_cached(sql).map_err(store_error)?;
        let rows = statement
            .execute(rusqlite::params_from_iter(params))
            .map_err(store_error)?;
        Ok(rows as u64)
    }

    fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        let mut statement = self.inner.prepare_cached(sql).map_err(store_error)?;
        let columns = statement.column_count();
        let mut rows = statement
            .query(rusqlite::params_from_iter(params))
            .map_err(store_error)?;
        let mut answer = Vec::new();
        while let Some(row) = rows.next().map_err(store_error)? {
            let values = (0..columns).map(|column| value(row.get_ref(column).map_err(store_error)?));
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

/// Converts a SQLite error to a store error.
pub(crate) fn store_error(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt(error.into()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Backend(Box::new(Busy(error)))
        }
        // The index of the write-ahead log cannot be enlarged because the disk is full, which SQLite does
        // not report as such.
        Some(ErrorCode::SystemIoFailure) if extended(&error) == Some(SQLITE_IOERR_SHMSIZE) => {
            StoreError::Full
        }
        // SQLite reports an exhausted quota like a disk failure.
        Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory) => StoreError::Device(error.into()),
        _ => StoreError::Backend(error.into()),
    }
}

fn extended(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

/// Whether an error means only that another process held the lock.
pub(crate) fn is_busy(error: &StoreError) -> bool {
    matches!(error, StoreError::Backend(source) if source.is::<Busy>())
}

/// Whether an error means only that a file could not be opened: the database or one of its auxiliary files.
pub(crate) fn is_unopenable(error: &StoreError) -> bool {
    let StoreError::Backend(source) = error else {
        return false;
    };
    let error: Option<&rusqlite::Error> = source.downcast_ref();
    error.and_then(rusqlite::Error::sqlite_error_code) == Some(ErrorCode::CannotOpen)
}

/// Another process held the lock for longer than the timeout.
#[derive(Debug, thiserror::Error)]
#[error("another process keeps the database locked")]
struct Busy(#[source] rusqlite::Error);
