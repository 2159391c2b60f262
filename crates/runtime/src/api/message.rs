//! Messages: sending them, listing the queue and reading the transcript.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::attention::RunExplanation;
use wakeful_core::cause::Priority;
use wakeful_core::conversation::{Attachment, Block};
use wakeful_core::id::{AgentId, SessionId, ThreadId, TurnId};
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, NewMessage, RunOptions};
use wakeful_core::run::{RunStatus, WaitingFor, preview};
use wakeful_core::time::Millis;
use wakeful_core::wake::Wait;
use wakeful_store::rows::{QueueRow, RunRow, TranscriptEntryRow};
use wakeful_store::{StoreError, View};

use super::run_list::brake_of;
use super::shared::{Ingress, Shared};
use super::{Previewed, SESSION, planted_bugs};
use crate::admission::PreparedAdmission;
use crate::run::decode;
use crate::wake::{admitted_event, opening};
use crate::{EngineError, stored_run};

/// Maximum number of transcript bytes that are read at once.
pub const TRANSCRIPT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Maximum number of conversations in a list.
const THREADS_MAX: usize = 500;

/// How many of the newest entries of a conversation are searched for text.
const PREVIEW_ENTRIES: u32 = 4;

/// A person's message before its admission.
#[derive(Debug, Clone)]
pub struct IncomingMessage {
    pub agent: AgentId,
    /// The turn id: fresh, or the caller's idempotency key.
    pub turn: TurnId,
    /// The conversation; none for the one that all surfaces share.
    pub thread: Option<SessionId>,
    pub text: String,
    /// Validated pictures and documents.
    pub attachments: Vec<Attachment>,
    pub run_options: RunOptions,
    /// Orders the message in the queue; an interjection may also join a run in progress.
    pub priority: Priority,
}

/// The acknowledgement of a durable message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageReceipt {
    /// The run that handles the message, now or later.
    pub run_key: RunKey,
    /// False if a message with the same key was already stored.
    pub is_new: bool,
}

/// The newest part of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptPage {
    /// The entries, oldest first.
    pub lines: Vec<TranscriptItem>,
    /// Whether there are older entries.
    pub has_more: bool,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSummary {
    pub session: SessionId,
    /// The beginning of the newest text.
    pub preview: Option<String>,
    /// When the newest entry was added.
    pub last_at: Millis,
    pub open_run: Option<RunKey>,
}

/// One entry of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptItem {
    /// The author, time and run of the entry.
    pub row: TranscriptEntryRow,
    /// The content; none if it was erased.
    pub blocks: Option<Vec<Block>>,
    /// The run, after its last entry, if it did not succeed or cannot continue.
    pub run: Option<TranscriptRun>,
}

/// A run in a transcript that did not succeed or cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptRun {
    pub status: RunStatus,
    pub waiting_for: Option<WaitingFor>,
    pub explanation: RunExplanation,
    /// A run that runs it again.
    pub retried_by: Option<RunKey>,
}

pub struct MessageApi {
    pub(super) shared: Arc<Shared>,
}

impl MessageApi {
    /// Stores a message and queues it, or starts its run if the API was created for that. The message is
    /// durable when this returns.
    pub async fn send(&self, post: IncomingMessage) -> Result<MessageReceipt, EngineError> {
        let now = self.shared.clock.now();
        let IncomingMessage {
            agent,
            turn,
            thread,
            text,
            attachments,
            run_options: wishes,
            priority,
        } = planted_bugs::planted_message(post, now);
        let (entry, body) = opening(&text, attachments);
        let session = thread.unwrap_or_else(|| SessionId::new(SESSION));
        let new = NewMessage {
            agent_id: agent.clone(),
            body: body.hash(),
            admitted_at: now,
        };
        let message = Message::from_operator(new, &session, &turn);
        let message = match &self.shared.ingress {
            Ingress::Daemon => message.through_api(wishes),
            Ingress::Process => message.through_cli(wishes),
            Ingress::StartAtOnce(_) => Message {
                options: wishes,
                ..message
            },
        };
        let message = message.with_priority(priority);
        let run_key = message.run_key;
        if let Some(posted) = planted_bugs::maybe_drop(run_key, now) {
            return Ok(posted);
        }
        let sealed = self
            .shared
            .seal(admitted_event(&message, &text), Some(run_key), now)?;
        let body = self.shared.store.pack(body).await?;
        let arrival = PreparedAdmission::plain(message, body, sealed);
        if let Ingress::StartAtOnce(how) = &self.shared.ingress {
            return self.send_and_start(arrival, entry, how).await;
        }
        let outcome = self.shared.write(move |tx| arrival.commit(tx)).await?;
        self.shared.sent(agent, run_key, outcome)
    }

    /// Lists the queued messages of an agent, next first.
    pub async fn queue(&self, agent: AgentId, limit: u32) -> Result<Vec<Previewed<QueueRow>>, EngineError> {
        self.shared
            .of_agent(agent, move |view, agent| {
                let rows = view.queue(agent, limit)?;
                let waiting = rows.into_iter().map(|row| {
                    let preview = stored_run::text(view, &row.message)?.map(|text| preview(&text));
                    let is_erased = row.message.is_erased();
                    Ok(Previewed {
                        row,
                        preview,
                        is_erased,
                    })
                });
                waiting.collect()
            })
            .await
    }

    /// Returns the newest entries of a conversation, oldest first; fewer if they are long.
    pub async fn transcript(
        &self,
        agent: AgentId,
        session: Option<SessionId>,
        newest: u32,
    ) -> Result<TranscriptPage, EngineError> {
        self.shared
            .of_agent(agent, move |view, agent| {
                let session = session.unwrap_or_else(|| SessionId::new(SESSION));
                let thread = ThreadId::of_session(agent, &session);
                // One extra row shows whether there are older ones.
                let rows = view.entries(&thread, newest.saturating_add(1))?;
                conversation(view, rows, newest)
            })
            .await
    }

    /// Lists the conversations of an agent, the most recent first.
    pub async fn threads(&self, agent: AgentId) -> Result<Vec<ThreadSummary>, EngineError> {
        self.shared
            .of_agent(agent, move |view, agent| {
                let open = view.overview(agent)?.and_then(|overview| overview.open_run);
                let open = match open {
                    Some(run) => view.run(&run)?,
                    None => None,
                };
                let mut threads = Vec::new();
                let (mut after, end) = ThreadId::sessions_of(agent);
                while threads.len() < THREADS_MAX
                    && let Some(id) = view.thread_after(&after, &end)?
                {
                    threads.extend(thread_summary(view, &id, open.as_ref())?);
                    after = id;
                }
                threads.sort_by_key(|thread: &ThreadSummary| std::cmp::Reverse(thread.last_at));
                Ok(threads)
            })
            .await
    }
}

/// Reads the end of a conversation.
fn thread_summary(
    view: &mut View<'_>,
    id: &ThreadId,
    open: Option<&RunRow>,
) -> Result<Option<ThreadSummary>, StoreError> {
    let page = view.entries(id, PREVIEW_ENTRIES)?;
    let (Some(last), Some(session)) = (page.last().map(|row| row.at), id.session()) else {
        return Ok(None);
    };
    let page = conversation(view, page, PREVIEW_ENTRIES)?;
    let blocks = page.lines.iter().rev().filter_map(|line| line.blocks.as_ref());
    let text = blocks.flatten().find_map(|block| match block {
        Block::Text { text } => Some(preview(text)),
        Block::Thinking { .. }
        | Block::WebSearch(_)
        | Block::Attachment(_)
        | Block::ToolUse(_)
        | Block::ToolResult { .. } => None,
    });
    Ok(Some(ThreadSummary {
        session,
        preview: text,
        last_at: last,
        open_run: open.filter(|run| run.thread_id == *id).map(|run| run.run_key),
    }))
}

/// Reads backwards from the newest entry until the entry or byte limit is reached.
fn conversation(
    view: &mut View<'_>,
    rows: Vec<TranscriptEntryRow>,
    newest: u32,
) -> Result<TranscriptPage, StoreError> {
    let (mut lines, mut bytes, mut seen) = (Vec::new(), 0, BTreeSet::new());
    let (all, wanted) = (rows.len(), usize::try_from(newest).unwrap_or(usize::MAX));
    for row in rows.into_iter().rev().take(wanted) {
        // A missing body was erased; the entry stays visible as a gap.
        let body = view.blob(&row.content)?;
        bytes += body.as_ref().map_or(0, Vec::len);
        if bytes > TRANSCRIPT_BYTES_MAX && !lines.is_empty() {
            break;
        }
        let blocks = body.map(|body| serde_json::from_slice(&body)).transpose();
        let blocks = blocks.map_err(|_| StoreError::Malformed("a transcript entry"))?;
        // The newest entry of each run comes first.
        let run = if seen.insert(row.run_key) {
            transcript_run(view, &row.run_key)?
        } else {
            None
        };
        lines.push(TranscriptItem { row, blocks, run });
    }
    lines.reverse();
    let has_more = lines.len() < all;
    Ok(TranscriptPage { lines, has_more })
}

/// Describes a run that did not succeed or cannot continue.
fn transcript_run(view: &mut View<'_>, run: &RunKey) -> Result<Option<TranscriptRun>, StoreError> {
    let Some(row) = view.run(run)? else {
        return Ok(None);
    };
    let Some(explanation) = RunExplanation::of_run(row.status, decode(&row).ok().as_ref()) else {
        return Ok(None);
    };
    let brake = brake_of(view, &row.agent_id)?;
    Ok(Some(TranscriptRun {
        status: row.status,
        waiting_for: WaitingFor::of(row.status, row.wait().map(Wait::kind), brake),
        explanation,
        retried_by: view.retries(run)?.pop(),
    }))
}
