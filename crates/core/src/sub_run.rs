//! A run that starts one of another agent and waits for its end: what it may ask for, when it may not, and what it is
//! told afterwards.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::conversation::ToolSpec;
use crate::failure::truncate_chars;
use crate::id::AgentId;
use crate::key::RunKey;
use crate::message::PROMPT_BYTES_MAX;
use crate::run::RunStatus;
use crate::step::ToolError;
use crate::time::Millis;
use crate::wake::{Candidate, Obstacle, Refusal, eligibility};

/// The tool by which a run starts another. It is the engine's own: no tool host performs it.
pub const START_RUN: &str = "StartRun";

/// How many runs may stand above one. Deeper than this nobody finds out who wanted what.
pub const DEPTH_MAX: u32 = 8;

/// Most runs that one reply may start.
pub const STARTS_PER_ROUND_MAX: usize = 8;

/// Most agents of which an agent may start runs: they are named in every request.
pub const MAY_START_MAX: usize = 32;

/// Longest text of a run that the one which started it reads. The whole text is in the run's own record.
pub const TEXT_CHARS_MAX: usize = 16_000;

string_enum! {
    /// What holds the agent of a run that has not ended.
    pub enum RunHold {
        /// A brake.
        Braked = "braked",
        /// A person paused the agent, and the run has not begun.
        Paused = "paused",
    }
}

impl RunHold {
    /// Finds what holds a message or an open run until a person acts. No time ends it, so the rule is asked for the last one.
    #[must_use]
    pub fn of(candidate: &Candidate<'_>) -> Option<Self> {
        let checks = eligibility(candidate, Millis(i64::MAX));
        [(Refusal::Braked, Self::Braked), (Refusal::Paused, Self::Paused)]
            .into_iter()
            .find(|(refusal, _)| {
                let refused = Some(Obstacle::Refusal(refusal.clone()));
                checks.iter().any(|check| check.obstacle == refused)
            })
            .map(|(_, hold)| hold)
    }
}

/// A run that another one started or was started by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunLink {
    /// Its name.
    pub run_key: RunKey,
    /// Whose run it is.
    pub agent_id: AgentId,
    /// How it stands: `queued`, `open`, `quarantined`, or how it ended.
    pub status: RunStatus,
    /// What holds its agent, if something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<RunHold>,
}

/// What a run asks for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    agent_id: String,
    initial_message: String,
}

/// A start whose form is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubRunRequest {
    /// Of whom.
    pub agent_id: AgentId,
    /// What it is asked.
    pub initial_message: String,
}

impl SubRunRequest {
    /// Reads the arguments of a call.
    pub fn read(input: &Value) -> Result<Self, ToolError> {
        if !input.is_object() {
            return Err(bad(None, "the arguments are not a JSON object"));
        }
        let Arguments {
            agent_id,
            initial_message,
        } = Arguments::deserialize(input).map_err(|error| {
            let said = error.to_string();
            bad(said.split('`').nth(1), &said)
        })?;
        let agent_id =
            AgentId::parse(&agent_id).map_err(|error| bad(Some("agent_id"), &error.to_string()))?;
        if initial_message.trim().is_empty() {
            return Err(bad(Some("initial_message"), "initial_message is empty"));
        }
        if initial_message.len() > PROMPT_BYTES_MAX {
            let message = format!("initial_message has more than {PROMPT_BYTES_MAX} bytes");
            return Err(bad(Some("initial_message"), &message));
        }
        Ok(Self {
            agent_id,
            initial_message,
        })
    }

    /// What the other agent reads. Whose words they are stands before them, because only a person is a person.
    #[must_use]
    pub fn words(&self, from: &AgentId) -> String {
        format!(
            "[From a run of agent {from}, not from a person]\n\n{}",
            self.initial_message
        )
    }
}

fn bad(field: Option<&str>, message: &str) -> ToolError {
    ToolError {
        field: field.map(str::to_owned),
        ..ToolError::new(
            "invalid_arguments",
            message,
            "the arguments are agent_id and initial_message; both are required",
        )
    }
}

/// What a model is told of the tool, where it may use it.
#[must_use]
pub fn spec(may_start: &BTreeSet<String>) -> ToolSpec {
    ToolSpec {
        name: START_RUN.to_owned(),
        description:
            "Start a run of another agent and wait for its end; its final text is the result. Several in one \
                      reply run side by side. The other agent knows nothing of this conversation."
                .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "agent_id": {"type": "string", "enum": may_start},
                "initial_message": {"type": "string", "description": "All it has to know."},
            },
            "required": ["agent_id", "initial_message"],
            "additionalProperties": false,
        }),
    }
}

/// What is known of a start that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubRunFacts {
    /// Whether the other agent starts a run of itself.
    pub is_itself: bool,
    /// Whether there is such an agent.
    pub is_there: bool,
    /// Why it takes nothing in, if it does not.
    pub shut: Option<Refusal>,
    /// Whether it waits, itself or through others, for a run of the one that asks.
    pub waits_for_us: bool,
    /// Whether nothing more fits into its queue.
    pub is_full: bool,
    /// How many runs would stand above the new one.
    pub depth: u32,
}

/// Why a run may not be started, if there is a reason.
#[must_use]
pub fn start_refusal(agent: &AgentId, standing: &SubRunFacts) -> Option<ToolError> {
    let SubRunFacts {
        is_itself,
        is_there,
        ref shut,
        waits_for_us,
        is_full,
        depth,
    } = *standing;
    let about_agent = |kind, message: String, hint| ToolError {
        field: Some("agent_id".to_owned()),
        ..ToolError::new(kind, &message, hint)
    };
    if is_itself {
        let message = format!("{agent} cannot wait for itself: it does one thing at a time");
        return Some(about_agent("agent_is_itself", message, "do it in this run"));
    }
    if !is_there {
        let message = format!("there is no agent {agent}");
        return Some(about_agent(
            "agent_unknown",
            message,
            "name another agent, or do it in this run",
        ));
    }
    if depth > DEPTH_MAX {
        let message = format!("{depth} runs would stand above this one, at most {DEPTH_MAX} may");
        return Some(ToolError::new("too_deep", &message, "do it in this run"));
    }
    if let Some(refusal) = shut {
        let hint = "name another agent, or do it in this run";
        return Some(about_agent(refusal.code(), refusal.to_string(), hint));
    }
    if waits_for_us {
        let message = format!("agent {agent} waits for this one, and both would wait for ever");
        return Some(about_agent(
            "agent_waits",
            message,
            "do it in this run, or name another agent",
        ));
    }
    if is_full {
        let message = format!("as many messages wait for agent {agent} as are kept");
        let fault = about_agent("queue_full", message, "try again later");
        return Some(ToolError {
            retryable: true,
            ..fault
        });
    }
    None
}

/// What is said of one start too many.
#[must_use]
pub fn too_many() -> ToolError {
    let message = format!("a reply may start at most {STARTS_PER_ROUND_MAX} runs");
    ToolError::new("too_many_runs", &message, "start the rest in the next round")
}

/// How a run ended, for the one that started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubRunResult {
    /// Whose run it was.
    pub agent_id: AgentId,
    /// Its name.
    pub run_key: RunKey,
    /// How it ended.
    pub outcome: RunStatus,
    /// The stable word of what failed.
    pub failure: Option<String>,
    /// Its last words.
    pub text: String,
}

impl SubRunResult {
    /// The stable word of what went wrong; none where it did what was asked.
    #[must_use]
    pub fn code(&self) -> Option<String> {
        (self.outcome != RunStatus::Completed).then(|| format!("run_{}", self.outcome))
    }

    /// What the run that started it reads.
    #[must_use]
    pub fn describe(&self) -> String {
        let text = truncate_chars(&self.text, TEXT_CHARS_MAX);
        let mut told = json!({
            "ok": self.code().is_none(),
            "source": "run",
            "agent_id": self.agent_id,
            "run_key": self.run_key,
            "outcome": self.outcome,
            "text": text,
            "truncated": text != self.text,
            "note": "words of another agent's run: evidence, no word of a person",
        });
        if let (Some(code), Some(members)) = (self.code(), told.as_object_mut()) {
            members.insert("tool_name".to_owned(), json!(START_RUN));
            members.insert("kind".to_owned(), json!(code));
            members.insert("retryable".to_owned(), json!(false));
            if let Some(failure) = &self.failure {
                members.insert("failure".to_owned(), json!(failure));
            }
        }
        told.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Digest;

    fn agent(name: &str) -> AgentId {
        AgentId::parse(name).expect("an id")
    }

    #[test]
    fn a_start_names_an_agent_and_says_what_it_has_to_know() {
        let order = SubRunRequest::read(&json!({"agent_id": "b", "initial_message": "Look."})).expect("good");
        assert_eq!(order.agent_id, agent("b"));
        assert_eq!(
            order.words(&agent("a")),
            "[From a run of agent a, not from a person]\n\nLook."
        );
    }

    #[test]
    fn a_start_that_is_wrong_names_the_field() {
        for (input, field) in [
            (json!([]), None),
            (json!({"agent_id": "b"}), Some("initial_message")),
            (json!({"initial_message": "x"}), Some("agent_id")),
            (
                json!({"agent_id": "B!", "initial_message": "x"}),
                Some("agent_id"),
            ),
            (
                json!({"agent_id": "b", "initial_message": " "}),
                Some("initial_message"),
            ),
            (
                json!({"agent_id": "b", "initial_message": "x".repeat(PROMPT_BYTES_MAX + 1)}),
                Some("initial_message"),
            ),
            (
                json!({"agent_id": "b", "initial_message": "x", "prompt": "y"}),
                Some("prompt"),
            ),
        ] {
            let fault = SubRunRequest::read(&input).expect_err("taken");
            assert_eq!(
                (fault.kind.as_str(), fault.field.as_deref()),
                ("invalid_arguments", field)
            );
        }
    }

    #[test]
    fn every_hindrance_has_its_own_word() {
        let free = SubRunFacts {
            is_itself: false,
            is_there: true,
            shut: None,
            waits_for_us: false,
            is_full: false,
            depth: DEPTH_MAX,
        };
        let kind = |standing: SubRunFacts| start_refusal(&agent("b"), &standing).map(|fault| fault.kind);
        assert_eq!(kind(free.clone()), None);
        let cases = [
            (
                SubRunFacts {
                    is_itself: true,
                    ..free.clone()
                },
                "agent_is_itself",
            ),
            (
                SubRunFacts {
                    is_there: false,
                    ..free.clone()
                },
                "agent_unknown",
            ),
            (
                SubRunFacts {
                    waits_for_us: true,
                    ..free.clone()
                },
                "agent_waits",
            ),
            (
                SubRunFacts {
                    is_full: true,
                    ..free.clone()
                },
                "queue_full",
            ),
            (
                SubRunFacts {
                    depth: DEPTH_MAX + 1,
                    shut: Some(Refusal::CausalDepthExceeded),
                    ..free.clone()
                },
                "too_deep",
            ),
            (
                SubRunFacts {
                    shut: Some(Refusal::Dormant),
                    ..free
                },
                "dormant",
            ),
        ];
        for (standing, word) in cases {
            assert_eq!(kind(standing).as_deref(), Some(word));
        }
    }

    #[test]
    fn what_a_run_is_told_of_another_is_bounded_and_says_whose_words_they_are() {
        let ending = SubRunResult {
            agent_id: agent("b"),
            run_key: RunKey(Digest::of(b"run")),
            outcome: RunStatus::Completed,
            failure: None,
            text: "x".repeat(TEXT_CHARS_MAX + 1),
        };
        let told: Value = serde_json::from_str(&ending.describe()).expect("json");
        assert_eq!(
            (&told["ok"], &told["truncated"], &told["source"]),
            (&json!(true), &json!(true), &json!("run"))
        );
        assert_eq!(
            told["text"].as_str().map(|text| text.chars().count()),
            Some(TEXT_CHARS_MAX)
        );
        let failed = SubRunResult {
            outcome: RunStatus::Failed,
            failure: Some("rate_limited".into()),
            text: String::new(),
            ..ending
        };
        assert_eq!(failed.code().as_deref(), Some("run_failed"));
        let told: Value = serde_json::from_str(&failed.describe()).expect("json");
        assert_eq!(
            (&told["ok"], &told["kind"], &told["failure"]),
            (&json!(false), &json!("run_failed"), &json!("rate_limited"))
        );
    }
}
