//! What programs read: the JSON of every answer. These fields are a promise.

use serde::Serialize;
use serde_json::Value;
use wakeful_core::conversation::{Block, Usage};
use wakeful_core::failure::FailureArtifact;
use wakeful_core::run::Outcome;
use wakeful_core::step::Status;
use wakeful_core::time::Millis;
use wakeful_ports::records::{Agent, EntryRow, RUN_OPEN, RunRow, StepRow};
use wakeful_runtime::report::RunReport;

/// A run.
#[derive(Debug, Serialize)]
pub(crate) struct RunView {
    pub(crate) run_key: String,
    pub(crate) agent_id: String,
    pub(crate) outcome: String,
    pub(crate) final_text: String,
    pub(crate) rounds: u32,
    pub(crate) tool_calls: Vec<ToolCallView>,
    pub(crate) denied: Vec<String>,
    pub(crate) unknown: Vec<String>,
    pub(crate) token_usage: UsageView,
    pub(crate) duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure_artifact: Option<FailureArtifact>,
}

/// A run with everything that happened in it.
#[derive(Debug, Serialize)]
pub(crate) struct RunInFull {
    #[serde(flatten)]
    pub(crate) run: RunView,
    pub(crate) started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<String>,
    pub(crate) steps: Vec<StepView>,
    /// Why its state could not be read, as a code; then only its rows are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<&'static str>,
}

/// One tool call of a run.
#[derive(Debug, Serialize)]
pub(crate) struct ToolCallView {
    name: String,
    operation_id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
}

/// Any step of a run: a model round or a tool call.
#[derive(Debug, Serialize)]
pub(crate) struct StepView {
    operation_id: String,
    kind: &'static str,
    pub(crate) name: String,
    pub(crate) status: &'static str,
    pub(crate) reason: String,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    pub(crate) token_usage: UsageView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<String>,
}

/// What became of the open runs when none was resumed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ResumedView {
    pub(crate) resumed: u32,
    pub(crate) driven_elsewhere: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) failed: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Debug, Serialize)]
pub(crate) struct UsageView {
    input_tokens: u64,
    output_tokens: u64,
    pub(crate) total_tokens: u64,
}

impl UsageView {
    fn new(usage: Usage) -> Self {
        let Usage {
            input_tokens,
            output_tokens,
        } = usage;
        Self {
            input_tokens,
            output_tokens,
            total_tokens: usage.total(),
        }
    }
}

impl RunView {
    pub(crate) fn new(report: &RunReport) -> Self {
        let ids = |status| {
            report
                .calls_with(status)
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        let duration = report.ended_at.map(|ended| ended.since(report.started_at));
        Self {
            run_key: report.run_key.to_string(),
            agent_id: report.agent_id.to_string(),
            outcome: report
                .outcome
                .as_ref()
                .map_or(RUN_OPEN, Outcome::as_str)
                .to_owned(),
            final_text: report.final_text.clone(),
            rounds: report.rounds,
            tool_calls: report.tool_calls().map(ToolCallView::new).collect(),
            denied: ids(Status::Denied),
            unknown: ids(Status::OutcomeUnknown),
            token_usage: UsageView::new(report.usage),
            duration_ms: duration.unwrap_or(0),
            failure_artifact: report.failure().cloned(),
        }
    }
}

impl RunInFull {
    pub(crate) fn new(report: &RunReport) -> Self {
        Self {
            run: RunView::new(report),
            started_at: report.started_at.rfc3339(),
            ended_at: report.ended_at.map(Millis::rfc3339),
            steps: report.steps.iter().map(StepView::new).collect(),
            unreadable: None,
        }
    }

    /// What the rows of a run tell without its state.
    pub(crate) fn of_rows(row: &RunRow, steps: &[StepRow], unreadable: &'static str) -> Self {
        let (calls, rounds): (Vec<_>, Vec<_>) = steps.iter().partition(|step| step.class.is_some());
        let ids = |status| {
            let with = calls.iter().filter(|step| step.status == status);
            with.map(|step| step.operation_id.to_string()).collect()
        };
        let usage = steps.iter().fold(Usage::default(), |sum, step| Usage {
            input_tokens: sum.input_tokens.saturating_add(step.usage.input_tokens),
            output_tokens: sum.output_tokens.saturating_add(step.usage.output_tokens),
        });
        let replies = rounds.iter().filter(|step| step.status == Status::Ok).count();
        let run = RunView {
            run_key: row.run_key.to_string(),
            agent_id: row.agent_id.to_string(),
            outcome: row.status.clone(),
            final_text: String::new(),
            rounds: u32::try_from(replies).unwrap_or(u32::MAX),
            tool_calls: calls.iter().map(|step| ToolCallView::new(step)).collect(),
            denied: ids(Status::Denied),
            unknown: ids(Status::OutcomeUnknown),
            token_usage: UsageView::new(usage),
            duration_ms: row.ended_at.map_or(0, |ended| ended.since(row.started_at)),
            failure_artifact: None,
        };
        Self {
            run,
            started_at: row.started_at.rfc3339(),
            ended_at: row.ended_at.map(Millis::rfc3339),
            steps: steps.iter().map(StepView::new).collect(),
            unreadable: Some(unreadable),
        }
    }
}

impl ToolCallView {
    fn new(step: &StepRow) -> Self {
        Self {
            name: step.name.clone(),
            operation_id: step.operation_id.to_string(),
            status: step.status.as_str(),
            sandbox: step.sandbox.clone(),
        }
    }
}

impl StepView {
    fn new(step: &StepRow) -> Self {
        Self {
            operation_id: step.operation_id.to_string(),
            kind: if step.class.is_some() { "tool" } else { "model" },
            name: step.name.clone(),
            status: step.status.as_str(),
            reason: step.reason.clone(),
            at: step.put_at.rfc3339(),
            duration_ms: step.duration_ms,
            token_usage: UsageView::new(step.usage),
            sandbox: step.sandbox.clone(),
        }
    }
}

/// A list of runs.
#[derive(Debug, Serialize)]
pub(crate) struct RunsView {
    pub(crate) runs: Vec<RunLine>,
}

#[derive(Debug, Serialize)]
pub(crate) struct RunLine {
    pub(crate) run_key: String,
    pub(crate) agent_id: String,
    pub(crate) status: String,
    pub(crate) transitions: i64,
    pub(crate) started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<String>,
}

impl RunsView {
    pub(crate) fn new(rows: &[RunRow]) -> Self {
        let line = |row: &RunRow| RunLine {
            run_key: row.run_key.to_string(),
            agent_id: row.agent_id.to_string(),
            status: row.status.clone(),
            transitions: row.version,
            started_at: row.started_at.rfc3339(),
            ended_at: row.ended_at.map(Millis::rfc3339),
        };
        Self {
            runs: rows.iter().map(line).collect(),
        }
    }
}

/// An agent.
#[derive(Debug, Serialize)]
pub(crate) struct AgentView {
    pub(crate) agent_id: String,
    pub(crate) visibility: &'static str,
    pub(crate) lifecycle: &'static str,
    pub(crate) workspace: String,
    pub(crate) created_at: String,
    pub(crate) token_usage: UsageView,
    pub(crate) model_rounds: u64,
}

impl AgentView {
    pub(crate) fn new(agent: &Agent) -> Self {
        Self {
            agent_id: agent.agent_id.to_string(),
            visibility: agent.visibility.as_str(),
            lifecycle: agent.lifecycle.as_str(),
            workspace: agent.workspace.clone(),
            created_at: agent.created_at.rfc3339(),
            token_usage: UsageView::new(agent.usage),
            model_rounds: agent.model_rounds,
        }
    }
}

/// A line of a transcript.
#[derive(Debug, Serialize)]
pub(crate) struct EntryView {
    pub(crate) run_key: String,
    pub(crate) role: &'static str,
    pub(crate) at: String,
    pub(crate) blocks: Vec<Block>,
    /// Whether what was said is gone for good.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) erased: bool,
}

impl EntryView {
    pub(crate) fn new(row: &EntryRow, blocks: Option<Vec<Block>>) -> Self {
        Self {
            run_key: row.run_key.to_string(),
            role: row.role.as_str(),
            at: row.at.rfc3339(),
            erased: blocks.is_none(),
            blocks: blocks.unwrap_or_default(),
        }
    }
}

/// A member of an event's payload as text.
pub(super) fn member<'a>(payload: &'a Value, name: &str) -> &'a str {
    payload.get(name).and_then(Value::as_str).unwrap_or_default()
}
