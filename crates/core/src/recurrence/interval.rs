//! Firings at equal intervals.

use super::RecurrenceError;
use crate::time::Millis;

/// An anchor and an interval. The integers are wide, so that sums cannot overflow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    anchor: i128,
    every_ms: i128,
}

impl Interval {
    pub(super) fn new(seconds: u64, anchor: Millis) -> Result<Self, RecurrenceError> {
        if seconds == 0 {
            return Err(RecurrenceError::Form {
                field: "interval_seconds".to_owned(),
                problem: "must be a whole number from 1 on",
            });
        }
        Ok(Self {
            anchor: anchor.0.into(),
            every_ms: i128::from(seconds) * 1000,
        })
    }

    pub(super) fn first_after(&self, after: Millis) -> Option<Millis> {
        self.firing(self.through(after))
    }

    pub(super) fn newest(&self, after: Millis, until: Millis) -> Option<Millis> {
        let firing = self.firing(self.through(until) - 1)?;
        (firing > after).then_some(firing)
    }

    pub(super) fn count(&self, after: Millis, until: Millis) -> u64 {
        u64::try_from(self.through(until) - self.through(after)).unwrap_or(0)
    }

    /// The number of firings up to a time.
    fn through(&self, moment: Millis) -> i128 {
        let since = i128::from(moment.0) - self.anchor;
        if since < 0 { 0 } else { since / self.every_ms + 1 }
    }

    /// The firing with this number, from 0, if it is a representable time.
    fn firing(&self, number: i128) -> Option<Millis> {
        if number < 0 {
            return None;
        }
        let firing = Millis(i64::try_from(self.anchor + number * self.every_ms).ok()?);
        (firing <= Millis::MAX).then_some(firing)
    }
}
