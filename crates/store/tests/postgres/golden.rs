//! Tables of every schema that was ever released are brought up to date with all that they hold.

use wakeful_core::time::Millis;
use wakeful_store::SCHEMA;

use crate::world::{Server, block_on, lived, sample};

/// What each schema brought, up to the newest that was released.
const RELEASED: [&str; 14] = [
    include_str!("../../migrations/postgres/0001_line.sql"),
    include_str!("../../migrations/postgres/0002_queue.sql"),
    include_str!("../../migrations/postgres/0003_spending.sql"),
    include_str!("../../migrations/postgres/0004_deciding.sql"),
    include_str!("../../migrations/postgres/0005_proof.sql"),
    include_str!("../../migrations/postgres/0006_care.sql"),
    include_str!("../../migrations/postgres/0007_saga.sql"),
    include_str!("../../migrations/postgres/0008_cause.sql"),
    include_str!("../../migrations/postgres/0009_subrun.sql"),
    include_str!("../../migrations/postgres/0010_alert.sql"),
    include_str!("../../migrations/postgres/0011_schedule.sql"),
    include_str!("../../migrations/postgres/0012_trigger.sql"),
    include_str!("../../migrations/postgres/0013_alertness.sql"),
    include_str!("../../migrations/postgres/0014_set_back.sql"),
];

/// Rows that every schema can hold.
const ROWS: &str = "
    INSERT INTO host VALUES (1, 'host', 1);
    INSERT INTO agent (agent_id, visibility, lifecycle, workspace, created_at_ms, input_tokens, output_tokens, model_rounds)
        VALUES ('main', 'public', 'active', '/tmp', 1, 2, 3, 4);
    INSERT INTO agent_head (agent_id, incarnation, runner_id, fence, next_seq, chain_hash)
        VALUES ('main', 'host.1', NULL, 5, 2, sha256('head'));
    INSERT INTO run VALUES (sha256('run'), 'main', 'main:session:cli', 'turn', 1, 1, '{}', 'completed', 10, 20);
    INSERT INTO journal VALUES (sha256('run'), 1, '{}', sha256('r'), sha256('s'), sha256('e'), 10);
    INSERT INTO entry VALUES ('main:session:cli', 1, sha256('run'), 'user', sha256('said'), 10);
    INSERT INTO blob VALUES (sha256('said'), 4, 'raw', 'said');
    INSERT INTO event VALUES ('main', 1, sha256('run'), 'run_started', 10, sha256('h'), sha256('p'), '', '{}', sha256('salt'));";

/// What a program of schema 14 wrote.
const LIVED: &str = include_str!("../golden/postgres-14.sql");

/// A server with the tables of a schema, and rows in them.
fn server_of(schema: usize, rows: &str) -> Server {
    let server = Server::fresh();
    let brought = RELEASED.get(..schema).expect("released").join("\n");
    let versions: String = (1..=schema)
        .map(|number| format!("INSERT INTO schema_version VALUES ({number});"))
        .collect();
    server.behind(&format!(
        "CREATE SCHEMA wakeful; SET search_path TO wakeful;
        CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY); {versions} {brought} {rows}"
    ));
    server
}

#[test]
fn what_a_program_of_schema_14_wrote_on_a_server_is_all_there() {
    let server = server_of(14, LIVED);
    block_on(async {
        let store = server.open().await;
        lived::assert_all_there(&store).await;
        store.close().await.expect("closed");
    });
}

#[test]
fn tables_of_every_released_schema_are_brought_up_to_date_with_all_that_they_hold() {
    for schema in 1..=RELEASED.len() {
        let server = server_of(schema, ROWS);
        block_on(async {
            let store = server.open().await;
            let said = wakeful_core::blob::BlobHash(sample::digest("said"));
            let read = store.read(move |view| {
                let agent = view.agent(&sample::agent_id("main"))?.expect("an agent");
                let run = view.run(&sample::run_key("run"))?.expect("a run");
                let journal = view.journal(&run.run_key, 0, 9)?;
                let entries = view.entries(&run.thread_id, 9)?;
                let events = view.events(&sample::agent_id("main"), 0, 9)?;
                Ok((
                    agent.model_rounds,
                    run.ended_at,
                    journal.len(),
                    entries.len(),
                    events,
                    view.blob(&said)?,
                ))
            });
            let (rounds, ended, inputs, lines, events, blob) = read.await.expect("read");
            assert_eq!(
                (rounds, ended, inputs, lines),
                (4, Some(Millis(20)), 1, 1),
                "schema {schema}"
            );
            assert_eq!(
                events[0].payload.as_ref().map(|(payload, _)| payload.as_slice()),
                Some(&b"{}"[..])
            );
            assert_eq!(blob.as_deref(), Some(&b"said"[..]));
            assert!(
                store
                    .write(|tx| tx.create_agent(&sample::agent("fresh")))
                    .await
                    .expect("written")
            );
            store.close().await.expect("closed");
        });
        let known =
            format!("DO $$ BEGIN ASSERT (SELECT MAX(version) FROM schema_version) = {SCHEMA}; END $$");
        server.behind(&known);
    }
}
