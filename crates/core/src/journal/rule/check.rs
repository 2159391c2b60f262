//! Validation of a mutation that needs no reads.

use std::collections::BTreeSet;

use super::super::label::is_word;
use super::super::{
    BLOCKS_MAX, CATEGORY_CHARS_MAX, CalendarDay, DETAILS_BYTES_MAX, DayPlanBlockWrite, ITEMS_MAX, Mutation,
    NOTE_BYTES_MAX, REMARK_BYTES_MAX, RecordId, SCALE_CHARS_MAX, SCALE_MOST_MAX, TITLE_CHARS_MAX, WriteError,
};
use crate::time::Millis;

/// Validates a mutation as far as possible without reading any record.
pub fn check(mutation: &Mutation) -> Result<(), WriteError> {
    match mutation {
        Mutation::CreateCategory { name } | Mutation::RenameCategory { name, .. } => {
            line("name", name, CATEGORY_CHARS_MAX)
        }
        Mutation::CreateTask { title, details, .. } => {
            line("title", title, TITLE_CHARS_MAX)?;
            text("details", details, DETAILS_BYTES_MAX)
        }
        Mutation::UpdateTask { .. } => changed_task(mutation),
        Mutation::CreateNote { text: said, .. } => {
            if said.trim().is_empty() {
                return Err(WriteError::Empty { field: "text" });
            }
            text("text", said, NOTE_BYTES_MAX)
        }
        Mutation::CreateChecklist { title, items, .. } => {
            line("title", title, TITLE_CHARS_MAX)?;
            lines(items)
        }
        Mutation::AddItems { items, .. } => {
            if items.is_empty() {
                return Err(WriteError::Empty { field: "items" });
            }
            lines(items)
        }
        Mutation::UpdateItem { text, checked, .. } => {
            if text.is_none() && checked.is_none() {
                return Err(WriteError::NothingToChange);
            }
            given(text, |text| line("text", text, TITLE_CHARS_MAX))
        }
        Mutation::OrderItems { items, .. } => at_most("items", items.len(), ITEMS_MAX),
        Mutation::StartTime { description, .. } => remark("description", description),
        Mutation::StopTime { .. } | Mutation::Remove { .. } | Mutation::Restore { .. } => Ok(()),
        Mutation::AddTime {
            started_at,
            ended_at,
            description,
            ..
        } => {
            in_order(*started_at, *ended_at)?;
            remark("description", description)
        }
        Mutation::UpdateTime { .. } => changed_time(mutation),
        Mutation::WriteDayPlan {
            day,
            note,
            upserts,
            deletes,
        } => {
            given(note, |note| remark("note", note))?;
            plan(day, upserts, deletes)
        }
        Mutation::Rate {
            scale,
            value,
            most,
            note,
            ..
        } => rating(scale, *value, *most).and_then(|()| remark("note", note)),
        Mutation::CreateLink { from, to, .. } if from == to => Err(WriteError::LinkToSelf),
        Mutation::CreateLink { .. } => Ok(()),
    }
}

fn changed_task(mutation: &Mutation) -> Result<(), WriteError> {
    let Mutation::UpdateTask {
        title,
        details,
        status,
        category,
        ..
    } = mutation
    else {
        return Ok(());
    };
    if title.is_none() && details.is_none() && status.is_none() && category.is_none() {
        return Err(WriteError::NothingToChange);
    }
    given(title, |title| line("title", title, TITLE_CHARS_MAX))?;
    given(details, |details| text("details", details, DETAILS_BYTES_MAX))
}

fn changed_time(mutation: &Mutation) -> Result<(), WriteError> {
    let Mutation::UpdateTime {
        started_at,
        ended_at,
        description,
        ..
    } = mutation
    else {
        return Ok(());
    };
    if started_at.is_none() && ended_at.is_none() && description.is_none() {
        return Err(WriteError::NothingToChange);
    }
    given(description, |description| remark("description", description))
}

fn given<T>(value: &Option<T>, check: impl FnMut(&T) -> Result<(), WriteError>) -> Result<(), WriteError> {
    value.iter().try_for_each(check)
}

fn lines(items: &[String]) -> Result<(), WriteError> {
    at_most("items", items.len(), ITEMS_MAX)?;
    items
        .iter()
        .try_for_each(|item| line("items", item, TITLE_CHARS_MAX))
}

fn plan(day: &CalendarDay, upserts: &[DayPlanBlockWrite], deletes: &[RecordId]) -> Result<(), WriteError> {
    at_most("upserts", upserts.len(), BLOCKS_MAX)?;
    at_most("deletes", deletes.len(), BLOCKS_MAX)?;
    let mut named = BTreeSet::new();
    let ids = upserts
        .iter()
        .filter_map(|write| write.block.as_ref())
        .chain(deletes);
    for id in ids {
        if !named.insert(id) {
            // Two writes of one record in one transaction would have no order.
            return Err(WriteError::BadOrder);
        }
    }
    for write in upserts {
        remark("note", &write.note)?;
        let not_on = |field| WriteError::NotOnDay {
            field,
            day: day.to_string(),
        };
        if write.ends_at <= write.starts_at {
            return Err(WriteError::EndsBeforeStart { field: "ends_at" });
        }
        if !day.may_hold(write.starts_at) {
            return Err(not_on("starts_at"));
        }
        if !day.may_hold(write.ends_at) {
            return Err(not_on("ends_at"));
        }
    }
    Ok(())
}

fn rating(scale: &str, value: u32, most: u32) -> Result<(), WriteError> {
    if scale.len() > SCALE_CHARS_MAX || !is_word(scale) {
        return Err(WriteError::BadScale);
    }
    range("most", most, 2, SCALE_MOST_MAX)?;
    range("value", value, 1, most)
}

fn range(field: &'static str, found: u32, least: u32, most: u32) -> Result<(), WriteError> {
    if (least..=most).contains(&found) {
        Ok(())
    } else {
        Err(WriteError::OutOfRange { field, least, most })
    }
}

/// Start and end may be equal, because a program can finish within a millisecond.
pub(super) fn in_order(start: Millis, end: Millis) -> Result<(), WriteError> {
    if end < start {
        return Err(WriteError::EndsBeforeStart { field: "ended_at" });
    }
    Ok(())
}

pub(super) const fn at_most(field: &'static str, found: usize, most: usize) -> Result<(), WriteError> {
    if found > most {
        return Err(WriteError::TooMany { field, found, most });
    }
    Ok(())
}

fn remark(field: &'static str, given: &str) -> Result<(), WriteError> {
    text(field, given, REMARK_BYTES_MAX)
}

/// A text of one line.
fn line(field: &'static str, given: &str, most: usize) -> Result<(), WriteError> {
    let found = given.trim().chars().count();
    if found == 0 {
        return Err(WriteError::Empty { field });
    }
    if found > most {
        let unit = "characters";
        return Err(WriteError::TooLong {
            field,
            found,
            most,
            unit,
        });
    }
    if given.trim().chars().any(char::is_control) {
        return Err(WriteError::Control { field });
    }
    Ok(())
}

/// A text of several lines. PostgreSQL cannot store NUL, so every backend rejects it.
fn text(field: &'static str, given: &str, most: usize) -> Result<(), WriteError> {
    if given.len() > most {
        let (found, unit) = (given.len(), "bytes");
        return Err(WriteError::TooLong {
            field,
            found,
            most,
            unit,
        });
    }
    if given.contains('\0') {
        return Err(WriteError::Control { field });
    }
    Ok(())
}
