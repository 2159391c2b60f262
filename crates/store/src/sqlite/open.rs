//! Opening a database file: whose it is, which schema it has, and bringing it up to date.
//!
//! An existing home must open within milliseconds, so nothing is written that is right already, and nothing is
//! checked that reading would find out anyway.

use std::fs::OpenOptions;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use wakeful_ports::planted;
use wakeful_ports::store::StoreError;

use crate::host;
use crate::pack::refused;
use crate::schema::{self, SCHEMA};
use crate::sql::{Access, Sql, at_most_one};
use crate::sqlite::connection::{Connection, is_busy, is_unopenable};
use crate::sqlite::still::Still;

/// Marks the file as ours: `WAKE` in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x5741_4b45;

/// Between two tries at what SQLite does not wait for by itself.
const RETRY: Duration = Duration::from_millis(5);

/// Opens a file for writing; makes it, or brings it up to date, where that is needed.
pub(crate) fn open_to_write(path: &Path, busy: Duration, host_id: &str) -> Result<Connection, StoreError> {
    let mut connection = writable(reach(path, busy)?)?;
    let schema = identify(&mut connection)?;
    use_write_ahead_log(&mut connection, busy)?;
    // FULL: a commit that was answered survives a power cut. The limit gives back the space of a rare huge
    // transaction; it is four times what the log grows to between two checkpoints.
    connection.control(if planted::bug("commit_unsynced") {
        "PRAGMA synchronous = OFF"
    } else {
        "PRAGMA synchronous = FULL"
    })?;
    connection.control("PRAGMA journal_size_limit = 16777216")?;
    if schema != SCHEMA {
        migrate(&mut connection, host_id)?;
    }
    Ok(connection)
}

/// A way to read a file.
pub(crate) enum Reader {
    /// With locks, so that others may write meanwhile.
    Shared(Connection),
    /// Without, which is right for as long as the file lies still.
    Still(Connection, Still),
}

/// Opens a file for reading, while others may write to it.
pub(crate) fn open_to_read(path: &Path, busy: Duration) -> Result<Reader, StoreError> {
    if !path.try_exists().map_err(refused)? {
        return Err(StoreError::Absent);
    }
    let mut connection = Connection::open(path, Access::Read, busy)?;
    match identify(&mut connection) {
        Err(error) if is_unopenable(&error) => match Still::of(path)? {
            Some(still) => open_still(still),
            None => Err(error),
        },
        found => {
            schema::readable(found?, SCHEMA)?;
            Ok(Reader::Shared(connection))
        }
    }
}

fn open_still(still: Still) -> Result<Reader, StoreError> {
    let mut connection = Connection::open_still(&still)?;
    schema::readable(identify(&mut connection)?, SCHEMA)?;
    Ok(Reader::Still(connection, still))
}

/// A database in memory with all its tables.
pub(crate) fn open_in_memory(host_id: &str) -> Result<Connection, StoreError> {
    let mut connection = Connection::memory()?;
    migrate(&mut connection, host_id)?;
    Ok(connection)
}

/// SQLite says only that it cannot open a file. Trying it ourselves tells why.
fn reach(path: &Path, busy: Duration) -> Result<Connection, StoreError> {
    let opened = Connection::open(path, Access::Write, busy);
    opened.map_err(|error| {
        let tried = OpenOptions::new().append(true).create(true).open(path);
        tried.err().map_or(error, refused)
    })
}

/// A home that cannot be written is told apart at once, not with the first thing that would have to be kept.
fn writable(connection: Connection) -> Result<Connection, StoreError> {
    if connection.is_read_only()? {
        Err(StoreError::ReadOnly)
    } else {
        Ok(connection)
    }
}

const IDENTITY: &str = "
    SELECT application_id, user_version, (SELECT COUNT(*) FROM sqlite_schema)
    FROM pragma_application_id, pragma_user_version";

/// The schema number of a database that is ours or empty.
fn identify(connection: &mut Connection) -> Result<u32, StoreError> {
    let rows = connection.query(IDENTITY, &[])?;
    let mut row = at_most_one(rows).ok_or(StoreError::Malformed("user_version"))?;
    let application = row.int("application_id")?;
    let version = row.int("user_version")?;
    let is_empty = row.int("sqlite_schema")? == 0;
    match (application, u32::try_from(version)) {
        (0, Ok(0)) if is_empty => Ok(0),
        (APPLICATION_ID, Ok(found)) if found > SCHEMA => {
            Err(StoreError::NewerSchema { found, known: SCHEMA })
        }
        (APPLICATION_ID, Ok(found)) => Ok(found),
        (_, Ok(_) | Err(_)) => Err(StoreError::Foreign),
    }
}

/// Sets the mode once in the life of a file. SQLite does not wait for others here, so we do.
fn use_write_ahead_log(connection: &mut Connection, busy: Duration) -> Result<(), StoreError> {
    let rows = connection.query("PRAGMA journal_mode", &[])?;
    let mut row = at_most_one(rows).ok_or(StoreError::Malformed("journal_mode"))?;
    if row.text("journal_mode")? == "wal" {
        return Ok(());
    }
    let begun = Instant::now();
    loop {
        match connection.control("PRAGMA journal_mode = WAL") {
            Err(error) if is_busy(&error) && begun.elapsed() < busy => thread::sleep(RETRY),
            done => return done,
        }
    }
}

/// Runs what is missing, in one transaction. Another process may have been faster, so the number is read again.
fn migrate(connection: &mut Connection, host_id: &str) -> Result<(), StoreError> {
    connection.begin_writing()?;
    let done = identify(connection).and_then(|seen| {
        for migration in schema::SQLITE.iter().skip(seen as usize) {
            connection.batch(migration)?;
        }
        connection.batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA};"
        ))?;
        host::found(connection, host_id)
    });
    match done {
        Ok(()) => connection.control("COMMIT"),
        Err(error) => {
            // The first error is the one to report.
            let _ = connection.rollback();
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Duration = Duration::from_secs(1);

    #[test]
    fn a_file_that_opened_for_reading_only_is_refused_to_a_writer() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        drop(open_to_write(&path, BUSY, "host").unwrap());
        let opened = Connection::open(&path, Access::Read, BUSY).unwrap();
        assert!(matches!(writable(opened).err(), Some(StoreError::ReadOnly)));
    }

    #[test]
    fn a_commit_is_synced_before_it_is_answered() {
        let home = tempfile::tempdir().unwrap();
        let mut connection = open_to_write(&home.path().join("agent.sqlite"), BUSY, "host").unwrap();
        let rows = connection.query("PRAGMA synchronous", &[]).unwrap();
        let full = at_most_one(rows).unwrap().int("synchronous").unwrap();
        assert_eq!(full, 2, "2 is FULL");
    }

    #[test]
    fn a_database_of_the_first_schema_is_brought_up_to_date_and_keeps_what_it_holds() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        let mut old = Connection::open(&path, Access::Write, BUSY).unwrap();
        old.batch(schema::SQLITE[0]).unwrap();
        old.batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1;
            INSERT INTO host VALUES (1, 'host', 1);
            INSERT INTO agent VALUES ('main', 'public', 'active', '/tmp', 1, 2, 3, 4);
            INSERT INTO agent_head VALUES ('main', 'host.1', NULL, 5, 6, zeroblob(32));"
        ))
        .unwrap();
        drop(old);
        let reading = open_to_read(&path, BUSY).err();
        assert!(matches!(
            reading,
            Some(StoreError::OlderSchema {
                found: 1,
                known: SCHEMA
            })
        ));
        let mut new = open_to_write(&path, BUSY, "other").unwrap();
        let main = wakeful_core::id::AgentId::parse("main").unwrap();
        let overview = crate::queue::overview(&mut new, &main).unwrap().unwrap();
        assert_eq!(
            (overview.agent.control.as_str(), overview.agent.model_rounds),
            ("running", 4)
        );
        assert_eq!((overview.queued, overview.last_seq), (0, 5));
    }
}
