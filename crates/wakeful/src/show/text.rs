//! Text output for people: plain lines that fit a terminal.

use serde::Serialize;
use serde_json::Value;
use wakeful_api::{
    Activity, AgentControl, AgentStatus, Block, InteractionMode, Lifecycle, Run, TranscriptLine,
};
use wakeful_core::failure::truncate_chars;
use wakeful_core::report::payload::{AssistantRoundRecorded, Payload};

use super::Out;
use super::phrase::{count, duration, short};
use super::run::outcome;
use super::run_words::{next_steps, result};
use super::table::{Column, Table};
use super::view::ResumedView;
use wakeful_core::attempt::{AttemptOutcome, AttemptRecord};
use wakeful_core::attention::RunExplanation;
use wakeful_core::guardrail::GuardrailAction;
use wakeful_core::hook::HookResult;
use wakeful_core::policy::PolicyEffect;

/// Maximum length of a tool's output line in a transcript.
const WORDS_MAX: usize = 2_000;

/// What the provider searched for, and the text of the reply; none if there is neither.
fn round_text(round: &AssistantRoundRecorded) -> Option<String> {
    let searches = round.web_searches.iter();
    let searches = searches.map(|query| format!("  → searched the web: {query}"));
    let text = (!round.text.is_empty()).then(|| format!("  » {}", round.text.replace('\n', "\n    ")));
    let lines: Vec<String> = searches.chain(text).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The progress line of an event while a run continues, if it has one.
pub(crate) fn progress(said: &Payload) -> Option<String> {
    let line = match said {
        Payload::AssistantRoundRecorded(round) => return round_text(round),
        Payload::PolicyDecided(decided) => match (decided.effect, decided.status) {
            (PolicyEffect::Ask, _) => return None,
            (PolicyEffect::Permit | PolicyEffect::Deny, None) => {
                format!("  → {} {}", decided.tool, decided.input)
            }
            (PolicyEffect::Permit | PolicyEffect::Deny, Some(status)) => {
                let code = decided.code.as_deref().unwrap_or_default();
                format!("  ✗ {} {status} ({code})", decided.tool)
            }
        },
        Payload::ActionCancelled(action) => {
            let code = action.code.as_deref().unwrap_or_default();
            format!("  ✗ {} cancelled ({code})", action.tool)
        }
        Payload::ToolExecuted(executed) => {
            let code = executed.code.as_ref().map(|code| format!(" ({code})"));
            format!(
                "  ← {} {} in {} ms{}",
                executed.tool,
                result(executed.status, executed.exit_status),
                executed.duration_ms,
                code.unwrap_or_default()
            )
        }
        Payload::ProviderRoundCompleted(round) if round.attempt.outcome != AttemptOutcome::Succeeded => {
            format!("  ! {}", describe_attempt(&round.attempt))
        }
        Payload::DecisionAsked(asked) => format!("  ? {} {}", asked.title, asked.input),
        Payload::DecisionAnswered(answered) => {
            let option = &answered.answer.as_ref()?.option;
            format!("  ! {} answered: {option}", answered.tool)
        }
        Payload::SubRunStarted(started) => format!(
            "  ⇢ waits for run {} of {}",
            short(&started.child_run_key.to_string()),
            started.child_agent_id
        ),
        Payload::GuardrailTripped(_) | Payload::HookExecuted(_) => return watch_line(said),
        Payload::RunQuarantined(quarantined) => format!("  ✗ quarantined: {}", quarantined.fault.why),
        Payload::ProviderRoundCompleted(_)
        | Payload::MessageAdmitted(_)
        | Payload::AgentStateChanged(_)
        | Payload::WakeDecided(_)
        | Payload::RunStarted(_)
        | Payload::RuntimeError(_)
        | Payload::RunParked(_)
        | Payload::RunEnded(_)
        | Payload::DecisionEscalated(_)
        | Payload::PolicyChanged(_)
        | Payload::ConnectionRefused(_)
        | Payload::BrakeChanged(_)
        | Payload::QuarantineResolved(_)
        | Payload::AttentionDismissed(_)
        | Payload::RunUndone(_)
        | Payload::ContentErased(_)
        | Payload::DataPruned(_)
        | Payload::RowsBound(_) => return None,
    };
    Some(line)
}

/// The line of what a guardrail or a hook did, unless it did nothing.
fn watch_line(said: &Payload) -> Option<String> {
    if let Payload::GuardrailTripped(tripped) = said {
        let (name, place, action) = (&tripped.guardrail, tripped.place, tripped.action);
        return (action != GuardrailAction::Log).then(|| format!("  ! guardrail {name} ({place}): {action}"));
    }
    let Payload::HookExecuted(hook) = said else {
        return None;
    };
    let reason = match hook.reason.as_str() {
        "" => String::new(),
        reason => format!(": {reason}"),
    };
    (hook.result != HookResult::Passed).then(|| format!("  ! hook {} {}{reason}", hook.hook, hook.result))
}

/// The summary after the final text of a run.
pub(super) fn ending(run: &Run) -> Vec<String> {
    let cost = run.cost_usd.as_ref().map(|usd| format!(", {usd} USD"));
    let mut lines = vec![format!(
        "wakeful: run {} of {} {} in {}: {}, {}, {}{}",
        short(&run.run_key),
        run.agent_id,
        outcome(run),
        duration(run.duration_ms),
        count(run.rounds, "round"),
        count(run.tool_calls.len(), "tool call"),
        count(run.token_usage.total_tokens, "token"),
        cost.unwrap_or_default(),
    )];
    if let Some(failure) = &run.failure_artifact {
        lines.push(format!("wakeful: {}: {}", failure.kind, failure.summary));
    }
    lines.extend(next_steps(run).map(|steps| format!("wakeful: {steps}")));
    if !run.unknown.is_empty() {
        let message = "may or may not have happened: cut off between intent and result, and not repeated";
        lines.push(format!(
            "wakeful: {} {message}",
            count(run.unknown.len(), "tool call")
        ));
    }
    if !run.denied.is_empty() {
        lines.push(format!(
            "wakeful: {} denied",
            count(run.denied.len(), "tool call")
        ));
    }
    lines
}

/// A failed attempt at a model request in plain words, and what happens next.
fn describe_attempt(attempt: &AttemptRecord) -> String {
    let cause = RunExplanation::of_attempt(attempt).map(|explained| explained.message);
    let cause = cause.unwrap_or_else(|| "The model request failed.".to_owned());
    match attempt.outcome {
        AttemptOutcome::Retrying => format!("{cause} Trying again."),
        _ if attempt.advanced_to_fallback => format!("{cause} Trying the next model."),
        AttemptOutcome::RetriesExhausted | AttemptOutcome::FailFastAborted | AttemptOutcome::Succeeded => {
            cause
        }
    }
}

/// Why no run was resumed.
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

/// Whether a process drives open runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DriverPresence {
    None,
    /// A daemon drives them, or this cannot be determined.
    Daemon,
}

pub(super) fn agents(agents: &[AgentStatus], driver: DriverPresence, out: &Out) -> String {
    const AGENTS: [Column; 5] = [
        Column::key("AGENT"),
        Column::whole("STATE", 0),
        Column::text("WAITING", 1),
        Column::whole("TOKENS", 3),
        Column::text("WORKSPACE", 2),
    ];
    if agents.is_empty() {
        return "no agents yet: `wakeful agent create ID` creates one".to_owned();
    }
    let row = |agent: &AgentStatus| {
        let state = match (agent.activity, driver) {
            (Activity::Working, DriverPresence::None) => "open".to_owned(),
            (
                Activity::Asleep
                | Activity::Queued
                | Activity::Working
                | Activity::WaitingOnHuman
                | Activity::Waiting
                | Activity::Stuck,
                _,
            ) => state(agent),
        };
        let counts = [
            (agent.pending, "queued"),
            (agent.pending_decisions, "to decide"),
            (agent.quarantined_runs, "quarantined"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(count, what)| format!("{count} {what}"));
        let brake = agent.is_braked.then(|| "BRAKED".to_owned());
        [
            agent.agent_id.clone(),
            state,
            brake.into_iter().chain(counts).collect::<Vec<_>>().join(", "),
            agent.token_usage.total_tokens.to_string(),
            agent.workspace.clone(),
        ]
    };
    out.table(&Table::new(AGENTS, agents.iter().map(row)))
}

const fn woken_by(mode: InteractionMode) -> &'static str {
    match mode {
        InteractionMode::Autonomous => "changes, schedules and external triggers (autonomous)",
        InteractionMode::Interactive => "only people (interactive)",
        InteractionMode::Hybrid => "people, changes, schedules and external triggers (hybrid)",
    }
}

/// The state of an agent for people.
pub(super) fn agent(agent: &AgentStatus, out: &Out) -> String {
    let asleep = agent.sleep_until.as_ref();
    let asleep = asleep.map(|until| format!(", only by people until {until} ({})", out.at(until)));
    let held = if agent.is_braked { ", held by a brake" } else { "" };
    let waiting = [
        (agent.pending, "message"),
        (agent.pending_decisions, "decision"),
        (agent.quarantined_runs, "quarantined run"),
    ];
    let waiting = waiting.into_iter().filter(|(number, _)| *number > 0);
    let waiting: Vec<String> = waiting.map(|(number, what)| count(number, what)).collect();
    let waiting = match waiting.is_empty() {
        true => "nothing".to_owned(),
        false => waiting.join(", "),
    };
    let mut lines = vec![("agent", agent.agent_id.clone())];
    if !agent.description.is_empty() {
        lines.push(("description", agent.description.clone()));
    }
    lines.extend([
        ("state", format!("{}{held}", state(agent))),
        (
            "lifecycle",
            format!("{}, {}", word(&agent.lifecycle), word(&agent.visibility)),
        ),
        (
            "woken by",
            format!("{}{}", woken_by(agent.mode), asleep.unwrap_or_default()),
        ),
        ("waiting", waiting),
        ("model", models(agent)),
        ("workspace", agent.workspace.clone()),
        ("created", out.at(&agent.created_at)),
        (
            "used",
            format!(
                "{} in {}",
                count(agent.token_usage.total_tokens, "token"),
                count(agent.model_rounds, "model round")
            ),
        ),
    ]);
    lines.extend(
        agent
            .loaded_agents_md
            .iter()
            .map(|file| ("guidance", file.path.clone())),
    );
    facts(&lines)
}

/// The chosen model of an agent, and the models that its next run uses if they are others.
fn models(agent: &AgentStatus) -> String {
    let chosen = agent.model.as_deref().unwrap_or("the default");
    let Some(state) = &agent.model_state else {
        return chosen.to_owned();
    };
    let used = std::iter::once(&state.effective_model).chain(&state.effective_fallback_models);
    let used: Vec<&str> = used.map(String::as_str).collect();
    match chosen == state.effective_model {
        true => used.join(", then "),
        false => format!("{chosen}: {}", used.join(", then ")),
    }
}

/// Names and values as two columns. Groups of them have the same width.
pub(crate) fn facts(lines: &[(&str, String)]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .map(|(name, value)| format!("{name:<15}  {value}"))
        .collect();
    lines.join("\n")
}

pub(super) fn transcript(entries: &[TranscriptLine]) -> String {
    if entries.is_empty() {
        return "the transcript is empty".to_owned();
    }
    let entry = |entry: &TranscriptLine| {
        let head = format!(
            "── {} · {} · run {}",
            word(&entry.role),
            entry.at,
            short(&entry.run_key)
        );
        let erased = entry.erased.then(|| "(erased)".to_owned());
        let run = entry.run.as_ref();
        let ended = run.map(|run| format!("! {}: {}", run.status, run.explanation.message));
        [head]
            .into_iter()
            .chain(erased)
            .chain(entry.blocks.iter().map(block))
            .chain(ended)
            .collect::<Vec<_>>()
            .join("\n")
    };
    entries.iter().map(entry).collect::<Vec<_>>().join("\n\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Text { text } => text.clone(),
        Block::Thinking { text } if text.is_empty() => "(thinking)".to_owned(),
        Block::Thinking { text } => format!("(thinking: {})", truncate_chars(text, WORDS_MAX)),
        Block::WebSearch { query, sources } if query.is_empty() => format!("(found {})", sources.join(", ")),
        Block::WebSearch { query, .. } => format!("(searched the web: {query})"),
        Block::Attachment { name, media_type, .. } => format!("[{name}, {media_type}]"),
        Block::ToolUse { name, input, .. } => format!("→ {name} {input}"),
        Block::ToolResult { content, .. } => format!("← {}", truncate_chars(content, WORDS_MAX)),
    }
}

/// The state of an agent in one word. Paused or stopped is shown instead of asleep or queued, because it is
/// the reason that nothing starts.
fn state(agent: &AgentStatus) -> String {
    if agent.lifecycle == Lifecycle::Destroyed {
        return word(&agent.lifecycle);
    }
    match (agent.control, agent.activity) {
        (AgentControl::Paused, Activity::Asleep | Activity::Queued) => "paused".to_owned(),
        (AgentControl::Stopped, Activity::Asleep | Activity::Queued) => "stopped".to_owned(),
        (AgentControl::Running | AgentControl::Paused | AgentControl::Stopped, activity) => word(&activity),
    }
}

/// The API's name of a value without data.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}
