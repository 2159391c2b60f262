//! The run machine: how one message becomes an answer.
//!
//! `gate → assemble → model → plan → policy → act → … → report`, as one pure function from state and input
//! to the next state, the step writes, the effects and the events. The driver commits all of them in one
//! transaction and only then performs the effects. The state holds no history: contents are blobs named by
//! hash, so a run of 100,000 steps resumes as fast as one of 10.

mod answer;
mod approval;
mod input;
mod intent;
mod plan;
mod refusal;
pub mod reply;
mod round;
mod status;
mod sub_run;
#[cfg(test)]
mod tests;
mod transition;
mod verdict;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::blob::BlobHash;
use crate::budget::{BudgetExceeded, MicroUsd};
use crate::cause::Cause;
use crate::conversation::{Role, Usage};
use crate::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind, truncate_chars};
use crate::json::NotCanonical;
use crate::key::{DecisionId, OperationId, RunKey};
use crate::report::payload::RunStarted;
use crate::report::{EventDraft, PREVIEW_CHARS_MAX};
use crate::retry::RetryPolicy;
use crate::step::{Action, ActionStatus, EffectClass, model_operation};
use crate::tool::WakeReason;

use plan::Plan;
use round::ModelRound;

pub use answer::{ANSWER_NOT_VALID, ANSWER_REPAIRS_MAX};
pub use approval::{DECISION_TIMED_OUT, DENIED_BY_PERSON};
pub use input::{InputReads, Interjection, ModelReply, ReplyCall, Restriction, RunInput, SubRunStart};
pub use round::{AttemptCost, BUDGET_EXCEEDED, ROUTE_MAX, SkippedModel, UnaffordableModel};
pub use status::{BrakeState, RunState, RunStatus, StatusFilter, WaitingFor};
pub use transition::{DecisionWrite, EntryWrite, StepWrite, Transition};

/// The machine kind, stored with every run.
pub const MACHINE: &str = "turn";

/// The machine version, stored with every run. It grows when an older program could no longer read a state
/// or would continue differently from it.
pub const MACHINE_VERSION: u32 = 1;

/// The oldest version whose states can be read.
pub const MACHINE_VERSION_OLDEST: u32 = 1;

/// Returns whether this program can continue and replay runs of this machine version.
#[must_use]
pub fn is_known(machine: &str, version: u32) -> bool {
    machine == MACHINE && (MACHINE_VERSION_OLDEST..=MACHINE_VERSION).contains(&version)
}

/// Returns whether a newer program wrote the run. Such a run is left to the newer program, which may be
/// running at the same time.
#[must_use]
pub fn is_newer(machine: &str, version: u32) -> bool {
    machine != MACHINE || version > MACHINE_VERSION
}

/// Largest state as JSON. A state that could grow beyond it contains history, which belongs in blobs.
pub const STATE_BYTES_MAX: usize = 64 * 1024;

/// Attempts at each model of a route in one round: the first and two retries.
pub const ATTEMPTS_MAX: u32 = 3;

/// Default limit of model rounds per run.
pub const ROUNDS_DEFAULT: u32 = 50;

/// Largest limit of rounds that a caller may request. The engine is tested up to a hundred thousand steps.
pub const ROUNDS_MAX: u32 = 100_000;

/// Backoff between attempts of a model round.
const MODEL_RETRY: RetryPolicy = RetryPolicy {
    attempts: ATTEMPTS_MAX,
    first_ms: 250,
    longest_ms: 10_000,
};

/// The complete durable state of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMachine {
    /// Operation ids are derived from it.
    pub run_key: RunKey,
    /// The requested model.
    pub model_ref: String,
    /// Models used after permanent failures, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// Index of the current model in the route: 0 is the requested model, 1 the first fallback.
    #[serde(default, skip_serializing_if = "is_first")]
    pub candidate: u32,
    pub max_rounds: u32,
    /// Tools that its message denies. Part of the state, so that a resumed run keeps its restrictions. The
    /// agent's record may deny more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deny_tools: BTreeSet<String>,
    /// Tools for which its message requires approval. The agent's record and the settings for all agents may
    /// add more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ask_tools: BTreeSet<String>,
    /// Whether something other than the operator caused it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_external_cause: bool,
    /// Why it was started: the origin of its own message.
    #[serde(default, skip_serializing_if = "is_user_initiated")]
    pub wake_reason: WakeReason,
    /// Whether its message forbids every action that changes something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_read_only: bool,
    /// The folder in which its commands run. Fixed when the run begins, so that a resumed run uses the same
    /// folder.
    #[serde(default)]
    pub workspace: String,
    pub rounds: u32,
    /// Model requests with a recorded result, including failed ones. Selects the next entry of a scripted
    /// model.
    pub requests: u32,
    /// Total tokens.
    pub usage: Usage,
    /// Total cost.
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: MicroUsd,
    /// The model that an earlier round skipped only because of the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpaid: Option<UnaffordableModel>,
    /// How often the model was asked to correct an answer that does not fit its schema.
    #[serde(default, skip_serializing_if = "is_first")]
    pub answer_repairs: u32,
    pub phase: RunPhase,
}

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
    },
    Ended {
        outcome: RunOutcome,
        /// The reply with the final text.
        reply: Option<BlobHash>,
    },
}

impl RunPhase {
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

/// An input that does not fit the state. A late or foreign answer is expected, so this is an error value
/// and not a panic.
#[derive(Debug, thiserror::Error)]
pub enum UnexpectedInput {
    /// The machine was not waiting for this input.
    #[error("a run that is {phase} cannot take the input {input}")]
    Unexpected {
        phase: &'static str,
        input: &'static str,
    },
    /// A result for an action that is not intended.
    #[error("operation {0} was not intended by this run")]
    ForeignOperation(OperationId),
    /// An answer to a decision that this run does not wait for.
    #[error("decision {0} is not one that this run waits for")]
    ForeignDecision(DecisionId),
    /// The driver loaded less than the input requires.
    #[error("the read set does not match the reply's calls")]
    Reads,
    /// A value without canonical form; cannot occur for values that the program builds itself.
    #[error(transparent)]
    NotCanonical(#[from] NotCanonical),
}

impl RunMachine {
    /// Creates a run that has not begun: it accepts only [`RunInput::Admitted`].
    #[must_use]
    pub fn new(run_key: RunKey, model_ref: String, max_rounds: u32) -> Self {
        let phase = RunPhase::Modelling {
            attempt: 0,
            delay_ms: 0,
            missed: Vec::new(),
        };
        Self {
            run_key,
            model_ref,
            fallbacks: Vec::new(),
            candidate: 0,
            max_rounds,
            deny_tools: BTreeSet::new(),
            ask_tools: BTreeSet::new(),
            has_external_cause: false,
            wake_reason: WakeReason::UserInitiated,
            is_read_only: false,
            workspace: String::new(),
            rounds: 0,
            requests: 0,
            usage: Usage::default(),
            cost: MicroUsd(0),
            unpaid: None,
            answer_repairs: 0,
            phase,
        }
    }

    /// Sets the folder in which the run's commands run.
    #[must_use]
    pub fn with_workspace(mut self, workspace: String) -> Self {
        self.workspace = workspace;
        self
    }

    /// Denies the run these tools.
    #[must_use]
    pub fn with_denied_tools(mut self, tools: BTreeSet<String>) -> Self {
        self.deny_tools = tools;
        self
    }

    /// Requires approval for these tools.
    #[must_use]
    pub fn with_ask_tools(mut self, tools: BTreeSet<String>) -> Self {
        self.ask_tools = tools;
        self
    }

    /// Sets the causes of the run: that of its own message first, then those of the messages it absorbs. One
    /// external cause makes it an external run.
    #[must_use]
    pub fn caused_by<'a>(mut self, causes: impl IntoIterator<Item = &'a Cause>) -> Self {
        let mut causes = causes.into_iter().peekable();
        if let Some(own) = causes.peek() {
            self.wake_reason = WakeReason::of(&own.origin);
        }
        self.has_external_cause = causes.any(Cause::is_external);
        self
    }

    /// Applies one input.
    pub fn apply(self, reads: &InputReads, input: RunInput) -> Result<Transition, UnexpectedInput> {
        let phase = self.phase.clone();
        match (phase, input) {
            (RunPhase::Modelling { attempt: 0, .. }, RunInput::Admitted { body, history }) => {
                Ok(self.begin(body, history))
            }
            (RunPhase::Modelling { attempt: 1.., .. }, RunInput::Replied(reply)) => {
                self.replied(&reply, reads)
            }
            (
                RunPhase::Modelling {
                    attempt: attempt @ 1..,
                    missed,
                    ..
                },
                RunInput::AttemptFailed {
                    failure,
                    duration_ms,
                    bill,
                },
            ) => Ok(self.attempt_failed(ModelRound { attempt, missed }, failure, duration_ms, bill)),
            (
                RunPhase::Modelling {
                    attempt: attempt @ 1..,
                    missed,
                    ..
                },
                RunInput::Parked { exceeded },
            ) => Ok(self.parked(attempt, missed, exceeded)),
            (RunPhase::Parked { attempt, missed, .. }, RunInput::Resumed) => {
                Ok(self.resumed(attempt, missed))
            }
            (RunPhase::Parked { .. }, RunInput::Cancelled) => Ok(self.cancelled()),
            (RunPhase::Acting { reply, actions, .. }, RunInput::Settled { results }) => {
                self.settled(Plan { reply, actions }, results, reads)
            }
            (
                RunPhase::Acting { reply, actions, .. },
                RunInput::Decided {
                    decision_id, ruling, ..
                },
            ) => self.decided(Plan { reply, actions }, decision_id, ruling, reads),
            (RunPhase::Acting { reply, actions, .. }, RunInput::ApprovalExpired { inquiry }) => {
                self.renew_expired_approval(Plan { reply, actions }, *inquiry)
            }
            (
                RunPhase::Acting {
                    reply,
                    actions,
                    delay_ms,
                },
                RunInput::Started { starts },
            ) => self.started(Plan { reply, actions }, delay_ms, starts),
            (RunPhase::Acting { reply, actions, .. }, RunInput::Postponed) => {
                self.postponed(Plan { reply, actions })
            }
            (RunPhase::Modelling { attempt: 1.., .. }, RunInput::Cancelled) => Ok(self.cancelled()),
            (RunPhase::Acting { actions, .. }, RunInput::Cancelled) => self.cancelled_while_acting(actions),
            (phase, input) => Err(UnexpectedInput::Unexpected {
                phase: phase_name(&phase),
                input: input.kind(),
            }),
        }
    }

    /// Returns the effects that this state waits for. After a crash these are exactly the effects without a
    /// result. The list is empty after a stop that came before they began; then [`RunInput::Settled`]
    /// without results continues the run.
    #[must_use]
    pub fn pending_effects(&self) -> Vec<Effect> {
        match &self.phase {
            RunPhase::Modelling { attempt: 0, .. } | RunPhase::Parked { .. } | RunPhase::Ended { .. } => {
                Vec::new()
            }
            RunPhase::Modelling { delay_ms, .. } => vec![self.call_model(*delay_ms)],
            RunPhase::Acting { actions, .. } => plan::intended(actions),
        }
    }

    #[must_use]
    pub const fn outcome(&self) -> Option<&RunOutcome> {
        match &self.phase {
            RunPhase::Ended { outcome, .. } => Some(outcome),
            RunPhase::Modelling { .. } | RunPhase::Parked { .. } | RunPhase::Acting { .. } => None,
        }
    }

    fn call_model(&self, delay_ms: u64) -> Effect {
        let operation_id = model_operation(&self.run_key, self.requests);
        Effect::CallModel {
            operation_id,
            request: self.requests,
            delay_ms,
        }
    }

    fn begin(self, body: BlobHash, history: Vec<EntryWrite>) -> Transition {
        let run = self.run_key;
        let mut moved = self.unmoved();
        moved.entries = match history.is_empty() {
            true => vec![EntryWrite {
                role: Role::User,
                content: body,
            }],
            false => history,
        };
        moved.events.push(EventDraft::new(RunStarted {
            run_key: run,
            model_ref: moved.turn.model_ref.clone(),
            max_rounds: moved.turn.max_rounds,
        }));
        moved.ask(1, 0, Vec::new());
        moved
    }

    fn unmoved(self) -> Transition {
        Transition {
            turn: self,
            steps: vec![],
            effects: vec![],
            entries: vec![],
            decisions: vec![],
            events: vec![],
            blobs: vec![],
            joined: vec![],
        }
    }
}

const fn phase_name(phase: &RunPhase) -> &'static str {
    match phase {
        RunPhase::Modelling { attempt: 0, .. } => "not begun",
        RunPhase::Modelling { .. } => "waiting for the model",
        RunPhase::Parked { .. } => "parked",
        RunPhase::Acting { .. } => "acting",
        RunPhase::Ended { .. } => "ended",
    }
}

/// Creates a failure that the machine or its driver detected without a model.
#[must_use]
pub fn runtime_failure(kind: &str, summary: &str) -> ModelFailure {
    let artifact = FailureArtifact::new(FailureCategory::Runtime, kind, summary);
    ModelFailure::new(ModelFailureKind::FailFast, artifact)
}

/// Returns the first words of a text, for lists.
#[must_use]
pub fn preview(text: &str) -> String {
    truncate_chars(text, PREVIEW_CHARS_MAX)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_user_initiated(reason: &WakeReason) -> bool {
    matches!(reason, WakeReason::UserInitiated)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_first(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_at_once(delay_ms: &u64) -> bool {
    *delay_ms == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_free(cost: &MicroUsd) -> bool {
    cost.0 == 0
}

/// Returns whether an action of the plan has not ended.
const fn is_open(action: &Action) -> bool {
    !matches!(action.fate, ActionStatus::Settled(_))
}
