//! An answer that must fit a schema: one request to correct it, then the run fails.

use super::{EntryWrite, ModelReply, RunOutcome, Transition, UnexpectedInput};
use crate::answer_schema::repair_message;
use crate::blob::Blob;
use crate::conversation::{Block, Role};
use crate::failure::{FailureArtifact, FailureCategory};
use crate::json::canonical;
use crate::report::EventDraft;
use crate::report::payload::RuntimeError;

/// How often a model is asked to correct an answer that does not fit. A model that does not succeed with the
/// violations named rarely does later, and every request costs as much as the first.
pub const ANSWER_REPAIRS_MAX: u32 = 1;

/// Code of a run whose answer does not fit the schema.
pub const ANSWER_NOT_VALID: &str = "answer_not_valid";

impl Transition {
    /// Ends the run with a reply without tool calls, or asks the model to correct the reply.
    pub(super) fn answer(&mut self, reply: &ModelReply) -> Result<(), UnexpectedInput> {
        if reply.violations.is_empty() {
            self.end(RunOutcome::Completed, Some(reply.content));
        } else if self.turn.answer_repairs < ANSWER_REPAIRS_MAX && self.turn.rounds < self.turn.max_rounds {
            self.turn.answer_repairs = self.turn.answer_repairs.saturating_add(1);
            let text = repair_message(&reply.violations);
            let blob = Blob::new(canonical(&[Block::Text { text }])?);
            self.entries.push(EntryWrite {
                role: Role::User,
                content: blob.hash(),
                // It repeats parts of the model's answer.
                sources: self.turn.sources_of_reply(),
            });
            self.blobs.push(blob);
            self.ask(1, 0, Vec::new());
        } else {
            let summary = format!(
                "the answer does not fit the required schema: {}",
                reply.violations.join("; ")
            );
            let artifact = FailureArtifact::new(FailureCategory::Task, ANSWER_NOT_VALID, &summary).bounded();
            self.events.push(EventDraft::new(RuntimeError {
                failure_artifact: artifact.clone(),
            }));
            // The reply is not the answer; the transcript contains it.
            self.end(RunOutcome::Failed(artifact), None);
        }
        Ok(())
    }
}
