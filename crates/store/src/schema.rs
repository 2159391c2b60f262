//! The migrations, compiled in. Forward only: one that has landed is never edited, its hash is kept beside it.

use wakeful_ports::store::StoreError;

/// The schema this program writes: how many migrations a database has seen.
pub const SCHEMA: u32 = 7;

/// What each number brings, in the two dialects.
pub(crate) const SQLITE: [&str; SCHEMA as usize] = [
    include_str!("../migrations/sqlite/0001_line.sql"),
    include_str!("../migrations/sqlite/0002_queue.sql"),
    include_str!("../migrations/sqlite/0003_spending.sql"),
    include_str!("../migrations/sqlite/0004_deciding.sql"),
    include_str!("../migrations/sqlite/0005_proof.sql"),
    include_str!("../migrations/sqlite/0006_care.sql"),
    include_str!("../migrations/sqlite/0007_saga.sql"),
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
];

/// Whether a database can be read as it is: a reader may not bring it up to date.
pub(crate) const fn readable(found: u32, known: u32) -> Result<(), StoreError> {
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
