//! Presentation of events that are not part of the run's own work.

use super::{EventLevel, Row};
use crate::budget::MicroUsd;
use crate::id::RuleId;
use crate::report::payload::{ContentErased, RunParked, SubRunStarted, SubscriptionChange};

pub(super) fn run_parked(parked: &RunParked, row: Row) -> Row {
    let exceeded = &parked.exceeded;
    let body = format!(
        "The cap is {} USD a day; {} are spent, {} are reserved by requests in progress, and the next request may cost {}. Raise \
            the cap or wait for the next day, then resume.",
        exceeded.cap,
        MicroUsd(exceeded.spent.0.saturating_sub(exceeded.reserved.0)),
        exceeded.reserved,
        exceeded.needed
    );
    Row {
        body: Some(body),
        ..row
    }
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
        SubscriptionChange::Gone => "Subscription removed",
    };
    Row::plain(EventLevel::Trace, title).with_detail(subscription.as_str())
}
