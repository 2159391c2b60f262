//! Plain SQLite on the same disk: rows as long as a message, committed one by one or in groups.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use rusqlite::Connection;

use crate::plain;

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS bare (n INTEGER NOT NULL PRIMARY KEY, body TEXT NOT NULL) STRICT;";

const INSERT: &str = "INSERT INTO bare (body) VALUES (?1)";

/// The stored part of a message.
const BODY: &str = "Message 0: please look at the newest report.";

/// A database that only receives rows.
pub(crate) struct Commits {
    connection: Connection,
}

impl Commits {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let connection = plain::open(path)?;
        connection.execute_batch(TABLE)?;
        Ok(Self { connection })
    }

    /// The duration of this many rows in commits of this size.
    pub(crate) fn time(&self, rows: usize, rows_per_commit: usize) -> Result<Duration> {
        let mut insert = self.connection.prepare(INSERT)?;
        let begun = Instant::now();
        for _ in 0..rows / rows_per_commit {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            for _ in 0..rows_per_commit {
                insert.execute([BODY])?;
            }
            self.connection.execute_batch("COMMIT")?;
        }
        Ok(begun.elapsed())
    }
}
