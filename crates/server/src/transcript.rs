//! HTTP handlers for transcripts.

use wakeful_api::{GetAgentTranscript, Transcript};

use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default().add(show)
}

async fn show(call: Call, asked: GetAgentTranscript) -> Result<Transcript, ApiError> {
    let conversation = call
        .runtime()?
        .messages
        .transcript(asked.agent_id.0.clone(), asked.limit.0)
        .await?;
    Ok(Transcript {
        agent_id: asked.agent_id.to_string(),
        lines: conversation.lines.iter().map(view::transcript_line).collect(),
        has_more: conversation.has_more,
    })
}
