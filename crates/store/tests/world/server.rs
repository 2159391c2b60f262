//! A PostgreSQL database of its own for each test, dropped when the test ends.

use postgres::{Client, Config, NoTls};
use wakeful_store::{PostgresOptions, Store};

use super::{HOST, fresh_number};

/// A fresh database on the server that tests are given.
pub(crate) struct Server {
    admin: Config,
    name: String,
    pub(crate) url: String,
}

impl Server {
    /// Makes a database. Fails the test when there is no server: a test that did not run proves nothing.
    pub(crate) fn fresh() -> Self {
        let admin_url = given_url();
        let admin: Config = admin_url.parse().expect("WAKEFUL_TEST_POSTGRES is an address");
        let name = format!("wakeful_{:016x}", fresh_number());
        let mut client = admin
            .connect(NoTls)
            .expect("the server of WAKEFUL_TEST_POSTGRES answers");
        client
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .expect("a fresh database");
        let url = with_database(&admin_url, &name);
        Self { admin, name, url }
    }

    /// Opens a store on it.
    pub(crate) async fn open(&self) -> Store {
        Store::open_postgres(&self.options(), HOST)
            .await
            .expect("the store opens")
    }

    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions {
            url: self.url.clone(),
            connections: 4,
        }
    }

    /// Runs statements behind the store's back. Not from inside a task: the driver blocks.
    pub(crate) fn behind(&self, sql: &str) {
        self.try_behind(sql).expect("a statement behind the store's back");
    }

    /// The same for statements that may be refused.
    pub(crate) fn try_behind(&self, sql: &str) -> Result<(), postgres::Error> {
        let mut client = Client::connect(&self.url, NoTls).expect("a connection");
        client
            .batch_execute("SET search_path TO wakeful_agents")
            .expect("a search path");
        client.batch_execute(sql)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let dropped = self.admin.connect(NoTls).and_then(|mut client| {
            client.batch_execute(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name))
        });
        if let Err(error) = dropped {
            eprintln!("database {} stays behind: {error}", self.name);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test runner has no other way to name its server"
)]
fn given_url() -> String {
    std::env::var("WAKEFUL_TEST_POSTGRES").expect(
        "WAKEFUL_TEST_POSTGRES is not set: `scripts/check test` starts a PostgreSQL and sets it, \
         and so does `scripts/with-postgres COMMAND`",
    )
}

/// The same address with another database.
fn with_database(url: &str, name: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        // Of two values for one key the last one counts.
        return format!("{url} dbname={name}");
    };
    let (rest, query) = rest
        .split_once('?')
        .map_or((rest, String::new()), |(r, q)| (r, format!("?{q}")));
    let authority = rest.split_once('/').map_or(rest, |(authority, _)| authority);
    format!("{scheme}://{authority}/{name}{query}")
}
