//! Answers that only the command line gives. All others are the API's own shapes.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use wakeful_api::{QueuedMessage, Run, RunList};
use wakeful_core::id::AgentId;

/// What became of the open runs when none was resumed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ResumedView {
    pub(crate) resumed: u32,
    pub(crate) driven_elsewhere: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) failed: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Messages that have not become runs, beside a list of those that have.
#[derive(Debug)]
pub(crate) enum QueuedView {
    /// Of all agents: how many wait for each.
    Counts(BTreeMap<String, u64>),
    /// Of one agent: which ones, next first.
    Queue(AgentId, Vec<QueuedMessage>),
}

/// Runs, and what waits to become one.
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

/// What `wakeful run` promises of a run. Steps and cause are `wakeful runs show`'s.
const SHORT: [&str; 13] = [
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

/// A run as `wakeful run` answers with it.
pub(super) fn in_short(run: &Run) -> Value {
    let mut value = serde_json::to_value(run).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| SHORT.contains(&name.as_str()));
    }
    value
}
