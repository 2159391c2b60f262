//! The words of which a question is made.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

string_enum! {
    /// Why the arguments of an action are not there in full.
    pub enum InputGone {
        /// A person had them erased.
        Erased = "erased",
        /// Their time was over.
        Pruned = "pruned",
        /// The reply that holds them was not found, or cannot be read.
        Unreadable = "unreadable",
    }
}

string_enum! {
    /// What is asked.
    pub enum DecisionKind {
        /// May this action be taken?
        ToolApproval = "tool_approval",
        /// An equal action ended with its outcome unknown: may it be done again?
        OutcomeUnknown = "outcome_unknown",
    }
}

string_enum! {
    /// How much depends on the answer, least first.
    #[derive(PartialOrd, Ord)]
    pub enum Severity {
        /// Worth a look.
        Warning = "warning",
        /// Little.
        Low = "low",
        /// Something.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Everything.
        Critical = "critical",
    }
}

impl Severity {
    /// One level more; none above the last.
    #[must_use]
    pub fn next_level(self) -> Option<Self> {
        Self::ALL.into_iter().find(|level| *level > self)
    }
}

string_enum! {
    /// How far the consequences reach. What nobody knows counts as the farthest.
    #[derive(PartialOrd, Ord)]
    pub enum BlastRadius {
        /// Nothing that cannot be undone at once.
        Trivial = "trivial",
        /// One thing.
        Small = "small",
        /// Several things.
        Medium = "medium",
        /// Much of what there is.
        Large = "large",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

/// One answer that may be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DecisionOption {
    /// The word to answer with.
    pub id: String,
    /// What a button says.
    pub label: String,
    /// What happens then.
    pub description: String,
    /// What speaks against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tradeoffs: Option<String>,
}

string_enum! {
    /// Why a question stands out in a list.
    #[derive(PartialOrd, Ord)]
    pub enum Badge {
        /// Its deadline has passed once.
        TimedOut = "timed_out",
    }
}

string_enum! {
    /// Where a question stands.
    pub enum DecisionStatus {
        /// It waits for an answer.
        Pending = "pending",
        /// A person answered.
        Answered = "answered",
        /// Nobody answered in time; the action will not be taken.
        Cancelled = "cancelled",
        /// The run ended before anybody answered.
        Withdrawn = "withdrawn",
    }
}

string_enum! {
    /// By which way an answer, or a hand on the brake, came.
    #[derive(PartialOrd, Ord)]
    pub enum Channel {
        /// The command line.
        Cli = "cli",
        /// A program that speaks to the API.
        Api = "api",
        /// The page.
        Page = "page",
    }
}

impl Channel {
    /// Every way there is.
    #[must_use]
    pub fn all() -> BTreeSet<Self> {
        BTreeSet::from(Self::ALL)
    }
}
