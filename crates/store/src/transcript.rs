//! Transcripts: the entries of a thread, each with the hash of its content.

use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::Role;
use wakeful_core::id::ThreadId;
use wakeful_core::key::RunKey;
use wakeful_core::provenance::Sources;

use crate::rows::{RunRow, TranscriptEntryRow};
use crate::sql::{Row, Sql, limit, records};
use crate::{Result, Tx, View};

const APPEND: &str = "
    INSERT INTO transcript_entry (thread_id, position, run_key, role, content_hash, at_ms, sources)
    VALUES (?1, (SELECT COALESCE(MAX(position), 0) + 1 FROM transcript_entry WHERE thread_id = ?1), ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (thread_id, position) DO NOTHING";

impl Tx<'_> {
    /// Appends an entry to a thread.
    pub fn append_entry(&mut self, thread: &ThreadId, entry: &TranscriptEntryRow) -> Result<()> {
        let sources = entry.sources.to_text();
        let params = [
            thread.into(),
            (&entry.run_key).into(),
            entry.role.as_str().into(),
            (&entry.content).into(),
            entry.at.into(),
            sources.as_str().into(),
        ];
        self.sql.run_once(APPEND, &params)
    }
}

const NEWEST: &str = "
    SELECT run_key, role, content_hash, at_ms, sources FROM transcript_entry WHERE thread_id = ?1 ORDER BY position DESC LIMIT ?2";

impl View<'_> {
    /// Returns the newest entries of a thread, oldest first.
    pub fn entries(&mut self, thread: &ThreadId, at_most: u32) -> Result<Vec<TranscriptEntryRow>> {
        let mut entries = records(self.sql.query(NEWEST, &[thread.into(), limit(at_most)])?, read)?;
        entries.reverse();
        Ok(entries)
    }
}

/// The aggregate uses the primary key, so each call is one lookup however long the threads are.
const NEXT_THREAD: &str = "
    SELECT MIN(thread_id) AS thread_id FROM transcript_entry WHERE thread_id > ?1 AND thread_id < ?2";

impl View<'_> {
    /// Returns the first thread with entries between two ids.
    pub fn thread_after(&mut self, after: &ThreadId, before: &ThreadId) -> Result<Option<ThreadId>> {
        let rows = self.sql.query(NEXT_THREAD, &[after.into(), before.into()])?;
        let found = records(rows, |mut row| row.optional_text("transcript_entry.thread_id"))?;
        Ok(found.into_iter().flatten().next().map(ThreadId::new))
    }
}

const OF_RUN: &str = "
    SELECT position, role, content_hash FROM transcript_entry
    WHERE thread_id = ?1 AND run_key = ?2 AND position > ?3 ORDER BY position LIMIT ?4";

impl View<'_> {
    /// Returns the roles and contents of a run's entries with their positions in the thread, after a position.
    pub fn contents(&mut self, run: &RunRow, after: i64, at_most: u32) -> Result<Vec<(i64, Role, BlobHash)>> {
        let params = [
            (&run.thread_id).into(),
            (&run.run_key).into(),
            after.into(),
            limit(at_most),
        ];
        records(self.sql.query(OF_RUN, &params)?, |mut row| {
            Ok((
                row.int("transcript_entry.position")?,
                row.word("transcript_entry.role", Role::parse)?,
                BlobHash(row.digest("transcript_entry.content_hash")?),
            ))
        })
    }
}

const BEFORE: &str = "
    SELECT run_key, role, content_hash, at_ms, sources FROM transcript_entry
    WHERE thread_id = ?1 AND position < ?2 ORDER BY position DESC LIMIT ?3";

impl View<'_> {
    /// Returns the newest entries of a thread before a position, oldest first.
    pub fn entries_before(
        &mut self,
        thread: &ThreadId,
        position: i64,
        at_most: u32,
    ) -> Result<Vec<TranscriptEntryRow>> {
        let params = [thread.into(), position.into(), limit(at_most)];
        let mut entries = records(self.sql.query(BEFORE, &params)?, read)?;
        entries.reverse();
        Ok(entries)
    }
}

fn read(mut row: Row) -> Result<TranscriptEntryRow> {
    Ok(TranscriptEntryRow {
        run_key: RunKey(row.digest("transcript_entry.run_key")?),
        role: row.word("transcript_entry.role", Role::parse)?,
        content: BlobHash(row.digest("transcript_entry.content_hash")?),
        at: row.millis("transcript_entry.at_ms")?,
        sources: row.word("transcript_entry.sources", Sources::parse)?,
    })
}
