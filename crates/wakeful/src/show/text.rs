//! What people read: plain lines that fit a terminal.

use serde_json::Value;
use wakeful_core::conversation::Block;
use wakeful_core::failure::clip;
use wakeful_core::report::{Kind, Sealed};

use super::view::{AgentView, EntryView, ResumedView, RunInFull, RunView, RunsView, StepView, member};

/// Digits of a run key in lists: enough to tell thousands apart, and to name one.
const SHORT: usize = 12;

/// Longest line of a tool's words in a transcript.
const WORDS_MAX: usize = 2_000;

/// The line that an event is worth while a run goes on.
pub(super) fn progress(event: &Sealed) -> Option<String> {
    let payload: Value = serde_json::from_slice(&event.payload).ok()?;
    let text = member(&payload, "text");
    match event.kind {
        Kind::AssistantRoundRecorded => {
            (!text.is_empty()).then(|| format!("  » {}", text.replace('\n', "\n    ")))
        }
        Kind::PolicyDecided if member(&payload, "status").is_empty() => Some(format!(
            "  → {} {}",
            member(&payload, "tool"),
            member(&payload, "input")
        )),
        Kind::PolicyDecided => {
            let (tool, status, code) = (
                member(&payload, "tool"),
                member(&payload, "status"),
                member(&payload, "code"),
            );
            Some(format!("  ✗ {tool} {status} ({code})"))
        }
        Kind::ActionCalledOff => Some(format!(
            "  ✗ {} called off ({})",
            member(&payload, "tool"),
            member(&payload, "code")
        )),
        Kind::ToolExecuted => {
            let ms = payload.get("duration_ms").and_then(Value::as_u64).unwrap_or(0);
            let mut line = format!(
                "  ← {} {} in {ms} ms",
                member(&payload, "tool"),
                member(&payload, "status")
            );
            let code = member(&payload, "code");
            if !code.is_empty() {
                line.push_str(&format!(" ({code})"));
            }
            Some(line)
        }
        Kind::ProviderRoundCompleted if member(&payload, "outcome") == "succeeded" => None,
        Kind::ProviderRoundCompleted => Some(format!(
            "  ! the model request failed ({}): {}",
            member(&payload, "failure_kind"),
            member(&payload, "outcome")
        )),
        Kind::MessageAdmitted
        | Kind::WakeDecided
        | Kind::RunStarted
        | Kind::RuntimeError
        | Kind::RunEnded => None,
    }
}

/// What is said of a run after its final text.
pub(super) fn ending(run: &RunView) -> Vec<String> {
    let mut lines = vec![format!(
        "wakeful: run {} of {} {} in {} ms: {} rounds, {} tool calls, {} tokens",
        clip_key(&run.run_key),
        run.agent_id,
        run.outcome,
        run.duration_ms,
        run.rounds,
        run.tool_calls.len(),
        run.token_usage.total_tokens,
    )];
    if let Some(failure) = &run.failure_artifact {
        lines.push(format!("wakeful: {}: {}", failure.kind, failure.summary));
    }
    if !run.unknown.is_empty() {
        let message = "tool calls may or may not have happened: they were cut off between intent and result, and were not repeated";
        lines.push(format!("wakeful: {} {message}", run.unknown.len()));
    }
    if !run.denied.is_empty() {
        lines.push(format!("wakeful: {} tool calls were denied", run.denied.len()));
    }
    lines
}

/// Why nothing was resumed.
pub(super) fn nothing_resumed(view: &ResumedView) -> String {
    let count = |runs: u32, fate: &str| {
        let (noun, verb) = if runs == 1 { ("run", "is") } else { ("runs", "are") };
        (runs > 0).then(|| format!("{runs} {noun} {verb} {fate}"))
    };
    let elsewhere = count(view.driven_elsewhere, "being driven by other processes");
    let failed = count(view.failed, "still open, for the reasons above");
    let open: Vec<String> = elsewhere.into_iter().chain(failed).collect();
    if open.is_empty() {
        "nothing to resume: no run is open".to_owned()
    } else {
        format!("nothing was resumed: {}", open.join("; "))
    }
}

/// A run with every step.
pub(super) fn run(full: &RunInFull) -> String {
    let run = &full.run;
    let mut lines = vec![
        format!("run      {}", run.run_key),
        format!("agent    {}", run.agent_id),
        format!("outcome  {}", run.outcome),
        format!("started  {}", full.started_at),
    ];
    if let Some(ended_at) = &full.ended_at {
        lines.push(format!("ended    {ended_at}"));
    }
    lines.push(format!(
        "took     {} ms, {} rounds, {} tokens",
        run.duration_ms, run.rounds, run.token_usage.total_tokens
    ));
    if let Some(code) = full.unreadable {
        lines.push(format!("state    cannot be read ({code})"));
    }
    if let Some(failure) = &run.failure_artifact {
        lines.push(format!("failure  {}: {}", failure.kind, failure.summary));
    }
    if !full.steps.is_empty() {
        lines.push("steps".to_owned());
    }
    let steps = full.steps.iter().enumerate();
    lines.extend(steps.map(|(index, one)| step(index + 1, one)));
    if !run.final_text.is_empty() {
        lines.push(format!("\n{}", run.final_text));
    }
    lines.join("\n")
}

fn step(number: usize, step: &StepView) -> String {
    let ms = step
        .duration_ms
        .map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"));
    let tokens = step.token_usage.total_tokens;
    let tokens = if tokens > 0 {
        format!("{tokens} tokens")
    } else {
        String::new()
    };
    let mut notes = vec![
        step.reason.clone(),
        tokens,
        step.sandbox.clone().unwrap_or_default(),
    ];
    notes.retain(|note| !note.is_empty());
    let (name, notes) = (clip(&step.name, 32), notes.join(", "));
    let line = format!("  {number:>4}  {name:<32}  {:<15}  {ms:>9}  {notes}", step.status);
    line.trim_end().to_owned()
}

pub(super) fn runs(view: &RunsView) -> String {
    if view.runs.is_empty() {
        return "no runs yet: `wakeful run \"…\"` starts one".to_owned();
    }
    let line = |run: &super::view::RunLine| {
        let (key, agent) = (clip_key(&run.run_key), clip(&run.agent_id, 41));
        format!("{key}  {agent:<41}  {:<13}  {}", run.status, run.started_at)
    };
    let header = format!("{:<SHORT$}  {:<41}  {:<13}  STARTED", "RUN", "AGENT", "STATUS");
    [header]
        .into_iter()
        .chain(view.runs.iter().map(line))
        .collect::<Vec<_>>()
        .join("\n")
}

pub(super) fn agents(agents: &[AgentView]) -> String {
    if agents.is_empty() {
        return "no agents yet: `wakeful agent create ID` makes one".to_owned();
    }
    let line = |agent: &AgentView| {
        let name = clip(&agent.agent_id, 41);
        format!(
            "{name:<41}  {:<8}  {:>8} tokens  {}",
            agent.lifecycle, agent.token_usage.total_tokens, agent.workspace
        )
    };
    agents.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(super) fn agent(agent: &AgentView) -> String {
    format!(
        "agent      {}\nvisibility {}\nlifecycle  {}\nworkspace  {}\ncreated    {}\nused       {} tokens in {} model rounds",
        agent.agent_id,
        agent.visibility,
        agent.lifecycle,
        agent.workspace,
        agent.created_at,
        agent.token_usage.total_tokens,
        agent.model_rounds,
    )
}

pub(super) fn transcript(entries: &[EntryView]) -> String {
    if entries.is_empty() {
        return "nothing was said yet".to_owned();
    }
    let entry = |entry: &EntryView| {
        let head = format!(
            "── {} · {} · run {}",
            entry.role,
            entry.at,
            clip_key(&entry.run_key)
        );
        let erased = entry.erased.then(|| "(erased)".to_owned());
        [head]
            .into_iter()
            .chain(erased)
            .chain(entry.blocks.iter().map(block))
            .collect::<Vec<_>>()
            .join("\n")
    };
    entries.iter().map(entry).collect::<Vec<_>>().join("\n\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Text { text } => text.clone(),
        Block::ToolUse(call) => format!("→ {} {}", call.name, call.input),
        Block::ToolResult { content, .. } => format!("← {}", clip(content, WORDS_MAX)),
    }
}

fn clip_key(key: &str) -> &str {
    key.get(..SHORT).unwrap_or(key)
}
