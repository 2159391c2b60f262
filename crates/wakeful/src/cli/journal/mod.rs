//! `wakeful journal`: what people wrote, and what agents wrote for them.

mod category;
mod checklist;
mod plan;
mod rating_link;
mod time;

use clap::Subcommand;
use serde_json::json;
use wakeful_api::{
    CreateNote, CreateTask, JournalRecord, JournalWrite, Limit, ListNotes, ListTasks, Task, TaskStatus, Text,
    UpdateTask, WriteJournal, WriteReceipt,
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

/// Digits of an id that are shown in a list: enough to tell a person's tasks apart.
const DIGITS_SHOWN: usize = 8;

/// Notes that are shown with their task.
const NOTES_SHOWN: u32 = 50;

#[derive(Debug, Subcommand)]
pub(crate) enum JournalVerb {
    /// Things to do
    #[command(subcommand)]
    Task(TaskVerb),
    /// Things written down
    #[command(subcommand)]
    Note(NoteVerb),
    /// What tasks belong to
    #[command(subcommand)]
    Category(CategoryVerb),
    /// What tasks take, item by item
    #[command(subcommand)]
    Checklist(ChecklistVerb),
    /// Time that is spent on tasks
    #[command(subcommand)]
    Time(TimeVerb),
    /// What days are for
    #[command(subcommand)]
    Plan(PlanVerb),
    /// Say how good a record or a day was
    Rate(RateArgs),
    /// What records have to do with each other
    #[command(subcommand)]
    Link(LinkVerb),
    /// Show a record of any kind; a deleted one too
    Show {
        /// The first digits of its id
        id: String,
    },
    /// Delete a record of any kind; its tombstone stays
    Delete {
        /// The first digits of its id
        id: String,
    },
    /// Bring a deleted record back
    Restore {
        /// The first digits of its id
        id: String,
    },
    /// Show what was committed, newest last
    Changes(ChangesArgs),
    /// Take the db.sqlite that is there, or a new one, for the journal of this home
    Adopt,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskVerb {
    /// Add a task
    Add {
        /// One line
        title: String,
        /// More about it
        #[arg(long, value_name = "TEXT")]
        details: Option<String>,
        /// What it belongs to: a category's name or id
        #[arg(long, value_name = "NAME")]
        category: Option<String>,
        /// Names this write: the same key again is the same write
        #[arg(long, value_name = "K")]
        idempotency_key: Option<String>,
    },
    /// List tasks, newest first
    List {
        /// Only those that stand like this: open, in_progress, done or dropped
        #[arg(long, value_name = "STATUS", value_parser = status)]
        status: Option<TaskStatus>,
        /// Most tasks
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show a task with its notes
    Show {
        /// The first digits of its id
        id: String,
    },
    /// Change a task; what is left out stays
    Update {
        /// The first digits of its id
        id: String,
        /// A new line
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
        /// New details
        #[arg(long, value_name = "TEXT")]
        details: Option<String>,
        /// How it stands: open, in_progress, done or dropped
        #[arg(long, value_name = "STATUS", value_parser = status)]
        status: Option<TaskStatus>,
        /// What it belongs to: a category's name or id
        #[arg(long, value_name = "NAME")]
        category: Option<String>,
    },
    /// Mark a task as done
    Done {
        /// The first digits of its id
        id: String,
    },
    /// Delete a task; what belongs to it stays, and is written again when it is back
    Delete {
        /// The first digits of its id
        id: String,
    },
    /// Bring a deleted task back
    Restore {
        /// The first digits of its id
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum NoteVerb {
    /// Add a note
    Add {
        /// What it says
        text: String,
        /// The task it is about: the first digits of its id
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// Names this write: the same key again is the same write
        #[arg(long, value_name = "K")]
        idempotency_key: Option<String>,
    },
    /// List notes, newest first
    List {
        /// Only those about this task
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// Most notes
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
}

fn status(word: &str) -> Result<TaskStatus, String> {
    serde_json::from_value(json!(word)).map_err(|_| "give open, in_progress, done or dropped".to_owned())
}

/// Runs the verb.
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
            let lines: Vec<String> = tasks.iter().map(line).collect();
            out.answer(&json!({"tasks": tasks}), &or_none(&lines, "there are no tasks"));
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

/// What changes in a task.
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
            .map(|note| format!("{}  {}", note.created_at, note.text)),
    );
    out.answer(&json!({"task": task, "notes": notes}), &lines.join("\n"));
    Ok(())
}

/// Deletes a record, of this kind if one is given.
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

/// Brings a record back, of this kind if one is given.
async fn restore(id: &str, kind: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    write_record(shared, out, async |backend| {
        let record_id = of_kind(backend.journal_record(id).await?, kind)?.id;
        Ok(JournalWrite::Restore { record_id })
    })
    .await
}

/// Writes what was made out of what there is, and tells what came of it.
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

/// The word of a record's kind.
fn kind_of(record: &JournalRecord) -> String {
    let kind = serde_json::to_value(record.kind).unwrap_or_default();
    kind.as_str().unwrap_or_default().to_owned()
}

/// The record, if it is of the kind that is meant.
fn of_kind(record: JournalRecord, kind: Option<&str>) -> Result<JournalRecord, Failure> {
    let found = kind_of(&record);
    match kind {
        Some(kind) if kind != found => {
            let message = format!("{} is a {found}, and no {kind}", record.id);
            Err(Failure::usage(
                "record_unknown",
                message,
                "take the id from the right list",
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
            let lines: Vec<String> = notes
                .iter()
                .map(|note| format!("{}  {}", note.created_at, note.text))
                .collect();
            out.answer(&json!({"notes": notes}), &or_none(&lines, "there are no notes"));
        }
    }
    Ok(())
}

/// A daemon has the old journal in its hands, so it has to end first.
async fn adopt(shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    if daemon(shared).await?.is_some() {
        let message = "a daemon runs in this home";
        let hint = "`wakeful daemon stop`, then call this again";
        return Err(Failure::new("daemon_running", message, hint));
    }
    let place = OpenHome::open_for_writing(shared).await?;
    place
        .run_and_close(out, async |place| Ok(place.journal.adopt_other().await?))
        .await?;
    out.answer(
        &json!({"adopted": true}),
        "this home writes to the journal that is there from now on",
    );
    Ok(())
}

async fn task_of(backend: &Backend, given: Option<&str>) -> Result<Option<Text<RecordId>>, Failure> {
    match given {
        Some(given) => Ok(Some(backend.find_task(given).await?.task_id)),
        None => Ok(None),
    }
}

/// The first digits of an id.
fn short(id: &impl ToString) -> String {
    id.to_string().chars().take(DIGITS_SHOWN).collect()
}

/// A field of a record as text.
fn field(record: &JournalRecord, name: &str) -> String {
    match record.fields.get(name) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn line(task: &Task) -> String {
    let short = short(&task.task_id);
    let status = match task.status {
        TaskStatus::Open => "open",
        TaskStatus::InProgress => "in progress",
        TaskStatus::Done => "done",
        TaskStatus::Dropped => "dropped",
    };
    format!("{short}  {status:<11}  {}", task.title)
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
