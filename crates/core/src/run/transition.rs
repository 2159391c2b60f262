//! Everything that one input leads to.

use super::{Effect, Interjection, RunMachine, RunOutcome, RunPhase, is_free};
use crate::attempt::AttemptRecord;
use crate::blob::{Blob, BlobHash};
use crate::conversation::{Role, Usage};
use crate::decision::ApprovalRequest;
use crate::key::{ActionBase, DecisionId, OperationId, RunKey};
use crate::report::EventDraft;
use crate::report::payload::{RunEnded, WakeDecided};
use crate::saga::Saga;
use crate::step::{EffectClass, StepStatus};
use crate::wake::WakeOutcome;

/// A change to the list of steps, written in the same transaction as the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepWrite {
    /// A new step.
    Put {
        /// Its id.
        operation_id: OperationId,
        /// Tool name, or the model reference.
        name: String,
        /// Its class; none for a model round.
        class: Option<EffectClass>,
        /// What equal actions are counted by; none for a model round.
        base: Option<ActionBase>,
        /// How it begins: planned, intended, or already refused.
        status: StepStatus,
        /// The rule that permitted or denied it, or the stable word of what was wrong.
        reason: String,
    },
    /// A planned step may now begin.
    Intend(OperationId),
    /// An intended step was not begun, and waits again.
    Postpone(OperationId),
    /// A step ended.
    Settle {
        /// Its id.
        operation_id: OperationId,
        /// How it ended.
        status: StepStatus,
        /// How long it took.
        duration_ms: u64,
        /// The enforced isolation, where it applies.
        sandbox: Option<String>,
        /// Why it ended like this, where there is more to say than that it was permitted.
        reason: Option<String>,
        /// Tokens, for a model round.
        usage: Usage,
        /// What is kept of the attempt, for a model round.
        attempt: Option<Box<AttemptRecord>>,
    },
    /// Where the saga of a step stands: with its intent it begins, with its result it ends.
    Saga(Saga),
}

/// A change to the list of questions, written in the same transaction as the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionWrite {
    /// A person is asked.
    Ask(Box<ApprovalRequest>),
    /// The run has been told how a question ended.
    Apply(DecisionId),
    /// Nobody has to answer any more.
    Withdraw(DecisionId),
}

/// A new line of the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryWrite {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: BlobHash,
}

/// Everything that one input leads to. It commits whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// The next state.
    pub turn: RunMachine,
    /// Changes to the steps.
    pub steps: Vec<StepWrite>,
    /// What to perform after the commit.
    pub effects: Vec<Effect>,
    /// New lines of the transcript.
    pub entries: Vec<EntryWrite>,
    /// Changes to the questions.
    pub decisions: Vec<DecisionWrite>,
    /// What to show.
    pub events: Vec<EventDraft>,
    /// Contents that the above names by hash.
    pub blobs: Vec<Blob>,
    /// Messages that the run took up, by their keys: they leave the queue with it.
    pub joined: Vec<RunKey>,
}

impl Transition {
    /// What a person said into the run stands behind the results of the round, and before the next request.
    pub(super) fn join(&mut self, interjected: &[Interjection]) {
        for Interjection { run_key, body } in interjected {
            self.entries.push(EntryWrite {
                role: Role::User,
                content: *body,
            });
            self.events.push(EventDraft::new(WakeDecided {
                absorbed_by: Some(self.turn.run_key),
                ..WakeDecided::new(*run_key, WakeOutcome::Absorbed)
            }));
            self.joined.push(*run_key);
        }
    }

    pub(super) fn end(&mut self, outcome: RunOutcome, reply: Option<BlobHash>) {
        self.events.push(EventDraft::new(RunEnded {
            outcome: outcome.status(),
            rounds: self.turn.rounds,
            token_usage: self.turn.usage,
            cost_microusd: (!is_free(&self.turn.cost)).then_some(self.turn.cost),
            run_key: None,
        }));
        self.turn.phase = RunPhase::Ended { outcome, reply };
    }
}
