//! Checks and migrates the schema of a PostgreSQL database, even if several processes start at the same
//! time.
//!
//! The lock is on our own table and ends with its transaction. Advisory locks would work on PostgreSQL
//! itself, but not on every engine that implements its protocol.

use crate::host;
use crate::postgres::connection::Connection;
use crate::schema::{self, Schema};
use crate::sql::{Param, Sql, at_most_one};
use crate::{Result, StoreError};

/// Creates or migrates the tables to the schema of this program.
pub(crate) fn bring_up_to_date(connection: &mut Connection, schema: &Schema, host_id: &str) -> Result<()> {
    if has_versions(connection, schema)? && current(connection, schema)? == schema.number() {
        return Ok(());
    }
    prepare(connection, schema)?;
    connection.begin_writing()?;
    match migrate(connection, schema, host_id) {
        Ok(()) => connection.batch("COMMIT"),
        Err(error) => {
            // Report the first error.
            let _ = connection.rollback();
            Err(error)
        }
    }
}

/// Checks that the tables exist and have the schema of this program. Changes nothing.
pub(crate) fn look(connection: &mut Connection, schema: &Schema) -> Result<()> {
    // Count the tables before checking for ours: another process may create it in between.
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

/// Refuses a database with tables of builds before the baseline.
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

// Each connection searches for tables only in its own schema.
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

/// Creates the table used as the lock. It is created before all others, so a schema that has tables but not
/// this one belongs to another program.
fn prepare(connection: &mut Connection, schema: &Schema) -> Result<()> {
    refuse_development(connection)?;
    let namespace = schema.namespace;
    if count(connection, SCHEMAS, &[namespace.into()])? == 0 {
        connection.create(&format!("CREATE SCHEMA IF NOT EXISTS {namespace}"))?;
    }
    // Count the tables before checking for ours: another process may create it in between.
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
