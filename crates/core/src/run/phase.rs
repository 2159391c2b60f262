//! What a run waits for, how it ended, and the effects that its driver performs.

use serde::{Deserialize, Serialize};

use super::RunInput;
use super::round::SkippedModel;
use crate::blob::BlobHash;
use crate::budget::BudgetExceeded;
use crate::failure::FailureArtifact;
use crate::key::OperationId;
use crate::step::{Action, EffectClass};

/// The phase of a run. What the run waits for is part of the state, so recovery needs no guesses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// A model request is in progress.
    Modelling {
        /// Attempt with the current model in this round, starting at 1.
        attempt: u32,
        /// Wait before the attempt.
        delay_ms: u64,
        /// Models of the route that were skipped in this round.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missed: Vec<SkippedModel>,
    },
    /// The budget does not cover the next request. The run continues when it is resumed.
    Parked {
        /// The attempt that was not made.
        attempt: u32,
        /// Models of the route that were skipped in this round.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missed: Vec<SkippedModel>,
        /// The cap that was exceeded.
        exceeded: BudgetExceeded,
    },
    /// The actions of the newest reply are being performed.
    Acting {
        /// The reply that requested them.
        reply: BlobHash,
        actions: Vec<Action>,
        /// Wait before the next actions are intended, after a transient failure.
        #[serde(default, skip_serializing_if = "is_at_once")]
        delay_ms: u64,
        /// The tool whose rate is used up, if the wait is for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delayed_tool: Option<String>,
        /// The limit that does not cover the next action. The run continues when it is resumed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exceeded: Option<BudgetExceeded>,
    },
    Ended {
        outcome: RunOutcome,
        /// The reply with the final text.
        reply: Option<BlobHash>,
    },
}

impl RunPhase {
    /// Returns the tool for whose rate the run waits, if any.
    #[must_use]
    pub fn delayed_tool(&self) -> Option<&str> {
        match self {
            Self::Acting { delayed_tool, .. } => delayed_tool.as_deref(),
            Self::Modelling { .. } | Self::Parked { .. } | Self::Ended { .. } => None,
        }
    }

    /// A plan that waits for budget resumes as it continues after a stop: without results.
    pub(super) fn after_wait(&self, input: RunInput) -> RunInput {
        match (self.exceeded(), self, input) {
            (Some(_), Self::Acting { .. }, RunInput::Resumed) => RunInput::Settled { results: Vec::new() },
            (_, _, input) => input,
        }
    }

    /// Returns the limit that does not cover the next step; none if the run is not parked.
    #[must_use]
    pub const fn exceeded(&self) -> Option<&BudgetExceeded> {
        match self {
            Self::Parked { exceeded, .. } => Some(exceeded),
            Self::Acting { exceeded, .. } => exceeded.as_ref(),
            Self::Modelling { .. } | Self::Ended { .. } => None,
        }
    }

    /// Returns the wait before the intended effects.
    #[must_use]
    pub const fn delay_ms(&self) -> u64 {
        match self {
            Self::Modelling { delay_ms, .. } | Self::Acting { delay_ms, .. } => *delay_ms,
            Self::Parked { .. } | Self::Ended { .. } => 0,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The model replied without tool calls.
    Completed,
    /// The run could not continue.
    Failed(FailureArtifact),
    /// The model still requested tools after the last permitted round.
    OutOfRounds,
    /// A person cancelled the run.
    Cancelled,
}

/// An effect that the driver performs after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Send a request to the model.
    CallModel {
        /// The id of its step.
        operation_id: OperationId,
        /// How many requests of this run have a recorded result.
        request: u32,
        /// Wait before the request.
        delay_ms: u64,
    },
    /// Perform an action of the plan.
    Act {
        /// The id of its step.
        operation_id: OperationId,
        /// Its index in the reply that requested it.
        position: usize,
        /// The call id that the provider assigned.
        call_id: String,
        /// Determines what recovery does after a crash.
        class: EffectClass,
    },
}

pub(super) const fn phase_name(phase: &RunPhase) -> &'static str {
    match phase {
        RunPhase::Modelling { attempt: 0, .. } => "not begun",
        RunPhase::Modelling { .. } => "waiting for the model",
        RunPhase::Parked { .. } => "parked",
        RunPhase::Acting { .. } => "acting",
        RunPhase::Ended { .. } => "ended",
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_at_once(delay_ms: &u64) -> bool {
    *delay_ms == 0
}
