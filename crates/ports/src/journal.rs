//! The journal: the person's records, and writes to them.
//!
//! Every write is a [`Mutation`], so that no internal state of an agent can reach the journal. A host
//! application may implement this trait with its own journal.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use wakeful_core::change::ChangeUnit;
pub use wakeful_core::journal::WriteReceipt;
use wakeful_core::journal::{
    Author, CalendarDay, Category, Mutation, Note, RatingTarget, Record, RecordId, Task, TaskStatus,
    WriteError,
};
use wakeful_core::key::OperationId;
use wakeful_core::problem::Problem;
use wakeful_core::time::Millis;

use crate::store_error::StoreError;

/// Why a journal operation failed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The rules do not allow the write. Nothing was written.
    #[error(transparent)]
    Refused(#[from] WriteError),
    /// Agents have written to a journal that does not exist any more.
    #[error("the journal that this home's agents wrote to is gone")]
    Missing,
    /// A different journal was found in its place.
    #[error("the journal is not the one that this home's agents wrote to")]
    WrongJournal,
    /// The database returned an error.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<&JournalError> for Problem {
    fn from(error: &JournalError) -> Self {
        match error {
            JournalError::Refused(refusal) => refusal.into(),
            JournalError::Missing => Self::new(
                "journal_missing",
                error.to_string(),
                "put db.sqlite back from a backup, or begin a new journal with `wakeful journal adopt`",
            ),
            JournalError::WrongJournal => Self::new(
                "wrong_journal",
                error.to_string(),
                "put the right db.sqlite back, or take this one with `wakeful journal adopt`",
            ),
            JournalError::Store(error) => {
                let problem: Self = error.into();
                let message = format!("the journal: {}", problem.message);
                Self { message, ..problem }
            }
        }
    }
}

/// The future of a journal operation.
pub type JournalFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

/// A requested write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRequest {
    /// The name of the write. A repeated request with the same id changes nothing and returns the original
    /// receipt.
    pub operation_id: OperationId,
    pub author: Author,
    pub mutation: Mutation,
    pub at: Millis,
}

/// The result of undoing an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The inverse was written.
    Inverted(WriteReceipt),
    /// It was not performed, and now never will be.
    Void,
}

/// The status of an operation in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationStatus {
    /// The journal has no record of it: it was not performed.
    Unknown,
    /// It was performed.
    Written,
    /// It was undone, or made void before it was performed.
    Undone,
}

/// One change unit of a committed transaction. Units of one transaction have the same sequence number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedChange {
    /// The sequence number of the commit in this journal, for all authors; cursors refer to it.
    pub seq: u64,
    /// The written record and the host that wrote it.
    pub unit: ChangeUnit,
    /// The keys of the tokens that describe the change to subscribers.
    pub tokens: Vec<String>,
    pub author: Author,
    pub operation_id: OperationId,
    pub at: Millis,
}

/// Selects tasks; the newest come first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only tasks with this status.
    pub status: Option<TaskStatus>,
    /// Only tasks whose id has this prefix of validated digits.
    pub id_prefix: Option<String>,
    pub limit: u32,
}

/// Selects records; deleted ones are excluded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordQuery {
    /// Checklists, newest first.
    Checklists {
        /// Only checklists of this task.
        task: Option<RecordId>,
    },
    /// The items of a checklist, in order.
    Items { checklist: RecordId },
    /// Time entries, the latest start first.
    TimeEntries {
        /// Only entries of this task.
        task: Option<RecordId>,
        /// Only running entries.
        running: bool,
    },
    /// Day plans, the latest day first.
    DayPlans {
        /// Only the plan of this day.
        day: Option<CalendarDay>,
    },
    /// The blocks of a day plan, in order.
    Blocks { plan: RecordId },
    /// Ratings, newest first.
    Ratings {
        /// Only ratings of this record or day.
        target: Option<RatingTarget>,
    },
    /// Links, newest first.
    Links {
        /// Only links with this record at either end.
        of: Option<RecordId>,
    },
}

/// Receives a signal for commits. It is cheap and carries no content; [`Journal::changes`] returns the
/// changes.
pub trait CommitListener: Send + 'static {
    /// Completes as soon as there was a commit since the last completion or since the listener was created.
    /// Consecutive commits may be reported as one; none is lost.
    fn next(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

pub trait Journal: Send + Sync + 'static {
    /// Performs a write in one transaction: the records, their change units and the receipt commit
    /// together.
    fn write(&self, order: WriteRequest) -> JournalFuture<'_, WriteReceipt>;
    /// Undoes an operation under an id derived from its own, unless the record was written since. An
    /// operation that was not performed is made void, so that it never will be.
    fn undo(&self, operation: OperationId, at: Millis) -> JournalFuture<'_, UndoOutcome>;
    /// Returns the status of an operation.
    fn operation_status(&self, operation: OperationId) -> JournalFuture<'_, OperationStatus>;
    /// Returns tasks, newest first.
    fn tasks(&self, filter: TaskFilter) -> JournalFuture<'_, Vec<Task>>;
    /// Returns notes, newest first; only those of a task if one is given.
    fn notes(&self, task: Option<RecordId>, limit: u32) -> JournalFuture<'_, Vec<Note>>;
    /// Returns categories by name.
    fn categories(&self) -> JournalFuture<'_, Vec<Category>>;
    /// Returns the newest sequence number of the outbox written by another author, with its time; none if
    /// there is none.
    fn newest_change_not_by(&self, author: Author) -> JournalFuture<'_, Option<(u64, Millis)>>;
    /// Reads the outbox: the changes after a sequence number, oldest first. Transactions are never split,
    /// so the result may slightly exceed the limit.
    fn changes(&self, after_seq: u64, limit: u32) -> JournalFuture<'_, Vec<CommittedChange>>;
    /// Returns the sequence number of the newest commit; 0 if there was none.
    fn last_seq(&self) -> JournalFuture<'_, u64>;
    /// Returns records of the kinds without a method above.
    fn records(&self, listing: RecordQuery, limit: u32) -> JournalFuture<'_, Vec<Record>>;
    /// Returns records of any kind whose id has this prefix of validated digits, including tombstones.
    fn records_with_prefix(&self, id_prefix: String, limit: u32) -> JournalFuture<'_, Vec<Record>>;
    /// Returns the fields of records of any kind in one read, including tombstones; ids that never existed
    /// are omitted. Predicates read each record as one flat object, see
    /// `wakeful_core::journal::tokens::entity`.
    fn entities(&self, ids: Vec<RecordId>) -> JournalFuture<'_, BTreeMap<RecordId, Value>>;
    /// Subscribes to every commit that this journal makes in this process from now on.
    fn subscribe_commits(&self) -> Box<dyn CommitListener>;
}
