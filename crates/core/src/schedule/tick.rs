//! The effect of a clock tick on a schedule.

use serde::{Deserialize, Serialize};

use super::{Concurrency, GRACE_SECONDS, SET_BACK_MS, Schedule, ScheduleReason, ScheduleStatus};
use crate::recurrence::{CatchUp, Recurrence, RecurrenceError};
use crate::time::Millis;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FiringTime {
    /// When the wall clock of a time zone matches a cron pattern.
    Cron {
        cron: String,
        /// The IANA name of the time zone.
        time_zone: String,
    },
    /// At a fixed interval.
    Every {
        interval_seconds: u64,
        /// A time from which intervals are counted.
        anchor: Millis,
    },
    /// Once.
    At { at: Millis },
}

/// The result of a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickResult {
    /// The schedule after the tick. New execution records are not counted yet.
    pub timer: Schedule,
    /// Firings that are due, in the order of time.
    pub firings: Vec<Firing>,
    /// The number of other firings that were missed.
    pub missed: u64,
    /// Whether `missed` is a lower bound because counting stopped at its limit.
    pub is_capped: bool,
    /// The nominal time of the first missed firing.
    pub missed_from: Option<Millis>,
    /// Whether the clock was set back, so that only the next firing was computed.
    pub was_set_back: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Firing {
    /// The nominal time, which is part of the run key.
    pub due_at: Millis,
    /// Whether it was missed and is delivered later.
    pub is_catch_up: bool,
}

/// Which firings run, given what is in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiringPlan {
    pub fire: Vec<Firing>,
    /// Skipped firings with their reasons.
    pub skip: Vec<(Firing, ScheduleReason)>,
    /// Whether the run in progress is replaced.
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

    /// Creates the result for a schedule that cannot continue: it has no firing left, or its pattern cannot
    /// be read.
    #[must_use]
    pub fn expired(timer: &Schedule) -> Self {
        Self::nothing(Schedule {
            status: ScheduleStatus::Expired,
            next_execution_at: None,
            ..timer.clone()
        })
    }

    /// Creates the result for a firing caused by a person or an event instead of the clock: future firings
    /// stay unchanged. A schedule for a single firing is used up only if the firing woke the agent, see
    /// [`Schedule::record_manual_firing`].
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

    /// Returns the first firing after a time; none if none is left.
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

    /// Returns the firings that run, the number of others, and whether that number was capped.
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
    /// Updates a schedule after a manual or event firing became a message: a schedule for a single firing
    /// is used up. A refused or skipped firing leaves it unchanged, so that its own time still fires.
    pub fn record_manual_firing(&mut self) {
        if self.auto_disable_after_run {
            self.status = ScheduleStatus::Disabled;
            self.next_execution_at = None;
        }
    }

    /// Evaluates an active schedule at a time. Only firings after `seen_until` are evaluated, so decisions
    /// are never repeated. After the clock was set back, only the next firing is computed again; firings
    /// that already ran do not run again, because their run keys exist.
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

/// Chooses which firings run, given whether one of the schedule is in progress. If only one may run, the
/// newest is chosen.
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
