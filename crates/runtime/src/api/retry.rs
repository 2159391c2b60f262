//! Retries: an ended run is run again by a new message that is linked to it.

use wakeful_core::blob::Blob;
use wakeful_core::conversation::{Attachment, Block, Role, text_of};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::message::{Message, RetryContents};
use wakeful_core::provenance::Sources;
use wakeful_core::report::SealedEvent;
use wakeful_core::run::{EntryWrite, RunStatus};
use wakeful_core::wake::CauseFacts;
use wakeful_store::rows::PackedBlob;
use wakeful_store::{StoreError, Tx, View};

use super::history::{self, EarlierEntries};
use super::message::MessageReceipt;
use super::run::RunApi;
use crate::admission::{AdmissionOutcome, PreparedAdmission};
use crate::wake::{admitted_event, opening};
use crate::{EngineError, Stamp, stored_run};

/// What to change when a run is run again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetryRequest {
    pub start: RetryStart,
    /// Another model.
    pub model: Option<String>,
}

/// Where a run that is run again begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryStart {
    /// With its message, or with another text and the same attachments.
    Message(Option<String>),
    /// With the conversation before the model request that led to a step, and an additional message.
    Step(OperationId, Option<String>),
}

impl Default for RetryStart {
    fn default() -> Self {
        Self::Message(None)
    }
}

/// The ended run, and the contents of its message.
struct EndedRun {
    message: Message,
    status: RunStatus,
    body: Option<Vec<u8>>,
}

/// A retry that is ready to be admitted.
struct PreparedRetry {
    /// The message of the ended run, with the options of the retry.
    old: Message,
    contents: RetryContents,
    text: String,
    body: PackedBlob,
}

/// The result of the admitting transaction.
enum RetryOutcome {
    /// A retry of the run is queued or open.
    UnderWay(RunKey),
    /// A different retry of the run is queued or open.
    Differs(RunKey),
    Admitted(RunKey, Box<AdmissionOutcome>),
}

impl RunApi {
    /// Runs an ended run again. While the same retry is queued or open, that one is returned.
    pub async fn retry(&self, run: RunKey, request: RetryRequest) -> Result<MessageReceipt, EngineError> {
        let found = self.shared.store.read(move |view| ended(view, run)).await?;
        let EndedRun {
            message,
            status,
            body,
        } = found.ok_or(EngineError::UnknownRun(run))?;
        match status {
            RunStatus::Quarantined => {
                let why = "it has not ended".to_owned();
                return Err(EngineError::Quarantined { run, why });
            }
            RunStatus::Queued | RunStatus::Open => return Err(EngineError::NotEnded { run }),
            RunStatus::Completed | RunStatus::Failed | RunStatus::OutOfRounds => {}
            RunStatus::Cancelled | RunStatus::Abandoned | RunStatus::Absorbed => {}
            RunStatus::Replaced | RunStatus::Refused | RunStatus::Gone => {}
        }
        let blocks = body
            .as_deref()
            .and_then(|body| serde_json::from_slice::<Vec<Block>>(body).ok());
        let (Some(body), Some(blocks)) = (body, blocks) else {
            return Err(EngineError::RunErased { run });
        };
        let (step, text) = match request.start {
            RetryStart::Message(text) => (None, text),
            RetryStart::Step(step, text) => (Some(step), text),
        };
        let (contents, text, blob) = match text {
            None => (RetryContents::Same, text_of(&blocks), Blob::new(body)),
            Some(text) => {
                // A history already contains the attachments.
                let kept = match step {
                    None if message.keeps_attachments() => attachments(blocks),
                    None | Some(_) => Vec::new(),
                };
                let (_, blob) = opening(&text, kept);
                (RetryContents::Written(blob.hash()), text, blob)
            }
        };
        let mut old = message;
        old.options.model_ref = request.model.or(old.options.model_ref);
        if let Some(step) = step {
            old.options.history = self.history(run, step, contents).await?;
        }
        let retry = PreparedRetry {
            body: self.shared.store.pack(blob).await?,
            old,
            contents,
            text,
        };
        let agent = retry.old.agent_id.clone();
        let (at, salt) = (self.shared.clock.now(), self.shared.entropy.random_bytes());
        let outcome = self.shared.write(move |tx| retry.commit(tx, Stamp { at, salt }));
        match outcome.await? {
            RetryOutcome::UnderWay(run_key) => {
                self.shared.work.signal_agent(agent);
                Ok(MessageReceipt {
                    run_key,
                    is_new: false,
                })
            }
            RetryOutcome::Differs(retry) => Err(EngineError::RetryOpen { run, retry }),
            RetryOutcome::Admitted(run_key, outcome) => self.shared.sent(agent, run_key, *outcome),
        }
    }

    /// The conversation before the model request that led to a step, and then the person's message.
    async fn history(
        &self,
        run: RunKey,
        step: OperationId,
        contents: RetryContents,
    ) -> Result<Vec<EntryWrite>, EngineError> {
        let found = self
            .shared
            .store
            .read(move |view| history::before_step(view, run, step));
        let mut entries = match found.await? {
            EarlierEntries::Found(entries) => entries,
            EarlierEntries::UnknownStep => return Err(EngineError::UnknownStep { run, step }),
            EarlierEntries::Removed => return Err(EngineError::RunPruned { run }),
        };
        if let RetryContents::Written(content) = contents {
            let role = Role::User;
            // The person wrote it for this run.
            let sources = Sources::none();
            entries.push(EntryWrite {
                role,
                content,
                sources,
            });
        }
        Ok(entries)
    }
}

fn attachments(blocks: Vec<Block>) -> Vec<Attachment> {
    let attached = blocks.into_iter().filter_map(|block| match block {
        Block::Attachment(attachment) => Some(attachment),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::WebSearch(_)
        | Block::ToolUse(_)
        | Block::ToolResult { .. } => None,
    });
    attached.collect()
}

fn ended(view: &mut View<'_>, run: RunKey) -> Result<Option<EndedRun>, StoreError> {
    let Some(cause) = stored_run::cause(view, &run)? else {
        return Ok(None);
    };
    let row = view.run(&run)?;
    let row = row.unwrap_or_else(|| stored_run::without_run(&cause.message, cause.wake.as_ref()));
    Ok(Some(EndedRun {
        status: row.status,
        body: view.blob(&cause.message.body)?,
        message: cause.message,
    }))
}

impl PreparedRetry {
    /// Admits the message, unless a retry is under way. The lock on the agent's head makes two requests at
    /// once see each other.
    fn commit(&self, tx: &mut Tx<'_>, stamp: Stamp) -> Result<RetryOutcome, StoreError> {
        let agent = &self.old.agent_id;
        tx.lock_head_to_announce(agent)?;
        let mut ended = 0_u64;
        for key in tx.retries(&self.old.run_key)? {
            if is_ended(tx, &key)? {
                ended = ended.saturating_add(1);
            } else {
                let open = tx.message(&key)?;
                let is_same = open.is_some_and(|open| self.requests(&open));
                return Ok(match is_same {
                    true => RetryOutcome::UnderWay(key),
                    false => RetryOutcome::Differs(key),
                });
            }
        }
        let message = self.old.retry(self.contents, ended, stamp.at);
        let run_key = message.run_key;
        let sealed = self.seal(&message, stamp)?;
        let admission = PreparedAdmission {
            // A person requests it, even if a change or a schedule caused the first run.
            facts: CauseFacts::of(&wakeful_core::cause::Cause::default(), agent),
            message,
            body: self.body.clone(),
            sealed,
        };
        let outcome = admission.commit(tx)?;
        if let AdmissionOutcome::New(_) = &outcome {
            tx.dismiss_run(&self.old.run_key)?;
        }
        Ok(RetryOutcome::Admitted(run_key, Box::new(outcome)))
    }

    /// Whether an open retry has the same contents and options.
    fn requests(&self, open: &Message) -> bool {
        let body = match self.contents {
            RetryContents::Same => self.old.body,
            RetryContents::Written(body) => body,
        };
        open.body == body && open.options == self.old.options
    }

    fn seal(&self, message: &Message, stamp: Stamp) -> Result<SealedEvent, StoreError> {
        let draft = admitted_event(message, &self.text);
        SealedEvent::new(draft, stamp.at, Some(message.run_key), stamp.salt)
            .map_err(|_| StoreError::Malformed("message_admitted"))
    }
}

fn is_ended(tx: &mut Tx<'_>, run: &RunKey) -> Result<bool, StoreError> {
    match tx.run(run)? {
        Some(row) => Ok(row.status.is_ended()),
        None => Ok(!tx.is_queued(run)?),
    }
}
