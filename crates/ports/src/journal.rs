//! What people wrote, and writes to it.
//!
//! Everything that can be asked for is a [`Mutation`], so that nothing of an agent's inside can reach the journal.
//! A host application may bring a journal of its own behind this trait.

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

/// Why the journal did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The rules do not permit it. Nothing was written.
    #[error(transparent)]
    Refused(#[from] WriteError),
    /// Agents have written to a journal that is not there any more.
    #[error("the journal that this home's agents wrote to is gone")]
    Missing,
    /// In its place there is another one.
    #[error("the journal is another one than this home's agents wrote to")]
    WrongJournal,
    /// Its database said no.
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

/// An answer that is on its way.
pub type JournalFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, JournalError>> + Send + 'a>>;

/// A write that somebody wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRequest {
    /// Its name. A second order of the same name changes nothing and is answered like the first.
    pub operation_id: OperationId,
    /// Who wants it.
    pub author: Author,
    /// What is wanted.
    pub mutation: Mutation,
    /// When.
    pub at: Millis,
}

/// What came of undoing an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoOutcome {
    /// Its inverse is written.
    Inverted(WriteReceipt),
    /// It had not been carried out, and never will be.
    Void,
}

/// What the journal knows of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationStatus {
    /// Nothing: it was not carried out.
    Unknown,
    /// It was carried out.
    Written,
    /// It was undone, or called off before it was carried out.
    Undone,
}

/// One change unit of a committed transaction. Units of one transaction have the same place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedChange {
    /// Its place among everything that was committed here, whoever wrote it: a cursor stands on one.
    pub seq: u64,
    /// What was written, by which host.
    pub unit: ChangeUnit,
    /// The keys of what it says to the outside.
    pub tokens: Vec<String>,
    /// Who wanted it.
    pub author: Author,
    /// Under which name.
    pub operation_id: OperationId,
    /// When.
    pub at: Millis,
}

/// Which tasks to list, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only those that stand like this.
    pub status: Option<TaskStatus>,
    /// Only those whose id begins like this: digits that were checked.
    pub id_prefix: Option<String>,
    /// At most this many.
    pub limit: u32,
}

/// Which records to list; those that were taken away are not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordQuery {
    /// Checklists, newest first.
    Checklists {
        /// Only those of this task.
        task: Option<RecordId>,
    },
    /// The items of a checklist, in order.
    Items {
        /// Which checklist.
        checklist: RecordId,
    },
    /// Time entries, the one that started last first.
    TimeEntries {
        /// Only those of this task.
        task: Option<RecordId>,
        /// Only those that run.
        running: bool,
    },
    /// Plans of days, the last day first.
    DayPlans {
        /// Only that of this day.
        day: Option<CalendarDay>,
    },
    /// The blocks of a planned day, in order.
    Blocks {
        /// Which plan.
        plan: RecordId,
    },
    /// Ratings, newest first.
    Ratings {
        /// Only those of this record or day.
        target: Option<RatingTarget>,
    },
    /// Links, newest first.
    Links {
        /// Only those with this record at either end.
        of: Option<RecordId>,
    },
}

/// Hears of commits. It is cheap, and says only that there is something: what it is, [`Journal::changes`] tells.
pub trait CommitListener: Send + 'static {
    /// Ready as soon as something was committed since this was last ready, or since the listener was made. Commits
    /// that follow one another may be heard as one; none goes unheard.
    fn next(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The journal.
pub trait Journal: Send + Sync + 'static {
    /// Carries out an order in one transaction: the records, their change units and the receipt commit together.
    fn write(&self, order: WriteRequest) -> JournalFuture<'_, WriteReceipt>;
    /// Undoes an operation under a name derived from its own, unless somebody wrote the record since. One that was not
    /// carried out is made void, so that it never will be.
    fn undo(&self, operation: OperationId, at: Millis) -> JournalFuture<'_, UndoOutcome>;
    /// What is known of an operation.
    fn operation_status(&self, operation: OperationId) -> JournalFuture<'_, OperationStatus>;
    /// Tasks, newest first.
    fn tasks(&self, filter: TaskFilter) -> JournalFuture<'_, Vec<Task>>;
    /// Notes, newest first; only those of a task when one is named.
    fn notes(&self, task: Option<RecordId>, limit: u32) -> JournalFuture<'_, Vec<Note>>;
    /// Categories by name.
    fn categories(&self) -> JournalFuture<'_, Vec<Category>>;
    /// The newest place in the outbox that somebody else than this author wrote, and when; none where there is none.
    fn newest_change_not_by(&self, author: Author) -> JournalFuture<'_, Option<(u64, Millis)>>;
    /// What was committed after a place, oldest first: the outbox. Whole transactions only, so there may be a few more
    /// than asked for.
    fn changes(&self, after_seq: u64, limit: u32) -> JournalFuture<'_, Vec<CommittedChange>>;
    /// The place of the newest commit; 0 when there was none.
    fn last_seq(&self) -> JournalFuture<'_, u64>;
    /// Records of the kinds that have no list of their own above.
    fn records(&self, listing: RecordQuery, limit: u32) -> JournalFuture<'_, Vec<Record>>;
    /// Records of any kind whose id begins like this: digits that were checked. Tombstones are among them.
    fn records_with_prefix(&self, id_prefix: String, limit: u32) -> JournalFuture<'_, Vec<Record>>;
    /// The fields of records, of whatever kind, in one read; tombstones are among them, and what there never was is
    /// left out. For predicates: each is one flat object, see `wakeful_core::journal::told::entity`.
    fn entities(&self, ids: Vec<RecordId>) -> JournalFuture<'_, BTreeMap<RecordId, Value>>;
    /// Hears of every commit that this journal makes in this process from now on.
    fn subscribe_commits(&self) -> Box<dyn CommitListener>;
}
