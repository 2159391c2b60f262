//! Erasure: deletes contents, keeps the chain, and records the deletion in the same transaction.

use serde_json::Value;
use wakeful_core::audit::ConsentRecord;
use wakeful_core::blob::BlobHash;
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::proof::Erasure;
use wakeful_core::report::payload::{Actor, ContentErased, ErasedTarget};
use wakeful_core::report::{Event, EventDraft, EventKind, LogHead, SealedEvent};
use wakeful_store::rows::{RetentionStateRow, RunRow};
use wakeful_store::{Store, StoreError, Tx};

use super::contents::{RunContents, contents};
use super::replay::has_ended;
use crate::{EngineError, Stamp};

/// Events read at once.
const PAGE: u32 = 500;

/// Maximum length of a reason. It stays in the log permanently.
pub const REASON_CHARS_MAX: usize = 500;

/// What to erase, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureRequest {
    pub agent: AgentId,
    pub what: ErasureTarget,
    /// The reason as given by the caller.
    pub reason: String,
    /// The channel of the request: `cli` or `api`.
    pub channel: Channel,
}

/// What to erase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasureTarget {
    /// All contents of a run: its transcript, its inputs and the payloads of its events.
    Run(RunKey),
    /// The payloads of a range of events, inclusive.
    Events { first: u64, last: u64 },
}

/// Normalizes a reason; none if it is empty or too long.
#[must_use]
pub fn reason(text: &str) -> Option<String> {
    let text = text.trim();
    let length = text.chars().count();
    let fits = (1..=REASON_CHARS_MAX).contains(&length) && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

/// The result of the erasing transaction.
enum ErasureOutcome {
    Erased(Box<ErasureCounts>),
    UnknownAgent,
    UnknownRun(RunKey),
    NotEnded(RunKey),
    Record(u64),
}

#[derive(Default)]
struct ErasureCounts {
    erased: Erasure,
    event: Option<Event>,
    gone: Vec<BlobHash>,
}

/// The data of the transaction, prepared before it because the closure may be retried.
struct PreparedErasure {
    erase: ErasureRequest,
    stamp: Stamp,
    contents: RunContents,
}

/// Erases, and publishes the recorded event as soon as it is committed: the cleanup that follows takes time
/// proportional to the size of the home.
pub(crate) async fn erase(
    store: &Store,
    erase: ErasureRequest,
    stamp: Stamp,
    tell: impl FnOnce(Event),
) -> Result<Erasure, EngineError> {
    let agent = erase.agent.clone();
    let contents = match erase.what {
        ErasureTarget::Events { .. } => RunContents::default(),
        ErasureTarget::Run(run) => {
            // An ended run gains no more references.
            let row = store.read(move |view| view.run(&run)).await?;
            let row = row.filter(|row| row.agent_id == agent);
            let row = row.ok_or(EngineError::UnknownRun(run))?;
            if !has_ended(&row) {
                return Err(EngineError::NotEnded { run });
            }
            contents(store, &row).await?
        }
    };
    let task = PreparedErasure {
        erase,
        stamp,
        contents,
    };
    match store.write(move |tx| task.commit(tx)).await? {
        ErasureOutcome::UnknownAgent => Err(EngineError::UnknownAgent(agent)),
        ErasureOutcome::UnknownRun(run) => Err(EngineError::UnknownRun(run)),
        ErasureOutcome::NotEnded(run) => Err(EngineError::NotEnded { run }),
        ErasureOutcome::Record(seq) => Err(EngineError::NotErasable { seq }),
        ErasureOutcome::Erased(done) => {
            if let Some(event) = done.event {
                tell(event);
            }
            // Also if nothing was left to erase: an earlier call may have been interrupted before this.
            store.remove_blob_files(done.gone).await?;
            Ok(done.erased)
        }
    }
}

/// The last of these events, if all of them record erasures or pruning. They cannot be erased, because
/// without them an erasure could not be told from a forgery.
fn only_records(tx: &mut Tx<'_>, agent: &AgentId, first: u64, last: u64) -> Result<Option<u64>, StoreError> {
    let (mut after, mut record) = (first.saturating_sub(1), None);
    while after < last {
        let page = tx.events(agent, after, PAGE)?;
        let Some(newest) = page.last() else { break };
        after = newest.seq;
        for event in page.iter().filter(|event| event.seq <= last) {
            match EventKind::parse(&event.kind) {
                Some(EventKind::ContentErased | EventKind::DataPruned | EventKind::RowsBound) => {
                    record = Some(event.seq)
                }
                Some(_) | None => return Ok(None),
            }
        }
    }
    Ok(record)
}

impl PreparedErasure {
    fn commit(&self, tx: &mut Tx<'_>) -> Result<ErasureOutcome, StoreError> {
        let agent = &self.erase.agent;
        let Some(mut head) = tx.lock_head_to_announce(agent)? else {
            return Ok(ErasureOutcome::UnknownAgent);
        };
        let mut done = match self.erase.what {
            ErasureTarget::Run(run) => match self.run(tx, run)? {
                Ok(done) => done,
                Err(found) => return Ok(found),
            },
            ErasureTarget::Events { first, last } => {
                if let Some(run) = tx.unended_among(agent, first, last)? {
                    return Ok(ErasureOutcome::NotEnded(run));
                }
                if let Some(seq) = only_records(tx, agent, first, last)? {
                    return Ok(ErasureOutcome::Record(seq));
                }
                let mut done = ErasureCounts::default();
                done.erased.events = tx.erase_events(agent, first, last, None)?;
                done
            }
        };
        let Erasure {
            events,
            transitions,
            blobs,
            ..
        } = done.erased;
        let entries = tx.audit_entry_count(agent, self.target())?;
        if events + transitions + blobs + entries > 0 {
            done.erased.audit_entries = tx.erase_audit_entries(&self.consent(&head))?;
            // Sealed here, because the amount is known only now, and the record is small.
            let sealed = self.record(&done.erased)?;
            let event = head.chain(agent, sealed);
            tx.append_event(agent, &event)?;
            tx.put_head(agent, &head)?;
            to_be_swept(tx)?;
            done.erased.seq = Some(event.seq);
            done.event = Some(event);
        }
        Ok(ErasureOutcome::Erased(Box::new(done)))
    }

    fn target(&self) -> ErasedTarget {
        match self.erase.what {
            ErasureTarget::Run(run_key) => ErasedTarget::Run { run_key },
            ErasureTarget::Events { first, last } => ErasedTarget::Events {
                first_seq: first,
                last_seq: last,
            },
        }
    }

    /// The consent that the person gave with the request. It is spent on the next event of the agent.
    fn consent(&self, head: &LogHead) -> ConsentRecord {
        let agent_id = self.erase.agent.clone();
        ConsentRecord {
            consent_id: ConsentRecord::id_of(&agent_id, head.next_seq),
            agent_id,
            purpose: self.erase.reason.clone(),
            target: self.target(),
            channel: self.erase.channel,
            at: self.stamp.at,
            used_seq: head.next_seq,
        }
    }

    fn run(&self, tx: &mut Tx<'_>, run: RunKey) -> Result<Result<ErasureCounts, ErasureOutcome>, StoreError> {
        let agent = &self.erase.agent;
        let row = tx.run(&run)?.filter(|row| row.agent_id == *agent);
        let Some(row) = row else {
            return Ok(Err(ErasureOutcome::UnknownRun(run)));
        };
        if !has_ended(&row) {
            return Ok(Err(ErasureOutcome::NotEnded(run)));
        }
        let mut done = ErasureCounts::default();
        if let Some((first, last)) = tx.run_span(agent, &run)? {
            done.erased.events = tx.erase_events(agent, first, last, Some(&run))?;
        }
        // Messages that the run absorbed belong to it as well, each under its own key.
        for wake in tx.absorbed_by(&run)? {
            if let Some((first, last)) = tx.run_span(agent, &wake.run_key)? {
                done.erased.events += tx.erase_events(agent, first, last, Some(&wake.run_key))?;
            }
            tx.erase_message(&wake.run_key)?;
        }
        done.erased.transitions = tx.erase_run(&without_reply(row))?;
        done.gone = tx.erase_blobs(&self.contents.lines, None)?;
        let outputs = self.contents.outputs_after(&done.gone);
        done.gone.extend(tx.erase_blobs(&outputs, self.contents.below)?);
        done.erased.blobs = done.gone.len() as u64;
        Ok(Ok(done))
    }

    fn record(&self, erased: &Erasure) -> Result<SealedEvent, StoreError> {
        let ErasureRequest { reason, channel, .. } = &self.erase;
        let draft = EventDraft::new(ContentErased {
            by: Actor::Operator,
            channel: *channel,
            reason: reason.clone(),
            events: erased.events,
            transitions: erased.transitions,
            blobs: erased.blobs,
            audit_entries: erased.audit_entries,
            target: self.target(),
        });
        let sealed = self.stamp.seal(draft, None);
        sealed.map_err(|error| StoreError::Backend(error.into()))
    }
}

/// Lets the next retention round collect other unreferenced blobs.
fn to_be_swept(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let care = tx.retention_state()?;
    let noted = RetentionStateRow {
        unswept: Some(care.generation),
        ..care
    };
    // If another process has started a new generation, it collects them.
    tx.put_retention_state(&noted, care.generation).map(drop)
}

/// The run without the hash of its last reply, from which the text could be guessed.
fn without_reply(row: RunRow) -> RunRow {
    let mut state: Value = serde_json::from_str(&row.state).unwrap_or_default();
    let reply = state.pointer_mut("/phase/ended/reply");
    match reply {
        None => row,
        Some(reply) => {
            *reply = Value::Null;
            let state = state.to_string();
            RunRow { state, ..row }
        }
    }
}
