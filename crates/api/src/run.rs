//! Endpoints and types for runs.

mod step;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::message::{AdmissionContext, Authority, DeliverySurface, MessageKind};
use wakeful_core::run::{RunStatus, StatusFilter, WaitingFor};
use wakeful_core::wake::{Gate, WakeOutcome};

use crate::{AttemptTimeline, ParkedReason, TokenUsage};
use wakeful_core::attention::NextStep;
use wakeful_core::cause::Priority;
use wakeful_core::failure::FailureArtifact;
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::sub_run::RunLink;
use wakeful_core::time::Millis;

pub use self::step::{Step, StepKind, StepText, ToolCall};
use crate::endpoint::endpoints;
use crate::text::{DateTime, Hex, Limit, NO_CONTROL, Spelling, Text};
use crate::{AcceptedMessage, PendingCancel, WhyRun};

endpoints! { "runs":
    /// Lists the runs of all agents, newest first.
    ListRuns = Get "/api/runs" -> RunList { 200 "The runs", 404 "The agent does not exist" }
    /// Lists the runs of an agent, newest first.
    ListAgentRuns {
        agent_id: Text<AgentId>,
        /// Return only runs with one of these statuses, separated by commas.
        status: Option<Text<Statuses>>,
        /// The maximum number of runs.
        #[serde(default)]
        limit: Limit,
        /// Return only runs that are older than this one.
        before: Option<Text<RunKey>>
    } = Get "/api/agents/{agent_id}/runs" -> RunList { 200 "The runs" }
    /// Retrieves a run with all of its steps.
    ///
    /// A queued message is returned as a run with the outcome `queued`, a refused cause with `refused`.
    GetRun { run_key: Text<RunKey> } = Get "/api/runs/{run_key}" -> Run { 200 "The run" }
    /// Retrieves one step of a run in full.
    ///
    /// Each text of the step has at most 1 MiB. In the run itself each has at most 16 KiB.
    GetRunStep { run_key: Text<RunKey>, operation_id: Text<OperationId> } = Get "/api/runs/{run_key}/steps/{operation_id}" -> Step {
        200 "The step",
        404 "The run or the step does not exist (`run_unknown`, `step_unknown`)",
    }
    /// Explains why a run exists, or why it does not.
    ///
    /// It also accepts keys of causes that never became a run.
    GetWhyRun { run_key: Text<RunKey> } = Get "/api/runs/{run_key}/why" -> WhyRun { 200 "The cause, the verdict and the gates" }
    /// Cancels a run, or removes its message from the queue. A run that has ended does not change.
    CancelRun { run_key: Text<RunKey> } = Post "/api/runs/{run_key}/cancel" -> CancelledRun {
        200 (Run) "The current run; an open run ends at its next safe point",
        202 (PendingCancel) "The cancellation is in force and not stored in the database yet",
    }
    /// Runs an ended run again: a new message of the same agent and conversation, linked to the run.
    ///
    /// While the same retry of the run is queued or open, that one is returned as a duplicate. With `from_step`,
    /// the new run has its own conversation. It begins with everything before the model request of that step, so
    /// that nothing that happened before is repeated.
    RetryRun = Post "/api/runs/{run_key}/retry" -> AcceptedMessage {
        202 "The message is stored; its run starts now or later",
        404 "The run or the step does not exist (`run_unknown`, `step_unknown`)",
        409 "The run has not ended (`run_open`), is quarantined (`run_quarantined`), its message or the conversation before the step \
            was erased (`run_erased`) or pruned (`run_pruned`), another retry of it has not ended (`retry_open`), or the model does \
            not exist",
    }
    /// Resumes a quarantined run.
    ResumeRun { run_key: Text<RunKey> } = Post "/api/runs/{run_key}/resume" -> Run {
        200 "The run is open again",
        409 "The run is not quarantined (`run_not_quarantined`)",
    }
    /// Abandons a quarantined run.
    ///
    /// Completed steps remain. Unfinished writes to the journal are undone.
    AbandonRun { run_key: Text<RunKey> } = Post "/api/runs/{run_key}/abandon" -> Run {
        200 "The run has ended",
        409 "The run is not quarantined (`run_not_quarantined`)",
    }
}

/// Selects the runs to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRuns {
    /// Return only runs of this agent.
    pub agent_id: Option<Text<AgentId>>,
    /// Return only runs with one of these statuses, separated by commas. `open` includes `waiting`.
    pub status: Option<Text<Statuses>>,
    /// Return only runs that were started by this kind of message.
    pub cause: Option<MessageKind>,
    /// Return only runs that started at this time or later.
    pub since: Option<Text<Millis>>,
    /// Return only runs that started at this time or earlier.
    pub until: Option<Text<Millis>>,
    /// Return only runs whose message contains this text, in upper or lower case, or whose key begins with it.
    #[schemars(length(min = 1, max = 200), regex(pattern = NO_CONTROL))]
    pub search: Option<String>,
    /// The maximum number of runs. A page can be shorter, because a request examines a limited number of runs.
    #[serde(default)]
    pub limit: Limit,
    /// Return only runs that are older than this one.
    pub before: Option<Text<RunKey>>,
    /// Return only runs whose key begins with these digits; with at least four digits also runs with a
    /// decision or a step whose id begins with them. At most five runs are returned, and more than one if the
    /// prefix is ambiguous. The other parameters are ignored.
    pub prefix: Option<Hex<1, 64>>,
}

/// What to change when a run is run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryRun {
    /// The run's key.
    pub run_key: Text<RunKey>,
    /// Another text. Attachments and options are kept. Not with `from_step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 262144))]
    pub text: Option<String>,
    /// The operation id of a step of the run. The new run begins with the conversation before the model request
    /// that this step is or belongs to, and asks the model again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_step: Option<Text<OperationId>>,
    /// A message to add after that conversation. Only with `from_step`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 262144))]
    pub message: Option<String>,
    /// Another model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub model: Option<String>,
}

/// The result of a cancellation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CancelledRun {
    /// The cancellation is stored.
    Run(Box<Run>),
    /// The cancellation is in force and not stored in the database yet.
    Pending(PendingCancel),
}

/// A run with all of its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The run's key.
    pub run_key: String,
    /// The agent of the run.
    pub agent_id: String,
    /// The status: `open`, `queued`, `quarantined`, or how the run ended: `completed`, `failed`,
    /// `out_of_rounds`, `cancelled`, `abandoned`.
    pub outcome: RunStatus,
    /// The text of the model's last reply.
    pub final_text: String,
    /// The answer as JSON, if it had to fit a schema and the run completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<serde_json::Value>,
    /// What an open run waits for. Absent if it works or has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// Why the run did not succeed or cannot continue, and what to do. Absent if there is nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<RunExplanation>,
    /// The number of model replies.
    pub rounds: u32,
    /// The steps of the run, counted.
    #[serde(default)]
    pub counts: StepCounts,
    /// All tool calls, in order.
    pub tool_calls: Vec<ToolCall>,
    /// The operation ids of calls that the policy denied.
    pub denied: Vec<String>,
    /// The operation ids of calls whose outcome is unknown.
    pub unknown: Vec<String>,
    /// The tokens used by the run.
    pub token_usage: TokenUsage,
    /// The cost in dollars. Absent if the run cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// Why the run waits for budget. Absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<ParkedReason>,
    /// All attempts of the run's model rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_attempt_timeline: Option<AttemptTimeline>,
    /// The duration from start to end in milliseconds; 0 while the run is open.
    pub duration_ms: u64,
    /// The details of the failure, if the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
    /// When the run started.
    #[schemars(with = "DateTime")]
    pub started_at: String,
    /// When the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub ended_at: Option<String>,
    /// The message that started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<RunCause>,
    /// The model of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The conversation that the run belongs to. Absent if no person started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The folder in which the run's commands are executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The run that started this one and waits for its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunLink>,
    /// The ended run that this one runs again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<RunLink>,
    /// The runs that run this one again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retried_by: Vec<RunLink>,
    /// The sub-runs that this run started on other agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<RunLink>,
    /// All model rounds and tool calls, in order.
    pub steps: Vec<Step>,
    /// The code of the error that prevented reading the run's state. Only its stored rows are shown then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Why the run is quarantined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Whether a person erased the contents of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

/// The message that started a run, and all gates that it passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunCause {
    /// The kind of message.
    pub kind: MessageKind,
    /// The authority of the message.
    pub authority: Authority,
    /// The interface through which the message arrived.
    pub surface: DeliverySurface,
    /// How the sender was authenticated.
    pub context: AdmissionContext,
    /// When the message was stored.
    #[schemars(with = "DateTime")]
    pub admitted_at: String,
    /// The complete text of the message.
    pub text: String,
    /// The priority in the queue.
    #[serde(default)]
    pub priority: Priority,
    /// The id of the chain of causes: the key of its first cause, or an id that a sender gave.
    #[serde(default)]
    pub correlation_id: String,
    /// The direct cause: a run, a change, or an id that a sender gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// `run`, or the code of the refusal. Absent while the message is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<WakeOutcome>,
    /// The run that absorbed the message, if it is a different one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absorbed_by: Option<String>,
    /// All gates that were checked, in order.
    pub gates: Vec<Gate>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// The run's key.
    pub run_key: String,
    /// The agent of the run.
    pub agent_id: String,
    /// `open`, `quarantined`, or how the run ended.
    pub status: RunStatus,
    /// What an open run waits for. Absent if it works or has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// The kind of message that started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause_kind: Option<MessageKind>,
    /// The model of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The steps of the run, counted.
    #[serde(default)]
    pub counts: StepCounts,
    /// The cost in dollars. Absent if the run cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// The duration from start to end in milliseconds. Absent while the run is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether the run is open and waits for budget. Retrieve the run for the amount.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parked: bool,
    /// The sub-runs without which the run cannot continue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<String>,
    /// The number of state transitions.
    pub transitions: u64,
    /// When the run started.
    #[schemars(with = "DateTime")]
    pub started_at: String,
    /// When the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub ended_at: Option<String>,
    /// The beginning of the message that started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The conversation that the run belongs to. Absent if no person started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Why the run is quarantined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Whether a person erased the contents of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

/// A list of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// The runs, newest first.
    pub runs: Vec<RunSummary>,
    /// The value of `before` for the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<String>,
    /// The number of runs per status, for the same filter without `status`. Only on the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<StatusCounts>,
}

/// The number of runs per status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCounts {
    /// Runs that have not ended, including waiting ones.
    pub open: u64,
    /// Open runs that wait for something.
    pub waiting: u64,
    /// Quarantined runs.
    pub quarantined: u64,
    /// Completed runs.
    pub completed: u64,
    /// Failed runs.
    pub failed: u64,
    /// Runs that used all their rounds.
    pub out_of_rounds: u64,
    /// Cancelled runs.
    pub cancelled: u64,
    /// Abandoned runs.
    pub abandoned: u64,
    /// Whether there are more runs than were counted: at most 10,000, and with `search` 2,000.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
}

/// The steps of a run, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepCounts {
    /// Model replies.
    pub model_rounds: u64,
    /// All tool calls.
    pub tool_calls: u64,
    /// Tool calls that were denied.
    pub denied: u64,
    /// Tool calls that failed, including commands with a non-zero exit status.
    pub failed: u64,
    /// Tool calls with an unknown outcome.
    pub unknown: u64,
}

/// Why a run did not succeed or cannot continue, in plain words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunExplanation {
    /// The kind of the failure, or the status of the run.
    pub code: String,
    /// The cause in one or two sentences.
    pub message: String,
    /// What a person can do, the most useful step first.
    pub next_steps: Vec<NextStep>,
}

/// A set of statuses, written as a list that is separated by commas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statuses(pub Vec<StatusFilter>);

impl Spelling for Statuses {
    fn schema() -> schemars::Schema {
        let words = StatusFilter::WORDS.join("|");
        schemars::json_schema!({
            "type": "string", "maxLength": 200, "pattern": format!("^({words})(,({words}))*$"),
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(StatusFilter::parse);
        let statuses: Option<Vec<StatusFilter>> = words.collect();
        statuses.map(Self).ok_or_else(|| {
            format!(
                "must be one or more of {}, separated by commas",
                StatusFilter::WORDS.join(", ")
            )
        })
    }

    fn spell(&self) -> String {
        let words: Vec<&str> = self.0.iter().map(|status| status.as_str()).collect();
        words.join(",")
    }
}
