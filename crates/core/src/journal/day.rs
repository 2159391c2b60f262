//! A calendar day without a time zone.

use serde::{Deserialize, Serialize};

use super::WriteError;
use crate::time::Millis;

const HOUR_MS: i64 = 3_600_000;

/// Hours by which a day starts earlier than in UTC in the easternmost time zone.
const EARLIEST_HOURS: i64 = 14;

/// Hours after its start in UTC at which a day ends in the westernmost time zone.
const LATEST_HOURS: i64 = 24 + 12;

/// A calendar day, formatted as `2026-11-15`. The text order is the order of days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CalendarDay(jiff::civil::Date);

impl CalendarDay {
    /// Parses a day from `0001-01-01` to `9999-12-31`.
    pub fn parse(text: &str) -> Result<Self, WriteError> {
        let day = text.parse::<jiff::civil::Date>().ok();
        // Accept only the canonical format: jiff also parses others, including times.
        day.filter(|day| day.year() > 0 && text.len() == 10 && day.to_string() == text)
            .map(Self)
            .ok_or(WriteError::BadDay)
    }

    /// The day in UTC that contains `at`.
    #[must_use]
    pub fn in_utc(at: Millis) -> Option<Self> {
        let spelled = at.rfc3339();
        Self::parse(spelled.get(..10)?).ok()
    }

    /// Whether `at` is on this day in any time zone.
    #[must_use]
    pub fn may_hold(&self, at: Millis) -> bool {
        let Some(midnight) = Millis::parse(&self.to_string()) else {
            return false;
        };
        let since = at.0.saturating_sub(midnight.0);
        (-EARLIEST_HOURS * HOUR_MS..=LATEST_HOURS * HOUR_MS).contains(&since)
    }
}

impl std::fmt::Display for CalendarDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl From<CalendarDay> for String {
    fn from(day: CalendarDay) -> Self {
        day.to_string()
    }
}

impl TryFrom<String> for CalendarDay {
    type Error = WriteError;

    fn try_from(text: String) -> Result<Self, WriteError> {
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_one_format() {
        assert_eq!(
            CalendarDay::parse("2024-02-29").map(|day| day.to_string()),
            Ok("2024-02-29".into())
        );
        let bad = [
            "",
            "2023-02-29",
            "20240229",
            "2024-2-29",
            "-000001-01-01",
            "0000-01-01",
            "2024-02-29T00:00:00Z",
        ];
        for text in bad {
            assert_eq!(CalendarDay::parse(text), Err(WriteError::BadDay), "{text}");
        }
    }

    #[test]
    fn a_time_is_on_a_day_in_any_time_zone() {
        let day = CalendarDay::parse("2026-02-18").unwrap();
        let holds = |text: &str| day.may_hold(Millis::parse(text).unwrap());
        assert!(holds("2026-02-18T00:00:00+14:00") && holds("2026-02-18T23:59:00-12:00"));
        assert!(!holds("2026-02-17T09:59:59Z") && !holds("2026-02-19T12:00:01Z"));
        assert_eq!(
            CalendarDay::in_utc(Millis::parse("2026-02-18T23:59:00Z").unwrap()),
            Some(day)
        );
    }
}
