//! What an open run waits for, as it is stored with the run.

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
    /// Money. Only the next attempt finds out whether there is some, so this wait keeps no run from being tried; the
    /// dispatcher's backoff spaces the attempts.
    Budget,
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
    /// The stored name of its kind.
    #[must_use]
    pub const fn kind(self) -> WaitKind {
        match self {
            Self::Due { .. } => WaitKind::Due,
            Self::Decision { .. } => WaitKind::Decision,
            Self::Children => WaitKind::Children,
            Self::Budget => WaitKind::Budget,
            Self::Turn => WaitKind::Turn,
        }
    }

    /// The stored time at which it ends by itself; none where only an event ends it.
    #[must_use]
    pub const fn until(self) -> Option<Millis> {
        match self {
            Self::Due { until } => Some(until),
            Self::Decision { until } => until,
            Self::Children | Self::Budget | Self::Turn => None,
        }
    }

    /// The wait of a stored kind and time; none where they do not belong together.
    #[must_use]
    pub const fn new(kind: WaitKind, until: Option<Millis>) -> Option<Self> {
        match (kind, until) {
            (WaitKind::Due, Some(until)) => Some(Self::Due { until }),
            (WaitKind::Decision, until) => Some(Self::Decision { until }),
            (WaitKind::Children, None) => Some(Self::Children),
            (WaitKind::Budget, None) => Some(Self::Budget),
            (WaitKind::Turn, None) => Some(Self::Turn),
            (WaitKind::Due, None) | (WaitKind::Children | WaitKind::Budget | WaitKind::Turn, Some(_)) => None,
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
        let at = Millis(7);
        let waits = [
            Wait::Due { until: at },
            Wait::Decision { until: Some(at) },
            Wait::Decision { until: None },
            Wait::Children,
            Wait::Budget,
            Wait::Turn,
        ];
        for wait in waits {
            assert_eq!(Wait::new(wait.kind(), wait.until()), Some(wait));
        }
        for (kind, until) in [
            (WaitKind::Due, None),
            (WaitKind::Turn, Some(at)),
            (WaitKind::Children, Some(at)),
            (WaitKind::Budget, Some(at)),
        ] {
            assert_eq!(Wait::new(kind, until), None, "{kind}");
        }
    }
}
