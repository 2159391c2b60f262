//! The journal: the person's records, in a database of its own. Each call is one read or one transaction;
//! the core decides what it may write. A transaction commits the records, their change units, and the
//! operation.
//!
//! All writers first lock the host's row. So two concurrent uses of one operation id take effect once, and
//! outbox positions follow the order of commits.

mod commit_notify;
mod outbox;
mod table;
mod undo;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use wakeful_core::change::{ChangeUnit, Token};
use wakeful_core::journal::rule::{self, ReadSet, RecordWrite, UndoRecord};
use wakeful_core::journal::tokens::{self, RelatedRecordMap};
use wakeful_core::journal::{
    Author, Category, Mutation, Note, Record, RecordId, Task, WriteError, compensation_id,
};
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::time::Millis;
use wakeful_ports::fail_point;
use wakeful_ports::journal::{
    CommitListener, CommittedChange, Journal, JournalError, JournalFuture, OperationStatus, RecordQuery,
    TaskFilter, UndoOutcome, WriteReceipt, WriteRequest,
};

pub use self::commit_notify::CommitNotifier;
use self::outbox::{OperationRow, OperationState, OutboxPosition, PreviousRecord};
use crate::host;
use crate::postgres::{PostgresOptions, Server};
use crate::schema::JOURNAL;
use crate::sql::Sql;
use crate::sqlite::copy::SchemaUpgrade;
use crate::sqlite::{Database, Memory, SqliteOptions};
use crate::store::Inner;
use crate::{Result, StoreError};

/// A handle to the person's records, which have a database of their own. Clones are cheap and share one
/// journal.
#[derive(Clone)]
pub struct JournalStore {
    inner: Inner,
    commit_notifier: CommitNotifier,
}

impl JournalStore {
    /// Opens a journal file; creates or migrates it if needed. `host_id` names the host of a new file and
    /// is ignored otherwise. Blocks for some milliseconds.
    pub fn open_sqlite(options: &SqliteOptions, host_id: &str) -> Result<Self> {
        Ok(Self::around(Inner::Sqlite(Arc::new(Database::open(
            options, &JOURNAL, host_id,
        )?))))
    }

    /// Opens a journal file for reading. Fails with [`StoreError::Absent`] if it does not exist.
    pub fn open_sqlite_read_only(options: &SqliteOptions) -> Result<Self> {
        Ok(Self::around(Inner::Sqlite(Arc::new(Database::open_read_only(
            options, &JOURNAL,
        )?))))
    }

    /// Creates an empty journal in memory, for tests and simulations.
    pub fn in_memory(host_id: &str) -> Result<Self> {
        Ok(Self::around(Inner::Memory(Arc::new(Memory::new(
            &JOURNAL, host_id,
        )?))))
    }

    /// Connects to a PostgreSQL server, where the journal has a schema of its own in the same database.
    pub async fn open_postgres(options: &PostgresOptions, host_id: &str) -> Result<Self> {
        Ok(Self::around(Inner::Postgres(Arc::new(
            Server::open(options, &JOURNAL, host_id).await?,
        ))))
    }

    /// Connects to a PostgreSQL server for reading. Fails with [`StoreError::Absent`] if the journal does
    /// not exist.
    pub async fn open_postgres_read_only(options: &PostgresOptions) -> Result<Self> {
        Ok(Self::around(Inner::Postgres(Arc::new(
            Server::open_read_only(options, &JOURNAL).await?,
        ))))
    }

    fn around(inner: Inner) -> Self {
        Self {
            inner,
            commit_notifier: CommitNotifier::default(),
        }
    }

    /// Sets the notifier used after each commit, so that listeners can subscribe before the journal is
    /// opened.
    #[must_use]
    pub fn with_commit_notifier(self, bell: CommitNotifier) -> Self {
        Self {
            commit_notifier: bell,
            ..self
        }
    }

    /// Returns the host id of the journal, without its incarnation, which a restore changes.
    pub async fn host_id(&self) -> Result<String> {
        self.inner.read(|session| host::host_id(&mut session.sql)).await
    }

    /// Returns the schema upgrade that opening the file performed, if any.
    #[must_use]
    pub fn upgraded(&self) -> Option<&SchemaUpgrade> {
        self.inner.upgraded()
    }

    /// Completes queued work and ends all threads.
    pub async fn close(&self) {
        self.inner.close().await;
    }

    async fn carry_out(&self, order: WriteRequest) -> Result<WriteReceipt, JournalError> {
        // Encode and hash the mutation before the transaction, which then refuses it only because of what
        // it reads.
        rule::check(&order.mutation)?;
        let digest = order
            .mutation
            .digest()
            .map_err(|error| StoreError::Backend(error.into()))?;
        fail_point::fail_point("journal.before_commit");
        let ringing = self.commit_notifier.in_transaction();
        let written = self
            .inner
            .write(move |session| {
                let outcome = carry_out(&mut session.sql, &order, digest);
                ringing.observe_outcome(&outcome);
                outcome
            })
            .await?;
        fail_point::fail_point("journal.after_commit");
        Ok(written?)
    }

    async fn take_back(&self, operation: OperationId, at: Millis) -> Result<UndoOutcome, JournalError> {
        let ringing = self.commit_notifier.in_transaction();
        let undone = self
            .inner
            .write(move |session| {
                let outcome = undo::take_back(&mut session.sql, &operation, at);
                ringing.observe_outcome(&outcome);
                outcome
            })
            .await?;
        Ok(undone?)
    }
}

impl Journal for JournalStore {
    fn write(&self, order: WriteRequest) -> JournalFuture<'_, WriteReceipt> {
        Box::pin(self.carry_out(order))
    }

    fn undo(&self, operation: OperationId, at: Millis) -> JournalFuture<'_, UndoOutcome> {
        Box::pin(self.take_back(operation, at))
    }

    fn operation_status(&self, operation: OperationId) -> JournalFuture<'_, OperationStatus> {
        Box::pin(async move {
            let found = self
                .inner
                .read(move |session| outbox::operation(&mut session.sql, &operation));
            Ok(match found.await?.map(|operation| operation.state) {
                None => OperationStatus::Unknown,
                Some(OperationState::Written) => OperationStatus::Written,
                Some(OperationState::Undone | OperationState::Void) => OperationStatus::Undone,
            })
        })
    }

    fn tasks(&self, filter: TaskFilter) -> JournalFuture<'_, Vec<Task>> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(move |session| table::tasks(&mut session.sql, &filter))
                .await?)
        })
    }

    fn notes(&self, task: Option<RecordId>, limit: u32) -> JournalFuture<'_, Vec<Note>> {
        Box::pin(async move {
            let read =
                move |session: &mut crate::tx::View<'_>| table::notes(&mut session.sql, task.as_ref(), limit);
            Ok(self.inner.read(read).await?)
        })
    }

    fn categories(&self) -> JournalFuture<'_, Vec<Category>> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(|session| table::categories(&mut session.sql))
                .await?)
        })
    }

    fn newest_change_not_by(&self, author: Author) -> JournalFuture<'_, Option<(u64, Millis)>> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(move |session| outbox::newest_not_by(&mut session.sql, &author))
                .await?)
        })
    }

    fn changes(&self, after_seq: u64, limit: u32) -> JournalFuture<'_, Vec<CommittedChange>> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(move |session| outbox::changes(&mut session.sql, after_seq, limit))
                .await?)
        })
    }

    fn last_seq(&self) -> JournalFuture<'_, u64> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(|session| outbox::last_seq(&mut session.sql))
                .await?)
        })
    }

    fn records(&self, listing: RecordQuery, limit: u32) -> JournalFuture<'_, Vec<Record>> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(move |session| table::list(&mut session.sql, &listing, limit))
                .await?)
        })
    }

    fn records_with_prefix(&self, id_prefix: String, limit: u32) -> JournalFuture<'_, Vec<Record>> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(move |session| table::begun(&mut session.sql, &id_prefix, limit))
                .await?)
        })
    }

    fn entities(&self, ids: Vec<RecordId>) -> JournalFuture<'_, BTreeMap<RecordId, Value>> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(move |session| entities(&mut session.sql, &ids))
                .await?)
        })
    }

    fn subscribe_commits(&self) -> Box<dyn CommitListener> {
        self.commit_notifier.subscribe()
    }
}

fn entities(sql: &mut dyn Sql, ids: &[RecordId]) -> Result<BTreeMap<RecordId, Value>> {
    let found = table::named(sql, ids)?;
    let all: Vec<&Record> = found.values().collect();
    let around = table::around(sql, &all, found.clone())?;
    let field = |(id, record): (RecordId, Record)| {
        let entity = tokens::entity(&record, &around);
        (id, entity)
    };
    let mut fields: BTreeMap<RecordId, Value> = found.into_iter().map(field).collect();
    let rest = ids.iter().filter(|id| !fields.contains_key(id)).cloned();
    let rest: Vec<RecordId> = rest.collect();
    if !rest.is_empty() {
        fields.extend(watch::entities(sql, &rest)?);
    }
    Ok(fields)
}

/// Performs a write request in one transaction. A refusal comes before the first write.
fn carry_out(
    sql: &mut dyn Sql,
    order: &WriteRequest,
    digest: Digest,
) -> Result<Result<WriteReceipt, WriteError>> {
    let place = outbox::lock(sql)?;
    if let Some(known) = outbox::operation(sql, &order.operation_id)? {
        return Ok(known.answer(digest));
    }
    let reads = reads(sql, &order.mutation)?;
    let written = match rule::apply(&order.mutation, &reads, &order.operation_id, order.at) {
        Ok(written) => written,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if let Err(refusal) = check_unique_constraints(sql, &written)? {
        return Ok(Err(refusal));
    }
    let telling = ChangeWriter {
        place: &place,
        author: &order.author,
        operation_id: &order.operation_id,
        at: order.at,
    };
    let receipt = telling.write(sql, &written, reads.records)?;
    let previous = |written: RecordWrite| PreviousRecord {
        kind: written.after.kind(),
        id: written.after.id().clone(),
        version: written.after.version(),
        record: written.before,
    };
    let operation = OperationRow {
        state: OperationState::Written,
        mutation: Some(digest),
        receipt: Some(receipt.clone()),
        previous: written.into_iter().map(previous).collect(),
        author: Some(order.author.clone()),
    };
    outbox::put_operation(sql, &order.operation_id, &operation, order.at)?;
    Ok(Ok(receipt))
}

/// Reads the records that the rule needs.
fn reads(sql: &mut dyn Sql, mutation: &Mutation) -> Result<ReadSet> {
    let needs = mutation.needs();
    let members = needs.members.as_ref().map(|members| table::members(sql, members));
    Ok(ReadSet {
        members: members.transpose()?.unwrap_or_default(),
        records: table::named(sql, &needs.records)?,
    })
}

/// Checks unique constraints for the records about to be written.
fn check_unique_constraints(sql: &mut dyn Sql, written: &[RecordWrite]) -> Result<Result<(), WriteError>> {
    for RecordWrite { after, .. } in written {
        let Some(rival) = rule::unique_constraint(after) else {
            continue;
        };
        let refusal = table::rival(sql, &rival)?.and_then(|found| rule::check_unique(after, &found).err());
        if let Some(refusal) = refusal {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(()))
}

/// The provenance of a write, stored with its changes.
struct ChangeWriter<'a> {
    place: &'a OutboxPosition,
    author: &'a Author,
    operation_id: &'a OperationId,
    at: Millis,
}

impl ChangeWriter<'_> {
    /// Writes the records, appends them to the outbox as one transaction, and returns the receipt. `known`
    /// holds the related records that were already read.
    fn write(
        &self,
        sql: &mut dyn Sql,
        written: &[RecordWrite],
        mut known: RelatedRecordMap,
    ) -> Result<WriteReceipt> {
        let after: Vec<&Record> = written.iter().map(|written| &written.after).collect();
        known.extend(
            after
                .iter()
                .map(|record| (record.id().clone(), (*record).clone())),
        );
        let around = table::around(sql, &after, known)?;
        let (mut units, mut tokens) = (Vec::with_capacity(written.len()), Vec::new());
        for written in written {
            table::put(sql, &written.after)?;
            let said = tokens::tokens(&written.after, written.change(), &around);
            let said: Vec<String> = said.iter().map(Token::key).collect();
            let unit = self.unit(&written.after);
            outbox::append(sql, &self.change(unit.clone(), said.clone()))?;
            let fresh: Vec<String> = said.into_iter().filter(|token| !tokens.contains(token)).collect();
            tokens.extend(fresh);
            units.push(unit);
        }
        outbox::advance(sql, self.place)?;
        let mut units = units.into_iter();
        let (Some(first), Some(unit)) = (after.first(), units.next()) else {
            return Err(StoreError::Malformed("operation"));
        };
        Ok(WriteReceipt {
            kind: first.kind(),
            record_id: first.id().clone(),
            version: first.version(),
            tokens,
            unit,
            also: units.collect(),
        })
    }

    fn unit(&self, record: &Record) -> ChangeUnit {
        ChangeUnit {
            host: self.place.host.clone(),
            counter: self.place.counter,
            payload_type: record.kind().into(),
            payload_id: record.id().to_string(),
        }
    }

    fn change(&self, unit: ChangeUnit, tokens: Vec<String>) -> CommittedChange {
        CommittedChange {
            seq: self.place.seq,
            unit,
            tokens,
            author: self.author.clone(),
            operation_id: *self.operation_id,
            at: self.at,
        }
    }
}
