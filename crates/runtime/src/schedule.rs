//! The scheduler: turns due firings into messages and records every outcome.
//!
//! The scheduler sleeps until the earliest due schedule. It wakes earlier when a schedule changes or the wall
//! clock is set, and polls if other processes write. Without active schedules and other writers no timer is
//! set. The core computes what a firing leads to; this module writes it in one transaction: queued messages,
//! records, and the next due time.

mod firing;

use std::sync::Arc;

use wakeful_core::id::AgentId;
use wakeful_core::journal::Author;
use wakeful_core::report::payload::AgentStateChanged;
use wakeful_core::report::{EventDraft, SealedEvent};
use wakeful_core::schedule::{Firing, FiringCondition, Schedule, TickResult, TriggerSource};
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::fail_point;
use wakeful_ports::journal::Journal;
use wakeful_ports::planted_bugs;
use wakeful_store::rows::UnreadableSchedule;
use wakeful_store::{Store, StoreError};

use self::firing::{Due, PreparedFiring};
pub(crate) use self::firing::{FiringCause, FiringResult};
use crate::api::{WorkSignal, append};
use crate::hub::Hub;
use crate::service::WriterMode;
use crate::stamp::StampSource;
use crate::{EngineError, Halt, Observer as _};
use wakeful_core::problem::with_causes;

/// Maximum number of schedules that one pass processes. The next pass follows at once if more are due.
const SCHEDULES_AT_ONCE_MAX: u32 = 64;

/// Maximum number of consecutive passes, so that a halt is noticed even if schedules keep becoming due.
const PASSES_MAX: u32 = 1_000;

/// Poll interval for a database with other writers. Not used when this process is the only writer.
const SHARED_POLL_MS: u64 = 1_000;

/// Delay before a failed pass is retried.
const RETRY_MS: u64 = 1_000;

/// Fires schedules when they are due.
pub struct Scheduler {
    pub(crate) store: Store,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) work: Arc<WorkSignal>,
    pub(crate) writers: WriterMode,
}

impl Scheduler {
    /// Runs until the process halts. Firings missed while no process was running are due at once.
    pub async fn run(&self, halt: &Halt) {
        let mut last = None;
        while !halt.is_set() {
            let next = self.tick_due().await;
            let why = next.as_ref().err().map(|error| with_causes(error));
            // A persistent failure is logged once.
            if let Some(why) = why.as_ref().filter(|_| why != last) {
                tracing::warn!(error = %why, "schedules cannot wake agents at the moment; retrying");
            }
            last = why;
            tokio::select! {
                biased;
                () = halt.wait_until_set() => return,
                () = self.work.wait_for_rearm() => {}
                () = self.until(next) => {}
            }
        }
    }

    /// Resolves when the next pass is due; never, if nothing is scheduled and there are no other writers.
    async fn until(&self, next: Result<Option<Millis>, StoreError>) {
        match (next, self.writers) {
            (Err(_), _) => self.clock.sleep(RETRY_MS).await,
            (Ok(Some(next)), WriterMode::Alone) => self.clock.sleep_until(next).await,
            (Ok(None), WriterMode::Alone) => std::future::pending().await,
            (Ok(next), WriterMode::Many) => {
                let wait_ms = next.map_or(SHARED_POLL_MS, |next| next.since(self.clock.now()));
                self.clock.sleep(wait_ms.clamp(1, SHARED_POLL_MS)).await;
            }
        }
    }

    /// Processes everything that is due, and returns the next due time.
    async fn tick_due(&self) -> Result<Option<Millis>, StoreError> {
        for _ in 0..PASSES_MAX {
            let now = self.clock.now();
            let due = self
                .store
                .read(move |view| view.due_schedules(now, SCHEDULES_AT_ONCE_MAX));
            let due = due.await?;
            if due.timers.is_empty() && due.unreadable.is_empty() {
                return self.store.read(|view| view.next_schedule_due()).await;
            }
            for unreadable in due.unreadable {
                self.disable_unreadable(unreadable, now).await?;
            }
            for timer in due.timers {
                let (schedule_id, agent_id) = (timer.schedule_id.to_string(), timer.agent_id.to_string());
                match self.tick(timer, now).await {
                    // An unreadable schedule would be first in every further pass.
                    Err(StoreError::Malformed(column)) => {
                        let unreadable = UnreadableSchedule {
                            schedule_id,
                            agent_id,
                            column,
                        };
                        self.disable_unreadable(unreadable, now).await?;
                    }
                    ticked => ticked?,
                }
            }
        }
        // Schedules become due faster than they are processed; return, so that a halt is noticed.
        self.store.read(|view| view.next_schedule_due()).await
    }

    /// Pauses a schedule with unreadable data, so that the others continue. Its data is kept unchanged, and
    /// the error is logged.
    async fn disable_unreadable(&self, found: UnreadableSchedule, now: Millis) -> Result<(), StoreError> {
        let UnreadableSchedule {
            schedule_id: name,
            agent_id,
            column,
        } = found;
        let agent = AgentId::parse(&agent_id).ok();
        let draft = EventDraft::new(AgentStateChanged::ScheduleUnreadable {
            schedule_id: name.clone(),
            column: column.to_owned(),
        });
        let sealed = SealedEvent::new(draft, now, None, self.entropy.random_bytes());
        let sealed = sealed.map_err(|_| StoreError::Malformed("an event"))?;
        let (schedule, whose) = (name.clone(), agent.clone());
        let event = self.store.write(move |tx| {
            let head = match &whose {
                Some(agent) => tx.lock_head_to_announce(agent)?,
                None => None,
            };
            if !tx.disable_unreadable_schedule(&schedule, now)? {
                return Ok(None);
            }
            let told = whose.as_ref().zip(head);
            told.map(|(agent, mut head)| append(tx, agent, &mut head, &sealed))
                .transpose()
        });
        if let (Some(agent), Some(event)) = (agent, event.await?) {
            self.hub.on_events(&agent, &[event]);
        }
        tracing::warn!(
            schedule = %name,
            agent = %agent_id,
            column,
            "the schedule is unreadable and was paused; the others continue"
        );
        Ok(())
    }

    /// Commits the firings of one due schedule and its next due time.
    async fn tick(&self, timer: Schedule, now: Millis) -> Result<(), StoreError> {
        let is_changed = match timer.asks(TriggerSource::Tick) {
            FiringCondition::Nothing => true,
            FiringCondition::Work | FiringCondition::Guard(_) => self.is_changed(&timer, now).await?,
        };
        let stamps = StampSource {
            entropy: self.entropy.as_ref(),
            now,
        };
        let mut ticked = timer.tick(now);
        if let Ok(ticked) = &mut ticked
            && planted_bugs::is_planted("moment_skipped")
            && now.0 / 1_000 % 2 == 0
        {
            ticked.firings.clear();
        }
        let due = Due {
            timer: &timer,
            ticked,
            is_changed,
            occasion: FiringCause::Tick,
        };
        let plan = PreparedFiring::new(&self.store, due, &stamps).await?;
        fail_point::fail_point("timer.before_commit");
        // On a conflict another process has already advanced the schedule, and nothing is left to do.
        let fired = match self.store.write(move |tx| plan.commit(tx)).await {
            Ok(fired) => fired,
            Err(StoreError::Conflict) => return Ok(()),
            Err(error) => {
                // The commit may have succeeded, and no other signal would announce the work.
                self.work.signal_any();
                return Err(error);
            }
        };
        fail_point::fail_point("timer.after_commit");
        self.publish_firing(&timer, &fired);
        Ok(())
    }

    fn publish_firing(&self, timer: &Schedule, fired: &FiringResult) {
        publish_firing(&self.hub, &self.work, timer, fired);
    }

    /// Whether anyone but the agent wrote to the journal since the agent's newest run started. A start time
    /// in the future is ignored, because the clock was set back. If this cannot be read, it counts as
    /// changed: an extra wake is better than a lost one.
    async fn is_changed(&self, timer: &Schedule, now: Millis) -> Result<bool, StoreError> {
        let author = Author::Agent(timer.agent_id.clone());
        let newest = match self.journal.newest_change_not_by(author).await {
            Ok(None) => return Ok(false),
            Ok(Some((_, at))) => at,
            Err(_) => return Ok(true),
        };
        let agent = timer.agent_id.clone();
        let began = self.store.read(move |view| view.last_run_at(&agent)).await?;
        Ok(began.is_none_or(|began| began > now || newest > began))
    }
}

/// Publishes committed events and signals work.
pub(crate) fn publish_firing(hub: &Hub, work: &WorkSignal, timer: &Schedule, fired: &FiringResult) {
    if !fired.events.is_empty() {
        hub.on_events(&timer.agent_id, &fired.events);
    }
    if fired.is_work {
        work.signal_agent(timer.agent_id.clone());
    }
}

/// Fires a schedule on request or because of an event. A guard that requires changes counts as satisfied.
pub(crate) async fn fire_now(
    store: &Store,
    timer: &Schedule,
    occasion: FiringCause<'_>,
    stamps: &StampSource<'_>,
) -> Result<FiringResult, EngineError> {
    let firing = Firing {
        due_at: stamps.now,
        is_catch_up: false,
    };
    let due = Due {
        timer,
        ticked: Ok(TickResult::triggered_now(timer, firing)),
        is_changed: true,
        occasion,
    };
    let plan = PreparedFiring::new(store, due, stamps).await?;
    Ok(store.write(move |tx| plan.commit(tx)).await?)
}
