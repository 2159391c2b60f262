//! Questions for people, and brakes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::message::whole;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// May this action be taken?
    ToolApproval,
    /// An equal action ended with its outcome unknown: may it be done again?
    OutcomeUnknown,
}

/// Where a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

/// How much depends on the answer, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
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

/// How far the consequences reach. What nobody knows counts as the farthest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
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

/// By which way an answer, or a hand on the brake, came. The command line that speaks through a daemon cannot be told
/// from any other program that holds the token, so it is `api`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The command line, working on the database itself.
    Cli,
    /// A program that holds the token.
    Api,
    /// The page, in a browser that is logged in.
    Page,
}

/// Why a question stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Badge {
    /// Its deadline has passed once.
    TimedOut,
}

/// Why the arguments of an action are not there in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputGone {
    /// A person had them erased.
    Erased,
    /// Their time was over.
    Pruned,
    /// The reply that holds them was not found, or cannot be read.
    Unreadable,
}

/// One answer that may be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionOption {
    /// The word to answer with.
    #[schema(example = "approve")]
    pub id: String,
    /// What a button says.
    pub label: String,
    /// What happens then.
    pub description: String,
    /// What speaks against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tradeoffs: Option<String>,
}

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Answer {
    /// Which option.
    pub option: String,
    /// By which way it came.
    pub channel: Channel,
    /// What the person said beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub note: Option<String>,
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
}

/// That somebody was told of a question, or could not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Announcement {
    /// By which way: `desktop`, `webhook` or `command`.
    #[schema(example = "webhook")]
    pub way: String,
    /// How severe the question was then.
    pub severity: Severity,
    /// Whether it came through.
    pub is_done: bool,
    /// How often it was tried.
    pub tries: u32,
    /// Why it did not, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
    /// When it was last tried.
    #[schema(format = DateTime)]
    pub at: String,
}

/// A question that a person answers; a run waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    /// Its name.
    pub decision_id: String,
    /// What is asked.
    pub kind: DecisionKind,
    /// Where it stands.
    pub status: DecisionStatus,
    /// Grows with every change. Give it with an answer, and the answer is to what you read.
    pub version: u32,
    /// The question in one line.
    #[schema(example = "May ExecCommand be used?")]
    pub title: String,
    /// The tool that would be used.
    pub tool: String,
    /// Its arguments as JSON. Of one question all of them, at most 4 MiB; in lists as far as one line shows them.
    /// Characters that nobody would see are spelled out.
    pub input: String,
    /// Whether `input` is only how they begin. `GET /api/decisions/{decision_id}` has all of them.
    pub is_input_cut: bool,
    /// Why not even the question alone has all of them; absent where it has, and in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub input_gone: Option<InputGone>,
    /// What may be answered.
    pub options: Vec<DecisionOption>,
    /// What would be safe to answer; absent where nothing speaks for either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub recommended_option_id: Option<String>,
    /// How much depends on it.
    pub severity: Severity,
    /// How far it reaches.
    pub blast_radius: BlastRadius,
    /// The rule that made it a question.
    pub rule: String,
    /// Why it stands out.
    pub badges: Vec<Badge>,
    /// Whose run asks.
    pub agent_id: String,
    /// The run that waits.
    pub run_key: String,
    /// The action that waits.
    pub operation_id: String,
    /// The action that this one would do again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub retries: Option<String>,
    /// When it was asked.
    #[schema(format = DateTime)]
    pub asked_at: String,
    /// When it grows more severe, or is called off where it cannot; absent for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub deadline_at: Option<String>,
    /// By which ways an answer is taken.
    pub may_answer: Vec<Channel>,
    /// When it was closed, by whatever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = DateTime)]
    pub closed_at: Option<String>,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub answer: Option<Answer>,
    /// Who was told of it. Told of one question, not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub announcements: Vec<Announcement>,
}

/// Questions in the order in which people should see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionList {
    /// The questions; at most 500.
    pub decisions: Vec<Decision>,
    /// How many wait for an answer.
    pub pending_count: u64,
}

/// An answer to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerDecision {
    /// The id of one of the question's options.
    #[schema(min_length = 1, max_length = 200, example = "approve")]
    pub option: String,
    /// What you say beside it; the model reads it where the answer is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub note: Option<String>,
    /// The version of the question that you read; without it, whichever stands.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 4_294_967_295_u32)]
    pub version: Option<u32>,
}

/// A brake that is on: nothing that it holds begins anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Brake {
    /// Who is held; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub agent_id: Option<String>,
    /// Why, in the words of whoever set it; empty where they said nothing.
    pub reason: String,
    /// By which way it came.
    pub channel: Channel,
    /// When it was set.
    #[schema(format = DateTime)]
    pub at: String,
    /// Why it is not durable yet; absent where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_durable: Option<NotDurable>,
}

/// Why a brake or a cancellation that is in force is not in the database yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotDurable {
    /// What is in the way, such as `disk_full`, `database_unreachable` or `database_slow`.
    pub code: String,
    /// One sentence about it.
    pub message: String,
    /// Whether it is kept in the home and so survives a restart.
    pub is_kept: bool,
}

/// A cancellation that is in force and not in the database yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PendingCancel {
    /// The run that ends.
    pub run_key: String,
    /// Why it is not durable yet.
    pub not_durable: NotDurable,
}

/// The brakes that are on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BrakeList {
    /// Whether everything is held.
    pub is_on: bool,
    /// Every brake, that of all first.
    pub brakes: Vec<Brake>,
}

/// A brake to set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBrake {
    /// Who is to be held; all where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 64, pattern = "^[a-z0-9][a-z0-9_-]*$")]
    pub agent_id: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 500)]
    pub reason: Option<String>,
}

/// A brake to release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseBrake {
    /// Whose; that of all where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 64, pattern = "^[a-z0-9][a-z0-9_-]*$")]
    pub agent_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::AnswerDecision;

    #[test]
    fn a_version_may_be_spelled_with_a_point_as_json_does() {
        let version = |text: &str| {
            let body = format!(r#"{{"option": "deny", "version": {text}}}"#);
            let read = serde_json::from_str::<AnswerDecision>(&body);
            read.ok().map(|answer| answer.version)
        };
        assert_eq!(version("3"), Some(Some(3)));
        assert_eq!(version("3.0"), Some(Some(3)));
        assert_eq!(version("null"), Some(None));
        for odd in ["3.5", "-1", "4294967296", "\"3\""] {
            assert_eq!(version(odd), None, "{odd}");
        }
    }
}
