//! Whether a PostgreSQL database is up to date, and bringing it there, also when several processes start at once.
//!
//! The lock is on a table of our own and ends with its transaction. Advisory locks would do the same on one
//! server, but not on every engine that speaks its protocol.

use wakeful_ports::store::StoreError;

use crate::host;
use crate::postgres::connection::Connection;
use crate::schema::{self, SCHEMA};
use crate::sql::{Sql, at_most_one};

/// Makes sure that the tables are there and as this program knows them.
pub(crate) fn bring_up_to_date(connection: &mut Connection, host_id: &str) -> Result<(), StoreError> {
    if has_versions(connection)? && current(connection)? == SCHEMA {
        return Ok(());
    }
    prepare(connection)?;
    connection.begin_writing()?;
    match migrate(connection, host_id) {
        Ok(()) => connection.batch("COMMIT"),
        Err(error) => {
            // The first error is the one to report.
            let _ = connection.rollback();
            Err(error)
        }
    }
}

/// Whether the tables are there and as this program knows them. Changes nothing.
pub(crate) fn look(connection: &mut Connection) -> Result<(), StoreError> {
    // Counted before it is asked whether ours is among them: in between another process may make it.
    let tables = count(connection, TABLES)?;
    if has_versions(connection)? {
        return schema::readable(current(connection)?, SCHEMA);
    }
    Err(if tables > 0 {
        StoreError::Foreign
    } else {
        StoreError::Absent
    })
}

const HAS_VERSIONS: &str = "
    SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = 'wakeful' AND tablename = 'schema_version'";

fn has_versions(connection: &mut Connection) -> Result<bool, StoreError> {
    count(connection, HAS_VERSIONS).map(|tables| tables > 0)
}

const VERSION: &str = "SELECT COALESCE(MAX(version), 0) FROM wakeful.schema_version";

fn current(connection: &mut Connection) -> Result<u32, StoreError> {
    let found = count(connection, VERSION)?;
    let found = u32::try_from(found).map_err(|_| StoreError::Malformed("schema_version.version"))?;
    if found > SCHEMA {
        return Err(StoreError::NewerSchema { found, known: SCHEMA });
    }
    Ok(found)
}

const SCHEMAS: &str = "SELECT COUNT(*) FROM pg_catalog.pg_namespace WHERE nspname = 'wakeful'";

const TABLES: &str = "SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = 'wakeful'";

/// Makes what the lock stands on. It comes before all other tables, so tables without it are somebody else's.
fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    if count(connection, SCHEMAS)? == 0 {
        connection.create("CREATE SCHEMA IF NOT EXISTS wakeful")?;
    }
    // Counted before it is asked whether ours is among them: in between another process may make it.
    let tables = count(connection, TABLES)?;
    if has_versions(connection)? {
        return Ok(());
    }
    if tables > 0 {
        return Err(StoreError::Foreign);
    }
    connection
        .create("CREATE TABLE IF NOT EXISTS wakeful.schema_version (version BIGINT NOT NULL PRIMARY KEY)")
}

const SEEN: &str = "INSERT INTO wakeful.schema_version (version) VALUES (?1)";

fn migrate(connection: &mut Connection, host_id: &str) -> Result<(), StoreError> {
    connection.batch("LOCK TABLE wakeful.schema_version IN EXCLUSIVE MODE")?;
    let seen = current(connection)?;
    for (number, migration) in (1_u32..).zip(schema::POSTGRES).skip(seen as usize) {
        connection.batch(migration)?;
        connection.execute(SEEN, &[number.into()])?;
    }
    host::found(connection, host_id)
}

fn count(connection: &mut Connection, query: &'static str) -> Result<i64, StoreError> {
    let rows = connection.query(query, &[])?;
    at_most_one(rows)
        .ok_or(StoreError::Malformed("count"))?
        .int("count")
}
