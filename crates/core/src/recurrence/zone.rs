//! A time zone as a sequence of time spans with one offset from UTC each.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::RecurrenceError;

/// Bounds in seconds, earlier and later than any requested time.
pub(super) const LONG_AGO: i64 = -1_000_000_000_000;
pub(super) const FAR_OFF: i64 = 1_000_000_000_000;

/// Offsets are within 26 hours of UTC, so only spans within twice that time can have reached a later local
/// time.
const REACH: i64 = 3 * 86_400;

#[derive(Debug, Clone)]
pub(super) struct Zone(TimeZone);

/// A time span with a constant offset, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OffsetSpan {
    /// The first second of the span.
    pub(super) start: i64,
    /// The first second after the span.
    pub(super) end: i64,
    /// The offset that is added to UTC.
    pub(super) offset: i64,
    /// The latest local time that clocks reached before this span; later local times have never been shown.
    pub(super) reached: i64,
}

impl Zone {
    /// Finds a time zone by its exact name or alias.
    pub(super) fn parse(name: &str) -> Result<Self, RecurrenceError> {
        let unknown = || RecurrenceError::Zone(name.to_owned());
        let zone = TimeZoneDatabase::bundled().get(name).map_err(|_| unknown())?;
        // The library ignores case and returns a placeholder for unknown names.
        let exact = zone.iana_name() == Some(name) && !zone.is_unknown();
        if exact { Ok(Self(zone)) } else { Err(unknown()) }
    }

    /// The span that contains a second.
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

    /// The latest local time that any span before `start` reached.
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

    /// The second of the last offset change at or before this one.
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

/// The nearest time that the library supports. Its range ends one day before the end of 9999.
fn timestamp(second: i64) -> Timestamp {
    let second = second.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH)
}
