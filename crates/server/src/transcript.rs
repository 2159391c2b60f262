//! HTTP handlers for transcripts.

use wakeful_api::{GetAgentTranscript, ListAgentThreads, ThreadList, Transcript};

use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default().add(show).add(threads)
}

async fn show(call: Call, asked: GetAgentTranscript) -> Result<Transcript, ApiError> {
    let thread = asked.thread.map(|thread| thread.0);
    let conversation = call
        .runtime()?
        .messages
        .transcript(asked.agent_id.0.clone(), thread, asked.limit.0)
        .await?;
    Ok(Transcript {
        agent_id: asked.agent_id.to_string(),
        lines: conversation.lines.iter().map(view::transcript_line).collect(),
        has_more: conversation.has_more,
    })
}

async fn threads(call: Call, asked: ListAgentThreads) -> Result<ThreadList, ApiError> {
    let found = call.runtime()?.messages.threads(asked.agent_id.0).await?;
    Ok(ThreadList {
        threads: found.iter().map(view::thread).collect(),
    })
}
