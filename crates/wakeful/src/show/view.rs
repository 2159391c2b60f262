//! Results that only the command line has. All others are types of the API.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use wakeful_api::{QueuedMessage, Run, RunList};
use wakeful_core::id::AgentId;

/// The states of the open runs when none was resumed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ResumedView {
    pub(crate) resumed: u32,
    pub(crate) driven_elsewhere: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) failed: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Messages that have not become runs, listed beside those that have.
#[derive(Debug)]
pub(crate) enum QueuedView {
    /// Of all agents: the number of queued messages of each.
    Counts(BTreeMap<String, u64>),
    /// Of one agent: its queued messages, next first.
    Queue(AgentId, Vec<QueuedMessage>),
}

/// Runs with queued messages.
pub(super) fn runs(runs: &RunList, waits: &QueuedView) -> Value {
    let mut value = serde_json::to_value(runs).unwrap_or_default();
    let (name, waits) = match waits {
        QueuedView::Counts(counts) => ("pending", serde_json::to_value(counts)),
        QueuedView::Queue(_, queued) => ("queued", serde_json::to_value(queued)),
    };
    if let Some(members) = value.as_object_mut() {
        members.insert(name.to_owned(), waits.unwrap_or_default());
    }
    value
}

/// The fields of a run that `wakeful run` prints. Steps and cause are printed by `wakeful runs show`.
const SHORT: [&str; 14] = [
    "answer",
    "run_key",
    "agent_id",
    "outcome",
    "final_text",
    "rounds",
    "tool_calls",
    "denied",
    "unknown",
    "token_usage",
    "cost_usd",
    "provider_attempt_timeline",
    "duration_ms",
    "failure_artifact",
];

/// A run as `wakeful run` prints it.
pub(super) fn in_short(run: &Run) -> Value {
    let mut value = serde_json::to_value(run).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| SHORT.contains(&name.as_str()));
    }
    value
}
