//! Promises about the journal, watched files, and schedules.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, answer};
use crate::history::{Action, Fired};

/// The shared task.
const SHARED: &str = "shared";

/// Number of intervals after which a firing without a record counts as missing at the end.
const LATE_MAX: u64 = 5;

/// A write with the status `ok` is in the journal once, and any other is not.
pub(super) fn written_once(case: &mut Case<'_>) {
    let history = case.history;
    let mut tasks: BTreeMap<&str, usize> = BTreeMap::new();
    for task in history.tasks.iter().filter(|task| task.title != SHARED) {
        *tasks.entry(&task.title).or_default() += 1;
    }
    let mut changes = 0;
    for (name, message) in case.messages() {
        for (index, action) in message.actions.iter().enumerate() {
            let status = answer(message).and_then(|answer| answer.calls.get(index));
            let is_ok = status.is_some_and(|status| status == "ok");
            match action {
                Action::Line => {}
                Action::Change => changes += u64::from(is_ok),
                Action::Task => {
                    let title = format!("{name} {}", index + 1);
                    let there = tasks.remove(title.as_str()).unwrap_or(0);
                    if there != usize::from(is_ok) {
                        let status = status.map_or("nothing", String::as_str);
                        case.broken(format!(
                            "the task {title} exists {there} times and has the status {status}"
                        ));
                    }
                }
            }
        }
    }
    for title in tasks.into_keys() {
        case.broken(format!("no message requested the task {title:?}"));
    }
    let shared = history.tasks.iter().find(|task| task.title == SHARED);
    if let Some(version) = shared.map(|task| task.version)
        && version != changes + 1
    {
        case.broken(format!(
            "the shared task was changed {changes} times and has version {version}"
        ));
    }
}

/// A change of a watched file notifies its subscriber once, and starts a run.
pub(super) fn noticed_once(case: &mut Case<'_>) {
    let history = case.history;
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut more = 0;
    for noticed in &history.noticed {
        let failed = history.faults && noticed.outcome == "failed";
        if !matches!(noticed.outcome.as_str(), "completed" | "absorbed") && !failed {
            case.broken(format!("{} ended in the state {}", noticed.run, noticed.outcome));
        }
        more += noticed.more;
        for file in &noticed.files {
            if !told.insert(file) {
                case.broken(format!("{file} was reported twice"));
            }
            if !history.files.contains(file) {
                case.broken(format!("{file} was reported and never created"));
            }
        }
    }
    let (put, spoken_of) = (history.files.len(), told.len() + more);
    if put != spoken_of {
        let missing: Vec<&String> = history
            .files
            .iter()
            .filter(|file| !told.contains(file.as_str()))
            .collect();
        case.broken(format!(
            "{put} files were created and {spoken_of} reported; not by name: {missing:?}"
        ));
    }
}

/// Each firing has one record and at most one run, which ends.
pub(super) fn fired_once(case: &mut Case<'_>) {
    let history = case.history;
    let Some(schedule) = &history.schedule else { return };
    let mut fired: Vec<&Fired> = history.fired.iter().collect();
    fired.sort_by_key(|fired| fired.due_ms);
    let mut next = schedule.from_ms + schedule.interval_ms;
    for one in &fired {
        // The first firing is counted from the time at which the program received the schedule.
        let is_first = next == schedule.from_ms + schedule.interval_ms;
        let is_near = one.due_ms.abs_diff(next) <= schedule.interval_ms;
        if one.due_ms != next && !(is_first && is_near) {
            case.broken(format!(
                "the firing {next} is missing or repeated: the next one is {}",
                one.due_ms
            ));
        }
        next = one.due_ms + one.count * schedule.interval_ms;
    }
    if next + LATE_MAX * schedule.interval_ms < schedule.until_ms {
        case.broken(format!(
            "the firings from {next} to {} are missing",
            schedule.until_ms
        ));
    }
    let (mut runs, mut sure, mut unsure) = (BTreeSet::new(), 0, 0);
    for one in fired.iter().filter(|one| one.outcome == "run") {
        let (run, answer) = (one.run.as_deref().unwrap_or("none"), one.answer.as_ref());
        if !runs.insert(run) {
            case.broken(format!("two firings have one run, {run}"));
        }
        let outcome = answer.map_or("gone", |answer| answer.outcome.as_str());
        if outcome != "completed" && !(history.faults && outcome == "failed") {
            case.broken(format!("{run} of {} ended in the state {outcome}", one.due_ms));
        }
        for status in answer.iter().flat_map(|answer| &answer.calls) {
            sure += usize::from(status == "ok");
            unsure += usize::from(matches!(status.as_str(), "outcome_unknown" | "failed:braked"));
        }
    }
    let ticks = case.world.ticks.len();
    if !(sure..=sure + unsure).contains(&ticks) {
        case.broken(format!(
            "{ticks} lines, {sure} with the status ok and {unsure} unknown"
        ));
    }
}
