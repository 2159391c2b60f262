//! Schedules: when agents are woken by the clock, and what became of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use wakeful_core::run::RunStatus;

use crate::message::whole;

/// Whether a schedule is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleStatus {
    /// It fires.
    Active,
    /// It does not, until a person lets it.
    Paused,
    /// It never does again.
    Disabled,
    /// It has no firing left.
    Expired,
}

/// What becomes of a firing while the one before it is still under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Concurrency {
    /// It waits its turn beside the other.
    Allow,
    /// It is skipped.
    Forbid,
    /// It takes the other's place.
    Replace,
}

/// When a schedule fires: a pattern in a zone, an interval from an anchor, or one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulePattern {
    /// A cron pattern of five fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 500)]
    pub cron: Option<String>,
    /// The zone whose clocks the pattern means, by its IANA name. It belongs to `cron`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100)]
    pub time_zone: Option<String>,
    /// How far apart firings are.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schema(minimum = 1)]
    pub interval_seconds: Option<u64>,
    /// A moment at which it fires; now where none is given. It belongs to `interval_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub anchor: Option<String>,
    /// The one moment at which it fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub at: Option<String>,
}

/// A schedule of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// Its name.
    pub schedule_id: String,
    /// Whom it wakes.
    pub agent_id: String,
    /// Which pattern it has: another one is another revision, and its firings are others.
    pub revision: u32,
    /// What people call it.
    pub label: String,
    /// When it fires.
    pub pattern: SchedulePattern,
    /// What it says to the agent.
    pub say: String,
    /// Whether it is at work.
    pub status: ScheduleStatus,
    /// What becomes of a firing while the one before it is under way.
    pub concurrency: Concurrency,
    /// Whether missed firings are made up for.
    pub allows_catch_up: bool,
    /// Whether it is over after its first firing.
    pub auto_disable_after_run: bool,
    /// How old a missed firing may be and still be made up for.
    pub catch_up_window_seconds: u64,
    /// How many of them run at once.
    pub max_catch_up_runs_per_tick: u64,
    /// Whether it wakes the agent also when nothing changed.
    pub always: bool,
    /// What must hold for a firing to wake the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub guard: Option<serde_json::Value>,
    /// The event that lets it fire beside its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub event: Option<String>,
    /// The moment that the newest firing was meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub last_execution_at: Option<String>,
    /// The moment that the next firing is meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub next_execution_at: Option<String>,
    /// That moment and the two after it.
    pub upcoming: Vec<String>,
    /// The newest run that it asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub last_run_key: Option<String>,
    /// How many records of its firings were ever made.
    pub execution_count: u64,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// Schedules by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleList {
    /// The schedules.
    pub schedules: Vec<Schedule>,
    /// Those of which something cannot be read; they rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableSchedule>,
}

/// A schedule of which something cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnreadableSchedule {
    /// Its name, as it is kept.
    pub schedule_id: String,
    /// Whom it wakes, as it is kept.
    pub agent_id: String,
    /// What cannot be read.
    pub column: String,
}

/// A schedule to make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddSchedule {
    /// Its name; one is made up where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 64)]
    pub schedule_id: Option<String>,
    /// Whom it wakes.
    #[schema(min_length = 1, max_length = 64, pattern = "^[a-z0-9][a-z0-9_-]*$")]
    pub agent_id: String,
    /// What people call it; its name where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub label: Option<String>,
    /// When it fires.
    pub pattern: SchedulePattern,
    /// What it says to the agent.
    #[schema(min_length = 1, max_length = 16384)]
    pub say: String,
    /// Whether it begins at rest.
    #[serde(default)]
    pub is_paused: bool,
    /// What becomes of a firing while the one before it is under way; `forbid` where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// Whether missed firings are made up for; as `schedule.catch_up` of the home says where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows_catch_up: Option<bool>,
    /// Whether it is over after its first firing. One moment always is.
    #[serde(default)]
    pub auto_disable_after_run: bool,
    /// How old a missed firing may be and still be made up for; a day where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 31622400)]
    pub catch_up_window_seconds: Option<u64>,
    /// How many of them run at once; 1 where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 100)]
    pub max_catch_up_runs_per_tick: Option<u64>,
    /// Whether it wakes the agent also when nothing changed.
    #[serde(default)]
    pub always: bool,
    /// What must hold for a firing to wake the agent: a predicate over `since_last_run_ms`, `queued`, `changed`, `source`
    /// and `is_catch_up`. A firing for which it does not hold is skipped, with a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub guard: Option<serde_json::Value>,
    /// The event that lets it fire beside its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 64, pattern = "^[a-z0-9][a-z0-9._-]{0,63}$")]
    pub event: Option<String>,
}

/// What of a schedule is to be different. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditSchedule {
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub label: Option<String>,
    /// When it fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<SchedulePattern>,
    /// What it says to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 16384)]
    pub say: Option<String>,
    /// What becomes of a firing while the one before it is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// Whether missed firings are made up for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows_catch_up: Option<bool>,
    /// Whether it wakes the agent also when nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<bool>,
    /// What must hold for a firing to wake the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub guard: Option<serde_json::Value>,
    /// Whether nothing must hold any more. Not together with `guard`.
    #[serde(default)]
    pub no_guard: bool,
    /// The event that lets it fire beside its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 64, pattern = "^[a-z0-9][a-z0-9._-]{0,63}$")]
    pub event: Option<String>,
    /// Whether it waits for no event any more. Not together with `event`.
    #[serde(default)]
    pub no_event: bool,
}

/// A wish that a schedule fires now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerSchedule {
    /// Names this wish: the same key again is the same wish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"
    )]
    pub key: Option<String>,
}

/// Word that something happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EventCame {
    /// Names this delivery: the same key again is the same one, and no schedule fires for it twice. The header
    /// `Idempotency-Key` does the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"
    )]
    pub key: Option<String>,
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventFirings {
    /// What happened.
    pub event: String,
    /// The name of the delivery.
    pub key: String,
    /// What became of each schedule that waits for it, by name. None where nobody waits.
    pub executions: Vec<ScheduledExecution>,
}

/// What made a schedule fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerSource {
    /// Its moment came.
    Tick,
    /// A person said so.
    TriggerNow,
    /// Something happened that it waits for.
    Event,
}

/// What was decided about a firing, or about the schedule itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionOutcome {
    /// It became a message, whose run tells the rest.
    Run,
    /// It did not; the reason says why.
    Skipped,
    /// It had, and a later one took its place.
    Replaced,
    /// A gate stayed shut; the reason is its code.
    Refused,
    /// The schedule was for once, and is over.
    Disabled,
    /// The schedule has no firing left.
    Expired,
    /// The clock was set back, and the next firing was worked out anew.
    Recomputed,
    /// The schedule cannot be read, and rests until a person has looked at it.
    SetAside,
}

/// A record of a firing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledExecution {
    /// Which schedule.
    pub schedule_id: String,
    /// Its place among all records of the schedule, from 1.
    pub seq: u64,
    /// Which revision of the schedule.
    pub revision: u32,
    /// The moment that was meant; of several, the first.
    #[schema(format = DateTime)]
    pub due_at: String,
    /// How many firings it speaks of.
    pub count: u64,
    /// Whether there were even more.
    pub is_capped: bool,
    /// What made it fire.
    pub trigger_source: TriggerSource,
    /// What was decided.
    pub outcome: ExecutionOutcome,
    /// Why, where it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// The run that it asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub run_key: Option<String>,
    /// Where that run stands; absent before it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub run_status: Option<RunStatus>,
    /// When the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub run_started_at: Option<String>,
    /// When the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub run_ended_at: Option<String>,
    /// Whether it was missed and is made up for.
    pub is_catch_up: bool,
    /// When it was decided.
    #[schema(format = DateTime)]
    pub at: String,
}

/// A schedule and what became of its firings, newest first. The oldest records are not kept for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleHistory {
    /// The schedule.
    pub schedule: Schedule,
    /// The records.
    pub executions: Vec<ScheduledExecution>,
}
