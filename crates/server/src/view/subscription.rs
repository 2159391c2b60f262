//! Wire types of subscriptions.

use serde_json::Value;
use wakeful_api::{CreateSubscription, EditSubscription, Subscription, SubscriptionList};
use wakeful_core::subscription::{SubscriptionEdit, SubscriptionSpec};
use wakeful_runtime::api::subscription::NewSubscription;
use wakeful_runtime::rows::SubscriptionRow;

#[must_use]
pub fn subscription(row: &SubscriptionRow) -> Subscription {
    let SubscriptionSpec {
        any,
        all,
        predicate,
        guard,
        cooldown_ms,
        debounce_ms,
        message: say,
    } = row.spec.clone();
    Subscription {
        subscription_id: row.subscription_id.to_string(),
        agent_id: row.agent_id.to_string(),
        any,
        all,
        predicate,
        guard,
        cooldown_ms,
        debounce_ms,
        message: say,
        created_at: row.created_at.rfc3339(),
        is_active: row.is_active,
        warnings: Vec::new(),
    }
}

/// A page of subscriptions, and the start of the next page.
#[must_use]
pub fn subscriptions(rows: &[SubscriptionRow], limit: u32) -> SubscriptionList {
    let is_full = u32::try_from(rows.len()).is_ok_and(|count| count == limit);
    SubscriptionList {
        next_after: rows
            .last()
            .filter(|_| is_full)
            .map(|row| row.subscription_id.to_string()),
        subscriptions: rows.iter().map(subscription).collect(),
    }
}

/// Converts a request to create a subscription.
#[must_use]
pub fn new_subscription(new: CreateSubscription) -> NewSubscription {
    NewSubscription {
        subscription_id: new.subscription_id.map(|id| id.0),
        agent_id: new.agent_id.0,
        spec: SubscriptionSpec {
            any: new.any,
            all: new.all,
            predicate: new.predicate,
            guard: new.guard,
            cooldown_ms: new.cooldown_ms,
            debounce_ms: new.debounce_ms,
            message: new.message,
        },
    }
}

/// Converts a request to change terms; the error names the field that is set and removed.
pub fn subscription_edit(told: EditSubscription) -> Result<SubscriptionEdit, &'static str> {
    Ok(SubscriptionEdit {
        any: told.any,
        all: told.all,
        predicate: condition("predicate", told.predicate, told.clear_predicate)?,
        guard: condition("guard", told.guard, told.clear_guard)?,
        cooldown_ms: told.cooldown_ms,
        debounce_ms: told.debounce_ms,
        message: told.message,
    })
}

/// The new condition, its removal, or `None` if the request contains neither.
fn condition(
    field: &'static str,
    given: Option<Value>,
    clear: bool,
) -> Result<Option<Option<Value>>, &'static str> {
    match (given, clear) {
        (Some(_), true) => Err(field),
        (Some(given), false) => Ok(Some(Some(given))),
        (None, true) => Ok(Some(None)),
        (None, false) => Ok(None),
    }
}
