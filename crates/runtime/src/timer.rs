//! The clock's loop: schedules that are due become messages, and every outcome is kept.
//!
//! There is one sleep, for the least due schedule of all; it is armed anew whenever a schedule is changed here, when the
//! wall clock is set, and after every look. Where no schedule is at work there is no timer. What the clock makes of a
//! schedule is `core`'s rule; here it is written down, in one transaction: messages in line, records, and the next moment.

mod firing;

use std::sync::Arc;

use wakeful_core::id::AgentId;
use wakeful_core::journal::Author;
use wakeful_core::report::payload::AgentStateChanged;
use wakeful_core::report::{Draft, Sealed};
use wakeful_core::time::Millis;
use wakeful_core::timer::{Asks, Firing, Ticked, Timer, TriggerSource};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::fail;
use wakeful_ports::journal::Journal;
use wakeful_ports::planted;
use wakeful_store::rows::Unreadable;
use wakeful_store::{Store, StoreError};

use self::firing::{Due, Plan};
pub(crate) use self::firing::{Fired, Occasion};
use crate::api::{Work, append};
use crate::hub::Hub;
use crate::service::Writers;
use crate::stamp::StampSource;
use crate::{EngineError, Halt, Observer as _};
use wakeful_core::problem::with_causes;

/// Schedules that one look takes up. What is left is looked for at once.
const SCHEDULES_AT_ONCE_MAX: u32 = 64;

/// Looks in a row that find something. As many schedules as there may be are taken up by then.
const LOOKS_MAX: u32 = 1_000;

/// How often a database that others write to is looked at. Where this process is the only writer, never.
const SHARED_LOOK_MS: u64 = 1_000;

/// When a look that failed is tried again.
const FAILED_LOOK_MS: u64 = 1_000;

/// Looks at schedules when they are due.
pub struct Timers {
    pub(crate) store: Store,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) work: Arc<Work>,
    pub(crate) writers: Writers,
}

impl Timers {
    /// Looks until a stop is asked for. What came due while nobody looked is due now.
    pub async fn run(&self, halt: &Halt) {
        let mut last = None;
        while !halt.is_set() {
            let next = self.look().await;
            let why = next.as_ref().err().map(|error| with_causes(error));
            // A failure that goes on is logged once.
            if let Some(why) = why.as_ref().filter(|_| why != last) {
                tracing::warn!(error = %why, "schedules do not wake agents for now");
            }
            last = why;
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
            if due.timers.is_empty() && due.unreadable.is_empty() {
                return self.store.read(|view| view.next_schedule_due()).await;
            }
            for unreadable in due.unreadable {
                self.set_aside(unreadable, now).await?;
            }
            for timer in due.timers {
                let (schedule_id, agent_id) = (timer.schedule_id.to_string(), timer.agent_id.to_string());
                match self.tick(timer, now).await {
                    // Something that it needs cannot be read: it would be met first by every look to come.
                    Err(StoreError::Malformed(column)) => {
                        let unreadable = Unreadable {
                            schedule_id,
                            agent_id,
                            column,
                        };
                        self.set_aside(unreadable, now).await?;
                    }
                    ticked => ticked?,
                }
            }
        }
        // Somebody makes them faster than they are taken up: a stop has to be heard all the same.
        self.store.read(|view| view.next_schedule_due()).await
    }

    /// Lets a schedule rest of which something cannot be read, so that the others go on: it is kept as it is, and logged.
    async fn set_aside(&self, found: Unreadable, now: Millis) -> Result<(), StoreError> {
        let Unreadable {
            schedule_id: name,
            agent_id,
            column,
        } = found;
        let agent = AgentId::parse(&agent_id).ok();
        let draft = Draft::new(AgentStateChanged::ScheduleSetAside {
            schedule_id: name.clone(),
            column: column.to_owned(),
        });
        let sealed = Sealed::new(draft, now, None, self.entropy.bytes32());
        let sealed = sealed.map_err(|_| StoreError::Malformed("an announcement"))?;
        let (schedule, whose) = (name.clone(), agent.clone());
        let event = self.store.write(move |tx| {
            let head = match &whose {
                Some(agent) => tx.lock_head_to_announce(agent)?,
                None => None,
            };
            if !tx.set_schedule_aside(&schedule, now)? {
                return Ok(None);
            }
            let told = whose.as_ref().zip(head);
            told.map(|(agent, mut head)| append(tx, agent, &mut head, &sealed))
                .transpose()
        });
        if let (Some(agent), Some(event)) = (agent, event.await?) {
            self.hub.saw(&agent, &[event]);
        }
        tracing::warn!(
            schedule = %name,
            agent = %agent_id,
            column,
            "the schedule cannot be read; it is paused, and the others go on"
        );
        Ok(())
    }

    /// One look at one schedule.
    async fn tick(&self, timer: Timer, now: Millis) -> Result<(), StoreError> {
        let is_changed = match timer.asks(TriggerSource::Tick) {
            Asks::Nothing => true,
            Asks::Work | Asks::Guard(_) => self.is_changed(&timer, now).await?,
        };
        let stamps = StampSource {
            entropy: self.entropy.as_ref(),
            now,
        };
        let mut ticked = timer.tick(now);
        if let Ok(ticked) = &mut ticked
            && planted::bug("moment_skipped")
            && now.0 / 1_000 % 2 == 0
        {
            ticked.firings.clear();
        }
        let due = Due {
            timer: &timer,
            ticked,
            is_changed,
            occasion: Occasion::Tick,
        };
        let plan = Plan::new(&self.store, due, &stamps).await?;
        fail::point("timer.before_commit");
        // Whoever else looked at it has moved it on: then there is nothing to do here.
        let fired = match self.store.write(move |tx| plan.commit(tx)).await {
            Ok(fired) => fired,
            Err(StoreError::Conflict) => return Ok(()),
            Err(error) => {
                // It may stand all the same, and then nobody else says so.
                self.work.look();
                return Err(error);
            }
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

/// Lets a schedule fire because somebody asked for it, or something happened. Where a guard asks whether anything changed,
/// it did.
pub(crate) async fn by_hand(
    store: &Store,
    timer: &Timer,
    occasion: Occasion<'_>,
    stamps: &StampSource<'_>,
) -> Result<Fired, EngineError> {
    let firing = Firing {
        due_at: stamps.now,
        is_catch_up: false,
    };
    let due = Due {
        timer,
        ticked: Ok(Ticked::by_hand(timer, firing)),
        is_changed: true,
        occasion,
    };
    let plan = Plan::new(store, due, stamps).await?;
    Ok(store.write(move |tx| plan.commit(tx)).await?)
}
