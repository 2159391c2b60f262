//! The journal: what people wrote or observed, and what agents wrote for them.
//!
//! Nothing of an agent's inside can be said here: there is no record, no mutation and no column for a state, a message
//! or a report. Agents appear only by name, as authors.
//!
//! [`rule`] decides what a write leads to and how it is undone; the store reads what the rule asks for, and commits
//! what it answers in one transaction.

mod refusal;
pub mod rule;

use serde::{Deserialize, Serialize};

use crate::change::{Token, Unit};
use crate::id::AgentId;
use crate::json::{NotCanonical, digest};
use crate::key::{Digest, OperationId, h};
use crate::time::Millis;

pub use self::refusal::Refusal;

/// Longest title of a task, in characters: one line.
pub const TITLE_CHARS_MAX: usize = 200;

/// Longest name of a category, in characters.
pub const CATEGORY_CHARS_MAX: usize = 64;

/// Longest details of a task, in bytes.
pub const DETAILS_BYTES_MAX: usize = 16 * 1024;

/// Longest note, in bytes.
pub const NOTE_BYTES_MAX: usize = 64 * 1024;

/// Hex digits in the name of a record: 128 bits, so that no two ever meet.
pub const RECORD_ID_DIGITS: usize = 32;

/// The kinds of records there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A part of a life that tasks belong to.
    Category,
    /// Something to do.
    Task,
    /// Something written down.
    Note,
}

impl Kind {
    /// The spelling that is stored, and the payload type of a change unit.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Category => "category",
            Self::Task => "task",
            Self::Note => "note",
        }
    }

    /// Reads the stored spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Category, Self::Task, Self::Note]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }

    /// The word by which subscriptions know this kind.
    const fn semantic_key(self) -> &'static str {
        match self {
            Self::Category => "CATEGORY",
            Self::Task => "TASK",
            Self::Note => "NOTE",
        }
    }
}

/// The name of a record. Derived from the operation that made it, so that the same operation makes the same record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordId(String);

impl RecordId {
    /// The record that an operation makes.
    #[must_use]
    pub fn derived(kind: Kind, operation: &OperationId) -> Self {
        let label = match kind {
            Kind::Category => "journal.category",
            Kind::Task => "journal.task",
            Kind::Note => "journal.note",
        };
        let digest = h(label, &[&operation.to_string()]).to_string();
        Self(digest.chars().take(RECORD_ID_DIGITS).collect())
    }

    /// Reads a name that somebody gave.
    pub fn parse(field: &'static str, text: &str) -> Result<Self, Refusal> {
        let is_hex = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        if text.len() == RECORD_ID_DIGITS && text.bytes().all(is_hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Refusal::BadId { field })
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for RecordId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a task stands. Any state may follow any other: people change their minds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

impl TaskStatus {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Open, Self::InProgress, Self::Done, Self::Dropped];

    /// The spelling that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Dropped => "dropped",
        }
    }

    /// Reads the stored spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// A part of a life that tasks belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    /// Its name in the database.
    pub id: RecordId,
    /// Its name for people; no two have the same.
    pub name: String,
    /// When it was made.
    pub created_at: Millis,
    /// How many writes it has seen.
    pub version: u64,
    /// When it was taken away; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its name.
    pub id: RecordId,
    /// What it belongs to.
    pub category: Option<RecordId>,
    /// One line.
    pub title: String,
    /// More about it; may be empty.
    pub details: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last written.
    pub updated_at: Millis,
    /// How many writes it has seen.
    pub version: u64,
    /// When it was taken away; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

/// Something written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its name.
    pub id: RecordId,
    /// The task it is about.
    pub task: Option<RecordId>,
    /// What it says.
    pub text: String,
    /// When it was made.
    pub created_at: Millis,
    /// How many writes it has seen.
    pub version: u64,
    /// When it was taken away; the row stays as a tombstone.
    pub removed_at: Option<Millis>,
}

/// One record. There is no variant for anything that belongs to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A category.
    Category(Category),
    /// A task.
    Task(Task),
    /// A note.
    Note(Note),
}

impl Record {
    /// What kind it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Category(_) => Kind::Category,
            Self::Task(_) => Kind::Task,
            Self::Note(_) => Kind::Note,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn id(&self) -> &RecordId {
        match self {
            Self::Category(category) => &category.id,
            Self::Task(task) => &task.id,
            Self::Note(note) => &note.id,
        }
    }

    /// How many writes it has seen.
    #[must_use]
    pub const fn version(&self) -> u64 {
        match self {
            Self::Category(category) => category.version,
            Self::Task(task) => task.version,
            Self::Note(note) => note.version,
        }
    }

    /// What a write of it says to the outside: its kind, itself, what it belongs to, and the state of a task.
    #[must_use]
    pub fn tokens(&self) -> Vec<Token> {
        let entity = |id: &RecordId| Token::EntityId(id.to_string());
        let mut tokens = vec![
            Token::SemanticKey(self.kind().semantic_key().into()),
            entity(self.id()),
        ];
        match self {
            Self::Category(_) => {}
            Self::Task(task) => {
                tokens.extend(task.category.as_ref().map(entity));
                tokens.push(Token::Subtype {
                    namespace: "taskStatus".into(),
                    value: task.status.as_str().into(),
                });
            }
            Self::Note(note) => tokens.extend(note.task.as_ref().map(entity)),
        }
        tokens
    }
}

/// Who wrote something. An agent is here by its name only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// A person.
    Person,
    /// An agent, in a run whose operation id names the write.
    Agent(AgentId),
}

impl Author {
    /// The spelling that is stored and shown.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Person => "person".into(),
            Self::Agent(agent) => format!("agent:{agent}"),
        }
    }

    /// Reads the stored spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("agent:") {
            Some(agent) => AgentId::parse(agent).ok().map(Self::Agent),
            None => (text == "person").then_some(Self::Person),
        }
    }
}

/// What somebody wants written. Everything that can be written to the journal is one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Mutation {
    /// A new category.
    CreateCategory {
        /// Its name for people.
        name: String,
    },
    /// A new task.
    CreateTask {
        /// One line.
        title: String,
        /// More about it; may be empty.
        details: String,
        /// What it belongs to.
        category: Option<RecordId>,
    },
    /// Other words or another state for a task. What is absent stays.
    UpdateTask {
        /// Which task.
        task: RecordId,
        /// Its new line.
        title: Option<String>,
        /// Its new details.
        details: Option<String>,
        /// Its new state.
        status: Option<TaskStatus>,
        /// What it belongs to from now on.
        category: Option<RecordId>,
    },
    /// A new note.
    CreateNote {
        /// What it says.
        text: String,
        /// The task it is about.
        task: Option<RecordId>,
    },
}

impl Mutation {
    /// What tells two mutations apart: an operation id may be used again only for the same one.
    pub fn digest(&self) -> Result<Digest, NotCanonical> {
        digest(self)
    }

    /// The task that has to be read before it can be decided.
    #[must_use]
    pub const fn task(&self) -> Option<&RecordId> {
        match self {
            Self::UpdateTask { task, .. } => Some(task),
            Self::CreateNote { task, .. } => task.as_ref(),
            Self::CreateCategory { .. } | Self::CreateTask { .. } => None,
        }
    }

    /// The category that has to be read before it can be decided.
    #[must_use]
    pub const fn category(&self) -> Option<&RecordId> {
        match self {
            Self::CreateTask { category, .. } | Self::UpdateTask { category, .. } => category.as_ref(),
            Self::CreateCategory { .. } | Self::CreateNote { .. } => None,
        }
    }

    /// The name that must not be taken.
    #[must_use]
    pub fn category_name(&self) -> Option<&str> {
        match self {
            Self::CreateCategory { name } => Some(name),
            Self::CreateTask { .. } | Self::UpdateTask { .. } | Self::CreateNote { .. } => None,
        }
    }
}

/// What came of an order. Kept, so that the same order is always answered with the same receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// What kind of record was written.
    pub kind: Kind,
    /// Which one.
    pub record_id: RecordId,
    /// How many writes it has seen with this one.
    pub version: u64,
    /// The keys of what the write says to the outside.
    pub tokens: Vec<String>,
    /// The write as a change.
    pub unit: Unit,
}

/// The id under which a write is undone.
#[must_use]
pub fn compensation(operation: &OperationId) -> OperationId {
    OperationId(h("compensation", &[&operation.to_string()]))
}

/// The id of a write that a person asks for: derived from the key they gave, or from a fresh one.
#[must_use]
pub fn operation_of_person(key: &str) -> OperationId {
    OperationId(h("operation.person", &[key]))
}
