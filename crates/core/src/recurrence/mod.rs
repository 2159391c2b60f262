//! When something is due: patterns of the clock in a time zone, and intervals.
//!
//! A schedule keeps the *intent* ("every day at seven in Berlin"), and its firings are worked out from it and from the
//! time-zone data that is compiled into the program. The data of the system would be I/O, and would differ between devices:
//! a firing names its run, so everybody has to find the same ones.
//!
//! | module | knows |
//! |---|---|
//! | `pattern` | which local times a pattern means |
//! | `civil` | days, months and years |
//! | `zone` | stretches of time with one offset from UTC |
//! | `cron` | when those local times are: gaps, and hours that come twice |
//! | `interval` | firings at equal distances |

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

/// Skipped firings are counted up to here.
pub const SKIPPED_MAX: u64 = 100_000;

/// Firings that may run, or be listed, at once.
pub const RUNS_MAX: usize = 100_000;

/// Something that is no schedule, or has no firing where one is asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecurrenceError {
    /// A part is missing, unknown or of another kind.
    #[error("`{field}` of a schedule {problem}")]
    Form {
        /// Which part.
        field: String,
        /// What is wrong, and how it is right.
        problem: &'static str,
    },
    /// Both kinds at once, or neither.
    #[error("a schedule has either `cron` and `time_zone`, or `interval_seconds` and `anchor`")]
    Kind,
    /// The pattern cannot be read.
    #[error("`cron`: {0}")]
    Pattern(String),
    /// There is no such zone.
    #[error("`time_zone`: `{0}` is no IANA time zone; it is spelled like Europe/Berlin, with capitals")]
    Zone(String),
    /// The pattern can be read and means no day of any year.
    #[error("`cron`: no day of any year is meant by this pattern")]
    Impossible,
    /// Nothing comes any more.
    #[error("the schedule has no firing within 100 years, or none before the year 10000")]
    Exhausted,
    /// More would run at once than anybody can want.
    #[error("more than {RUNS_MAX} firings would run at once; lower `max_catch_up_runs_per_tick`")]
    TooMany,
}

/// An intention to do something again and again.
#[derive(Debug, Clone)]
pub struct Recurrence(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Cron(Box<Cron>),
    Interval(Interval),
}

/// What becomes of firings that were missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// Only the newest firing runs, if it is not older than this.
    Off {
        /// How late a firing may be and still count as on time.
        grace_seconds: u64,
    },
    /// The newest firings run, if they are not older than this.
    On {
        /// How old a firing may be.
        window_seconds: u64,
        /// How many run at once.
        runs_max: u64,
    },
}

/// What a schedule asks for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueFirings {
    /// Firings that run, in the order of time.
    pub runs: Vec<Millis>,
    /// How many others there were, at most [`SKIPPED_MAX`].
    pub skipped: u64,
    /// Whether there were more than that.
    pub skipped_capped: bool,
    /// The first firing to come.
    pub next: Millis,
}

impl Recurrence {
    /// Reads `{"cron", "time_zone"}` or `{"interval_seconds", "anchor"}`.
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

    /// What a pattern means in a zone.
    pub fn cron(pattern: &str, time_zone: &str) -> Result<Self, RecurrenceError> {
        Cron::parse(pattern, time_zone).map(|cron| Self(Kind::Cron(Box::new(cron))))
    }

    /// At `anchor`, and every so many seconds after it.
    pub fn every(seconds: u64, anchor: Millis) -> Result<Self, RecurrenceError> {
        Interval::new(seconds, anchor).map(|interval| Self(Kind::Interval(interval)))
    }

    /// The first `count` firings after a moment, at most [`RUNS_MAX`].
    pub fn next(&self, after: Millis, count: usize) -> Result<Vec<Millis>, RecurrenceError> {
        let mut firings = Vec::new();
        let mut last = after;
        for _ in 0..count.min(RUNS_MAX) {
            last = self.first_after(last).ok_or(RecurrenceError::Exhausted)?;
            firings.push(last);
        }
        Ok(firings)
    }

    /// What the schedule asks for `now`, if it was last looked at `last`.
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
        // Nothing is as old as one millisecond before the oldest that may run.
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

    /// The newest firing after one moment and not after another.
    fn newest(&self, after: Millis, until: Millis) -> Option<Millis> {
        match &self.0 {
            Kind::Cron(cron) => cron.newest(after, until),
            Kind::Interval(interval) => interval.newest(after, until),
        }
    }

    /// How many firings there are after one moment and not after another; beyond [`SKIPPED_MAX`] it need not be exact.
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
