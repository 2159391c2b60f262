//! How a run stands, in one word for the database, the API and the page.

use super::RunOutcome;
use crate::wake::WakeOutcome;

string_enum! {
    /// Which runs to list.
    #[derive(Default)]
    pub enum RunState {
        /// All of them.
        #[default]
        Any = "any",
        /// Those that have not ended.
        Open = "open",
        /// Those that cannot go on until a person says so.
        Quarantined = "quarantined",
    }
}

string_enum! {
    /// How a run stands.
    pub enum RunStatus {
        /// Its message waits for its turn.
        Queued = "queued",
        /// It has not ended.
        Open = "open",
        /// It cannot go on until a person resumes or abandons it.
        Quarantined = "quarantined",
        /// It did what was asked.
        Completed = "completed",
        /// It could not go on.
        Failed = "failed",
        /// It used all its rounds.
        OutOfRounds = "out_of_rounds",
        /// A person ended it, or took its message back before its turn.
        Cancelled = "cancelled",
        /// A person gave it up while it was quarantined.
        Abandoned = "abandoned",
        /// Another run took up its message.
        Absorbed = "absorbed",
        /// A later firing of its schedule took its place.
        Replaced = "replaced",
        /// Its cause was refused: there is no message.
        Refused = "refused",
        /// Nothing is left of it.
        Gone = "gone",
    }
}

impl RunStatus {
    /// Whether it will not change any more.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        match self {
            Self::Queued | Self::Open | Self::Quarantined => false,
            Self::Completed | Self::Failed | Self::OutOfRounds | Self::Cancelled => true,
            Self::Abandoned | Self::Absorbed | Self::Replaced | Self::Refused | Self::Gone => true,
        }
    }

    /// Whether it waits for its turn, or is under way.
    #[must_use]
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Queued | Self::Open)
    }

    /// How a message stands that has not become a run, by what was decided about it.
    #[must_use]
    pub fn of_message(decided: WakeOutcome) -> Self {
        if decided == WakeOutcome::Run {
            return Self::Gone;
        }
        // Queued, absorbed, cancelled and replaced are the same words for both.
        Self::parse(decided.as_str()).unwrap_or(Self::Refused)
    }
}

impl RunOutcome {
    /// How a run stands that ended like this.
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
