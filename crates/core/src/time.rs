//! Time as data. The core never reads a clock; callers pass the time.

use serde::{Deserialize, Serialize};

/// Largest number of fractional digits that are read; RFC 3339 has no limit.
const FRACTION_DIGITS_MAX: usize = 9;

const EPOCH: jiff::civil::DateTime = jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0);

/// Milliseconds since 1970 in UTC, as clocks return and tables store them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// The earliest representable time: 0000-01-01T00:00:00.000Z.
    pub const MIN: Self = Self(-62_167_219_200_000);

    /// The latest representable time: 9999-12-31T23:59:59.999Z.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// Formats as RFC 3339 in UTC with milliseconds, the only format used in hashes and responses.
    #[must_use]
    pub fn rfc3339(self) -> String {
        // RFC 3339 has years of four digits. A time outside the range is clamped, which keeps the text
        // well-formed; only a broken clock produces one.
        let time = self.clamp(Self::MIN, Self::MAX);
        // Use a civil time, because a timestamp ends before the last day of the year 9999.
        let civil = EPOCH.saturating_add(jiff::SignedDuration::from_millis(time.0));
        format!("{civil:.3}Z")
    }

    /// Parses RFC 3339 strictly: a year of four digits, upper-case `T`, a fraction of up to nine digits
    /// (truncated to milliseconds), and `Z` or `±hh:mm`. Second 60 is rejected, and so are times outside
    /// the years 0000 to 9999 in UTC, because they cannot be formatted again.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let (whole, rest) = text.as_bytes().split_at_checked("2026-02-17T16:00:00".len())?;
        let [
            y0,
            y1,
            y2,
            y3,
            b'-',
            mo0,
            mo1,
            b'-',
            d0,
            d1,
            b'T',
            h0,
            h1,
            b':',
            mi0,
            mi1,
            b':',
            s0,
            s1,
        ] = whole
        else {
            return None;
        };
        let year = two(*y0, *y1)? * 100 + two(*y2, *y3)?;
        let [month, day, hour, minute, second] =
            [(mo0, mo1), (d0, d1), (h0, h1), (mi0, mi1), (s0, s1)].map(|(ten, one)| two(*ten, *one));
        let small = |number: Option<i16>| i8::try_from(number?).ok();
        let civil = jiff::civil::DateTime::new(
            year,
            small(month)?,
            small(day)?,
            small(hour)?,
            small(minute)?,
            small(second)?,
            0,
        );
        let (fraction, zone) = fraction(rest)?;
        let here = i64::try_from(civil.ok()?.duration_since(EPOCH).as_millis()).ok()?;
        let time = Self(here + fraction - offset_ms(zone)?);
        (Self::MIN..=Self::MAX).contains(&time).then_some(time)
    }

    /// Parses RFC 3339 with any offset, with finer fractions truncated, or a bare date, which means
    /// midnight in UTC.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let time = match text.parse::<jiff::civil::Date>() {
            Ok(day) if text.len() == 10 => day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp(),
            Ok(_) | Err(_) => text.parse::<jiff::Timestamp>().ok()?,
        };
        Some(Self(time.as_millisecond()))
    }

    /// Returns how long ago `earlier` was. Never negative, although the clock may have been set back in
    /// between.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

/// Parses two decimal digits.
fn two(ten: u8, one: u8) -> Option<i16> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i16::from(byte - b'0'));
    Some(digit(ten)? * 10 + digit(one)?)
}

/// Parses an optional fraction as milliseconds and returns the rest.
fn fraction(rest: &[u8]) -> Option<(i64, &[u8])> {
    let Some(after) = rest.strip_prefix(b".") else {
        return Some((0, rest));
    };
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, zone) = after.split_at_checked(digits)?;
    if digits.is_empty() || digits.len() > FRACTION_DIGITS_MAX {
        return None;
    }
    let padded = digits.iter().chain(b"00").take(3);
    let ms = padded.fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0'));
    Some((ms, zone))
}

/// Parses the offset of a zone from UTC.
fn offset_ms(zone: &[u8]) -> Option<i64> {
    let (sign, rest) = zone.split_first()?;
    let sign = match (sign, rest) {
        (b'Z', []) => return Some(0),
        (b'+', _) => 1,
        (b'-', _) => -1,
        _ => return None,
    };
    let [h0, h1, b':', m0, m1] = rest else {
        return None;
    };
    let (hours, minutes) = (two(*h0, *h1)?, two(*m0, *m1)?);
    (hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 60 + minutes) * 60_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_formatted_with_three_decimals_in_utc() {
        assert_eq!(Millis(1_771_344_000_000).rfc3339(), "2026-02-17T16:00:00.000Z");
        assert_eq!(Millis(1_771_344_000_007).rfc3339(), "2026-02-17T16:00:00.007Z");
        assert_eq!(Millis(-1).rfc3339(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn a_formatted_time_is_read_back_and_a_date_is_midnight() {
        let time = Millis(1_771_344_000_007);
        assert_eq!(Millis::parse(&time.rfc3339()), Some(time));
        assert_eq!(Millis::parse("2026-02-17T17:00:00.0079+01:00"), Some(time));
        assert_eq!(Millis::parse("2026-02-17"), Some(Millis(1_771_286_400_000)));
        for bad in ["", "yesterday", "2026-02-30", "17:00"] {
            assert_eq!(Millis::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_strict_time_has_any_offset_and_is_truncated_to_milliseconds() {
        let time = Millis(1_771_344_000_007);
        for same in [
            "2026-02-17T16:00:00.007Z",
            "2026-02-17T16:00:00.007999999Z",
            "2026-02-17T17:30:00.0070+01:30",
            "2026-02-16T16:01:00.007-23:59",
            "2026-02-17T16:00:00.007-00:00",
        ] {
            assert_eq!(Millis::parse_rfc3339(same), Some(time), "{same}");
        }
        assert_eq!(Millis::parse_rfc3339("1970-01-01T00:00:00.1Z"), Some(Millis(100)));
        assert_eq!(
            Millis::parse_rfc3339("1969-12-31T23:59:59.9995Z"),
            Some(Millis(-1)),
            "cut, not rounded"
        );
        let spelled = |text| Millis::parse_rfc3339(text).map(Millis::rfc3339);
        for end in [
            "0000-01-01T00:00:00.000Z",
            "9999-12-31T23:59:59.999Z",
            "2024-02-29T00:00:00.000Z",
        ] {
            assert_eq!(spelled(end).as_deref(), Some(end));
        }
    }

    #[test]
    fn an_invalid_strict_time_is_refused() {
        for bad in [
            "",
            "2026-02-17",
            "2026-02-17T16:00:00",
            "2026-02-17 16:00:00Z",
            "2026-02-17t16:00:00Z",
            "2026-02-17T16:00:00z",
            "2026-02-17T16:00Z",
            "2026-02-17T16:00:60Z",
            "2026-02-17T24:00:00Z",
            "2026-02-17T16:60:00Z",
            "2026-02-29T16:00:00Z",
            "2026-00-01T16:00:00Z",
            "2026-13-01T16:00:00Z",
            "2026-01-00T16:00:00Z",
            "2026-02-17T16:00:00.Z",
            "2026-02-17T16:00:00,5Z",
            "2026-02-17T16:00:00.0000000000Z",
            "2026-02-17T16:00:00+24:00",
            "2026-02-17T16:00:00+01:60",
            "2026-02-17T16:00:00+0100",
            "2026-02-17T16:00:00+01",
            "2026-02-17T16:00:00Z ",
            " 2026-02-17T16:00:00Z",
            "+2026-02-17T16:00:00Z",
            "12026-02-17T16:00:00Z",
            "2026-02-17T16:00:00Z[UTC]",
            "2026-02-1７T16:00:00Z",
            "0000-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
        ] {
            assert_eq!(Millis::parse_rfc3339(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_clock_set_back_gives_no_negative_duration() {
        assert_eq!(Millis(5).since(Millis(9)), 0);
        assert_eq!(Millis(9).since(Millis(5)), 4);
    }

    #[test]
    fn a_broken_clock_still_gives_a_well_formed_time() {
        assert!(Millis(i64::MAX).rfc3339().ends_with('Z'));
        assert!(Millis(i64::MIN).rfc3339().ends_with('Z'));
    }
}
