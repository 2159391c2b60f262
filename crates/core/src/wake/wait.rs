//! What an open run waits for, as it is stored with the run.

use crate::budget::{Exceeded, MicroUsd};
use crate::time::Millis;

/// A clock that is corrected by up to a minute ends no wait. One that is set back further does: what waited for a time by
/// the old clock is looked at again, so that nothing waits longer than was intended.
pub const SET_BACK_MS: i64 = 60_000;

/// What an open run waits for. The brake is not among them: it is a row of its own, so that braking every agent writes one
/// row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// A time, for example that of a retry.
    Due {
        /// The time.
        until: Millis,
    },
    /// A person's answer.
    Decision {
        /// When the deadline of the decision is checked; none where it has none.
        until: Option<Millis>,
    },
    /// The end of a run that it started.
    Children,
    /// Room in the budget of the day.
    Budget {
        /// When the next day begins.
        until: Millis,
        /// What its next request may cost.
        needed: MicroUsd,
    },
    /// The end of the other run of its agent that is under way.
    Turn,
}

impl Wait {
    /// The wait of a run for whose next request the budget has no room.
    #[must_use]
    pub const fn for_budget(exceeded: &Exceeded) -> Self {
        Self::Budget {
            until: exceeded.day.next().begins(),
            needed: exceeded.needed,
        }
    }

    /// The stored name of its kind.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Due { .. } => "due",
            Self::Decision { .. } => "decision",
            Self::Children => "children",
            Self::Budget { .. } => "budget",
            Self::Turn => "turn",
        }
    }

    /// The stored time at which it ends by itself; none where only an event ends it.
    #[must_use]
    pub const fn until(self) -> Option<Millis> {
        match self {
            Self::Due { until } | Self::Budget { until, .. } => Some(until),
            Self::Decision { until } => until,
            Self::Children | Self::Turn => None,
        }
    }

    /// The stored amount that the budget must have room for; none for other waits.
    #[must_use]
    pub const fn needed(self) -> Option<MicroUsd> {
        match self {
            Self::Budget { needed, .. } => Some(needed),
            Self::Due { .. } | Self::Decision { .. } | Self::Children | Self::Turn => None,
        }
    }

    /// Reads the stored kind, time and amount; none where they do not belong together.
    #[must_use]
    pub fn parse(kind: &str, until: Option<Millis>, needed: Option<MicroUsd>) -> Option<Self> {
        match (kind, until, needed) {
            ("due", Some(until), None) => Some(Self::Due { until }),
            ("decision", until, None) => Some(Self::Decision { until }),
            ("children", None, None) => Some(Self::Children),
            ("budget", Some(until), Some(needed)) => Some(Self::Budget { until, needed }),
            ("turn", None, None) => Some(Self::Turn),
            (_, _, _) => None,
        }
    }
}

/// A wait and when it began. Both come from one reading of the clock, or a clock that is set in between would not be
/// noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspension {
    /// What the run waits for.
    pub wait: Wait,
    /// When it began to wait.
    pub since: Millis,
}

/// Whether a time lies so far ahead that the clock was set back since it was taken.
#[must_use]
pub const fn is_set_back(taken: Millis, now: Millis) -> bool {
    taken.0 > now.0.saturating_add(SET_BACK_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_is_read_as_it_was_stored_and_nothing_else_is() {
        let (at, amount) = (Millis(7), MicroUsd(5));
        let waits = [
            Wait::Due { until: at },
            Wait::Decision { until: Some(at) },
            Wait::Decision { until: None },
            Wait::Children,
            Wait::Budget {
                until: at,
                needed: amount,
            },
            Wait::Turn,
        ];
        for wait in waits {
            assert_eq!(Wait::parse(wait.kind(), wait.until(), wait.needed()), Some(wait));
        }
        for (kind, until, needed) in [
            ("due", None, None),
            ("due", Some(at), Some(amount)),
            ("turn", Some(at), None),
            ("children", Some(at), None),
            ("budget", Some(at), None),
            ("budget", None, Some(amount)),
            ("asleep", None, None),
        ] {
            assert_eq!(Wait::parse(kind, until, needed), None, "{kind}");
        }
    }
}
