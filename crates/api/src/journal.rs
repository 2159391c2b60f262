//! What people wrote, and the writes of agents that are not over.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::TurnId;
use wakeful_core::journal::{RecordId, RecordKind, TaskStatus};
use wakeful_core::key::OperationId;
use wakeful_core::saga::{SagaPhase, SagaStatus};

use crate::endpoint::endpoints;
use crate::text::{DateTime, Hex, LINE, Limit, NO_ZERO, Text};

endpoints! { "journal":
    /// Tasks, newest first.
    ListTasks = Get "/api/journal/tasks" -> TaskList { 200 "The tasks" }
    /// One task.
    GetTask { task_id: Text<RecordId> } = Get "/api/journal/tasks/{task_id}" -> Task { 200 "The task" }
    /// Makes a task.
    CreateTask = Post "/api/journal/tasks" -> WriteReceipt { 200 "It is written", 404 "There is no such category" }
    /// Changes a task. What is left out stays.
    UpdateTask = Post "/api/journal/tasks/{task_id}" -> WriteReceipt {
        200 "It is written",
        404 "There is no such task or category",
        409 "Nothing would change, or the key was used before for another write",
    }
    /// Notes, newest first.
    ListNotes {
        /// Only those about this task.
        task_id: Option<Text<RecordId>>,
        /// Most notes, from the newest back.
        #[serde(default)]
        limit: Limit
    } = Get "/api/journal/notes" -> NoteList { 200 "The notes" }
    /// Makes a note.
    CreateNote = Post "/api/journal/notes" -> WriteReceipt { 200 "It is written", 404 "There is no such task" }
    /// Categories by name.
    ListCategories {} = Get "/api/journal/categories" -> JournalCategoryList { 200 "The categories" }
    /// Makes a category.
    CreateCategory = Post "/api/journal/categories" -> WriteReceipt {
        200 "It is written",
        409 "The name is taken, or the key was used for another write",
    }
    /// Writes of agents to the journal that are not over, oldest first.
    ListSagas {} = Get "/api/journal/sagas" -> SagaList { 200 "The sagas" }
    /// Says that the journal is right as it is, although a stuck saga could not be taken back.
    ResolveSaga { operation_id: Text<OperationId> } = Post "/api/journal/sagas/{operation_id}/resolve" -> SagaList {
        200 "What is still not over",
        404 "No such saga is stuck",
    }
}

/// Which tasks to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTasks {
    /// Only those with this status.
    pub status: Option<TaskStatus>,
    /// Only those whose id begins like this.
    pub prefix: Option<Hex<1, 32>>,
    /// Most tasks, from the newest back.
    #[serde(default)]
    pub limit: Limit,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its name: 32 hex digits.
    pub task_id: Text<RecordId>,
    /// One line.
    pub title: String,
    /// More about it; may be empty.
    pub details: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_id: Option<String>,
    /// When it was made.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// When it was last written.
    #[schemars(with = "DateTime")]
    pub updated_at: String,
    /// How many writes it has seen.
    pub version: u64,
}

/// Tasks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskList {
    /// The tasks.
    pub tasks: Vec<Task>,
}

/// A task to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTask {
    /// One line.
    #[schemars(length(min = 1, max = 200), regex(pattern = LINE))]
    pub title: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16384), regex(pattern = NO_ZERO))]
    pub details: Option<String>,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_id: Option<Text<RecordId>>,
    /// Names this write: the same key again is the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// What changes in a task. What is left out stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTask {
    /// The task's id.
    pub task_id: Text<RecordId>,
    /// One line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200), regex(pattern = LINE))]
    pub title: Option<String>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16384), regex(pattern = NO_ZERO))]
    pub details: Option<String>,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_id: Option<Text<RecordId>>,
    /// Names this write: the same key again is the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// Something written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Its name: 32 hex digits.
    pub note_id: String,
    /// What it says.
    pub text: String,
    /// The task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// When it was made.
    #[schemars(with = "DateTime")]
    pub created_at: String,
}

/// Notes, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteList {
    /// The notes.
    pub notes: Vec<Note>,
}

/// Something to read, and no zero character.
const NOTE: &str = r"^[^\u0000]*[^\s\u0000\u0085][^\u0000]*$";

/// A note to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateNote {
    /// What it says.
    #[schemars(length(min = 1, max = 65536), regex(pattern = NOTE))]
    pub text: String,
    /// The task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Text<RecordId>>,
    /// Names this write: the same key again is the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// A part of a life that tasks belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalCategory {
    /// Its name for programs: 32 hex digits.
    pub category_id: Text<RecordId>,
    /// Its name for people.
    pub name: String,
    /// When it was made.
    #[schemars(with = "DateTime")]
    pub created_at: String,
}

/// Categories by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalCategoryList {
    /// The categories.
    pub categories: Vec<JournalCategory>,
}

/// A category to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateCategory {
    /// Its name for people.
    #[schemars(length(min = 1, max = 64), regex(pattern = LINE))]
    pub name: String,
    /// Names this write: the same key again is the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// What was written. The same write again gives the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteReceipt {
    /// What kind of record.
    pub kind: RecordKind,
    /// Which one.
    pub record_id: String,
    /// How many writes it has seen with this one.
    pub version: u64,
}

/// A write of an agent to the journal that is not over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Saga {
    /// The action that it carries out.
    pub operation_id: String,
    /// The run of that action.
    pub run_key: String,
    /// Whose run it is; absent when the run is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// How far it is.
    pub phase: SagaPhase,
    /// Whether it is over.
    pub status: SagaStatus,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it last moved.
    #[schemars(with = "DateTime")]
    pub updated_at: String,
}

/// Sagas that are not over, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SagaList {
    /// The sagas.
    pub sagas: Vec<Saga>,
}
