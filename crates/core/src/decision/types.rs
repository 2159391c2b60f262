//! The enums and small types of a decision.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

string_enum! {
    /// Why the full arguments of an action are not available.
    pub enum InputGone {
        /// A person erased them.
        Erased = "erased",
        /// Retention removed them.
        Pruned = "pruned",
        /// The model reply that contains them is missing or unreadable.
        Unreadable = "unreadable",
    }
}

string_enum! {
    /// The kind of decision.
    pub enum DecisionKind {
        /// May this action be performed?
        ToolApproval = "tool_approval",
        /// An equal action ended with an unknown outcome: may it be performed again?
        OutcomeUnknown = "outcome_unknown",
    }
}

string_enum! {
    /// How urgent the answer is, from lowest to highest.
    #[derive(PartialOrd, Ord)]
    pub enum Severity {
        /// Not urgent.
        Warning = "warning",
        /// Little depends on the answer.
        Low = "low",
        /// Something depends on the answer.
        Medium = "medium",
        /// Much depends on the answer.
        High = "high",
        /// Everything depends on the answer.
        Critical = "critical",
    }
}

impl Severity {
    /// The next higher level; `None` at the highest.
    #[must_use]
    pub fn next_level(self) -> Option<Self> {
        Self::ALL.into_iter().find(|level| *level > self)
    }
}

string_enum! {
    /// How far the consequences reach. `unknown` counts as the farthest.
    #[derive(PartialOrd, Ord)]
    pub enum BlastRadius {
        /// Anything it changes can be undone at once.
        Trivial = "trivial",
        /// One thing is affected.
        Small = "small",
        /// Several things are affected.
        Medium = "medium",
        /// Much of the data is affected.
        Large = "large",
        /// The consequences are not known.
        Unknown = "unknown",
    }
}

/// One possible answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DecisionOption {
    /// The id to answer with.
    pub id: String,
    /// The button label.
    pub label: String,
    /// The consequence of this answer.
    pub description: String,
    /// The disadvantages of this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tradeoffs: Option<String>,
}

string_enum! {
    /// Why a decision is highlighted in a list.
    #[derive(PartialOrd, Ord)]
    pub enum Badge {
        /// Its deadline has passed at least once.
        TimedOut = "timed_out",
    }
}

string_enum! {
    /// The status of a decision.
    pub enum DecisionStatus {
        /// It waits for an answer.
        Pending = "pending",
        /// A person answered.
        Answered = "answered",
        /// It was not answered in time; the action is not performed.
        Cancelled = "cancelled",
        /// The run ended or was quarantined before an answer arrived.
        Withdrawn = "withdrawn",
    }
}

string_enum! {
    /// How an answer or a brake arrived.
    #[derive(PartialOrd, Ord)]
    pub enum Channel {
        /// The command line.
        Cli = "cli",
        /// An API client.
        Api = "api",
        /// The page.
        Page = "page",
    }
}

impl Channel {
    /// All channels.
    #[must_use]
    pub fn all() -> BTreeSet<Self> {
        BTreeSet::from(Self::ALL)
    }
}
