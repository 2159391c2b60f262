//! The turn machine: how one message becomes an answer.
//!
//! `gate → assemble → model → plan → policy → act → … → report`, as one pure function. A state and an input
//! go in; the next state, the steps to write down, the effects to perform and the events to show come out.
//! The driver commits all of that in one transaction and only then performs the effects. The state holds
//! no history: contents stand in blobs, named by hash, so a run of 100,000 steps resumes as fast as one of 10.

mod approval;
mod input;
mod plan;
pub mod reply;
mod round;
mod status;
mod sub_run;
#[cfg(test)]
mod tests;
mod transition;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::blob::BlobHash;
use crate::budget::{BudgetExceeded, MicroUsd};
use crate::cause::Cause;
use crate::conversation::{Role, Usage};
use crate::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind, truncate_chars};
use crate::json::NotCanonical;
use crate::key::{DecisionId, OperationId, RunKey};
use crate::policy::ExternalCausePolicy;
use crate::report::payload::RunStarted;
use crate::report::{EventDraft, PREVIEW_CHARS_MAX};
use crate::retry::RetryPolicy;
use crate::step::{Action, ActionStatus, EffectClass, model_operation};

use plan::Plan;
use round::ModelRound;

pub use approval::{DECISION_TIMED_OUT, DENIED_BY_PERSON};
pub use input::{InputReads, Interjection, ModelReply, ReplyCall, RunInput, SubRunStart};
pub use round::{AttemptCost, BUDGET_EXCEEDED, ROUTE_MAX, SkippedModel, UnaffordableModel};
pub use status::{RunState, RunStatus};
pub use transition::{DecisionWrite, EntryWrite, StepWrite, Transition};

/// The kind of machine, stored with every run.
pub const MACHINE: &str = "turn";

/// The machine's version, stored with every run. It grows when an older program could no longer read a state, or would go
/// on from it in another way.
pub const MACHINE_VERSION: u32 = 1;

/// The oldest version whose states are still read.
pub const MACHINE_VERSION_OLDEST: u32 = 1;

/// Whether this program can go on with, and play again, what a machine of this version wrote.
#[must_use]
pub fn is_known(machine: &str, version: u32) -> bool {
    machine == MACHINE && (MACHINE_VERSION_OLDEST..=MACHINE_VERSION).contains(&version)
}

/// Whether a newer program wrote it. One that runs beside this one goes on with it; so it is left alone.
#[must_use]
pub fn is_newer(machine: &str, version: u32) -> bool {
    machine != MACHINE || version > MACHINE_VERSION
}

/// Largest state as JSON. A state that could grow past it holds history, which belongs in blobs.
pub const STATE_BYTES_MAX: usize = 64 * 1024;

/// Attempts at one model round: the first and two retries.
pub const ATTEMPTS_MAX: u32 = 3;

/// Model rounds of a run unless the caller says otherwise.
pub const ROUNDS_DEFAULT: u32 = 50;

/// Most rounds a caller may ask for. A hundred thousand steps is what the engine is tested for.
pub const ROUNDS_MAX: u32 = 100_000;

/// How a model round is tried again.
const MODEL_RETRY: RetryPolicy = RetryPolicy {
    attempts: ATTEMPTS_MAX,
    first_ms: 250,
    longest_ms: 10_000,
};

/// Everything durable about one turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMachine {
    /// The run's own name, from which its operations are named.
    pub run_key: RunKey,
    /// The model as it was asked for.
    pub model_ref: String,
    /// Models that are asked when it fails for good, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// Whose turn it is: 0 is the model that was asked for, 1 the first fallback.
    #[serde(default, skip_serializing_if = "is_first")]
    pub candidate: u32,
    /// How many rounds it may take.
    pub max_rounds: u32,
    /// Tools that this run may not use. Part of the state, so that a resumed run is as limited as it was.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deny_tools: BTreeSet<String>,
    /// Tools that it may use only after a person said so.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ask_tools: BTreeSet<String>,
    /// Agents of which it may start runs.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub may_start: BTreeSet<String>,
    /// What holds for its plain actions because of its outside cause; none for a run of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_cause_policy: Option<ExternalCausePolicy>,
    /// The folder its commands run in. Fixed when the run begins, so that a resumed run goes on in the same place.
    #[serde(default)]
    pub workspace: String,
    /// Model replies so far.
    pub rounds: u32,
    /// Model requests with a recorded result so far, failed ones included. Chooses a script's next entry.
    pub requests: u32,
    /// Tokens so far.
    pub usage: Usage,
    /// What it cost so far.
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: MicroUsd,
    /// The model of the route that an earlier round passed over only for want of money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpaid: Option<UnaffordableModel>,
    /// Where it stands.
    pub phase: RunPhase,
}

/// Where a turn stands. What it waits for is part of the state, so recovery has nothing to guess.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// A model request is under way.
    Modelling {
        /// Which attempt with this model at this round, from 1.
        attempt: u32,
        /// How long to wait before it.
        delay_ms: u64,
        /// Models of the route that were given up in this round.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missed: Vec<SkippedModel>,
    },
    /// There was no money for the next request. It goes on when somebody resumes it.
    Parked {
        /// Which attempt it would have been.
        attempt: u32,
        /// Models of the route that were given up in this round.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missed: Vec<SkippedModel>,
        /// Which cap stood in the way.
        exceeded: BudgetExceeded,
    },
    /// The actions of the newest reply are being carried out.
    Acting {
        /// The reply that asked for them.
        reply: BlobHash,
        /// The plan.
        actions: Vec<Action>,
        /// How long to wait before what is intended, because it failed a moment ago.
        #[serde(default, skip_serializing_if = "is_at_once")]
        delay_ms: u64,
    },
    /// Nothing is left to do.
    Ended {
        /// How it ended.
        outcome: RunOutcome,
        /// The reply with the final text.
        reply: Option<BlobHash>,
    },
}

impl RunPhase {
    /// How long to wait before what is intended.
    #[must_use]
    pub const fn delay_ms(&self) -> u64 {
        match self {
            Self::Modelling { delay_ms, .. } | Self::Acting { delay_ms, .. } => *delay_ms,
            Self::Parked { .. } | Self::Ended { .. } => 0,
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The model answered without asking for more.
    Completed,
    /// It could not go on.
    Failed(FailureArtifact),
    /// The model still wanted tools after the last round it was given.
    OutOfRounds,
    /// A person ended it.
    Cancelled,
}

/// Something to perform after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Ask the model.
    CallModel {
        /// The step it is recorded as.
        operation_id: OperationId,
        /// How many requests of this run have a recorded result.
        request: u32,
        /// How long to wait first.
        delay_ms: u64,
    },
    /// Carry out an action of the plan.
    Act {
        /// The step it is recorded as.
        operation_id: OperationId,
        /// Its place in the reply that asked for it.
        position: usize,
        /// The provider's id of the call.
        call_id: String,
        /// What may happen to it after a crash.
        class: EffectClass,
    },
}

/// An input that does not fit the state. A late or foreign answer is ordinary, so it is a value and no panic.
#[derive(Debug, thiserror::Error)]
pub enum UnexpectedInput {
    /// The machine was not waiting for this.
    #[error("a run that is {phase} cannot take the input {input}")]
    Unexpected {
        /// Where the run stands.
        phase: &'static str,
        /// What came.
        input: &'static str,
    },
    /// Results for other actions than the intended ones.
    #[error("operation {0} was not intended by this run")]
    ForeignOperation(OperationId),
    /// An answer to a question that this run does not wait for.
    #[error("decision {0} is not one that this run waits for")]
    ForeignDecision(DecisionId),
    /// The driver loaded less than the input needs.
    #[error("the read set does not match the reply's calls")]
    Reads,
    /// A value without canonical form; cannot happen for what we build ourselves.
    #[error(transparent)]
    NotCanonical(#[from] NotCanonical),
}

impl RunMachine {
    /// A turn that has not begun: it takes [`SagaInput::Admitted`] and nothing else.
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
            may_start: BTreeSet::new(),
            external_cause_policy: None,
            workspace: String::new(),
            rounds: 0,
            requests: 0,
            usage: Usage::default(),
            cost: MicroUsd(0),
            unpaid: None,
            phase,
        }
    }

    /// The same turn with its commands run in this folder.
    #[must_use]
    pub fn with_workspace(mut self, workspace: String) -> Self {
        self.workspace = workspace;
        self
    }

    /// The same turn without the use of some tools.
    #[must_use]
    pub fn with_denied_tools(mut self, tools: BTreeSet<String>) -> Self {
        self.deny_tools = tools;
        self
    }

    /// The same turn, which uses some tools only after a person said so.
    #[must_use]
    pub fn with_ask_tools(mut self, tools: BTreeSet<String>) -> Self {
        self.ask_tools = tools;
        self
    }

    /// The same turn, which may start runs of these agents.
    #[must_use]
    pub fn with_startable_agents(mut self, agents: BTreeSet<String>) -> Self {
        self.may_start = agents;
        self
    }

    /// The same turn with what caused it, all that it takes up included. One outside cause makes it an outside run, for
    /// which this setting holds.
    #[must_use]
    pub fn caused_by<'a>(
        mut self,
        causes: impl IntoIterator<Item = &'a Cause>,
        setting: ExternalCausePolicy,
    ) -> Self {
        let is_outside = causes.into_iter().any(Cause::is_external);
        self.external_cause_policy = is_outside.then_some(setting);
        self
    }

    /// Moves the turn on by one input.
    pub fn apply(self, reads: &InputReads, input: RunInput) -> Result<Transition, UnexpectedInput> {
        let phase = self.phase.clone();
        match (phase, input) {
            (RunPhase::Modelling { attempt: 0, .. }, RunInput::Admitted { body }) => Ok(self.begin(body)),
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
                self.lapsed(Plan { reply, actions }, *inquiry)
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

    /// The effects that this state waits for. After a crash these are exactly the ones without a result. None at all
    /// after a stop that came before they began: then [`SagaInput::Settled`] without results goes on.
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

    /// How it ended, if it has.
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

    fn begin(self, body: BlobHash) -> Transition {
        let run = self.run_key;
        let mut moved = self.unmoved();
        moved.entries.push(EntryWrite {
            role: Role::User,
            content: body,
        });
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

/// A failure that the machine itself or its driver found, before or instead of any model.
#[must_use]
pub fn runtime_failure(kind: &str, summary: &str) -> ModelFailure {
    let artifact = FailureArtifact::new(FailureCategory::Runtime, kind, summary);
    ModelFailure::new(ModelFailureKind::FailFast, artifact)
}

/// The first words of a text, for lists.
#[must_use]
pub fn preview(text: &str) -> String {
    truncate_chars(text, PREVIEW_CHARS_MAX)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_first(candidate: &u32) -> bool {
    *candidate == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_at_once(delay_ms: &u64) -> bool {
    *delay_ms == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_free(cost: &MicroUsd) -> bool {
    cost.0 == 0
}

/// Whether an action of the plan still has to be carried out.
const fn is_open(action: &Action) -> bool {
    !matches!(action.fate, ActionStatus::Settled(_))
}
