//! Runs for people: the list, and one run with its prompt, its steps and its answer.

use wakeful_api::{Attempt, Run, RunList, RunSummary, Step, StepKind, StepText};
use wakeful_core::policy::rule_words;
use wakeful_core::run::RunStatus;
use wakeful_core::step::StepStatus;
use wakeful_core::sub_run::RunLink;
use wakeful_core::tool::ConnectionVerdict;
use wakeful_runtime::run::describe_fault;

use super::Out;
use super::phrase::{count, duration, short};
use super::run_words::{next_steps, result, waiting, waits_for};
use super::table::{Column, Table};
use super::view::QueuedView;

/// Lines shown of each text of a step; `--full` shows all.
const LINES_MAX: usize = 40;

/// Characters shown of the arguments of a tool call other than a command; `--full` shows all.
const INPUT_CHARS_MAX: usize = 2_000;

/// How much of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// At most [`LINES_MAX`] lines of each text.
    Short,
    Full,
}

const RUNS: [Column; 5] = [
    Column::key("RUN"),
    Column::whole("STATUS", 0),
    Column::whole("STARTED", 3),
    Column::text("AGENT", 4),
    Column::text("PROMPT", 2),
];

/// Whether a list contains all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunSelection {
    All,
    Filtered,
}

pub(super) fn runs(list: &RunList, selection: RunSelection, out: &Out) -> String {
    if list.runs.is_empty() {
        let none = match (selection, &list.next_before) {
            (RunSelection::All, _) => "no runs yet: `wakeful run \"…\"` starts one",
            (RunSelection::Filtered, None) => "no run matches",
            (RunSelection::Filtered, Some(_)) => {
                "none of the newest runs matches; narrow the search with --since and --until"
            }
        };
        return none.to_owned();
    }
    out.table(&Table::new(RUNS, list.runs.iter().map(|run| cells(run, out))))
}

/// Runs with queued messages: for one agent in the same table, for all agents as counts below it.
pub(super) fn runs_and_waits(
    list: &RunList,
    selection: RunSelection,
    waits: &QueuedView,
    out: &Out,
) -> String {
    match waits {
        QueuedView::Queue(_, queued) if queued.is_empty() => runs(list, selection, out),
        QueuedView::Queue(agent, queued) => {
            // Newest first, like the runs below.
            let waiting = queued.iter().rev().map(|one| {
                [
                    short(&one.run_key).to_owned(),
                    "queued".to_owned(),
                    out.at(&one.admitted_at),
                    agent.to_string(),
                    one.preview.clone(),
                ]
            });
            let started = list.runs.iter().map(|run| cells(run, out));
            out.table(&Table::new(RUNS, waiting.chain(started)))
        }
        QueuedView::Counts(counts) if counts.is_empty() => runs(list, selection, out),
        QueuedView::Counts(counts) => {
            let counts: Vec<String> = counts
                .iter()
                .map(|(agent, count)| format!("{agent} {count}"))
                .collect();
            let (runs, counts) = (runs(list, selection, out), counts.join(", "));
            format!("{runs}\n\nwaiting: {counts} (`wakeful runs list --agent ID` shows which)")
        }
    }
}

fn cells(run: &RunSummary, out: &Out) -> [String; 5] {
    let status = match (run.parked, run.waiting_for) {
        (true, _) => "parked",
        (false, Some(_)) => "waiting",
        (false, None) => run.status.as_str(),
    };
    // A run that is being retried keeps its last fault although it has left quarantine.
    let fault = run.fault.as_deref();
    let fault = fault.filter(|_| run.status == RunStatus::Quarantined);
    let waits = || {
        let keys: Vec<&str> = run.waiting_on.iter().map(|key| short(key)).collect();
        (!keys.is_empty()).then(|| format!("waiting on run {}", keys.join(", ")))
    };
    let erased = run.erased.then(|| "erased".to_owned());
    let waiting = run.waiting_for.and_then(waits_for).map(str::to_owned);
    let note = fault.map(describe_fault).or(erased).or(waiting).or_else(waits);
    let prompt = run.preview.clone().unwrap_or_default();
    [
        short(&run.run_key).to_owned(),
        status.to_owned(),
        out.at(&run.started_at),
        run.agent_id.clone(),
        match note {
            Some(note) if prompt.is_empty() => note,
            Some(note) => format!("{note} ({prompt})"),
            None => prompt,
        },
    ]
}

/// The outcome of a run. If another run absorbed the message, its key is included, because the answer is in
/// that run.
pub(super) fn outcome(run: &Run) -> String {
    let by = run.cause.as_ref().and_then(|cause| cause.absorbed_by.as_ref());
    match by {
        Some(by) => format!("{} by run {}", run.outcome, short(by)),
        None => run.outcome.to_string(),
    }
}

/// What the outcome means for the person, if the word alone does not say it.
const fn meaning(run: &Run) -> Option<&'static str> {
    match run.outcome {
        RunStatus::Queued => Some("its message waits in the queue"),
        RunStatus::Open if run.parked.is_some() => Some("`wakeful budget show`"),
        RunStatus::Open if run.waiting_for.is_some() => None,
        RunStatus::Open => Some("has not ended"),
        RunStatus::Quarantined => Some("stopped until you resume or abandon it"),
        RunStatus::OutOfRounds => Some("it used all its model rounds without an answer"),
        RunStatus::Refused => Some("a gate refused its cause; `wakeful why` shows which"),
        RunStatus::Gone => Some("its data was deleted"),
        RunStatus::Completed
        | RunStatus::Failed
        | RunStatus::Cancelled
        | RunStatus::Abandoned
        | RunStatus::Absorbed
        | RunStatus::Replaced => None,
    }
}

/// A run with its prompt, every step and its answer.
pub(super) fn run(run: &Run, detail: Detail, out: &Out) -> String {
    let mut lines = header(run, out);
    if let Some(cause) = run.cause.as_ref().filter(|cause| !cause.text.is_empty()) {
        lines.push("\nprompt".to_owned());
        lines.extend(indented(&cause.text, "  ", detail));
    }
    if !run.steps.is_empty() {
        lines.push("\nsteps".to_owned());
    }
    let attempts = run.provider_attempt_timeline.as_ref();
    let attempts = attempts.map_or(&[][..], |timeline| timeline.attempts.as_slice());
    for (index, one) in run.steps.iter().enumerate() {
        let attempt = attempts
            .iter()
            .find(|attempt| attempt.operation_id == one.operation_id);
        lines.push(step_line(index + 1, one, attempt));
        lines.extend(step_contents(one, run, detail));
    }
    if !run.final_text.is_empty() {
        lines.push("\nanswer".to_owned());
        lines.extend(indented(&run.final_text, "  ", Detail::Full));
    }
    if let Some(failure) = &run.failure_artifact {
        lines.push(format!("\nfailure  {}: {}", failure.kind, failure.summary));
    }
    if let Some(fault) = &run.fault {
        lines.push(format!("\nfault    {}", describe_fault(fault)));
    }
    if let Some(explanation) = &run.explanation {
        lines.push(format!("\ncause    {}", explanation.message));
    }
    lines.extend(next_steps(run).map(|steps| format!("next     {steps}")));
    lines.join("\n")
}

fn header(run: &Run, out: &Out) -> Vec<String> {
    let meaning = meaning(run).map(|words| format!(" ({words})"));
    let mut lines = vec![
        format!("run      {}", run.run_key),
        format!("agent    {}", run.agent_id),
        format!(
            "status   {}{}{}",
            outcome(run),
            waiting(run),
            meaning.unwrap_or_default()
        ),
    ];
    lines.extend(run.model.as_ref().map(|model| format!("model    {model}")));
    lines.push(match &run.ended_at {
        Some(_) => format!(
            "started  {}, took {}",
            out.at(&run.started_at),
            duration(run.duration_ms)
        ),
        None => format!("started  {}", out.at(&run.started_at)),
    });
    let cost = run.cost_usd.as_ref().map(|usd| format!(", {usd} USD"));
    if run.rounds > 0 || !run.tool_calls.is_empty() {
        lines.push(format!(
            "used     {}, {}, {}{}",
            count(run.rounds, "model round"),
            count(run.tool_calls.len(), "tool call"),
            count(run.token_usage.total_tokens, "token"),
            cost.unwrap_or_default()
        ));
    }
    let link = |what: &str, link: &RunLink| {
        let held = link.held.as_ref().map(|held| format!(", held: {held}"));
        let (key, agent) = (link.run_key.to_string(), &link.agent_id);
        let held = held.unwrap_or_default();
        format!("{what:<7}  run {} of {agent}: {}{held}", short(&key), link.status)
    };
    lines.extend(run.parent.iter().map(|parent| link("parent", parent)));
    lines.extend(run.children.iter().map(|child| link("child", child)));
    lines.extend(run.retries.iter().map(|first| link("retries", first)));
    lines.extend(run.retried_by.iter().map(|again| link("again", again)));
    if run.erased {
        lines.push("erased   its contents were erased permanently".to_owned());
    }
    if let Some(code) = &run.unreadable {
        lines.push(format!("state    cannot be read ({code})"));
    }
    lines
}

fn step_line(number: usize, step: &Step, attempt: Option<&Attempt>) -> String {
    let mut notes = Vec::new();
    notes.extend(step.duration_ms.map(duration));
    let tokens = step.token_usage.total_tokens;
    notes.extend((tokens > 0).then(|| count(tokens, "token")));
    let cost = attempt.and_then(|attempt| attempt.cost_usd.as_ref());
    notes.extend(cost.map(|usd| format!("{usd} USD")));
    notes.extend(step.sandbox.clone());
    let status = match (step.status, &step.decision_id) {
        (StepStatus::WaitingForApproval, Some(id)) => {
            let id = short(id);
            format!("waiting for your approval (`wakeful decision show {id}`)")
        }
        (StepStatus::WaitingForApproval, None) => "waiting for your approval".to_owned(),
        (StepStatus::Intended, _) => "running, or interrupted".to_owned(),
        (StepStatus::OutcomeUnknown, _) => "outcome unknown: it may or may not have happened".to_owned(),
        (StepStatus::Partial, _) => "done in part".to_owned(),
        (StepStatus::Planned | StepStatus::Ok | StepStatus::Failed | StepStatus::Denied, _) => {
            result(step.status, step.exit_status)
        }
    };
    if !step.reason.is_empty() {
        let words = rule_words(&step.reason).map(|words| format!(": {words}"));
        notes.push(format!("{}{}", step.reason, words.unwrap_or_default()));
    }
    let notes = match notes.is_empty() {
        true => String::new(),
        false => format!(" ({})", notes.join(", ")),
    };
    let name = match step.kind {
        StepKind::Model => format!("model {}", step.name),
        StepKind::Tool => step.name.clone(),
    };
    format!("{number:>4}  {name}  {status}{notes}")
}

/// What a step received and produced. The last reply is shown as the answer of the run instead.
fn step_contents(step: &Step, run: &Run, detail: Detail) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(input) = &step.input {
        lines.extend(input_lines(&input.text, detail));
    }
    let output = step
        .output
        .as_ref()
        .filter(|output| output.text != run.final_text);
    lines.extend(
        output
            .iter()
            .flat_map(|output| text_lines(output, detail, mark(step))),
    );
    if let Some(errors) = &step.error_output {
        lines.extend(text_lines(errors, detail, "      ! "));
    }
    lines.extend(sandbox_lines(step));
    lines
}

/// What a person should know about a command besides its output: hosts that it did not reach, and findings.
fn sandbox_lines(step: &Step) -> Vec<String> {
    let unreached = step
        .connections
        .iter()
        .filter(|entry| entry.verdict != ConnectionVerdict::Allowed);
    let unreached = unreached.map(|entry| {
        let (host, port, verdict) = (&entry.host, entry.port, &entry.verdict);
        format!("      * {host}:{port} {verdict}: {}", entry.reason)
    });
    let not_enforced = step.confinement.iter().filter(|(_, level)| *level != "enforced");
    let not_enforced = not_enforced.map(|(line, level)| format!("      * sandbox: {line} {level}"));
    let findings = step.findings.iter().map(|finding| format!("      * {finding}"));
    unreached.chain(not_enforced).chain(findings).collect()
}

/// The mark before each line of a step's output.
const fn mark(step: &Step) -> &'static str {
    match step.kind {
        StepKind::Model => "      ",
        StepKind::Tool => "      | ",
    }
}

/// The arguments of a tool call: the command itself, or JSON.
fn input_lines(json: &str, detail: Detail) -> Vec<String> {
    let value: Option<serde_json::Value> = serde_json::from_str(json).ok();
    let command = value.as_ref().and_then(|value| value["cmd"].as_str());
    match command {
        Some(command) => {
            let mut mark = "      $ ";
            let lines = command
                .lines()
                .map(|line| format!("{}{line}", std::mem::replace(&mut mark, "        ")));
            bounded(lines.collect(), detail)
        }
        None if detail == Detail::Full => vec![format!("      {json}")],
        None => vec![format!(
            "      {}",
            wakeful_core::failure::truncate_chars(json, INPUT_CHARS_MAX)
        )],
    }
}

fn text_lines(text: &StepText, detail: Detail, mark: &str) -> Vec<String> {
    let mut lines = indented(&text.text, mark, detail);
    if text.truncated {
        let whole = match detail {
            Detail::Short => "; --full shows more",
            Detail::Full => "",
        };
        lines.push(format!(
            "{mark}[truncated: {} in total{whole}]",
            count(text.bytes, "byte")
        ));
    }
    lines
}

fn indented(text: &str, mark: &str, detail: Detail) -> Vec<String> {
    let lines = text
        .trim_end()
        .lines()
        .map(|line| format!("{mark}{line}").trim_end().to_owned());
    bounded(lines.collect(), detail)
}

/// Keeps the last lines, which usually tell what went wrong.
fn bounded(mut lines: Vec<String>, detail: Detail) -> Vec<String> {
    let over = lines.len().saturating_sub(LINES_MAX);
    if detail == Detail::Full || over == 0 {
        return lines;
    }
    lines.drain(..over);
    lines.insert(
        0,
        format!(
            "      [{} omitted; --full shows all]",
            count(over, "earlier line")
        ),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::tests::out;

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
            (
                run(&told, Detail::Short, &out(80)),
                crate::show::text::ending(&told).remove(0),
            )
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

    #[test]
    fn only_the_last_lines_of_a_long_output_are_shown() {
        let text = (1..=50)
            .map(|number| format!("line {number}\n"))
            .collect::<String>();
        let short = indented(&text, "| ", Detail::Short);
        assert_eq!(
            (short.len(), short[0].trim()),
            (41, "[10 earlier lines omitted; --full shows all]")
        );
        assert_eq!(short[1], "| line 11");
        assert_eq!(indented(&text, "| ", Detail::Full).len(), 50);
    }
}
