//! The message that `wakeful run` sends, and its exit code; the same with and without a daemon.

use serde_json::Value;
use wakeful_api::{AcceptedMessage, AttachmentInput, Run, SendMessage, Text};
use wakeful_core::conversation::Attachment;
use wakeful_core::inference::CODES;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::run::RunStatus;

use super::CheckedCall;
use crate::config::LoadedConfig;
use crate::failure::{DENIED, FAILED, Failure};

/// Builds the message. Options that the call leaves open are determined by the settings of the process that
/// starts the run.
pub(super) fn message(call: &CheckedCall, settings: &LoadedConfig, workspace: Option<String>) -> SendMessage {
    SendMessage {
        agent_id: Text(call.agent.clone()),
        text: call.prompt.clone(),
        key: Some(Text(call.turn.clone())),
        thread: call.thread.clone().map(Text),
        model: settings.value_for_this_call("model.default"),
        max_rounds: settings.value_for_this_call("agent.max_rounds"),
        workspace,
        deny_tools: call.deny_tools.iter().cloned().collect(),
        ask_tools: call.ask_tools.iter().cloned().collect(),
        answer_schema: call.schema.clone().map(Value::from),
        is_read_only: call.is_read_only,
        limits: call.limits.clone(),
        priority: None,
        attachments: call.attachments.iter().map(attached).collect(),
    }
}

fn attached(attachment: &Attachment) -> AttachmentInput {
    let Attachment {
        name,
        media_type,
        data,
    } = attachment.clone();
    AttachmentInput {
        name,
        media_type,
        data,
    }
}

/// The run that answers a message.
pub(super) fn run_of(accepted: &AcceptedMessage) -> Result<RunKey, Failure> {
    let run = Digest::from_hex(&accepted.run_key).map(RunKey);
    run.ok_or_else(|| {
        Failure::new(
            "daemon_protocol_error",
            "the response contains no run key",
            "restart the daemon",
        )
    })
}

/// 4 if a gate before the model refused the run; 1 if the run did not succeed or has an action with an
/// unknown outcome; 4 if the policy denied an action; otherwise 0.
pub(super) fn exit_code(run: &Run) -> u8 {
    let failure = run.failure_artifact.as_ref();
    if failure.is_some_and(|failure| CODES.contains(&failure.kind.as_str())) {
        DENIED
    } else if run.outcome != RunStatus::Completed || !run.unknown.is_empty() {
        FAILED
    } else if !run.denied.is_empty() {
        DENIED
    } else {
        0
    }
}
