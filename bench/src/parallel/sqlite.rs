//! The bare limit on SQLite: one thread, prepared statements, a commit for each group.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rusqlite::params_from_iter;

use super::rows::Rows;
use crate::plain;

/// Where the shared memory beside a database counts its transactions, as SQLite's file format documents it.
const TRANSACTIONS_AT: u64 = 8;

/// Writes everything to a fresh file and says how long it took.
pub(crate) fn write(path: &Path, rows: &Rows, transitions_per_commit: usize) -> Result<Duration> {
    let connection = plain::open(path)?;
    connection.execute_batch(&rows.schema)?;
    let statements = rows.statements.iter().map(|sql| connection.prepare(sql));
    let mut statements = statements.collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now();
    for group in rows.transitions.chunks(transitions_per_commit) {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for write in group.iter().flat_map(|transition| &transition.writes) {
            let statement = statements.get_mut(write.statement).context("no such statement")?;
            statement.execute(params_from_iter(&write.values))?;
        }
        connection.execute_batch("COMMIT")?;
    }
    Ok(begun.elapsed())
}

/// How many transactions an open database has committed, by its own count.
pub(crate) fn commits(database: &Path) -> Result<u32> {
    let mut name = database.as_os_str().to_owned();
    name.push("-shm");
    let mut file = File::open(&name).context("opening the shared memory of the database")?;
    file.seek(SeekFrom::Start(TRANSACTIONS_AT))?;
    let mut count = [0; 4];
    file.read_exact(&mut count)?;
    Ok(u32::from_ne_bytes(count))
}
