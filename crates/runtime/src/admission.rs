//! PreparedAdmission: a cause is judged, and becomes a message in line or a refusal with its reason, in one transaction.

use wakeful_core::id::RunnerId;
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, QUEUE_MAX};
use wakeful_core::report::{Event, LogHead, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_core::wake::{AdmissionResult, CauseFacts, Gate, Refusal, WakeOutcome, WakeVerdict, admit};
use wakeful_store::rows::{Claim, Fence, MessageAdmission, PackedBlob, WakeRow};
use wakeful_store::{StoreError, Tx, View};

use crate::api::append;
use crate::wake::{StartAttempt, StartWrite, judge};

/// A cause that arose, and what was found out about it. Prepared before the transaction, which may run more than once.
#[derive(Debug, Clone)]
pub(crate) struct PreparedAdmission {
    /// The message that it becomes.
    pub(crate) message: Message,
    /// What the message says.
    pub(crate) body: PackedBlob,
    /// The event that announces it.
    pub(crate) sealed: SealedEvent,
    /// What decides whether it is admitted.
    pub(crate) facts: CauseFacts,
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum AdmissionOutcome {
    /// It is queued and announced.
    New(Event),
    /// It was there before.
    Known,
    /// Its key names another message.
    KeyReused,
    /// It was refused, and that is recorded.
    Refused(Refusal),
    /// There is no such agent.
    Unknown,
}

/// What became of a message whose run was to start with it.
#[derive(Debug)]
pub(crate) enum StartedAdmission {
    /// Its run has started, with this right to write; these events were committed.
    Started(Fence, Vec<Event>),
    /// This is all that became of it.
    NotStarted(AdmissionOutcome),
    /// Another process drives the agent.
    Busy(RunnerId),
}

impl PreparedAdmission {
    /// A message of which nothing is known but what it says.
    pub(crate) fn plain(message: Message, body: PackedBlob, sealed: SealedEvent) -> Self {
        Self {
            facts: CauseFacts::of(&message.cause, &message.agent_id),
            message,
            body,
            sealed,
        }
    }

    /// Judges the cause and writes what becomes of it. A transaction that admits several does it in the order of the
    /// agents' ids, because each locks its agent's head.
    pub(crate) fn commit(&self, tx: &mut Tx<'_>) -> Result<AdmissionOutcome, StoreError> {
        let (agent_id, run) = (&self.message.agent_id, &self.message.run_key);
        // Locked first, like in every transition: two with one key meet here and not in each other's way.
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
        // A person is told that there is no room; whatever comes by itself is counted.
        if self.message.cause.origin.is_absorbed() && tx.queued(agent_id)? >= QUEUE_MAX {
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

    /// Admits the message and starts its run in one transaction. What could not start at once is refused; under a brake it
    /// is queued, and so is what another transaction has admitted meanwhile.
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
            && let StartAttempt::Claimed(fence, mut events) = start.commit(tx)?
        {
            events.insert(0, admitted.clone());
            return Ok(StartedAdmission::Started(fence, events));
        }
        Ok(StartedAdmission::NotStarted(outcome))
    }

    /// Why its run could not start at once. None for a message that is there already.
    fn obstacle(&self, tx: &mut Tx<'_>, runner: &RunnerId) -> Result<Option<StartedAdmission>, StoreError> {
        let agent_id = &self.message.agent_id;
        if tx.agent(agent_id)?.is_none() || tx.message(&self.message.run_key)?.is_some() {
            return Ok(None);
        }
        match tx.claim_head(agent_id, runner)? {
            Claim::Won(fence) => tx.release_head(agent_id, fence)?,
            Claim::Held { by } => return Ok(Some(StartedAdmission::Busy(by))),
        }
        // Only with the lock that the claim took is the answer true until the commit.
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

/// A message that was judged and goes into the queue.
pub(crate) struct QueueEntry<'a> {
    /// The message.
    pub(crate) message: &'a Message,
    /// What it says.
    pub(crate) body: &'a PackedBlob,
    /// The event that announces it.
    pub(crate) sealed: &'a SealedEvent,
    /// Every gate that was looked at.
    pub(crate) gates: &'a [Gate],
    /// The time before which it does not begin.
    pub(crate) not_before: Option<Millis>,
}

impl QueueEntry<'_> {
    /// Admits the message, puts it in the queue, records the wake and appends the event: every way into the queue ends
    /// here. With the head of its agent.
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

/// The record of a verdict on a message.
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

/// How many precede a run: as many as precede the deepest of all that it took up.
pub(crate) fn depth_of(view: &mut View<'_>, run: &RunKey) -> Result<u32, StoreError> {
    let own = view.message(run)?.map_or(0, |message| message.cause.depth);
    let absorbed = view.absorbed_by(run)?;
    let deepest = absorbed.iter().map(|wake| wake.cause.depth).max();
    Ok(deepest.map_or(own, |deepest| deepest.max(own)))
}
