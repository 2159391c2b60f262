//! The other database: what people wrote. Each call is one read or one transaction of its own; what it may write is
//! decided by the core, and what it commits are the record, the change units that tell of it, and the operation.
//!
//! Writers meet at the host's row, which they lock first. So an operation id that is used twice at once is used once,
//! and the places of the outbox are in the order of the commits.

mod outbox;
mod table;

use std::sync::Arc;

use wakeful_core::change::{Token, Unit};
use wakeful_core::journal::rule::{self, Before, Reads, Written};
use wakeful_core::journal::{
    Author, Category, Kind, Mutation, Note, Record, RecordId, Refusal, Task, compensation,
};
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::time::Millis;
use wakeful_ports::fail;
use wakeful_ports::journal::{
    Change, Journal, JournalError, Known, Order, Pending, Receipt, TaskFilter, Undone,
};
use wakeful_ports::store::StoreError;

use self::outbox::{Operation, Place, State};
use crate::host;
use crate::postgres::{PostgresOptions, Server};
use crate::schema::JOURNAL;
use crate::sql::Sql;
use crate::sqlite::{Database, Memory, SqliteOptions};
use crate::store::Inner;

/// What people wrote, in a database of its own. Cloning it is cheap; all clones are one journal.
#[derive(Clone)]
pub struct JournalStore {
    inner: Inner,
}

impl JournalStore {
    /// Opens a journal's file, makes it or brings it up to date where needed. `host_id` names the host if the file is
    /// fresh, and is otherwise not looked at. Blocks for some milliseconds.
    pub fn open_sqlite(options: &SqliteOptions, host_id: &str) -> Result<Self, StoreError> {
        Ok(Self {
            inner: Inner::Sqlite(Arc::new(Database::open(options, &JOURNAL, host_id)?)),
        })
    }

    /// Opens a journal's file for reading. [`StoreError::Absent`] when there is none.
    pub fn open_sqlite_read_only(options: &SqliteOptions) -> Result<Self, StoreError> {
        Ok(Self {
            inner: Inner::Sqlite(Arc::new(Database::open_read_only(options, &JOURNAL)?)),
        })
    }

    /// A fresh journal in memory, for tests and simulations.
    pub fn in_memory(host_id: &str) -> Result<Self, StoreError> {
        Ok(Self {
            inner: Inner::Memory(Arc::new(Memory::new(&JOURNAL, host_id)?)),
        })
    }

    /// Connects to a PostgreSQL server, where the journal has a schema of its own in the same database.
    pub async fn open_postgres(options: &PostgresOptions, host_id: &str) -> Result<Self, StoreError> {
        Ok(Self {
            inner: Inner::Postgres(Arc::new(Server::open(options, &JOURNAL, host_id).await?)),
        })
    }

    /// Connects to a PostgreSQL server for reading. [`StoreError::Absent`] when there is no journal yet.
    pub async fn open_postgres_read_only(options: &PostgresOptions) -> Result<Self, StoreError> {
        Ok(Self {
            inner: Inner::Postgres(Arc::new(Server::open_read_only(options, &JOURNAL).await?)),
        })
    }

    /// Whose journal it is: the host without its incarnation, which a restore changes.
    pub async fn host_id(&self) -> Result<String, StoreError> {
        self.inner.read(|session| host::host_id(session)).await
    }

    /// Finishes what is queued and ends all threads.
    pub async fn close(&self) {
        self.inner.close().await;
    }

    async fn carry_out(&self, order: Order) -> Result<Receipt, JournalError> {
        // Encoded and hashed before the transaction, and refused there only for what it reads.
        rule::check(&order.mutation)?;
        let digest = order
            .mutation
            .digest()
            .map_err(|error| StoreError::Backend(error.into()))?;
        fail::point("journal.before_commit");
        let written = self
            .inner
            .write(move |session| carry_out(session, &order, digest))
            .await?;
        fail::point("journal.after_commit");
        Ok(written?)
    }

    async fn take_back(&self, operation: OperationId, at: Millis) -> Result<Undone, JournalError> {
        let undone = self
            .inner
            .write(move |session| take_back(session, &operation, at))
            .await?;
        Ok(undone?)
    }
}

impl Journal for JournalStore {
    fn write(&self, order: Order) -> Pending<'_, Receipt> {
        Box::pin(self.carry_out(order))
    }

    fn undo(&self, operation: OperationId, at: Millis) -> Pending<'_, Undone> {
        Box::pin(self.take_back(operation, at))
    }

    fn known(&self, operation: OperationId) -> Pending<'_, Known> {
        Box::pin(async move {
            let found = self
                .inner
                .read(move |session| outbox::operation(session, &operation));
            Ok(match found.await?.map(|operation| operation.state) {
                None => Known::Unknown,
                Some(State::Written) => Known::Written,
                Some(State::Undone | State::Void) => Known::Undone,
            })
        })
    }

    fn tasks(&self, filter: TaskFilter) -> Pending<'_, Vec<Task>> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(move |session| table::tasks(session, &filter))
                .await?)
        })
    }

    fn notes(&self, task: Option<RecordId>, limit: u32) -> Pending<'_, Vec<Note>> {
        Box::pin(async move {
            let read =
                move |session: &mut crate::session::Session<'_>| table::notes(session, task.as_ref(), limit);
            Ok(self.inner.read(read).await?)
        })
    }

    fn categories(&self) -> Pending<'_, Vec<Category>> {
        Box::pin(async move { Ok(self.inner.read(|session| table::categories(session)).await?) })
    }

    fn newest_change_not_by(&self, author: Author) -> Pending<'_, Option<(u64, Millis)>> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(move |session| outbox::newest_not_by(session, &author))
                .await?)
        })
    }

    fn changes(&self, after_seq: u64, limit: u32) -> Pending<'_, Vec<Change>> {
        Box::pin(async move {
            Ok(self
                .inner
                .read(move |session| outbox::changes(session, after_seq, limit))
                .await?)
        })
    }
}

/// An order in one transaction. A refusal leaves no trace: nothing was written before it.
fn carry_out(
    sql: &mut dyn Sql,
    order: &Order,
    digest: Digest,
) -> Result<Result<Receipt, Refusal>, StoreError> {
    let place = outbox::lock(sql)?;
    if let Some(known) = outbox::operation(sql, &order.operation_id)? {
        return Ok(known.answer(digest));
    }
    let reads = reads(sql, &order.mutation)?;
    let written = match rule::apply(&order.mutation, &reads, &order.operation_id, order.at) {
        Ok(written) => written,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let Written { after, before } = written;
    table::put(sql, &after)?;
    let receipt = tell(
        sql,
        &place,
        &after,
        &order.author,
        (&order.operation_id, order.at),
    )?;
    let operation = Operation {
        state: State::Written,
        mutation: Some(digest),
        receipt: Some(receipt.clone()),
        previous: before,
        author: Some(order.author.clone()),
    };
    outbox::put_operation(sql, &order.operation_id, &operation, order.at)?;
    Ok(Ok(receipt))
}

/// What the rule needs to know.
fn reads(sql: &mut dyn Sql, mutation: &Mutation) -> Result<Reads, StoreError> {
    let task = mutation.task().map(|id| table::task(sql, id)).transpose()?;
    let category = mutation
        .category()
        .map(|id| table::category(sql, id))
        .transpose()?;
    let namesake = mutation
        .category_name()
        .map(|name| table::category_named(sql, name.trim()))
        .transpose()?;
    Ok(Reads {
        task: task.flatten(),
        category: category.flatten(),
        namesake: namesake.flatten(),
    })
}

/// Undoes an operation in one transaction.
fn take_back(
    sql: &mut dyn Sql,
    operation: &OperationId,
    at: Millis,
) -> Result<Result<Undone, Refusal>, StoreError> {
    let place = outbox::lock(sql)?;
    let Some(known) = outbox::operation(sql, operation)? else {
        // Whoever was about to carry it out may be slow and not dead: it finds its place taken.
        let void = Operation {
            state: State::Void,
            mutation: None,
            receipt: None,
            previous: None,
            author: None,
        };
        outbox::put_operation(sql, operation, &void, at)?;
        return Ok(Ok(Undone::Void));
    };
    let Operation {
        state,
        receipt,
        previous,
        author,
        ..
    } = known;
    let (receipt, author) = match (state, receipt, author) {
        (State::Written, Some(receipt), Some(author)) => (receipt, author),
        (State::Undone, ..) => return undone_before(sql, operation),
        (State::Void | State::Written, ..) => return Ok(Ok(Undone::Void)),
    };
    let now = table::record(sql, receipt.kind, &receipt.record_id)?;
    let now = now.ok_or(StoreError::Malformed("operation.receipt"))?;
    let before = Before {
        version: receipt.version,
        has_notes: receipt.kind == Kind::Task && !table::notes(sql, Some(&receipt.record_id), 1)?.is_empty(),
        record: previous,
    };
    let after = match rule::undo(before, now, at) {
        Ok(after) => after,
        Err(refusal) => return Ok(Err(refusal)),
    };
    table::put(sql, &after)?;
    let name = compensation(operation);
    let receipt = tell(sql, &place, &after, &author, (&name, at))?;
    let inverse = Operation {
        state: State::Written,
        mutation: None,
        receipt: Some(receipt.clone()),
        previous: None,
        author: Some(author),
    };
    outbox::put_operation(sql, &name, &inverse, at)?;
    outbox::mark_undone(sql, operation)?;
    Ok(Ok(Undone::Inverted(receipt)))
}

/// The answer to undoing what was undone: the same as the first time.
fn undone_before(sql: &mut dyn Sql, operation: &OperationId) -> Result<Result<Undone, Refusal>, StoreError> {
    let inverse = outbox::operation(sql, &compensation(operation))?;
    let receipt = inverse.and_then(|inverse| inverse.receipt);
    let receipt = receipt.ok_or(StoreError::Malformed("operation.receipt"))?;
    Ok(Ok(Undone::Inverted(receipt)))
}

/// Puts a write into the outbox and says what came of it.
fn tell(
    sql: &mut dyn Sql,
    place: &Place,
    after: &Record,
    author: &Author,
    (operation_id, at): (&OperationId, Millis),
) -> Result<Receipt, StoreError> {
    let unit = Unit {
        host: place.host.clone(),
        counter: place.counter,
        payload_type: after.kind().as_str().to_owned(),
        payload_id: after.id().to_string(),
    };
    let tokens: Vec<String> = after.tokens().iter().map(Token::key).collect();
    let change = Change {
        seq: place.seq,
        unit: unit.clone(),
        tokens: tokens.clone(),
        author: author.clone(),
        operation_id: *operation_id,
        at,
    };
    outbox::append(sql, &change)?;
    outbox::advance(sql, place)?;
    Ok(Receipt {
        kind: after.kind(),
        record_id: after.id().clone(),
        version: after.version(),
        tokens,
        unit,
    })
}
