//! Heartbeats and migrations against a real server. How long a lease is trusted is tested without one.

use std::sync::Arc;

use postgres::{Config, NoTls};
use wakeful_core::id::RunnerId;

use super::boot_time::BootTime;
use super::lease::{HeartbeatTask, Lease};
use super::{Connection, config, migrate};
use crate::rows::Runner;
use crate::schema::{AGENT, JOURNAL, SCHEMA, Schema};
use crate::sql::{Access, Sql as _, at_most_one};
use crate::{StoreError, Tx, runner};

/// A temporary database, dropped when the test ends.
struct Fresh {
    admin: Config,
    name: String,
    config: tokio_postgres::Config,
}

impl Fresh {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test runner has no other way to name its server"
    )]
    fn new(test: &str) -> Self {
        let url = std::env::var("WAKEFUL_TEST_POSTGRES").expect(
            "WAKEFUL_TEST_POSTGRES is not set: `scripts/check test` starts a PostgreSQL and sets it, \
             and so does `scripts/with-postgres COMMAND`",
        );
        let admin: Config = url.parse().unwrap();
        let name = format!("wakeful_{test}_{}", std::process::id());
        let mut client = admin.connect(NoTls).unwrap();
        client.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        let mut config = config(&url).unwrap();
        config.dbname(&name);
        Self { admin, name, config }
    }

    fn connect(&self) -> Connection {
        let mut connection = self.open(&AGENT);
        migrate::bring_up_to_date(&mut connection, &AGENT, "host").unwrap();
        connection
    }

    fn open(&self, schema: &Schema) -> Connection {
        Connection::open(&self.config, schema, Access::Write).unwrap()
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let _ = self
            .admin
            .connect(NoTls)
            .and_then(|mut client| client.batch_execute(&drop));
    }
}

fn registered(connection: &mut Connection) -> RunnerId {
    let runner_id = RunnerId::new("one");
    let place = "machine".to_owned();
    let runner = Runner {
        runner_id: runner_id.clone(),
        machine: place,
        pid: 1,
        pid_started: 1,
    };
    Tx::new(connection, None).register_runner(&runner).unwrap();
    runner_id
}

// Conformance: A-215
#[test]
fn a_heartbeat_renews_the_lease_here_and_in_the_database() {
    let fresh = Fresh::new("beat");
    let mut connection = fresh.connect();
    let one = registered(&mut connection);
    connection
        .batch("UPDATE runner SET heartbeat_at_ms = heartbeat_at_ms - 60000")
        .unwrap();
    let lease = Arc::new(Lease::default());
    let mut pulse = HeartbeatTask::new(fresh.config.clone(), one.clone(), Arc::clone(&lease));
    pulse.beat().unwrap();
    assert!(runner::confirm_alive(&mut connection, &one).unwrap());
    assert!(lease.holds_at(BootTime::now()));
    connection
        .batch("UPDATE runner SET heartbeat_at_ms = heartbeat_at_ms - 60000")
        .unwrap();
    assert!(!runner::confirm_alive(&mut connection, &one).unwrap());
    // The process that declared it dead may have taken its agents, so the lease stays lost.
    pulse.beat().unwrap();
    assert!(!runner::confirm_alive(&mut connection, &one).unwrap());
    assert!(!lease.holds_at(BootTime::now()));
}

#[test]
fn a_removed_runner_loses_its_lease_with_the_next_heartbeat() {
    let fresh = Fresh::new("buried");
    let mut connection = fresh.connect();
    let one = registered(&mut connection);
    let lease = Arc::new(Lease::default());
    let mut pulse = HeartbeatTask::new(fresh.config.clone(), one.clone(), Arc::clone(&lease));
    pulse.beat().unwrap();
    Tx::new(&mut connection, None).remove_dead_runner(&one).unwrap();
    pulse.beat().unwrap();
    assert!(!lease.holds_at(BootTime::now()));
}

// Conformance: A-219
#[test]
fn after_a_failed_heartbeat_the_lease_stays_and_the_next_one_reconnects() {
    let fresh = Fresh::new("lost");
    let mut connection = fresh.connect();
    let one = registered(&mut connection);
    let lease = Arc::new(Lease::default());
    let mut pulse = HeartbeatTask::new(fresh.config.clone(), one, Arc::clone(&lease));
    pulse.beat().unwrap();
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    connection.batch(kill).unwrap();
    assert!(matches!(pulse.beat(), Err(StoreError::Unreachable(_))));
    assert!(lease.holds_at(BootTime::now()), "ten seconds have not passed");
    pulse.beat().unwrap();
}

#[test]
fn the_sessions_of_a_reader_refuse_to_write() {
    let fresh = Fresh::new("reader");
    drop(fresh.connect());
    let mut connection = Connection::open(&fresh.config, &AGENT, Access::Read).unwrap();
    let written = connection.batch("UPDATE host SET incarnation = 2");
    assert!(matches!(written, Err(StoreError::ReadOnly)), "{written:?}");
}

/// The example migration of the schema tests, on a server.
const STEP: &str = "ALTER TABLE host ADD COLUMN label TEXT; UPDATE host SET label = host_id;";

// Conformance: L-024
#[test]
fn older_tables_on_a_server_are_migrated_with_their_data() {
    let fresh = Fresh::new("steps");
    fresh
        .connect()
        .batch("INSERT INTO cap VALUES ('main', 7, 1)")
        .unwrap();
    let steps: &'static [&'static str] = Vec::leak([AGENT.postgres, &[STEP]].concat());
    let new = Schema {
        sqlite: steps,
        postgres: steps,
        ..AGENT
    };
    let mut connection = fresh.open(&new);
    let read = migrate::look(&mut connection, &new);
    assert!(
        matches!(read, Err(StoreError::OlderSchema { found: SCHEMA, known }) if known == SCHEMA + 1),
        "{read:?}"
    );
    for _ in 0..2 {
        migrate::bring_up_to_date(&mut connection, &new, "other").unwrap();
    }
    migrate::look(&mut connection, &new).unwrap();
    let held = "SELECT daily_microusd FROM cap, host WHERE label = 'host'";
    let held = at_most_one(connection.query(held, &[]).unwrap());
    assert_eq!(held.unwrap().int("daily_microusd").unwrap(), 7);
    let mut older = fresh.open(&AGENT);
    for refused in [
        migrate::look(&mut older, &AGENT),
        migrate::bring_up_to_date(&mut older, &AGENT, "host"),
    ] {
        assert!(
            matches!(refused, Err(StoreError::NewerSchema { found, known: SCHEMA }) if found == SCHEMA + 1),
            "{refused:?}"
        );
    }
}

#[test]
fn a_migration_that_fails_leaves_the_tables_as_they_were() {
    let fresh = Fresh::new("broken");
    drop(fresh.connect());
    let steps: &'static [&'static str] =
        Vec::leak([AGENT.postgres, &["DROP TABLE cap", "CREATE TABLE broken (;"]].concat());
    let broken = Schema {
        sqlite: steps,
        postgres: steps,
        ..AGENT
    };
    migrate::bring_up_to_date(&mut fresh.open(&broken), &broken, "host").unwrap_err();
    let mut connection = fresh.open(&AGENT);
    migrate::look(&mut connection, &AGENT).unwrap();
    connection.batch("INSERT INTO cap VALUES ('main', 7, 1)").unwrap();
}

#[test]
fn tables_of_a_development_build_are_refused_and_left_unchanged() {
    const TABLES: &str = "SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname LIKE 'wakeful%'";
    for (schema, before) in [(&AGENT, "wakeful"), (&JOURNAL, "wakeful_journal")] {
        let fresh = Fresh::new(&format!("of_{before}"));
        let mut connection = fresh.open(schema);
        let made = format!(
            "CREATE SCHEMA {before}; CREATE TABLE {before}.schema_version (version BIGINT NOT NULL PRIMARY KEY);
            INSERT INTO {before}.schema_version VALUES (15);"
        );
        connection.batch(&made).unwrap();
        for refused in [
            migrate::look(&mut connection, schema),
            migrate::bring_up_to_date(&mut connection, schema, "host"),
        ] {
            assert!(matches!(refused, Err(StoreError::DevelopmentHome)), "{refused:?}");
        }
        let tables = at_most_one(connection.query(TABLES, &[]).unwrap());
        assert_eq!(
            tables.unwrap().int("count").unwrap(),
            1,
            "nothing was made beside it"
        );
    }
}
