//! Arrival: a cause is judged, and becomes a message in line or a refusal with its reason, in one transaction.

use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, QUEUE_MAX};
use wakeful_core::report::{Event, Sealed};
use wakeful_core::time::Millis;
use wakeful_core::wake::{Admitted, Facts, Gate, Refusal, Standing, WakeOutcome, admit};
use wakeful_store::rows::{Admission, Agent, PackedBlob, WakeRow};
use wakeful_store::{StoreError, Tx, View};

use crate::desk::append;

/// A cause that arose, and what was found out about it. Prepared before the transaction, which may run more than once.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    /// The message that it becomes.
    pub(crate) message: Message,
    /// What the message says.
    pub(crate) body: PackedBlob,
    /// The event that announces it.
    pub(crate) sealed: Sealed,
    /// Whether a changed record is as the subscription wants it; none where nothing was wanted.
    pub(crate) predicate: Option<bool>,
    /// Whether the guard holds; none where there is none.
    pub(crate) guard: Option<bool>,
    /// Whether the subscription that it came by is put aside.
    pub(crate) is_paused: bool,
    /// Whether there is something to do; none where nobody asks.
    pub(crate) has_work: Option<bool>,
    /// The earliest moment that a cooldown or a debounce window allows.
    pub(crate) not_before: Option<Millis>,
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// It is kept, announced and in line.
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

impl Arrival {
    /// A message that nothing is known about but what it says.
    pub(crate) const fn plain(message: Message, body: PackedBlob, sealed: Sealed) -> Self {
        Self {
            message,
            body,
            sealed,
            predicate: None,
            guard: None,
            is_paused: false,
            has_work: None,
            not_before: None,
        }
    }

    /// Judges it and writes down what becomes of it. Whoever lets several arrive in one transaction does it in the order
    /// of the agents' ids, because each locks its agent's head.
    pub(crate) fn commit(&self, tx: &mut Tx<'_>) -> Result<Arrived, StoreError> {
        let (agent_id, run) = (&self.message.agent_id, &self.message.run_key);
        // Locked first, like in every transition: two with one key meet here and not in each other's way.
        let (Some(mut head), Some(agent)) = (tx.lock_head_to_announce(agent_id)?, tx.agent(agent_id)?) else {
            return Ok(Arrived::Unknown);
        };
        if let Some(known) = tx.message(run)? {
            return Ok(if known.is_same_as(&self.message) {
                Arrived::Known
            } else {
                Arrived::KeyReused
            });
        }
        let facts = Facts {
            cause: &self.message.cause,
            predicate: self.predicate,
            guard: self.guard,
            is_paused: self.is_paused,
            has_work: self.has_work,
            not_before: self.not_before,
            now: self.message.admitted_at,
        };
        let (admitted, mut gates) = admit(&standing(&agent), &facts);
        let not_before = match admitted {
            Admitted::Refused(refusal) => return self.refuse(tx, refusal, &gates),
            Admitted::Queued { not_before } => not_before,
        };
        // A person is told that there is no room; whatever comes by itself is counted.
        if self.message.cause.origin.is_absorbed() && tx.queued(agent_id)? >= QUEUE_MAX {
            gates.push(Gate::new("queue", false).with(Refusal::QueueFull.to_string()));
            return self.refuse(tx, Refusal::QueueFull, &gates);
        }
        match tx.admit_message(&self.message)? {
            Admission::New => {}
            Admission::Same => return Ok(Arrived::Known),
            Admission::Differs => return Ok(Arrived::KeyReused),
        }
        tx.enqueue(&self.message, head.next_seq, not_before)?;
        tx.put_blob(&self.body)?;
        tx.put_wake(&self.record(WakeOutcome::Queued, &gates))?;
        append(tx, agent_id, &mut head, &self.sealed).map(Arrived::New)
    }

    fn refuse(&self, tx: &mut Tx<'_>, refusal: Refusal, gates: &[Gate]) -> Result<Arrived, StoreError> {
        tx.refuse(&self.record(refusal.outcome(), gates))?;
        Ok(Arrived::Refused(refusal))
    }

    fn record(&self, verdict: WakeOutcome, gates: &[Gate]) -> WakeRow {
        wake_row(&self.message, verdict, gates, self.message.admitted_at)
    }
}

/// How an agent stands.
pub(crate) fn standing(agent: &Agent) -> Standing {
    Standing {
        agent_id: agent.agent_id.clone(),
        lifecycle: agent.lifecycle,
        control: agent.control,
        mode: agent.mode,
        sleep_until: agent.sleep_until,
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
