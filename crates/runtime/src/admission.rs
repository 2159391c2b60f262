//! Admission: evaluates a cause and stores it as a queued message, or as a refusal with its reason, in one
//! transaction.

use wakeful_core::id::RunnerId;
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, QUEUE_MAX};
use wakeful_core::report::{Event, LogHead, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_core::wake::{AdmissionResult, CauseFacts, Gate, Refusal, WakeOutcome, WakeVerdict, admit};
use wakeful_store::rows::{Claim, MessageAdmission, PackedBlob, WakeRow};
use wakeful_store::{StoreError, Tx, View};

use crate::api::append;
use crate::wake::{StartAttempt, StartCommit, StartWrite, judge};

/// A cause and the facts about it. Prepared before the transaction, because the transaction may be retried.
#[derive(Debug, Clone)]
pub(crate) struct PreparedAdmission {
    pub(crate) message: Message,
    pub(crate) body: PackedBlob,
    /// The event that announces the message.
    pub(crate) sealed: SealedEvent,
    /// The facts that decide whether the message is admitted.
    pub(crate) facts: CauseFacts,
}

#[derive(Debug)]
pub(crate) enum AdmissionOutcome {
    /// The message is queued; this event announces it.
    New(Event),
    /// The same message was admitted before.
    Known,
    /// The key belongs to a different message.
    KeyReused,
    /// The message was refused and the refusal is recorded.
    Refused(Refusal),
    /// The agent does not exist.
    Unknown,
}

/// The outcome of an admission that also starts the run.
#[derive(Debug)]
pub(crate) enum StartedAdmission {
    /// The run has started.
    Started(Box<StartCommit>),
    /// The run did not start; the message has this outcome.
    NotStarted(AdmissionOutcome),
    /// Another process drives the agent.
    Busy(RunnerId),
}

impl PreparedAdmission {
    /// A message without further facts.
    pub(crate) fn plain(message: Message, body: PackedBlob, sealed: SealedEvent) -> Self {
        Self {
            facts: CauseFacts::of(&message.cause, &message.agent_id),
            message,
            body,
            sealed,
        }
    }

    /// Evaluates the cause and writes the outcome. A transaction that admits several messages must process
    /// agents in the order of their ids, because each admission locks the agent's head.
    pub(crate) fn commit(&self, tx: &mut Tx<'_>) -> Result<AdmissionOutcome, StoreError> {
        let (agent_id, run) = (&self.message.agent_id, &self.message.run_key);
        // Lock the head first, as in every transition: two admissions with the same key serialize here
        // instead of deadlocking.
        let (Some(mut head), Some(agent)) = (tx.lock_head_to_announce(agent_id)?, tx.agent(agent_id)?) else {
            return Ok(AdmissionOutcome::Unknown);
        };
        if let Some(known) = tx.message(run)? {
            return Ok(if known.is_same_as(&self.message) {
                AdmissionOutcome::Known
            } else {
                AdmissionOutcome::KeyReused
            });
        }
        let (result, mut gates) = admit(&agent.availability(), &self.facts, self.message.admitted_at);
        let not_before = match result {
            AdmissionResult::Refused(refusal) => return self.refuse(tx, refusal, &gates),
            AdmissionResult::Queued { not_before } => not_before,
        };
        // If the queue is full, a person receives `StoreError::QueueFull`; other causes are refused and
        // counted.
        if self.message.is_absorbed() && tx.queued(agent_id)? >= QUEUE_MAX {
            gates.push(Gate::new("queue", false).with(Refusal::QueueFull.to_string()));
            return self.refuse(tx, Refusal::QueueFull, &gates);
        }
        let entry = QueueEntry {
            message: &self.message,
            body: &self.body,
            sealed: &self.sealed,
            gates: &gates,
            not_before,
        };
        entry.write(tx, &mut head)
    }

    /// Admits the message and starts its run in one transaction. A message that cannot start at once is
    /// refused, unless a brake holds it or another transaction has admitted it meanwhile; then it is
    /// queued.
    pub(crate) fn commit_and_start(
        &self,
        tx: &mut Tx<'_>,
        start: &StartWrite,
    ) -> Result<StartedAdmission, StoreError> {
        if let Some(obstacle) = self.obstacle(tx, start.runner())? {
            return Ok(obstacle);
        }
        let outcome = self.commit(tx)?;
        if let AdmissionOutcome::New(admitted) = &outcome
            && let StartAttempt::Claimed(mut commit) = start.commit(tx)?
        {
            commit.events.insert(0, admitted.clone());
            return Ok(StartedAdmission::Started(commit));
        }
        Ok(StartedAdmission::NotStarted(outcome))
    }

    /// The reason why the run cannot start at once. None for a message that was admitted before.
    fn obstacle(&self, tx: &mut Tx<'_>, runner: &RunnerId) -> Result<Option<StartedAdmission>, StoreError> {
        let agent_id = &self.message.agent_id;
        if tx.agent(agent_id)?.is_none() || tx.message(&self.message.run_key)?.is_some() {
            return Ok(None);
        }
        match tx.claim_head(agent_id, runner)? {
            Claim::Won(fence) => tx.release_head(agent_id, fence)?,
            Claim::Held { by } => return Ok(Some(StartedAdmission::Busy(by))),
        }
        // The claim holds the lock, so this result stays valid until the commit.
        let Some(agent) = tx.agent(agent_id)? else {
            return Ok(None);
        };
        Ok(match judge(tx, &agent, self.message.admitted_at)? {
            (WakeVerdict::Run | WakeVerdict::Refused(Refusal::Braked), _) => None,
            (WakeVerdict::Refused(refusal), gates) => {
                Some(StartedAdmission::NotStarted(self.refuse(tx, refusal, &gates)?))
            }
        })
    }

    fn refuse(
        &self,
        tx: &mut Tx<'_>,
        refusal: Refusal,
        gates: &[Gate],
    ) -> Result<AdmissionOutcome, StoreError> {
        let at = self.message.admitted_at;
        tx.record_refusal(&wake_row(&self.message, refusal.outcome(), gates, at))?;
        Ok(AdmissionOutcome::Refused(refusal))
    }
}

/// An accepted message to write to the queue.
pub(crate) struct QueueEntry<'a> {
    pub(crate) message: &'a Message,
    pub(crate) body: &'a PackedBlob,
    /// The event that announces the message.
    pub(crate) sealed: &'a SealedEvent,
    /// Every gate that was evaluated.
    pub(crate) gates: &'a [Gate],
    /// The run does not start before this time.
    pub(crate) not_before: Option<Millis>,
}

impl QueueEntry<'_> {
    /// Stores the message, queues it, records the wake and appends the event. Every admission ends here.
    /// Requires the agent's locked head.
    pub(crate) fn write(&self, tx: &mut Tx<'_>, head: &mut LogHead) -> Result<AdmissionOutcome, StoreError> {
        let message = self.message;
        match tx.admit_message(message)? {
            MessageAdmission::New => {}
            MessageAdmission::Same => return Ok(AdmissionOutcome::Known),
            MessageAdmission::Differs => return Ok(AdmissionOutcome::KeyReused),
        }
        tx.enqueue(message, head.next_seq, self.not_before)?;
        tx.put_blob(self.body)?;
        tx.put_wake(&wake_row(
            message,
            WakeOutcome::Queued,
            self.gates,
            message.admitted_at,
        ))?;
        append(tx, &message.agent_id, head, self.sealed).map(AdmissionOutcome::New)
    }
}

/// The record of a wake outcome.
pub(crate) fn wake_row(message: &Message, verdict: WakeOutcome, gates: &[Gate], at: Millis) -> WakeRow {
    WakeRow {
        run_key: message.run_key,
        agent_id: message.agent_id.clone(),
        verdict,
        gates: serde_json::to_string(gates).unwrap_or_default(),
        cause: message.cause.clone(),
        absorbed_by: None,
        at,
    }
}

/// The causal depth of a run: the maximum over all messages it absorbed.
pub(crate) fn depth_of(view: &mut View<'_>, run: &RunKey) -> Result<u32, StoreError> {
    let own = view.message(run)?.map_or(0, |message| message.cause.depth);
    let absorbed = view.absorbed_by(run)?;
    let deepest = absorbed.iter().map(|wake| wake.cause.depth).max();
    Ok(deepest.map_or(own, |deepest| deepest.max(own)))
}
