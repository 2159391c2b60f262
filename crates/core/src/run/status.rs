//! The status of a run as one word for the database, the API and the page.

use super::RunOutcome;
use crate::wake::WakeOutcome;

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
