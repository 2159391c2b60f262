//! A time zone as stretches of time with one offset from UTC each.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::RecurrenceError;

/// Seconds that are earlier or later than anything that is ever asked for.
pub(super) const LONG_AGO: i64 = -1_000_000_000_000;
pub(super) const FAR_OFF: i64 = 1_000_000_000_000;

/// Offsets lie within 26 hours of UTC, so what an earlier stretch reached is decided within twice that.
const REACH: i64 = 3 * 86_400;

/// A place whose clocks agree.
#[derive(Debug, Clone)]
pub(super) struct Zone(TimeZone);

/// A time during which the offset does not change. All in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OffsetSpan {
    /// Its first second.
    pub(super) start: i64,
    /// The first second after it.
    pub(super) end: i64,
    /// What is added to UTC.
    pub(super) offset: i64,
    /// The local time that clocks had come to before: those from here on have never been shown.
    pub(super) reached: i64,
}

impl Zone {
    /// Finds a zone by its name, or by a link to it, spelled exactly.
    pub(super) fn parse(name: &str) -> Result<Self, RecurrenceError> {
        let unknown = || RecurrenceError::Zone(name.to_owned());
        let zone = TimeZoneDatabase::bundled().get(name).map_err(|_| unknown())?;
        // The library also takes other capitals, and a zone of its own for what is unknown.
        let exact = zone.iana_name() == Some(name) && !zone.is_unknown();
        if exact { Ok(Self(zone)) } else { Err(unknown()) }
    }

    /// The stretch that a second lies in.
    pub(super) fn stretch_at(&self, second: i64) -> OffsetSpan {
        let (start, end) = (self.start_of(second), self.end_of(second));
        let offset = self.offset_at(second);
        OffsetSpan {
            start,
            end,
            offset,
            reached: self.reached_before(start).unwrap_or(start + offset),
        }
    }

    /// The latest local time that any stretch before `start` came to.
    fn reached_before(&self, start: i64) -> Option<i64> {
        let mut reached = None;
        let mut end = start;
        while end > start - REACH && end > LONG_AGO {
            reached = reached.max(Some(end + self.offset_at(end - 1)));
            end = self.start_of(end - 1);
        }
        reached
    }

    fn offset_at(&self, second: i64) -> i64 {
        self.0.to_offset(timestamp(second)).seconds().into()
    }

    /// The second of the newest change of the offset that is not after this one.
    fn start_of(&self, second: i64) -> i64 {
        let mut changes = self.0.preceding(timestamp(second + 1));
        changes
            .next()
            .map_or(LONG_AGO, |change| change.timestamp().as_second())
    }

    fn end_of(&self, second: i64) -> i64 {
        let mut changes = self.0.following(timestamp(second));
        changes
            .next()
            .map_or(FAR_OFF, |change| change.timestamp().as_second())
    }
}

/// The nearest moment that the library knows. Its time ends a day before the year 9999 does.
fn timestamp(second: i64) -> Timestamp {
    let second = second.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH)
}
