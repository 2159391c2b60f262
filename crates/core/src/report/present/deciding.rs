//! How questions, brakes and runs that stand aside are shown.

use serde_json::Value;

use super::{Level, Row, word};
use crate::failure::CUT;

pub(super) fn asked(payload: &Value) -> Row {
    let row = Row::plain(Level::ActionRequired, "A decision waits for you");
    let title = word(payload, "title").unwrap_or("A decision waits for you");
    match word(payload, "input") {
        // Said first, because a line has an end as well.
        Some(input) if input.ends_with(CUT) => row.with_summary(format!(
            "{title} (only how it begins; the decision shows all of it) {input}"
        )),
        Some(input) => row.with_summary(format!("{title} {input}")),
        None => row.with_summary(title.to_owned()),
    }
}

pub(super) fn answered(payload: &Value) -> Row {
    let tool = word(payload, "tool").unwrap_or("an action");
    match (word(payload, "status"), word(payload, "option")) {
        (Some("answered"), Some(option)) => {
            let row = Row::plain(Level::TurnResult, "A decision was answered");
            let way = word(payload, "channel").unwrap_or("somebody");
            row.with_summary(format!("{option}: {tool} (by {way})"))
        }
        (Some("cancelled"), _) => {
            let row = Row::plain(Level::TurnResult, "Nobody decided in time");
            row.with_summary(format!("Nobody decided in time; {tool} is not used"))
        }
        _ => Row::plain(Level::Trace, "A decision is no longer needed"),
    }
}

pub(super) fn escalated(payload: &Value) -> Row {
    let row = Row::plain(Level::ActionRequired, "A decision is overdue");
    match (word(payload, "title"), word(payload, "severity")) {
        (Some(title), Some(severity)) => row.with_summary(format!("Overdue, now {severity}: {title}")),
        _ => row,
    }
}

pub(super) fn brake(payload: &Value) -> Row {
    let is_on = payload.get("is_on") == Some(&Value::Bool(true));
    let is_of_all = word(payload, "scope") == Some("all");
    let title = match (is_on, is_of_all) {
        (true, true) => "All agents are braked",
        (true, false) => "Agent is braked",
        (false, true) => "The brake of all agents is released",
        (false, false) => "Agent is released",
    };
    let row = Row::plain(Level::TurnResult, title);
    match word(payload, "reason") {
        Some(reason) if !reason.is_empty() => row.with_summary(format!("{title}: {reason}")),
        _ => row,
    }
}

pub(super) fn quarantined(payload: &Value) -> Row {
    let row = Row::plain(Level::ActionRequired, "A run cannot go on");
    match word(payload, "why") {
        Some(why) => row.with_summary(format!("A run cannot go on: {why}")),
        None => row,
    }
}

pub(super) fn released(payload: &Value) -> Row {
    let title = match word(payload, "status") {
        Some("abandoned") => "A run that could not go on was given up",
        _ => "A run that could not go on is tried again",
    };
    Row::plain(Level::TurnResult, title)
}
