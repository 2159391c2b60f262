//! The rows that refer to blobs: the roots for blob garbage collection. A blob without a reference may be
//! removed, so this list must be complete; a test compares it with the schema.

use std::collections::BTreeSet;

use wakeful_core::blob::{BlobHash, names_in};
use wakeful_core::id::ThreadId;
use wakeful_core::key::RunKey;

use crate::rows::{BlobRefCursor, BlobRefs, PruneTarget};
use crate::sql::{Row, Sql, limit};
use crate::{Result, StoreError, View};

/// Runs whose contents were pruned no longer refer to blobs, and neither do the messages that they
/// absorbed.
const RUNS: &str = "
    SELECT run_key, state FROM run WHERE run_key > ?1 AND prune_level < 2 ORDER BY run_key LIMIT ?2";

const MESSAGES: &str = "
    SELECT message.run_key, message.body_hash, message.options FROM message
    LEFT JOIN wake ON wake.run_key = message.run_key
    LEFT JOIN run ON run.run_key = COALESCE(wake.absorbed_by, message.run_key)
    WHERE message.run_key > ?1 AND COALESCE(run.prune_level, 0) < 2 ORDER BY message.run_key LIMIT ?2";

const STEPS: &str = "
    SELECT run_key, ordinal, attempt FROM step
    WHERE (run_key, ordinal) > (?1, ?2) AND attempt IS NOT NULL ORDER BY run_key, ordinal LIMIT ?3";

const JOURNALS: &str = "
    SELECT run_key, ordinal, input FROM run_log
    WHERE (run_key, ordinal) > (?1, ?2) ORDER BY run_key, ordinal LIMIT ?3";

const ENTRIES: &str = "
    SELECT thread_id, position, content_hash FROM transcript_entry
    WHERE (thread_id, position) > (?1, ?2) ORDER BY thread_id, position LIMIT ?3";

impl View<'_> {
    /// Returns the blobs that rows refer to, one page from a cursor on.
    pub fn blob_refs(&mut self, from: &BlobRefCursor, at_most: u32) -> Result<BlobRefs> {
        match from {
            BlobRefCursor::Runs(after) => {
                let rows = self
                    .sql
                    .query(RUNS, &[after_key(after.as_ref()).into(), limit(at_most)])?;
                let page = page(rows, |row, found| {
                    let key = RunKey(row.digest("run.run_key")?);
                    found.extend(names_in(row.text("run.state")?.as_bytes()));
                    Ok(key)
                })?;
                Ok(page.or_next(BlobRefCursor::Messages(None), |key| {
                    BlobRefCursor::Runs(Some(key))
                }))
            }
            BlobRefCursor::Messages(after) => {
                let rows = self
                    .sql
                    .query(MESSAGES, &[after_key(after.as_ref()).into(), limit(at_most)])?;
                let page = page(rows, |row, found| {
                    let key = RunKey(row.digest("message.run_key")?);
                    found.push(BlobHash(row.digest("message.body_hash")?));
                    // The options of a run that continues an earlier one name its conversation.
                    found.extend(names_in(row.text("message.options")?.as_bytes()));
                    Ok(key)
                })?;
                Ok(page.or_next(BlobRefCursor::Steps(None), |key| {
                    BlobRefCursor::Messages(Some(key))
                }))
            }
            BlobRefCursor::Steps(after) => {
                let (key, ordinal) = after_place(after.as_ref());
                let rows = self
                    .sql
                    .query(STEPS, &[key.into(), ordinal.into(), limit(at_most)])?;
                let page = page(rows, read_step)?;
                Ok(page.or_next(BlobRefCursor::Journals(None), |place| {
                    BlobRefCursor::Steps(Some(place))
                }))
            }
            BlobRefCursor::Journals(after) => {
                let (key, ordinal) = after_place(after.as_ref());
                let rows = self
                    .sql
                    .query(JOURNALS, &[key.into(), ordinal.into(), limit(at_most)])?;
                let page = page(rows, read_input)?;
                Ok(page.or_next(BlobRefCursor::Entries(None), |place| {
                    BlobRefCursor::Journals(Some(place))
                }))
            }
            BlobRefCursor::Entries(after) => entries(&mut self.sql, after.as_ref(), at_most),
        }
    }
}

fn read_step(row: &mut Row, found: &mut Vec<BlobHash>) -> Result<(RunKey, i64)> {
    let place = (RunKey(row.digest("step.run_key")?), row.int("step.ordinal")?);
    found.extend(names_in(row.text("step.attempt")?.as_bytes()));
    Ok(place)
}

fn read_input(row: &mut Row, found: &mut Vec<BlobHash>) -> Result<(RunKey, i64)> {
    let place = (
        RunKey(row.digest("run_log.run_key")?),
        row.int("run_log.ordinal")?,
    );
    let body = row.bytes("run_log.input")?;
    // An unreadable input may refer to any blob, so the collection must not continue.
    let text = std::str::from_utf8(&body).map_err(|_| StoreError::Malformed("run_log.input"))?;
    found.extend(names_in(text.as_bytes()));
    Ok(place)
}

fn entries(sql: &mut dyn Sql, after: Option<&(ThreadId, i64)>, at_most: u32) -> Result<BlobRefs> {
    let (thread, position) = after.map_or(("", i64::MIN), |(thread, position)| (thread.as_str(), *position));
    let rows = sql.query(ENTRIES, &[thread.into(), position.into(), limit(at_most)])?;
    let page = page(rows, |row, found| {
        let place = (
            ThreadId::new(row.text("transcript_entry.thread_id")?),
            row.int("transcript_entry.position")?,
        );
        found.push(BlobHash(row.digest("transcript_entry.content_hash")?));
        Ok(place)
    })?;
    Ok(BlobRefs {
        found: page.found,
        next: page.last.map(|place| BlobRefCursor::Entries(Some(place))),
    })
}

const STATE_OF: &str = "SELECT state FROM run WHERE run_key = ?1";

/// The message of a run and the messages that it absorbed.
const MESSAGES_OF: &str = "
    SELECT body_hash FROM message WHERE run_key = ?1
    UNION ALL
    SELECT message.body_hash FROM wake JOIN message ON message.run_key = wake.run_key WHERE wake.absorbed_by = ?1";

const STEPS_OF: &str = "
    SELECT run_key, ordinal, attempt FROM step
    WHERE run_key = ?1 AND ordinal > ?2 AND attempt IS NOT NULL ORDER BY ordinal LIMIT ?3";

const JOURNAL_OF: &str = "
    SELECT run_key, ordinal, input FROM run_log WHERE run_key = ?1 AND ordinal > ?2 ORDER BY ordinal LIMIT ?3";

const LINES_OF: &str = "
    SELECT content_hash FROM transcript_entry WHERE thread_id = ?1 AND run_key = ?2 AND position BETWEEN ?3 AND ?4";

/// Rows of one run read per query.
const ROWS_OF_RUN: u32 = 500;

impl View<'_> {
    /// Returns the blobs that the rows of a prune target refer to; for a prunable transcript, those in all
    /// rows of its run.
    pub fn blob_refs_of(&mut self, old: &PruneTarget) -> Result<BTreeSet<BlobHash>> {
        let PruneTarget::Lines {
            run_key,
            thread_id,
            first,
            last,
        } = old
        else {
            // Events refer to no blobs, and the blobs of a trace are also referenced by its transcript
            // lines.
            return Ok(BTreeSet::new());
        };
        let run = run_key.into();
        let mut found = Vec::new();
        for mut row in self.sql.query(STATE_OF, &[run])? {
            found.extend(names_in(row.text("run.state")?.as_bytes()));
        }
        for mut row in self.sql.query(MESSAGES_OF, &[run])? {
            found.push(BlobHash(row.digest("message.body_hash")?));
        }
        let lines = [thread_id.into(), run, (*first).into(), (*last).into()];
        for mut row in self.sql.query(LINES_OF, &lines)? {
            found.push(BlobHash(row.digest("transcript_entry.content_hash")?));
        }
        let mut names: BTreeSet<BlobHash> = found.into_iter().collect();
        for (query, read) in [(STEPS_OF, read_step as ReadRef), (JOURNAL_OF, read_input)] {
            let mut after = i64::MIN;
            loop {
                let rows = self.sql.query(query, &[run, after.into(), limit(ROWS_OF_RUN)])?;
                let page = page(rows, read)?;
                names.extend(page.found);
                let Some((_, last)) = page.last else { break };
                after = last;
            }
        }
        Ok(names)
    }
}

type ReadRef = fn(&mut Row, &mut Vec<BlobHash>) -> Result<(RunKey, i64)>;

/// References found by one query, and the last row that it read.
struct RefPage<T> {
    found: Vec<BlobHash>,
    last: Option<T>,
}

impl<T> RefPage<T> {
    /// Continues after the last row, or with the next table if the page was empty.
    fn or_next(self, table: BlobRefCursor, after: impl FnOnce(T) -> BlobRefCursor) -> BlobRefs {
        BlobRefs {
            found: self.found,
            next: Some(self.last.map_or(table, after)),
        }
    }
}

fn page<T>(
    rows: Vec<Row>,
    mut read: impl FnMut(&mut Row, &mut Vec<BlobHash>) -> Result<T>,
) -> Result<RefPage<T>> {
    let (mut found, mut last) = (Vec::new(), None);
    for mut row in rows {
        last = Some(read(&mut row, &mut found)?);
    }
    Ok(RefPage { found, last })
}

/// An empty slice sorts before every key.
fn after_key(after: Option<&RunKey>) -> &[u8] {
    after.map_or([].as_slice(), |key| key.0.as_bytes())
}

fn after_place(after: Option<&(RunKey, i64)>) -> (&[u8], i64) {
    after.map_or(([].as_slice(), i64::MIN), |(key, ordinal)| {
        (key.0.as_bytes(), *ordinal)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::open::make_in_memory;

    /// Columns that refer to blobs. The code above reads all of them.
    const NAMING: [&str; 6] = [
        "transcript_entry.content_hash",
        "run_log.input",
        "message.body_hash",
        "message.options",
        "run.state",
        "step.attempt",
    ];

    /// Text and byte columns that never hold the only reference to a blob. Every new column is listed here
    /// or above; a column that refers to blobs must be read above before any code writes it.
    const SILENT: &str = "
        agent.agent_id agent.control agent.lifecycle agent.model_ref agent.settings agent.visibility agent.workspace
        agent_head.agent_id agent_head.chain_hash agent_head.incarnation agent_head.runner_id
        agent_head.policy_files
        audit_entry.agent_id audit_entry.category audit_entry.decision audit_entry.operation_id audit_entry.policy_version
        audit_entry.reason audit_entry.rule audit_entry.run_key audit_entry.stage audit_entry.tool
        consent.agent_id consent.channel consent.consent_id consent.purpose consent.run_key
        blob.bytes blob.encoding blob.hash budget_hold.limit_id budget_hold.operation_id budget_hold.run_key
        budget_limit.limit_id budget_limit.period budget_limit.resource budget_limit.scope budget_limit.subject
        cap.agent_id transcript_entry.role transcript_entry.run_key transcript_entry.sources transcript_entry.thread_id
        event.agent_id event.hash event.kind event.payload event.payload_hash event.policy_version event.run_key event.salt
        host.host_id run_log.effects_hash run_log.reads_hash run_log.run_key run_log.state_hash
        message.agent_id message.authority message.context message.kind message.run_key message.surface
        message.thread_id message.cause message.parent_agent message.parent_operation message.parent_run message.retry_of
        privacy_receipt.channel privacy_receipt.policy_version privacy_receipt.provider queue.agent_id queue.run_key
        run.agent_id run.machine run.run_key run.status run.thread_id run.wait_kind run.wait_limit_id run_cancel.run_key runner.machine runner.runner_id
        spend.agent_id spend.model_ref spend.operation_id spend.policy_version spend.rule spend.run_key spend_day.agent_id
        step.action_base step.call_id step.class step.denial_category step.input_hash step.name
        step.operation_id step.output_hash step.policy_version step.reason step.run_key step.sandbox step.stage step.status
        wake.agent_id wake.gates wake.run_key wake.verdict wake.source wake.cause wake.absorbed_by
        subscription.subscription_id subscription.agent_id subscription.spec schedule.guard schedule.event_name outbox_cursor.journal_dispatched_to
        agent_outbox.agent_id agent_outbox.body agent_outbox.dispatched_to
        wake_refusal.agent_id wake_refusal.source wake_refusal.code agent.mode
        external_trigger_delivery.delivery_id external_trigger_delivery.external_trigger_id
        external_trigger_secret.secret external_trigger.agent_id external_trigger.external_trigger_id
        decision_notification.decision_id decision_notification.error decision_notification.severity decision_notification.target
        brake.agent_id brake.channel brake.reason
        decision.agent_id decision.body decision.decision_id decision.run_key decision.status
        event_incarnation.agent_id event_incarnation.incarnation journal_host.host_id run.fault
        saga.last_error saga.operation_id saga.phase saga.run_key saga.status
        schedule.agent_id schedule.concurrency schedule.pattern schedule.label schedule.last_run_key schedule.message schedule.schedule_id
        schedule.status scheduled_execution.outcome scheduled_execution.reason scheduled_execution.run_key
        scheduled_execution.schedule_id scheduled_execution.trigger_source
        signed_head.agent_id signed_head.chain_hash signed_head.public_key signed_head.signature";

    const COLUMNS: &str = "
        SELECT tables.name || '.' || columns.name
        FROM pragma_table_list AS tables, pragma_table_info(tables.name) AS columns
        WHERE tables.schema = 'main' AND tables.name NOT LIKE 'sqlite_%' AND columns.type IN ('TEXT', 'BLOB')";

    #[test]
    fn every_column_is_classified_as_blob_reference_or_not() {
        let mut database = make_in_memory(&crate::schema::AGENT, "host").expect("a database");
        let rows = database.query(COLUMNS, &[]).expect("columns");
        let there: BTreeSet<String> = rows
            .into_iter()
            .map(|mut row| row.text("name").expect("a name"))
            .collect();
        let known: BTreeSet<String> = NAMING
            .into_iter()
            .chain(SILENT.split_whitespace())
            .map(str::to_owned)
            .collect();
        assert_eq!(
            there.difference(&known).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "column is not classified"
        );
        assert_eq!(
            known.difference(&there).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "column does not exist"
        );
    }

    #[test]
    fn an_unreadable_run_log_input_is_an_error() {
        let digest = |byte: u8| crate::sql::Value::Bytes(vec![byte; 32]);
        let values = vec![
            digest(1),
            crate::sql::Value::Int(1),
            crate::sql::Value::Bytes(vec![0xff, 0xfe]),
        ];
        let read = read_input(&mut Row::new(values), &mut Vec::new());
        assert!(
            matches!(read, Err(StoreError::Malformed("run_log.input"))),
            "{read:?}"
        );
    }
}
