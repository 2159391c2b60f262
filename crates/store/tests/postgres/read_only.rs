//! Readers of a server, which create nothing and need only read privileges.

use wakeful_store::{PostgresOptions, Store, StoreError};

use crate::contract::head::held;
use crate::fixture::{Server, block_on, fresh_number, sample};

fn options(url: &str) -> PostgresOptions {
    PostgresOptions {
        url: url.to_owned(),
        connections: 1,
    }
}

fn failed(url: &str) -> StoreError {
    match block_on(Store::open_postgres_read_only(&options(url))) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

fn made(server: &Server) {
    block_on(async { server.open().await.close().await.expect("closed") });
}

#[test]
fn a_reader_of_a_server_without_tables_creates_none() {
    let server = Server::fresh();
    assert!(matches!(failed(&server.url), StoreError::Absent));
    // This fails if the reader has created the schema.
    server.behind("CREATE SCHEMA wakeful_agents");
    assert!(matches!(failed(&server.url), StoreError::Absent));
    server.behind("CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY)");
    assert!(matches!(failed(&server.url), StoreError::Absent));
}

#[test]
fn a_reader_refuses_newer_and_foreign_schemas_on_a_server() {
    let server = Server::fresh();
    made(&server);
    server.behind("INSERT INTO schema_version (version) VALUES (99)");
    assert!(matches!(
        failed(&server.url),
        StoreError::NewerSchema {
            found: 99,
            known: wakeful_store::SCHEMA
        }
    ));
    let server = Server::fresh();
    server.behind("CREATE SCHEMA wakeful_agents; CREATE TABLE wakeful_agents.recipe (name TEXT)");
    assert!(matches!(failed(&server.url), StoreError::Foreign));
}

#[test]
fn a_reader_of_a_server_sees_writes_of_others_and_cannot_write() {
    let server = Server::fresh();
    block_on(async {
        let store = server.open().await;
        let reader = Store::open_postgres_read_only(&server.options())
            .await
            .expect("opens");
        held(&store).await;
        let seen = reader.read(|view| Ok((view.agents(true)?, view.runners()?)));
        let expected = (vec![sample::agent("main")], vec![sample::runner("one")]);
        assert_eq!(seen.await.expect("read"), expected);
        let written = reader.write(|tx| tx.create_agent(&sample::agent("late"))).await;
        assert!(matches!(written, Err(StoreError::ReadOnly)), "{written:?}");
        let packed = reader.pack(wakeful_core::blob::Blob::new(vec![1])).await;
        assert!(matches!(packed, Err(StoreError::ReadOnly)), "{packed:?}");
        assert!(!reader.holds_lease());
        reader.close().await.expect("closed");
        store.close().await.expect("closed");
    });
}

#[test]
fn a_reader_of_a_server_needs_only_read_privileges() {
    let server = Server::fresh();
    made(&server);
    let user = format!("reader_{:016x}", fresh_number());
    let url = format!("{} user={user}", server.url);
    server.behind(&format!("CREATE ROLE {user} LOGIN"));
    let without = failed(&url);
    server.behind(&format!(
        "GRANT USAGE ON SCHEMA wakeful_agents TO {user}; GRANT SELECT ON ALL TABLES IN SCHEMA wakeful_agents TO {user}"
    ));
    let incarnation = block_on(async {
        let reader = Store::open_postgres_read_only(&options(&url)).await?;
        let incarnation = reader.read(|view| view.incarnation()).await;
        reader.close().await?;
        incarnation
    });
    server.behind(&format!("DROP OWNED BY {user}; DROP ROLE {user}"));
    assert!(matches!(without, StoreError::Backend(_)), "{without:?}");
    assert_eq!(incarnation.expect("read").as_str(), "host.1");
}
