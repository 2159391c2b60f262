//! What may be asked of a schedule, field by field.

use super::{
    CATCH_UP_RUNS_DEFAULT, CATCH_UP_RUNS_MAX, CATCH_UP_WINDOW_SECONDS_DEFAULT, CATCH_UP_WINDOW_SECONDS_MAX,
    Concurrency, FiringTime, Guard, LABEL_CHARS_MAX, MESSAGE_BYTES_MAX, Schedule, ScheduleStatus,
};
use crate::id::{AgentId, EventName, RuleId};
use crate::recurrence::RecurrenceError;
use crate::time::Millis;

/// A schedule that somebody wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleDraft {
    /// Its name.
    pub schedule_id: RuleId,
    /// Whom it wakes.
    pub agent_id: AgentId,
    /// What people call it.
    pub label: String,
    /// When it fires.
    pub when: FiringTime,
    /// What it says to the agent.
    pub message: String,
    /// Whether it begins at rest.
    pub is_paused: bool,
    /// What becomes of a firing while the one before it is under way.
    pub concurrency: Concurrency,
    /// Whether missed firings are made up for.
    pub allows_catch_up: bool,
    /// Whether it is over after its first firing.
    pub auto_disable_after_run: bool,
    /// How old a missed firing may be and still be made up for.
    pub catch_up_window_seconds: u64,
    /// How many of them run at once.
    pub max_catch_up_runs_per_tick: u64,
    /// Whether it wakes the agent also when nothing changed.
    pub always: bool,
    /// What must hold for a firing to wake the agent.
    pub guard: Option<Guard>,
    /// What it waits for beside its time.
    pub event: Option<EventName>,
}

/// Why a schedule cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// A field is not as it must be.
    #[error("`{field}` {problem}")]
    Field {
        /// Which one.
        field: &'static str,
        /// What is wrong, and how it is right.
        problem: String,
    },
    /// The pattern, its zone or its interval.
    #[error(transparent)]
    When(#[from] RecurrenceError),
}

impl ScheduleDraft {
    /// A schedule with everything that nobody has to say left as it is.
    #[must_use]
    pub fn new(schedule_id: RuleId, agent_id: AgentId, when: FiringTime, say: String) -> Self {
        let is_once = matches!(when, FiringTime::At { .. });
        Self {
            label: schedule_id.to_string(),
            schedule_id,
            agent_id,
            when,
            message: say,
            is_paused: false,
            concurrency: Concurrency::default(),
            allows_catch_up: false,
            auto_disable_after_run: is_once,
            catch_up_window_seconds: CATCH_UP_WINDOW_SECONDS_DEFAULT,
            max_catch_up_runs_per_tick: CATCH_UP_RUNS_DEFAULT,
            always: false,
            guard: None,
            event: None,
        }
    }

    /// The schedule, if every field is as it must be.
    pub fn check(&self, now: Millis) -> Result<Schedule, ScheduleError> {
        let label_chars = self.label.chars().count();
        if !(1..=LABEL_CHARS_MAX).contains(&label_chars) || self.label.chars().any(char::is_control) {
            let problem = format!("must be 1 to {LABEL_CHARS_MAX} characters without control characters");
            return Err(wrong("label", problem));
        }
        if self.message.trim().is_empty() {
            return Err(wrong("say", "is empty: it is what the agent is told".to_owned()));
        }
        if self.message.len() > MESSAGE_BYTES_MAX {
            let problem = format!("has more than {MESSAGE_BYTES_MAX} bytes; a longer text belongs in a file");
            return Err(wrong("say", problem));
        }
        if !(1..=CATCH_UP_WINDOW_SECONDS_MAX).contains(&self.catch_up_window_seconds) {
            let problem = format!("must be 1 to {CATCH_UP_WINDOW_SECONDS_MAX}");
            return Err(wrong("catch_up_window_seconds", problem));
        }
        if !(1..=CATCH_UP_RUNS_MAX).contains(&self.max_catch_up_runs_per_tick) {
            let problem = format!("must be 1 to {CATCH_UP_RUNS_MAX}");
            return Err(wrong("max_catch_up_runs_per_tick", problem));
        }
        let next = self.when.first_after(now)?;
        let next = match (&self.when, next) {
            (_, Some(next)) => next,
            (FiringTime::At { at }, None) => {
                let problem = format!("is {}, which has passed; give a moment to come", at.rfc3339());
                return Err(wrong("at", problem));
            }
            (FiringTime::Cron { .. } | FiringTime::Every { .. }, None) => {
                return Err(RecurrenceError::Exhausted.into());
            }
        };
        let status = if self.is_paused {
            ScheduleStatus::Paused
        } else {
            ScheduleStatus::Active
        };
        Ok(Schedule {
            schedule_id: self.schedule_id.clone(),
            revision: 1,
            agent_id: self.agent_id.clone(),
            label: self.label.clone(),
            when: self.when.clone(),
            message: self.message.clone(),
            status,
            concurrency: self.concurrency,
            allows_catch_up: self.allows_catch_up,
            auto_disable_after_run: self.auto_disable_after_run,
            catch_up_window_seconds: self.catch_up_window_seconds,
            max_catch_up_runs_per_tick: self.max_catch_up_runs_per_tick,
            always: self.always,
            guard: self.guard.clone(),
            event: self.event.clone(),
            last_execution_at: None,
            next_execution_at: (status == ScheduleStatus::Active).then_some(next),
            seen_until: now,
            last_run: None,
            executions: 0,
            version: 1,
            created_at: now,
        })
    }
}

/// When a schedule is to fire, as people and programs say it: a pattern in a zone, an interval, or one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SchedulePattern<'a> {
    /// A pattern of the clock.
    pub cron: Option<&'a str>,
    /// The zone whose clocks it means.
    pub time_zone: Option<&'a str>,
    /// How far apart firings are.
    pub interval_seconds: Option<u64>,
    /// A moment at which it fires.
    pub anchor: Option<&'a str>,
    /// The one moment at which it fires.
    pub at: Option<&'a str>,
}

impl SchedulePattern<'_> {
    /// What is meant, if it is exactly one of the three.
    pub fn read(&self, now: Millis) -> Result<FiringTime, ScheduleError> {
        let moment = |field, text: &str| {
            let problem = || "must be an RFC 3339 time such as 2026-03-01T07:00:00Z".to_owned();
            Millis::parse_rfc3339(text).ok_or_else(|| wrong(field, problem()))
        };
        let belongs = |field, to: &str| wrong(field, format!("belongs to `{to}`"));
        let when = match (self.cron, self.interval_seconds, self.at) {
            (Some(cron), None, None) => {
                let missing = || {
                    wrong(
                        "time_zone",
                        "is missing: a pattern means the clocks of a zone".to_owned(),
                    )
                };
                FiringTime::Cron {
                    cron: cron.to_owned(),
                    time_zone: self.time_zone.ok_or_else(missing)?.to_owned(),
                }
            }
            (None, Some(interval_seconds), None) => FiringTime::Every {
                interval_seconds,
                anchor: self.anchor.map_or(Ok(now), |anchor| moment("anchor", anchor))?,
            },
            (None, None, Some(at)) => FiringTime::At {
                at: moment("at", at)?,
            },
            _ => {
                let problem = "must be exactly one of `cron` with `time_zone`, `interval_seconds`, and `at`";
                return Err(wrong("pattern", problem.to_owned()));
            }
        };
        match &when {
            FiringTime::Every { .. } | FiringTime::At { .. } if self.time_zone.is_some() => {
                Err(belongs("time_zone", "cron"))
            }
            FiringTime::Cron { .. } | FiringTime::At { .. } if self.anchor.is_some() => {
                Err(belongs("anchor", "interval_seconds"))
            }
            FiringTime::Cron { .. } | FiringTime::Every { .. } | FiringTime::At { .. } => Ok(when),
        }
    }
}

pub(super) const fn wrong(field: &'static str, problem: String) -> ScheduleError {
    ScheduleError::Field { field, problem }
}
