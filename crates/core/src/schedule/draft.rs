//! Validation of a requested schedule, field by field.

use super::{
    CATCH_UP_RUNS_DEFAULT, CATCH_UP_RUNS_MAX, CATCH_UP_WINDOW_SECONDS_DEFAULT, CATCH_UP_WINDOW_SECONDS_MAX,
    Concurrency, FiringTime, Guard, LABEL_CHARS_MAX, MESSAGE_BYTES_MAX, Schedule, ScheduleStatus,
};
use crate::id::{AgentId, EventName, RuleId};
use crate::recurrence::RecurrenceError;
use crate::time::Millis;

/// A requested schedule before validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleDraft {
    pub schedule_id: RuleId,
    /// The agent that it wakes.
    pub agent_id: AgentId,
    /// The display name.
    pub label: String,
    pub when: FiringTime,
    /// The message that a firing delivers to the agent; empty if it only reports that something changed.
    pub message: String,
    /// Whether it is created paused.
    pub is_paused: bool,
    /// What happens to a firing while the previous one is in progress.
    pub concurrency: Concurrency,
    /// Whether missed firings are delivered later.
    pub allows_catch_up: bool,
    /// Whether it is disabled after its first firing.
    pub auto_disable_after_run: bool,
    /// The maximum age of a missed firing that is still delivered.
    pub catch_up_window_seconds: u64,
    /// The maximum number of missed firings that run at once.
    pub max_catch_up_runs_per_tick: u64,
    /// Whether it wakes the agent even if nothing changed.
    pub always: bool,
    /// The condition under which a firing wakes the agent.
    pub guard: Option<Guard>,
    /// An event that also makes it fire.
    pub event: Option<EventName>,
}

/// Why a schedule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// A field is invalid.
    #[error("`{field}` {problem}")]
    Field {
        field: &'static str,
        /// What is wrong and which values are valid.
        problem: String,
    },
    /// The pattern, its time zone or its interval is invalid.
    #[error(transparent)]
    When(#[from] RecurrenceError),
}

impl ScheduleDraft {
    /// Creates a draft with the defaults of all optional fields.
    #[must_use]
    pub fn new(schedule_id: RuleId, agent_id: AgentId, when: FiringTime, say: String) -> Self {
        let is_once = matches!(when, FiringTime::At { .. });
        Self {
            label: schedule_id.to_string(),
            // A message is delivered; without one, a firing needs something to report.
            always: !say.is_empty(),
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
            guard: None,
            event: None,
        }
    }

    /// Validates every field and returns the schedule.
    pub fn check(&self, now: Millis) -> Result<Schedule, ScheduleError> {
        let label_chars = self.label.chars().count();
        if !(1..=LABEL_CHARS_MAX).contains(&label_chars) || self.label.chars().any(char::is_control) {
            let problem = format!("must be 1 to {LABEL_CHARS_MAX} characters without control characters");
            return Err(wrong("label", problem));
        }
        if !self.message.is_empty() && self.message.trim().is_empty() {
            return Err(wrong(
                "say",
                "is blank; give the text that the agent receives, or omit it".to_owned(),
            ));
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
                let problem = format!("is {}, which has passed; use a time in the future", at.rfc3339());
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

/// The firing times as the API and the CLI receive them: a cron pattern in a time zone, an interval, or one
/// time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SchedulePattern<'a> {
    /// A cron pattern.
    pub cron: Option<&'a str>,
    /// The time zone of the cron pattern.
    pub time_zone: Option<&'a str>,
    /// The interval between firings.
    pub interval_seconds: Option<u64>,
    /// A time from which intervals are counted.
    pub anchor: Option<&'a str>,
    /// The time of a single firing.
    pub at: Option<&'a str>,
}

impl SchedulePattern<'_> {
    /// Parses the pattern; exactly one of the three forms must be given.
    pub fn read(&self, now: Millis) -> Result<FiringTime, ScheduleError> {
        let moment = |field, text: &str| {
            let problem = || "must be an RFC 3339 time such as 2026-03-01T07:00:00Z".to_owned();
            Millis::parse_rfc3339(text).ok_or_else(|| wrong(field, problem()))
        };
        let belongs = |field, to: &str| wrong(field, format!("is only valid with `{to}`"));
        let when = match (self.cron, self.interval_seconds, self.at) {
            (Some(cron), None, None) => {
                let missing = || {
                    wrong(
                        "time_zone",
                        "is missing; a cron pattern needs a time zone".to_owned(),
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
