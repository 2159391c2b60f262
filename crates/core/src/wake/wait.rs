//! Waits of an open run, as stored with the run.

use crate::budget::{BudgetExceeded, LimitId};
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
    /// Room under a limit of the budget.
    Budget {
        /// The end of the limit's period; none if only a person can raise the limit.
        until: Option<Millis>,
        /// What its next step may use at most.
        needed: u64,
        /// The limit; none for a daily cap on money.
        limit: Option<LimitId>,
    },
    /// The end of another run of its agent that is in progress.
    Turn,
    /// The end of the minute in which a tool was called as often as its rate allows.
    Rate { until: Millis },
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
        /// The rate of a tool.
        Rate = "rate",
    }
}

impl Wait {
    /// Returns the wait of a run whose next request exceeds the budget.
    #[must_use]
    pub const fn for_budget(exceeded: &BudgetExceeded) -> Self {
        Self::Budget {
            until: exceeded.until,
            needed: exceeded.needed,
            limit: exceeded.limit,
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
            Self::Rate { .. } => WaitKind::Rate,
        }
    }

    /// Returns the stored time at which it ends by itself; none if only an event ends it.
    #[must_use]
    pub const fn until(self) -> Option<Millis> {
        match self {
            Self::Due { until } | Self::Rate { until } => Some(until),
            Self::Decision { until } | Self::Budget { until, .. } => until,
            Self::Children | Self::Turn => None,
        }
    }

    /// Returns the stored amount that the budget must cover; none for other waits.
    #[must_use]
    pub const fn needed(self) -> Option<u64> {
        match self {
            Self::Budget { needed, .. } => Some(needed),
            Self::Due { .. } | Self::Decision { .. } | Self::Children | Self::Turn | Self::Rate { .. } => {
                None
            }
        }
    }

    /// Returns the stored limit that must have room; none for other waits and for a daily cap.
    #[must_use]
    pub const fn limit(self) -> Option<LimitId> {
        match self {
            Self::Budget { limit, .. } => limit,
            Self::Due { .. } | Self::Decision { .. } | Self::Children | Self::Turn | Self::Rate { .. } => {
                None
            }
        }
    }

    /// Creates a wait from its stored kind and details; none if they do not fit together.
    #[must_use]
    pub const fn new(kind: WaitKind, stored: StoredWait) -> Option<Self> {
        let StoredWait { until, needed, limit } = stored;
        match (kind, until, needed, limit) {
            (WaitKind::Due, Some(until), None, None) => Some(Self::Due { until }),
            (WaitKind::Decision, until, None, None) => Some(Self::Decision { until }),
            (WaitKind::Children, None, None, None) => Some(Self::Children),
            (WaitKind::Budget, Some(_), Some(needed), None) => Some(Self::Budget { until, needed, limit }),
            (WaitKind::Budget, until, Some(needed), Some(_)) => Some(Self::Budget { until, needed, limit }),
            (WaitKind::Turn, None, None, None) => Some(Self::Turn),
            (WaitKind::Rate, Some(until), None, None) => Some(Self::Rate { until }),
            (_, _, _, _) => None,
        }
    }
}

/// The stored details of a wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoredWait {
    /// When it ends by itself.
    pub until: Option<Millis>,
    /// What the budget must cover.
    pub needed: Option<u64>,
    /// The limit that must have room.
    pub limit: Option<LimitId>,
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
    use crate::key::Digest;

    #[test]
    fn every_wait_is_read_back_and_invalid_combinations_are_refused() {
        let (at, limit) = (Millis(7), LimitId(Digest::ZERO));
        let budget = |until, limit| Wait::Budget {
            until,
            needed: 5,
            limit,
        };
        let waits = [
            Wait::Due { until: at },
            Wait::Decision { until: Some(at) },
            Wait::Decision { until: None },
            Wait::Children,
            budget(Some(at), None),
            budget(Some(at), Some(limit)),
            budget(None, Some(limit)),
            Wait::Turn,
            Wait::Rate { until: at },
        ];
        let stored = |until, needed, limit| StoredWait { until, needed, limit };
        for wait in waits {
            let stored = stored(wait.until(), wait.needed(), wait.limit());
            assert_eq!(Wait::new(wait.kind(), stored), Some(wait));
        }
        for (kind, stored) in [
            (WaitKind::Due, StoredWait::default()),
            (WaitKind::Rate, StoredWait::default()),
            (WaitKind::Due, stored(Some(at), Some(5), None)),
            (WaitKind::Turn, stored(Some(at), None, None)),
            (WaitKind::Children, stored(None, None, Some(limit))),
            (WaitKind::Budget, stored(Some(at), None, None)),
            (WaitKind::Budget, stored(None, Some(5), None)),
        ] {
            assert_eq!(Wait::new(kind, stored), None, "{kind}");
        }
    }
}
