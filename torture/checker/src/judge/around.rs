//! What is promised of the world around agents: the journal, watched files, and the clock.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, answer};
use crate::history::{Action, Fired};

/// The task that all change.
const SHARED: &str = "shared";

/// Intervals after which a moment that has no record is missed at the end.
const LATE_MAX: u64 = 5;

/// What is called written stands in the journal once, and what is called anything else does not.
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
                            "the task {title} is there {there} times and called {status}"
                        ));
                    }
                }
            }
        }
    }
    for title in tasks.into_keys() {
        case.broken(format!("nobody asked for the task {title:?}"));
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

/// What changed outside is told to whoever wants to know, once, and a run comes of it.
pub(super) fn noticed_once(case: &mut Case<'_>) {
    let history = case.history;
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut more = 0;
    for noticed in &history.noticed {
        let failed = history.faults && noticed.outcome == "failed";
        if !matches!(noticed.outcome.as_str(), "completed" | "absorbed") && !failed {
            case.broken(format!("{} came to rest as {}", noticed.run, noticed.outcome));
        }
        more += noticed.more;
        for file in &noticed.files {
            if !told.insert(file) {
                case.broken(format!("{file} was told of twice"));
            }
            if !history.files.contains(file) {
                case.broken(format!("{file} was told of and never put down"));
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
            "{put} files were put down and {spoken_of} told of; not by name: {missing:?}"
        ));
    }
}

/// Each moment has one record, and one run at most, which comes to its end.
pub(super) fn fired_once(case: &mut Case<'_>) {
    let history = case.history;
    let Some(schedule) = &history.schedule else { return };
    let mut fired: Vec<&Fired> = history.fired.iter().collect();
    fired.sort_by_key(|fired| fired.due_ms);
    let mut next = schedule.from_ms + schedule.interval_ms;
    for one in &fired {
        // The first moment is counted from when the program heard of the schedule.
        let is_first = next == schedule.from_ms + schedule.interval_ms;
        let is_near = one.due_ms.abs_diff(next) <= schedule.interval_ms;
        if one.due_ms != next && !(is_first && is_near) {
            case.broken(format!(
                "the moment {next} is not there, or twice: then comes {}",
                one.due_ms
            ));
        }
        next = one.due_ms + one.count * schedule.interval_ms;
    }
    if next + LATE_MAX * schedule.interval_ms < schedule.until_ms {
        case.broken(format!(
            "the moments from {next} to {} are not there",
            schedule.until_ms
        ));
    }
    let (mut runs, mut sure, mut unsure) = (BTreeSet::new(), 0, 0);
    for one in fired.iter().filter(|one| one.outcome == "run") {
        let (run, answer) = (one.run.as_deref().unwrap_or("none"), one.answer.as_ref());
        if !runs.insert(run) {
            case.broken(format!("two moments have one run, {run}"));
        }
        let outcome = answer.map_or("gone", |answer| answer.outcome.as_str());
        if outcome != "completed" && !(history.faults && outcome == "failed") {
            case.broken(format!("{run} of {} came to rest as {outcome}", one.due_ms));
        }
        for status in answer.iter().flat_map(|answer| &answer.calls) {
            sure += usize::from(status == "ok");
            unsure += usize::from(matches!(status.as_str(), "outcome_unknown" | "failed:braked"));
        }
    }
    let ticks = case.world.ticks.len();
    if !(sure..=sure + unsure).contains(&ticks) {
        case.broken(format!("{ticks} lines, {sure} called ok and {unsure} unknown"));
    }
}
