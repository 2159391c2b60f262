//! The transition: everything that one input leads to.

use serde::{Deserialize, Serialize};

use super::{Effect, Interjection, RunMachine, RunOutcome, RunPhase, is_free};
use crate::attempt::AttemptRecord;
use crate::blob::{Blob, BlobHash};
use crate::conversation::{Role, Usage};
use crate::decision::ApprovalRequest;
use crate::key::{ActionBase, DecisionId, OperationId, RunKey};
use crate::provenance::Sources;
use crate::report::EventDraft;
use crate::report::payload::{RunEnded, WakeDecided};
use crate::saga::Saga;
use crate::step::{EffectClass, StepStatus};
use crate::tool::{CallEnd, CallRecord};
use crate::wake::WakeOutcome;

/// A write to the step table, in the same transaction as the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepWrite {
    /// Add a step.
    Put {
        operation_id: OperationId,
        /// Tool name, or the model reference.
        name: String,
        /// None for a model round.
        class: Option<EffectClass>,
        /// The key by which identical actions are counted; none for a model round.
        base: Option<ActionBase>,
        /// The initial status: planned, waiting for an approval, intended or already refused.
        status: StepStatus,
        /// The rule that permitted or denied it, or an error code.
        reason: String,
        /// The record of a tool call; none for a model round.
        call: Option<CallRecord>,
    },
    /// A planned step may begin.
    Intend(OperationId),
    /// An intended step did not begin and is planned again.
    Postpone(OperationId),
    /// A planned step needs an approval before it may begin.
    AwaitApproval(OperationId),
    /// A step was approved and is planned.
    Approve(OperationId),
    Settle {
        operation_id: OperationId,
        status: StepStatus,
        duration_ms: u64,
        /// The enforced isolation, if any.
        sandbox: Option<String>,
        /// The exit status of a command.
        exit_status: Option<i32>,
        /// Why it ended with this status, unless it was merely permitted.
        reason: Option<String>,
        /// Tokens of a model round.
        usage: Usage,
        /// The attempt record of a model round.
        attempt: Option<Box<AttemptRecord>>,
        /// How a tool call ended; none for a model round.
        end: Option<CallEnd>,
    },
    /// The saga of a step: it begins with the intent and ends with the result.
    Saga(Saga),
}

/// A write to the decision table, in the same transaction as the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionWrite {
    /// Request an approval.
    Ask(Box<ApprovalRequest>),
    /// The run has applied the answer.
    Apply(DecisionId),
    /// The answer is not needed any more.
    Withdraw(DecisionId),
}

/// A new transcript entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryWrite {
    pub role: Role,
    pub content: BlobHash,
    /// The untrusted sources of the content.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}

/// Everything that one input leads to, committed atomically.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// The next state.
    pub turn: RunMachine,
    pub steps: Vec<StepWrite>,
    /// Effects to perform after the commit.
    pub effects: Vec<Effect>,
    pub entries: Vec<EntryWrite>,
    pub decisions: Vec<DecisionWrite>,
    pub events: Vec<EventDraft>,
    /// Contents that the other fields reference by hash.
    pub blobs: Vec<Blob>,
    /// Keys of the messages that the run absorbed; they leave the queue in this transaction.
    pub joined: Vec<RunKey>,
}

impl Transition {
    /// Adds interjections after the results of the round and before the next request.
    pub(super) fn join(&mut self, interjected: &[Interjection]) {
        for Interjection {
            run_key,
            body,
            sources,
        } in interjected
        {
            self.turn.sources.join(sources);
            self.entries.push(EntryWrite {
                role: Role::User,
                content: *body,
                sources: sources.clone(),
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
