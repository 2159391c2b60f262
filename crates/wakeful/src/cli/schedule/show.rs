//! Formats schedules and their history.

use wakeful_api::{
    EventFirings, ExecutionOutcome, Schedule, ScheduleHistory, ScheduleList, SchedulePattern, ScheduleStatus,
    ScheduledExecution,
};
use wakeful_core::failure::truncate_chars;
use wakeful_core::run::RunStatus;

/// Maximum length of a label in a list.
const LABEL_CHARS_MAX: usize = 40;

fn when(pattern: &SchedulePattern) -> String {
    match (&pattern.cron, pattern.interval_seconds, &pattern.at) {
        (Some(cron), ..) => format!("{cron} {}", pattern.time_zone.as_deref().unwrap_or("")),
        (None, Some(seconds), _) => format!("every {seconds} s"),
        (None, None, Some(at)) => format!("at {at}"),
        (None, None, None) => String::new(),
    }
}

pub(super) fn table(list: &ScheduleList) -> String {
    if list.schedules.is_empty() && list.unreadable.is_empty() {
        return "there are no schedules; add one with `wakeful schedule add`".to_owned();
    }
    let header = format!(
        "{:<36}  {:<20}  {:<8}  {:<24}  {:<30}  LABEL",
        "SCHEDULE", "AGENT", "STATUS", "NEXT", "WHEN"
    );
    let lines = list.schedules.iter().map(|one| {
        let next = one.next_execution_at.as_deref().unwrap_or("-");
        let (agent, label) = (
            truncate_chars(&one.agent_id, 20),
            truncate_chars(&one.label, LABEL_CHARS_MAX),
        );
        format!(
            "{:<36}  {agent:<20}  {:<8}  {next:<24}  {:<30}  {label}",
            truncate_chars(&one.schedule_id, 36),
            status(one.status),
            truncate_chars(&when(&one.pattern), 30),
        )
    });
    let unreadable = list.unreadable.iter().map(|one| {
        let (name, agent) = (
            truncate_chars(&one.schedule_id, 36),
            truncate_chars(&one.agent_id, 20),
        );
        format!("{name:<36}  {agent:<20}  unreadable: {}", one.column)
    });
    [header]
        .into_iter()
        .chain(lines)
        .chain(unreadable)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Formats the firings that an event caused.
pub(super) fn firings(event: &EventFirings) -> String {
    if event.executions.is_empty() {
        return format!("no active schedule waits for {}", event.event);
    }
    let lines = event
        .executions
        .iter()
        .map(|one| format!("{:<36}  {}", truncate_chars(&one.schedule_id, 36), line(one)));
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) fn in_full(one: &Schedule) -> String {
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
        format!("{word}      {moment}")
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

pub(super) fn records(history: &ScheduleHistory) -> String {
    if history.executions.is_empty() {
        return match &history.schedule.next_execution_at {
            Some(next) => format!("it has not fired yet; the first firing is at {next}"),
            None => "it has never fired".to_owned(),
        };
    }
    history.executions.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(super) fn line(one: &ScheduledExecution) -> String {
    let count = match (one.firing_count, one.is_capped) {
        (1, false) => String::new(),
        (count, false) => format!(" ({count} firings)"),
        (count, true) => format!(" (more than {count} firings)"),
    };
    let reason = one.reason.map(|reason| format!(" {reason}"));
    let late = if one.is_catch_up { " catch-up" } else { "" };
    let run = one.run_key.as_deref().and_then(|key| key.get(..12));
    let run = run.map(|key| format!("  run {key} {}", one.run_status.map_or("", RunStatus::as_str)));
    format!(
        "{}  {}{}{late}{count}{}",
        one.due_at,
        outcome(one.outcome),
        reason.unwrap_or_default(),
        run.unwrap_or_default(),
    )
    .trim_end()
    .to_owned()
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
