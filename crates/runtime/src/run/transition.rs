//! One transition, made ready before its transaction: nothing is encoded, hashed or compressed inside it.

use wakeful_core::blob::Blob;
use wakeful_core::conversation::Usage;
use wakeful_core::id::ThreadId;
use wakeful_core::json::{NotCanonical, canonical, digest};
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::report::{Event, Head, Sealed};
use wakeful_core::run::{Input, MACHINE, MACHINE_VERSION, Moved, Reads, STATE_BYTES_MAX, StepWrite};
use wakeful_core::time::Millis;
use wakeful_ports::model::Model;
use wakeful_ports::planted;
use wakeful_ports::records::{
    EntryRow, Fence, JournalRow, PackedBlob, RUN_OPEN, RunRow, Settlement, StepEnd, StepRow,
};
use wakeful_ports::store::{Store, StoreError, Tx};
use wakeful_ports::tool::ToolHost;

use super::{Claimed, broken};
use crate::{Engine, EngineError};

/// Everything that one transition writes.
pub(crate) struct Transition {
    pub(crate) run: RunRow,
    journal: JournalRow,
    steps: Vec<StepChange>,
    thread: ThreadId,
    entries: Vec<EntryRow>,
    events: Vec<Sealed>,
    blobs: Vec<PackedBlob>,
    usage: Usage,
    rounds: u64,
}

enum StepChange {
    Put(Box<StepRow>),
    Intend(wakeful_core::key::OperationId),
    Postpone(wakeful_core::key::OperationId),
    Settle(StepEnd),
}

impl Transition {
    /// Whether a stored journal row is this transition: it may have been committed by a call whose answer was lost.
    pub(crate) fn is(&self, row: &JournalRow) -> bool {
        *row == self.journal
    }

    /// Commits the next state of a run with all that belongs to it.
    pub(crate) fn write(&self, tx: &mut dyn Tx, fence: Fence) -> Result<Vec<Event>, StoreError> {
        // The head is locked first in every transition: a runner that lost its lease stops here.
        let head = tx.lock_head(&self.run.agent_id, fence)?;
        tx.put_state(&self.run, self.run.version - 1)?;
        self.write_with(tx, head, fence)
    }

    /// Commits what belongs to a run that was made in the same transaction.
    pub(crate) fn write_rest(&self, tx: &mut dyn Tx, fence: Fence) -> Result<Vec<Event>, StoreError> {
        let head = tx.lock_head(&self.run.agent_id, fence)?;
        self.write_with(tx, head, fence)
    }

    fn write_with(&self, tx: &mut dyn Tx, mut head: Head, fence: Fence) -> Result<Vec<Event>, StoreError> {
        self.blobs.iter().try_for_each(|blob| tx.put_blob(blob))?;
        tx.append_input(&self.journal)?;
        for step in &self.steps {
            match step {
                StepChange::Put(row) => tx.put_step(row)?,
                StepChange::Intend(operation) => tx.intend_step(operation)?,
                StepChange::Postpone(operation) => tx.postpone_step(operation)?,
                StepChange::Settle(end) => tx.settle_step(end)?,
            }
        }
        self.entries
            .iter()
            .try_for_each(|entry| tx.append_entry(&self.thread, entry))?;
        let agent = &self.run.agent_id;
        let events = self.events.iter().map(|sealed| head.chain(agent, sealed.clone()));
        let events: Vec<Event> = events.collect();
        events
            .iter()
            .try_for_each(|event| tx.append_event(agent, event))?;
        tx.put_head(agent, &head)?;
        if self.run.status != RUN_OPEN {
            // The right to write goes back with the last word, so that nobody waits for a lease of the idle.
            tx.release_head(agent, fence)?;
        }
        if self.rounds > 0 {
            tx.add_usage(agent, self.usage, self.rounds)?;
        }
        Ok(events)
    }
}

impl<S: Store, M: Model, T: ToolHost> Engine<S, M, T> {
    /// The transition by which a run begins.
    pub(crate) async fn first_transition(
        &self,
        message: &Message,
        moved: Moved,
        input: &Input,
        now: Millis,
    ) -> Result<Transition, EngineError> {
        let run = RunRow {
            run_key: message.run_key,
            agent_id: message.agent_id.clone(),
            thread_id: message.thread_id.clone(),
            machine: MACHINE.to_owned(),
            machine_version: MACHINE_VERSION,
            version: 0,
            state: String::new(),
            status: RUN_OPEN.to_owned(),
            started_at: now,
            ended_at: None,
        };
        self.transition(run, moved, (input, &Reads::default()), Vec::new())
            .await
    }

    /// The transition that follows an input.
    pub(crate) async fn next_transition(
        &self,
        claimed: &Claimed,
        moved: Moved,
        cause: (&Input, &Reads),
        blobs: Vec<Blob>,
    ) -> Result<Transition, EngineError> {
        self.transition(claimed.row.clone(), moved, cause, blobs).await
    }

    async fn transition(
        &self,
        before: RunRow,
        moved: Moved,
        cause: (&Input, &Reads),
        mut blobs: Vec<Blob>,
    ) -> Result<Transition, EngineError> {
        let (now, run_key) = (self.clock.now(), before.run_key);
        let usage = replied_usage(cause.0);
        let journal = journal(&before, &moved, cause, now).map_err(|e| broken(run_key, &e))?;
        let state = serde_json::to_string(&moved.turn).map_err(|e| broken(run_key, &e))?;
        if state.len() > STATE_BYTES_MAX {
            let why = format!(
                "its state has {} bytes, at most {STATE_BYTES_MAX} are kept",
                state.len()
            );
            return Err(EngineError::Broken { run: run_key, why });
        }
        let events = moved
            .events
            .into_iter()
            .map(|draft| Sealed::new(draft, now, Some(run_key), self.entropy.bytes32()));
        let events = events
            .collect::<Result<Vec<_>, NotCanonical>>()
            .map_err(|e| broken(run_key, &e))?;
        blobs.extend(moved.blobs);
        let mut packed = Vec::with_capacity(blobs.len());
        for blob in blobs {
            packed.push(self.store.pack(blob).await?);
        }
        let outcome = moved.turn.outcome().map(|outcome| outcome.as_str().to_owned());
        let entries = moved.entries.into_iter();
        let entries = entries.map(|entry| EntryRow {
            run_key,
            role: entry.role,
            content: entry.content,
            at: now,
        });
        Ok(Transition {
            steps: moved
                .steps
                .into_iter()
                .map(|write| step_change(run_key, write, cause.0, now))
                .collect(),
            journal,
            thread: before.thread_id.clone(),
            entries: entries.collect(),
            events,
            blobs: packed,
            usage: usage.unwrap_or_default(),
            rounds: u64::from(usage.is_some()),
            run: RunRow {
                version: before.version + 1,
                state,
                ended_at: outcome.is_some().then_some(now),
                status: outcome.unwrap_or_else(|| RUN_OPEN.to_owned()),
                ..before
            },
        })
    }
}

fn replied_usage(input: &Input) -> Option<Usage> {
    match input {
        Input::Replied(reply) => Some(reply.usage),
        Input::Admitted { .. }
        | Input::AttemptFailed { .. }
        | Input::Parked { .. }
        | Input::Resumed
        | Input::Settled { .. }
        | Input::Postponed
        | Input::Cancelled => None,
    }
}

fn journal(
    before: &RunRow,
    moved: &Moved,
    (input, reads): (&Input, &Reads),
    at: Millis,
) -> Result<JournalRow, NotCanonical> {
    Ok(JournalRow {
        run_key: before.run_key,
        ordinal: before.version + 1,
        body: canonical(&(input, reads))?,
        reads_hash: digest(reads)?,
        state_hash: digest(&moved.turn)?,
        effects_hash: digest(&moved.effects)?,
        at,
    })
}

fn step_change(run_key: RunKey, write: StepWrite, input: &Input, at: Millis) -> StepChange {
    match write {
        StepWrite::Put {
            operation_id,
            name,
            class,
            base,
            status,
            reason,
        } => StepChange::Put(Box::new(StepRow {
            operation_id,
            run_key,
            ordinal: 0,
            name,
            class,
            base,
            status,
            reason,
            put_at: at,
            duration_ms: None,
            sandbox: None,
            usage: Usage::default(),
            attempt: None,
        })),
        StepWrite::Intend(operation_id) => StepChange::Intend(operation_id),
        StepWrite::Postpone(operation_id) => StepChange::Postpone(operation_id),
        StepWrite::Settle {
            operation_id,
            status,
            duration_ms,
            sandbox,
            reason,
            usage,
            attempt,
        } => StepChange::Settle(StepEnd {
            operation_id,
            status,
            duration_ms,
            sandbox,
            reason,
            usage,
            settlement: match (attempt.as_ref().and_then(|attempt| attempt.cost), input) {
                (Some(_), _) if planted::bug("money_kept") => Settlement::Nothing,
                (Some(cost), _) => Settlement::Cost(cost),
                // A request may have been under way, and nobody waited for its end.
                (None, Input::Cancelled) => Settlement::InFull,
                (None, _) => Settlement::Nothing,
            },
            // A record of bounded texts and numbers always has a JSON form.
            attempt: attempt.and_then(|attempt| serde_json::to_string(&attempt).ok()),
        }),
    }
}
