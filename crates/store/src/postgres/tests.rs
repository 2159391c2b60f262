//! Beats against a real server. How long a lease is trusted is tested without one.

use std::sync::Arc;

use postgres::{Config, NoTls};
use wakeful_core::id::RunnerId;

use super::boot_time::BootTime;
use super::lease::{Lease, Pulse};
use super::{Connection, config, migrate};
use crate::rows::Runner;
use crate::schema::AGENT;
use crate::sql::Access;
use crate::{StoreError, Tx, runner};

/// A database of its own, dropped when the test ends.
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
        let mut connection = Connection::open(&self.config, &AGENT, Access::Write).unwrap();
        migrate::bring_up_to_date(&mut connection, &AGENT, "host").unwrap();
        connection
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
        place,
        pid: 1,
        pid_started: 1,
    };
    Tx::new(connection, None).register_runner(&runner).unwrap();
    runner_id
}

#[test]
fn a_beat_renews_the_lease_here_and_in_the_database() {
    let fresh = Fresh::new("beat");
    let mut connection = fresh.connect();
    let one = registered(&mut connection);
    connection
        .batch("UPDATE runner SET beat_at_ms = beat_at_ms - 60000")
        .unwrap();
    let lease = Arc::new(Lease::default());
    let mut pulse = Pulse::new(fresh.config.clone(), one.clone(), Arc::clone(&lease));
    pulse.beat().unwrap();
    assert!(runner::confirm_alive(&mut connection, &one).unwrap());
    assert!(lease.holds_at(BootTime::now()));
    connection
        .batch("UPDATE runner SET beat_at_ms = beat_at_ms - 60000")
        .unwrap();
    assert!(!runner::confirm_alive(&mut connection, &one).unwrap());
    // Whoever found it silent may have taken its agents, so the lease stays lost.
    pulse.beat().unwrap();
    assert!(!runner::confirm_alive(&mut connection, &one).unwrap());
    assert!(!lease.holds_at(BootTime::now()));
}

#[test]
fn a_runner_that_was_buried_loses_its_lease_with_the_next_beat() {
    let fresh = Fresh::new("buried");
    let mut connection = fresh.connect();
    let one = registered(&mut connection);
    let lease = Arc::new(Lease::default());
    let mut pulse = Pulse::new(fresh.config.clone(), one.clone(), Arc::clone(&lease));
    pulse.beat().unwrap();
    Tx::new(&mut connection, None).bury_runner(&one).unwrap();
    pulse.beat().unwrap();
    assert!(!lease.holds_at(BootTime::now()));
}

#[test]
fn a_beat_that_fails_leaves_the_lease_as_it_was_and_the_next_one_connects_again() {
    let fresh = Fresh::new("lost");
    let mut connection = fresh.connect();
    let one = registered(&mut connection);
    let lease = Arc::new(Lease::default());
    let mut pulse = Pulse::new(fresh.config.clone(), one, Arc::clone(&lease));
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
