//! What happens to a turn, as the journal keeps it: contents by hash, and what was loaded beside them.

use serde::{Deserialize, Serialize};

use super::AttemptCost;
use crate::blob::BlobHash;
use crate::budget::BudgetExceeded;
use crate::conversation::Usage;
use crate::decision::{ApprovalOutcome, ApprovalRequest};
use crate::failure::ModelFailure;
use crate::key::{ActionParts, DecisionId, OperationId, RunKey};
use crate::step::{CallReads, ChildRun, StepResult};
use crate::time::Millis;

/// What happens to a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum RunInput {
    /// The message was admitted; the turn begins.
    Admitted {
        /// What was said, as a transcript entry.
        body: BlobHash,
    },
    /// The model answered.
    Replied(ModelReply),
    /// An attempt at a model round failed.
    AttemptFailed {
        /// Why.
        failure: ModelFailure,
        /// How long it took.
        duration_ms: u64,
        /// Who was asked, and what it cost.
        #[serde(default)]
        bill: AttemptCost,
    },
    /// There is no money for the request that is intended.
    Parked {
        /// Which cap stands in the way.
        exceeded: BudgetExceeded,
    },
    /// A parked run is to go on.
    Resumed,
    /// Some of the intended actions ended.
    Settled {
        /// How each ended.
        results: Vec<StepResult>,
    },
    /// Intended actions started runs of other agents, in the transaction that takes this input.
    Started {
        /// Which, and what they are called.
        starts: Vec<SubRunStart>,
    },
    /// A stop came before the intended actions began. Nobody has begun them, and nobody will until they are intended
    /// anew.
    Postponed,
    /// A person asked for the end.
    Cancelled,
    /// A question about an action was closed.
    Decided {
        /// Which question.
        decision_id: DecisionId,
        /// What it means to the action.
        ruling: ApprovalOutcome,
    },
    /// A permission was not used in time: the same is asked again.
    ApprovalExpired {
        /// What was asked.
        inquiry: Box<ApprovalRequest>,
    },
}

impl RunInput {
    /// The word the journal lists it by.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Admitted { .. } => "admitted",
            Self::Replied(_) => "replied",
            Self::AttemptFailed { .. } => "attempt_failed",
            Self::Parked { .. } => "parked",
            Self::Resumed => "resumed",
            Self::Settled { .. } => "settled",
            Self::Started { .. } => "started",
            Self::Postponed => "postponed",
            Self::Cancelled => "cancelled",
            Self::Decided { .. } => "decided",
            Self::ApprovalExpired { .. } => "lapsed",
        }
    }

    /// Whether a round may end with it, so that a person's words join before the next one.
    #[must_use]
    pub const fn may_end_round(&self) -> bool {
        match self {
            Self::Replied(reply) => !reply.calls.is_empty(),
            Self::Settled { .. } | Self::Decided { .. } => true,
            Self::Admitted { .. }
            | Self::AttemptFailed { .. }
            | Self::Parked { .. }
            | Self::Resumed
            | Self::Started { .. }
            | Self::Postponed
            | Self::Cancelled
            | Self::ApprovalExpired { .. } => false,
        }
    }
}

/// A run that an action of the plan started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubRunStart {
    /// Which action.
    pub operation_id: OperationId,
    /// The run.
    #[serde(flatten)]
    pub child: ChildRun,
    /// How many runs stand above it.
    pub depth: u32,
}

/// A model's reply, with its contents by hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The reply as a transcript entry.
    pub content: BlobHash,
    /// Its first words, for people.
    pub preview: String,
    /// Tokens of this request.
    pub usage: Usage,
    /// How long it took.
    pub duration_ms: u64,
    /// Who was asked, and what it cost.
    #[serde(default)]
    pub bill: AttemptCost,
    /// The tools it asks for, in order.
    pub calls: Vec<ReplyCall>,
}

/// One tool call of a reply, by hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyCall {
    /// The provider's id of the call.
    pub call_id: String,
    /// What the action is.
    #[serde(flatten)]
    pub parts: ActionParts,
    /// The first words of its arguments, for people.
    #[serde(default)]
    pub preview: String,
}

/// What the driver loaded before it applied an input: one entry per call of a reply, else nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputReads {
    /// Per call of the reply, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallReads>,
    /// That nothing may begin for now: a brake is on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// What time it is, where a permission may have run out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Millis>,
    /// What a person says into the run, in its order. It joins where the next request is made, and waits else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interjected: Vec<Interjection>,
}

/// A message that may join a run under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interjection {
    /// Its key: the run that it would else become.
    pub run_key: RunKey,
    /// What it says, as a transcript entry.
    pub body: BlobHash,
}
