//! Writes the outcome of one firing of a schedule.

use wakeful_core::blob::BlobHash;
use wakeful_core::cause::{Cause, MessageOrigin};
use wakeful_core::id::EventName;
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, NewMessage};
use wakeful_core::recurrence::RecurrenceError;
use wakeful_core::report::payload::WakeDecided;
use wakeful_core::report::{Event, EventDraft, SealedEvent};
use wakeful_core::run::RunStatus;
use wakeful_core::schedule::{
    ExecutionOutcome, Firing, FiringCondition, Reason, Schedule, ScheduleFacts, ScheduleReason,
    ScheduleStatus, TickResult, TriggerSource, settle,
};
use wakeful_core::time::Millis;
use wakeful_core::wake::{Lifecycle, Refusal, WakeOutcome};
use wakeful_store::rows::{PackedBlob, ScheduledExecutionRow};
use wakeful_store::{Store, StoreError, Tx};

use crate::admission::{AdmissionOutcome, PreparedAdmission, wake_row};
use crate::api::append;
use crate::stamp::StampSource;
use crate::wake::{admitted_event, opening};

/// Why a schedule fires.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FiringCause<'a> {
    /// The schedule is due.
    Tick,
    /// A person requested it; the text is the idempotency key of the request.
    ByHand(&'a str),
    /// An awaited event occurred; the text is the idempotency key of the delivery.
    Event(&'a EventName, &'a str),
}

impl FiringCause<'_> {
    const fn source(self) -> TriggerSource {
        match self {
            Self::Tick => TriggerSource::Tick,
            Self::ByHand(_) => TriggerSource::TriggerNow,
            Self::Event(..) => TriggerSource::Event,
        }
    }

    /// A firing that the clock did not cause is keyed by its request.
    fn run_key(self, timer: &Schedule, due_at: Millis) -> RunKey {
        match self {
            Self::Tick => timer.run_key(due_at),
            Self::ByHand(request) => timer.run_key_by_hand(request),
            Self::Event(event, key) => timer.run_key_of_event(event, key),
        }
    }

    /// The message of a firing.
    fn message(self, timer: &Schedule, firing: &Firing, body: BlobHash, now: Millis) -> Message {
        let cause = Cause {
            origin: MessageOrigin::Schedule {
                schedule: timer.schedule_id.clone(),
                scheduled_at: firing.due_at,
                is_catch_up: firing.is_catch_up,
                is_by_hand: matches!(self, Self::ByHand(_)),
                event: match self {
                    Self::Event(event, _) => Some(event.clone()),
                    Self::Tick | Self::ByHand(_) => None,
                },
            },
            ..Cause::default()
        };
        let run = self.run_key(timer, firing.due_at);
        let new = NewMessage {
            agent_id: timer.agent_id.clone(),
            body,
            admitted_at: now,
        };
        Message::from_cause(new, run, cause)
    }
}

/// A schedule that fires or is due.
pub(super) struct Due<'a> {
    pub(super) timer: &'a Schedule,
    pub(super) ticked: Result<TickResult, RecurrenceError>,
    /// Whether something has changed, as far as the guard requires it.
    pub(super) is_changed: bool,
    pub(super) occasion: FiringCause<'a>,
}

/// The result of a firing.
#[derive(Debug, Default)]
pub(crate) struct FiringResult {
    pub(crate) events: Vec<Event>,
    /// The written records, in order.
    pub(crate) records: Vec<ScheduledExecutionRow>,
    /// Whether an agent has work now.
    pub(crate) is_work: bool,
}

/// Everything that one firing writes. Prepared before its transaction, because the transaction may be
/// retried.
pub(super) struct PreparedFiring {
    seen: Schedule,
    ticked: TickResult,
    /// Why the schedule ends, if it does.
    over: ScheduleReason,
    arrivals: Vec<(Firing, PreparedAdmission)>,
    /// The event that records the withdrawal of the schedule's newest message.
    taken_back: Option<SealedEvent>,
    /// Whether something has changed, as far as a condition requires it.
    is_changed: bool,
    source: TriggerSource,
    now: Millis,
}

impl PreparedFiring {
    pub(super) async fn new(
        store: &Store,
        due: Due<'_>,
        stamps: &StampSource<'_>,
    ) -> Result<Self, StoreError> {
        let Due {
            timer: seen,
            ticked,
            is_changed,
            occasion,
        } = due;
        let (ticked, over) = match ticked {
            Ok(ticked) => (ticked, ScheduleReason::Exhausted),
            Err(RecurrenceError::Exhausted) => (TickResult::expired(seen), ScheduleReason::Exhausted),
            Err(_) => (TickResult::expired(seen), ScheduleReason::PatternUnreadable),
        };
        let (_, body) = opening(seen.text(), Vec::new());
        let body = store.pack(body).await?;
        let arrivals = ticked.firings.iter().map(|firing| {
            let message = occasion.message(seen, firing, body.hash, stamps.now);
            Ok((*firing, arrival(message, &body, seen.text(), stamps)?))
        });
        let arrivals = arrivals.collect::<Result<_, StoreError>>()?;
        let taken_back = seen.last_run.map(|run| {
            let decided = WakeDecided::new(run, WakeOutcome::Replaced);
            sealed(EventDraft::new(decided), run, stamps)
        });
        Ok(Self {
            seen: seen.clone(),
            ticked,
            over,
            arrivals,
            taken_back: taken_back.transpose()?,
            is_changed,
            source: occasion.source(),
            now: stamps.now,
        })
    }

    /// Writes messages, records and the next due time, or nothing. Returns [`StoreError::Conflict`] if
    /// another process was first.
    pub(super) fn commit(&self, tx: &mut Tx<'_>) -> Result<FiringResult, StoreError> {
        let (agent, name) = (&self.seen.agent_id, &self.seen.schedule_id);
        // Lock the head first, as in every transition, so that concurrent transactions do not deadlock.
        let head = tx.lock_head_to_announce(agent)?;
        let stored = tx.schedule(name)?;
        if stored
            .as_ref()
            .is_none_or(|stored| stored.version != self.seen.version)
        {
            return Err(StoreError::Conflict);
        }
        let mut book = FiringRecorder {
            timer: self.ticked.timer.clone(),
            fired: FiringResult::default(),
            source: self.source,
            now: self.now,
        };
        let gone: Option<Reason> = match (head, tx.agent(agent)?) {
            (None, _) | (_, None) => Some(WakeOutcome::AgentUnknown.into()),
            (Some(_), Some(agent)) if agent.lifecycle == Lifecycle::Destroyed => {
                Some(ScheduleReason::AgentDestroyed.into())
            }
            (Some(_), Some(_)) => None,
        };
        if let Some(reason) = gone {
            book.timer.status = ScheduleStatus::Disabled;
            book.timer.next_execution_at = None;
            book.because(ExecutionOutcome::Disabled, self.now, reason);
            return book.close(tx);
        }
        if self.note_again(tx, &mut book)? {
            return book.close(tx);
        }
        if self.ticked.was_set_back {
            book.note(ExecutionOutcome::Recomputed, self.now, |_| {});
        }
        if let Some(first) = self.ticked.missed_from {
            book.note(ExecutionOutcome::Skipped, first, |row| {
                row.reason = Some(ScheduleReason::Missed.into());
                (row.count, row.is_capped) = (self.ticked.missed, self.ticked.is_capped);
            });
        }
        self.fire(tx, &mut book)?;
        match (book.timer.status, self.seen.status) {
            (ScheduleStatus::Disabled, ScheduleStatus::Active | ScheduleStatus::Paused) => {
                book.because(ExecutionOutcome::Disabled, self.now, ScheduleReason::Once.into());
            }
            (ScheduleStatus::Expired, ScheduleStatus::Active) => {
                book.because(ExecutionOutcome::Expired, self.now, self.over.into());
            }
            (
                ScheduleStatus::Active
                | ScheduleStatus::Paused
                | ScheduleStatus::Disabled
                | ScheduleStatus::Expired,
                _,
            ) => {}
        }
        book.close(tx)
    }

    /// Handles a repeated request or delivery: it is recorded and has no other effect.
    fn note_again(&self, tx: &mut Tx<'_>, book: &mut FiringRecorder) -> Result<bool, StoreError> {
        let (TriggerSource::TriggerNow | TriggerSource::Event, Some((firing, arrival))) =
            (self.source, self.arrivals.first())
        else {
            return Ok(false);
        };
        let run = arrival.message.run_key;
        if tx.message(&run)?.is_none() {
            return Ok(false);
        }
        book.timer = self.seen.clone();
        book.note(ExecutionOutcome::Skipped, firing.due_at, |row| {
            row.reason = Some(ScheduleReason::AlreadyRun.into());
            row.run_key = Some(run);
        });
        Ok(true)
    }

    fn fire(&self, tx: &mut Tx<'_>, book: &mut FiringRecorder) -> Result<(), StoreError> {
        if self.arrivals.is_empty() {
            return Ok(());
        }
        let under_way = match self.seen.last_run {
            Some(run) if tx.is_run_active(&run)? => Some(run),
            Some(_) | None => None,
        };
        let firings = self.arrivals.iter().map(|(firing, _)| *firing).collect();
        let settled = settle(self.seen.concurrency, firings, under_way.is_some());
        for (firing, reason) in settled.skip {
            book.note(ExecutionOutcome::Skipped, firing.due_at, |row| {
                row.reason = Some(reason.into());
                row.is_catch_up = firing.is_catch_up;
            });
        }
        let stand = self.circumstances(tx)?;
        let mut is_new = false;
        for (firing, arrival) in &self.arrivals {
            if settled.fire.contains(firing) {
                let (guard, has_work) = self.asked(&stand, firing);
                let mut arrival = arrival.clone();
                (arrival.facts.guard, arrival.facts.has_work) = (guard, has_work);
                is_new |= arrive(tx, &arrival, firing, book)?;
            }
        }
        match self.source {
            TriggerSource::TriggerNow | TriggerSource::Event if is_new => book.timer.record_manual_firing(),
            TriggerSource::Tick | TriggerSource::TriggerNow | TriggerSource::Event => {}
        }
        // Only an admitted message replaces the previous one; a refused or repeated one does not.
        match under_way.filter(|_| settled.replaces && is_new) {
            Some(run) => self.replace_pending(tx, run, book),
            None => Ok(()),
        }
    }

    /// The facts before anything of this firing is admitted.
    fn circumstances(&self, tx: &mut Tx<'_>) -> Result<ScheduleFacts, StoreError> {
        let agent = &self.seen.agent_id;
        let (queued, last_run_at) = match self.seen.asks(self.source) {
            FiringCondition::Nothing => (0, None),
            FiringCondition::Work => (tx.queued(agent)?, None),
            FiringCondition::Guard(_) => (tx.queued(agent)?, tx.last_run_at(agent)?),
        };
        Ok(ScheduleFacts {
            last_run_at,
            queued,
            is_changed: self.is_changed,
            source: self.source,
            is_catch_up: false,
            now: self.now,
        })
    }

    /// Whether the guard holds, and whether there is work; none if the schedule has no such condition.
    fn asked(&self, stand: &ScheduleFacts, firing: &Firing) -> (Option<bool>, Option<bool>) {
        match self.seen.asks(self.source) {
            FiringCondition::Nothing => (None, None),
            // An agent with queued messages is woken anyway.
            FiringCondition::Work => (None, Some(stand.is_changed || stand.queued > 0)),
            FiringCondition::Guard(guard) => {
                let is_catch_up = firing.is_catch_up;
                let holds = guard.holds(&ScheduleFacts {
                    is_catch_up,
                    ..*stand
                });
                (Some(holds), None)
            }
        }
    }

    /// Replaces the previous message of the schedule: a queued message is removed, an open run is asked to
    /// end. A message that another run absorbed stays with that run.
    fn replace_pending(
        &self,
        tx: &mut Tx<'_>,
        run: RunKey,
        book: &mut FiringRecorder,
    ) -> Result<(), StoreError> {
        let agent = &self.seen.agent_id;
        let due_at = self.seen.last_execution_at.unwrap_or(self.now);
        if tx.is_queued(&run)? {
            let (message, head) = (tx.message(&run)?, tx.lock_head_to_announce(agent)?);
            if let (Some(message), Some(mut head), Some(sealed)) = (message, head, &self.taken_back) {
                tx.dequeue(agent, &run)?;
                tx.put_wake(&wake_row(&message, WakeOutcome::Replaced, &[], self.now))?;
                book.fired.events.push(append(tx, agent, &mut head, sealed)?);
            }
        } else if tx.run(&run)?.is_some_and(|row| row.status == RunStatus::Open) {
            tx.request_cancel(&run, self.now)?;
            book.fired.is_work = true;
        }
        book.note(ExecutionOutcome::Replaced, due_at, |row| row.run_key = Some(run));
        Ok(())
    }
}

/// Admits a firing. Returns whether it became a message.
fn arrive(
    tx: &mut Tx<'_>,
    arrival: &PreparedAdmission,
    firing: &Firing,
    book: &mut FiringRecorder,
) -> Result<bool, StoreError> {
    let run = arrival.message.run_key;
    let (outcome, reason): (ExecutionOutcome, Option<Reason>) = match arrival.commit(tx)? {
        AdmissionOutcome::New(event) => {
            book.timer.last_run = Some(run);
            book.fired.events.push(event);
            book.fired.is_work = true;
            (ExecutionOutcome::Run, None)
        }
        AdmissionOutcome::Known | AdmissionOutcome::KeyReused => {
            (ExecutionOutcome::Skipped, Some(ScheduleReason::AlreadyRun.into()))
        }
        // The schedule's own guard does not hold, which is not a refusal.
        AdmissionOutcome::Refused(Refusal::GuardFalse) => {
            (ExecutionOutcome::Skipped, Some(WakeOutcome::GuardFalse.into()))
        }
        AdmissionOutcome::Refused(refusal) => (ExecutionOutcome::Refused, Some(refusal.outcome().into())),
        AdmissionOutcome::Unknown => (ExecutionOutcome::Refused, Some(WakeOutcome::AgentUnknown.into())),
    };
    book.note(outcome, firing.due_at, |row| {
        row.reason = reason;
        row.is_catch_up = firing.is_catch_up;
        row.run_key = Some(run);
    });
    Ok(outcome == ExecutionOutcome::Run)
}

/// The new state of the schedule, and the records written so far.
struct FiringRecorder {
    timer: Schedule,
    fired: FiringResult,
    source: TriggerSource,
    now: Millis,
}

impl FiringRecorder {
    /// Adds a record of one firing; `with` sets further fields.
    fn note(
        &mut self,
        outcome: ExecutionOutcome,
        due_at: Millis,
        with: impl FnOnce(&mut ScheduledExecutionRow),
    ) {
        self.timer.executions = self.timer.executions.saturating_add(1);
        let mut row = ScheduledExecutionRow {
            schedule_id: self.timer.schedule_id.clone(),
            seq: self.timer.executions,
            revision: self.timer.revision,
            due_at,
            count: 1,
            is_capped: false,
            source: self.source,
            outcome,
            reason: None,
            run_key: None,
            is_catch_up: false,
            at: self.now,
        };
        with(&mut row);
        self.fired.records.push(row);
    }

    /// Adds a record with a reason.
    fn because(&mut self, outcome: ExecutionOutcome, due_at: Millis, reason: Reason) {
        self.note(outcome, due_at, |row| row.reason = Some(reason));
    }

    fn close(self, tx: &mut Tx<'_>) -> Result<FiringResult, StoreError> {
        tx.put_schedule(&self.timer)?;
        for row in &self.fired.records {
            tx.append_execution(row)?;
        }
        Ok(self.fired)
    }
}

fn arrival(
    message: Message,
    body: &PackedBlob,
    say: &str,
    stamps: &StampSource<'_>,
) -> Result<PreparedAdmission, StoreError> {
    let sealed = sealed(admitted_event(&message, say), message.run_key, stamps)?;
    Ok(PreparedAdmission::plain(message, body.clone(), sealed))
}

/// These payloads contain only text and numbers produced by Wakeful, which always have a canonical form.
fn sealed(draft: EventDraft, run: RunKey, stamps: &StampSource<'_>) -> Result<SealedEvent, StoreError> {
    let sealed = stamps.stamp().seal(draft, Some(run));
    sealed.map_err(|_| StoreError::Malformed("an event"))
}
