//! Converts the runtime's values to wire types. The command line prints the same types with `--json`.

mod budget;
mod decision;
mod event;
mod journal;
mod journal_write;
mod message;
mod schedule;
mod source;
mod subscription;
mod why;

pub use self::budget::{budget, limit, receipt, spending};
pub use self::decision::{brake, brakes, decision, decisions, not_durable};
pub use self::event::event;
pub use self::journal::{change, journal_category, note, record, saga, task, written};
pub use self::journal_write::{listing, mutation};
pub use self::message::queued;
pub use self::schedule::{UPCOMING_SHOWN, draft, edit, execution, execution_row, schedule, schedules};
pub use self::source::{new_source, source, source_scan};
pub use self::subscription::{new_subscription, subscription, subscription_edit, subscriptions};
pub use self::why::{why, why_not};
pub use crate::external_trigger::external_trigger;
use wakeful_api::{
    Activity, AgentStatus, AttachmentInput, Block, GuidanceRoot, LoadedAgentsMd, ParkedReason, Run,
    RunExplanation, RunSummary, StatusCounts, Step, StepCounts, StepKind, StepText, StuckAgent, Thread,
    TokenUsage, ToolCall, TranscriptLine, TranscriptRun,
};
use wakeful_core::attention;
use wakeful_core::budget::MicroUsd;
use wakeful_core::conversation::{self, Usage};
use wakeful_core::id::AgentId;
use wakeful_core::prompt::Guidance;
use wakeful_core::run::{RunMachine, RunStatus};
use wakeful_core::step::{ErrorEnvelope, StepStatus};
use wakeful_core::time::Millis;
use wakeful_runtime::EngineError;
use wakeful_runtime::api::step_contents::{BoundedText, StepContents};
use wakeful_runtime::api::{AgentView, ListedRun, ThreadSummary, TranscriptItem};
use wakeful_runtime::rows::{self, RunCounts, StepRow};
use wakeful_runtime::stored_run::StoredRun;

/// Whether an agent's work can continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkHealth {
    /// Nothing blocks it.
    Well,
    /// It cannot continue; the runtime's status contains the reason.
    Stuck,
}

#[must_use]
pub const fn usage(usage: Usage) -> TokenUsage {
    TokenUsage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.total(),
        cached_read_tokens: some(usage.cached_read_tokens),
        cached_write_tokens: some(usage.cached_write_tokens),
        reasoning_tokens: some(usage.reasoning_tokens),
        web_searches: some(usage.web_searches),
    }
}

/// A count that most providers do not report; 0 becomes `None`.
const fn some(count: u64) -> Option<u64> {
    match count {
        0 => None,
        count => Some(count),
    }
}

/// The status of an agent.
#[must_use]
pub fn agent_status(view: &AgentView, going: WorkHealth) -> AgentStatus {
    let overview = &view.overview;
    let agent = &overview.agent;
    let has_work = overview.open_run.is_some() || overview.queued > 0;
    AgentStatus {
        agent_id: agent.agent_id.to_string(),
        visibility: agent.visibility,
        lifecycle: agent.lifecycle,
        control: agent.control,
        mode: agent.mode,
        sleep_until: agent.sleep_until.map(Millis::rfc3339),
        activity: match (going, overview.open_run) {
            // Another process may have tried the run, so this process has no record of a stuck agent.
            _ if overview.is_waiting_for_budget => Activity::Stuck,
            // The record of a stuck agent may be slightly older than the end of its work.
            (WorkHealth::Stuck, _) if has_work => Activity::Stuck,
            (WorkHealth::Well | WorkHealth::Stuck, Some(_)) if overview.pending_decisions > 0 => {
                Activity::WaitingOnHuman
            }
            (WorkHealth::Well | WorkHealth::Stuck, Some(_)) if overview.is_braked => Activity::Waiting,
            (WorkHealth::Well | WorkHealth::Stuck, Some(_)) => Activity::Working,
            (WorkHealth::Well | WorkHealth::Stuck, None) if has_work => Activity::Queued,
            (WorkHealth::Well | WorkHealth::Stuck, None) => Activity::Asleep,
        },
        description: agent.settings.description.clone(),
        workspace: agent.workspace.clone(),
        model: agent.model_ref.clone(),
        model_state: None,
        created_at: agent.created_at.rfc3339(),
        pending: overview.queued,
        open_run: overview.open_run.map(|run| run.to_string()),
        last_run: view.last_run.as_ref().map(run_line),
        is_braked: overview.is_braked,
        pending_decisions: overview.pending_decisions,
        quarantined_runs: overview.quarantined_runs,
        last_seq: overview.last_seq,
        token_usage: usage(agent.usage),
        model_rounds: agent.model_rounds,
        loaded_agents_md: Vec::new(),
        model_warning: None,
    }
}

/// The guidance files of an agent, without their contents.
#[must_use]
pub fn loaded_agents_md(guidance: &Guidance) -> Vec<LoadedAgentsMd> {
    let roots = [
        (GuidanceRoot::Agent, guidance.agent.as_ref()),
        (GuidanceRoot::Workspace, guidance.workspace.as_ref()),
    ];
    let loaded = roots.into_iter().filter_map(|(root, file)| {
        let file = file?;
        Some(LoadedAgentsMd {
            root,
            path: file.path.clone(),
            kind: file.kind,
        })
    });
    loaded.collect()
}

/// A run as a list entry.
#[must_use]
pub fn run_line(found: &ListedRun) -> RunSummary {
    let (row, machine) = (&found.row, found.machine.as_ref());
    RunSummary {
        run_key: row.run_key.to_string(),
        agent_id: row.agent_id.to_string(),
        status: row.status,
        waiting_for: found.waiting_for,
        cause_kind: found.cause_kind,
        model: machine.map(|machine| machine.model_ref.clone()),
        counts: step_counts(&found.counts),
        cost_usd: cost(found.counts.cost),
        duration_ms: row.ended_at.map(|ended| ended.since(row.started_at)),
        parked: parked_reason(found).is_some(),
        waiting_on: machine.map(waiting_on).unwrap_or_default(),
        transitions: u64::try_from(row.version).unwrap_or(0),
        started_at: row.started_at.rfc3339(),
        ended_at: row.ended_at.map(Millis::rfc3339),
        preview: found.preview.clone(),
        thread: row.thread_id.session().map(|session| session.to_string()),
        fault: row.fault.clone(),
        erased: found.is_erased,
    }
}

/// Why a run waits for budget; none if it does not.
#[must_use]
pub fn parked_reason(found: &ListedRun) -> Option<ParkedReason> {
    let exceeded = found.machine.as_ref()?.phase.exceeded()?;
    (found.row.status == RunStatus::Open).then(|| budget::parked(exceeded))
}

/// The sub-runs that an open run waits for.
fn waiting_on(machine: &RunMachine) -> Vec<String> {
    let children = if machine.waits_on_runs() {
        machine.children()
    } else {
        Vec::new()
    };
    let children = children.into_iter();
    children.map(|(_, child)| child.run_key.to_string()).collect()
}

fn cost(cost: MicroUsd) -> Option<String> {
    (cost.0 > 0).then(|| cost.to_string())
}

const fn step_counts(counts: &RunCounts) -> StepCounts {
    StepCounts {
        model_rounds: counts.model_rounds,
        tool_calls: counts.tool_calls,
        denied: counts.denied,
        failed: counts.failed,
        unknown: counts.unknown,
    }
}

/// Runs per status.
#[must_use]
pub const fn status_counts(counts: &rows::StatusCounts) -> StatusCounts {
    StatusCounts {
        open: counts.open,
        waiting: counts.waiting,
        quarantined: counts.quarantined,
        completed: counts.completed,
        failed: counts.failed,
        out_of_rounds: counts.out_of_rounds,
        cancelled: counts.cancelled,
        abandoned: counts.abandoned,
        is_lower_bound: counts.is_lower_bound,
    }
}

fn explanation(found: attention::RunExplanation) -> RunExplanation {
    RunExplanation {
        code: found.code,
        message: found.message,
        next_steps: found.next_steps,
    }
}

/// A run with all its details.
/// The answer of a run that had to fit a schema.
fn answer(stored: &StoredRun) -> Option<serde_json::Value> {
    let schema = stored.cause.as_ref()?.message.options.answer_schema.as_ref()?;
    let is_done = stored.row.status == RunStatus::Completed;
    schema.check(&stored.final_text).ok().filter(|_| is_done)
}

#[must_use]
pub fn run(stored: &StoredRun) -> Run {
    let (row, turn) = (&stored.row, stored.turn());
    let ids = |status| {
        let calls = stored.tool_calls().filter(|step| step.status == status);
        calls.map(|step| step.operation_id.to_string()).collect()
    };
    let parked = stored.exceeded().map(budget::parked);
    let unreadable = stored.machine.as_ref().and_then(|turn| turn.as_ref().err());
    Run {
        run_key: row.run_key.to_string(),
        agent_id: row.agent_id.to_string(),
        outcome: row.status,
        final_text: stored.final_text.clone(),
        answer: answer(stored),
        waiting_for: stored.waiting_for,
        explanation: attention::RunExplanation::of_run(row.status, turn).map(explanation),
        rounds: stored.rounds(),
        counts: step_counts(&stored.counts),
        tool_calls: stored.tool_calls().map(tool_call).collect(),
        denied: ids(StepStatus::Denied),
        unknown: ids(StepStatus::OutcomeUnknown),
        token_usage: usage(stored.usage()),
        duration_ms: row.ended_at.map_or(0, |ended| ended.since(row.started_at)),
        cost_usd: cost(stored.cost),
        parked,
        provider_attempt_timeline: turn.map(|turn| budget::timeline(&turn.model_ref, &stored.steps)),
        failure_artifact: stored.failure().cloned(),
        started_at: row.started_at.rfc3339(),
        ended_at: row.ended_at.map(Millis::rfc3339),
        cause: stored.cause.as_ref().map(message::cause),
        model: turn.map(|turn| turn.model_ref.clone()),
        thread: row.thread_id.session().map(|session| session.to_string()),
        workspace: turn.map(|turn| turn.workspace.clone()),
        parent: stored.parent.clone(),
        children: stored.children.clone(),
        retries: stored.retries.clone(),
        retried_by: stored.retried_by.clone(),
        steps: stored
            .steps
            .iter()
            .map(|one| step(one, stored.contents.get(&one.operation_id)))
            .collect(),
        unreadable: unreadable.map(|code| (*code).to_owned()),
        fault: row.fault.clone(),
        erased: stored
            .cause
            .as_ref()
            .is_some_and(|cause| cause.message.is_erased()),
    }
}

fn tool_call(step: &StepRow) -> ToolCall {
    ToolCall {
        name: step.name.clone(),
        operation_id: step.operation_id.to_string(),
        status: step.status,
        sandbox: step.sandbox.clone(),
        exit_status: step.exit_status,
    }
}

/// A step with what it received and produced.
#[must_use]
pub fn step(step: &StepRow, contents: Option<&StepContents>) -> Step {
    let sandbox = contents.map(|found| found.sandbox.clone()).unwrap_or_default();
    Step {
        operation_id: step.operation_id.to_string(),
        kind: match step.class {
            Some(_) => StepKind::Tool,
            None => StepKind::Model,
        },
        name: step.name.clone(),
        status: step.status,
        reason: step.reason.clone(),
        at: step.put_at.rfc3339(),
        duration_ms: step.duration_ms,
        token_usage: usage(step.usage),
        sandbox: step.sandbox.clone(),
        input: contents.and_then(|found| found.input.as_ref()).map(step_text),
        output: contents.and_then(|found| found.output.as_ref()).map(step_text),
        error_output: contents
            .and_then(|found| found.error_output.as_ref())
            .map(step_text),
        confinement: sandbox.confinement,
        connections: sandbox.connections,
        findings: sandbox.findings,
        exit_status: step.exit_status,
        decision_id: contents
            .and_then(|found| found.decision)
            .map(|decision| decision.to_string()),
        invocation: contents.and_then(|found| found.invocation.clone()),
    }
}

fn step_text(bounded: &BoundedText) -> StepText {
    StepText {
        text: bounded.text.clone(),
        bytes: bounded.bytes,
        truncated: bounded.is_truncated,
    }
}

/// A conversation as a list entry.
#[must_use]
pub fn thread(found: &ThreadSummary) -> Thread {
    Thread {
        thread: found.session.to_string(),
        preview: found.preview.clone(),
        last_at: found.last_at.rfc3339(),
        open_run: found.open_run.map(|run| run.to_string()),
    }
}

/// One line of a transcript.
#[must_use]
pub fn transcript_line(line: &TranscriptItem) -> TranscriptLine {
    let blocks = line.blocks.clone();
    TranscriptLine {
        run_key: line.row.run_key.to_string(),
        role: line.row.role,
        at: line.row.at.rfc3339(),
        erased: blocks.is_none(),
        blocks: blocks.unwrap_or_default().into_iter().map(block).collect(),
        run: line.run.clone().map(|run| TranscriptRun {
            status: run.status,
            waiting_for: run.waiting_for,
            explanation: explanation(run.explanation),
            retried_by: run.retried_by.map(|run| run.to_string()),
        }),
    }
}

fn block(block: conversation::Block) -> Block {
    match block {
        conversation::Block::Text { text } => Block::Text { text },
        conversation::Block::Thinking { text, .. } => Block::Thinking { text },
        conversation::Block::WebSearch(conversation::WebSearch { query, sources, .. }) => {
            Block::WebSearch { query, sources }
        }
        conversation::Block::Attachment(conversation::Attachment {
            name,
            media_type,
            data,
            ..
        }) => Block::Attachment {
            name,
            media_type,
            base64_bytes: data.len(),
        },
        conversation::Block::ToolUse(conversation::ToolCall { call_id, name, input }) => {
            Block::ToolUse { call_id, name, input }
        }
        conversation::Block::ToolResult {
            call_id,
            is_error,
            content,
        } => Block::ToolResult {
            error: is_error.then(|| ErrorEnvelope::of_receipt(&content)).flatten(),
            call_id,
            is_error,
            content,
        },
    }
}

/// An attachment of a message, not yet validated.
#[must_use]
pub fn attachment(attached: AttachmentInput) -> conversation::Attachment {
    let AttachmentInput {
        name,
        media_type,
        data,
    } = attached;
    conversation::Attachment {
        name,
        media_type,
        data,
    }
}

/// A stuck agent with its problem.
#[must_use]
pub fn stuck(agent: &AgentId, error: &EngineError) -> StuckAgent {
    StuckAgent {
        agent_id: agent.to_string(),
        problem: error.into(),
    }
}
