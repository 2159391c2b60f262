//! Rows that tell a person something apart from the run's own work.

use serde_json::Value;

use super::{Level, Row, word};
use crate::budget::MicroUsd;

pub(super) fn run_parked(payload: &Value) -> Row {
    let amount = |name| {
        let exceeded = payload.get("exceeded").and_then(|exceeded| exceeded.get(name));
        MicroUsd(exceeded.and_then(Value::as_u64).unwrap_or_default())
    };
    let body = format!(
        "The cap is {} USD a day, {} are spent and {} reserved by requests under way, and the next request may cost {}. \
         Raise the cap, or let the day turn; then resume.",
        amount("cap"),
        MicroUsd(amount("spent").0.saturating_sub(amount("reserved").0)),
        amount("reserved"),
        amount("needed")
    );
    Row {
        body: Some(body),
        ..Row::plain(
            Level::ActionRequired,
            "Run waits: the day's money is spent or reserved",
        )
    }
}

pub(super) fn content_erased(payload: &Value) -> Row {
    let count = |name| payload.get(name).and_then(Value::as_u64).unwrap_or_default();
    let reason = payload.get("reason").and_then(Value::as_str).unwrap_or_default();
    let summary = format!(
        "{} events and {} contents erased: {reason}",
        count("events"),
        count("blobs")
    );
    Row::plain(Level::Progress, "Contents erased").with_summary(summary)
}

pub(super) fn sub_run_started(payload: &Value) -> Row {
    let row = Row::plain(Level::Progress, "Run of another agent started");
    match payload.get("child_agent_id").and_then(Value::as_str) {
        Some(agent) => row.with_summary(format!("Started a run of {agent}, and waits for it")),
        None => row,
    }
}

pub(super) fn subscription_changed(payload: &Value) -> Row {
    let title = match word(payload, "state") {
        Some("made") => "Subscription made",
        Some("paused") => "Subscription paused",
        Some("resumed") => "Subscription goes on",
        Some("gone") => "Subscription taken away",
        _ => "Subscription changed",
    };
    let row = Row::plain(Level::Trace, title);
    match word(payload, "subscription") {
        Some(name) => row.with_summary(format!("{title}: {name}")),
        None => row,
    }
}
