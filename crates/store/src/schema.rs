//! The migrations, compiled in. Forward only: one that has landed is never edited, its hash is kept beside it.

use crate::{Result, StoreError};

/// The schema this program writes: how many migrations a database has seen.
pub const SCHEMA: u32 = 15;

/// The schema of the journal that this program writes. It has a number of its own, because it lives on when the other
/// database is reset.
pub const JOURNAL_SCHEMA: u32 = 3;

/// From here on rows that govern are bound to a log: those that are there are bound with it.
const SQLITE_RECORD: &str = include_str!("../migrations/sqlite/0015_record.sql");
const POSTGRES_RECORD: &str = include_str!("../migrations/postgres/0015_record.sql");

/// Whether bringing a database from a number up to date passes the migration from which on rows are bound.
pub(crate) fn binds_records(migrations: &[&str], seen: u32) -> bool {
    let mut passed = migrations.iter().skip(seen as usize);
    seen > 0 && passed.any(|migration| [SQLITE_RECORD, POSTGRES_RECORD].contains(migration))
}

/// What each number brings, in the two dialects.
pub(crate) const SQLITE: [&str; SCHEMA as usize] = [
    include_str!("../migrations/sqlite/0001_line.sql"),
    include_str!("../migrations/sqlite/0002_queue.sql"),
    include_str!("../migrations/sqlite/0003_spending.sql"),
    include_str!("../migrations/sqlite/0004_deciding.sql"),
    include_str!("../migrations/sqlite/0005_proof.sql"),
    include_str!("../migrations/sqlite/0006_care.sql"),
    include_str!("../migrations/sqlite/0007_saga.sql"),
    include_str!("../migrations/sqlite/0008_cause.sql"),
    include_str!("../migrations/sqlite/0009_subrun.sql"),
    include_str!("../migrations/sqlite/0010_alert.sql"),
    include_str!("../migrations/sqlite/0011_schedule.sql"),
    include_str!("../migrations/sqlite/0012_trigger.sql"),
    include_str!("../migrations/sqlite/0013_alertness.sql"),
    include_str!("../migrations/sqlite/0014_set_back.sql"),
    SQLITE_RECORD,
];

/// See [`SQLITE`].
pub(crate) const POSTGRES: [&str; SCHEMA as usize] = [
    include_str!("../migrations/postgres/0001_line.sql"),
    include_str!("../migrations/postgres/0002_queue.sql"),
    include_str!("../migrations/postgres/0003_spending.sql"),
    include_str!("../migrations/postgres/0004_deciding.sql"),
    include_str!("../migrations/postgres/0005_proof.sql"),
    include_str!("../migrations/postgres/0006_care.sql"),
    include_str!("../migrations/postgres/0007_saga.sql"),
    include_str!("../migrations/postgres/0008_cause.sql"),
    include_str!("../migrations/postgres/0009_subrun.sql"),
    include_str!("../migrations/postgres/0010_alert.sql"),
    include_str!("../migrations/postgres/0011_schedule.sql"),
    include_str!("../migrations/postgres/0012_trigger.sql"),
    include_str!("../migrations/postgres/0013_alertness.sql"),
    include_str!("../migrations/postgres/0014_set_back.sql"),
    POSTGRES_RECORD,
];

/// Everything that tells one kind of database from another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    /// How many migrations this program knows.
    pub(crate) number: u32,
    /// What each number brings to a file.
    pub(crate) sqlite: &'static [&'static str],
    /// What each number brings to a server.
    pub(crate) postgres: &'static [&'static str],
    /// The schema of a server's database that its tables stand in.
    pub(crate) namespace: &'static str,
    /// Marks a file as ours, and as one of this kind.
    pub(crate) application_id: i64,
}

/// What agents are and did: `WAKE` in ASCII.
pub(crate) static AGENT: Schema = Schema {
    number: SCHEMA,
    sqlite: &SQLITE,
    postgres: &POSTGRES,
    namespace: "wakeful",
    application_id: 0x5741_4b45,
};

/// What people wrote: `WAKJ` in ASCII.
pub(crate) static JOURNAL: Schema = Schema {
    number: JOURNAL_SCHEMA,
    sqlite: &[
        include_str!("../migrations/journal/sqlite/0001_journal.sql"),
        include_str!("../migrations/journal/sqlite/0002_rest.sql"),
        include_str!("../migrations/journal/sqlite/0003_outside.sql"),
    ],
    postgres: &[
        include_str!("../migrations/journal/postgres/0001_journal.sql"),
        include_str!("../migrations/journal/postgres/0002_rest.sql"),
        include_str!("../migrations/journal/postgres/0003_outside.sql"),
    ],
    namespace: "wakeful_journal",
    application_id: 0x5741_4b4a,
};

/// Whether a database can be read as it is: a reader may not bring it up to date.
pub(crate) const fn readable(found: u32, known: u32) -> Result<()> {
    match found {
        // Somebody is about to make it, or was stopped while doing so.
        0 => Err(StoreError::Absent),
        found if found == known => Ok(()),
        found if found > known => Err(StoreError::NewerSchema { found, known }),
        found => Err(StoreError::OlderSchema { found, known }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_database_has_as_many_migrations_as_its_number_says() {
        for schema in [&AGENT, &JOURNAL] {
            assert_eq!(
                schema.sqlite.len(),
                schema.number as usize,
                "{}",
                schema.namespace
            );
            assert_eq!(
                schema.postgres.len(),
                schema.number as usize,
                "{}",
                schema.namespace
            );
        }
    }

    #[test]
    fn a_reader_is_told_of_another_schema_and_of_none() {
        assert!(matches!(readable(0, 2), Err(StoreError::Absent)));
        assert!(matches!(
            readable(1, 2),
            Err(StoreError::OlderSchema { found: 1, known: 2 })
        ));
        assert!(readable(2, 2).is_ok());
        assert!(matches!(
            readable(3, 2),
            Err(StoreError::NewerSchema { found: 3, known: 2 })
        ));
    }
}
