//! What people wrote, and the writes of agents that are not over.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody has begun.
    Open,
    /// Somebody has.
    InProgress,
    /// It is done.
    Done,
    /// It will not be done.
    Dropped,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    /// Its name: 32 hex digits.
    pub task_id: String,
    /// One line.
    pub title: String,
    /// More about it; may be empty.
    pub details: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub category_id: Option<String>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last written.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// How many writes it has seen.
    pub version: u64,
}

/// Tasks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskList {
    /// The tasks.
    pub tasks: Vec<Task>,
}

/// A task to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTask {
    /// One line.
    #[schema(min_length = 1, max_length = 200)]
    pub title: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 16384)]
    pub details: Option<String>,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub category_id: Option<String>,
    /// Names this write: the same key again is the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"
    )]
    pub key: Option<String>,
}

/// What changes in a task. What is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTask {
    /// One line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub title: Option<String>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 16384)]
    pub details: Option<String>,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub category_id: Option<String>,
    /// Names this write: the same key again is the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"
    )]
    pub key: Option<String>,
}

/// Something written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Note {
    /// Its name: 32 hex digits.
    pub note_id: String,
    /// What it says.
    pub text: String,
    /// The task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub task_id: Option<String>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// Notes, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NoteList {
    /// The notes.
    pub notes: Vec<Note>,
}

/// A note to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateNote {
    /// What it says.
    #[schema(min_length = 1, max_length = 65536)]
    pub text: String,
    /// The task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub task_id: Option<String>,
    /// Names this write: the same key again is the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"
    )]
    pub key: Option<String>,
}

/// A part of a life that tasks belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalCategory {
    /// Its name for programs: 32 hex digits.
    pub category_id: String,
    /// Its name for people.
    pub name: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// Categories by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalCategoryList {
    /// The categories.
    pub categories: Vec<JournalCategory>,
}

/// A category to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateCategory {
    /// Its name for people.
    #[schema(min_length = 1, max_length = 64)]
    pub name: String,
    /// Names this write: the same key again is the same write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"
    )]
    pub key: Option<String>,
}

/// What kind of record something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A category.
    Category,
    /// A task.
    Task,
    /// A note.
    Note,
    /// A checklist.
    Checklist,
    /// An item of a checklist.
    ChecklistItem,
    /// Time that was spent.
    TimeEntry,
    /// The plan of a day.
    DayPlan,
    /// A block of such a plan.
    DayPlanBlock,
    /// A rating.
    Rating,
    /// A link.
    Link,
}

/// What was written. The same write again gives the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Written {
    /// What kind of record.
    pub kind: RecordKind,
    /// Which one.
    pub record_id: String,
    /// How many writes it has seen with this one.
    pub version: u64,
}

/// How far a saga is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SagaPhase {
    /// It is about to write.
    Intent,
    /// The journal has it, the agent's side does not.
    Journal,
    /// Both have it.
    Agent,
    /// It is to be taken back.
    Compensation,
}

/// Whether a saga is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SagaStatus {
    /// Something is left to do.
    Open,
    /// Both sides have the same to say.
    Completed,
    /// It was taken back.
    Compensated,
    /// It can be neither finished nor taken back; a person decides.
    Stuck,
}

/// A write of an agent to the journal that is not over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Saga {
    /// The action that it carries out.
    pub operation_id: String,
    /// The run of that action.
    pub run_key: String,
    /// Whose run it is; absent when the run is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub agent_id: Option<String>,
    /// How far it is.
    pub phase: SagaPhase,
    /// Whether it is over.
    pub status: SagaStatus,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub last_error: Option<String>,
    /// When it last moved.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Sagas that are not over, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SagaList {
    /// The sagas.
    pub sagas: Vec<Saga>,
}
