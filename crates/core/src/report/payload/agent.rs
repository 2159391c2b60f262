//! What events say about agents: their messages, and how they stand.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::UtcDay;
use crate::cause::{OriginKind, Priority};
use crate::decision::Channel;
use crate::id::{AgentId, Incarnation, RuleId, TraceId};
use crate::key::RunKey;
use crate::message::{AdmissionContext, Authority, DeliverySurface, MessageKind};
use crate::schedule::ScheduleStatus;
use crate::wake::{AgentControl, InteractionMode, Lifecycle, WakeOutcome};

/// A message entered the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageAdmitted {
    /// The run that the message asks for, and the message's own key.
    pub run_key: RunKey,
    /// What kind of message it is.
    pub kind: MessageKind,
    /// Whose word it is.
    pub authority: Authority,
    /// Where it came in.
    pub surface: DeliverySurface,
    /// How the sender was authenticated.
    pub context: AdmissionContext,
    /// How it begins.
    pub text: String,
    /// What it came from.
    #[serde(default)]
    pub origin: OriginKind,
    /// How soon it wants its turn.
    #[serde(default)]
    pub priority: Priority,
    /// The chain of causes that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<TraceId>,
    /// What it was caused by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<TraceId>,
    /// The ids that its origin names, each under the name of what it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
}

/// Something about an agent changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum AgentStateChanged {
    /// It was made.
    Created {
        /// Whether it works on what waits for it.
        control: AgentControl,
        /// Who may wake it.
        #[serde(default)]
        mode: InteractionMode,
    },
    /// It was paused, stopped, or let go on.
    Control {
        /// How it stands now.
        control: AgentControl,
    },
    /// It goes on in its life.
    Lifecycle {
        /// Where it stands now.
        lifecycle: Lifecycle,
    },
    /// Others may wake it.
    Mode {
        /// Who.
        mode: InteractionMode,
    },
    /// Only a person wakes it before a moment.
    Sleep {
        /// Which moment.
        until: String,
    },
    /// A person took the sleep barrier away.
    Wake {
        /// Who did.
        #[serde(rename = "override")]
        by: Actor,
    },
    /// Its external trigger was changed.
    Trigger {
        /// How.
        trigger: TriggerChange,
    },
    /// It came from a backup.
    Restored {
        /// The host and its life that goes on with it.
        incarnation: Incarnation,
        /// When the backup was made.
        backup_made_at: String,
    },
    /// One of its subscriptions was changed.
    Subscription {
        /// Which one.
        subscription: RuleId,
        /// How.
        state: SubscriptionChange,
    },
    /// It has one more schedule.
    ScheduleAdded(ScheduleChange),
    /// A schedule was edited.
    ScheduleEdited(ScheduleChange),
    /// A schedule was paused.
    SchedulePaused(ScheduleChange),
    /// A schedule goes on.
    ScheduleResumed(ScheduleChange),
    /// A schedule is over.
    ScheduleDisabled(ScheduleChange),
    /// A schedule has no firing left.
    ScheduleExpired(ScheduleChange),
    /// A schedule was paused because a column of it cannot be read.
    ScheduleUnreadable {
        /// Which one.
        schedule_id: String,
        /// What cannot be read.
        column: String,
    },
    /// The day that spending counts for was set back to the clock's.
    BudgetDay {
        /// The day before.
        from: Option<UtcDay>,
        /// The day now.
        to: UtcDay,
        /// How a person said so.
        channel: Channel,
    },
    /// Another model answers.
    Model {
        /// Which one; none for the default.
        model_ref: Option<String>,
    },
}

/// A schedule after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleChange {
    /// Which one.
    pub schedule_id: RuleId,
    /// Its revision.
    pub revision: u32,
    /// How it stands.
    pub status: ScheduleStatus,
}

string_enum! {
    /// Who did something by hand.
    pub enum Actor {
        /// The person whose home it is.
        Operator = "operator",
    }
}

string_enum! {
    /// What became of an external trigger.
    pub enum TriggerChange {
        /// It was made.
        Made = "made",
        /// It has another address.
        Rotated = "rotated",
        /// It is taken away.
        Revoked = "revoked",
    }
}

string_enum! {
    /// What became of a subscription.
    pub enum SubscriptionChange {
        /// It was made.
        Made = "made",
        /// It rests.
        Paused = "paused",
        /// It goes on.
        Resumed = "resumed",
        /// It was removed.
        Gone = "gone",
    }
}

/// A message became a run, or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeDecided {
    /// The message, by the key of the run that it asks for.
    pub run_key: RunKey,
    /// What was decided.
    pub verdict: WakeOutcome,
    /// The kind of the message that became a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<MessageKind>,
    /// How many more messages the run took up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absorbed: Option<usize>,
    /// The run that took it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absorbed_by: Option<RunKey>,
}

impl WakeDecided {
    /// A decision with nothing to add.
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

/// The scope of a brake that holds every agent.
pub const ALL_AGENTS: &str = "all";

/// A brake was set or released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrakeChanged {
    /// Whether it is on.
    pub is_on: bool,
    /// The agent, or [`ALL_AGENTS`].
    pub scope: String,
    /// Why it was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// By which way it came.
    pub channel: Channel,
}

impl BrakeChanged {
    /// The scope in words: an agent's name, or all.
    #[must_use]
    pub fn scope(agent: Option<&AgentId>) -> String {
        agent.map_or(ALL_AGENTS, AgentId::as_str).to_owned()
    }
}
