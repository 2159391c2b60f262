//! `wakeful journal`: shows and edits the journal, which people and agents write.

mod category;
mod checklist;
mod plan;
mod rating_link;
mod time;

use clap::Subcommand;
use serde_json::json;
use wakeful_api::{
    CreateNote, CreateTask, JournalRecord, JournalWrite, Limit, ListNotes, ListTasks, Note, Task, TaskStatus,
    Text, UpdateTask, WriteJournal, WriteReceipt,
};
use wakeful_core::id::TurnId;
use wakeful_core::journal::RecordId;

use self::category::{CategoryVerb, category_of};
use self::checklist::ChecklistVerb;
use self::plan::PlanVerb;
use self::rating_link::{ChangesArgs, LinkVerb, RateArgs};
use self::time::TimeVerb;

use super::GlobalArgs;
use crate::backend::{Backend, read, write};
use crate::discover::daemon;
use crate::failure::Failure;
use crate::open_home::OpenHome;
use crate::show::Out;
use crate::show::table::{Column, Table};

/// Digits of an id in lists; enough to distinguish one person's tasks.
const DIGITS_SHOWN: usize = 8;

/// Maximum number of notes shown with their task.
const NOTES_SHOWN: u32 = 50;

#[derive(Debug, Subcommand)]
pub(crate) enum JournalVerb {
    /// Manage tasks
    #[command(subcommand)]
    Task(TaskVerb),
    /// Manage notes
    #[command(subcommand)]
    Note(NoteVerb),
    /// Manage categories
    #[command(subcommand)]
    Category(CategoryVerb),
    /// Manage checklists of tasks
    #[command(subcommand)]
    Checklist(ChecklistVerb),
    /// Track time spent on tasks
    #[command(subcommand)]
    Time(TimeVerb),
    /// Plan days
    #[command(subcommand)]
    Plan(PlanVerb),
    /// Rate a record or a day
    Rate(RateArgs),
    /// Manage links between records
    #[command(subcommand)]
    Link(LinkVerb),
    /// Show a record of any kind, including a deleted one
    Show {
        /// Record id or a unique prefix of it
        id: String,
    },
    /// Delete a record of any kind; a tombstone remains
    Delete {
        /// Record id or a unique prefix of it
        id: String,
    },
    /// Restore a deleted record
    Restore {
        /// Record id or a unique prefix of it
        id: String,
    },
    /// Show committed changes, newest last
    Changes(ChangesArgs),
    /// Use the existing db.sqlite, or a new one, as the journal of this home
    Adopt,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskVerb {
    /// Add a task
    Add {
        /// Title (one line)
        title: String,
        /// Details
        #[arg(long, value_name = "TEXT")]
        details: Option<String>,
        /// Category name or id
        #[arg(long, value_name = "NAME")]
        category: Option<String>,
        /// Idempotency key: repeating the command with the same key writes nothing new
        #[arg(long, value_name = "K")]
        idempotency_key: Option<String>,
    },
    /// List tasks, newest first
    List {
        /// Show only tasks with this status: open, in_progress, done or dropped
        #[arg(long, value_name = "STATUS", value_parser = status)]
        status: Option<TaskStatus>,
        /// Maximum number of tasks to show
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show a task with its notes
    Show {
        /// Task id or a unique prefix of it
        id: String,
    },
    /// Update a task; omitted fields stay unchanged
    Update {
        /// Task id or a unique prefix of it
        id: String,
        /// New title (one line)
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
        /// New details
        #[arg(long, value_name = "TEXT")]
        details: Option<String>,
        /// New status: open, in_progress, done or dropped
        #[arg(long, value_name = "STATUS", value_parser = status)]
        status: Option<TaskStatus>,
        /// New category (name or id)
        #[arg(long, value_name = "NAME")]
        category: Option<String>,
    },
    /// Mark a task as done
    Done {
        /// Task id or a unique prefix of it
        id: String,
    },
    /// Delete a task; its notes and other records remain, and can be changed again when the task is
    /// restored
    Delete {
        /// Task id or a unique prefix of it
        id: String,
    },
    /// Restore a deleted task
    Restore {
        /// Task id or a unique prefix of it
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum NoteVerb {
    /// Add a note
    Add {
        /// Text of the note
        text: String,
        /// Task that the note belongs to: its id or a unique prefix of it
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// Idempotency key: repeating the command with the same key writes nothing new
        #[arg(long, value_name = "K")]
        idempotency_key: Option<String>,
    },
    /// List notes, newest first
    List {
        /// Show only notes of this task
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// Maximum number of notes to show
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
}

fn status(word: &str) -> Result<TaskStatus, String> {
    serde_json::from_value(json!(word)).map_err(|_| "expected open, in_progress, done or dropped".to_owned())
}

pub(crate) async fn journal(verb: &JournalVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        JournalVerb::Task(verb) => task(verb, shared, out).await?,
        JournalVerb::Note(verb) => note(verb, shared, out).await?,
        JournalVerb::Category(verb) => category::category(verb, shared, out).await?,
        JournalVerb::Checklist(verb) => checklist::checklist(verb, shared, out).await?,
        JournalVerb::Time(verb) => time::time(verb, shared, out).await?,
        JournalVerb::Plan(verb) => plan::plan(verb, shared, out).await?,
        JournalVerb::Rate(rate) => rating_link::rate(rate, shared, out).await?,
        JournalVerb::Link(verb) => rating_link::link(verb, shared, out).await?,
        JournalVerb::Show { id } => rating_link::show(id, shared, out).await?,
        JournalVerb::Delete { id } => remove(id, None, shared, out).await?,
        JournalVerb::Restore { id } => restore(id, None, shared, out).await?,
        JournalVerb::Changes(wanted) => rating_link::changes(wanted, shared, out).await?,
        JournalVerb::Adopt => adopt(shared, out).await?,
    }
    Ok(0)
}

async fn task(verb: &TaskVerb, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    match verb {
        TaskVerb::Add {
            title,
            details,
            category,
            idempotency_key,
        } => {
            let add = write(shared, out, async |backend| {
                let category_id = match category {
                    Some(category) => Some(category_of(backend, category).await?),
                    None => None,
                };
                let new = CreateTask {
                    title: title.clone(),
                    details: details.clone(),
                    category_id,
                    key: idempotency_key
                        .as_deref()
                        .map(TurnId::parse)
                        .transpose()?
                        .map(Text),
                };
                backend.call(new).await
            });
            tell(&add.await?, out);
        }
        TaskVerb::List { status, limit } => {
            let wanted = ListTasks {
                status: *status,
                limit: Limit(*limit),
                ..ListTasks::default()
            };
            let tasks = read(shared, async |backend| backend.call(wanted).await)
                .await?
                .tasks;
            let table = Table::new(TASKS, tasks.iter().map(row));
            out.list(&json!({"tasks": tasks}), &table, "there are no tasks");
        }
        TaskVerb::Show { id } => show(id, shared, out).await?,
        TaskVerb::Update {
            id,
            title,
            details,
            status,
            category,
        } => {
            let change = TaskChange {
                title: title.clone(),
                details: details.clone(),
                status: *status,
                category: category.as_deref(),
            };
            update(id, change, shared, out).await?;
        }
        TaskVerb::Done { id } => {
            let change = TaskChange {
                status: Some(TaskStatus::Done),
                ..TaskChange::default()
            };
            update(id, change, shared, out).await?;
        }
        TaskVerb::Delete { id } => remove(id, Some("task"), shared, out).await?,
        TaskVerb::Restore { id } => restore(id, Some("task"), shared, out).await?,
    }
    Ok(())
}

/// The new field values of a task.
#[derive(Default)]
struct TaskChange<'a> {
    title: Option<String>,
    details: Option<String>,
    status: Option<TaskStatus>,
    category: Option<&'a str>,
}

async fn update(id: &str, change: TaskChange<'_>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let changed = write(shared, out, async |backend| {
        let update = UpdateTask {
            task_id: backend.find_task(id).await?.task_id,
            title: change.title,
            details: change.details,
            status: change.status,
            category_id: match change.category {
                Some(category) => Some(category_of(backend, category).await?),
                None => None,
            },
            key: None,
        };
        backend.call(update).await
    });
    tell(&changed.await?, out);
    Ok(())
}

async fn show(id: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let (task, notes) = read(shared, async |backend| {
        let task = backend.find_task(id).await?;
        let about = ListNotes {
            task_id: Some(task.task_id.clone()),
            limit: Limit(NOTES_SHOWN),
        };
        let notes = backend.call(about).await?.notes;
        Ok((task, notes))
    })
    .await?;
    let mut lines = vec![line(&task), format!("id         {}", task.task_id)];
    lines.extend((!task.details.is_empty()).then(|| task.details.clone()));
    lines.extend(
        notes
            .iter()
            .map(|note| format!("{}  {}", out.at(&note.created_at), note.text)),
    );
    out.answer(&json!({"task": task, "notes": notes}), &lines.join("\n"));
    Ok(())
}

/// Deletes a record, and checks its kind if one is given.
async fn remove(id: &str, kind: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    write_record(shared, out, async |backend| {
        let record_id = of_kind(backend.journal_record(id).await?, kind)?.id;
        Ok(JournalWrite::Remove {
            record_id,
            move_to: None,
        })
    })
    .await
}

/// Restores a record, and checks its kind if one is given.
async fn restore(id: &str, kind: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    write_record(shared, out, async |backend| {
        let record_id = of_kind(backend.journal_record(id).await?, kind)?.id;
        Ok(JournalWrite::Restore { record_id })
    })
    .await
}

/// Writes a record derived from the stored one, and prints the result.
async fn write_record(
    shared: &GlobalArgs,
    out: &Out,
    made: impl AsyncFnOnce(&Backend) -> Result<JournalWrite, Failure>,
) -> Result<(), Failure> {
    let written = write(shared, out, async |backend| {
        let write = made(backend).await?;
        backend.call(WriteJournal { write, key: None }).await
    });
    tell(&written.await?, out);
    Ok(())
}

/// The name of a record's kind.
fn kind_of(record: &JournalRecord) -> String {
    let kind = serde_json::to_value(record.kind).unwrap_or_default();
    kind.as_str().unwrap_or_default().to_owned()
}

/// Returns the record if it has the expected kind.
fn of_kind(record: JournalRecord, kind: Option<&str>) -> Result<JournalRecord, Failure> {
    let found = kind_of(&record);
    match kind {
        Some(kind) if kind != found => {
            let message = format!("{} is a {found}, not a {kind}", record.id);
            Err(Failure::usage(
                "record_unknown",
                message,
                "use an id of the right kind",
            ))
        }
        Some(_) | None => Ok(record),
    }
}

async fn note(verb: &NoteVerb, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    match verb {
        NoteVerb::Add {
            text,
            task,
            idempotency_key,
        } => {
            let add = write(shared, out, async |backend| {
                let new = CreateNote {
                    text: text.clone(),
                    task_id: task_of(backend, task.as_deref()).await?,
                    key: idempotency_key
                        .as_deref()
                        .map(TurnId::parse)
                        .transpose()?
                        .map(Text),
                };
                backend.call(new).await
            });
            tell(&add.await?, out);
        }
        NoteVerb::List { task, limit } => {
            let notes = read(shared, async |backend| {
                let task_id = task_of(backend, task.as_deref()).await?;
                let limit = Limit(*limit);
                backend.call(ListNotes { task_id, limit }).await
            });
            let notes = notes.await?.notes;
            const NOTES: [Column; 3] = [
                Column::key("NOTE"),
                Column::whole("WRITTEN", 1),
                Column::text("TEXT", 0),
            ];
            let row = |note: &Note| [short(&note.note_id), out.at(&note.created_at), note.text.clone()];
            let table = Table::new(NOTES, notes.iter().map(row));
            out.list(&json!({"notes": notes}), &table, "there are no notes");
        }
    }
    Ok(())
}

/// Refused while a daemon runs, because the daemon has the old journal open.
async fn adopt(shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    if daemon(shared).await?.is_some() {
        let message = "a daemon runs in this home";
        let hint = "run `wakeful daemon stop`, then try again";
        return Err(Failure::new("daemon_running", message, hint));
    }
    let place = OpenHome::open_for_writing(shared).await?;
    place
        .run_and_close(out, async |place| Ok(place.journal.adopt_other().await?))
        .await?;
    out.answer(
        &json!({"adopted": true}),
        "this home now uses the existing journal",
    );
    Ok(())
}

async fn task_of(backend: &Backend, given: Option<&str>) -> Result<Option<Text<RecordId>>, Failure> {
    match given {
        Some(given) => Ok(Some(backend.find_task(given).await?.task_id)),
        None => Ok(None),
    }
}

fn short(id: &impl ToString) -> String {
    id.to_string().chars().take(DIGITS_SHOWN).collect()
}

fn field(record: &JournalRecord, name: &str) -> String {
    match record.fields.get(name) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

const TASKS: [Column; 3] = [
    Column::key("TASK"),
    Column::whole("STATUS", 0),
    Column::text("TITLE", 1),
];

fn row(task: &Task) -> [String; 3] {
    [
        short(&task.task_id),
        status_word(task).to_owned(),
        task.title.clone(),
    ]
}

fn line(task: &Task) -> String {
    format!("{}  {}  {}", short(&task.task_id), status_word(task), task.title)
}

const fn status_word(task: &Task) -> &'static str {
    match task.status {
        TaskStatus::Open => "open",
        TaskStatus::InProgress => "in progress",
        TaskStatus::Done => "done",
        TaskStatus::Dropped => "dropped",
    }
}

fn tell(written: &WriteReceipt, out: &Out) {
    out.answer(&json!(written), &written.record_id);
}

fn or_none(lines: &[String], none: &str) -> String {
    if lines.is_empty() {
        none.to_owned()
    } else {
        lines.join("\n")
    }
}
