//! The transcript in memory: loaded once when a run is claimed, extended with every commit, and bounded.

use serde_json::Value;
use wakeful_core::answer_schema::AnswerSchema;
use wakeful_core::blob::{Blob, BlobHash};
use wakeful_core::cause::MessageOrigin;
use wakeful_core::conversation::{Block, Role, TranscriptEntry};
use wakeful_core::key::RunKey;
use wakeful_core::message::MessageKind;
use wakeful_core::prompt::{Guidance, WINDOW_BYTES_MAX, WINDOW_ENTRIES_MAX, window_start};
use wakeful_core::provenance::Sources;
use wakeful_core::run::{EntryWrite, RunInput, Transition};
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::TranscriptEntryRow;
use wakeful_store::{StoreError, View};

use super::{ClaimedRun, broken};
use crate::model_call::RequestContent;
use crate::{Engine, EngineError};

/// The part of a transcript that requests are built from.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    pub(crate) opening: TranscriptEntry,
    pub(crate) entries: Vec<TranscriptEntry>,
    /// The untrusted sources of the opening, and of each entry. They are never part of a request.
    pub(crate) opening_sources: Sources,
    pub(crate) sources: Vec<Sources>,
    /// The kind of message that caused the run.
    pub(crate) kind: MessageKind,
    /// The guidance as of the claim.
    pub(crate) guidance: Guidance,
    /// What the operator wrote for the subscription that caused the run. The change that it reports is not the
    /// operator's, so the message as a whole is untrusted.
    pub(crate) instruction: Option<String>,
    /// The schema that the answer must fit.
    pub(crate) answer_schema: Option<AnswerSchema>,
}

impl Thread {
    /// What a request contains of it.
    pub(crate) fn as_content(&self) -> RequestContent<'_> {
        RequestContent {
            opening: &self.opening,
            entries: &self.entries,
            guidance: &self.guidance,
            kind: self.kind,
            answer_schema: self.answer_schema.as_ref(),
        }
    }
}

/// A stored entry: its role, and its body unless it was removed.
type StoredEntry = (Role, Option<Vec<u8>>);

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Loads the transcript unless it is loaded.
    pub(crate) async fn load_thread(&self, claimed: &mut ClaimedRun) -> Result<(), EngineError> {
        if claimed.thread.is_some() {
            return Ok(());
        }
        let (run, thread_id) = (claimed.run_key(), claimed.row.thread_id.clone());
        let loaded = self.store.read(move |view| {
            let newest = u32::try_from(WINDOW_ENTRIES_MAX).unwrap_or(u32::MAX);
            let rows = view.entries(&thread_id, newest)?;
            let message = view.message(&run)?;
            let kind = message
                .as_ref()
                .map_or(MessageKind::OperatorPrompt, |message| message.kind);
            let cause = message.as_ref().map(|message| &message.cause.origin);
            let instruction = match cause {
                Some(MessageOrigin::Subscription { subscription, .. }) => {
                    view.subscription(subscription)?.map(|row| row.spec.message)
                }
                Some(
                    MessageOrigin::Operator
                    | MessageOrigin::Schedule { .. }
                    | MessageOrigin::Trigger { .. }
                    | MessageOrigin::Run { .. },
                )
                | None => None,
            };
            let schema = message
                .as_ref()
                .and_then(|message| message.options.answer_schema.clone());
            let begun = begun_with(view, &run)?;
            let (begun, sources) = begun.unzip();
            let opening = match begun.or(message.map(|message| message.body)) {
                Some(body) => view.blob(&body)?,
                None => None,
            };
            let opening = (opening, sources.unwrap_or_default());
            Ok((newest_bodies(view, rows)?, opening, (kind, instruction, schema)))
        });
        let ((stored, sources), (body, opening_sources), (kind, instruction, answer_schema)) = loaded.await?;
        let entries = stored
            .iter()
            .map(|(role, body)| entry(run, *role, body.as_deref()));
        let entries = entries.collect::<Result<Vec<TranscriptEntry>, EngineError>>()?;
        let opening = match claimed.opening.take() {
            Some(opening) => opening,
            None => entry(run, Role::User, body.as_deref())?,
        };
        let guidance = self
            .guidance
            .guidance(&claimed.row.agent_id, &claimed.machine.workspace)
            .await;
        claimed.thread = Some(Thread {
            opening,
            entries,
            opening_sources,
            sources,
            kind,
            guidance,
            instruction,
            answer_schema,
        });
        Ok(())
    }

    /// Adds the entries just committed, mostly from memory.
    pub(crate) async fn extend_thread(
        &self,
        claimed: &mut ClaimedRun,
        entries: &[EntryWrite],
        contents: &[(BlobHash, Vec<u8>)],
    ) -> Result<(), EngineError> {
        let run = claimed.run_key();
        let Some(thread) = &mut claimed.thread else {
            return Ok(());
        };
        for new in entries {
            let known = contents.iter().find(|(hash, _)| *hash == new.content);
            let bytes = match known {
                Some((_, bytes)) => Some(bytes.clone()),
                None => {
                    let hash = new.content;
                    self.store.read(move |view| view.blob(&hash)).await?
                }
            };
            thread.entries.push(entry(run, new.role, bytes.as_deref())?);
            thread.sources.push(new.sources.clone());
        }
        let surplus = window_start(&thread.entries);
        thread.entries.drain(..surplus);
        thread.sources.drain(..surplus);
        Ok(())
    }
}

/// The first entry of the run, which may cover more messages than its own, and its sources.
fn begun_with(view: &mut View<'_>, run: &RunKey) -> Result<Option<(BlobHash, Sources)>, StoreError> {
    let first = view.run_log(run, 0, 1)?.pop();
    let input = first.and_then(|row| serde_json::from_slice::<(RunInput, Value)>(&row.body).ok());
    Ok(match input {
        Some((input @ RunInput::Admitted { body, .. }, _)) => Some((body, input.opening_sources())),
        Some(_) | None => None,
    })
}

/// Reads bodies backwards from the newest entry until the window is full, so that a long thread costs no
/// more than a request can use. Returned oldest first.
fn newest_bodies(
    view: &mut View<'_>,
    rows: Vec<TranscriptEntryRow>,
) -> Result<(Vec<StoredEntry>, Vec<Sources>), StoreError> {
    let (mut stored, mut sources): (Vec<StoredEntry>, Vec<Sources>) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for row in rows.into_iter().rev() {
        let body = view.blob(&row.content)?;
        bytes += body.as_ref().map_or(0, Vec::len);
        stored.push((row.role, body));
        sources.push(row.sources);
        // Never cut between a call and its result.
        if bytes > WINDOW_BYTES_MAX && row.role != Role::Tool {
            break;
        }
    }
    stored.reverse();
    sources.reverse();
    Ok((stored, sources))
}

/// The contents that a transition references, so that the transcript can be extended without reading them
/// back.
pub(super) fn contents_of(mut contents: Vec<Blob>, moved: &Transition) -> Vec<(BlobHash, Vec<u8>)> {
    contents.extend(moved.blobs.iter().cloned());
    contents
        .into_iter()
        .map(|blob| (blob.hash(), blob.bytes().to_vec()))
        .collect()
}

fn entry(run: RunKey, role: Role, body: Option<&[u8]>) -> Result<TranscriptEntry, EngineError> {
    Ok(TranscriptEntry {
        role,
        blocks: blocks(run, body)?,
    })
}

/// Decodes the blocks of an entry.
pub(crate) fn blocks(run: RunKey, body: Option<&[u8]>) -> Result<Vec<Block>, EngineError> {
    let body = body.ok_or_else(|| EngineError::InvalidState {
        run,
        why: "a transcript entry is missing".into(),
    })?;
    serde_json::from_slice(body).map_err(|e| broken(run, &e))
}
