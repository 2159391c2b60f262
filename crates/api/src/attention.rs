//! Endpoints and types for what needs a person: decisions, runs that cannot continue, and failures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::attention::NextStep;
use wakeful_core::key::RunKey;

use crate::endpoint::endpoints;
use crate::text::{DateTime, Text};
use crate::{Decision, ParkedReason, RunSummary, StuckAgent};

endpoints! { "attention":
    /// Lists what needs a person, over all agents.
    ///
    /// The list follows from stored state: a failure stays until it is dismissed or run again, however many
    /// events follow it.
    ListAttention {} = Get "/api/attention" -> AttentionList { 200 "What needs a person" }
    /// Dismisses failed runs and runs with unknown outcomes, for all clients.
    ///
    /// Older failures of the same agent with the same cause are dismissed as well, because they are one item.
    /// Runs that do not need attention are skipped.
    DismissAttention = Post "/api/attention/dismiss" -> AttentionList { 200 "What still needs a person" }
}

/// The runs to dismiss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DismissAttention {
    /// The keys of the runs.
    #[schemars(length(min = 1, max = 500))]
    pub run_keys: Vec<Text<RunKey>>,
}

/// What needs a person, over all agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttentionList {
    /// The items: decisions first, then runs and agents that cannot continue, then failures.
    pub items: Vec<AttentionItem>,
    /// The number of decisions and runs that need attention and are not part of the list, because it is limited.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One thing that needs a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AttentionItem {
    /// A question that waits for an answer.
    PendingDecision {
        /// The decision.
        decision: Box<Decision>,
    },
    /// A run that waits until a person resumes or abandons it.
    QuarantinedRun {
        /// The run.
        run: Box<RunSummary>,
    },
    /// A run that waits for budget.
    ParkedRun {
        /// The run.
        run: Box<RunSummary>,
        /// Why it waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parked: Option<ParkedReason>,
    },
    /// An agent whose work cannot continue.
    StuckAgent {
        /// The agent and the reason.
        agent: StuckAgent,
    },
    /// Runs of one agent that ended without success for the same reason.
    FailedRuns {
        /// The agent of the runs.
        agent_id: String,
        /// The kind of the failure, or `out_of_rounds`.
        code: String,
        /// The cause in plain words.
        message: String,
        /// What a person can do, the most useful step first.
        next_steps: Vec<NextStep>,
        /// The number of runs.
        count: u64,
        /// The newest runs, newest first; at most 20.
        run_keys: Vec<String>,
        /// When the first of them ended.
        #[schemars(with = "DateTime")]
        first_at: String,
        /// When the last of them ended.
        #[schemars(with = "DateTime")]
        last_at: String,
        /// The beginning of the message that started the newest one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
    },
    /// A run with actions that may or may not have happened.
    UnknownOutcome {
        /// The run.
        run: Box<RunSummary>,
    },
}
