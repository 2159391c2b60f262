//! Formats schedules and their history.

use wakeful_api::{
    EventFirings, ExecutionOutcome, Schedule, ScheduleHistory, ScheduleList, SchedulePattern, ScheduleStatus,
    ScheduledExecution,
};
use wakeful_core::failure::truncate_chars;
use wakeful_core::run::RunStatus;

use crate::show::Out;
use crate::show::phrase::{count, short};
use crate::show::table::{Column, Table};

fn when(pattern: &SchedulePattern) -> String {
    match (&pattern.cron, pattern.interval_seconds, &pattern.at) {
        (Some(cron), ..) => format!("{cron} {}", pattern.time_zone.as_deref().unwrap_or("")),
        (None, Some(seconds), _) => format!("every {}", every(seconds)),
        (None, None, Some(at)) => format!("at {at}"),
        (None, None, None) => String::new(),
    }
}

/// An interval in its largest whole unit.
fn every(seconds: u64) -> String {
    match seconds {
        s if s % 86_400 == 0 => count(s / 86_400, "day"),
        s if s % 3_600 == 0 => format!("{} h", s / 3_600),
        s if s % 60 == 0 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

const SCHEDULES: [Column; 6] = [
    Column::key("SCHEDULE"),
    Column::whole("STATUS", 0),
    Column::whole("NEXT", 1),
    Column::text("AGENT", 2),
    Column::text("WHEN", 4),
    Column::text("LABEL", 3),
];

pub(super) fn table(list: &ScheduleList, out: &Out) -> String {
    if list.schedules.is_empty() && list.unreadable.is_empty() {
        return "there are no schedules; add one with `wakeful schedule add`".to_owned();
    }
    let rows = list.schedules.iter().map(|one| {
        [
            one.schedule_id.clone(),
            status(one.status).to_owned(),
            one.next_execution_at
                .as_deref()
                .map_or_else(|| "-".to_owned(), |next| out.at(next)),
            one.agent_id.clone(),
            when(&one.pattern),
            one.label.clone(),
        ]
    });
    let unreadable = list.unreadable.iter().map(|one| {
        let none = String::new;
        [
            one.schedule_id.clone(),
            "unreadable".to_owned(),
            none(),
            one.agent_id.clone(),
            none(),
            format!("unreadable: {}", one.column),
        ]
    });
    out.table(&Table::new(SCHEDULES, rows.chain(unreadable)))
}

/// Formats the firings that an event caused.
pub(super) fn firings(event: &EventFirings, out: &Out) -> String {
    if event.executions.is_empty() {
        return format!("no active schedule waits for {}", event.event);
    }
    const FIRINGS: [Column; 3] = [
        Column::key("SCHEDULE"),
        Column::whole("OUTCOME", 0),
        Column::whole("RUN", 1),
    ];
    let rows = event
        .executions
        .iter()
        .map(|one| [one.schedule_id.clone(), outcome_words(one), run_words(one)]);
    out.table(&Table::new(FIRINGS, rows))
}

/// What a command changed in a schedule, one line per field.
pub(super) fn changes(before: &Schedule, after: &Schedule, out: &Out) -> String {
    let id = &after.schedule_id;
    let (was, is) = (fields(before), fields(after));
    let changed = was.into_iter().zip(is).filter(|((_, old), (_, new))| old != new);
    let changed: Vec<String> = changed
        .map(|((name, old), (_, new))| format!("{name:<9} {new} (was {old})"))
        .collect();
    if changed.is_empty() {
        return format!("schedule {id} is unchanged ({})", status(after.status));
    }
    let next = after
        .next_execution_at
        .as_deref()
        .filter(|_| after.status == ScheduleStatus::Active);
    let next = next.map(|next| format!("\nnext      {}", out.at(next)));
    format!(
        "changed   schedule {id}\n{}{}",
        changed.join("\n"),
        next.unwrap_or_default()
    )
}

/// The fields that a person can change, as text.
fn fields(one: &Schedule) -> [(&'static str, String); 9] {
    let none = || "none".to_owned();
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    [
        ("status", status(one.status).to_owned()),
        ("when", when(&one.pattern)),
        ("message", truncate_chars(&one.message, 200)),
        ("label", one.label.clone()),
        ("always", yes_no(one.always)),
        ("catch-up", yes_no(one.allows_catch_up)),
        ("overlap", one.concurrency.to_string()),
        ("event", one.event.clone().unwrap_or_else(none)),
        (
            "guard",
            one.guard
                .as_ref()
                .map_or_else(none, |guard| truncate_chars(&guard.to_string(), 200)),
        ),
    ]
}

pub(super) fn in_full(one: &Schedule, out: &Out) -> String {
    let mut lines = vec![
        format!("schedule  {} (revision {})", one.schedule_id, one.revision),
        format!("label     {}", one.label),
        format!("agent     {}", one.agent_id),
        format!("status    {}", status(one.status)),
        format!("when      {}", when(&one.pattern)),
        match one.message.as_str() {
            "" => "message   none; a firing reports that something changed".to_owned(),
            message => format!("message   {}", truncate_chars(message, 200)),
        },
    ];
    lines.extend(one.upcoming.iter().enumerate().map(|(place, moment)| {
        let word = if place == 0 { "next" } else { "then" };
        format!("{word}      {moment} ({})", out.at(moment))
    }));
    lines.push(match one.allows_catch_up {
        true => "missed    the newest firings are delivered later".to_owned(),
        false => "missed    firings are skipped and recorded".to_owned(),
    });
    if one.auto_disable_after_run {
        lines.push("once      completes after its first firing".to_owned());
    }
    if let Some(event) = &one.event {
        lines.push(format!("event     also fires on {event}"));
    }
    if let Some(guard) = &one.guard {
        lines.push(format!("guard     {}", truncate_chars(&guard.to_string(), 200)));
    }
    lines.extend(one.note.as_ref().map(|note| format!("note      {note}")));
    lines.join("\n")
}

pub(super) fn records(history: &ScheduleHistory, out: &Out) -> String {
    if history.executions.is_empty() {
        return match &history.schedule.next_execution_at {
            Some(next) => format!("it has not fired yet; the first firing is {}", out.at(next)),
            None => "it has never fired".to_owned(),
        };
    }
    executions(&history.executions, out)
}

const EXECUTIONS: [Column; 3] = [
    Column::key("DUE"),
    Column::text("OUTCOME", 1),
    Column::whole("RUN", 0),
];

pub(super) fn executions(executions: &[ScheduledExecution], out: &Out) -> String {
    let rows = executions
        .iter()
        .map(|one| [out.at(&one.due_at), outcome_words(one), run_words(one)]);
    out.table(&Table::new(EXECUTIONS, rows))
}

fn outcome_words(one: &ScheduledExecution) -> String {
    let times = match (one.firing_count, one.is_capped) {
        (1, false) => String::new(),
        (firings, false) => format!(" ({})", count(firings, "firing")),
        (firings, true) => format!(" (more than {})", count(firings, "firing")),
    };
    let reason = one.reason.map(|reason| format!(" {reason}"));
    let late = if one.is_catch_up { " catch-up" } else { "" };
    format!(
        "{}{}{late}{times}",
        outcome(one.outcome),
        reason.unwrap_or_default()
    )
}

/// The run of a firing with its status; empty if the firing led to no run.
fn run_words(one: &ScheduledExecution) -> String {
    let exists = match one.outcome {
        ExecutionOutcome::Run => true,
        ExecutionOutcome::Replaced => one.run_status.is_some(),
        ExecutionOutcome::Skipped
        | ExecutionOutcome::Refused
        | ExecutionOutcome::Disabled
        | ExecutionOutcome::Expired
        | ExecutionOutcome::Recomputed
        | ExecutionOutcome::Unreadable => false,
    };
    match one.run_key.as_deref().filter(|_| exists) {
        Some(key) => format!(
            "{} {}",
            short(key),
            one.run_status.map_or("queued", RunStatus::as_str)
        ),
        None => String::new(),
    }
}

const fn status(status: ScheduleStatus) -> &'static str {
    match status {
        ScheduleStatus::Active => "active",
        ScheduleStatus::Paused => "paused",
        ScheduleStatus::Disabled => "disabled",
        ScheduleStatus::Expired => "expired",
    }
}

const fn outcome(outcome: ExecutionOutcome) -> &'static str {
    match outcome {
        ExecutionOutcome::Run => "run",
        ExecutionOutcome::Skipped => "skipped",
        ExecutionOutcome::Replaced => "replaced",
        ExecutionOutcome::Refused => "refused",
        ExecutionOutcome::Disabled => "disabled",
        ExecutionOutcome::Expired => "expired",
        ExecutionOutcome::Recomputed => "recomputed",
        ExecutionOutcome::Unreadable => "unreadable",
    }
}
