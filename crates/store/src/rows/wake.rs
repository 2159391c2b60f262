//! Rows of wake records and refusals: why causes did or did not become runs.

use wakeful_core::budget::UtcDay;
use wakeful_core::cause::Cause;
use wakeful_core::id::{AgentId, SourceName};
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::wake::WakeOutcome;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeRow {
    /// The requested run.
    pub run_key: RunKey,
    /// The agent to wake.
    pub agent_id: AgentId,
    pub verdict: WakeOutcome,
    /// Every gate that was checked, as JSON.
    pub gates: String,
    pub cause: Cause,
    /// The run that absorbed the message, if another one did.
    pub absorbed_by: Option<RunKey>,
    pub at: Millis,
}

/// How often a source was refused for one reason on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeRefusalRow {
    /// The agent that was not woken.
    pub agent_id: AgentId,
    pub source: SourceName,
    /// The reason for the refusal.
    pub code: WakeOutcome,
    pub day: UtcDay,
    /// Number of refusals.
    pub count: u64,
    /// When the first one occurred.
    pub first_at: Millis,
    /// When the last one occurred.
    pub last_at: Millis,
}

/// Which wake records to list, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeFilter {
    pub agent_id: AgentId,
    /// Only records from this time on.
    pub since: Millis,
    /// At most this many.
    pub limit: u32,
}
