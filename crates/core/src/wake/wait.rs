//! Waits of an open run, as stored with the run.

use crate::budget::{BudgetExceeded, MicroUsd};
use crate::time::Millis;

/// A clock correction of up to a minute ends no wait. After a larger one, waits for a time by the old clock
/// are evaluated again, so that no run waits longer than intended.
pub const SET_BACK_MS: i64 = 60_000;

/// What an open run waits for. A brake is not a wait: it is a separate row, so that braking every agent
/// writes one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// A time, for example of a retry.
    Due { until: Millis },
    /// A person's answer.
    Decision {
        /// When the deadline of the decision is checked; none without a deadline.
        until: Option<Millis>,
    },
    /// The end of a sub-run.
    Children,
    /// Budget of the day.
    Budget {
        /// The beginning of the next day.
        until: Millis,
        /// The maximum cost of its next request.
        needed: MicroUsd,
    },
    /// The end of another run of its agent that is in progress.
    Turn,
}

string_enum! {
    /// What an open run waits for.
    pub enum WaitKind {
        /// A time.
        Due = "due",
        /// A person's answer.
        Decision = "decision",
        /// The end of a sub-run.
        Children = "children",
        Budget = "budget",
        /// The end of another run of its agent.
        Turn = "turn",
    }
}

impl Wait {
    /// Returns the wait of a run whose next request exceeds the budget.
    #[must_use]
    pub const fn for_budget(exceeded: &BudgetExceeded) -> Self {
        Self::Budget {
            until: exceeded.day.next().begins(),
            needed: exceeded.needed,
        }
    }

    /// Returns the stored kind.
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

    /// Returns the stored time at which it ends by itself; none if only an event ends it.
    #[must_use]
    pub const fn until(self) -> Option<Millis> {
        match self {
            Self::Due { until } | Self::Budget { until, .. } => Some(until),
            Self::Decision { until } => until,
            Self::Children | Self::Turn => None,
        }
    }

    /// Returns the stored amount that the budget must cover; none for other waits.
    #[must_use]
    pub const fn needed(self) -> Option<MicroUsd> {
        match self {
            Self::Budget { needed, .. } => Some(needed),
            Self::Due { .. } | Self::Decision { .. } | Self::Children | Self::Turn => None,
        }
    }

    /// Creates a wait from its stored kind, time and amount; none if they do not fit together.
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

/// A wait and its beginning. Both come from one clock reading; otherwise a clock change between two
/// readings would not be detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspension {
    pub wait: Wait,
    pub since: Millis,
}

/// Returns whether a recorded time is so far in the future that the clock must have been set back since.
#[must_use]
pub const fn is_set_back(taken: Millis, now: Millis) -> bool {
    taken.0 > now.0.saturating_add(SET_BACK_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_is_read_back_and_invalid_combinations_are_refused() {
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
