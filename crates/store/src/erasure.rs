//! Erasure of contents. The chain holds only salted hashes, so it stays verifiable; plain hashes, from
//! which short contents could be guessed, are erased as well.

use std::collections::BTreeSet;

use wakeful_core::blob::BlobHash;
use wakeful_core::cause::Cause;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::RunOptions;

use crate::rows::RunRow;
use crate::sql::{Dialect, Sql, at_most_one};
use crate::{Result, StoreError, Tx, View, decision};

/// Contents searched for per query. Each query scans all transcripts, and most runs refer to fewer
/// contents.
const SEARCH_BATCH_MAX: usize = 1_000;

const UNENDED: &str = "
    SELECT e.run_key FROM event e
        LEFT JOIN run r ON r.run_key = e.run_key
        LEFT JOIN queue q ON q.run_key = e.run_key
    WHERE e.agent_id = ?1 AND e.seq >= ?2 AND e.seq <= ?3 AND e.run_key IS NOT NULL
        AND (r.status IN ('open', 'quarantined') OR q.run_key IS NOT NULL)
    LIMIT 1";

impl View<'_> {
    /// Returns a run that has not started or not ended, among the runs that an agent's events
    /// `first..=last` belong to.
    pub fn unended_among(&mut self, agent: &AgentId, first: u64, last: u64) -> Result<Option<RunKey>> {
        let rows = self
            .sql
            .query(UNENDED, &[agent.into(), first.into(), last.into()])?;
        let run = at_most_one(rows).map(|mut row| row.digest("event.run_key").map(RunKey));
        run.transpose()
    }
}

const THOROUGH_SQLITE: &str = "PRAGMA secure_delete = ON";

const ORDINARY_SQLITE: &str = "PRAGMA secure_delete = OFF";

/// By default SQLite leaves deleted content on its pages. `secure_delete` is set only here, because every
/// other transaction would pay for it. Older copies on pages that were split since disappear when the
/// database is rewritten after the commit.
pub(crate) fn thoroughly<T>(tx: &mut Tx<'_>, erase: impl FnOnce(&mut Tx<'_>) -> Result<T>) -> Result<T> {
    match tx.sql.dialect() {
        Dialect::Postgres => erase(tx),
        Dialect::Sqlite => {
            tx.sql.query(THOROUGH_SQLITE, &[])?;
            let erased = erase(tx);
            tx.sql.query(ORDINARY_SQLITE, &[])?;
            erased
        }
    }
}

const EVENTS: &str = "
    UPDATE event SET payload = NULL, salt = NULL
    WHERE agent_id = ?1 AND seq >= ?2 AND seq <= ?3 AND payload IS NOT NULL
        AND kind NOT IN ('content_erased', 'data_pruned', 'rows_bound')";

const EVENTS_OF_RUN: &str = "
    UPDATE event SET payload = NULL, salt = NULL
    WHERE agent_id = ?1 AND seq >= ?2 AND seq <= ?3 AND run_key = ?4 AND payload IS NOT NULL
        AND kind NOT IN ('content_erased', 'data_pruned', 'rows_bound')";

impl Tx<'_> {
    /// Erases payload and salt of an agent's events `first..=last`; if a run is given, only those of that
    /// run. Returns how many events had a payload. Events that record erasure or retention keep theirs.
    pub fn erase_events(
        &mut self,
        agent: &AgentId,
        first: u64,
        last: u64,
        run: Option<&RunKey>,
    ) -> Result<u64> {
        thoroughly(self, |tx| match run {
            None => tx.sql.execute(EVENTS, &[agent.into(), first.into(), last.into()]),
            Some(run) => tx.sql.execute(
                EVENTS_OF_RUN,
                &[agent.into(), first.into(), last.into(), run.into()],
            ),
        })
    }
}

const JOURNAL: &str = "UPDATE run_log SET input = ?2 WHERE run_key = ?1 AND length(input) > 0";

const CAUSE: &str = "SELECT cause, options FROM message WHERE run_key = ?1";

/// A content is named by its plain hash, from which a short content can be guessed.
const MESSAGE: &str = "UPDATE message SET body_hash = ?2, cause = ?3, options = ?4 WHERE run_key = ?1";

const WAKE: &str = "UPDATE wake SET cause = ?2 WHERE run_key = ?1";

/// Whole entries are deleted: the conversation continues without them, while a call without its result
/// would break it.
const ENTRIES: &str = "DELETE FROM transcript_entry WHERE thread_id = ?1 AND run_key = ?2";

const STATE: &str = "UPDATE run SET state = ?2 WHERE run_key = ?1";

impl Tx<'_> {
    /// Erases the content hash of a message and the sender's own key for it.
    pub fn erase_message(&mut self, run: &RunKey) -> Result<()> {
        thoroughly(self, |tx| words(&mut tx.sql, run))
    }
}

fn words(sql: &mut dyn Sql, run: &RunKey) -> Result<()> {
    let Some(mut row) = at_most_one(sql.query(CAUSE, &[run.into()])?) else {
        return Ok(());
    };
    // An unreadable cause is erased completely.
    let cause: Cause = serde_json::from_str(&row.text("message.cause")?).unwrap_or_default();
    let cause = serde_json::to_string(&cause.erased()).map_err(|_| StoreError::Malformed("message.cause"))?;
    let options: RunOptions = serde_json::from_str(&row.text("message.options")?).unwrap_or_default();
    let options =
        serde_json::to_string(&options.erased()).map_err(|_| StoreError::Malformed("message.options"))?;
    let params = [
        run.into(),
        (&BlobHash::ERASED.0).into(),
        cause.as_str().into(),
        options.as_str().into(),
    ];
    sql.execute(MESSAGE, &params)?;
    sql.execute(WAKE, &[run.into(), cause.as_str().into()]).map(drop)
}

impl Tx<'_> {
    /// Erases the run log and the transcript of a run, and replaces its last state. Returns how many rows
    /// of the log had any content.
    pub fn erase_run(&mut self, run: &RunRow) -> Result<u64> {
        thoroughly(self, |tx| {
            let key = &run.run_key;
            let rows = tx.sql.execute(JOURNAL, &[key.into(), [].as_slice().into()])?;
            words(&mut tx.sql, key)?;
            tx.sql.execute(ENTRIES, &[(&run.thread_id).into(), key.into()])?;
            tx.sql.execute(STATE, &[key.into(), run.state.as_str().into()])?;
            decision::erase(tx, key)?;
            Ok(rows)
        })
    }
}

/// A transaction that stores an existing blob writes nothing and would not notice its deletion, so no
/// transaction may store a blob until this one ends. SQLite has only one writer.
const ALONE_POSTGRES: &str = "LOCK TABLE blob IN SHARE ROW EXCLUSIVE MODE";

const NAMED_SQLITE: &str = "
    SELECT content_hash FROM transcript_entry WHERE content_hash IN (SELECT unhex(value) FROM json_each(?1))
    UNION
    SELECT body_hash FROM message WHERE body_hash IN (SELECT unhex(value) FROM json_each(?1))
    UNION
    SELECT unhex(w.value) FROM json_each(?1) w
    WHERE EXISTS (SELECT 1 FROM run WHERE status IN ('open', 'quarantined') AND instr(state, w.value) > 0)";

const NAMED_POSTGRES: &str = "
    WITH wanted AS (SELECT value FROM jsonb_array_elements_text(CAST(CAST(?1 AS TEXT) AS JSONB)) AS list(value))
    SELECT content_hash FROM transcript_entry WHERE content_hash IN (SELECT decode(value, 'hex') FROM wanted)
    UNION
    SELECT body_hash FROM message WHERE body_hash IN (SELECT decode(value, 'hex') FROM wanted)
    UNION
    SELECT decode(w.value, 'hex') FROM wanted w
    WHERE EXISTS (SELECT 1 FROM run WHERE status IN ('open', 'quarantined') AND position(w.value IN state) > 0)";

const DELETE: &str = "DELETE FROM blob WHERE hash = ?1";

const DELETE_BELOW: &str = "DELETE FROM blob WHERE hash = ?1 AND generation < ?2";

impl Tx<'_> {
    /// Deletes those of these blobs that no row refers to, and returns them; if a generation is given, only
    /// those last stored before it. No other transaction stores a blob until this one ends.
    pub fn erase_blobs(&mut self, hashes: &[BlobHash], below: Option<i64>) -> Result<Vec<BlobHash>> {
        if self.sql.dialect() == Dialect::Postgres {
            self.sql.execute(ALONE_POSTGRES, &[])?;
        }
        let named = self.sql.dialect().pick(NAMED_SQLITE, NAMED_POSTGRES);
        let mut gone = Vec::new();
        for some in hashes.chunks(SEARCH_BATCH_MAX) {
            let list = serde_json::to_string(some).map_err(|error| StoreError::Backend(error.into()))?;
            let rows = self.sql.query(named, &[list.as_str().into()])?;
            let kept = rows
                .into_iter()
                .map(|mut row| row.digest("blob.hash").map(BlobHash));
            let kept: BTreeSet<BlobHash> = kept.collect::<Result<_>>()?;
            for hash in some.iter().filter(|hash| !kept.contains(hash)) {
                let deleted = thoroughly(self, |tx| match below {
                    None => tx.sql.execute(DELETE, &[hash.into()]),
                    Some(below) => tx.sql.execute(DELETE_BELOW, &[hash.into(), below.into()]),
                })?;
                gone.extend((deleted == 1).then_some(*hash));
            }
        }
        Ok(gone)
    }
}
