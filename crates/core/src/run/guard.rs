//! What guardrails and hooks did to a run: their events, and what they block.

use super::{EntryWrite, InputReads, ModelReply, RunOutcome, Transition, UnexpectedInput, runtime_failure};
use crate::conversation::Role;
use crate::failure::{FailureArtifact, FailureCategory, ModelFailure};
use crate::guardrail::{GUARDRAIL, GuardrailPlace, GuardrailTrip, blocking};
use crate::key::OperationId;
use crate::report::EventDraft;
use crate::report::payload::{GuardrailTripped, RuntimeError};
use crate::step::{ToolError, result_blob};

/// The code of what a hook blocks.
pub const HOOK_BLOCKED: &str = "hook_blocked";

/// The failure of a request that is not sent, because a guardrail or a hook blocks the message.
#[must_use]
pub fn blocked_message(code: &str, summary: &str) -> ModelFailure {
    runtime_failure(code, summary)
}

/// Whether a guardrail or a hook blocks the request. Another model would get the same message.
pub(super) fn is_block(failure: &ModelFailure) -> bool {
    let artifact = &failure.artifact;
    let is_ours = artifact.category == FailureCategory::Runtime;
    is_ours && (artifact.kind == GUARDRAIL || artifact.kind == HOOK_BLOCKED)
}

/// The events of what happened before an input: the guardrails that tripped, and the hooks that ran.
pub(super) fn observed(reads: &InputReads) -> Vec<EventDraft> {
    let tripped = reads.guardrails.iter().map(|trip| guardrail_event(trip, None));
    let hooks = reads.hooks.iter().cloned().map(EventDraft::new);
    tripped.chain(hooks).collect()
}

fn guardrail_event(trip: &GuardrailTrip, call: Option<(OperationId, &str)>) -> EventDraft {
    EventDraft::new(GuardrailTripped {
        place: trip.place,
        guardrail: trip.name.clone(),
        description: trip.description.clone(),
        action: trip.action,
        operation_id: call.map(|(operation_id, _)| operation_id),
        tool: call.map(|(_, tool)| tool.to_owned()),
    })
}

/// The guardrail that blocks a reply.
pub(super) fn blocked_output(trips: &[GuardrailTrip]) -> Option<&GuardrailTrip> {
    blocking(trips).filter(|trip| trip.place == GuardrailPlace::Output)
}

impl Transition {
    /// The events of the guardrails that a call tripped.
    pub(super) fn show_guardrails(&mut self, operation_id: OperationId, tool: &str, trips: &[GuardrailTrip]) {
        let call = Some((operation_id, tool));
        self.events
            .extend(trips.iter().map(|trip| guardrail_event(trip, call)));
    }

    /// Ends the run with a reply that a guardrail blocks. None of its calls begins; each gets a result, because
    /// providers refuse a conversation with a call that has none.
    pub(super) fn block_reply(
        &mut self,
        reply: &ModelReply,
        trip: &GuardrailTrip,
    ) -> Result<(), UnexpectedInput> {
        let summary = trip.words();
        let fault = ToolError::new(GUARDRAIL, &summary, "");
        for call in &reply.calls {
            let blob = result_blob(&call.call_id, true, fault.receipt(&call.parts.tool))?;
            self.entries.push(EntryWrite {
                role: Role::Tool,
                content: blob.hash(),
                sources: self.turn.sources_of_call(&call.parts.tool),
            });
            self.blobs.push(blob);
        }
        let artifact = FailureArtifact::new(FailureCategory::Runtime, GUARDRAIL, &summary).bounded();
        self.events.push(EventDraft::new(RuntimeError {
            failure_artifact: artifact.clone(),
        }));
        // The transcript contains the reply; it is not the answer.
        self.end(RunOutcome::Failed(artifact), None);
        Ok(())
    }
}
