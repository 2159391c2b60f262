//! The migrations, compiled in. Forward only: a released migration is never edited, and its hash is stored
//! next to it.

use crate::{Result, StoreError};

/// The schema that this program writes: the number of migrations applied to a database.
pub const SCHEMA: u32 = AGENT.number();

/// The journal schema that this program writes. It is numbered separately, because the journal outlives the
/// agents' database.
pub const JOURNAL_SCHEMA: u32 = JOURNAL.number();

/// The properties of one kind of database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    /// The migrations of a SQLite file, in order.
    pub(crate) sqlite: &'static [&'static str],
    /// The migrations of a PostgreSQL database, in order.
    pub(crate) postgres: &'static [&'static str],
    /// The PostgreSQL schema that holds the tables.
    pub(crate) namespace: &'static str,
    /// Identifies a SQLite file of Wakeful and its kind.
    pub(crate) application_id: i64,
}

/// The database of agents and their work: `WKFA` in ASCII.
pub(crate) static AGENT: Schema = Schema {
    sqlite: &[include_str!("../migrations/sqlite/0001_baseline.sql")],
    postgres: &[include_str!("../migrations/postgres/0001_baseline.sql")],
    namespace: "wakeful_agents",
    application_id: 0x574b_4641,
};

/// The person's records: `WKFJ` in ASCII.
pub(crate) static JOURNAL: Schema = Schema {
    sqlite: &[include_str!("../migrations/journal/sqlite/0001_baseline.sql")],
    postgres: &[include_str!("../migrations/journal/postgres/0001_baseline.sql")],
    namespace: "wakeful_records",
    application_id: 0x574b_464a,
};

/// Application ids of files written by builds before the baseline: `WAKE` and `WAKJ` in ASCII. Their schema
/// numbers were higher than today's, so they must not be mistaken for those of a newer program.
const DEVELOPMENT_IDS: [i64; 2] = [0x5741_4b45, 0x5741_4b4a];

impl Schema {
    /// The number of the newest schema.
    pub(crate) const fn number(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "there are a few migrations")]
        {
            self.sqlite.len() as u32
        }
    }

    /// Whether a file with this application id was written by a development build.
    pub(crate) fn is_development(application_id: i64) -> bool {
        DEVELOPMENT_IDS.contains(&application_id)
    }
}

/// Whether a database can be read without migration, which a reader cannot perform.
pub(crate) const fn readable(found: u32, known: u32) -> Result<()> {
    match found {
        // Another process is about to create the tables, or was stopped while doing so.
        0 => Err(StoreError::Absent),
        found if found == known => Ok(()),
        found if found > known => Err(StoreError::NewerSchema { found, known }),
        found => Err(StoreError::OlderSchema { found, known }),
    }
}

#[cfg(test)]
mod tests;
