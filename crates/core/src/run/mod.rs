//! The run machine: how one message becomes an answer.
//!
//! `gate → assemble → model → plan → policy → act → … → report`, as one pure function from state and input
//! to the next state, the step writes, the effects and the events. The driver commits all of them in one
//! transaction and only then performs the effects. The state holds no history: contents are blobs named by
//! hash, so a run of 100,000 steps resumes as fast as one of 10.

mod answer;
mod approval;
mod guard;
mod input;
mod intent;
mod phase;
mod plan;
mod refusal;
pub mod reply;
mod round;
mod settlement;
mod status;
mod sub_run;
#[cfg(test)]
mod tests;
mod transition;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::budget::MicroUsd;
use crate::cause::Cause;
use crate::conversation::{Role, Usage};
use crate::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind, truncate_chars};
use crate::json::NotCanonical;
use crate::key::{DecisionId, OperationId, RunKey};
use crate::provenance::{SourceKind, Sources};
use crate::rate::ToolRates;
use crate::report::payload::RunStarted;
use crate::report::{EventDraft, PREVIEW_CHARS_MAX};
use crate::retry::RetryPolicy;
use crate::step::{Action, ActionStatus, model_operation};
use crate::tool::WakeReason;

use guard::observed;
use phase::phase_name;
use plan::Plan;
use round::ModelRound;

pub use answer::{ANSWER_NOT_VALID, ANSWER_REPAIRS_MAX};
pub use approval::{DECISION_TIMED_OUT, DENIED_BY_PERSON};
pub use guard::{HOOK_BLOCKED, blocked_message};
pub use input::{
    BudgetStop, InputReads, Interjection, ModelReply, ReplyCall, Restriction, RunInput, SubRunStart,
};
pub use phase::{Effect, RunOutcome, RunPhase};
pub use round::{AttemptCost, BUDGET_EXCEEDED, ROUTE_MAX, SkippedModel, UnaffordableModel};
pub use status::{BrakeState, RunState, RunStatus, StatusFilter, WaitingFor};
pub use transition::{DecisionWrite, EntryWrite, StepWrite, Transition};

/// The machine kind, stored with every run.
pub const MACHINE: &str = "turn";

/// The machine version, stored with every run. It grows when an older program could no longer read a state
/// or would continue differently from it.
pub const MACHINE_VERSION: u32 = 2;

/// The oldest version whose states can be read.
pub const MACHINE_VERSION_OLDEST: u32 = 2;

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
    /// The untrusted sources of what it has read, including those of its causes.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
    /// Whether it has acted since it read untrusted data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_acted_untrusted: bool,
    /// Whether a person opened the agent's listed hosts to its commands, although it has read untrusted data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_open_hosts: bool,
    /// How many pages of each host it read because untrusted text links to them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub linked_reads: BTreeMap<String, u32>,
    /// The calls of each tool within a minute, if their rate is limited.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_rates: ToolRates,
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
            sources: Sources::none(),
            has_acted_untrusted: false,
            has_open_hosts: false,
            linked_reads: BTreeMap::new(),
            tool_rates: ToolRates::new(),
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

    /// Sets why the run was started: the cause of its own message.
    #[must_use]
    pub const fn caused_by(mut self, cause: &Cause) -> Self {
        self.wake_reason = WakeReason::of(&cause.origin);
        self
    }

    /// Whether it has read untrusted data.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        !self.sources.is_empty()
    }

    /// The sources of a text that comes from a call of this run: none unless the run has read untrusted data,
    /// which the arguments may repeat.
    #[must_use]
    pub fn sources_of_call(&self, tool: &str) -> Sources {
        match self.is_untrusted() {
            true => Sources::of(SourceKind::Tool, tool),
            false => Sources::none(),
        }
    }

    /// The sources of a text that its model wrote.
    pub(crate) fn sources_of_reply(&self) -> Sources {
        match self.is_untrusted() {
            true => Sources::of(SourceKind::Reply, ""),
            false => Sources::none(),
        }
    }

    /// Applies one input. What guardrails and hooks did before it is recorded first.
    pub fn apply(self, reads: &InputReads, input: RunInput) -> Result<Transition, UnexpectedInput> {
        let input = self.phase.after_wait(input);
        let mut moved = self.apply_input(reads, input)?;
        moved.events.splice(0..0, observed(reads));
        Ok(moved)
    }

    fn apply_input(self, reads: &InputReads, input: RunInput) -> Result<Transition, UnexpectedInput> {
        let phase = self.phase.clone();
        match (phase, input) {
            (RunPhase::Modelling { attempt: 0, .. }, input @ RunInput::Admitted { .. }) => self.begin(input),
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
                    ..
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

    fn begin(self, input: RunInput) -> Result<Transition, UnexpectedInput> {
        let run = self.run_key;
        let own = input.opening_sources();
        let RunInput::Admitted {
            body,
            history,
            sources,
            ..
        } = input
        else {
            return Err(UnexpectedInput::Reads);
        };
        let opening = EntryWrite {
            role: Role::User,
            content: body,
            sources: own,
        };
        let mut moved = self.unmoved();
        for entry in &history {
            moved.turn.sources.join(&entry.sources);
        }
        moved.turn.sources.join(&sources);
        moved.entries = match history.is_empty() {
            true => vec![opening],
            false => history,
        };
        moved.events.push(EventDraft::new(RunStarted {
            run_key: run,
            model_ref: moved.turn.model_ref.clone(),
            max_rounds: moved.turn.max_rounds,
        }));
        moved.ask(1, 0, Vec::new());
        Ok(moved)
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
const fn is_free(cost: &MicroUsd) -> bool {
    cost.0 == 0
}

/// Returns whether an action of the plan has not ended.
const fn is_open(action: &Action) -> bool {
    !matches!(action.fate, ActionStatus::Settled(_))
}
