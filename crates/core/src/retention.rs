//! How long data is kept, and what has to go. A rule over times and sizes; taking it away is done elsewhere.
//!
//! Ages are measured by a clock of their own, which follows the world's in small steps: a clock that jumps ten years
//! ahead would otherwise make everything old at once, and what was taken away does not come back when it is set right.

use crate::time::Millis;

/// A day in milliseconds.
pub const DAY_MS: i64 = 86_400_000;

/// Days that can be asked for: a century. None at all, 0, means for ever.
pub const DAYS_MAX: u32 = 36_500;

/// Mebibytes that can be asked for: a petabyte. None at all, 0, means without a cap.
pub const MIB_MAX: u32 = 1 << 30;

/// Events of an agent whose payloads stay whatever their age: what a page shows of it.
pub const EVENTS_KEPT_MIN: u32 = 1_000;

/// Runs of an agent of which everything stays whatever their age: the conversation that it is in.
pub const RUNS_KEPT_MIN: u32 = 50;

/// How far the clock of ages moves on at most in one go.
pub const CLOCK_STEP_MS: i64 = 7 * DAY_MS;

/// Between two rounds of retention that nobody asked for.
pub const ROUND_EVERY_MS: i64 = 20 * 3_600_000;

/// Between two generations of blobs. Far longer than a transaction may take.
pub const GENERATION_EVERY_MS: i64 = 3_600_000;

string_enum! {
    /// What is kept under rules of its own.
    #[derive(PartialOrd, Ord)]
    pub enum DataClass {
        /// The payloads of events. Their headers, and so the chain, stay for ever.
        Events = "events",
        /// Journals and diagnostics of runs that have ended: what is needed to replay them.
        Traces = "traces",
        /// Contents: what was said, and what commands gave out.
        Blobs = "blobs",
    }
}

/// How long and how much of one class is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionLimit {
    /// Days; 0 for ever.
    pub days: u32,
    /// Mebibytes; 0 without a cap.
    pub mib: u32,
}

/// How long and how much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Of events.
    pub events: RetentionLimit,
    /// Of traces.
    pub traces: RetentionLimit,
    /// Of contents.
    pub blobs: RetentionLimit,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            events: RetentionLimit {
                days: 365,
                mib: 1_024,
            },
            traces: RetentionLimit { days: 90, mib: 1_024 },
            blobs: RetentionLimit {
                days: 365,
                mib: 4_096,
            },
        }
    }
}

impl Retention {
    /// The bounds of one class.
    #[must_use]
    pub const fn of(&self, class: DataClass) -> RetentionLimit {
        match class {
            DataClass::Events => self.events,
            DataClass::Traces => self.traces,
            DataClass::Blobs => self.blobs,
        }
    }
}

impl RetentionLimit {
    /// What happened before this moment is too old. None where nothing ever is.
    #[must_use]
    pub fn cutoff(self, clock: Millis) -> Option<Millis> {
        let age = i64::from(self.days).saturating_mul(DAY_MS);
        (self.days > 0).then(|| Millis(clock.0.saturating_sub(age)))
    }

    /// How many bytes there are too many.
    #[must_use]
    pub fn excess(self, held_bytes: u64) -> u64 {
        match self.mib {
            0 => 0,
            mib => held_bytes.saturating_sub(u64::from(mib) << 20),
        }
    }

    /// How many of these, given oldest first with their bytes, have to go: all that are too old, and more until the
    /// excess is gone.
    #[must_use]
    pub fn due(self, clock: Millis, excess: u64, oldest: &[(Millis, u64)]) -> usize {
        let cutoff = self.cutoff(clock);
        let mut left = excess;
        let mut due = 0;
        for (at, bytes) in oldest {
            if left == 0 && cutoff.is_none_or(|cutoff| *at >= cutoff) {
                break;
            }
            left = left.saturating_sub(*bytes);
            due += 1;
        }
        due
    }
}

/// The clock of ages after a look at the world's: never ahead of the world, and never far ahead of where it stood. The
/// first look takes the world's word.
#[must_use]
pub fn age_clock(stood: Option<Millis>, now: Millis) -> Millis {
    stood.map_or(now, |stood| {
        now.min(Millis(stood.0.saturating_add(CLOCK_STEP_MS)))
    })
}

/// Whether enough time has passed since a moment. A clock that was set back says no until it has caught up by a step,
/// and a moment that lies in the future by more than that was noted by a clock that was wrong.
#[must_use]
pub fn has_passed(since: Millis, now: Millis, wait_ms: i64) -> bool {
    let passed = now.0.saturating_sub(since.0);
    passed >= wait_ms || passed <= -CLOCK_STEP_MS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: RetentionLimit = RetentionLimit { days: 10, mib: 1 };

    #[test]
    fn what_is_too_old_goes_and_then_the_oldest_until_the_rest_fits() {
        let clock = Millis(100 * DAY_MS);
        let rows = [89, 90, 91, 92].map(|day| (Millis(day * DAY_MS), 10));
        assert_eq!(BOUNDS.due(clock, 0, &rows), 1, "exactly ten days is not too old");
        assert_eq!(BOUNDS.due(clock, 11, &rows), 2);
        assert_eq!(BOUNDS.due(clock, 21, &rows), 3);
        let for_ever = RetentionLimit { days: 0, mib: 0 };
        assert_eq!(for_ever.due(clock, for_ever.excess(u64::MAX), &rows), 0);
    }

    #[test]
    fn a_cap_counts_whole_mebibytes() {
        assert_eq!((BOUNDS.excess(1 << 20), BOUNDS.excess((1 << 20) + 7)), (0, 7));
    }

    #[test]
    fn a_clock_that_jumps_ten_years_makes_nothing_old_at_once() {
        let (then, ten_years) = (Millis(1_000 * DAY_MS), 3_650 * DAY_MS);
        assert_eq!(age_clock(None, then), then, "the first look");
        let ahead = age_clock(Some(then), Millis(then.0 + ten_years));
        assert_eq!(ahead, Millis(then.0 + CLOCK_STEP_MS));
        let back = age_clock(Some(ahead), Millis(then.0 - ten_years));
        assert_eq!(
            back,
            Millis(then.0 - ten_years),
            "what is in the future is not old"
        );
    }

    #[test]
    fn a_moment_noted_by_a_wrong_clock_stops_nothing_for_long() {
        let now = Millis(1_000 * DAY_MS);
        assert!(!has_passed(now, Millis(now.0 + 5), 10));
        assert!(has_passed(now, Millis(now.0 + 10), 10));
        assert!(!has_passed(now, Millis(now.0 - DAY_MS), 10), "set back by a day");
        assert!(
            has_passed(now, Millis(now.0 - 3_650 * DAY_MS), 10),
            "set back by ten years"
        );
    }

    proptest! {
        /// Whatever clocks do, nothing that is younger than its bound by the world's clock is too old.
        #[test]
        fn nothing_young_is_ever_due(looks in proptest::collection::vec(0_i64..40_000, 1..20), age in 0_i64..10) {
            let mut stood = None;
            for day in looks {
                let now = Millis(day * DAY_MS + 1);
                let clock = age_clock(stood, now);
                stood = Some(clock);
                prop_assert!(clock <= now);
                let young = Millis(now.0 - age * DAY_MS);
                prop_assert_eq!(BOUNDS.due(clock, 0, &[(young, 1)]), 0);
            }
        }
    }
}
