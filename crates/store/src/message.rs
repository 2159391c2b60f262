//! Messages, each identified by the key of the run it requests.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use wakeful_core::blob::BlobHash;
use wakeful_core::id::{AgentId, ThreadId};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::message::{Message, ParentRun};
use wakeful_core::step::ChildRun;

use crate::rows::MessageAdmission;
use crate::sql::{Row, Sql, at_most_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError, Tx, View};

const ADMIT: &str = "
    INSERT INTO message (run_key, agent_id, thread_id, kind, authority, surface, context, body_hash, options, admitted_at_ms,
        parent_run, parent_agent, parent_operation, sub_run_depth, cause, retry_of)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
    ON CONFLICT (run_key) DO NOTHING";

impl Tx<'_> {
    /// Stores a message unless its key exists.
    pub fn admit_message(&mut self, message: &Message) -> Result<MessageAdmission> {
        let words = [
            spell(&message.kind)?,
            spell(&message.authority)?,
            spell(&message.surface)?,
            spell(&message.context)?,
        ];
        let wishes =
            serde_json::to_string(&message.options).map_err(|_| StoreError::Malformed("message.options"))?;
        let cause =
            serde_json::to_string(&message.cause).map_err(|_| StoreError::Malformed("message.cause"))?;
        let [kind, authority, surface, context] = words.each_ref().map(|word| word.as_str().into());
        let parent = message.parent.as_ref();
        let params = [
            (&message.run_key).into(),
            (&message.agent_id).into(),
            (&message.thread_id).into(),
            kind,
            authority,
            surface,
            context,
            (&message.body).into(),
            wishes.as_str().into(),
            message.admitted_at.into(),
            parent.map(|parent| &parent.run_key).into(),
            parent.map(|parent| &parent.agent_id).into(),
            parent.map(|parent| &parent.operation_id).into(),
            parent.map_or(0, |parent| parent.depth).into(),
            cause.as_str().into(),
            message.retry_of.as_ref().into(),
        ];
        if self.sql.execute(ADMIT, &params)? == 1 {
            return Ok(MessageAdmission::New);
        }
        let kept = self.message(&message.run_key)?;
        Ok(if kept.is_some_and(|kept| kept.is_same_as(message)) {
            MessageAdmission::Same
        } else {
            MessageAdmission::Differs
        })
    }
}

const ONE: &str = "
    SELECT run_key, agent_id, thread_id, kind, authority, surface, context, body_hash, options, admitted_at_ms,
        parent_run, parent_agent, parent_operation, sub_run_depth, cause, retry_of
    FROM message WHERE run_key = ?1";

impl View<'_> {
    /// Returns the message of a run.
    pub fn message(&mut self, run: &RunKey) -> Result<Option<Message>> {
        let rows = self.sql.query(ONE, &[run.into()])?;
        at_most_one(rows).map(read).transpose()
    }
}

fn read(mut row: Row) -> Result<Message> {
    Ok(Message {
        run_key: RunKey(row.digest("message.run_key")?),
        agent_id: row.agent_id("message.agent_id")?,
        thread_id: ThreadId::new(row.text("message.thread_id")?),
        kind: row.word("message.kind", unspell)?,
        authority: row.word("message.authority", unspell)?,
        surface: row.word("message.surface", unspell)?,
        context: row.word("message.context", unspell)?,
        body: BlobHash(row.digest("message.body_hash")?),
        options: row.word("message.options", |json| serde_json::from_str(json).ok())?,
        admitted_at: row.millis("message.admitted_at_ms")?,
        parent: parent(&mut row)?,
        cause: row.word("message.cause", |json| serde_json::from_str(json).ok())?,
        retry_of: row.optional_digest("message.retry_of")?.map(RunKey),
    })
}

/// Reads the run that sent the message; its columns are all set or all null.
fn parent(row: &mut Row) -> Result<Option<ParentRun>> {
    let run_key = row.optional_digest("message.parent_run")?.map(RunKey);
    let agent_id = row.optional_text("message.parent_agent")?;
    let operation_id = row.optional_digest("message.parent_operation")?.map(OperationId);
    let depth = row.small_count("message.sub_run_depth")?;
    let malformed = || StoreError::Malformed("message.parent_agent");
    match (run_key, agent_id, operation_id) {
        (None, None, None) if depth == 0 => Ok(None),
        (Some(run_key), Some(agent_id), Some(operation_id)) => Ok(Some(ParentRun {
            run_key,
            agent_id: AgentId::parse(&agent_id).map_err(|_| malformed())?,
            operation_id,
            depth,
        })),
        _ => Err(malformed()),
    }
}

pub(crate) const CHILDREN: &str = "
    SELECT agent_id, run_key FROM message WHERE parent_run = ?1 ORDER BY run_key LIMIT ?2";

impl View<'_> {
    /// Returns the sub-runs of a run, including ended ones.
    pub fn children(&mut self, run: &RunKey) -> Result<Vec<ChildRun>> {
        records(
            self.sql.query(CHILDREN, &[run.into(), limit(ROWS_MAX)])?,
            |mut row| {
                Ok(ChildRun {
                    agent_id: row.agent_id("message.agent_id")?,
                    run_key: RunKey(row.digest("message.run_key")?),
                })
            },
        )
    }
}

pub(crate) const RETRIES: &str = "
    SELECT run_key FROM message WHERE retry_of = ?1 ORDER BY run_key LIMIT ?2";

impl View<'_> {
    /// Returns the runs that run an ended run again.
    pub fn retries(&mut self, run: &RunKey) -> Result<Vec<RunKey>> {
        records(
            self.sql.query(RETRIES, &[run.into(), limit(ROWS_MAX)])?,
            |mut row| row.digest("message.run_key").map(RunKey),
        )
    }
}

/// One branch per status in which a run can still receive the end of a sub-run, each with its own index.
pub(crate) const AWAITED: &str = "
    SELECT message.agent_id FROM run
        JOIN message ON message.parent_run = run.run_key LEFT JOIN run AS child ON child.run_key = message.run_key
    WHERE run.agent_id = ?1 AND run.status = 'open'
        AND (child.status IN ('open', 'quarantined')
            OR EXISTS (SELECT 1 FROM queue WHERE queue.run_key = message.run_key))
    UNION
    SELECT message.agent_id FROM run
        JOIN message ON message.parent_run = run.run_key LEFT JOIN run AS child ON child.run_key = message.run_key
    WHERE run.agent_id = ?1 AND run.status = 'quarantined'
        AND (child.status IN ('open', 'quarantined')
            OR EXISTS (SELECT 1 FROM queue WHERE queue.run_key = message.run_key))
    ORDER BY 1 LIMIT ?2";

impl View<'_> {
    /// Returns the agents whose runs an agent's runs wait for.
    pub fn agents_awaited_by(&mut self, agent: &AgentId) -> Result<Vec<AgentId>> {
        records(
            self.sql.query(AWAITED, &[agent.into(), limit(ROWS_MAX)])?,
            |mut row| row.agent_id("message.agent_id"),
        )
    }
}

const LOCK_SQLITE: &str = "SELECT host_id FROM host";
const LOCK_POSTGRES: &str = "SELECT host_id FROM host FOR UPDATE";

impl Tx<'_> {
    /// Prevents other transactions from starting sub-runs until this one ends: two concurrent checks would
    /// both find no cycle of waiting agents. Taken after the heads.
    pub fn lock_sub_run_starts(&mut self) -> Result<()> {
        let lock = self.sql.dialect().pick(LOCK_SQLITE, LOCK_POSTGRES);
        self.sql.query(lock, &[]).map(drop)
    }
}

/// Serializes a plain enum to the string used on the wire, which is also the stored form.
fn spell<T: Serialize>(value: &T) -> Result<String> {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => Ok(word),
        Ok(_) | Err(_) => Err(StoreError::Malformed("message")),
    }
}

fn unspell<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}
