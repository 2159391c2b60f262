//! A home that has seen much: one real run, copied until its events are as many as wanted.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, params};

use crate::plain;

/// The agent whose history it is.
const AGENT: &str = "history";

/// Events of one copied run. A run with two tool rounds has about as many.
const EVENTS_PER_RUN: u32 = 10;

/// Nothing here has to outlive a power cut, and a home of a million events is made anew for each report.
const HURRY: &str = "PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;";

const PUT_AGENT: &str = "
    INSERT INTO agent SELECT ?1, 'public', lifecycle, workspace, created_at_ms, input_tokens, output_tokens,
        model_rounds, control
    FROM agent LIMIT 1";

const PUT_HEAD: &str = "
    INSERT INTO agent_head SELECT ?1, incarnation, NULL, fence, ?2 + 1, chain_hash, 0 FROM agent_head LIMIT 1";

const PUT_RUNS: &str = "
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
    INSERT INTO run SELECT CAST(printf('%032d', i) AS BLOB), ?1, thread_id, machine, machine_version, version, state,
        status, started_at_ms + i, ended_at_ms + i
    FROM n, (SELECT * FROM run LIMIT 1)";

const PUT_MESSAGES: &str = "
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
    INSERT INTO message SELECT CAST(printf('%032d', i) AS BLOB), ?1, thread_id, kind, authority, surface, context, body,
        admitted_at_ms + i, wishes
    FROM n, (SELECT * FROM message LIMIT 1)";

/// The events of the real run, numbered from nought.
const SEEN: &str = "
    CREATE TEMP TABLE seen AS SELECT ROW_NUMBER() OVER (ORDER BY seq) - 1 AS place, kind, at_ms, policy_version, payload,
        salt
    FROM event WHERE run_key IS NOT NULL";

const PUT_EVENTS: &str = "
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
    INSERT INTO event SELECT ?1, i + 1, CAST(printf('%032d', i / ?3) AS BLOB), kind, at_ms + i, randomblob(32),
        randomblob(32), policy_version, payload, salt
    FROM n JOIN seen ON seen.place = i % (SELECT COUNT(*) FROM seen)";

/// Adds an agent with so many events, and with the runs and messages that they belong to.
pub(crate) fn add(database: &Path, events: u32) -> Result<()> {
    let mut connection = plain::open(database)?;
    connection.execute_batch(HURRY)?;
    let transaction = connection.transaction()?;
    transaction.execute(PUT_AGENT, params![AGENT])?;
    transaction.execute(PUT_HEAD, params![AGENT, events])?;
    let runs = events / EVENTS_PER_RUN;
    transaction.execute(PUT_RUNS, params![AGENT, runs])?;
    transaction.execute(PUT_MESSAGES, params![AGENT, runs])?;
    transaction.execute_batch(SEEN)?;
    let put = transaction.execute(PUT_EVENTS, params![AGENT, events, EVENTS_PER_RUN])?;
    anyhow::ensure!(
        put == events as usize,
        "{put} events were put instead of {events}"
    );
    transaction.commit()?;
    close(connection)
}

fn close(connection: Connection) -> Result<()> {
    connection.close().map_err(|(_, error)| error.into())
}
