//! Why causes became runs, and why not.

use wakeful_core::budget::UtcDay;
use wakeful_core::cause::Cause;
use wakeful_core::id::{AgentId, SourceName};
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::wake::WakeOutcome;

/// A wake record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeRow {
    /// The run that was asked for.
    pub run_key: RunKey,
    /// Who was to be woken.
    pub agent_id: AgentId,
    /// What was decided.
    pub verdict: WakeOutcome,
    /// Every gate that was looked at, as JSON.
    pub gates: String,
    /// What arose.
    pub cause: Cause,
    /// The run that took it up, if another did.
    pub absorbed_by: Option<RunKey>,
    /// When.
    pub at: Millis,
}

/// How often a source was refused for one reason on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeRefusalRow {
    /// Who was not woken.
    pub agent_id: AgentId,
    /// By what.
    pub source: SourceName,
    /// Why.
    pub code: WakeOutcome,
    /// The day.
    pub day: UtcDay,
    /// How often.
    pub count: u64,
    /// The first time.
    pub first_at: Millis,
    /// The last time.
    pub last_at: Millis,
}

/// Which wake records to list, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeFilter {
    /// Whose.
    pub agent_id: AgentId,
    /// Not older than this.
    pub since: Millis,
    /// At most this many.
    pub limit: u32,
}
