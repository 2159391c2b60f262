//! Writes to the journal, from the wire.

use wakeful_api::{BlockWrite, JournalWrite, Listed};
use wakeful_core::journal::{self, Day, LinkKind, Mutation, RecordId, Refusal, Target};
use wakeful_core::time::Millis;
use wakeful_ports::journal::Listing;

/// The upper end of a scale that none was given for.
const MOST_DEFAULT: u32 = 5;

/// What somebody wants written, as the journal knows it.
pub fn mutation(write: JournalWrite) -> Result<Mutation, Refusal> {
    Ok(match write {
        JournalWrite::RenameCategory { category_id, name } => Mutation::RenameCategory {
            category: id("category_id", &category_id)?,
            name,
        },
        JournalWrite::CreateChecklist {
            task_id,
            title,
            items,
        } => Mutation::CreateChecklist {
            task: id("task_id", &task_id)?,
            title,
            items,
        },
        JournalWrite::AddItems { checklist_id, items } => Mutation::AddItems {
            checklist: id("checklist_id", &checklist_id)?,
            items,
        },
        JournalWrite::UpdateItem {
            item_id,
            text,
            checked,
        } => Mutation::UpdateItem {
            item: id("item_id", &item_id)?,
            text,
            checked,
        },
        JournalWrite::OrderItems { checklist_id, items } => Mutation::OrderItems {
            checklist: id("checklist_id", &checklist_id)?,
            items: ids("items", &items)?,
        },
        JournalWrite::StartTime { task_id, description } => Mutation::StartTime {
            task: id("task_id", &task_id)?,
            description: description.unwrap_or_default(),
        },
        JournalWrite::StopTime { time_entry_id } => Mutation::StopTime {
            entry: id("time_entry_id", &time_entry_id)?,
        },
        JournalWrite::AddTime { .. } => return add_time(write),
        JournalWrite::UpdateTime { .. } => return update_time(write),
        JournalWrite::WriteDayPlan { .. } => return day_plan(write),
        JournalWrite::Rate { .. } => return rate(write),
        JournalWrite::CreateLink {
            from_id,
            to_id,
            link_kind,
        } => Mutation::CreateLink {
            from: id("from_id", &from_id)?,
            to: id("to_id", &to_id)?,
            link: LinkKind::parse(&link_kind)?,
        },
        JournalWrite::Remove { record_id, move_to } => Mutation::Remove {
            record: id("record_id", &record_id)?,
            move_to: optional_id("move_to", move_to.as_deref())?,
        },
        JournalWrite::Restore { record_id } => Mutation::Restore {
            record: id("record_id", &record_id)?,
        },
    })
}

fn add_time(write: JournalWrite) -> Result<Mutation, Refusal> {
    let JournalWrite::AddTime {
        task_id,
        started_at,
        ended_at,
        description,
    } = write
    else {
        return Err(Refusal::NothingToChange);
    };
    Ok(Mutation::AddTime {
        task: id("task_id", &task_id)?,
        started_at: moment("started_at", &started_at)?,
        ended_at: moment("ended_at", &ended_at)?,
        description: description.unwrap_or_default(),
    })
}

fn update_time(write: JournalWrite) -> Result<Mutation, Refusal> {
    let JournalWrite::UpdateTime {
        time_entry_id,
        started_at,
        ended_at,
        description,
    } = write
    else {
        return Err(Refusal::NothingToChange);
    };
    Ok(Mutation::UpdateTime {
        entry: id("time_entry_id", &time_entry_id)?,
        started_at: started_at.map(|at| moment("started_at", &at)).transpose()?,
        ended_at: ended_at.map(|at| moment("ended_at", &at)).transpose()?,
        description,
    })
}

fn day_plan(write: JournalWrite) -> Result<Mutation, Refusal> {
    let JournalWrite::WriteDayPlan {
        date,
        note,
        upserts,
        deletes,
    } = write
    else {
        return Err(Refusal::NothingToChange);
    };
    Ok(Mutation::WriteDayPlan {
        day: Day::parse(&date)?,
        note,
        upserts: upserts.into_iter().map(block).collect::<Result<_, _>>()?,
        deletes: ids("deletes", &deletes)?,
    })
}

fn rate(write: JournalWrite) -> Result<Mutation, Refusal> {
    let JournalWrite::Rate {
        record_id,
        date,
        scale,
        value,
        most,
        note,
    } = write
    else {
        return Err(Refusal::NothingToChange);
    };
    Ok(Mutation::Rate {
        target: target(record_id.as_deref(), date.as_deref())?,
        scale,
        value,
        most: most.unwrap_or(MOST_DEFAULT),
        note: note.unwrap_or_default(),
    })
}

fn block(write: BlockWrite) -> Result<journal::BlockWrite, Refusal> {
    Ok(journal::BlockWrite {
        block: optional_id("block_id", write.block_id.as_deref())?,
        starts_at: moment("starts_at", &write.starts_at)?,
        ends_at: moment("ends_at", &write.ends_at)?,
        task: optional_id("task_id", write.task_id.as_deref())?,
        category: optional_id("category_id", write.category_id.as_deref())?,
        note: write.note.unwrap_or_default(),
    })
}

/// What is rated: a record or a day, and not both.
fn target(record_id: Option<&str>, date: Option<&str>) -> Result<Target, Refusal> {
    match (record_id, date) {
        (Some(record_id), None) => Ok(Target::Record(id("record_id", record_id)?)),
        (None, Some(date)) => Ok(Target::Day(Day::parse(date)?)),
        (Some(_), Some(_)) => Err(Refusal::BadDay),
        (None, None) => Err(Refusal::BadId { field: "record_id" }),
    }
}

/// What is to be listed; none means any kind, by the first digits of an id.
pub fn listing(
    listed: Listed,
    of: Option<&str>,
    date: Option<&str>,
    running: bool,
) -> Result<Option<Listing>, Refusal> {
    let record = optional_id("of", of)?;
    let day = date.map(Day::parse).transpose()?;
    let needed = |id: Option<RecordId>| id.ok_or(Refusal::BadId { field: "of" });
    Ok(Some(match listed {
        Listed::Checklist => Listing::Checklists { task: record },
        Listed::ChecklistItem => Listing::Items {
            checklist: needed(record)?,
        },
        Listed::TimeEntry => Listing::TimeEntries {
            task: record,
            running,
        },
        Listed::DayPlan => Listing::DayPlans { day },
        Listed::DayPlanBlock => Listing::Blocks {
            plan: needed(record.or_else(|| day.as_ref().map(RecordId::of_day_plan)))?,
        },
        Listed::Rating if record.is_none() && day.is_none() => Listing::Ratings { target: None },
        Listed::Rating => Listing::Ratings {
            target: Some(target(of, date)?),
        },
        Listed::Link => Listing::Links { of: record },
        Listed::Any => return Ok(None),
    }))
}

fn moment(field: &'static str, given: &str) -> Result<Millis, Refusal> {
    Millis::parse(given).ok_or(Refusal::BadTime { field })
}

fn id(field: &'static str, given: &str) -> Result<RecordId, Refusal> {
    RecordId::parse(field, given)
}

fn ids(field: &'static str, given: &[String]) -> Result<Vec<RecordId>, Refusal> {
    given.iter().map(|given| id(field, given)).collect()
}

fn optional_id(field: &'static str, given: Option<&str>) -> Result<Option<RecordId>, Refusal> {
    given.map(|given| id(field, given)).transpose()
}
