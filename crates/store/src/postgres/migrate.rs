//! Whether a PostgreSQL database is up to date, and bringing it there, also when several processes start at once.
//!
//! The lock is on a table of our own and ends with its transaction. Advisory locks would do the same on one
//! server, but not on every engine that speaks its protocol.

use crate::host;
use crate::postgres::connection::Connection;
use crate::schema::{self, Schema};
use crate::sql::{Param, Sql, at_most_one};
use crate::{Result, StoreError};

/// Makes sure that the tables are there and as this program knows them.
pub(crate) fn bring_up_to_date(connection: &mut Connection, schema: &Schema, host_id: &str) -> Result<()> {
    if has_versions(connection, schema)? && current(connection, schema)? == schema.number() {
        return Ok(());
    }
    prepare(connection, schema)?;
    connection.begin_writing()?;
    match migrate(connection, schema, host_id) {
        Ok(()) => connection.batch("COMMIT"),
        Err(error) => {
            // The first error is the one to report.
            let _ = connection.rollback();
            Err(error)
        }
    }
}

/// Whether the tables are there and as this program knows them. Changes nothing.
pub(crate) fn look(connection: &mut Connection, schema: &Schema) -> Result<()> {
    // Counted before it is asked whether ours is among them: in between another process may make it.
    let tables = count(connection, TABLES, &[schema.namespace.into()])?;
    if has_versions(connection, schema)? {
        return schema::readable(current(connection, schema)?, schema.number());
    }
    refuse_development(connection)?;
    Err(if tables > 0 {
        StoreError::Foreign
    } else {
        StoreError::Absent
    })
}

const DEVELOPMENT: &str = "
    SELECT COUNT(*) FROM pg_catalog.pg_tables
    WHERE schemaname IN ('wakeful', 'wakeful_journal') AND tablename = 'schema_version'";

/// Refuses a database in which builds before the baseline kept their tables.
fn refuse_development(connection: &mut Connection) -> Result<(), StoreError> {
    match count(connection, DEVELOPMENT, &[])? {
        0 => Ok(()),
        _ => Err(StoreError::DevelopmentHome),
    }
}

const HAS_VERSIONS: &str = "
    SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = ?1 AND tablename = 'schema_version'";

fn has_versions(connection: &mut Connection, schema: &Schema) -> Result<bool> {
    count(connection, HAS_VERSIONS, &[schema.namespace.into()]).map(|tables| tables > 0)
}

// Each connection looks for tables in its own schema and nowhere else.
const VERSION: &str = "SELECT COALESCE(MAX(version), 0) FROM schema_version";

fn current(connection: &mut Connection, schema: &Schema) -> Result<u32> {
    let found = count(connection, VERSION, &[])?;
    let found = u32::try_from(found).map_err(|_| StoreError::Malformed("schema_version.version"))?;
    let known = schema.number();
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    Ok(found)
}

const SCHEMAS: &str = "SELECT COUNT(*) FROM pg_catalog.pg_namespace WHERE nspname = ?1";

const TABLES: &str = "SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = ?1";

/// Makes what the lock stands on. It comes before all other tables, so tables without it are somebody else's.
fn prepare(connection: &mut Connection, schema: &Schema) -> Result<()> {
    refuse_development(connection)?;
    let namespace = schema.namespace;
    if count(connection, SCHEMAS, &[namespace.into()])? == 0 {
        connection.create(&format!("CREATE SCHEMA IF NOT EXISTS {namespace}"))?;
    }
    // Counted before it is asked whether ours is among them: in between another process may make it.
    let tables = count(connection, TABLES, &[namespace.into()])?;
    if has_versions(connection, schema)? {
        return Ok(());
    }
    if tables > 0 {
        return Err(StoreError::Foreign);
    }
    connection.create("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY)")
}

const SEEN: &str = "INSERT INTO schema_version (version) VALUES (?1)";

fn migrate(connection: &mut Connection, schema: &Schema, host_id: &str) -> Result<()> {
    connection.batch("LOCK TABLE schema_version IN EXCLUSIVE MODE")?;
    let seen = current(connection, schema)?;
    for (number, migration) in (1_u32..).zip(schema.postgres).skip(seen as usize) {
        connection.batch(migration)?;
        connection.execute(SEEN, &[number.into()])?;
    }
    host::found(connection, host_id)
}

fn count(connection: &mut Connection, query: &'static str, params: &[Param<'_>]) -> Result<i64> {
    let rows = connection.query(query, params)?;
    at_most_one(rows)
        .ok_or(StoreError::Malformed("count"))?
        .int("count")
}
