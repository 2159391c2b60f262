//! Endpoints and types for the person's tasks, notes and categories, and for agents' writes to them that
//! have not finished.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::TurnId;
use wakeful_core::journal::{RecordId, RecordKind, TaskStatus};
use wakeful_core::key::OperationId;
use wakeful_core::saga::{SagaPhase, SagaStatus};

use crate::endpoint::endpoints;
use crate::text::{DateTime, Hex, LINE, Limit, NO_ZERO, Text};

endpoints! { "journal":
    /// Lists tasks, newest first.
    ListTasks = Get "/api/journal/tasks" -> TaskList { 200 "The tasks" }
    /// Retrieves a task.
    GetTask { task_id: Text<RecordId> } = Get "/api/journal/tasks/{task_id}" -> Task { 200 "The task" }
    /// Creates a task.
    CreateTask = Post "/api/journal/tasks" -> WriteReceipt { 200 "The task was created", 404 "The category does not exist" }
    /// Updates a task. Fields that are left out do not change.
    UpdateTask = Post "/api/journal/tasks/{task_id}" -> WriteReceipt {
        200 "The task was updated",
        404 "The task or the category does not exist",
        409 "Nothing would change, or the key was already used for a different write",
    }
    /// Lists notes, newest first.
    ListNotes {
        /// Return only notes about this task.
        task_id: Option<Text<RecordId>>,
        /// The maximum number of notes.
        #[serde(default)]
        limit: Limit
    } = Get "/api/journal/notes" -> NoteList { 200 "The notes" }
    /// Creates a note.
    CreateNote = Post "/api/journal/notes" -> WriteReceipt { 200 "The note was created", 404 "The task does not exist" }
    /// Lists categories by name.
    ListCategories {} = Get "/api/journal/categories" -> JournalCategoryList { 200 "The categories" }
    /// Creates a category.
    CreateCategory = Post "/api/journal/categories" -> WriteReceipt {
        200 "The category was created",
        409 "The name is taken, or the key was already used for a different write",
    }
    /// Lists the sagas that have not finished, oldest first.
    ///
    /// A saga is a write of an agent to the journal.
    ListSagas {} = Get "/api/journal/sagas" -> SagaList { 200 "The sagas" }
    /// Resolves a stuck saga by accepting the journal as it is.
    ///
    /// Use it when the write could not be undone.
    ResolveSaga { operation_id: Text<OperationId> } = Post "/api/journal/sagas/{operation_id}/resolve" -> SagaList {
        200 "The sagas that have not finished",
        404 "No stuck saga has this id",
    }
}

/// Selects the tasks to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTasks {
    /// Return only tasks with this status.
    pub status: Option<TaskStatus>,
    /// Return only tasks whose id begins with these digits.
    pub prefix: Option<Hex<1, 32>>,
    /// The maximum number of tasks.
    #[serde(default)]
    pub limit: Limit,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// The task's id: 32 hex digits.
    pub task_id: Text<RecordId>,
    /// The title, in one line.
    pub title: String,
    /// The details; may be empty.
    pub details: String,
    /// The status of the task.
    pub status: TaskStatus,
    /// The category of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_id: Option<String>,
    /// When the task was created.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// When the task was last written.
    #[schemars(with = "DateTime")]
    pub updated_at: String,
    /// The number of writes to the task.
    pub version: u64,
}

/// A list of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskList {
    /// The tasks, newest first.
    pub tasks: Vec<Task>,
}

/// The task to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTask {
    /// The title, in one line.
    #[schemars(length(min = 1, max = 200), regex(pattern = LINE))]
    pub title: String,
    /// The details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16384), regex(pattern = NO_ZERO))]
    pub details: Option<String>,
    /// The category of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_id: Option<Text<RecordId>>,
    /// The idempotency key: repeating a write with the same key has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// The changes to a task. Fields that are left out do not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTask {
    /// The task's id.
    pub task_id: Text<RecordId>,
    /// The title, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200), regex(pattern = LINE))]
    pub title: Option<String>,
    /// The details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16384), regex(pattern = NO_ZERO))]
    pub details: Option<String>,
    /// The status of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// The category of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_id: Option<Text<RecordId>>,
    /// The idempotency key: repeating a write with the same key has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// A note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// The note's id: 32 hex digits.
    pub note_id: String,
    /// The text of the note.
    pub text: String,
    /// The task that the note is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// When the note was created.
    #[schemars(with = "DateTime")]
    pub created_at: String,
}

/// A list of notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteList {
    /// The notes, newest first.
    pub notes: Vec<Note>,
}

/// Text that is not blank and contains no NUL character.
const NOTE: &str = r"^[^\u0000]*[^\s\u0000\u0085][^\u0000]*$";

/// The note to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateNote {
    /// The text of the note.
    #[schemars(length(min = 1, max = 65536), regex(pattern = NOTE))]
    pub text: String,
    /// The task that the note is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Text<RecordId>>,
    /// The idempotency key: repeating a write with the same key has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// A category of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalCategory {
    /// The category's id: 32 hex digits.
    pub category_id: Text<RecordId>,
    /// The name that people see.
    pub name: String,
    /// When the category was created.
    #[schemars(with = "DateTime")]
    pub created_at: String,
}

/// A list of categories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalCategoryList {
    /// The categories, sorted by name.
    pub categories: Vec<JournalCategory>,
}

/// The category to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateCategory {
    /// The name that people see.
    #[schemars(length(min = 1, max = 64), regex(pattern = LINE))]
    pub name: String,
    /// The idempotency key: repeating a write with the same key has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// The result of a write. Repeating the write returns the same result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteReceipt {
    /// The kind of record that was written.
    pub kind: RecordKind,
    /// The id of the record.
    pub record_id: String,
    /// The number of writes to the record, including this one.
    pub version: u64,
}

/// A write of an agent to the journal that has not finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Saga {
    /// The action that the saga performs.
    pub operation_id: String,
    /// The run of the action.
    pub run_key: String,
    /// The agent of the run. Absent if the run no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The current phase.
    pub phase: SagaPhase,
    /// The status of the saga.
    pub status: SagaStatus,
    /// The last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When the saga last changed.
    #[schemars(with = "DateTime")]
    pub updated_at: String,
}

/// A list of sagas that have not finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SagaList {
    /// The sagas, oldest first.
    pub sagas: Vec<Saga>,
}
