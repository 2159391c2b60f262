//! Event payloads about agents: their messages and their state.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::UtcDay;
use crate::cause::{OriginKind, Priority};
use crate::decision::Channel;
use crate::id::{AgentId, Incarnation, RuleId, TraceId};
use crate::key::RunKey;
use crate::message::{AdmissionContext, Authority, DeliverySurface, MessageKind};
use crate::policy::PolicyFileHash;
use crate::schedule::ScheduleStatus;
use crate::wake::{AgentControl, InteractionMode, Lifecycle, WakeOutcome};

/// A message entered the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageAdmitted {
    /// Key of the message and of the run it requests.
    pub run_key: RunKey,
    /// Kind of the message.
    pub kind: MessageKind,
    /// Authority of the message, derived at admission.
    pub authority: Authority,
    /// Interface through which the message arrived.
    pub surface: DeliverySurface,
    /// How the sender was authenticated.
    pub context: AdmissionContext,
    /// Beginning of the text.
    pub text: String,
    /// Kind of the message's origin.
    #[serde(default)]
    pub origin: OriginKind,
    /// Priority in the queue.
    #[serde(default)]
    pub priority: Priority,
    /// Correlation: the chain of causes that the message belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<TraceId>,
    /// Causation: the direct predecessor of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<TraceId>,
    /// Ids that the origin refers to, keyed by what they identify.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
}

/// A change of an agent's state or configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum AgentStateChanged {
    /// The agent was created.
    Created {
        /// Whether the agent works on its queue.
        control: AgentControl,
        /// Which causes may wake the agent.
        #[serde(default)]
        mode: InteractionMode,
    },
    /// The agent was paused, stopped or resumed.
    Control {
        /// The new control state.
        control: AgentControl,
    },
    /// The lifecycle changed.
    Lifecycle {
        /// The new lifecycle.
        lifecycle: Lifecycle,
    },
    /// The mode changed.
    Mode {
        /// The new mode.
        mode: InteractionMode,
    },
    /// A sleep barrier was set: only a person wakes the agent before this time.
    Sleep {
        /// End of the sleep barrier.
        until: String,
    },
    /// A person removed the sleep barrier.
    Wake {
        /// Who removed it.
        #[serde(rename = "override")]
        by: Actor,
    },
    /// The external trigger changed.
    Trigger {
        /// How the trigger changed.
        trigger: TriggerChange,
    },
    /// The agent was restored from a backup.
    Restored {
        /// Host and incarnation that continue the agent.
        incarnation: Incarnation,
        /// Time at which the backup was made.
        backup_made_at: String,
    },
    /// A subscription changed.
    Subscription {
        /// Id of the subscription.
        subscription: RuleId,
        /// How the subscription changed.
        state: SubscriptionChange,
    },
    /// A schedule was added.
    ScheduleAdded(ScheduleChange),
    /// A schedule was edited.
    ScheduleEdited(ScheduleChange),
    /// A schedule was paused.
    SchedulePaused(ScheduleChange),
    /// A schedule was resumed.
    ScheduleResumed(ScheduleChange),
    /// A schedule was disabled.
    ScheduleDisabled(ScheduleChange),
    /// A schedule has no firing left.
    ScheduleExpired(ScheduleChange),
    /// A schedule was paused because one of its columns cannot be read.
    ScheduleUnreadable {
        /// Id of the schedule.
        schedule_id: String,
        /// The unreadable column.
        column: String,
    },
    /// The day that spending counts for was reset to the clock's day.
    BudgetDay {
        /// The previous day.
        from: Option<UtcDay>,
        /// The new day.
        to: UtcDay,
        /// Channel through which a person reset it.
        channel: Channel,
    },
    /// Settings changed.
    Settings {
        /// The changed settings with their new values; null if the default was restored. Instructions are
        /// represented by their hash.
        changed: BTreeMap<String, Value>,
    },
}

/// A schedule after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleChange {
    /// Id of the schedule.
    pub schedule_id: RuleId,
    /// Revision of the schedule after the change.
    pub revision: u32,
    /// Status of the schedule after the change.
    pub status: ScheduleStatus,
}

string_enum! {
    /// Who performed a manual action.
    pub enum Actor {
        /// The operator of the home.
        Operator = "operator",
    }
}

string_enum! {
    /// How an external trigger changed.
    pub enum TriggerChange {
        /// The trigger was created.
        Made = "made",
        /// The trigger has a new URL.
        Rotated = "rotated",
        /// The trigger was revoked.
        Revoked = "revoked",
    }
}

string_enum! {
    /// How a subscription changed.
    pub enum SubscriptionChange {
        /// The subscription was created.
        Made = "made",
        /// The subscription was paused.
        Paused = "paused",
        /// The subscription was resumed.
        Resumed = "resumed",
        /// The terms of the subscription were changed.
        Edited = "edited",
        /// The subscription was removed.
        Gone = "gone",
    }
}

/// The verdict on a message: whether it starts a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeDecided {
    /// Key of the message and of the run it requests.
    pub run_key: RunKey,
    /// The verdict.
    pub verdict: WakeOutcome,
    /// Kind of the message that became a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<MessageKind>,
    /// Number of further messages that the run absorbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absorbed: Option<usize>,
    /// The run that absorbed the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absorbed_by: Option<RunKey>,
}

impl WakeDecided {
    /// A decision without further details.
    #[must_use]
    pub const fn new(run_key: RunKey, verdict: WakeOutcome) -> Self {
        Self {
            run_key,
            verdict,
            reason: None,
            absorbed: None,
            absorbed_by: None,
        }
    }
}

/// The scope of a brake for all agents.
pub const ALL_AGENTS: &str = "all";

/// The policy files in force for the agent changed since the last decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyChanged {
    /// The version of the files by which calls were judged before; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_version: Option<String>,
    /// The version of the files in force now; absent if there are none any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_version: Option<String>,
    /// The files in force now, those for all agents first.
    pub files: Vec<PolicyFileHash>,
    /// Whether a refused file has no earlier version, so that nothing is permitted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_incomplete: bool,
}

/// A brake was set or released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrakeChanged {
    /// Whether the brake is set.
    pub is_on: bool,
    /// The agent's name, or `all` for the brake of all agents.
    pub scope: String,
    /// Reason for setting it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Channel through which it was changed.
    pub channel: Channel,
}

impl BrakeChanged {
    /// Formats the scope: an agent's id, or [`ALL_AGENTS`].
    #[must_use]
    pub fn scope(agent: Option<&AgentId>) -> String {
        agent.map_or(ALL_AGENTS, AgentId::as_str).to_owned()
    }
}
