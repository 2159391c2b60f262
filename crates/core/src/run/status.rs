//! The status of a run as one word for the database, the API and the page.

use super::RunOutcome;
use crate::wake::{WaitKind, WakeOutcome};

string_enum! {
    /// Filter for lists of runs.
    #[derive(Default)]
    pub enum RunState {
        #[default]
        Any = "any",
        /// Runs that have not ended.
        Open = "open",
        /// Runs that wait until a person resumes or abandons them.
        Quarantined = "quarantined",
        /// Runs that ended without success: failed, out of rounds, cancelled or abandoned.
        Unsuccessful = "unsuccessful",
    }
}

string_enum! {
    /// The status of a run.
    pub enum RunStatus {
        /// Its message is in the queue.
        Queued = "queued",
        /// It has started and not ended.
        Open = "open",
        /// It cannot continue until a person resumes or abandons it.
        Quarantined = "quarantined",
        /// It ended with a final reply.
        Completed = "completed",
        /// It ended with an error.
        Failed = "failed",
        /// It used all its rounds.
        OutOfRounds = "out_of_rounds",
        /// A person cancelled it, or its message while it was queued.
        Cancelled = "cancelled",
        /// A person abandoned it while it was quarantined.
        Abandoned = "abandoned",
        /// Another run handled its message.
        Absorbed = "absorbed",
        /// A later firing of its schedule replaced it.
        Replaced = "replaced",
        /// A gate refused its cause, so no message exists.
        Refused = "refused",
        /// Its data was deleted.
        Gone = "gone",
    }
}

string_enum! {
    /// What an open run waits for.
    pub enum WaitingFor {
        /// A person's approval of an action.
        Approval = "approval",
        /// Budget for the next model request.
        Budget = "budget",
        /// The end of runs that it started.
        SubRuns = "sub_runs",
        /// A time, such as the next attempt after a failure.
        Time = "time",
        /// The end of another run of its agent.
        Turn = "turn",
        /// The release of a brake.
        Brake = "brake",
        /// The rate of a tool, which was called as often as a minute allows.
        Rate = "rate",
    }
}

string_enum! {
    /// Selects runs by status.
    pub enum StatusFilter {
        /// Runs that have not ended, including waiting ones.
        Open = "open",
        /// Open runs that wait for something.
        Waiting = "waiting",
        /// Open runs that wait for budget.
        Parked = "parked",
        Quarantined = "quarantined",
        Completed = "completed",
        Failed = "failed",
        OutOfRounds = "out_of_rounds",
        Cancelled = "cancelled",
        Abandoned = "abandoned",
    }
}

impl StatusFilter {
    /// Returns whether a run with this status, which waits for `waiting`, is selected.
    #[must_use]
    pub fn selects(self, status: RunStatus, waiting: Option<WaitingFor>) -> bool {
        match self {
            Self::Waiting => status == RunStatus::Open && waiting.is_some(),
            Self::Parked => status == RunStatus::Open && waiting == Some(WaitingFor::Budget),
            Self::Open
            | Self::Quarantined
            | Self::Completed
            | Self::Failed
            | Self::OutOfRounds
            | Self::Cancelled
            | Self::Abandoned => self.as_str() == status.as_str(),
        }
    }

    /// Returns the smallest set of runs that contains all selected ones and can be listed by an index.
    #[must_use]
    pub fn state_of(statuses: &[Self]) -> RunState {
        let of = |status: &Self| match status {
            Self::Open | Self::Waiting | Self::Parked => RunState::Open,
            Self::Quarantined => RunState::Quarantined,
            Self::Completed => RunState::Any,
            Self::Failed | Self::OutOfRounds | Self::Cancelled | Self::Abandoned => RunState::Unsuccessful,
        };
        let Some((first, rest)) = statuses.split_first() else {
            return RunState::Any;
        };
        let state = of(first);
        if rest.iter().all(|status| of(status) == state) {
            state
        } else {
            RunState::Any
        }
    }
}

impl WaitingFor {
    /// Returns what a run waits for; none if it works or has ended. What the run itself waits for comes
    /// before a brake, because it remains after the brake is released.
    #[must_use]
    pub const fn of(status: RunStatus, wait: Option<WaitKind>, brake: BrakeState) -> Option<Self> {
        match (status, wait, brake) {
            (RunStatus::Open, Some(WaitKind::Decision), _) => Some(Self::Approval),
            (RunStatus::Open, Some(WaitKind::Budget), _) => Some(Self::Budget),
            (RunStatus::Open, Some(WaitKind::Children), _) => Some(Self::SubRuns),
            (RunStatus::Open, Some(WaitKind::Due), _) => Some(Self::Time),
            (RunStatus::Open, Some(WaitKind::Turn), _) => Some(Self::Turn),
            (RunStatus::Open, Some(WaitKind::Rate), _) => Some(Self::Rate),
            (RunStatus::Open, None, BrakeState::Set) => Some(Self::Brake),
            (RunStatus::Open, None, BrakeState::Released) => None,
            (_, _, _) => None,
        }
    }
}

/// Whether a brake applies to the agent of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrakeState {
    Set,
    Released,
}

impl RunStatus {
    /// Returns whether the status is final.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        match self {
            Self::Queued | Self::Open | Self::Quarantined => false,
            Self::Completed | Self::Failed | Self::OutOfRounds | Self::Cancelled => true,
            Self::Abandoned | Self::Absorbed | Self::Replaced | Self::Refused | Self::Gone => true,
        }
    }

    /// Returns whether the run ended by itself without completing its work, which a person should know about.
    #[must_use]
    pub const fn is_unsuccessful(self) -> bool {
        matches!(self, Self::Failed | Self::OutOfRounds)
    }

    /// Returns whether it is queued or in progress.
    #[must_use]
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Queued | Self::Open)
    }

    /// Returns the status of a message that has not become a run, from its wake outcome.
    #[must_use]
    pub fn of_message(decided: WakeOutcome) -> Self {
        if decided == WakeOutcome::Run {
            return Self::Gone;
        }
        // Queued, absorbed, cancelled and replaced are the same words in both enums.
        Self::parse(decided.as_str()).unwrap_or(Self::Refused)
    }
}

impl RunOutcome {
    /// Returns the status for this outcome.
    #[must_use]
    pub const fn status(&self) -> RunStatus {
        match self {
            Self::Completed => RunStatus::Completed,
            Self::Failed(_) => RunStatus::Failed,
            Self::OutOfRounds => RunStatus::OutOfRounds,
            Self::Cancelled => RunStatus::Cancelled,
        }
    }
}
