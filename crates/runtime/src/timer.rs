//! The clock's loop: schedules that are due become messages, and every outcome is kept.
//!
//! There is one sleep, for the least due schedule of all; it is armed anew whenever a schedule is changed here, when the
//! wall clock is set, and after every look. Where no schedule is at work there is no timer. What the clock makes of a
//! schedule is `core`'s rule; here it is written down, in one transaction: messages in line, records, and the next moment.

mod firing;

use std::sync::Arc;

use wakeful_core::journal::Author;
use wakeful_core::time::Millis;
use wakeful_core::timer::{Firing, Ticked, Timer, TriggerSource};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::fail;
use wakeful_ports::journal::Journal;
use wakeful_ports::store::{Store, StoreError};

pub(crate) use self::firing::Fired;
use self::firing::{Plan, Tools};
use crate::desk::Work;
use crate::hub::Hub;
use crate::service::Writers;
use crate::{EngineError, Halt, Observer as _};

/// Schedules that one look takes up. What is left is looked for at once.
const SCHEDULES_AT_ONCE_MAX: u32 = 64;

/// Looks in a row that find something. As many schedules as there may be are taken up by then.
const LOOKS_MAX: u32 = 1_000;

/// How often a database that others write to is looked at. Where this process is the only writer, never.
const SHARED_LOOK_MS: u64 = 1_000;

/// When a look that failed is tried again.
const FAILED_LOOK_MS: u64 = 1_000;

/// Looks at schedules when they are due.
pub struct Timers<S> {
    pub(crate) store: S,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) work: Arc<Work>,
    pub(crate) writers: Writers,
}

impl<S: Store> Timers<S> {
    /// Looks until a stop is asked for. What came due while nobody looked is due now.
    pub async fn run(&self, halt: &Halt) {
        while !halt.is_set() {
            let next = self.look().await;
            tokio::select! {
                biased;
                () = halt.asked() => return,
                () = self.work.rearmed() => {}
                () = self.until(next) => {}
            }
        }
    }

    /// Resolves when it is time for another look; never, where nothing is to come and nobody else writes.
    async fn until(&self, next: Result<Option<Millis>, StoreError>) {
        match (next, self.writers) {
            (Err(_), _) => self.clock.sleep(FAILED_LOOK_MS).await,
            (Ok(Some(next)), Writers::Alone) => self.clock.sleep_until(next).await,
            (Ok(None), Writers::Alone) => std::future::pending().await,
            (Ok(next), Writers::Many) => {
                let wait_ms = next.map_or(SHARED_LOOK_MS, |next| next.since(self.clock.now()));
                self.clock.sleep(wait_ms.clamp(1, SHARED_LOOK_MS)).await;
            }
        }
    }

    /// Takes up everything that is due, and says when something is again.
    async fn look(&self) -> Result<Option<Millis>, StoreError> {
        for _ in 0..LOOKS_MAX {
            let now = self.clock.now();
            let due = self
                .store
                .read(move |view| view.due_schedules(now, SCHEDULES_AT_ONCE_MAX));
            let due = due.await?;
            if due.is_empty() {
                return self.store.read(|view| view.next_schedule_due()).await;
            }
            for timer in due {
                self.tick(timer, now).await?;
            }
        }
        // Somebody makes them faster than they are taken up: a stop has to be heard all the same.
        self.store.read(|view| view.next_schedule_due()).await
    }

    /// One look at one schedule.
    async fn tick(&self, timer: Timer, now: Millis) -> Result<(), StoreError> {
        let is_changed = match timer.always {
            true => None,
            false => Some(self.is_changed(&timer, now).await?),
        };
        let tools = Tools {
            entropy: self.entropy.as_ref(),
            now,
        };
        let ticked = timer.tick(now);
        let source = (TriggerSource::Tick, None);
        let plan = Plan::new(&self.store, &timer, (ticked, is_changed), source, &tools).await?;
        fail::point("timer.before_commit");
        // Whoever else looked at it has moved it on: then there is nothing to do here.
        let fired = match self.store.write(move |tx| plan.commit(tx)).await {
            Ok(fired) => fired,
            Err(StoreError::Conflict) => return Ok(()),
            Err(error) => return Err(error),
        };
        fail::point("timer.after_commit");
        self.tell(&timer, &fired);
        Ok(())
    }

    fn tell(&self, timer: &Timer, fired: &Fired) {
        tell(&self.hub, &self.work, timer, fired);
    }

    /// Whether somebody but the agent wrote to the journal since the agent's newest run began. A run that began at a time
    /// which has not come yet says nothing: the clock was set back. What cannot be looked at counts as changed: a wake too
    /// many is better than one that is lost.
    async fn is_changed(&self, timer: &Timer, now: Millis) -> Result<bool, StoreError> {
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

/// Hands on what was committed.
pub(crate) fn tell(hub: &Hub, work: &Work, timer: &Timer, fired: &Fired) {
    if !fired.events.is_empty() {
        hub.saw(&timer.agent_id, &fired.events);
    }
    if fired.is_work {
        work.look_at(timer.agent_id.clone());
    }
}

/// Lets a schedule fire because somebody asked for it; `request` names the occurrence.
pub(crate) async fn by_hand<S: Store>(
    store: &S,
    timer: &Timer,
    (source, request): (TriggerSource, &str),
    (entropy, now): (&dyn Entropy, Millis),
) -> Result<Fired, EngineError> {
    let firing = Firing {
        due_at: now,
        is_catch_up: false,
    };
    let ticked = Ticked::by_hand(timer, firing);
    let tools = Tools { entropy, now };
    let plan = Plan::new(store, timer, (Ok(ticked), None), (source, Some(request)), &tools).await?;
    Ok(store.write(move |tx| plan.commit(tx)).await?)
}
