//! Erasing contents. The chain holds salted hashes only, so it stays whole; names that could be guessed back to what they
//! name go with it.

use std::collections::BTreeSet;

use wakeful_core::blob::BlobHash;
use wakeful_core::cause::Cause;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};

use crate::StoreError;
use crate::rows::RunRow;
use crate::sql::{Dialect, Sql, at_most_one};

/// Contents that are looked for at once. Each look walks all transcripts, and most runs name fewer.
const LOOKED_FOR_MAX: usize = 1_000;

const UNENDED: &str = "
    SELECT e.run_key FROM event e
        LEFT JOIN run r ON r.run_key = e.run_key
        LEFT JOIN queue q ON q.run_key = e.run_key
    WHERE e.agent_id = ?1 AND e.seq >= ?2 AND e.seq <= ?3 AND e.run_key IS NOT NULL
        AND (r.status IN ('open', 'quarantined') OR q.run_key IS NOT NULL)
    LIMIT 1";

/// A run that has not ended, or not begun, among those that events belong to.
pub(crate) fn unended_among(
    sql: &mut dyn Sql,
    agent: &AgentId,
    first: u64,
    last: u64,
) -> Result<Option<RunKey>, StoreError> {
    let rows = sql.query(UNENDED, &[agent.into(), first.into(), last.into()])?;
    let run = at_most_one(rows).map(|mut row| row.digest("event.run_key").map(RunKey));
    run.transpose()
}

const THOROUGH_SQLITE: &str = "PRAGMA secure_delete = ON";

const ORDINARY_SQLITE: &str = "PRAGMA secure_delete = OFF";

/// SQLite leaves what was deleted on its pages unless it is told otherwise. Told only here: every other transaction
/// would pay for it. Older copies, on pages that were divided since, go when the database is written anew after the commit.
fn thoroughly<T>(
    sql: &mut dyn Sql,
    erase: impl FnOnce(&mut dyn Sql) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    match sql.dialect() {
        Dialect::Postgres => erase(sql),
        Dialect::Sqlite => {
            sql.query(THOROUGH_SQLITE, &[])?;
            let erased = erase(sql);
            sql.query(ORDINARY_SQLITE, &[])?;
            erased
        }
    }
}

const EVENTS: &str = "
    UPDATE event SET payload = NULL, salt = NULL
    WHERE agent_id = ?1 AND seq >= ?2 AND seq <= ?3 AND payload IS NOT NULL
        AND kind NOT IN ('content_erased', 'data_pruned', 'record_bound')";

const EVENTS_OF_RUN: &str = "
    UPDATE event SET payload = NULL, salt = NULL
    WHERE agent_id = ?1 AND seq >= ?2 AND seq <= ?3 AND run_key = ?4 AND payload IS NOT NULL
        AND kind NOT IN ('content_erased', 'data_pruned', 'record_bound')";

/// Takes payload and salt from events.
pub(crate) fn events(
    sql: &mut dyn Sql,
    agent: &AgentId,
    (first, last): (u64, u64),
    run: Option<&RunKey>,
) -> Result<u64, StoreError> {
    thoroughly(sql, |sql| match run {
        None => sql.execute(EVENTS, &[agent.into(), first.into(), last.into()]),
        Some(run) => sql.execute(
            EVENTS_OF_RUN,
            &[agent.into(), first.into(), last.into(), run.into()],
        ),
    })
}

const JOURNAL: &str = "UPDATE journal SET body = ?2 WHERE run_key = ?1 AND length(body) > 0";

const CAUSE: &str = "SELECT cause FROM message WHERE run_key = ?1";

/// The name of a content is its plain hash, and what is short can be guessed from it.
const MESSAGE: &str = "UPDATE message SET body = ?2, cause = ?3 WHERE run_key = ?1";

const WAKE: &str = "UPDATE wake SET cause = ?2 WHERE run_key = ?1";

/// The lines go whole: a conversation goes on without them, and half of a call with its result would be in its way.
const ENTRIES: &str = "DELETE FROM entry WHERE thread_id = ?1 AND run_key = ?2";

const STATE: &str = "UPDATE run SET state = ?2 WHERE run_key = ?1";

/// Takes from a message the name of what it says, and what its sender called it.
pub(crate) fn message(sql: &mut dyn Sql, run: &RunKey) -> Result<(), StoreError> {
    thoroughly(sql, |sql| words(sql, run))
}

fn words(sql: &mut dyn Sql, run: &RunKey) -> Result<(), StoreError> {
    let Some(mut row) = at_most_one(sql.query(CAUSE, &[run.into()])?) else {
        return Ok(());
    };
    // What cannot be read goes whole.
    let cause: Cause = serde_json::from_str(&row.text("message.cause")?).unwrap_or_default();
    let cause = serde_json::to_string(&cause.erased()).map_err(|_| StoreError::Malformed("message.cause"))?;
    sql.execute(
        MESSAGE,
        &[run.into(), (&Digest::ZERO).into(), cause.as_str().into()],
    )?;
    sql.execute(WAKE, &[run.into(), cause.as_str().into()]).map(drop)
}

/// Takes from a run what it was told and the names of what was said in it.
pub(crate) fn run(sql: &mut dyn Sql, run: &RunRow) -> Result<u64, StoreError> {
    thoroughly(sql, |sql| {
        let key = &run.run_key;
        let rows = sql.execute(JOURNAL, &[key.into(), [].as_slice().into()])?;
        words(sql, key)?;
        sql.execute(ENTRIES, &[(&run.thread_id).into(), key.into()])?;
        sql.execute(STATE, &[key.into(), run.state.as_str().into()])?;
        crate::decision::erase(sql, key)?;
        Ok(rows)
    })
}

/// Whoever keeps a content that is there already writes nothing, and would not notice that it goes. So nobody keeps any
/// until this transaction ends. On SQLite there is one writer.
const ALONE_POSTGRES: &str = "LOCK TABLE blob IN SHARE ROW EXCLUSIVE MODE";

const NAMED_SQLITE: &str = "
    SELECT content FROM entry WHERE content IN (SELECT unhex(value) FROM json_each(?1))
    UNION
    SELECT body FROM message WHERE body IN (SELECT unhex(value) FROM json_each(?1))
    UNION
    SELECT unhex(w.value) FROM json_each(?1) w
    WHERE EXISTS (SELECT 1 FROM run WHERE status IN ('open', 'quarantined') AND instr(state, w.value) > 0)";

const NAMED_POSTGRES: &str = "
    WITH wanted AS (SELECT value FROM jsonb_array_elements_text(CAST(CAST(?1 AS TEXT) AS JSONB)) AS list(value))
    SELECT content FROM entry WHERE content IN (SELECT decode(value, 'hex') FROM wanted)
    UNION
    SELECT body FROM message WHERE body IN (SELECT decode(value, 'hex') FROM wanted)
    UNION
    SELECT decode(w.value, 'hex') FROM wanted w
    WHERE EXISTS (SELECT 1 FROM run WHERE status IN ('open', 'quarantined') AND position(w.value IN state) > 0)";

const DELETE: &str = "DELETE FROM blob WHERE hash = ?1 AND generation < ?2";

/// Removes those of these contents that nobody names: no transcript, no message, and no run that has not ended. What was
/// put in a generation or later stays.
pub(crate) fn blobs(sql: &mut dyn Sql, hashes: &[BlobHash], below: i64) -> Result<Vec<BlobHash>, StoreError> {
    if sql.dialect() == Dialect::Postgres {
        sql.execute(ALONE_POSTGRES, &[])?;
    }
    let named = sql.dialect().pick(NAMED_SQLITE, NAMED_POSTGRES);
    let mut gone = Vec::new();
    for some in hashes.chunks(LOOKED_FOR_MAX) {
        let list = serde_json::to_string(some).map_err(|error| StoreError::Backend(error.into()))?;
        let rows = sql.query(named, &[list.as_str().into()])?;
        let kept = rows
            .into_iter()
            .map(|mut row| row.digest("blob.hash").map(BlobHash));
        let kept: BTreeSet<BlobHash> = kept.collect::<Result<_, StoreError>>()?;
        for hash in some.iter().filter(|hash| !kept.contains(hash)) {
            let deleted = thoroughly(sql, |sql| sql.execute(DELETE, &[hash.into(), below.into()]))?;
            gone.extend((deleted == 1).then_some(*hash));
        }
    }
    Ok(gone)
}
