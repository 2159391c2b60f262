//! What programs read: the JSON of every answer. These fields are a promise.

use serde::Serialize;
use serde_json::Value;
use wakeful_core::conversation::{Block, Usage};
use wakeful_core::failure::FailureArtifact;
use wakeful_core::run::Outcome;
use wakeful_core::step::Status;
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
    #[serde(skip)]
    pub(crate) started_at: String,
    #[serde(skip)]
    pub(crate) steps: Vec<StepView>,
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

/// Any step of a run, as people see it.
#[derive(Debug)]
pub(crate) struct StepView {
    pub(crate) name: String,
    pub(crate) status: &'static str,
    pub(crate) reason: String,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) tokens: u64,
    pub(crate) sandbox: Option<String>,
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
            started_at: report.started_at.rfc3339(),
            steps: report.steps.iter().map(StepView::new).collect(),
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
            name: step.name.clone(),
            status: step.status.as_str(),
            reason: step.reason.clone(),
            duration_ms: step.duration_ms,
            tokens: step.usage.total(),
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
            ended_at: row.ended_at.map(wakeful_core::time::Millis::rfc3339),
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
}

impl EntryView {
    pub(crate) fn new(row: &EntryRow, blocks: Vec<Block>) -> Self {
        Self {
            run_key: row.run_key.to_string(),
            role: row.role.as_str(),
            at: row.at.rfc3339(),
            blocks,
        }
    }
}

/// A member of an event's payload as text.
pub(super) fn member<'a>(payload: &'a Value, name: &str) -> &'a str {
    payload.get(name).and_then(Value::as_str).unwrap_or_default()
}
