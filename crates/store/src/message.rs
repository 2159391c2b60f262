//! Messages, each named by the run it asks for.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use wakeful_core::blob::BlobHash;
use wakeful_core::id::ThreadId;
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_ports::records::Admission;
use wakeful_ports::store::StoreError;

use crate::sql::{Row, Sql, at_most_one};

const ADMIT: &str = "
    INSERT INTO message (run_key, agent_id, thread_id, kind, authority, surface, context, body, wishes, admitted_at_ms,
        cause)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT (run_key) DO NOTHING";

/// Keeps a message, unless its key is there already.
pub(crate) fn admit(sql: &mut dyn Sql, message: &Message) -> Result<Admission, StoreError> {
    let words = [
        spell(&message.kind)?,
        spell(&message.authority)?,
        spell(&message.surface)?,
        spell(&message.context)?,
    ];
    let wishes =
        serde_json::to_string(&message.wishes).map_err(|_| StoreError::Malformed("message.wishes"))?;
    let cause = serde_json::to_string(&message.cause).map_err(|_| StoreError::Malformed("message.cause"))?;
    let [kind, authority, surface, context] = words.each_ref().map(|word| word.as_str().into());
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
        cause.as_str().into(),
    ];
    if sql.execute(ADMIT, &params)? == 1 {
        return Ok(Admission::New);
    }
    let kept = one(sql, &message.run_key)?;
    Ok(if kept.is_some_and(|kept| kept.is_same_as(message)) {
        Admission::Same
    } else {
        Admission::Differs
    })
}

const ONE: &str = "
    SELECT run_key, agent_id, thread_id, kind, authority, surface, context, body, wishes, admitted_at_ms, cause
    FROM message WHERE run_key = ?1";

/// The message of a run.
pub(crate) fn one(sql: &mut dyn Sql, run: &RunKey) -> Result<Option<Message>, StoreError> {
    let rows = sql.query(ONE, &[run.into()])?;
    at_most_one(rows).map(read).transpose()
}

fn read(mut row: Row) -> Result<Message, StoreError> {
    Ok(Message {
        run_key: RunKey(row.digest("message.run_key")?),
        agent_id: row.agent_id("message.agent_id")?,
        thread_id: ThreadId::new(row.text("message.thread_id")?),
        kind: row.word("message.kind", unspell)?,
        authority: row.word("message.authority", unspell)?,
        surface: row.word("message.surface", unspell)?,
        context: row.word("message.context", unspell)?,
        body: BlobHash(row.digest("message.body")?),
        wishes: row.word("message.wishes", |json| serde_json::from_str(json).ok())?,
        admitted_at: row.millis("message.admitted_at_ms")?,
        cause: row.word("message.cause", |json| serde_json::from_str(json).ok())?,
    })
}

/// The word that a plain enum is written as on the wire, which is also how it is stored.
fn spell<T: Serialize>(value: &T) -> Result<String, StoreError> {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => Ok(word),
        Ok(_) | Err(_) => Err(StoreError::Malformed("message")),
    }
}

fn unspell<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}
