//! Schedules: when agents are woken by the clock, and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::id::{AgentId, EventName, RuleId, TurnId};
use wakeful_core::run::RunStatus;
use wakeful_core::schedule::{
    Concurrency, ExecutionOutcome, Reason as ExecutionReason, ScheduleStatus, TriggerSource,
};

use crate::endpoint::endpoints;
use crate::message::IDEMPOTENCY_KEY;
use crate::predicate::ScheduleGuard;
use crate::text::{DateTime, Limit, NO_CONTROL, NOT_BLANK, Object, Text, whole};

endpoints! { "schedules":
    /// Schedules by name.
    ListSchedules {
        /// Only those of this agent.
        agent_id: Option<Text<AgentId>>,
        /// Only those whose name comes after this one.
        after: Option<Text<RuleId>>,
        /// Most schedules, by name.
        #[serde(default)]
        limit: Limit
    } = Get "/api/schedules" -> ScheduleList { 200 "The schedules" }
    /// Makes a schedule. Without `always` it wakes its agent only when something changed since the agent last ran.
    AddSchedule = Post "/api/schedules" -> Schedule {
        201 "It is made",
        404 "There is no such agent",
        409 "The name is taken, the agent is gone for good, or the pattern never fires here",
    }
    /// One schedule.
    GetSchedule { schedule_id: Text<RuleId> } = Get "/api/schedules/{schedule_id}" -> Schedule { 200 "The schedule" }
    /// Changes a schedule. Another pattern or zone is another revision, and begins now.
    EditSchedule = Post "/api/schedules/{schedule_id}" -> Schedule {
        200 "It is changed",
        409 "It is over, or its new pattern never fires here",
    }
    /// Pauses a schedule: nothing fires, and what would have been due meanwhile is not made up for.
    PauseSchedule { schedule_id: Text<RuleId> } = Post "/api/schedules/{schedule_id}/pause" -> Schedule { 200 "It is paused" }
    /// Resumes a schedule.
    ResumeSchedule { schedule_id: Text<RuleId> } = Post "/api/schedules/{schedule_id}/resume" -> Schedule { 200 "It fires again" }
    /// Ends a schedule for good. Its history stays.
    DisableSchedule { schedule_id: Text<RuleId> } = Post "/api/schedules/{schedule_id}/disable" -> Schedule { 200 "It is over" }
    /// Lets a schedule fire now, also when nothing changed. What is to come stays as it is.
    TriggerSchedule = Post "/api/schedules/{schedule_id}/trigger" -> ScheduledExecution { 200 "What became of it" }
    /// A schedule and what became of its firings, newest first.
    ListScheduledExecutions {
        schedule_id: Text<RuleId>,
        /// Most records, from the newest back.
        #[serde(default)]
        limit: Limit
    } = Get "/api/schedules/{schedule_id}/executions" -> ScheduleHistory { 200 "The history" }
    /// Raises an event: every active schedule that waits for it fires, each by itself. One that came before under the same key
    /// fires nothing again.
    RaiseEvent = Post "/api/events/{event}" -> EventFirings {
        200 "What became of each schedule that waits for it",
        409 "There are two keys, or too many schedules wait for the event",
    } with { headers: &[IDEMPOTENCY_KEY] }
}

/// Five or six fields of stars, numbers and names with ranges, steps and lists; or a word such as `@daily`.
const CRON: &str = r"^[ \t]*(@[a-z]+|[0-9A-Za-z*,/-]+([ \t]+[0-9A-Za-z*,/-]+){4,5})[ \t]*$";

/// When a schedule fires: a pattern in a zone, an interval from an anchor, or one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {
        "required": ["cron", "time_zone"],
        "properties": {
            "cron": { "type": "string" }, "time_zone": { "type": "string" }, "interval_seconds": { "type": "null" },
            "anchor": { "type": "null" }, "at": { "type": "null" },
        },
    },
    {
        "required": ["interval_seconds"],
        "properties": {
            "cron": { "type": "null" }, "time_zone": { "type": "null" }, "interval_seconds": { "type": "integer" },
            "at": { "type": "null" },
        },
    },
    {
        "required": ["at"],
        "properties": {
            "cron": { "type": "null" }, "time_zone": { "type": "null" }, "interval_seconds": { "type": "null" },
            "anchor": { "type": "null" }, "at": { "type": "string" },
        },
    },
]))]
pub struct SchedulePattern {
    /// A cron pattern of five fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500), regex(pattern = CRON))]
    pub cron: Option<String>,
    /// The zone whose clocks the pattern means, by its IANA name. It belongs to `cron`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub time_zone: Option<String>,
    /// How far apart firings are.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 3_155_760_000_u64))]
    pub interval_seconds: Option<u64>,
    /// A moment at which it fires; now where none is given. It belongs to `interval_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub anchor: Option<String>,
    /// The one moment at which it fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub at: Option<String>,
}

/// A schedule of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    pub message: String,
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
    #[schemars(with = "Option<Object>")]
    pub guard: Option<serde_json::Value>,
    /// The event that lets it fire beside its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The moment that the newest firing was meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub last_execution_at: Option<String>,
    /// The moment that the next firing is meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub next_execution_at: Option<String>,
    /// That moment and the two after it.
    pub upcoming: Vec<String>,
    /// The newest run that it asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run_key: Option<String>,
    /// How many records of its firings were ever made.
    pub execution_count: u64,
    /// When it was made.
    #[schemars(with = "DateTime")]
    pub created_at: String,
}

/// Schedules by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleList {
    /// The schedules.
    pub schedules: Vec<Schedule>,
    /// Those of which something cannot be read; they rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableSchedule>,
}

/// A schedule of which something cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableSchedule {
    /// Its name, as it is kept.
    pub schedule_id: String,
    /// Whom it wakes, as it is kept.
    pub agent_id: String,
    /// What cannot be read.
    pub column: String,
}

/// A schedule to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddSchedule {
    /// Its name; one is made up where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_id: Option<Text<RuleId>>,
    /// Whom it wakes.
    pub agent_id: Text<AgentId>,
    /// What people call it; its name where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200), regex(pattern = NO_CONTROL))]
    pub label: Option<String>,
    /// When it fires.
    pub pattern: SchedulePattern,
    /// What it says to the agent.
    #[schemars(length(min = 1, max = 16384), regex(pattern = NOT_BLANK))]
    pub message: String,
    /// Whether it begins at rest.
    #[serde(default)]
    pub is_paused: bool,
    /// What becomes of a firing while the one before it is under way; `forbid` when absent.
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
    #[schemars(range(min = 1, max = 31622400))]
    pub catch_up_window_seconds: Option<u64>,
    /// How many of them run at once; 1 where nothing is given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 100))]
    pub max_catch_up_runs_per_tick: Option<u64>,
    /// Whether it wakes the agent also when nothing changed.
    #[serde(default)]
    pub always: bool,
    /// What must hold for a firing to wake the agent: a predicate over `since_last_run_ms`, `queued`, `changed`, `source`
    /// and `is_catch_up`. A firing for which it does not hold is skipped, with a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ScheduleGuard>")]
    pub guard: Option<serde_json::Value>,
    /// The event that lets it fire beside its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Text<EventName>>,
}

/// What of a schedule is to be different. What is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("not" = { "anyOf": [
    { "required": ["guard", "clear_guard"], "properties": { "guard": { "type": "object" }, "clear_guard": { "const": true } } },
    { "required": ["event", "clear_event"], "properties": { "event": { "type": "string" }, "clear_event": { "const": true } } },
] }))]
pub struct EditSchedule {
    /// The schedule's name.
    pub schedule_id: Text<RuleId>,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200), regex(pattern = NO_CONTROL))]
    pub label: Option<String>,
    /// When it fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<SchedulePattern>,
    /// What it says to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16384), regex(pattern = NOT_BLANK))]
    pub message: Option<String>,
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
    #[schemars(with = "Option<ScheduleGuard>")]
    pub guard: Option<serde_json::Value>,
    /// Whether nothing must hold any more. Not together with `guard`.
    #[serde(default)]
    pub clear_guard: bool,
    /// The event that lets it fire beside its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Text<EventName>>,
    /// Whether it waits for no event any more. Not together with `event`.
    #[serde(default)]
    pub clear_event: bool,
}

/// A wish that a schedule fires now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerSchedule {
    /// The schedule's name.
    pub schedule_id: Text<RuleId>,
    /// Names this wish: the same key again is the same wish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// Word that something happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RaiseEvent {
    /// What happened.
    pub event: Text<EventName>,
    /// Names this delivery: the same key again is the same one, and no schedule fires for it twice. The header
    /// `Idempotency-Key` does the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventFirings {
    /// What happened.
    pub event: String,
    /// The name of the delivery.
    pub key: String,
    /// What became of each schedule that waits for it, by name. None where nobody waits.
    pub executions: Vec<ScheduledExecution>,
}

/// A record of a firing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledExecution {
    /// Which schedule.
    pub schedule_id: String,
    /// Its place among all records of the schedule, from 1.
    pub seq: u64,
    /// Which revision of the schedule.
    pub revision: u32,
    /// The moment that was meant; of several, the first.
    #[schemars(with = "DateTime")]
    pub due_at: String,
    /// How many firings it speaks of.
    pub firing_count: u64,
    /// Whether there were even more.
    pub is_capped: bool,
    /// What made it fire.
    pub trigger_source: TriggerSource,
    /// What was decided.
    pub outcome: ExecutionOutcome,
    /// Why, where it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ExecutionReason>,
    /// The run that it asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// Where that run stands; absent before it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_status: Option<RunStatus>,
    /// When the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub run_started_at: Option<String>,
    /// When the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub run_ended_at: Option<String>,
    /// Whether it was missed and is made up for.
    pub is_catch_up: bool,
    /// When it was decided.
    #[schemars(with = "DateTime")]
    pub at: String,
}

/// A schedule and what became of its firings, newest first. The oldest records are not kept for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleHistory {
    /// The schedule.
    pub schedule: Schedule,
    /// The records.
    pub executions: Vec<ScheduledExecution>,
}
