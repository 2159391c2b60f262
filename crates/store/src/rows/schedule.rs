//! Rows of schedules.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::RunKey;
use wakeful_core::run::RunStatus;
use wakeful_core::schedule::{ExecutionOutcome, Reason, Schedule, TriggerSource};
use wakeful_core::time::Millis;

/// The decision about a firing of a schedule, or about the schedule itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledExecutionRow {
    pub schedule_id: RuleId,
    /// Position among all records of the schedule, from 1.
    pub seq: u64,
    /// The revision of the schedule.
    pub revision: u32,
    /// The nominal time; the first one if the record covers several firings.
    pub due_at: Millis,
    /// The number of firings that the record covers.
    pub count: u64,
    /// Whether there were more firings than counted.
    pub is_capped: bool,
    /// What caused the firing.
    pub source: TriggerSource,
    pub outcome: ExecutionOutcome,
    /// Why the schedule did not run: a stable code.
    pub reason: Option<Reason>,
    /// The run that it requested.
    pub run_key: Option<RunKey>,
    /// Whether it is the catch-up of a missed firing.
    pub is_catch_up: bool,
    /// When the decision was made.
    pub at: Millis,
}

/// A record with the state of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionWithRun {
    pub row: ScheduledExecutionRow,
    /// The status of its run; `None` if no run has started.
    pub run_status: Option<RunStatus>,
    pub run_started_at: Option<Millis>,
    pub run_ended_at: Option<Millis>,
}

/// The schedules found by a query. An unreadable one does not hide the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScheduleRows {
    /// The readable schedules.
    pub timers: Vec<Schedule>,
    pub unreadable: Vec<UnreadableSchedule>,
}

/// A schedule with a column that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableSchedule {
    /// The name as stored.
    pub schedule_id: String,
    /// The agent as stored.
    pub agent_id: String,
    /// The unreadable column.
    pub column: &'static str,
}

/// Which schedules to list, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScheduleFilter {
    /// Only schedules of this agent.
    pub agent_id: Option<AgentId>,
    /// Only schedules whose name sorts after this one.
    pub after: Option<RuleId>,
    pub limit: u32,
}
