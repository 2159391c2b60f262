//! `wakeful journal plan`: manages day plans.

use clap::Subcommand;
use serde_json::json;
use wakeful_api::{DayPlanBlockWrite, JournalRecord, JournalWrite, Limit, ListRecords, RecordListKind, Text};
use wakeful_core::journal::{CalendarDay, RecordId};
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;

use super::{category_of, field, of_kind, or_none, short, write_record};
use crate::backend::read;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;
use crate::system::RealClock;

/// Maximum number of blocks shown; a day cannot have more.
const BLOCKS_SHOWN: u32 = 96;

#[derive(Debug, Subcommand)]
pub(crate) enum PlanVerb {
    /// Show the plan of a day with its blocks
    Show {
        /// Day, such as 2026-11-15 [default: today in UTC]
        date: Option<String>,
    },
    /// Set the note of a day's plan; the plan is created if it does not exist
    Set {
        /// Day, such as 2026-11-15
        date: String,
        /// Note
        note: String,
    },
    /// Manage the blocks of a day
    #[command(subcommand)]
    Block(BlockVerb),
}

#[derive(Debug, Subcommand)]
pub(crate) enum BlockVerb {
    /// Add a block to a day's plan; the plan is created if it does not exist
    Add {
        /// Day, such as 2026-11-15
        date: String,
        /// Start time: 09:30+01:00, 08:30Z, or with the date, such as 2026-11-15T09:30:00+01:00
        starts_at: String,
        /// End time, in the same format
        ends_at: String,
        /// Task to work on: its id or a unique prefix of it
        #[arg(long, value_name = "ID")]
        task: Option<String>,
        /// Category name or id
        #[arg(long, value_name = "NAME")]
        category: Option<String>,
        /// Note
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Delete a block from a day's plan
    Delete {
        /// Day, such as 2026-11-15
        date: String,
        /// Block id or a unique prefix of it
        id: String,
    },
}

pub(super) async fn plan(verb: &PlanVerb, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    match verb {
        PlanVerb::Show { date } => show(date.as_deref(), shared, out).await,
        PlanVerb::Set { date, note } => {
            let date = Text(day(date)?);
            let set = write_record(shared, out, async |_| {
                Ok(JournalWrite::WriteDayPlan {
                    date,
                    note: Some(note.clone()),
                    upserts: Vec::new(),
                    deletes: Vec::new(),
                })
            });
            set.await
        }
        PlanVerb::Block(BlockVerb::Add {
            date,
            starts_at,
            ends_at,
            task,
            category,
            note,
        }) => {
            let day = day(date)?;
            let (starts_at, ends_at) = (moment(day, starts_at)?, moment(day, ends_at)?);
            let added = write_record(shared, out, async |backend| {
                let block = DayPlanBlockWrite {
                    block_id: None,
                    starts_at: Text(starts_at),
                    ends_at: Text(ends_at),
                    task_id: match task {
                        Some(task) => Some(backend.find_task(task).await?.task_id),
                        None => None,
                    },
                    category_id: match category {
                        Some(category) => Some(category_of(backend, category).await?),
                        None => None,
                    },
                    note: note.clone(),
                };
                Ok(blocks(day, vec![block], Vec::new()))
            });
            added.await
        }
        PlanVerb::Block(BlockVerb::Delete { date, id }) => {
            let day = day(date)?;
            let deleted = write_record(shared, out, async |backend| {
                let block = of_kind(backend.journal_record(id).await?, Some("day_plan_block"))?;
                Ok(blocks(day, Vec::new(), vec![block.id]))
            });
            deleted.await
        }
    }
}

fn blocks(day: CalendarDay, upserts: Vec<DayPlanBlockWrite>, deletes: Vec<Text<RecordId>>) -> JournalWrite {
    JournalWrite::WriteDayPlan {
        date: Text(day),
        note: None,
        upserts,
        deletes,
    }
}

/// Parses a date.
pub(super) fn day(given: &str) -> Result<CalendarDay, Failure> {
    let bad = |_| {
        let message = format!("invalid date {given:?}");
        Failure::usage("bad_day", message, "use year, month and day, such as 2026-11-15")
    };
    CalendarDay::parse(given).map_err(bad)
}

/// Parses a time on the given day: a clock time with an offset, or a full timestamp.
fn moment(day: CalendarDay, given: &str) -> Result<Millis, Failure> {
    let clock = format!("{day}T{given}");
    // jiff requires seconds before an offset.
    let (clock, offset) = clock.split_at(
        clock
            .find(['+', 'Z'])
            .or_else(|| minus(&clock))
            .unwrap_or(clock.len()),
    );
    let with_seconds = format!("{clock}:00{offset}");
    let read = if given.contains('T') {
        Millis::parse(given)
    } else {
        Millis::parse(&with_seconds)
    };
    read.ok_or_else(|| {
        let message = format!("invalid time {given:?}");
        Failure::usage(
            "bad_time",
            message,
            "use a clock time with an offset, such as 09:30+01:00 or 08:30Z",
        )
    })
}

/// Position of a negative offset: the only minus sign after those of the date.
fn minus(clock: &str) -> Option<usize> {
    clock.rfind('-').filter(|at| *at > 10)
}

async fn show(date: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let day = match date {
        Some(date) => day(date)?,
        None => day(RealClock::new().now().rfc3339().get(..10).unwrap_or_default())?,
    };
    let (plan, blocks) = read(shared, async |backend| {
        let wanted = |kind, limit| ListRecords {
            date: Some(Text(day)),
            ..ListRecords::all(kind, Limit(limit))
        };
        let plans = backend.call(wanted(RecordListKind::DayPlan, 1)).await?.records;
        let plan = plans.into_iter().next();
        let blocks = match plan {
            Some(_) => {
                backend
                    .call(wanted(RecordListKind::DayPlanBlock, BLOCKS_SHOWN))
                    .await?
                    .records
            }
            None => Vec::new(),
        };
        Ok((plan, blocks))
    })
    .await?;
    let mut lines: Vec<String> = plan
        .iter()
        .map(|plan| format!("{day}  {}", field(plan, "note")))
        .collect();
    lines.extend(blocks.iter().map(line));
    out.answer(
        &json!({"date": day.to_string(), "plan": plan, "blocks": blocks}),
        &or_none(&lines, "this day has no plan"),
    );
    Ok(())
}

fn line(block: &JournalRecord) -> String {
    let [starts_at, ends_at, task, category, note] =
        ["starts_at", "ends_at", "task_title", "category", "note"].map(|name| field(block, name));
    let said = [task, category, note].into_iter().filter(|word| !word.is_empty());
    let said: Vec<String> = said.collect();
    format!(
        "{}  {starts_at} – {ends_at}  {}",
        short(&block.id),
        said.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_a_day_needs_its_offset() {
        let day = day("2026-02-18").expect("a day");
        let read = |given: &str| moment(day, given).ok().map(Millis::rfc3339);
        assert_eq!(read("09:30+01:00").as_deref(), Some("2026-02-18T08:30:00.000Z"));
        assert_eq!(read("09:30-05:00").as_deref(), Some("2026-02-18T14:30:00.000Z"));
        assert_eq!(read("08:30Z").as_deref(), Some("2026-02-18T08:30:00.000Z"));
        assert_eq!(
            read("2026-02-18T09:00:00-05:00").as_deref(),
            Some("2026-02-18T14:00:00.000Z")
        );
        for bad in ["", "09:30", "9", "25:00Z", "noon"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
