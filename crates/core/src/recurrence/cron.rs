//! Firings of a pattern in a time zone.
//!
//! A pattern with an open hour refers to elapsed time: it fires whenever the clock shows one of its times,
//! so twice in a repeated hour, and never at skipped times. Any other pattern refers to wall-clock time:
//! each of its times fires once, at its first occurrence, and all times skipped by a gap fire together when
//! the gap ends.

use super::pattern::Pattern;
use super::zone::{FAR_OFF, OffsetSpan, Zone};
use super::{RecurrenceError, SKIPPED_MAX};
use crate::time::Millis;

/// How far ahead a firing is searched: 100 years, in seconds.
const AHEAD: i64 = 36_525 * 86_400;

/// A pattern in a time zone. All arithmetic is in whole seconds, because patterns fire on whole seconds.
#[derive(Debug, Clone)]
pub(super) struct Cron {
    pattern: Pattern,
    zone: Zone,
}

impl Cron {
    pub(super) fn parse(pattern: &str, time_zone: &str) -> Result<Self, RecurrenceError> {
        let pattern = Pattern::parse(pattern)?;
        let zone = Zone::parse(time_zone)?;
        Ok(Self { pattern, zone })
    }

    pub(super) fn first_after(&self, after: Millis) -> Option<Millis> {
        let from = second(after) + 1;
        let end = (from + AHEAD).min(second(Millis::MAX)) + 1;
        let mut stretch = self.zone.stretch_at(from);
        while stretch.start < end {
            if let Some(firing) = self.first_in(&stretch.within(from, end)) {
                return Some(Millis(firing * 1000));
            }
            if stretch.end == FAR_OFF {
                break;
            }
            stretch = self.zone.stretch_at(stretch.end);
        }
        None
    }

    pub(super) fn newest(&self, after: Millis, until: Millis) -> Option<Millis> {
        let (from, mut end) = (second(after) + 1, second(until) + 1);
        while from < end {
            let stretch = self.zone.stretch_at(end - 1);
            if let Some(firing) = self.last_in(&stretch.within(from, end)) {
                return Some(Millis(firing * 1000));
            }
            end = stretch.start;
        }
        None
    }

    pub(super) fn count(&self, after: Millis, until: Millis) -> u64 {
        let (mut from, end) = (second(after) + 1, second(until) + 1);
        let mut count = 0;
        while from < end && count <= SKIPPED_MAX {
            let stretch = self.zone.stretch_at(from);
            count += self.count_in(&stretch.within(from, end));
            from = stretch.end;
        }
        count
    }

    fn first_in(&self, view: &Window) -> Option<i64> {
        if self.fires_after_gap(view) {
            return Some(view.stretch.start);
        }
        let (from, end) = self.local(view);
        self.pattern
            .first(from, end)
            .map(|local| local - view.stretch.offset)
    }

    fn last_in(&self, view: &Window) -> Option<i64> {
        let (from, end) = self.local(view);
        let shown = self
            .pattern
            .last(from, end)
            .map(|local| local - view.stretch.offset);
        shown.or_else(|| self.fires_after_gap(view).then_some(view.stretch.start))
    }

    fn count_in(&self, view: &Window) -> u64 {
        let (from, end) = self.local(view);
        let shown = self.pattern.count(from, end, SKIPPED_MAX);
        // The first instant after a gap may match the pattern itself as well; it is still one firing.
        let own = self.pattern.first(from, end) == Some(view.stretch.start + view.stretch.offset);
        shown + u64::from(self.fires_after_gap(view) && !own)
    }

    /// The range of local times in the window that fire when the clock shows them.
    fn local(&self, view: &Window) -> (i64, i64) {
        let offset = view.stretch.offset;
        let (from, end) = (view.from + offset, view.end + offset);
        if self.pattern.elapsed {
            (from, end)
        } else {
            // Local times that the clock showed before have already fired.
            (from.max(view.stretch.reached), end)
        }
    }

    /// Whether the offset span starts in the window after a gap that skipped a matching wall-clock time.
    fn fires_after_gap(&self, view: &Window) -> bool {
        let OffsetSpan {
            start,
            offset,
            reached,
            ..
        } = view.stretch;
        let begins = view.from <= start && start < view.end;
        let skips = || reached < start + offset && self.pattern.first(reached, start + offset).is_some();
        !self.pattern.elapsed && begins && skips()
    }
}

/// The requested part of an offset span.
struct Window {
    stretch: OffsetSpan,
    from: i64,
    end: i64,
}

impl OffsetSpan {
    fn within(self, from: i64, end: i64) -> Window {
        Window {
            from: from.max(self.start),
            end: end.min(self.end),
            stretch: self,
        }
    }
}

/// The second that contains a time.
const fn second(moment: Millis) -> i64 {
    moment.0.div_euclid(1000)
}
