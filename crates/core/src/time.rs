//! Time as data. The core never asks what time it is; it is told.

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970 in UTC: what clocks give us and tables keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// RFC 3339 in UTC with milliseconds: the one spelling that enters hashes and answers.
    #[must_use]
    pub fn rfc3339(self) -> String {
        // Out of jiff's range (year ±9999) there is no such spelling; the nearest end of the range keeps the
        // text well-formed, and only a broken clock gets there.
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(match self.0 {
            ..0 => jiff::Timestamp::MIN,
            0.. => jiff::Timestamp::MAX,
        });
        format!("{time:.3}")
    }

    /// Reads RFC 3339 with any offset, finer fractions cut; or a bare day, which begins at midnight in UTC.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let time = match text.parse::<jiff::civil::Date>() {
            Ok(day) if text.len() == 10 => day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp(),
            Ok(_) | Err(_) => text.parse::<jiff::Timestamp>().ok()?,
        };
        Some(Self(time.as_millisecond()))
    }

    /// How long ago `earlier` was, never negative: a clock may have been set back in between.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_spelled_with_exactly_three_decimals_in_utc() {
        assert_eq!(Millis(1_771_344_000_000).rfc3339(), "2026-02-17T16:00:00.000Z");
        assert_eq!(Millis(1_771_344_000_007).rfc3339(), "2026-02-17T16:00:00.007Z");
        assert_eq!(Millis(-1).rfc3339(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn a_time_is_read_as_it_is_spelled_and_a_day_begins_at_midnight() {
        let time = Millis(1_771_344_000_007);
        assert_eq!(Millis::parse(&time.rfc3339()), Some(time));
        assert_eq!(Millis::parse("2026-02-17T17:00:00.0079+01:00"), Some(time));
        assert_eq!(Millis::parse("2026-02-17"), Some(Millis(1_771_286_400_000)));
        for bad in ["", "yesterday", "2026-02-30", "17:00"] {
            assert_eq!(Millis::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_clock_that_went_back_gives_no_negative_duration() {
        assert_eq!(Millis(5).since(Millis(9)), 0);
        assert_eq!(Millis(9).since(Millis(5)), 4);
    }

    #[test]
    fn a_broken_clock_still_gives_a_well_formed_time() {
        assert!(Millis(i64::MAX).rfc3339().ends_with('Z'));
        assert!(Millis(i64::MIN).rfc3339().ends_with('Z'));
    }
}
