//! Text output for people: plain lines that fit a terminal.

use serde::Serialize;
use serde_json::Value;
use wakeful_api::{
    Activity, AgentControl, AgentStatus, Block, InteractionMode, Run, RunList, RunSummary, Step,
    TranscriptLine,
};
use wakeful_core::failure::truncate_chars;
use wakeful_core::report::payload::Payload;
use wakeful_core::run::RunStatus;
use wakeful_core::sub_run::RunLink;
use wakeful_runtime::run::describe_fault;

use super::run_words::{next_steps, result, waiting, waits_for};
use super::view::{QueuedView, ResumedView};
use wakeful_core::attempt::AttemptOutcome;
use wakeful_core::policy::PolicyEffect;

/// Digits of a run key in lists: enough to distinguish and name thousands of runs.
const SHORT: usize = 12;

/// Maximum length of a tool's output line in a transcript.
const WORDS_MAX: usize = 2_000;

/// Maximum length of a quarantine reason in a list.
const FAULT_CHARS_MAX: usize = 100;

/// The progress line of an event while a run continues, if it has one.
pub(super) fn progress(said: &Payload) -> Option<String> {
    let line = match said {
        Payload::AssistantRoundRecorded(round) if !round.text.is_empty() => {
            format!("  » {}", round.text.replace('\n', "\n    "))
        }
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
            format!(
                "  ! the model request failed ({}): {}",
                round.attempt.failure_kind.as_deref().unwrap_or_default(),
                round.attempt.outcome
            )
        }
        Payload::DecisionAsked(asked) => format!("  ? {} {}", asked.title, asked.input),
        Payload::DecisionAnswered(answered) => {
            let option = &answered.answer.as_ref()?.option;
            format!("  ! {} answered: {option}", answered.tool)
        }
        Payload::SubRunStarted(started) => format!(
            "  ⇢ waits for run {} of {}",
            clip_key(&started.child_run_key.to_string()),
            started.child_agent_id
        ),
        Payload::RunQuarantined(quarantined) => format!("  ✗ quarantined: {}", quarantined.fault.why),
        Payload::AssistantRoundRecorded(_)
        | Payload::ProviderRoundCompleted(_)
        | Payload::MessageAdmitted(_)
        | Payload::AgentStateChanged(_)
        | Payload::WakeDecided(_)
        | Payload::RunStarted(_)
        | Payload::RuntimeError(_)
        | Payload::RunParked(_)
        | Payload::RunEnded(_)
        | Payload::DecisionEscalated(_)
        | Payload::BrakeChanged(_)
        | Payload::QuarantineResolved(_)
        | Payload::AttentionDismissed(_)
        | Payload::ContentErased(_)
        | Payload::DataPruned(_)
        | Payload::RowsBound(_) => return None,
    };
    Some(line)
}

/// The summary after the final text of a run.
pub(super) fn ending(run: &Run) -> Vec<String> {
    let cost = run.cost_usd.as_ref().map(|usd| format!(", {usd} USD"));
    let mut lines = vec![format!(
        "wakeful: run {} of {} {} in {} ms: {} rounds, {} tool calls, {} tokens{}",
        clip_key(&run.run_key),
        run.agent_id,
        outcome(run),
        run.duration_ms,
        run.rounds,
        run.tool_calls.len(),
        run.token_usage.total_tokens,
        cost.unwrap_or_default(),
    )];
    if let Some(failure) = &run.failure_artifact {
        lines.push(format!("wakeful: {}: {}", failure.kind, failure.summary));
    }
    lines.extend(next_steps(run).map(|steps| format!("wakeful: {steps}")));
    if !run.unknown.is_empty() {
        let message = "tool calls may or may not have happened: they were cut off between intent and result, and were not repeated";
        lines.push(format!("wakeful: {} {message}", run.unknown.len()));
    }
    if !run.denied.is_empty() {
        lines.push(format!("wakeful: {} tool calls were denied", run.denied.len()));
    }
    lines
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

/// The outcome of a run. If another run absorbed the message, its key is included, because the answer is in
/// that run.
fn outcome(run: &Run) -> String {
    let by = run.cause.as_ref().and_then(|cause| cause.absorbed_by.as_ref());
    match by {
        Some(by) => format!("{} by run {}", run.outcome, clip_key(by)),
        None => run.outcome.to_string(),
    }
}

/// A run with every step.
pub(super) fn run(run: &Run) -> String {
    let mut lines = vec![
        format!("run      {}", run.run_key),
        format!("agent    {}", run.agent_id),
        format!("status   {}{}", outcome(run), waiting(run)),
        format!("started  {}", run.started_at),
    ];
    if let Some(ended_at) = &run.ended_at {
        lines.push(format!("ended    {ended_at}"));
    }
    lines.push(format!(
        "took     {} ms, {} rounds, {} tokens",
        run.duration_ms, run.rounds, run.token_usage.total_tokens
    ));
    let link = |what: &str, link: &RunLink| {
        let held = link.held.as_ref().map(|held| format!(", held: {held}"));
        let (key, agent, held) = (
            clip_key(&link.run_key.to_string()).to_owned(),
            &link.agent_id,
            held.unwrap_or_default(),
        );
        format!("{what:<7}  run {key} of {agent}: {}{held}", link.status)
    };
    lines.extend(run.parent.iter().map(|parent| link("parent", parent)));
    lines.extend(run.children.iter().map(|child| link("child", child)));
    if run.erased {
        lines.push("erased   its contents were erased permanently".to_owned());
    }
    lines.extend(run.retries.iter().map(|first| link("retries", first)));
    lines.extend(run.retried_by.iter().map(|again| link("again", again)));
    if let Some(code) = &run.unreadable {
        lines.push(format!("state    cannot be read ({code})"));
    }
    if let Some(failure) = &run.failure_artifact {
        lines.push(format!("failure  {}: {}", failure.kind, failure.summary));
    }
    if let Some(fault) = &run.fault {
        lines.push(format!("fault    {}", describe_fault(fault)));
    }
    if let Some(explanation) = &run.explanation {
        lines.push(format!("cause    {}", explanation.message));
    }
    lines.extend(next_steps(run).map(|steps| format!("next     {steps}")));
    if !run.steps.is_empty() {
        lines.push("steps".to_owned());
    }
    let steps = run.steps.iter().enumerate();
    lines.extend(steps.map(|(index, one)| step(index + 1, one)));
    if !run.final_text.is_empty() {
        lines.push(format!("\n{}", run.final_text));
    }
    lines.join("\n")
}

fn step(number: usize, step: &Step) -> String {
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
    let (name, notes) = (truncate_chars(&step.name, 32), notes.join(", "));
    let line = format!(
        "  {number:>4}  {name:<32}  {:<15}  {ms:>9}  {notes}",
        result(step.status, step.exit_status)
    );
    line.trim_end().to_owned()
}

/// Whether a list contains all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunSelection {
    All,
    Filtered,
}

pub(super) fn runs(view: &RunList, state: RunSelection) -> String {
    if view.runs.is_empty() {
        let none = match (state, &view.next_before) {
            (RunSelection::All, _) => "no runs yet: `wakeful run \"…\"` starts one",
            (RunSelection::Filtered, None) => "no run matches",
            (RunSelection::Filtered, Some(_)) => {
                "none of the newest runs matches; narrow the search with --since and --until"
            }
        };
        return none.to_owned();
    }
    table(view.runs.iter().map(line_of_run))
}

/// Runs with queued messages: for one agent in the same table, for all agents as counts below it.
pub(super) fn runs_and_waits(view: &RunList, state: RunSelection, waits: &QueuedView) -> String {
    match waits {
        QueuedView::Queue(_, queued) if queued.is_empty() => runs(view, state),
        QueuedView::Queue(agent, queued) => {
            // Newest first, like the runs below.
            let waiting = queued.iter().rev();
            let waiting = waiting.map(|one| row(&one.run_key, agent.as_str(), "queued", &one.admitted_at));
            table(waiting.chain(view.runs.iter().map(line_of_run)))
        }
        QueuedView::Counts(counts) if counts.is_empty() => runs(view, state),
        QueuedView::Counts(counts) => {
            let counts: Vec<String> = counts
                .iter()
                .map(|(agent, count)| format!("{agent} {count}"))
                .collect();
            let runs = runs(view, state);
            let counts = counts.join(", ");
            format!("{runs}\n\nwaiting: {counts} (`wakeful runs list --agent ID` shows which)")
        }
    }
}

fn table(lines: impl Iterator<Item = String>) -> String {
    let header = format!("{:<SHORT$}  {:<41}  {:<13}  STARTED", "RUN", "AGENT", "STATUS");
    [header].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

fn line_of_run(run: &RunSummary) -> String {
    let status = match (run.parked, run.waiting_for) {
        (true, _) => "parked",
        (false, Some(_)) => "waiting",
        (false, None) => run.status.as_str(),
    };
    let line = row(&run.run_key, &run.agent_id, status, &run.started_at);
    // A run that is being retried keeps its last fault although it has left quarantine.
    if let Some(fault) = run
        .fault
        .as_deref()
        .filter(|_| run.status == RunStatus::Quarantined)
    {
        return format!(
            "{line}  {}",
            truncate_chars(&describe_fault(fault).replace('\n', " "), FAULT_CHARS_MAX)
        );
    }
    if run.erased {
        return format!("{line}  erased");
    }
    if let Some(waiting) = run.waiting_for.and_then(waits_for) {
        return format!("{line}  {waiting}");
    }
    if run.waiting_on.is_empty() {
        return line;
    }
    let keys: Vec<&str> = run.waiting_on.iter().map(|key| clip_key(key)).collect();
    format!("{line}  waiting on run {}", keys.join(", "))
}

fn row(key: &str, agent: &str, status: &str, at: &str) -> String {
    let (key, agent) = (clip_key(key), truncate_chars(agent, 41));
    format!("{key}  {agent:<41}  {status:<13}  {at}")
}

/// Whether a process drives open runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DriverPresence {
    None,
    /// A daemon drives them, or this cannot be determined.
    Daemon,
}

pub(super) fn agents(agents: &[AgentStatus], driver: DriverPresence) -> String {
    if agents.is_empty() {
        return "no agents yet: `wakeful agent create ID` creates one".to_owned();
    }
    let line = |agent: &AgentStatus| {
        let name = truncate_chars(&agent.agent_id, 41);
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
        let mut waiting: String = [
            (agent.pending, "waiting"),
            (agent.pending_decisions, "to decide"),
            (agent.quarantined_runs, "quarantined"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}  "))
        .collect();
        if agent.is_braked {
            waiting.insert_str(0, "BRAKED  ");
        }
        format!(
            "{name:<41}  {state:<16}  {:>8} tokens  {waiting}{}",
            agent.token_usage.total_tokens, agent.workspace
        )
    };
    agents.iter().map(line).collect::<Vec<_>>().join("\n")
}

const fn woken_by(mode: InteractionMode) -> &'static str {
    match mode {
        InteractionMode::Autonomous => "changes, schedules and external triggers (autonomous)",
        InteractionMode::Interactive => "only people (interactive)",
        InteractionMode::Hybrid => "people, changes, schedules and external triggers (hybrid)",
    }
}

pub(super) fn agent(agent: &AgentStatus) -> String {
    let guidance = agent.loaded_agents_md.iter();
    let guidance: String = guidance
        .map(|file| format!("\nguidance   {}", file.path))
        .collect();
    let asked = agent.model_state.as_ref().map(|state| {
        let models: Vec<&str> = std::iter::once(&state.effective_model)
            .chain(&state.effective_fallback_models)
            .map(String::as_str)
            .collect();
        format!("\nuses       {}", models.join(", then "))
    });
    let asked = asked.unwrap_or_default();
    let asleep = agent.sleep_until.as_ref();
    let asleep = asleep.map(|until| format!(", only by people until {until}"));
    let asleep = asleep.unwrap_or_default();
    format!(
        "agent      {}\nvisibility {}\nlifecycle  {}\nwoken by   {}{asleep}\nstate      {}\nbrake      {}\nwaiting    {} messages, {} decisions, \
        {} quarantined runs\nmodel      {}{asked}\nworkspace  {}\ncreated    {}\n\
        used       {} tokens in {} model rounds{guidance}",
        agent.agent_id,
        word(&agent.visibility),
        word(&agent.lifecycle),
        woken_by(agent.mode),
        state(agent),
        if agent.is_braked { "on" } else { "off" },
        agent.pending,
        agent.pending_decisions,
        agent.quarantined_runs,
        agent.model.as_deref().unwrap_or("the default"),
        agent.workspace,
        agent.created_at,
        agent.token_usage.total_tokens,
        agent.model_rounds,
    )
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
            clip_key(&entry.run_key)
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
        Block::Attachment { name, media_type, .. } => format!("[{name}, {media_type}]"),
        Block::ToolUse { name, input, .. } => format!("→ {name} {input}"),
        Block::ToolResult { content, .. } => format!("← {}", truncate_chars(content, WORDS_MAX)),
    }
}

/// The state of an agent in one word. Paused or stopped is shown instead of asleep or queued, because it is
/// the reason that nothing starts.
fn state(agent: &AgentStatus) -> String {
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

pub(super) fn clip_key(key: &str) -> &str {
    key.get(..SHORT).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absorbed_message_names_the_run_that_absorbed_it() {
        let shown = |absorbed_by: Option<&str>| {
            let told = serde_json::json!({
                "run_key": "a".repeat(64), "agent_id": "coach", "outcome": "absorbed", "final_text": "", "rounds": 0,
                "tool_calls": [], "denied": [], "unknown": [], "duration_ms": 0, "steps": [],
                "started_at": "2026-03-01T06:00:00.000Z",
                "token_usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
                "cause": {
                    "kind": "operator_prompt", "authority": "operator_instruction", "surface": "cli_prompt",
                    "context": "local_process", "admitted_at": "2026-03-01T06:00:00.000Z", "text": "stop",
                    "verdict": "absorbed", "absorbed_by": absorbed_by, "gates": [],
                },
            });
            let told: Run = serde_json::from_value(told).expect("a run");
            (run(&told), ending(&told).remove(0))
        };
        let by = "0123456789abcdef".repeat(4);
        let (whole, line) = shown(Some(&by));
        assert!(
            whole.contains("status   absorbed by run 0123456789ab\n"),
            "{whole}"
        );
        assert!(line.contains("coach absorbed by run 0123456789ab in"), "{line}");
        let (whole, _) = shown(None);
        assert!(whole.contains("status   absorbed\n"), "{whole}");
    }
}
