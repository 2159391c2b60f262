//! Cron patterns as sets of local times.
//!
//! Each field is a bit set. The search for the next local time proceeds by months, days and parts of the
//! day, so that even a rare pattern needs only a few hundred steps.

use super::RecurrenceError;
use super::civil::{DAY, Month, month_of, weekday};

/// Shorthands for whole patterns.
const WORDS: [(&str, &str); 5] = [
    ("@yearly", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A set of local times. A local time is in seconds since 1970, as if the time zone were UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both day fields are given, so a day needs to match only one of them.
    either: bool,
    /// The hour is open, so the pattern refers to elapsed time and not to the wall clock.
    pub(super) elapsed: bool,
}

/// The range and the names of a field.
struct Bounds {
    name: &'static str,
    least: u64,
    greatest: u64,
    /// The last value of `*` and `a/n`.
    end: u64,
    /// Names of values; the first is `least`.
    names: &'static [&'static str],
}

const fn bounds(name: &'static str, least: u64, greatest: u64) -> Bounds {
    Bounds {
        name,
        least,
        greatest,
        end: greatest,
        names: &[],
    }
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, RecurrenceError> {
        let trimmed = text.trim_matches([' ', '\t']);
        let expanded = WORDS.iter().find(|(word, _)| *word == trimmed);
        let text = expanded.map_or(trimmed, |(_, pattern)| *pattern);
        let fields: Vec<&str> = text
            .split([' ', '\t'])
            .filter(|field| !field.is_empty())
            .collect();
        let (second, minute, hour, day, month, weekday) = match fields[..] {
            [minute, hour, day, month, weekday] => ("0", minute, hour, day, month, weekday),
            [second, minute, hour, day, month, weekday] => (second, minute, hour, day, month, weekday),
            _ => {
                let problem = "a pattern has five fields (minute, hour, day, month, weekday), or six with seconds before them";
                return Err(RecurrenceError::Pattern(problem.to_owned()));
            }
        };
        let months = Bounds {
            names: &MONTHS,
            ..bounds("month", 1, 12)
        };
        let weekdays = Bounds {
            names: &WEEKDAYS,
            end: 6,
            ..bounds("weekday", 0, 7)
        };
        let of_week = weekdays.set(weekday)?;
        let pattern = Self {
            seconds: bounds("second", 0, 59).set(second)?,
            minutes: bounds("minute", 0, 59).set(minute)?,
            hours: bounds("hour", 0, 23).set(hour)?,
            days: bounds("day", 1, 31).set(day)?,
            months: months.set(month)?,
            // Sunday is 0 or 7.
            weekdays: (of_week | of_week >> 7) & 0x7f,
            either: day != "*" && weekday != "*",
            elapsed: hour == "*",
        };
        if pattern.possible() {
            Ok(pattern)
        } else {
            Err(RecurrenceError::Impossible)
        }
    }

    /// Whether any day ever matches. Every weekday occurs in every month, and a leap year has every day of
    /// the month.
    fn possible(&self) -> bool {
        (1..=12).any(|month| self.days_in(Month { year: 2000, month }) != 0)
    }

    /// The first matching local time from `from` on and before `end`.
    pub(super) fn first(&self, from: i64, end: i64) -> Option<i64> {
        let (mut day, mut time) = (from.div_euclid(DAY), from.rem_euclid(DAY));
        loop {
            let found = self.day_from(day, end.div_euclid(DAY))?;
            if found != day {
                time = 0;
            }
            if let Some(time) = self.time_from(time) {
                return Some(found * DAY + time).filter(|local| *local < end);
            }
            (day, time) = (found + 1, 0);
        }
    }

    /// The last matching local time from `from` on and before `end`.
    pub(super) fn last(&self, from: i64, end: i64) -> Option<i64> {
        let last = end - 1;
        let (mut day, mut time) = (last.div_euclid(DAY), last.rem_euclid(DAY));
        loop {
            let found = self.day_until(day, from.div_euclid(DAY))?;
            if found != day {
                time = DAY - 1;
            }
            if let Some(time) = self.time_until(time) {
                return Some(found * DAY + time).filter(|local| *local >= from);
            }
            (day, time) = (found - 1, DAY - 1);
        }
    }

    /// The number of matching local times from `from` on and before `end`. Stops soon after `enough`.
    pub(super) fn count(&self, from: i64, end: i64, enough: u64) -> u64 {
        let mut count = 0;
        let mut day = from.div_euclid(DAY);
        while count <= enough
            && let Some(found) = self.day_from(day, (end - 1).div_euclid(DAY))
        {
            let midnight = found * DAY;
            let before = |local: i64| self.times_before((local - midnight).clamp(0, DAY));
            count += before(end) - before(from).min(before(end));
            day = found + 1;
        }
        count
    }

    /// The first matching day from `day` to `last`.
    fn day_from(&self, day: i64, last: i64) -> Option<i64> {
        let (mut month, of_month) = month_of(day);
        let mut open = u64::MAX << of_month;
        loop {
            let first = month.first_day();
            if first > last {
                return None;
            }
            let meant = self.days_in(month) & open;
            if meant != 0 {
                return Some(first - 1 + i64::from(meant.trailing_zeros())).filter(|day| *day <= last);
            }
            (month, open) = (month.following(), u64::MAX);
        }
    }

    /// The last matching day from `first` to `day`.
    fn day_until(&self, day: i64, first: i64) -> Option<i64> {
        let (mut month, of_month) = month_of(day);
        let mut open = !(u64::MAX << of_month << 1);
        loop {
            let begin = month.first_day();
            if begin + 31 < first {
                return None;
            }
            let meant = self.days_in(month) & open;
            if meant != 0 {
                return Some(begin - 1 + i64::from(meant.ilog2())).filter(|day| *day >= first);
            }
            (month, open) = (month.preceding(), u64::MAX);
        }
    }

    /// The matching days of a month, as bits from 1.
    fn days_in(&self, month: Month) -> u64 {
        if self.months & (1 << month.month) == 0 {
            return 0;
        }
        // The seven weekday bits repeated, rotated so that bit 1 is the first of the month; Sunday is bit
        // 0.
        let weeks = (0..6).fold(0, |weeks, week| weeks | self.weekdays << (7 * week));
        let weekdays = weeks >> weekday(month.first_day()) << 1;
        let meant = if self.either {
            self.days | weekdays
        } else {
            self.days & weekdays
        };
        meant & !(u64::MAX << month.len() << 1) & !1
    }

    /// The first matching time of day from `time` on.
    fn time_from(&self, time: i64) -> Option<i64> {
        let (hour, minute, second) = parts(time);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = from(self.seconds, second)
            {
                return Some(hour * 3600 + minute * 60 + second);
            }
            if let Some(minute) = from(self.minutes, minute + 1) {
                return Some(hour * 3600 + minute * 60 + from(self.seconds, 0)?);
            }
        }
        let hour = from(self.hours, hour + 1)?;
        Some(hour * 3600 + from(self.minutes, 0)? * 60 + from(self.seconds, 0)?)
    }

    /// The last matching time of day up to `time`.
    fn time_until(&self, time: i64) -> Option<i64> {
        let (hour, minute, second) = parts(time);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = until(self.seconds, second)
            {
                return Some(hour * 3600 + minute * 60 + second);
            }
            if let Some(minute) = until(self.minutes, minute - 1) {
                return Some(hour * 3600 + minute * 60 + until(self.seconds, 59)?);
            }
        }
        let hour = until(self.hours, hour - 1)?;
        Some(hour * 3600 + until(self.minutes, 59)? * 60 + until(self.seconds, 59)?)
    }

    /// The number of matching times of a day before `time`; a whole day ends at second 86,400.
    fn times_before(&self, time: i64) -> u64 {
        let (hour, minute, second) = parts(time);
        let (per_minute, per_hour) = (size(self.seconds), size(self.minutes) * size(self.seconds));
        let mut count = before(self.hours, hour) * per_hour;
        if has(self.hours, hour) {
            count += before(self.minutes, minute) * per_minute;
            if has(self.minutes, minute) {
                count += before(self.seconds, second);
            }
        }
        count
    }
}

impl Bounds {
    /// Parses a field to its bit set.
    fn set(&self, field: &str) -> Result<u64, RecurrenceError> {
        field
            .split(',')
            .try_fold(0, |set, item| Ok(set | self.item(item)?))
    }

    /// Parses `*`, `a` or `a-b`, each with an optional step; `a/n` extends to the end.
    fn item(&self, item: &str) -> Result<u64, RecurrenceError> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(self.step(item, step)?)),
            None => (item, None),
        };
        let (first, last) = match (range, range.split_once('-'), step) {
            ("*", _, _) => (self.least, self.end),
            (_, Some((first, last)), _) => (self.value(item, first)?, self.value(item, last)?),
            (one, None, None) => (self.value(item, one)?, self.value(item, one)?),
            (one, None, Some(_)) => (self.value(item, one)?, self.end),
        };
        if first > last {
            return Err(self.wrong(item, "the start of a range must not be greater than its end"));
        }
        let values = (first..=last).step_by(step.unwrap_or(1));
        Ok(values.fold(0, |set, value| set | 1 << value))
    }

    fn value(&self, item: &str, text: &str) -> Result<u64, RecurrenceError> {
        let name = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let value = match name {
            Some(place) => u64::try_from(place).ok().map(|place| place + self.least),
            None => digits(text),
        };
        let value = value
            .ok_or_else(|| self.wrong(item, "only numbers, names, `*`, `-`, `/` and `,` are allowed"))?;
        if (self.least..=self.greatest).contains(&value) {
            Ok(value)
        } else {
            Err(self.wrong(item, "the number is out of range"))
        }
    }

    fn step(&self, item: &str, text: &str) -> Result<usize, RecurrenceError> {
        let step = digits(text).ok_or_else(|| self.wrong(item, "a step is a number"))?;
        // A step beyond the end acts like any step greater than the field.
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        if step == 0 {
            Err(self.wrong(item, "a step is at least 1"))
        } else {
            Ok(step)
        }
    }

    fn wrong(&self, item: &str, problem: &str) -> RecurrenceError {
        let (name, least, greatest) = (self.name, self.least, self.greatest);
        let item: String = item.chars().take(ITEM_CHARS_MAX).collect();
        RecurrenceError::Pattern(format!(
            "the {name} `{item}` cannot be read: {problem} ({least} to {greatest})"
        ))
    }
}

/// Maximum number of characters of an invalid item that an error message repeats.
const ITEM_CHARS_MAX: usize = 40;

/// Parses plain decimal digits; saturates on overflow.
fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().unwrap_or(u64::MAX))
}

const fn parts(time: i64) -> (i64, i64, i64) {
    (time / 3600, time / 60 % 60, time % 60)
}

const fn has(set: u64, value: i64) -> bool {
    set & (1 << value) != 0
}

/// The least value of a set from `value` on.
fn from(set: u64, value: i64) -> Option<i64> {
    let rest = set & (u64::MAX << value);
    (rest != 0).then(|| rest.trailing_zeros().into())
}

/// The greatest value of a set up to `value`.
fn until(set: u64, value: i64) -> Option<i64> {
    let rest = if value < 0 {
        0
    } else {
        set & !(u64::MAX << value << 1)
    };
    (rest != 0).then(|| rest.ilog2().into())
}

fn before(set: u64, value: i64) -> u64 {
    size(set & !(u64::MAX << value))
}

fn size(set: u64) -> u64 {
    set.count_ones().into()
}
