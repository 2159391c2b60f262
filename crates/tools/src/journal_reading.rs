//! The tools that read the journal: what agents can write, so that they can find it again.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::failure::truncate_chars;
use wakeful_core::journal::{Note, RecordId, Task, TaskStatus, WriteError};
use wakeful_core::saga::JOURNAL_UNAVAILABLE;
use wakeful_core::step::{RetryAfter, ToolError};
use wakeful_core::tool::AgentAccessScope;
use wakeful_ports::journal::{Journal, JournalError, TaskFilter};
use wakeful_ports::store_error::StoreError;
use wakeful_ports::tool::{ToolOutcome, ToolRequest};

use crate::journal_listing::Listing;
use crate::options::OutputLimits;
use crate::outcome::{failed, succeeded};
use crate::output::json_cost;
use crate::schema;

pub(crate) const LIST_TASKS: &str = "journal_list_tasks";

pub(crate) const GET_TASK: &str = "journal_get_task";

pub(crate) const LIST_CATEGORIES: &str = "journal_list_categories";

/// Tasks of one list, by default and at most.
const TASKS_DEFAULT: u32 = 20;
const TASKS_MAX: u32 = 200;

/// Notes that are returned with a task.
const NOTES_MAX: u32 = 50;

/// Characters of a task's details in a list.
const DETAILS_CHARS: usize = 200;

#[derive(Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListTasks {
    /// open, in_progress, done or dropped. Default: all.
    #[serde(default)]
    status: Option<String>,
    /// Default 20.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

#[derive(Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetTask {
    /// Id of the task.
    task_id: String,
}

#[derive(Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListCategories {}

/// A reading with checked arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Tasks { status: Option<TaskStatus>, limit: u32 },
    Task { id: RecordId },
    Categories,
    Records(Listing),
}

pub(crate) fn list_tasks_spec() -> ToolSpec {
    schema::spec::<ListTasks>(LIST_TASKS, "List tasks of the person's journal, newest first.")
}

pub(crate) fn get_task_spec() -> ToolSpec {
    schema::spec::<GetTask>(GET_TASK, "Read a task of the person's journal with its notes.")
}

pub(crate) fn list_categories_spec() -> ToolSpec {
    schema::spec::<ListCategories>(LIST_CATEGORIES, "List the categories of the person's journal.")
}

impl Reading {
    pub(crate) fn parse(tool: &str, input: &Value) -> Result<Self, ToolError> {
        if let Some(listing) = Listing::parse(tool, input) {
            return listing.map(Self::Records);
        }
        match tool {
            LIST_TASKS => {
                let ListTasks { status, limit } =
                    schema::read(input, "the arguments are status and limit; none is required")?;
                let limit = limit.unwrap_or(TASKS_DEFAULT);
                if limit == 0 || limit > TASKS_MAX {
                    let message = format!("limit must be from 1 to {TASKS_MAX}");
                    return Err(schema::invalid(Some("limit"), &message, "use a smaller limit"));
                }
                let status =
                    status.map(|word| TaskStatus::parse(&word).ok_or_else(|| WriteError::BadStatus.fault()));
                Ok(Self::Tasks {
                    status: status.transpose()?,
                    limit,
                })
            }
            GET_TASK => {
                let GetTask { task_id } = schema::read(input, "the argument is task_id")?;
                let id = RecordId::parse("task_id", &task_id).map_err(|refusal| refusal.fault())?;
                Ok(Self::Task { id })
            }
            _ => {
                let ListCategories {} = schema::read(input, "there are no arguments")?;
                Ok(Self::Categories)
            }
        }
    }

    /// Reads within the agent's categories. A task outside them is reported as unknown, so that its existence
    /// stays hidden. A short list may be incomplete: only the newest [`TASKS_MAX`] tasks are searched.
    async fn read(
        self,
        journal: &dyn Journal,
        access: &AgentAccessScope,
        chars_max: usize,
    ) -> Result<Value, ReadingError> {
        let is_in_scope = |task: &Task| access.allows_category(task.category.as_ref().map(RecordId::as_str));
        match self {
            Self::Tasks { status, limit } => {
                let filter = TaskFilter {
                    status,
                    id_prefix: None,
                    limit: if access.allows_category(None) {
                        limit
                    } else {
                        TASKS_MAX
                    },
                };
                let tasks = journal.tasks(filter).await?;
                let shown = tasks.iter().filter(|task| is_in_scope(task));
                let shown = shown.take(usize::try_from(limit).unwrap_or(usize::MAX));
                Ok(listed("tasks", shown.map(task_in_list), chars_max))
            }
            Self::Task { id } => {
                let filter = TaskFilter {
                    status: None,
                    id_prefix: Some(id.as_str().to_owned()),
                    limit: 1,
                };
                let task = journal.tasks(filter).await?.into_iter().find(is_in_scope);
                let task = task.ok_or_else(|| ReadingError::Unknown(id.as_str().to_owned()))?;
                let notes = journal.notes(Some(id), NOTES_MAX).await?;
                let details = truncate_chars(&task.details, chars_max / 2);
                let notes = listed("notes", notes.iter().map(note), chars_max / 2);
                let mut found = task_in_list(&task);
                merge(&mut found, json!({"ok": true, "details": details}));
                merge(&mut found, notes);
                Ok(found)
            }
            Self::Records(listing) => {
                let name = listing.name();
                let records = listing.read(journal, access).await?;
                Ok(listed(name, records.into_iter(), chars_max))
            }
            Self::Categories => {
                let categories = journal.categories().await?;
                let shown = categories
                    .iter()
                    .filter(|one| access.allows_category(Some(one.id.as_str())))
                    .map(|one| json!({"category_id": one.id, "name": one.name}));
                Ok(listed("categories", shown, chars_max))
            }
        }
    }
}

/// Why a reading failed.
enum ReadingError {
    Journal(JournalError),
    /// No task has this id.
    Unknown(String),
}

impl From<JournalError> for ReadingError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

/// Performs a reading. It changes nothing, so it can be repeated.
pub(crate) async fn perform(
    journal: Arc<dyn Journal>,
    act: ToolRequest,
    output: OutputLimits,
) -> ToolOutcome {
    let reading = match Reading::parse(&act.tool, &act.input) {
        Ok(reading) => reading,
        Err(fault) => return failed(&act.tool, &fault),
    };
    let error = match reading.read(&*journal, &act.access, output.chars(None)).await {
        Ok(found) => return succeeded(found.to_string()),
        Err(ReadingError::Unknown(id)) => {
            let message = format!("there is no task {id}");
            let fault = ToolError {
                field: Some("task_id".to_owned()),
                ..ToolError::new("not_found", &message, "find it with journal_list_tasks")
            };
            return failed(&act.tool, &fault);
        }
        Err(ReadingError::Journal(error)) => error,
    };
    let may_pass = matches!(
        &error,
        JournalError::Store(StoreError::Unreachable(_) | StoreError::Conflict)
    );
    let message = format!("the journal could not be read: {error}");
    let fault = ToolError {
        retryable: may_pass,
        ..ToolError::new(
            JOURNAL_UNAVAILABLE,
            &message,
            "a person can check with `wakeful doctor`",
        )
    };
    ToolOutcome {
        retry_after: may_pass.then_some(RetryAfter { after_ms: None }),
        ..failed(&act.tool, &fault)
    }
}

/// The first entries that fit, and whether there are more.
fn listed(name: &str, entries: impl Iterator<Item = Value>, chars_max: usize) -> Value {
    let (mut room, mut shown, mut is_cut) = (chars_max, Vec::new(), false);
    for entry in entries {
        let cost: usize = entry.to_string().chars().map(json_cost).sum();
        is_cut = cost > room;
        if is_cut {
            break;
        }
        room -= cost;
        shown.push(entry);
    }
    let mut result = json!({"ok": true, name: shown});
    if is_cut {
        merge(&mut result, json!({"truncated": true}));
    }
    result
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(members), Value::Object(more)) = (into.as_object_mut(), from) {
        members.extend(more);
    }
}

fn task_in_list(task: &Task) -> Value {
    let mut entry = json!({"task_id": task.id, "title": task.title, "status": task.status});
    if !task.details.is_empty() {
        merge(
            &mut entry,
            json!({"details": truncate_chars(&task.details, DETAILS_CHARS)}),
        );
    }
    if let Some(category) = &task.category {
        merge(&mut entry, json!({"category_id": category}));
    }
    entry
}

fn note(note: &Note) -> Value {
    json!({"text": note.text, "created_at": note.created_at.rfc3339()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_reading_names_the_field() {
        let cases = [
            (LIST_TASKS, json!({"status": "finished"}), "status"),
            (LIST_TASKS, json!({"limit": 0}), "limit"),
            (LIST_TASKS, json!({"limit": 201}), "limit"),
            (LIST_TASKS, json!({"owner": "x"}), "owner"),
            (GET_TASK, json!({}), "task_id"),
            (GET_TASK, json!({"task_id": "7"}), "task_id"),
            (LIST_CATEGORIES, json!({"x": 1}), "x"),
        ];
        for (tool, input, field) in cases {
            let fault = Reading::parse(tool, &input).expect_err("a fault");
            assert_eq!(fault.field.as_deref(), Some(field), "{tool} {input}: {fault:?}");
        }
        let tasks = Reading::parse(LIST_TASKS, &json!({})).expect("a reading");
        assert_eq!(
            tasks,
            Reading::Tasks {
                status: None,
                limit: TASKS_DEFAULT
            }
        );
    }

    #[test]
    fn a_list_ends_where_the_result_is_full() {
        let entries = || (0..10).map(|n| json!({"n": n}));
        let whole = listed("all", entries(), 1_000);
        assert_eq!(
            (whole["all"].as_array().map(Vec::len), whole.get("truncated")),
            (Some(10), None)
        );
        let cut = listed("all", entries(), 30);
        assert_eq!(
            (cut["all"].as_array().map(Vec::len), &cut["truncated"]),
            (Some(3), &json!(true))
        );
    }
}
