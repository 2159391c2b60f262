//! Opens a database file: checks that it belongs to Wakeful, checks its schema, and migrates it.
//!
//! An existing home must open within milliseconds, so nothing is rewritten that is already correct, and
//! nothing is checked that reading would detect anyway.

use std::fs::OpenOptions;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use wakeful_ports::planted_bugs;

use crate::host;
use crate::pack::{damaged, refused};
use crate::schema::{self, Schema};
use crate::sql::{Access, Sql, at_most_one};
use crate::sqlite::connection::{Connection, is_busy};
use crate::sqlite::copy::{self, SchemaUpgrade};
use crate::sqlite::immutable::ImmutableFile;
use crate::sqlite::wal::{self, Wal};
use crate::{Result, StoreError};

/// Delay between attempts at operations for which SQLite does not wait by itself.
const RETRY: Duration = Duration::from_millis(5);

/// A database that is open for writing.
pub(crate) struct OpenDatabase {
    pub(crate) connection: Connection,
    pub(crate) log: Wal,
    pub(crate) upgraded: Option<SchemaUpgrade>,
}

/// Opens a file for writing; creates or migrates it if needed.
pub(crate) fn open_to_write(
    path: &Path,
    schema: &Schema,
    busy: Duration,
    host_id: &str,
) -> Result<OpenDatabase> {
    if !path.try_exists().map_err(refused)? {
        copy::put_in_place(&make_in_memory(schema, host_id)?, path)?;
    }
    copy::refuse_stub(path)?;
    wal::refuse_without(path)?;
    let mut connection = writable(reach(path, busy)?)?;
    let found = identify(&mut connection, schema)?;
    if found == 0 {
        return Err(damaged(
            "it contains no tables, but a new database contains all of them",
        ));
    }
    use_write_ahead_log(&mut connection, busy)?;
    // FULL: an acknowledged commit survives a power failure. The size limit frees the space of a rare large
    // transaction; it is four times the size of the log between two checkpoints.
    connection.control(if planted_bugs::is_planted("commit_unsynced") {
        "PRAGMA synchronous = OFF"
    } else {
        "PRAGMA synchronous = FULL"
    })?;
    connection.control("PRAGMA journal_size_limit = 16777216")?;
    let mut upgraded = None;
    if found != schema.number() {
        // Keep a complete copy before changing anything.
        let copy = copy::keep_old(&connection, path, schema, found)?;
        migrate(&mut connection, schema, host_id)?;
        copy::forget_older(path, schema.number());
        upgraded = copy.map(|copy| SchemaUpgrade {
            from: found,
            to: schema.number(),
            copy,
        });
    }
    // The first read creates the log if there is none, as in a database that was not in WAL mode before.
    identify(&mut connection, schema)?;
    Ok(OpenDatabase {
        log: Wal::of(path)?,
        connection,
        upgraded,
    })
}

/// A connection that reads a file.
pub(crate) enum Reader {
    /// With locks, so that other processes may write at the same time.
    Shared(Connection),
    /// Without locks, which is correct while no process writes the file.
    Immutable(Connection, ImmutableFile),
}

/// Opens a file for reading while other processes may write to it.
pub(crate) fn open_to_read(path: &Path, schema: &Schema, busy: Duration) -> Result<Reader> {
    if !path.try_exists().map_err(refused)? {
        return Err(StoreError::Absent);
    }
    copy::refuse_stub(path)?;
    wal::refuse_without(path)?;
    let mut connection = Connection::open(path, Access::Read, busy)?;
    let found = match identify(&mut connection, schema) {
        Ok(found) => found,
        Err(error) => {
            return match ImmutableFile::instead(path, &error)? {
                Some(still) => open_still(still, schema),
                None => Err(error),
            };
        }
    };
    schema::readable(found, schema.number())?;
    Ok(Reader::Shared(connection))
}

fn open_still(still: ImmutableFile, schema: &Schema) -> Result<Reader> {
    let mut connection = Connection::open_still(&still)?;
    schema::readable(identify(&mut connection, schema)?, schema.number())?;
    Ok(Reader::Immutable(connection, still))
}

/// Creates an empty in-memory database with all tables.
pub(crate) fn make_in_memory(schema: &Schema, host_id: &str) -> Result<Connection> {
    let mut connection = Connection::memory()?;
    migrate(&mut connection, schema, host_id)?;
    Ok(connection)
}

/// SQLite reports only that it cannot open a file; opening it directly gives the reason.
fn reach(path: &Path, busy: Duration) -> Result<Connection> {
    let opened = Connection::open(path, Access::Write, busy);
    opened.map_err(|error| {
        let tried = OpenOptions::new().append(true).open(path);
        tried.err().map_or(error, refused)
    })
}

/// Refuses a read-only file when it is opened, instead of at the first write.
fn writable(connection: Connection) -> Result<Connection> {
    if connection.is_read_only()? {
        Err(StoreError::ReadOnly)
    } else {
        Ok(connection)
    }
}

const IDENTITY: &str = "
    SELECT application_id, user_version, (SELECT COUNT(*) FROM sqlite_schema)
    FROM pragma_application_id, pragma_user_version";

/// Reads application id, schema number and whether there are tables, before it is known which program owns
/// the file.
pub(crate) fn may_be_ours(connection: &mut Connection) -> Result<(i64, i64, bool)> {
    let rows = connection.query(IDENTITY, &[])?;
    let mut row = at_most_one(rows).ok_or(StoreError::Malformed("user_version"))?;
    let (application, version) = (row.int("application_id")?, row.int("user_version")?);
    Ok((application, version, row.int("sqlite_schema")? == 0))
}

/// Returns the schema number of a database that belongs to Wakeful or is empty.
pub(crate) fn identify(connection: &mut Connection, schema: &Schema) -> Result<u32> {
    let (application, version, is_empty) = may_be_ours(connection)?;
    if Schema::is_development(application) {
        return Err(StoreError::DevelopmentHome);
    }
    let known = schema.number();
    match u32::try_from(version) {
        Ok(0) if application == 0 && is_empty => Ok(0),
        Ok(found) if application == schema.application_id && found > known => {
            Err(StoreError::NewerSchema { found, known })
        }
        Ok(found) if application == schema.application_id => Ok(found),
        Ok(_) | Err(_) => Err(StoreError::Foreign),
    }
}

/// Sets WAL mode once per file. SQLite does not wait for other processes here, so this function retries.
fn use_write_ahead_log(connection: &mut Connection, busy: Duration) -> Result<()> {
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

/// Applies the missing migrations in one transaction. Reads the schema number again, because another
/// process may have been faster.
fn migrate(connection: &mut Connection, schema: &Schema, host_id: &str) -> Result<()> {
    connection.begin_writing()?;
    let done = identify(connection, schema).and_then(|seen| {
        for migration in schema.sqlite.iter().skip(seen as usize) {
            connection.batch(migration)?;
        }
        connection.batch(&format!(
            "PRAGMA application_id = {}; PRAGMA user_version = {};",
            schema.application_id,
            schema.number()
        ))?;
        host::found(connection, host_id)
    });
    match done {
        Ok(()) => connection.control("COMMIT"),
        Err(error) => {
            // Report the first error.
            let _ = connection.rollback();
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::AGENT;

    const BUSY: Duration = Duration::from_secs(1);

    #[test]
    fn a_writer_refuses_a_file_that_opened_read_only() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        drop(open_to_write(&path, &AGENT, BUSY, "host").unwrap());
        let opened = Connection::open(&path, Access::Read, BUSY).unwrap();
        assert!(matches!(writable(opened).err(), Some(StoreError::ReadOnly)));
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed_and_the_database_is_created() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        // No process has an id this high.
        let left = home.path().join("agent.sqlite.new.4294967295.0.draft");
        std::fs::write(&left, "half").unwrap();
        let opened = open_to_write(&path, &AGENT, BUSY, "host").unwrap();
        assert!(!left.exists() && opened.upgraded.is_none());
        drop(opened);
        let names = std::fs::read_dir(home.path()).unwrap().filter_map(Result::ok);
        assert_eq!(
            names.map(|entry| entry.file_name()).collect::<Vec<_>>(),
            ["agent.sqlite"]
        );
    }

    #[test]
    fn of_two_created_databases_the_first_one_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        let host_of = |path: &Path| {
            let mut opened = open_to_write(path, &AGENT, BUSY, "third").unwrap().connection;
            crate::View::new(&mut opened, None)
                .incarnation()
                .unwrap()
                .to_string()
        };
        for host in ["first", "second"] {
            copy::put_in_place(&make_in_memory(&AGENT, host).unwrap(), &path).unwrap();
        }
        assert_eq!(host_of(&path), "first.1");
    }

    #[test]
    fn a_commit_is_synced_before_it_is_acknowledged() {
        let home = tempfile::tempdir().unwrap();
        let opened = open_to_write(&home.path().join("agent.sqlite"), &AGENT, BUSY, "host").unwrap();
        let mut connection = opened.connection;
        let rows = connection.query("PRAGMA synchronous", &[]).unwrap();
        let full = at_most_one(rows).unwrap().int("synchronous").unwrap();
        assert_eq!(full, 2, "2 is FULL");
    }
}
