//! SQLite without the store: the minimum cost of the same durability.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};

use crate::measure::ms;

/// Opens or creates a file and configures it as the store does: write-ahead log, every commit synced, the
/// log's size bounded.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216;",
    )?;
    Ok(connection)
}

/// Opens a file that a store has closed.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection> {
    Ok(Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY,
    )?)
}

/// The statements that create the tables of a database, to create the same elsewhere.
pub(crate) fn schema(connection: &Connection) -> Result<String> {
    let mut statement =
        connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")?;
    let made = statement.query_map([], |row| row.get::<_, String>(0))?;
    Ok(made.collect::<Result<Vec<_>, _>>()?.join(";\n") + ";")
}

/// Milliseconds to open a file, apply `schema`, commit one small row several times, and close.
pub(crate) fn commits_ms(path: &Path, schema: &str, commits: usize) -> Result<f64> {
    let begun = Instant::now();
    let connection = open(path)?;
    // In one transaction, as the store creates its tables.
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {schema} COMMIT;"))?;
    for _ in 0..commits {
        connection.execute("INSERT INTO bare (n) VALUES (1)", [])?;
    }
    connection.close().map_err(|(_, error)| error)?;
    Ok(ms(begun.elapsed()))
}
