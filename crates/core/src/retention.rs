//! Retention rules: how long data is kept and which items are due for deletion. The rules are pure; the
//! store deletes.
//!
//! Ages are measured by a separate age clock that follows the system clock in small steps. A system clock
//! that jumps ten years ahead would otherwise make everything old at once, and deleted data does not come
//! back when the clock is corrected.

use crate::time::Millis;

pub const DAY_MS: i64 = 86_400_000;

/// Largest configurable number of days: a century. 0 means no age limit.
pub const DAYS_MAX: u32 = 36_500;

/// Largest configurable size in mebibytes: a petabyte. 0 means no size limit.
pub const MIB_MAX: u32 = 1 << 30;

/// The newest events of an agent keep their payloads at any age, because the page shows them.
pub const EVENTS_KEPT_MIN: u32 = 1_000;

/// The newest runs of an agent are kept completely at any age, because they are its current conversation.
pub const RUNS_KEPT_MIN: u32 = 50;

/// Largest step of the age clock in one update.
pub const CLOCK_STEP_MS: i64 = 7 * DAY_MS;

/// Interval between two automatic retention rounds.
pub const ROUND_EVERY_MS: i64 = 20 * 3_600_000;

/// Interval between two blob generations. It is much longer than any transaction.
pub const GENERATION_EVERY_MS: i64 = 3_600_000;

string_enum! {
    /// Classes of data with separate retention limits.
    #[derive(PartialOrd, Ord)]
    pub enum DataClass {
        /// Payloads of events. The headers, and therefore the chain, are kept forever.
        Events = "events",
        /// Run logs and diagnostics of ended runs, which replay needs.
        Traces = "traces",
        /// Contents: message texts and command output.
        Blobs = "blobs",
    }
}

/// Age and size limits of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionLimit {
    /// 0 means forever.
    pub days: u32,
    /// 0 means no size limit.
    pub mib: u32,
}

/// Limits of every class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub events: RetentionLimit,
    pub traces: RetentionLimit,
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
    /// Returns the limits of one class.
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
    /// Items older than this time are due. None if the class has no age limit.
    #[must_use]
    pub fn cutoff(self, clock: Millis) -> Option<Millis> {
        let age = i64::from(self.days).saturating_mul(DAY_MS);
        (self.days > 0).then(|| Millis(clock.0.saturating_sub(age)))
    }

    /// Returns by how many bytes the size limit is exceeded.
    #[must_use]
    pub fn excess(self, held_bytes: u64) -> u64 {
        match self.mib {
            0 => 0,
            mib => held_bytes.saturating_sub(u64::from(mib) << 20),
        }
    }

    /// Returns how many items, given oldest first with their sizes, are due: all that are too old, then
    /// more until the excess is removed.
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

/// Advances the age clock: it never passes the system clock and moves at most [`CLOCK_STEP_MS`] per update.
/// The first update adopts the system clock.
#[must_use]
pub fn age_clock(stood: Option<Millis>, now: Millis) -> Millis {
    stood.map_or(now, |stood| {
        now.min(Millis(stood.0.saturating_add(CLOCK_STEP_MS)))
    })
}

/// Returns whether `wait_ms` have passed since a recorded time. A recorded time more than [`CLOCK_STEP_MS`]
/// in the future comes from a wrong clock and counts as passed; a smaller lead waits until the clock has
/// caught up.
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
    fn old_items_are_due_first_then_the_oldest_until_the_rest_fits() {
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
    fn a_clock_jump_of_ten_years_makes_nothing_old_at_once() {
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
    fn a_time_recorded_by_a_wrong_clock_blocks_nothing_for_long() {
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
        /// No sequence of clock readings makes an item due before it has reached its age limit by the
        /// system clock.
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
