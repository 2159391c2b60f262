//! The operations `schedule_next` and `schedule_due`.

use serde_json::{Value, json};

use super::error::{ErrorCode, RequestError, shortened};
use super::fields::{Fields, counter, time};
use crate::recurrence::{CatchUp, Recurrence, RecurrenceError};
use crate::time::Millis;

/// Maximum number of listed firings.
const COUNT_MAX: usize = 1_000;

/// Default for how late a firing may be and still run.
const GRACE_SECONDS: u64 = 60;

pub(super) fn schedule_next(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    form.only(&["id", "op", "schedule", "after", "count"])?;
    let after = form.time("after")?;
    let count = usize::try_from(form.counter("count")?).unwrap_or(usize::MAX);
    if !(1..=COUNT_MAX).contains(&count) {
        return Err(form.fault("count", "must be from 1 to 1000"));
    }
    let next = schedule(form)?.next(after, count).map_err(refused)?;
    Ok(json!({"next": spelled(&next)}))
}

pub(super) fn schedule_due(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    form.only(&[
        "id",
        "op",
        "schedule",
        "last",
        "now",
        "allows_catch_up",
        "catch_up_window_seconds",
        "max_catch_up_runs_per_tick",
        "grace_seconds",
    ])?;
    let last = form
        .optional("last")
        .map(|last| time(last, &form.path.member("last")));
    let (last, now) = (last.transpose()?, form.time("now")?);
    let allows_catch_up = form.boolean("allows_catch_up")?;
    let window_seconds = form.counter("catch_up_window_seconds")?;
    let runs_max = form.counter("max_catch_up_runs_per_tick")?;
    let grace = form
        .optional("grace_seconds")
        .map(|grace| counter(grace, &form.path.member("grace_seconds")));
    let grace_seconds = grace.transpose()?.unwrap_or(GRACE_SECONDS);
    let catch_up = if allows_catch_up {
        CatchUp::On {
            window_seconds,
            runs_max,
        }
    } else {
        CatchUp::Off { grace_seconds }
    };
    let due = schedule(form)?.due(last, now, catch_up).map_err(refused)?;
    Ok(json!({
        "runs": spelled(&due.runs),
        "skipped": due.skipped,
        "skipped_capped": due.skipped_capped,
        "next": due.next.rfc3339(),
    }))
}

fn schedule(form: &Fields<'_, '_>) -> Result<Recurrence, RequestError> {
    Recurrence::parse(form.required("schedule")?).map_err(refused)
}

fn spelled(times: &[Millis]) -> Vec<String> {
    times.iter().map(|time| time.rfc3339()).collect()
}

/// Converts the error without repeating a long text.
fn refused(error: RecurrenceError) -> RequestError {
    let error = match error {
        RecurrenceError::Form { field, problem } => {
            let field = shortened(&field);
            RecurrenceError::Form { field, problem }
        }
        RecurrenceError::Zone(name) => RecurrenceError::Zone(shortened(&name)),
        other @ (RecurrenceError::Pattern(_)
        | RecurrenceError::Kind
        | RecurrenceError::Impossible
        | RecurrenceError::Exhausted
        | RecurrenceError::TooMany) => other,
    };
    RequestError::new(ErrorCode::BadRequest, format!("`schedule` is wrong: {error}"))
}
