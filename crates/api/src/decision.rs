//! Questions for people, and brakes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::decision::{
    Badge, BlastRadius, Channel, DecisionKind, DecisionOption, DecisionStatus, InputGone, Severity,
};

use crate::endpoint::endpoints;
use crate::text::{DateTime, Hex, whole};

endpoints! { "decisions":
    /// Questions: those that wait in the order in which people should see them, or all of them, newest first.
    ListDecisions {
        /// Only those that wait for an answer; `false` for those that are closed, too, newest first.
        #[serde(default = "yes")]
        pending: bool
    } = Get "/api/decisions" -> DecisionList { 200 "The questions" }
    /// One question, with all of its arguments and who was notified of it.
    GetDecision {
        /// The question's name, or the first digits of it.
        decision_id: Hex<1, 64>
    } = Get "/api/decisions/{decision_id}" -> Decision { 200 "The question", 409 "Several begin like this" }
    /// Answers a question, once. With a version, only the question as it was read.
    AnswerDecision = Post "/api/decisions/{decision_id}/answer" -> Decision {
        200 "The answer stands, and the run goes on by it",
        403 "It takes no answer by this way (`answer_not_allowed`), or an agent's own tool asks (`caller_is_tool_process`)",
        404 "There is no such question, or it has no such option (`option_unknown`)",
        409 "It is closed (`decision_closed`), has changed since it was read (`decision_changed`), or several begin like this",
    }
}

const fn yes() -> bool {
    true
}

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Which option.
    pub option: String,
    /// By which way it came.
    pub channel: Channel,
    /// What the person said beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When.
    #[schemars(with = "DateTime")]
    pub at: String,
}

/// That somebody was told of a question, or could not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionNotification {
    /// By which way: `desktop`, `webhook` or `command`.
    pub target: String,
    /// How severe the question was then.
    pub severity: Severity,
    /// Whether it came through.
    pub is_delivered: bool,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it did not, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it was last tried.
    #[schemars(with = "DateTime")]
    pub at: String,
}

/// A question that a person answers; a run waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    pub input_gone: Option<InputGone>,
    /// What may be answered.
    pub options: Vec<DecisionOption>,
    /// What would be safe to answer; absent where nothing speaks for either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    pub retries: Option<String>,
    /// When it was asked.
    #[schemars(with = "DateTime")]
    pub asked_at: String,
    /// When it grows more severe, or is called off where it cannot; absent for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub deadline_at: Option<String>,
    /// By which ways an answer is taken.
    pub may_answer: Vec<Channel>,
    /// When it was closed, by whatever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub closed_at: Option<String>,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Who was told of it. Told of one question, not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notifications: Vec<DecisionNotification>,
}

/// Questions in the order in which people should see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionList {
    /// The questions; at most 500.
    pub decisions: Vec<Decision>,
    /// How many wait for an answer.
    pub pending_count: u64,
}

/// An answer to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerDecision {
    /// The question's name, or the first digits of it.
    pub decision_id: Hex<1, 64>,
    /// The id of one of the question's options.
    #[schemars(length(min = 1, max = 200))]
    pub option: String,
    /// What you say beside it; the model reads it where the answer is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub note: Option<String>,
    /// The version of the question that you read; without it, whichever stands.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub version: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::AnswerDecision;

    #[test]
    fn a_version_may_be_spelled_with_a_point_as_json_does() {
        let version = |text: &str| {
            let body = format!(r#"{{"decision_id": "a", "option": "deny", "version": {text}}}"#);
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
