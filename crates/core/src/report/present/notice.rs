//! Presentation of events that are not part of the run's own work.

use super::{EventLevel, Row};
use crate::id::RuleId;
use crate::report::payload::{ContentErased, RunParked, SubRunStarted, SubscriptionChange};

pub(super) fn run_parked(parked: &RunParked, row: Row) -> Row {
    let exceeded = &parked.exceeded;
    let body = sentences(&[&exceeded.words(), &exceeded.hint()]);
    Row {
        body: Some(body),
        ..row
    }
}

/// Texts without capitals and full stops as sentences.
fn sentences(texts: &[&str]) -> String {
    let sentence = |text: &&str| {
        let mut letters = text.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string());
        format!("{}{}.", first.unwrap_or_default(), letters.as_str())
    };
    texts.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

pub(super) fn content_erased(erased: &ContentErased, row: Row) -> Row {
    let ContentErased {
        events,
        blobs,
        reason,
        ..
    } = erased;
    row.with_summary(format!("{events} events and {blobs} contents erased: {reason}"))
}

pub(super) fn sub_run_started(started: &SubRunStarted, row: Row) -> Row {
    row.with_summary(format!(
        "Started a run of {} and waits for it",
        started.child_agent_id
    ))
}

pub(super) fn subscription_changed(subscription: &RuleId, state: SubscriptionChange) -> Row {
    let title = match state {
        SubscriptionChange::Made => "Subscription created",
        SubscriptionChange::Paused => "Subscription paused",
        SubscriptionChange::Resumed => "Subscription resumed",
        SubscriptionChange::Edited => "Subscription changed",
        SubscriptionChange::Gone => "Subscription removed",
    };
    Row::plain(EventLevel::Trace, title).with_detail(subscription.as_str())
}
