//! The words of which a question is made.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// May this action be taken?
    ToolApproval,
    /// An equal action ended with its outcome unknown: may it be done again?
    OutcomeUnknown,
}

impl DecisionKind {
    const ALL: [Self; 2] = [Self::ToolApproval, Self::OutcomeUnknown];

    /// The spelling that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolApproval => "tool_approval",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }

    /// Reads the stored spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// How much depends on the answer, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth a look.
    Warning,
    /// Little.
    Low,
    /// Something.
    Medium,
    /// Much.
    High,
    /// Everything.
    Critical,
}

impl Severity {
    /// From least to most.
    pub const ALL: [Self; 5] = [Self::Warning, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The spelling that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Reads the stored spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }

    /// One level more; none above the last.
    #[must_use]
    pub fn raised(self) -> Option<Self> {
        Self::ALL.into_iter().find(|level| *level > self)
    }
}

/// How far the consequences reach. What nobody knows counts as the farthest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlastRadius {
    /// Nothing that cannot be undone at once.
    Trivial,
    /// One thing.
    Small,
    /// Several things.
    Medium,
    /// Much of what there is.
    Large,
    /// Nobody knows.
    Unknown,
}

/// One answer that may be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// Why a question stands out in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Badge {
    /// Its deadline has passed once.
    TimedOut,
}

/// Where a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionStatus {
    /// It waits for an answer.
    Pending,
    /// A person answered.
    Answered,
    /// Nobody answered in time; the action will not be taken.
    Cancelled,
    /// The run ended before anybody answered.
    Withdrawn,
}

impl DecisionStatus {
    const ALL: [Self; 4] = [Self::Pending, Self::Answered, Self::Cancelled, Self::Withdrawn];

    /// The spelling that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Answered => "answered",
            Self::Cancelled => "cancelled",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Reads the stored spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// By which way an answer, or a hand on the brake, came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The command line.
    Cli,
    /// A program that speaks to the API.
    Api,
    /// The page.
    Page,
}

impl Channel {
    const ALL: [Self; 3] = [Self::Cli, Self::Api, Self::Page];

    /// The spellings of all of them.
    pub const WORDS: [&str; 3] = ["cli", "api", "page"];

    /// Every way there is.
    #[must_use]
    pub fn all() -> BTreeSet<Self> {
        BTreeSet::from(Self::ALL)
    }

    /// The spelling that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Api => "api",
            Self::Page => "page",
        }
    }

    /// Reads the stored spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.as_str() == text)
    }
}
