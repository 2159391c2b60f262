//! Creates a home with a long history: one real run, copied until it has the wanted number of events.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, params};
use wakeful_core::blob::BlobHash;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::provenance::Sources;
use wakeful_core::run::{InputReads, RunInput, RunMachine};

use crate::plain;

const AGENT: &str = "history";

/// Events of one copied run. A run with two tool rounds has about as many.
const EVENTS_PER_RUN: u32 = 10;

/// Durability is not needed here, and a home of a million events is created for each report.
const HURRY: &str = "PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;";

const PUT_AGENT: &str = "
    INSERT INTO agent (agent_id, visibility, lifecycle, workspace, created_at_ms, input_tokens, output_tokens,
        model_rounds, control, mode, settings)
    SELECT ?1, 'public', lifecycle, workspace, created_at_ms, input_tokens, output_tokens, model_rounds, control, mode,
        settings
    FROM agent LIMIT 1";

const PUT_HEAD: &str = "
    INSERT INTO agent_head (agent_id, incarnation, runner_id, fence, next_seq, chain_hash, queued_count)
    SELECT ?1, incarnation, NULL, fence, ?2 + 1, chain_hash, 0 FROM agent_head LIMIT 1";

const PUT_RUNS: &str = "
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
    INSERT INTO run (run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms,
        ended_at_ms)
    SELECT CAST(printf('%032d', i) AS BLOB), ?1, thread_id, machine, machine_version, version, state,
        status, started_at_ms + i, ended_at_ms + i
    FROM n, (SELECT * FROM run LIMIT 1)";

const PUT_MESSAGES: &str = "
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
    INSERT INTO message (run_key, agent_id, thread_id, kind, authority, surface, context, body_hash, admitted_at_ms, options,
        sub_run_depth, cause)
    SELECT CAST(printf('%032d', i) AS BLOB), ?1, thread_id, kind, authority, surface, context, body_hash,
        admitted_at_ms + i, options, sub_run_depth, cause
    FROM n, (SELECT * FROM message LIMIT 1)";

/// The events of the real run, numbered from zero.
const SEEN: &str = "
    CREATE TEMP TABLE seen AS SELECT ROW_NUMBER() OVER (ORDER BY seq) - 1 AS place, kind, at_ms, policy_version, payload,
        salt
    FROM event WHERE run_key IS NOT NULL";

const PUT_EVENTS: &str = "
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
    INSERT INTO event (agent_id, seq, run_key, kind, at_ms, hash, payload_hash, policy_version, payload, salt)
    SELECT ?1, i + 1, CAST(printf('%032d', i / ?3) AS BLOB), kind, at_ms + i, randomblob(32),
        randomblob(32), policy_version, payload, salt
    FROM n JOIN seen ON seen.place = i % (SELECT COUNT(*) FROM seen)";

/// Adds an agent with this many events, and with the runs and messages that they belong to.
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
        "{put} events were inserted instead of {events}"
    );
    transaction.commit()?;
    close(connection)
}

const PUT_AGENTS: &str = "
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
    INSERT INTO agent (agent_id, visibility, lifecycle, workspace, created_at_ms, input_tokens, output_tokens,
        model_rounds, control, mode, settings)
    SELECT printf('open-%06d', i), 'public', lifecycle, workspace, created_at_ms, 0, 0, 0, 'running', mode, settings
    FROM n, (SELECT * FROM agent LIMIT 1)";

const PUT_HEADS: &str = "
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
    INSERT INTO agent_head (agent_id, incarnation, runner_id, fence, next_seq, chain_hash, queued_count)
    SELECT printf('open-%06d', i), incarnation, NULL, 1, 1, zeroblob(32), 0
    FROM n, (SELECT * FROM agent_head LIMIT 1)";

/// The first letter of its key distinguishes an open run from a copied one.
const PUT_OPEN_RUNS: &str = "
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
    INSERT INTO run (run_key, agent_id, thread_id, machine, machine_version, version, state, status, started_at_ms,
        wait_kind, suspended_at_ms)
    SELECT CAST(printf('o%031d', i) AS BLOB), printf('open-%06d', i), printf('open-%06d:session:cli', i), machine,
        machine_version, 1, replace(?2, '@', lower(hex(CAST(printf('o%031d', i) AS BLOB)))), 'open', started_at_ms + i,
        CASE WHEN i % 2 = 0 THEN 'children' END, CASE WHEN i % 2 = 0 THEN started_at_ms + i END
    FROM n, (SELECT * FROM run LIMIT 1)";

const PUT_OPEN_MESSAGES: &str = "
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
    INSERT INTO message (run_key, agent_id, thread_id, kind, authority, surface, context, body_hash, admitted_at_ms, options,
        sub_run_depth, cause)
    SELECT CAST(printf('o%031d', i) AS BLOB), printf('open-%06d', i), printf('open-%06d:session:cli', i), kind, authority,
        surface, context, body_hash, admitted_at_ms + i, '{}', sub_run_depth, cause
    FROM n, (SELECT * FROM message LIMIT 1)";

/// Adds this many agents with one newly started run each that no process drives: half of them are due, the
/// others wait for something that never happens.
pub(crate) fn add_open(database: &Path, runs: u32, model_ref: &str) -> Result<()> {
    let mut connection = plain::open(database)?;
    connection.execute_batch(HURRY)?;
    let transaction = connection.transaction()?;
    let nobody = RunKey(Digest::ZERO);
    let turn = RunMachine::new(nobody, model_ref.to_owned(), 9);
    let body = BlobHash(Digest::ZERO);
    let begun = turn
        .apply(
            &InputReads::default(),
            RunInput::Admitted {
                is_instruction: true,
                sources: Sources::none(),
                body,
                history: Vec::new(),
            },
        )?
        .turn;
    let state = serde_json::to_string(&begun)?.replace(&nobody.to_string(), "@");
    transaction.execute(PUT_AGENTS, params![runs])?;
    transaction.execute(PUT_HEADS, params![runs])?;
    transaction.execute(PUT_OPEN_RUNS, params![runs, state])?;
    transaction.execute(PUT_OPEN_MESSAGES, params![runs])?;
    transaction.commit()?;
    close(connection)
}

fn close(connection: Connection) -> Result<()> {
    connection.close().map_err(|(_, error)| error.into())
}
