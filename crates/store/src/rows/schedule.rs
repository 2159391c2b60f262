//! Rows of schedules.

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::RunKey;
use wakeful_core::run::RunStatus;
use wakeful_core::schedule::{ExecutionOutcome, Reason, Schedule, TriggerSource};
use wakeful_core::time::Millis;

/// What was decided about a firing of a schedule, or about the schedule itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledExecutionRow {
    /// Which schedule.
    pub schedule_id: RuleId,
    /// Its place among all records of the schedule, from 1.
    pub seq: u64,
    /// Which revision of the schedule.
    pub revision: u32,
    /// The moment that was meant; of several, the first.
    pub due_at: Millis,
    /// How many firings the record speaks of.
    pub count: u64,
    /// Whether there were even more.
    pub is_capped: bool,
    /// What made it fire.
    pub source: TriggerSource,
    /// What was decided.
    pub outcome: ExecutionOutcome,
    /// Why, where it did not run: a stable word.
    pub reason: Option<Reason>,
    /// The run that it asked for.
    pub run_key: Option<RunKey>,
    /// Whether it was missed and is made up for.
    pub is_catch_up: bool,
    /// When it was decided.
    pub at: Millis,
}

/// A record with what became of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionWithRun {
    /// The record.
    pub row: ScheduledExecutionRow,
    /// Where its run stands: a status of runs, or none where no run has begun.
    pub run_status: Option<RunStatus>,
    /// When the run began.
    pub run_started_at: Option<Millis>,
    /// When the run ended.
    pub run_ended_at: Option<Millis>,
}

/// Schedules that were found. One that cannot be read does not hide the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScheduleRows {
    /// Those that could be read.
    pub timers: Vec<Schedule>,
    /// Those that could not.
    pub unreadable: Vec<UnreadableSchedule>,
}

/// A schedule of which something cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableSchedule {
    /// Its name, as it stands there.
    pub schedule_id: String,
    /// Whom it wakes, as it stands there.
    pub agent_id: String,
    /// What cannot be read.
    pub column: &'static str,
}

/// Which schedules to list, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScheduleFilter {
    /// Only those of one agent.
    pub agent_id: Option<AgentId>,
    /// Only those whose name comes after one.
    pub after: Option<RuleId>,
    /// At most this many.
    pub limit: u32,
}
