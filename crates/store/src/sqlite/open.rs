//! Opening a database file: whose it is, which schema it has, and bringing it up to date.
//!
//! An existing home must open within milliseconds, so nothing is written that is right already, and nothing is
//! checked that reading would find out anyway.

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

/// Between two tries at what SQLite does not wait for by itself.
const RETRY: Duration = Duration::from_millis(5);

/// A database that is open for writing.
pub(crate) struct OpenDatabase {
    pub(crate) connection: Connection,
    pub(crate) log: Wal,
    pub(crate) upgraded: Option<SchemaUpgrade>,
}

/// Opens a file for writing; makes it, or brings it up to date, where that is needed.
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
        return Err(damaged("it holds no tables, and a new database has all of them"));
    }
    use_write_ahead_log(&mut connection, busy)?;
    // FULL: a commit that was answered survives a power cut. The limit gives back the space of a rare huge
    // transaction; it is four times what the log grows to between two checkpoints.
    connection.control(if planted_bugs::is_planted("commit_unsynced") {
        "PRAGMA synchronous = OFF"
    } else {
        "PRAGMA synchronous = FULL"
    })?;
    connection.control("PRAGMA journal_size_limit = 16777216")?;
    let mut upgraded = None;
    if found != schema.number() {
        // What it was is kept whole before anything is changed.
        let copy = copy::keep_old(&connection, path, schema, found)?;
        migrate(&mut connection, schema, host_id)?;
        copy::forget_older(path, schema.number());
        upgraded = copy.map(|copy| SchemaUpgrade {
            from: found,
            to: schema.number(),
            copy,
        });
    }
    // A look makes the log where none is yet; a database that was not logged before has none.
    identify(&mut connection, schema)?;
    Ok(OpenDatabase {
        log: Wal::of(path)?,
        connection,
        upgraded,
    })
}

/// A way to read a file.
pub(crate) enum Reader {
    /// With locks, so that others may write meanwhile.
    Shared(Connection),
    /// Without, which is right for as long as the file lies still.
    Immutable(Connection, ImmutableFile),
}

/// Opens a file for reading, while others may write to it.
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

/// A fresh database in memory with all its tables.
pub(crate) fn make_in_memory(schema: &Schema, host_id: &str) -> Result<Connection> {
    let mut connection = Connection::memory()?;
    migrate(&mut connection, schema, host_id)?;
    Ok(connection)
}

/// SQLite says only that it cannot open a file. Trying it ourselves tells why.
fn reach(path: &Path, busy: Duration) -> Result<Connection> {
    let opened = Connection::open(path, Access::Write, busy);
    opened.map_err(|error| {
        let tried = OpenOptions::new().append(true).open(path);
        tried.err().map_or(error, refused)
    })
}

/// A home that cannot be written is told apart at once, not with the first thing that would have to be kept.
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

/// Looks at a file for the first time, whosever it is.
pub(crate) fn may_be_ours(connection: &mut Connection) -> Result<(i64, i64, bool)> {
    let rows = connection.query(IDENTITY, &[])?;
    let mut row = at_most_one(rows).ok_or(StoreError::Malformed("user_version"))?;
    let (application, version) = (row.int("application_id")?, row.int("user_version")?);
    Ok((application, version, row.int("sqlite_schema")? == 0))
}

/// The schema number of a database that is ours or empty.
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

/// Sets the mode once in the life of a file. SQLite does not wait for others here, so we do.
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

/// Runs what is missing, in one transaction. Another process may have been faster, so the number is read again.
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
            // The first error is the one to report.
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
    fn a_file_that_opened_for_reading_only_is_refused_to_a_writer() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        drop(open_to_write(&path, &AGENT, BUSY, "host").unwrap());
        let opened = Connection::open(&path, Access::Read, BUSY).unwrap();
        assert!(matches!(writable(opened).err(), Some(StoreError::ReadOnly)));
    }

    #[test]
    fn what_a_killed_maker_left_is_removed_and_the_database_made() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sqlite");
        // No process has a number this high.
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
    fn of_two_makers_the_first_one_s_database_stays() {
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
    fn a_commit_is_synced_before_it_is_answered() {
        let home = tempfile::tempdir().unwrap();
        let opened = open_to_write(&home.path().join("agent.sqlite"), &AGENT, BUSY, "host").unwrap();
        let mut connection = opened.connection;
        let rows = connection.query("PRAGMA synchronous", &[]).unwrap();
        let full = at_most_one(rows).unwrap().int("synchronous").unwrap();
        assert_eq!(full, 2, "2 is FULL");
    }
}
