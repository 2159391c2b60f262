//! The journal's outbox, and the operations that the journal has performed.

use serde::{Deserialize, Serialize};
use wakeful_core::change::{ChangeKind, ChangeUnit};
use wakeful_core::id::Incarnation;
use wakeful_core::journal::{Author, Record, RecordId, RecordKind, WriteError};
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::time::Millis;
use wakeful_ports::journal::{CommittedChange, WriteReceipt};

use crate::sql::{Row, Sql, at_most_one, exactly_one, limit, records};
use crate::{Result, StoreError};

/// The position of the next change.
pub(super) struct OutboxPosition {
    pub(super) host: Incarnation,
    /// The next counter of this host.
    pub(super) counter: u64,
    /// The next sequence number in the outbox.
    pub(super) seq: u64,
}

const LOCK_SQLITE: &str = "SELECT host_id, incarnation, counter, last_seq FROM host";
const LOCK_POSTGRES: &str = "SELECT host_id, incarnation, counter, last_seq FROM host FOR UPDATE";

/// Locks the host's row until the transaction ends, which serializes writers.
pub(super) fn lock(sql: &mut dyn Sql) -> Result<OutboxPosition> {
    let statement = sql.dialect().pick(LOCK_SQLITE, LOCK_POSTGRES);
    let mut row = at_most_one(sql.query(statement, &[])?).ok_or(StoreError::Malformed("host"))?;
    let (host_id, incarnation) = (row.text("host.host_id")?, row.int("host.incarnation")?);
    Ok(OutboxPosition {
        host: Incarnation::new(format!("{host_id}.{incarnation}")),
        counter: row.count("host.counter")?.saturating_add(1),
        seq: row.count("host.last_seq")?.saturating_add(1),
    })
}

const ADVANCE: &str = "UPDATE host SET counter = ?1, last_seq = ?2";

/// Stores the advanced position.
pub(super) fn advance(sql: &mut dyn Sql, place: &OutboxPosition) -> Result<()> {
    exactly_one(sql.execute(ADVANCE, &[place.counter.into(), place.seq.into()])?)
}

const APPEND: &str = "
    INSERT INTO change (seq, host_id, counter, payload_type, payload_id, tokens, author, operation_id, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

pub(super) fn append(sql: &mut dyn Sql, change: &CommittedChange) -> Result<()> {
    let tokens = json("change.tokens", &change.tokens)?;
    let author = change.author.to_text();
    let params = [
        change.seq.into(),
        (&change.unit.host).into(),
        change.unit.counter.into(),
        change.unit.payload_type.as_str().into(),
        change.unit.payload_id.as_str().into(),
        tokens.as_str().into(),
        author.as_str().into(),
        (&change.operation_id).into(),
        change.at.into(),
    ];
    sql.execute(APPEND, &params).map(drop)
}

const NEWEST_NOT_BY: &str = "SELECT seq, at_ms FROM change WHERE author <> ?1 ORDER BY seq DESC LIMIT 1";

/// Returns the position and time of the newest change by another author.
pub(super) fn newest_not_by(sql: &mut dyn Sql, author: &Author) -> Result<Option<(u64, Millis)>> {
    let author = author.to_text();
    let row = at_most_one(sql.query(NEWEST_NOT_BY, &[author.as_str().into()])?);
    row.map(|mut row| Ok((row.count("change.seq")?, row.millis("change.at_ms")?)))
        .transpose()
}

/// Extends the bound to the end of the last transaction within it.
const AFTER: &str = "
    SELECT seq, host_id, counter, payload_type, payload_id, tokens, author, operation_id, at_ms FROM change
    WHERE seq > ?1 AND seq <= (SELECT COALESCE(MAX(seq), 0) FROM
        (SELECT seq FROM change WHERE seq > ?1 ORDER BY seq LIMIT ?2) AS page)
    ORDER BY seq, payload_type, payload_id";

/// Returns changes after a position as whole transactions, oldest first.
pub(super) fn changes(sql: &mut dyn Sql, after: u64, at_most: u32) -> Result<Vec<CommittedChange>> {
    records(sql.query(AFTER, &[after.into(), limit(at_most)])?, read_change)
}

const LAST: &str = "SELECT last_seq FROM host";

/// Returns the newest position.
pub(super) fn last_seq(sql: &mut dyn Sql) -> Result<u64> {
    let row = at_most_one(sql.query(LAST, &[])?);
    row.ok_or(StoreError::Malformed("host"))?.count("host.last_seq")
}

fn read_change(mut row: Row) -> Result<CommittedChange> {
    let seq = row.count("change.seq")?;
    let unit = ChangeUnit {
        host: Incarnation::new(row.text("change.host_id")?),
        counter: row.count("change.counter")?,
        payload_type: row.word("change.payload_type", ChangeKind::parse)?,
        payload_id: row.text("change.payload_id")?,
    };
    Ok(CommittedChange {
        seq,
        unit,
        tokens: parsed("change.tokens", &row.text("change.tokens")?)?,
        author: row.word("change.author", Author::parse)?,
        operation_id: OperationId(row.digest("change.operation_id")?),
        at: row.millis("change.at_ms")?,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationState {
    Written,
    /// The operation was performed and later undone.
    Undone,
    /// The operation was not performed and never will be.
    Void,
}

impl OperationState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Undone => "undone",
            Self::Void => "void",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Written, Self::Undone, Self::Void]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

/// A record that an operation wrote, as it was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PreviousRecord {
    pub(super) kind: RecordKind,
    pub(super) id: RecordId,
    /// The version that the operation created.
    pub(super) version: u64,
    /// The record before the operation; `None` if the operation created it.
    pub(super) record: Option<Record>,
}

/// The content of `operation.previous`. Before schema 2 an operation wrote one record, which the receipt
/// names.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredPrevious {
    Each(Vec<PreviousRecord>),
    One(Record),
}

impl StoredPrevious {
    fn of(stored: Option<Self>, receipt: Option<&WriteReceipt>) -> Vec<PreviousRecord> {
        let record = match stored {
            Some(Self::Each(previous)) => return previous,
            Some(Self::One(record)) => Some(record),
            None => None,
        };
        let previous = receipt.map(|receipt| PreviousRecord {
            kind: receipt.kind,
            id: receipt.record_id.clone(),
            version: receipt.version,
            record,
        });
        previous.into_iter().collect()
    }
}

/// An operation that was performed or voided.
pub(super) struct OperationRow {
    pub(super) state: OperationState,
    /// Digest of the mutation; `None` for the inverse of another operation and for a void one.
    pub(super) mutation: Option<Digest>,
    pub(super) receipt: Option<WriteReceipt>,
    /// Every record that the operation wrote, as it was before; required for undo.
    pub(super) previous: Vec<PreviousRecord>,
    /// `None` for a void operation.
    pub(super) author: Option<Author>,
}

impl OperationRow {
    /// Returns the result for a repeated use of the operation id.
    pub(super) fn answer(self, mutation: Digest) -> Result<WriteReceipt, WriteError> {
        match (self.state, self.receipt) {
            (OperationState::Undone | OperationState::Void, _) | (OperationState::Written, None) => {
                Err(WriteError::OperationUndone)
            }
            (OperationState::Written, Some(_)) if self.mutation != Some(mutation) => {
                Err(WriteError::OperationReused)
            }
            (OperationState::Written, Some(receipt)) => Ok(receipt),
        }
    }
}

const OPERATION: &str = "
    SELECT state, mutation_hash, receipt, previous_records, author FROM operation WHERE operation_id = ?1";

/// Returns an operation that was performed or voided.
pub(super) fn operation(sql: &mut dyn Sql, id: &OperationId) -> Result<Option<OperationRow>> {
    let Some(mut row) = at_most_one(sql.query(OPERATION, &[id.into()])?) else {
        return Ok(None);
    };
    let state = row.word("operation.state", OperationState::parse)?;
    let mutation = row.optional_digest("operation.mutation_hash")?;
    let receipt = row.optional_text("operation.receipt")?;
    let previous = row.optional_text("operation.previous_records")?;
    let receipt: Option<WriteReceipt> = receipt
        .map(|text| parsed("operation.receipt", &text))
        .transpose()?;
    let previous = previous
        .map(|text| parsed("operation.previous_records", &text))
        .transpose()?;
    Ok(Some(OperationRow {
        state,
        mutation,
        previous: StoredPrevious::of(previous, receipt.as_ref()),
        receipt,
        author: author(row.optional_text("operation.author")?)?,
    }))
}

const PUT: &str = "
    INSERT INTO operation (operation_id, state, mutation_hash, receipt, previous_records, author, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(super) fn put_operation(
    sql: &mut dyn Sql,
    id: &OperationId,
    operation: &OperationRow,
    at: Millis,
) -> Result<()> {
    let encoded = |receipt: &WriteReceipt| json("operation.receipt", receipt);
    let receipt = operation.receipt.as_ref().map(encoded).transpose()?;
    let previous = json("operation.previous_records", &operation.previous)?;
    let author = operation.author.as_ref().map(Author::to_text);
    let params = [
        id.into(),
        operation.state.as_str().into(),
        operation.mutation.as_ref().into(),
        receipt.as_deref().into(),
        previous.as_str().into(),
        author.as_deref().into(),
        at.into(),
    ];
    sql.execute(PUT, &params).map(drop)
}

const MARK_UNDONE: &str =
    "UPDATE operation SET state = 'undone' WHERE operation_id = ?1 AND state = 'written'";

pub(super) fn mark_undone(sql: &mut dyn Sql, id: &OperationId) -> Result<()> {
    exactly_one(sql.execute(MARK_UNDONE, &[id.into()])?)
}

fn author(text: Option<String>) -> Result<Option<Author>> {
    let author = text.map(|text| Author::parse(&text).ok_or(StoreError::Malformed("operation.author")));
    author.transpose()
}

fn json(place: &'static str, value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|_| StoreError::Malformed(place))
}

fn parsed<T: serde::de::DeserializeOwned>(place: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| StoreError::Malformed(place))
}
