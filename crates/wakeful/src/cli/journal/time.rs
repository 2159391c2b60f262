//! `wakeful journal time`: tracks time spent on tasks.

use clap::Subcommand;
use serde_json::json;
use wakeful_api::{JournalRecord, JournalWrite, Limit, ListRecords, RecordListKind, Text};
use wakeful_core::journal::RecordId;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;

use super::{field, of_kind, short, write_record};
use crate::backend::{Backend, read};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;
use crate::show::table::{Column, Table};
use crate::system::RealClock;

const MINUTE_MS: i64 = 60_000;

/// Maximum duration of one entry in minutes: a week.
const MINUTES_MAX: i64 = 7 * 24 * 60;

#[derive(Debug, Subcommand)]
pub(crate) enum TimeVerb {
    /// Start a timer; a task has at most one running timer
    Start {
        /// Task id or a unique prefix of it
        task: String,
        /// Description
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Stop a timer
    Stop {
        /// Entry or task id, or a unique prefix of it; may be omitted if only one timer runs
        id: Option<String>,
    },
    /// Add time spent earlier
    Add {
        /// Task id or a unique prefix of it
        task: String,
        /// Start time, such as 2026-11-15T09:30:00+01:00
        #[arg(long, value_name = "TIME", required_unless_present = "minutes")]
        started_at: Option<String>,
        /// End time [default: now]
        #[arg(long, value_name = "TIME")]
        ended_at: Option<String>,
        /// Duration in minutes, instead of a start time
        #[arg(long, value_name = "N", conflicts_with = "started_at", value_parser = clap::value_parser!(i64).range(1..=MINUTES_MAX))]
        minutes: Option<i64>,
        /// Description
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// List time entries, latest start first
    List {
        /// Show only entries of this task
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// Show only running timers
        #[arg(long)]
        running: bool,
        /// Maximum number of entries to show
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
}

pub(super) async fn time(verb: &TimeVerb, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    match verb {
        TimeVerb::Start { task, description } => {
            let started = write_record(shared, out, async |backend| {
                Ok(JournalWrite::StartTime {
                    task_id: backend.find_task(task).await?.task_id,
                    description: description.clone(),
                })
            });
            started.await
        }
        TimeVerb::Stop { id } => {
            let stopped = write_record(shared, out, async |backend| {
                let time_entry_id = running(backend, id.as_deref()).await?;
                Ok(JournalWrite::StopTime { time_entry_id })
            });
            stopped.await
        }
        TimeVerb::Add {
            task,
            started_at,
            ended_at,
            minutes,
            description,
        } => {
            let ended_at =
                moment("--ended-at", ended_at.as_deref())?.unwrap_or_else(|| RealClock::new().now());
            let before = |minutes: i64| Millis(ended_at.0.saturating_sub(minutes.saturating_mul(MINUTE_MS)));
            let started_at = match moment("--started-at", started_at.as_deref())? {
                Some(started_at) => started_at,
                None => before(minutes.unwrap_or_default()),
            };
            let added = write_record(shared, out, async |backend| {
                Ok(JournalWrite::AddTime {
                    task_id: backend.find_task(task).await?.task_id,
                    started_at: Text(started_at),
                    ended_at: Text(ended_at),
                    description: description.clone(),
                })
            });
            added.await
        }
        TimeVerb::List { task, running, limit } => {
            let filter = TimeFilter {
                task: task.as_deref(),
                running: *running,
                limit: *limit,
            };
            list(filter, shared, out).await
        }
    }
}

/// Parses an optional timestamp.
pub(super) fn moment(name: &str, given: Option<&str>) -> Result<Option<Millis>, Failure> {
    let read = |given: &str| {
        let message = format!("{name}: invalid time {given:?}");
        let hint = "use RFC 3339 with an offset, such as 2026-11-15T09:30:00+01:00";
        Millis::parse(given).ok_or_else(|| Failure::usage("bad_time", message, hint))
    };
    given.map(read).transpose()
}

/// Finds the running entry: by its id, by its task's id, or the only one.
async fn running(backend: &Backend, given: Option<&str>) -> Result<Text<RecordId>, Failure> {
    let mut wanted = ListRecords {
        running: true,
        ..ListRecords::all(RecordListKind::TimeEntry, Limit(2))
    };
    if let Some(given) = given {
        let record = backend.journal_record(given).await?;
        match of_kind(record, Some("time_entry")) {
            Ok(entry) => return Ok(entry.id),
            Err(_) => wanted.related_id = Some(backend.find_task(given).await?.task_id),
        }
    }
    let mut found = backend.call(wanted).await?.records.into_iter();
    match (found.next(), found.next()) {
        (Some(entry), None) => Ok(entry.id),
        (None, _) => Err(Failure::new(
            "time_entry_stopped",
            "no timer is running",
            "start one with `wakeful journal time start`",
        )),
        (Some(_), Some(_)) => Err(Failure::usage(
            "time_entry_ambiguous",
            "several timers are running",
            "`wakeful journal time list --running` shows them; give the id of one",
        )),
    }
}

/// Filter of `journal time list`.
struct TimeFilter<'a> {
    task: Option<&'a str>,
    running: bool,
    limit: u32,
}

async fn list(filter: TimeFilter<'_>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let entries = read(shared, async |backend| {
        let of = match filter.task {
            Some(task) => Some(backend.find_task(task).await?.task_id),
            None => None,
        };
        let wanted = ListRecords {
            related_id: of,
            running: filter.running,
            ..ListRecords::all(RecordListKind::TimeEntry, Limit(filter.limit))
        };
        backend.call(wanted).await
    });
    let entries = entries.await?.records;
    let table = Table::new(ENTRIES, entries.iter().map(|entry| row(entry, out)));
    out.list(
        &json!({"time_entries": entries}),
        &table,
        "there are no time entries",
    );
    Ok(())
}

const ENTRIES: [Column; 5] = [
    Column::key("ENTRY"),
    Column::whole("STARTED", 1),
    Column::whole("LASTED", 0),
    Column::text("TASK", 2),
    Column::text("DESCRIPTION", 3),
];

fn row(entry: &JournalRecord, out: &Out) -> [String; 5] {
    let seconds = entry.fields.get("seconds").and_then(serde_json::Value::as_u64);
    let lasted = seconds.map_or_else(|| "running".to_owned(), |seconds| format!("{} min", seconds / 60));
    [
        short(&entry.id),
        out.at(&field(entry, "started_at")),
        lasted,
        field(entry, "task_title"),
        field(entry, "description"),
    ]
}
