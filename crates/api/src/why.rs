//! Why something woke an agent, and why nothing did.

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
    /// What kept an agent from being woken.
    GetWhyNot {
        agent_id: Text<AgentId>,
        /// From when on; the last day where nothing is said.
        since: Option<Text<Millis>>
    } = Get "/api/agents/{agent_id}/why-not" -> WhyNot { 200 "What was refused, what waits and what holds it" }
}

/// What arose, as it was kept with its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeCause {
    /// `operator`, `subscription`, `schedule`, `trigger` or `run`.
    pub kind: OriginKind,
    /// What refusals are counted by: the kind, and the name of the subscription, schedule, trigger or run.
    pub source: String,
    /// What arose, in one sentence.
    pub description: String,
    /// How many causes made by agents precede it.
    pub depth: u32,
    /// How soon it wants its turn.
    #[serde(default)]
    pub priority: Priority,
    /// What it belongs together with: the key with which its chain of causes began, or the name that a sender gave.
    #[serde(default)]
    pub correlation_id: String,
    /// What it was caused by: a run, a change, or the name that a sender gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// What it names by id: subscription, change, schedule, moment, trigger, delivery or run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
    /// The tokens of the change, at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<String>,
    /// Who made the change: `person`, or `agent:` and its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The change, by its logical key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The moment that was meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub scheduled_at: Option<String>,
    /// The run that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
}

/// What was decided about a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wake {
    /// The run that was asked for.
    pub run_key: String,
    /// What arose.
    pub cause: WakeCause,
    /// `run`, `queued`, `absorbed`, `cancelled`, or the code of the refusal.
    pub verdict: WakeOutcome,
    /// The verdict in one sentence.
    pub message: String,
    /// When.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// Every gate that was looked at, up to the first that stayed shut.
    pub gates: Vec<Gate>,
    /// What would have to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Something that holds an agent right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    /// Which kind, for programs.
    pub code: HoldCode,
    /// What it is, in one sentence.
    pub message: String,
    /// Until when by itself; absent where it stays until somebody acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub until: Option<String>,
    /// What would have to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Why there is a run, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhyRun {
    /// The run's key.
    pub run_key: String,
    /// Who was to be woken.
    pub agent_id: String,
    /// `queued`, the status of the run, or what was decided instead of a run.
    pub status: RunStatus,
    /// All of it in one sentence.
    pub summary: String,
    /// What arose.
    pub cause: WakeCause,
    /// How the message begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `run`, `queued`, `absorbed`, `cancelled`, or the code of the refusal; absent where no record was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<WakeOutcome>,
    /// When that was decided.
    #[schemars(with = "DateTime")]
    pub at: String,
    /// Every gate that was looked at.
    pub gates: Vec<Gate>,
    /// The run that took it up, if another did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absorbed_by: Option<String>,
    /// What it took up beside its own message; at most 20.
    pub absorbed: Vec<Wake>,
    /// How many those are in all.
    pub absorbed_count: u64,
    /// What holds it, while it waits.
    pub holds: Vec<Hold>,
    /// Until when it waits by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub not_before: Option<String>,
    /// What would have to change, where it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What kept an agent from being woken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyNot {
    /// The agent.
    pub agent_id: String,
    /// From when on.
    #[schemars(with = "DateTime")]
    pub since: String,
    /// All of it in one sentence.
    pub summary: String,
    /// Where it stands in its life.
    pub lifecycle: Lifecycle,
    /// Whether it works on what waits for it.
    pub control: AgentControl,
    /// Who may wake it.
    pub mode: InteractionMode,
    /// What holds it.
    pub holds: Vec<Hold>,
    /// What waits for it, next first; at most 20.
    pub queued: Vec<QueuedWake>,
    /// How many messages wait in all.
    pub queued_count: u64,
    /// What was refused, newest first; at most 20.
    pub refused: Vec<Wake>,
    /// Refusals by source, reason and day, newest day first.
    pub refusals: Vec<RefusalCount>,
    /// Its schedules, the next moment first; at most 20.
    pub schedules: Vec<NextFiring>,
    /// How many schedules it has; counted up to 500.
    pub schedule_count: u64,
    /// How many subscriptions it has; counted up to 500.
    pub subscription_count: u64,
    /// When something last tried to wake it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub last_tried_at: Option<String>,
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedWake {
    /// The run that it will become.
    pub run_key: String,
    /// What arose.
    pub cause: WakeCause,
    /// Since when it waits.
    #[schemars(with = "DateTime")]
    pub queued_at: String,
    /// Until when it waits by itself; absent where it may begin at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub not_before: Option<String>,
}

/// How often a source was refused for one reason on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusalCount {
    /// By what.
    pub source: String,
    /// The code of the refusal.
    pub code: WakeOutcome,
    /// The refusal in one sentence.
    pub message: String,
    /// The day in UTC.
    #[schemars(with = "Date")]
    pub day: String,
    /// How often.
    pub count: u64,
    /// The last time.
    #[schemars(with = "DateTime")]
    pub last_at: String,
    /// What would have to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// When a schedule wakes the agent next, and what became of it the last time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextFiring {
    /// The schedule.
    pub schedule_id: String,
    /// Whether it is at work.
    pub status: ScheduleStatus,
    /// Its next moment; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub next_at: Option<String>,
    /// What was decided the last time: a word such as `run`, `skipped` or `refused`, and its reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_outcome: Option<String>,
}
