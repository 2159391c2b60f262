//! The newest part of a conversation.

use wakeful_core::id::{AgentId, SessionId, ThreadId};
use wakeful_store::rows::EntryRow;
use wakeful_store::{StoreError, View};

use super::{Conversation, Line, RuntimeApi, SESSION, TRANSCRIPT_BYTES_MAX};
use crate::EngineError;

impl RuntimeApi {
    /// The newest lines of an agent's conversation, oldest first; fewer when they are long.
    pub async fn transcript(&self, agent: AgentId, newest: u32) -> Result<Conversation, EngineError> {
        self.of_agent(agent, move |view, agent| {
            let thread = ThreadId::of_session(agent, &SessionId::new(SESSION));
            // One more than asked for tells whether there are older ones.
            let rows = view.entries(&thread, newest.saturating_add(1))?;
            conversation(view, rows, newest)
        })
        .await
    }
}

/// Reads from the newest line back, until enough lines or enough bytes were read.
fn conversation(view: &mut View<'_>, rows: Vec<EntryRow>, newest: u32) -> Result<Conversation, StoreError> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    let (all, wanted) = (rows.len(), usize::try_from(newest).unwrap_or(usize::MAX));
    for row in rows.into_iter().rev().take(wanted) {
        // A body that is gone was erased; the line stays, so that the gap can be seen.
        let body = view.blob(&row.content)?;
        bytes += body.as_ref().map_or(0, Vec::len);
        if bytes > TRANSCRIPT_BYTES_MAX && !lines.is_empty() {
            break;
        }
        let blocks = body.map(|body| serde_json::from_slice(&body)).transpose();
        let blocks = blocks.map_err(|_| StoreError::Malformed("a transcript entry"))?;
        lines.push(Line { row, blocks });
    }
    lines.reverse();
    let has_more = lines.len() < all;
    Ok(Conversation { lines, has_more })
}
