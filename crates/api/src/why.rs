//! Endpoint and types that explain why an agent was woken, and why it was not.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::cause::OriginKind;
use wakeful_core::run::RunStatus;
use wakeful_core::wake::{HoldCode, WakeOutcome};

use crate::Gate;
use crate::endpoint::endpoints;
use crate::text::{Date, DateTime, Text};
use wakeful_core::cause::Priority;
use wakeful_core::id::AgentId;
use wakeful_core::schedule::ScheduleStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, InteractionMode, Lifecycle};

endpoints! { "agents":
    /// Explains what kept an agent from being woken.
    GetWhyNot {
        agent_id: Text<AgentId>,
        /// The start of the time range. Defaults to one day ago.
        since: Option<Text<Millis>>
    } = Get "/api/agents/{agent_id}/why-not" -> WhyNot { 200 "The refused causes, the queued messages and the current holds" }
}

/// The cause of a wake, as it was stored with its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeCause {
    /// The kind of cause: `operator`, `subscription`, `schedule`, `trigger` or `run`.
    pub kind: OriginKind,
    /// The source by which refusals are counted: the kind, and the name of the subscription, schedule,
    /// trigger or run.
    pub source: String,
    /// A description of the cause in one sentence.
    pub description: String,
    /// How many causes made by agents precede this one.
    pub depth: u32,
    /// The priority in the queue.
    #[serde(default)]
    pub priority: Priority,
    /// The id of the chain of causes: the key of its first cause, or an id that a sender gave.
    #[serde(default)]
    pub correlation_id: String,
    /// The direct cause: a run, a change, or an id that a sender gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// The ids of related objects: subscription, change, schedule, nominal time, trigger, delivery or run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
    /// The tokens of the change; at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<String>,
    /// The author of the change: `person`, or `agent:` followed by a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The logical change key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The nominal time of the firing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub scheduled_at: Option<String>,
    /// The run that caused the wake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
}

/// The verdict on a cause: whether it wakes the agent, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wake {
    /// The key of the requested run.
    pub run_key: String,
    /// The cause.
    pub cause: WakeCause,
    /// The verdict: `run`, `queued`, `absorbed`, `cancelled`, or the code of the refusal.
    pub verdict: WakeOutcome,
    /// A description of the verdict in one sentence.
    pub message: String,
    /// When the verdict was reached.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// The gates that were checked, up to the first that refused.
    pub gates: Vec<Gate>,
    /// What to change so that the cause is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A condition that keeps queued work of an agent from starting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    /// The code of the hold.
    pub code: HoldCode,
    /// A description of the hold in one sentence.
    pub message: String,
    /// When the hold ends without intervention. Absent if a person must act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub until: Option<String>,
    /// What to change to end the hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Why a run exists, or why it does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhyRun {
    /// The run's key.
    pub run_key: String,
    /// The agent that the cause concerns.
    pub agent_id: String,
    /// `queued`, the status of the run, or the verdict if no run was started.
    pub status: RunStatus,
    /// A summary in one sentence.
    pub summary: String,
    /// The cause.
    pub cause: WakeCause,
    /// The beginning of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The verdict: `run`, `queued`, `absorbed`, `cancelled`, or the code of the refusal. Absent if it was
    /// not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<WakeOutcome>,
    /// When the verdict was reached.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// The gates that were checked.
    pub gates: Vec<Gate>,
    /// The run that absorbed the message, if it is a different one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absorbed_by: Option<String>,
    /// The other messages that the run absorbed; at most 20.
    pub absorbed: Vec<Wake>,
    /// The total number of absorbed messages.
    pub absorbed_count: u64,
    /// The holds that keep the message from starting.
    pub holds: Vec<Hold>,
    /// The message does not start before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub not_before: Option<String>,
    /// What to change so that the cause is accepted, if it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What kept an agent from being woken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyNot {
    /// The agent's name.
    pub agent_id: String,
    /// The start of the time range.
    #[schemars(with = "DateTime")]
    pub since: String,
    /// A summary in one sentence.
    pub summary: String,
    /// The lifecycle state of the agent.
    pub lifecycle: Lifecycle,
    /// Whether the agent is running, paused or stopped.
    pub control: AgentControl,
    /// Which causes may wake the agent.
    pub mode: InteractionMode,
    /// The current holds of the agent.
    pub holds: Vec<Hold>,
    /// The queued messages, next first; at most 20.
    pub queued: Vec<QueuedWake>,
    /// The total number of queued messages.
    pub queued_count: u64,
    /// The refused causes, newest first; at most 20.
    pub refused: Vec<Wake>,
    /// The number of refusals by source, reason and day, newest day first.
    pub refusals: Vec<RefusalCount>,
    /// The agent's schedules, sorted by next firing; at most 20.
    pub schedules: Vec<NextFiring>,
    /// The number of schedules; counted up to 500.
    pub schedule_count: u64,
    /// The number of subscriptions; counted up to 500.
    pub subscription_count: u64,
    /// When a cause last tried to wake the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub last_tried_at: Option<String>,
}

/// A queued message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedWake {
    /// The key of the run that the message will start.
    pub run_key: String,
    /// The cause.
    pub cause: WakeCause,
    /// When the message was queued.
    #[schemars(with = "DateTime")]
    pub queued_at: String,
    /// The message does not start before this time. Absent if it may start immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub not_before: Option<String>,
}

/// The number of refusals of one source for one reason on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusalCount {
    /// The source of the refused causes.
    pub source: String,
    /// The code of the refusal.
    pub code: WakeOutcome,
    /// A description of the refusal in one sentence.
    pub message: String,
    /// The day in UTC.
    #[schemars(with = "Date")]
    pub day: String,
    /// The number of refusals.
    pub count: u64,
    /// When the newest refusal happened.
    #[schemars(with = "DateTime")]
    pub last_at: String,
    /// What to change so that the causes are accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The next firing of a schedule and the outcome of its previous one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextFiring {
    /// The schedule's name.
    pub schedule_id: String,
    /// The status of the schedule.
    pub status: ScheduleStatus,
    /// The nominal time of the next firing. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub next_at: Option<String>,
    /// The outcome of the previous firing, such as `run`, `skipped` or `refused`, and its reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_outcome: Option<String>,
}
