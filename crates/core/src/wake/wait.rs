//! What an open run waits for, as it is stored with the run.

use crate::budget::{BudgetExceeded, MicroUsd};
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

string_enum! {
    /// What an open run waits for, in one word.
    pub enum WaitKind {
        /// A time.
        Due = "due",
        /// A person's answer.
        Decision = "decision",
        /// The end of a run that it started.
        Children = "children",
        /// Money.
        Budget = "budget",
        /// The end of another run of its agent.
        Turn = "turn",
    }
}

impl Wait {
    /// The wait of a run for whose next request the budget has no room.
    #[must_use]
    pub const fn for_budget(exceeded: &BudgetExceeded) -> Self {
        Self::Budget {
            until: exceeded.day.next().begins(),
            needed: exceeded.needed,
        }
    }

    /// The stored name of its kind.
    #[must_use]
    pub const fn kind(self) -> WaitKind {
        match self {
            Self::Due { .. } => WaitKind::Due,
            Self::Decision { .. } => WaitKind::Decision,
            Self::Children => WaitKind::Children,
            Self::Budget { .. } => WaitKind::Budget,
            Self::Turn => WaitKind::Turn,
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

    /// The wait of a stored kind, time and amount; none where they do not belong together.
    #[must_use]
    pub const fn new(kind: WaitKind, until: Option<Millis>, needed: Option<MicroUsd>) -> Option<Self> {
        match (kind, until, needed) {
            (WaitKind::Due, Some(until), None) => Some(Self::Due { until }),
            (WaitKind::Decision, until, None) => Some(Self::Decision { until }),
            (WaitKind::Children, None, None) => Some(Self::Children),
            (WaitKind::Budget, Some(until), Some(needed)) => Some(Self::Budget { until, needed }),
            (WaitKind::Turn, None, None) => Some(Self::Turn),
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
            assert_eq!(Wait::new(wait.kind(), wait.until(), wait.needed()), Some(wait));
        }
        for (kind, until, needed) in [
            (WaitKind::Due, None, None),
            (WaitKind::Due, Some(at), Some(amount)),
            (WaitKind::Turn, Some(at), None),
            (WaitKind::Children, Some(at), None),
            (WaitKind::Budget, Some(at), None),
            (WaitKind::Budget, None, Some(amount)),
        ] {
            assert_eq!(Wait::new(kind, until, needed), None, "{kind}");
        }
    }
}
