//! What a look at the clock makes of a schedule.

use serde::{Deserialize, Serialize};

use super::{Concurrency, GRACE_SECONDS, SET_BACK_MS, Schedule, ScheduleReason, ScheduleStatus};
use crate::recurrence::{CatchUp, Recurrence, RecurrenceError};
use crate::time::Millis;

/// When a schedule fires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FiringTime {
    /// When the clocks of a zone show what a pattern means.
    Cron {
        /// The pattern.
        cron: String,
        /// The zone, by its IANA name.
        time_zone: String,
    },
    /// At equal distances.
    Every {
        /// How far apart.
        interval_seconds: u64,
        /// A moment at which it fires.
        anchor: Millis,
    },
    /// Once.
    At {
        /// The moment.
        at: Millis,
    },
}

/// What a look at the clock found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickResult {
    /// The schedule after it. Its records are not counted yet.
    pub timer: Schedule,
    /// Firings that want to run, in the order of time.
    pub firings: Vec<Firing>,
    /// How many others were missed.
    pub missed: u64,
    /// Whether there were even more.
    pub is_capped: bool,
    /// The first of those that were missed.
    pub missed_from: Option<Millis>,
    /// Whether the clock was set back, and nothing but the next firing was worked out.
    pub was_set_back: bool,
}

/// A firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Firing {
    /// The moment that it was meant for, which names its run.
    pub due_at: Millis,
    /// Whether it was missed and is made up for.
    pub is_catch_up: bool,
}

/// What becomes of firings, given what is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiringPlan {
    /// Those that fire.
    pub fire: Vec<Firing>,
    /// Those that do not, and why.
    pub skip: Vec<(Firing, ScheduleReason)>,
    /// Whether what is under way has to make room.
    pub replaces: bool,
}

impl TickResult {
    fn nothing(timer: Schedule) -> Self {
        Self {
            timer,
            firings: Vec::new(),
            missed: 0,
            is_capped: false,
            missed_from: None,
            was_set_back: false,
        }
    }

    /// A schedule that cannot go on: it has no firing left, or its pattern cannot be read.
    #[must_use]
    pub fn expired(timer: &Schedule) -> Self {
        Self::nothing(Schedule {
            status: ScheduleStatus::Expired,
            next_execution_at: None,
            ..timer.clone()
        })
    }

    /// A firing that does not come from the clock but from a person or an event: what is to come stays as it is. What is
    /// for once is over only when it woke somebody, see [`Timer::record_manual_firing`].
    #[must_use]
    pub fn triggered_now(timer: &Schedule, firing: Firing) -> Self {
        let mut ticked = Self::nothing(timer.clone());
        ticked.firings.push(firing);
        ticked.timer.last_execution_at = Some(firing.due_at);
        ticked
    }
}

impl FiringTime {
    fn schedule(&self) -> Result<Option<Recurrence>, RecurrenceError> {
        match self {
            Self::Cron { cron, time_zone } => Recurrence::cron(cron, time_zone).map(Some),
            Self::Every {
                interval_seconds,
                anchor,
            } => Recurrence::every(*interval_seconds, *anchor).map(Some),
            Self::At { .. } => Ok(None),
        }
    }

    /// The first firing after a moment; none where none comes any more.
    pub fn first_after(&self, after: Millis) -> Result<Option<Millis>, RecurrenceError> {
        let Some(schedule) = self.schedule()? else {
            let Self::At { at } = self else { return Ok(None) };
            return Ok((*at > after).then_some(*at));
        };
        match schedule.next(after, 1) {
            Ok(firings) => Ok(firings.first().copied()),
            Err(RecurrenceError::Exhausted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Those that run, how many others there were, and whether there were even more.
    fn due(
        &self,
        last: Millis,
        now: Millis,
        catch_up: CatchUp,
    ) -> Result<(Vec<Millis>, u64, bool), RecurrenceError> {
        if let Self::At { at } = self {
            let age_seconds = match catch_up {
                CatchUp::Off { grace_seconds } => grace_seconds,
                CatchUp::On { window_seconds, .. } => window_seconds,
            };
            let is_due = *at > last && *at <= now;
            let is_young = now.since(*at) <= age_seconds.saturating_mul(1000);
            return Ok(match (is_due, is_young) {
                (true, true) => (vec![*at], 0, false),
                (true, false) => (Vec::new(), 1, false),
                (false, _) => (Vec::new(), 0, false),
            });
        }
        let Some(schedule) = self.schedule()? else {
            return Ok((Vec::new(), 0, false));
        };
        match schedule.due(Some(last), now, catch_up) {
            Ok(due) => Ok((due.runs, due.skipped, due.skipped_capped)),
            Err(error) => Err(error),
        }
    }
}

impl Schedule {
    /// What becomes of a schedule when a firing by hand or by an event has become a message: what is for once is used up.
    /// One that was refused or skipped leaves it as it is, so its own moment is still to come.
    pub fn record_manual_firing(&mut self) {
        if self.auto_disable_after_run {
            self.status = ScheduleStatus::Disabled;
            self.next_execution_at = None;
        }
    }

    /// What a look at the clock makes of an active schedule. What was decided stays decided: only firings after
    /// `seen_until` are looked at. A clock that was set back makes the next firing nearer, and nothing else; what ran
    /// before does not run again, because its run has its name.
    pub fn tick(&self, now: Millis) -> Result<TickResult, RecurrenceError> {
        let mut ticked = TickResult::nothing(self.clone());
        if self.status != ScheduleStatus::Active {
            return Ok(ticked);
        }
        if now.0.saturating_add(SET_BACK_MS) < self.seen_until.0 {
            ticked.was_set_back = true;
            ticked.timer.seen_until = now;
            ticked.timer.next_execution_at = self.when.first_after(now)?;
            if ticked.timer.next_execution_at.is_none() {
                ticked.timer.status = ScheduleStatus::Expired;
            }
            return Ok(ticked);
        }
        let now = now.max(self.seen_until);
        let catch_up = match self.allows_catch_up {
            false => CatchUp::Off {
                grace_seconds: GRACE_SECONDS,
            },
            true => CatchUp::On {
                window_seconds: self.catch_up_window_seconds.max(GRACE_SECONDS),
                runs_max: self.max_catch_up_runs_per_tick,
            },
        };
        let (runs, missed, is_capped) = self.when.due(self.seen_until, now, catch_up)?;
        ticked.firings = runs.into_iter().map(|due_at| firing(due_at, now)).collect();
        ticked.missed = missed;
        ticked.is_capped = is_capped;
        ticked.missed_from = match missed {
            0 => None,
            _ => self.when.first_after(self.seen_until)?,
        };
        let timer = &mut ticked.timer;
        timer.seen_until = now;
        timer.next_execution_at = self.when.first_after(now)?;
        timer.last_execution_at = ticked
            .firings
            .last()
            .map(|firing| firing.due_at)
            .or(self.last_execution_at);
        let had_its_chance = !ticked.firings.is_empty() || missed > 0;
        if self.auto_disable_after_run && had_its_chance {
            timer.status = ScheduleStatus::Disabled;
            timer.next_execution_at = None;
        } else if timer.next_execution_at.is_none() {
            timer.status = ScheduleStatus::Expired;
        }
        Ok(ticked)
    }
}

fn firing(due_at: Millis, now: Millis) -> Firing {
    let is_catch_up = now.since(due_at) > GRACE_SECONDS * 1000;
    Firing { due_at, is_catch_up }
}

/// Which firings go on, given whether one of the schedule is under way. Where only one may be, it is the newest.
#[must_use]
pub fn settle(concurrency: Concurrency, mut firings: Vec<Firing>, is_under_way: bool) -> FiringPlan {
    let skipped = |firings: Vec<Firing>, reason| firings.into_iter().map(|one| (one, reason)).collect();
    let newest = match concurrency {
        Concurrency::Allow => {
            return FiringPlan {
                fire: firings,
                skip: Vec::new(),
                replaces: false,
            };
        }
        Concurrency::Forbid if is_under_way => None,
        Concurrency::Forbid | Concurrency::Replace => firings.pop(),
    };
    FiringPlan {
        replaces: is_under_way && newest.is_some(),
        fire: newest.into_iter().collect(),
        skip: match concurrency {
            Concurrency::Replace => skipped(firings, ScheduleReason::ConcurrencyReplace),
            Concurrency::Allow | Concurrency::Forbid => skipped(firings, ScheduleReason::ConcurrencyForbid),
        },
    }
}
