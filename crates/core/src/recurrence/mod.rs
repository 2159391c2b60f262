//! Recurrence arithmetic: cron patterns in a time zone, and intervals.
//!
//! A schedule stores the rule ("every day at seven in Berlin"). Firings are computed from it and from
//! time-zone data compiled into the program. The system's data would need I/O and would differ between
//! devices; run keys are derived from firings, so all devices must compute the same ones.
//!
//! | module | purpose |
//! |---|---|
//! | `pattern` | the local times that a pattern matches |
//! | `civil` | days, months and years |
//! | `zone` | time spans with one offset from UTC |
//! | `cron` | the instants of those local times, across gaps and repeated hours |
//! | `interval` | firings at equal intervals |

mod civil;
mod cron;
mod interval;
mod pattern;
mod zone;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::time::Millis;
use cron::Cron;
use interval::Interval;

/// Skipped firings are counted up to this number.
pub const SKIPPED_MAX: u64 = 100_000;

/// Maximum number of firings that run or are listed at once.
pub const RUNS_MAX: usize = 100_000;

/// Why a recurrence is invalid or has no firing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecurrenceError {
    /// A field is missing, unknown or of the wrong type.
    #[error("`{field}` of a schedule {problem}")]
    Form {
        field: String,
        /// What is wrong, and what is expected.
        problem: &'static str,
    },
    /// Both kinds are given, or neither.
    #[error("a schedule has either `cron` and `time_zone`, or `interval_seconds` and `anchor`")]
    Kind,
    /// The pattern cannot be parsed.
    #[error("`cron`: {0}")]
    Pattern(String),
    /// The time zone does not exist.
    #[error("`time_zone`: unknown time zone `{0}`; use an IANA name such as Europe/Berlin")]
    Zone(String),
    /// The pattern matches no day of any year.
    #[error("`cron`: this pattern matches no day of any year")]
    Impossible,
    /// There are no further firings.
    #[error("the schedule has no firing within 100 years, or none before the year 10000")]
    Exhausted,
    /// Too many firings would run at once.
    #[error("more than {RUNS_MAX} firings would run at once; lower `max_catch_up_runs_per_tick`")]
    TooMany,
}

/// The rule of a recurrence.
#[derive(Debug, Clone)]
pub struct Recurrence(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Cron(Box<Cron>),
    Interval(Interval),
}

/// How missed firings are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// Only the newest firing runs, if it is not older than this.
    Off {
        /// How late a firing may be and still be on time.
        grace_seconds: u64,
    },
    /// The newest firings run, if they are not older than this.
    On {
        /// The maximum age of a firing.
        window_seconds: u64,
        /// The maximum number of firings at once.
        runs_max: u64,
    },
}

/// The firings that are due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueFirings {
    /// Firings that run, in order of time.
    pub runs: Vec<Millis>,
    /// The number of skipped firings, at most [`SKIPPED_MAX`].
    pub skipped: u64,
    /// Whether more were skipped than counted.
    pub skipped_capped: bool,
    /// The next future firing.
    pub next: Millis,
}

impl Recurrence {
    /// Parses `{"cron", "time_zone"}` or `{"interval_seconds", "anchor"}`.
    pub fn parse(value: &Value) -> Result<Self, RecurrenceError> {
        let wrong = |field: &str, problem| RecurrenceError::Form {
            field: field.to_owned(),
            problem,
        };
        let Value::Object(parts) = value else {
            return Err(wrong("schedule", "must be an object"));
        };
        let known = ["cron", "time_zone", "interval_seconds", "anchor"];
        if let Some(field) = parts.keys().find(|field| !known.contains(&field.as_str())) {
            return Err(wrong(field, "is unknown"));
        }
        match (parts.contains_key("cron"), parts.contains_key("interval_seconds")) {
            (true, false) if parts.contains_key("anchor") => {
                Err(wrong("anchor", "belongs to `interval_seconds`"))
            }
            (false, true) if parts.contains_key("time_zone") => Err(wrong("time_zone", "belongs to `cron`")),
            (true, false) => Self::cron(text(parts, "cron")?, text(parts, "time_zone")?),
            (false, true) => {
                let seconds = parts.get("interval_seconds").and_then(Value::as_u64);
                let seconds =
                    seconds.ok_or_else(|| wrong("interval_seconds", "must be a whole number from 1 on"))?;
                let anchor = Millis::parse_rfc3339(text(parts, "anchor")?);
                let anchor = anchor.ok_or_else(|| wrong("anchor", "must be an RFC 3339 time"))?;
                Self::every(seconds, anchor)
            }
            (true, true) | (false, false) => Err(RecurrenceError::Kind),
        }
    }

    /// The recurrence of a cron pattern in a time zone.
    pub fn cron(pattern: &str, time_zone: &str) -> Result<Self, RecurrenceError> {
        Cron::parse(pattern, time_zone).map(|cron| Self(Kind::Cron(Box::new(cron))))
    }

    /// The recurrence at `anchor` and at every interval after it.
    pub fn every(seconds: u64, anchor: Millis) -> Result<Self, RecurrenceError> {
        Interval::new(seconds, anchor).map(|interval| Self(Kind::Interval(interval)))
    }

    /// The first `count` firings after a time, at most [`RUNS_MAX`].
    pub fn next(&self, after: Millis, count: usize) -> Result<Vec<Millis>, RecurrenceError> {
        let mut firings = Vec::new();
        let mut last = after;
        for _ in 0..count.min(RUNS_MAX) {
            last = self.first_after(last).ok_or(RecurrenceError::Exhausted)?;
            firings.push(last);
        }
        Ok(firings)
    }

    /// The firings that are due at `now`, if the schedule was last evaluated at `last`.
    pub fn due(
        &self,
        last: Option<Millis>,
        now: Millis,
        catch_up: CatchUp,
    ) -> Result<DueFirings, RecurrenceError> {
        let later = last.map_or(now, |last| last.max(now));
        let next = self.first_after(later).ok_or(RecurrenceError::Exhausted)?;
        let mut due = DueFirings {
            runs: Vec::new(),
            skipped: 0,
            skipped_capped: false,
            next,
        };
        let Some(last) = last else { return Ok(due) };
        let (age_seconds, runs_max) = match catch_up {
            CatchUp::Off { grace_seconds } => (grace_seconds, 1),
            CatchUp::On {
                window_seconds,
                runs_max,
            } => (window_seconds, usize::try_from(runs_max).unwrap_or(usize::MAX)),
        };
        let age_ms = i64::try_from(age_seconds)
            .unwrap_or(i64::MAX)
            .saturating_mul(1000);
        // One millisecond before the oldest firing that may run.
        let oldest = Millis(now.0.saturating_sub(age_ms).saturating_sub(1)).max(last);
        if runs_max > RUNS_MAX && usize::try_from(self.count(oldest, now)).is_ok_and(|count| count > RUNS_MAX)
        {
            return Err(RecurrenceError::TooMany);
        }
        let mut until = now;
        while due.runs.len() < runs_max
            && let Some(firing) = self.newest(oldest, until)
        {
            due.runs.push(firing);
            until = Millis(firing.0 - 1);
        }
        due.runs.reverse();
        let skipped = self.count(last, until);
        due.skipped = skipped.min(SKIPPED_MAX);
        due.skipped_capped = skipped > SKIPPED_MAX;
        Ok(due)
    }

    fn first_after(&self, after: Millis) -> Option<Millis> {
        match &self.0 {
            Kind::Cron(cron) => cron.first_after(after),
            Kind::Interval(interval) => interval.first_after(after),
        }
    }

    /// The newest firing after `after` and not after `until`.
    fn newest(&self, after: Millis, until: Millis) -> Option<Millis> {
        match &self.0 {
            Kind::Cron(cron) => cron.newest(after, until),
            Kind::Interval(interval) => interval.newest(after, until),
        }
    }

    /// The number of firings after `after` and not after `until`; beyond [`SKIPPED_MAX`] it may be inexact.
    fn count(&self, after: Millis, until: Millis) -> u64 {
        match &self.0 {
            Kind::Cron(cron) => cron.count(after, until),
            Kind::Interval(interval) => interval.count(after, until),
        }
    }
}

fn text<'a>(parts: &'a Map<String, Value>, field: &str) -> Result<&'a str, RecurrenceError> {
    let wrong = |problem| RecurrenceError::Form {
        field: field.to_owned(),
        problem,
    };
    let value = parts.get(field).ok_or_else(|| wrong("is missing"))?;
    value.as_str().ok_or_else(|| wrong("must be a string"))
}
