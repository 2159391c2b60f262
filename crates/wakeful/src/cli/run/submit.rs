//! What `wakeful run` sends, and its exit code: the same with a daemon and without one.

use wakeful_api::{AcceptedMessage, AttachmentInput, Run, SendMessage, Text};
use wakeful_core::conversation::Attachment;
use wakeful_core::inference::CODES;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::run::RunStatus;

use super::CheckedCall;
use crate::config::LoadedConfig;
use crate::failure::{DENIED, FAILED, Failure};

/// The message. The settings where the run starts decide what this call leaves open.
pub(super) fn message(call: &CheckedCall, settings: &LoadedConfig, workspace: Option<String>) -> SendMessage {
    SendMessage {
        agent_id: Text(call.agent.clone()),
        text: call.prompt.clone(),
        key: Some(Text(call.turn.clone())),
        model: settings.wished("model.default"),
        max_rounds: settings.wished("agent.max_rounds"),
        workspace,
        deny_tools: call.deny_tools.iter().cloned().collect(),
        ask_tools: call.ask_tools.iter().cloned().collect(),
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
            "the run has no key",
            "restart the daemon",
        )
    })
}

/// 4 when a gate before the model stayed shut; 1 when the run did not succeed or has an action with an unknown outcome; 4
/// when the policy refused something; 0 else.
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
