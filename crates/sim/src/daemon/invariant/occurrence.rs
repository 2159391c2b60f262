//! Checks that every firing of a schedule is decided once: the firing times are computed again from the
//! schedule alone.

use std::collections::BTreeSet;

use wakeful_core::schedule::{
    ExecutionOutcome, FiringTime, Schedule, ScheduleReason, ScheduleStatus, TriggerSource,
};
use wakeful_core::time::Millis;
use wakeful_store::rows::ScheduledExecutionRow;

use super::{DaemonEvidence, Verdict, unless};

/// Maximum number of firings that are computed one by one. A clock set far ahead leaves more; then only the
/// first and the last are checked.
const MOMENTS_MAX: u64 = 500;

/// Between the creation of a schedule and its last check, every firing has a record or is counted as
/// missed, and every record belongs to a firing.
pub(super) fn every_occurrence_is_decided_once(scene: &DaemonEvidence) -> Verdict {
    let untouched = scene
        .schedules
        .iter()
        .filter(|(timer, _)| !scene.ledger.touched.contains(&timer.schedule_id));
    for (timer, rows) in untouched {
        walk(timer, rows)
            .map_err(|what| format!("schedule {} ({:?}): {what}", timer.schedule_id, timer.when))?;
    }
    Ok(())
}

/// A firing requests at most one run, and the run has the firing's key.
pub(super) fn no_occurrence_runs_twice(scene: &DaemonEvidence) -> Verdict {
    for (timer, rows) in &scene.schedules {
        let (mut moments, mut runs) = (BTreeSet::new(), BTreeSet::new());
        for row in rows.iter().filter(|row| row.outcome == ExecutionOutcome::Run) {
            let is_new = row.run_key.is_some_and(|run| runs.insert(run));
            unless(is_new, || {
                format!("two firings of {} have one run: {row:?}", timer.schedule_id)
            })?;
            if row.source == TriggerSource::Tick {
                let is_named = row.run_key == Some(timer.run_key(row.due_at));
                unless(moments.insert(row.due_at) && is_named, || {
                    format!(
                        "the firing {} of {} runs again: {row:?}",
                        row.due_at.rfc3339(),
                        timer.schedule_id
                    )
                })?;
            }
        }
    }
    Ok(())
}

/// Follows the checks of a schedule: each must have decided exactly the firings since the previous check.
fn walk(timer: &Schedule, rows: &[ScheduledExecutionRow]) -> Verdict {
    let mut seen_until = timer.created_at;
    let by_clock: Vec<&ScheduledExecutionRow> = rows
        .iter()
        .filter(|row| row.source == TriggerSource::Tick && decides(row.outcome))
        .collect();
    let same_look = |one: &&ScheduledExecutionRow, next: &&ScheduledExecutionRow| {
        one.at == next.at
            && one.outcome != ExecutionOutcome::Recomputed
            && next.outcome != ExecutionOutcome::Recomputed
    };
    for look in by_clock.chunk_by(same_look) {
        let Some(first) = look.first() else { continue };
        if first.outcome == ExecutionOutcome::Recomputed {
            seen_until = first.at;
            continue;
        }
        let until = first.at.max(seen_until);
        decided(&timer.when, (seen_until, until), look)?;
        seen_until = until;
    }
    let left = first_after(&timer.when, seen_until)?.filter(|next| *next <= timer.seen_until);
    unless(left.is_none(), || format!("the firing {left:?} was not decided"))?;
    let next = first_after(&timer.when, timer.seen_until)?;
    unless(
        timer.status != ScheduleStatus::Active || timer.next_execution_at == next,
        || {
            format!(
                "the next firing is {next:?}, and the schedule waits for {:?}",
                timer.next_execution_at
            )
        },
    )
}

/// Whether a record decides a firing.
const fn decides(outcome: ExecutionOutcome) -> bool {
    match outcome {
        ExecutionOutcome::Run
        | ExecutionOutcome::Skipped
        | ExecutionOutcome::Refused
        | ExecutionOutcome::Recomputed => true,
        ExecutionOutcome::Replaced
        | ExecutionOutcome::Disabled
        | ExecutionOutcome::Expired
        | ExecutionOutcome::Unreadable => false,
    }
}

/// Checks that one check decided exactly the firings after one time and up to another.
fn decided(when: &FiringTime, (after, until): (Millis, Millis), look: &[&ScheduledExecutionRow]) -> Verdict {
    let is_missed = |row: &&&ScheduledExecutionRow| row.reason == Some(ScheduleReason::Missed.into());
    let missed = look.iter().find(is_missed);
    let mut fired: Vec<Millis> = look
        .iter()
        .filter(|row| !is_missed(row))
        .map(|row| row.due_at)
        .collect();
    fired.sort_unstable();
    let count = missed.map_or(0, |row| row.count);
    let first = first_after(when, after)?;
    unless(missed.is_none_or(|row| Some(row.due_at) == first), || {
        format!("the first missed firing is {first:?}, and the record has {missed:?}")
    })?;
    if count > MOMENTS_MAX || missed.is_some_and(|row| row.is_capped) {
        for moment in fired {
            let before = Millis(moment.0.saturating_sub(1));
            unless(
                first_after(when, before)? == Some(moment) && moment <= until,
                || format!("{moment:?} is not a firing of it"),
            )?;
        }
        return Ok(());
    }
    let mut moments = Vec::new();
    let mut last = after;
    while let Some(moment) = first_after(when, last)?.filter(|moment| *moment <= until) {
        let so_many = u64::try_from(moments.len()).unwrap_or(u64::MAX);
        unless(so_many <= MOMENTS_MAX.saturating_mul(2), || {
            format!("only {count} of very many are counted as missed")
        })?;
        moments.push(moment);
        last = moment;
    }
    let rest = usize::try_from(count).ok().and_then(|count| moments.get(count..));
    unless(rest == Some(fired.as_slice()), || {
        format!("its firings were {moments:?}, {count} were missed, and these were decided: {fired:?}")
    })
}

fn first_after(when: &FiringTime, after: Millis) -> Result<Option<Millis>, String> {
    when.first_after(after).map_err(|error| error.to_string())
}
