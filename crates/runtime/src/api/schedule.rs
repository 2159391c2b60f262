//! Schedules: creating, listing, changing and firing them.

use std::sync::Arc;

use wakeful_core::id::{AgentId, EventName, RuleId};
use wakeful_core::report::EventDraft;
use wakeful_core::report::payload::{AgentStateChanged, ScheduleChange};
use wakeful_core::schedule::{
    BadTransition, Concurrency, ExecutionOutcome, FiringTime, Guard, SCHEDULES_MAX, SCHEDULES_OF_EVENT_MAX,
    Schedule, ScheduleDraft, ScheduleError, ScheduleStatus,
};
use wakeful_core::time::Millis;
use wakeful_core::wake::{Lifecycle, Refusal};
use wakeful_store::rows::{ExecutionWithRun, ScheduleFilter, ScheduleRows, ScheduledExecutionRow};
use wakeful_store::{StoreError, Tx};

use super::shared::{Shared, append};
use crate::schedule::{FiringCause, fire_now, publish_firing};
use crate::stamp::StampSource;
use crate::{EngineError, Observer as _};

/// Maximum attempts of a manual firing when other writers change the schedule meanwhile.
const TRIES_MAX: u32 = 5;

/// Schedules waiting for an event that are read at once.
const SCHEDULES_PAGE: u32 = 64;

/// Why an operation on a schedule was refused.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleRefusal {
    #[error("there is no schedule {0}")]
    Unknown(RuleId),
    #[error("there is a schedule {0} already")]
    Exists(RuleId),
    /// A field is invalid.
    #[error(transparent)]
    Bad(#[from] ScheduleError),
    /// The status change is not allowed from the current status.
    #[error("schedule {schedule}: {why}")]
    Status { schedule: RuleId, why: BadTransition },
    /// The schedule has ended and cannot fire, not even manually.
    #[error("schedule {schedule} is {}", status.as_str())]
    Over {
        schedule: RuleId,
        status: ScheduleStatus,
    },
    /// The agent has the maximum number of schedules.
    #[error("agent {0} has {SCHEDULES_MAX} schedules already")]
    TooMany(AgentId),
    /// The maximum number of schedules waits for the event.
    #[error("{SCHEDULES_OF_EVENT_MAX} schedules wait for event {0} already")]
    EventFull(EventName),
}

/// A partial change of a schedule; fields that are none stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScheduleEdit {
    /// The display name.
    pub label: Option<String>,
    /// The time pattern and zone.
    pub when: Option<FiringTime>,
    /// The text of the message.
    pub say: Option<String>,
    /// How a firing is handled while the previous one is still running.
    pub concurrency: Option<Concurrency>,
    /// Whether missed firings are caught up.
    pub allows_catch_up: Option<bool>,
    /// Whether the schedule wakes the agent even if nothing changed.
    pub always: Option<bool>,
    /// The condition for a firing to wake the agent; `Some(None)` removes it.
    pub guard: Option<Option<Guard>>,
    /// The event that also fires the schedule; `Some(None)` removes it.
    pub event: Option<Option<EventName>>,
}

/// The result of a transaction that changes a schedule.
enum ScheduleWriteOutcome {
    Done(Box<Schedule>, Box<Option<wakeful_core::report::Event>>),
    Unknown,
    Fault(ScheduleRefusal),
    Refused(Refusal),
}

pub struct ScheduleApi {
    pub(super) shared: Arc<Shared>,
}

impl ScheduleApi {
    pub async fn add(&self, draft: ScheduleDraft) -> Result<Schedule, EngineError> {
        let now = self.shared.clock.now();
        let timer = draft.check(now).map_err(ScheduleRefusal::from)?;
        let sealed = self
            .shared
            .seal(change_event(&timer, AgentStateChanged::ScheduleAdded), None, now)?;
        let agent = timer.agent_id.clone();
        let made = self.shared.write(move |tx| {
            let Some(mut head) = tx.lock_head_to_announce(&timer.agent_id)? else {
                return Ok(ScheduleWriteOutcome::Unknown);
            };
            let agent = tx.agent(&timer.agent_id)?;
            if agent.is_some_and(|agent| agent.lifecycle == Lifecycle::Destroyed) {
                return Ok(ScheduleWriteOutcome::Refused(Refusal::Destroyed));
            }
            if tx.count_schedules_of(&timer.agent_id)? >= SCHEDULES_MAX {
                return Ok(ScheduleWriteOutcome::Fault(ScheduleRefusal::TooMany(
                    timer.agent_id.clone(),
                )));
            }
            if let Some(full) = too_many_wait(tx, timer.event.as_ref())? {
                return Ok(ScheduleWriteOutcome::Fault(full));
            }
            if !tx.create_schedule(&timer)? {
                return Ok(ScheduleWriteOutcome::Fault(ScheduleRefusal::Exists(
                    timer.schedule_id.clone(),
                )));
            }
            let event = append(tx, &timer.agent_id, &mut head, &sealed)?;
            Ok(ScheduleWriteOutcome::Done(
                Box::new(timer.clone()),
                Box::new(Some(event)),
            ))
        });
        self.changed(made.await?, || EngineError::UnknownAgent(agent))
    }

    fn changed(
        &self,
        changed: ScheduleWriteOutcome,
        unknown: impl FnOnce() -> EngineError,
    ) -> Result<Schedule, EngineError> {
        match changed {
            ScheduleWriteOutcome::Unknown => Err(unknown()),
            ScheduleWriteOutcome::Fault(fault) => Err(fault.into()),
            ScheduleWriteOutcome::Refused(refusal) => Err(refusal.into()),
            ScheduleWriteOutcome::Done(timer, event) => {
                if let Some(event) = *event {
                    self.shared.hub.on_events(&timer.agent_id, &[event]);
                }
                self.shared.work.rearm_scheduler();
                Ok(*timer)
            }
        }
    }

    /// Changes a schedule in one transaction and records an event if anything changed.
    async fn change(
        &self,
        name: RuleId,
        word: Change,
        change: impl Fn(&Schedule, Millis) -> Result<Option<Schedule>, ScheduleRefusal> + Send + 'static,
    ) -> Result<Schedule, EngineError> {
        let (now, salt, wanted) = (
            self.shared.clock.now(),
            self.shared.entropy.random_bytes(),
            name.clone(),
        );
        let written = self.shared.write(move |tx| {
            let Some(seen) = locked(tx, &wanted)? else {
                return Ok(ScheduleWriteOutcome::Unknown);
            };
            let next = match change(&seen, now) {
                Err(fault) => return Ok(ScheduleWriteOutcome::Fault(fault)),
                Ok(None) => return Ok(ScheduleWriteOutcome::Done(Box::new(seen), Box::new(None))),
                Ok(Some(next)) => next,
            };
            if next.event != seen.event
                && let Some(full) = too_many_wait(tx, next.event.as_ref())?
            {
                return Ok(ScheduleWriteOutcome::Fault(full));
            }
            tx.put_schedule(&next)?;
            // Sealed under the lock, because the revision is known only then.
            let sealed = wakeful_core::report::SealedEvent::new(change_event(&next, word), now, None, salt);
            let sealed = sealed.map_err(|_| StoreError::Malformed("an event"))?;
            let head = tx.lock_head_to_announce(&next.agent_id)?;
            let event = head.map(|mut head| append(tx, &next.agent_id, &mut head, &sealed));
            let version = next.version.saturating_add(1);
            let next = Schedule { version, ..next };
            Ok(ScheduleWriteOutcome::Done(
                Box::new(next),
                Box::new(event.transpose()?),
            ))
        });
        self.changed(written.await?, || ScheduleRefusal::Unknown(name).into())
    }

    pub async fn get(&self, name: RuleId) -> Result<Schedule, EngineError> {
        let wanted = name.clone();
        let found = self.shared.store.read(move |view| view.schedule(&wanted)).await?;
        found.ok_or_else(|| ScheduleRefusal::Unknown(name).into())
    }

    /// Fires a schedule now and returns the record of the firing. `request` is an idempotency key: a
    /// repeated request fires once.
    pub async fn trigger_now(
        &self,
        name: RuleId,
        request: String,
    ) -> Result<ScheduledExecutionRow, EngineError> {
        let fired = self.fire(name.clone(), FiringCause::ByHand(&request), |timer| {
            let (schedule, status) = (name.clone(), timer.status);
            match status {
                ScheduleStatus::Active | ScheduleStatus::Paused => Ok(true),
                ScheduleStatus::Disabled | ScheduleStatus::Expired => {
                    Err(ScheduleRefusal::Over { schedule, status }.into())
                }
            }
        });
        fired
            .await?
            .ok_or(EngineError::Store(StoreError::Malformed("scheduled_execution")))
    }

    /// Fires every active schedule that waits for an event and returns the records by schedule name. `key`
    /// is an idempotency key: a repeated delivery fires each schedule once. Each schedule fires in its own
    /// transaction. After an interruption, repeating the delivery fires the rest.
    pub async fn raise_event(
        &self,
        event: EventName,
        key: String,
    ) -> Result<Vec<ScheduledExecutionRow>, EngineError> {
        let (mut records, mut after) = (Vec::new(), None);
        loop {
            let (wanted, last) = (event.clone(), after.clone());
            let page = self
                .shared
                .store
                .read(move |view| view.schedules_for_event(&wanted, last.as_ref(), SCHEDULES_PAGE));
            let page = page.await?;
            let names = page.timers.into_iter().map(|timer| timer.schedule_id);
            let names: Vec<RuleId> = names.collect();
            // An unreadable row is skipped here and paused when it is due.
            let passed = page.unreadable.iter();
            let passed = passed.filter_map(|row| RuleId::parse(&row.schedule_id).ok());
            let Some(newest) = passed.chain(names.iter().cloned()).max() else {
                return Ok(records);
            };
            after = Some(newest);
            for name in names {
                let waits = |timer: &Schedule| {
                    Ok(timer.status == ScheduleStatus::Active && timer.event.as_ref() == Some(&event))
                };
                let fired = self.fire(name, FiringCause::Event(&event, &key), waits);
                records.extend(fired.await?);
            }
        }
    }

    /// Fires a schedule if `may` still allows it, and returns the record of the firing.
    async fn fire(
        &self,
        name: RuleId,
        occasion: FiringCause<'_>,
        may: impl Fn(&Schedule) -> Result<bool, EngineError>,
    ) -> Result<Option<ScheduledExecutionRow>, EngineError> {
        let mut tries = 0;
        let (timer, fired) = loop {
            let timer = self.get(name.clone()).await?;
            if !may(&timer)? {
                return Ok(None);
            }
            let stamps = StampSource {
                entropy: self.shared.entropy.as_ref(),
                now: self.shared.clock.now(),
            };
            tries += 1;
            match fire_now(&self.shared.store, &timer, occasion, &stamps).await {
                Ok(fired) => break (timer, fired),
                // The schedule became due at the same moment; read it again.
                Err(EngineError::Store(StoreError::Conflict)) if tries < TRIES_MAX => {}
                Err(error) => {
                    self.shared.signal_everything();
                    return Err(error);
                }
            }
        };
        publish_firing(&self.shared.hub, &self.shared.work, &timer, &fired);
        self.shared.work.rearm_scheduler();
        // Returns the record of the firing itself, not of the replaced run or the consequences. Without any
        // record, the agent and its schedules have been destroyed.
        let own = |row: &ScheduledExecutionRow| match row.outcome {
            ExecutionOutcome::Run | ExecutionOutcome::Skipped | ExecutionOutcome::Refused => true,
            ExecutionOutcome::Replaced
            | ExecutionOutcome::Disabled
            | ExecutionOutcome::Expired
            | ExecutionOutcome::Recomputed
            | ExecutionOutcome::Unreadable => false,
        };
        let place = fired.records.iter().position(own).unwrap_or(0);
        Ok(fired.records.into_iter().nth(place))
    }

    /// Lists schedules by name.
    pub async fn list(&self, filter: ScheduleFilter) -> Result<ScheduleRows, EngineError> {
        Ok(self
            .shared
            .store
            .read(move |view| view.schedules(&filter))
            .await?)
    }

    /// Changes the fields of a schedule.
    pub async fn edit(&self, schedule: RuleId, edit: ScheduleEdit) -> Result<Schedule, EngineError> {
        self.change(schedule, AgentStateChanged::ScheduleEdited, move |seen, now| {
            match seen.status {
                ScheduleStatus::Active | ScheduleStatus::Paused => {}
                status @ (ScheduleStatus::Disabled | ScheduleStatus::Expired) => {
                    let schedule = seen.schedule_id.clone();
                    return Err(ScheduleRefusal::Over { schedule, status });
                }
            }
            Ok(Some(seen.revised(&edited(seen, &edit), now)?))
        })
        .await
    }

    /// Pauses, resumes or ends a schedule. Has no effect if it already has this status.
    pub async fn set_status(
        &self,
        schedule: RuleId,
        status: ScheduleStatus,
    ) -> Result<Schedule, EngineError> {
        let word = match status {
            ScheduleStatus::Active => AgentStateChanged::ScheduleResumed,
            ScheduleStatus::Paused => AgentStateChanged::SchedulePaused,
            ScheduleStatus::Disabled => AgentStateChanged::ScheduleDisabled,
            ScheduleStatus::Expired => AgentStateChanged::ScheduleExpired,
        };
        self.change(schedule, word, move |seen, now| {
            if seen.status == status {
                return Ok(None);
            }
            let schedule = seen.schedule_id.clone();
            let next = seen.become_status(status, now);
            next.map(Some)
                .map_err(|why| ScheduleRefusal::Status { schedule, why })
        })
        .await
    }

    /// Whether new schedules catch up missed firings by default.
    #[must_use]
    pub fn catches_up_by_default(&self) -> bool {
        self.shared.governance.catches_up_by_default
    }

    /// Returns a schedule and the records of its firings, newest first.
    pub async fn executions(
        &self,
        schedule: RuleId,
        limit: u32,
    ) -> Result<(Schedule, Vec<ExecutionWithRun>), EngineError> {
        let wanted = schedule.clone();
        let found = self.shared.store.read(move |view| {
            let timer = view.schedule(&wanted)?;
            let executions = view.executions(&wanted, limit)?;
            Ok(timer.map(|timer| (timer, executions)))
        });
        Ok(found.await?.ok_or(ScheduleRefusal::Unknown(schedule))?)
    }
}

/// The refusal if the maximum number of schedules already waits for this event.
fn too_many_wait(tx: &mut Tx<'_>, event: Option<&EventName>) -> Result<Option<ScheduleRefusal>, StoreError> {
    let Some(event) = event else { return Ok(None) };
    let is_full = tx.count_schedules_for_event(event)? >= SCHEDULES_OF_EVENT_MAX;
    Ok(is_full.then(|| ScheduleRefusal::EventFull(event.clone())))
}

/// Reads the schedule under its agent's head lock, as in every transition.
fn locked(tx: &mut Tx<'_>, name: &RuleId) -> Result<Option<Schedule>, StoreError> {
    let Some(seen) = tx.schedule(name)? else {
        return Ok(None);
    };
    tx.lock_head_to_announce(&seen.agent_id)?;
    // Read again: the row seen before the lock may be outdated.
    tx.schedule(name)
}

fn edited(seen: &Schedule, edit: &ScheduleEdit) -> ScheduleDraft {
    ScheduleDraft {
        schedule_id: seen.schedule_id.clone(),
        agent_id: seen.agent_id.clone(),
        label: edit.label.clone().unwrap_or_else(|| seen.label.clone()),
        when: edit.when.clone().unwrap_or_else(|| seen.when.clone()),
        message: edit.say.clone().unwrap_or_else(|| seen.message.clone()),
        is_paused: seen.status == ScheduleStatus::Paused,
        concurrency: edit.concurrency.unwrap_or(seen.concurrency),
        allows_catch_up: edit.allows_catch_up.unwrap_or(seen.allows_catch_up),
        auto_disable_after_run: seen.auto_disable_after_run,
        catch_up_window_seconds: seen.catch_up_window_seconds,
        max_catch_up_runs_per_tick: seen.max_catch_up_runs_per_tick,
        always: edit.always.unwrap_or(seen.always),
        guard: edit.guard.clone().unwrap_or_else(|| seen.guard.clone()),
        event: edit.event.clone().unwrap_or_else(|| seen.event.clone()),
    }
}

/// The constructor of the event for a kind of change.
type Change = fn(ScheduleChange) -> AgentStateChanged;

fn change_event(timer: &Schedule, change: Change) -> EventDraft {
    EventDraft::new(change(ScheduleChange {
        schedule_id: timer.schedule_id.clone(),
        revision: timer.revision,
        status: timer.status,
    }))
}
