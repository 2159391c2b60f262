//! Endpoints and types for schedules, which wake agents at certain times, and the records of their firings.

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
    /// Lists schedules by name.
    ListSchedules {
        /// Return only schedules of this agent.
        agent_id: Option<Text<AgentId>>,
        /// Return only schedules whose name sorts after this one.
        after: Option<Text<RuleId>>,
        /// The maximum number of schedules.
        #[serde(default)]
        limit: Limit
    } = Get "/api/schedules" -> ScheduleList { 200 "The schedules" }
    /// Creates a schedule.
    ///
    /// Without `always`, it wakes the agent only if something changed since the agent last ran.
    AddSchedule = Post "/api/schedules" -> Schedule {
        201 "The schedule was created",
        404 "The agent does not exist",
        409 "The name is taken, the agent is destroyed, or the pattern never fires",
    }
    /// Retrieves a schedule.
    GetSchedule { schedule_id: Text<RuleId> } = Get "/api/schedules/{schedule_id}" -> Schedule { 200 "The schedule" }
    /// Updates a schedule.
    ///
    /// A new pattern or time zone creates a new revision, which starts now.
    EditSchedule = Post "/api/schedules/{schedule_id}" -> Schedule {
        200 "The schedule was updated",
        409 "The schedule is disabled, or its new pattern never fires",
    }
    /// Pauses a schedule. Firings that are missed during the pause are not caught up.
    PauseSchedule { schedule_id: Text<RuleId> } = Post "/api/schedules/{schedule_id}/pause" -> Schedule { 200 "The schedule is paused" }
    /// Resumes a schedule.
    ResumeSchedule { schedule_id: Text<RuleId> } = Post "/api/schedules/{schedule_id}/resume" -> Schedule { 200 "The schedule is active" }
    /// Disables a schedule permanently. Its history remains.
    DisableSchedule { schedule_id: Text<RuleId> } = Post "/api/schedules/{schedule_id}/disable" -> Schedule { 200 "The schedule is disabled" }
    /// Fires a schedule now, even if nothing changed. Later firings are not affected.
    TriggerSchedule = Post "/api/schedules/{schedule_id}/trigger" -> ScheduledExecution { 200 "The record of the firing" }
    /// Lists the firings of a schedule, newest first.
    ListScheduledExecutions {
        schedule_id: Text<RuleId>,
        /// The maximum number of records.
        #[serde(default)]
        limit: Limit
    } = Get "/api/schedules/{schedule_id}/executions" -> ScheduleHistory { 200 "The history" }
    /// Raises an event: every active schedule that waits for it fires.
    ///
    /// Raising an event again with the same key fires nothing.
    RaiseEvent = Post "/api/events/{event}" -> EventFirings {
        200 "The records of the firings, one per schedule",
        409 "Two different keys were given, or too many schedules wait for the event",
    } with { headers: &[IDEMPOTENCY_KEY] }
}

/// Five or six cron fields of stars, numbers and names with ranges, steps and lists, or a macro such as
/// `@daily`.
const CRON: &str = r"^[ \t]*(@[a-z]+|[0-9A-Za-z*,/-]+([ \t]+[0-9A-Za-z*,/-]+){4,5})[ \t]*$";

/// When a schedule fires: a cron pattern in a time zone, an interval from an anchor, or a single time.
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
    /// A cron pattern with five fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500), regex(pattern = CRON))]
    pub cron: Option<String>,
    /// The IANA name of the time zone in which the pattern is evaluated. Used with `cron`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub time_zone: Option<String>,
    /// The time between firings, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 3_155_760_000_u64))]
    pub interval_seconds: Option<u64>,
    /// A time at which the schedule fires, from which the interval is counted. Defaults to now. Used with
    /// `interval_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub anchor: Option<String>,
    /// The single time at which the schedule fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub at: Option<String>,
}

/// A schedule of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// The schedule's name.
    pub schedule_id: String,
    /// The agent that the schedule wakes.
    pub agent_id: String,
    /// The revision of the pattern. A new pattern creates a new revision with its own firings.
    pub revision: u32,
    /// The label that people see.
    pub label: String,
    /// When the schedule fires.
    pub pattern: SchedulePattern,
    /// The message that a firing delivers to the agent.
    pub message: String,
    /// The status of the schedule.
    pub status: ScheduleStatus,
    /// How a firing is handled while the previous one is in progress.
    pub concurrency: Concurrency,
    /// Whether missed firings are caught up.
    pub allows_catch_up: bool,
    /// Whether the schedule is disabled after its first firing.
    pub auto_disable_after_run: bool,
    /// The maximum age of a missed firing that is caught up, in seconds.
    pub catch_up_window_seconds: u64,
    /// The maximum number of missed firings that run at once.
    pub max_catch_up_runs_per_tick: u64,
    /// Whether the schedule wakes the agent even if nothing changed.
    pub always: bool,
    /// A predicate that must be true for a firing to wake the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Object>")]
    pub guard: Option<serde_json::Value>,
    /// The event that fires the schedule in addition to its pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The nominal time of the newest firing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub last_execution_at: Option<String>,
    /// The nominal time of the next firing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub next_execution_at: Option<String>,
    /// The nominal times of the next three firings.
    pub upcoming: Vec<String>,
    /// The key of the newest run that the schedule requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run_key: Option<String>,
    /// The number of firing records that were ever created.
    pub execution_count: u64,
    /// When the schedule was created.
    #[schemars(with = "DateTime")]
    pub created_at: String,
    /// What a person should know: firings are skipped while nothing changes. Absent if each firing wakes the
    /// agent, or if a guard decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A list of schedules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleList {
    /// The schedules, sorted by name.
    pub schedules: Vec<Schedule>,
    /// The schedules with data that cannot be read. They do not fire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableSchedule>,
}

/// A schedule with data that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableSchedule {
    /// The stored name of the schedule.
    pub schedule_id: String,
    /// The stored name of the agent.
    pub agent_id: String,
    /// The column that cannot be read.
    pub column: String,
}

/// The schedule to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddSchedule {
    /// The schedule's name. If absent, a name is generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_id: Option<Text<RuleId>>,
    /// The agent that the schedule wakes.
    pub agent_id: Text<AgentId>,
    /// The label that people see. Defaults to the schedule's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200), regex(pattern = NO_CONTROL))]
    pub label: Option<String>,
    /// When the schedule fires.
    pub pattern: SchedulePattern,
    /// The message that a firing delivers to the agent. Without one, a firing wakes the agent only if
    /// something changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16384), regex(pattern = NOT_BLANK))]
    pub message: Option<String>,
    /// Whether the schedule is created paused.
    #[serde(default)]
    pub is_paused: bool,
    /// How a firing is handled while the previous one is in progress. Defaults to `forbid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// Whether missed firings are caught up. Defaults to the setting `schedule.catch_up` of the home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows_catch_up: Option<bool>,
    /// Whether the schedule is disabled after its first firing. A schedule with a single time always is.
    #[serde(default)]
    pub auto_disable_after_run: bool,
    /// The maximum age of a missed firing that is caught up, in seconds. Defaults to one day.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 31622400))]
    pub catch_up_window_seconds: Option<u64>,
    /// The maximum number of missed firings that run at once. Defaults to 1.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 100))]
    pub max_catch_up_runs_per_tick: Option<u64>,
    /// Whether the schedule wakes the agent even if nothing changed. Defaults to true if it has a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<bool>,
    /// A predicate that must be true for a firing to wake the agent, over `since_last_run_ms`, `queued`,
    /// `changed`, `source` and `is_catch_up`. If it is false, the firing is skipped and recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ScheduleGuard>")]
    pub guard: Option<serde_json::Value>,
    /// The event that fires the schedule in addition to its pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Text<EventName>>,
}

/// The changes to a schedule. Fields that are left out do not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("not" = { "anyOf": [
    { "required": ["guard", "clear_guard"], "properties": { "guard": { "type": "object" }, "clear_guard": { "const": true } } },
    { "required": ["event", "clear_event"], "properties": { "event": { "type": "string" }, "clear_event": { "const": true } } },
] }))]
pub struct EditSchedule {
    /// The schedule's name.
    pub schedule_id: Text<RuleId>,
    /// The label that people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200), regex(pattern = NO_CONTROL))]
    pub label: Option<String>,
    /// When the schedule fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<SchedulePattern>,
    /// The message that a firing delivers to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16384), regex(pattern = NOT_BLANK))]
    pub message: Option<String>,
    /// How a firing is handled while the previous one is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// Whether missed firings are caught up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows_catch_up: Option<bool>,
    /// Whether the schedule wakes the agent even if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<bool>,
    /// A predicate that must be true for a firing to wake the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ScheduleGuard>")]
    pub guard: Option<serde_json::Value>,
    /// Remove the guard. Cannot be combined with `guard`.
    #[serde(default)]
    pub clear_guard: bool,
    /// The event that fires the schedule in addition to its pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Text<EventName>>,
    /// Remove the event. Cannot be combined with `event`.
    #[serde(default)]
    pub clear_event: bool,
}

/// A request to fire a schedule now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerSchedule {
    /// The schedule's name.
    pub schedule_id: Text<RuleId>,
    /// The idempotency key: repeating the request with the same key has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// An event to raise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RaiseEvent {
    /// The name of the event.
    pub event: Text<EventName>,
    /// The idempotency key: a repeated event with the same key does not fire a schedule twice. The header
    /// `Idempotency-Key` does the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<TurnId>>,
}

/// The result of raising an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventFirings {
    /// The name of the event.
    pub event: String,
    /// The idempotency key of the event.
    pub key: String,
    /// The records of the firings, one per schedule, sorted by name. Empty if no schedule waits for the
    /// event.
    pub executions: Vec<ScheduledExecution>,
}

/// The record of a firing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledExecution {
    /// The schedule's name.
    pub schedule_id: String,
    /// The sequence number among all records of the schedule, starting at 1.
    pub seq: u64,
    /// The revision of the schedule.
    pub revision: u32,
    /// The nominal time of the firing; if the record covers several, of the first.
    #[schemars(with = "DateTime")]
    pub due_at: String,
    /// The number of firings that the record covers.
    pub firing_count: u64,
    /// Whether the count was capped because there were more firings.
    pub is_capped: bool,
    /// What fired the schedule.
    pub trigger_source: TriggerSource,
    /// The outcome of the firing.
    pub outcome: ExecutionOutcome,
    /// Why the firing did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ExecutionReason>,
    /// The key of the run that the firing requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// The status of that run. Absent before it has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_status: Option<RunStatus>,
    /// When the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub run_started_at: Option<String>,
    /// When the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub run_ended_at: Option<String>,
    /// Whether this is a missed firing that was caught up.
    pub is_catch_up: bool,
    /// When the outcome was decided.
    #[schemars(with = "DateTime")]
    pub at: String,
}

/// A schedule and the records of its firings. The oldest records are eventually deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleHistory {
    /// The schedule.
    pub schedule: Schedule,
    /// The records, newest first.
    pub executions: Vec<ScheduledExecution>,
}
