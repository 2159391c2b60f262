//! Asks pending decisions at the terminal while a run waits for them.

use std::io::{BufRead as _, IsTerminal as _, Read as _};

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::oneshot;
use wakeful_api::{AnswerDecision, Decision, DecisionStatus, GetDecision, GetWhyRun, Text};
use wakeful_core::decision::{APPROVE, APPROVE_HOSTS, DENY};
use wakeful_core::failure::CUT;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::policy::rule_words;
use wakeful_core::provenance::Evidence;

use crate::backend::{Backend, decision_id, refuse_tool_process};
use crate::failure::Failure;
use crate::show::Out;
use crate::terminal::raw_mode::is_foreground;
use crate::terminal::screen::Ink;

/// Maximum length of an answer, with its reason.
const LINE_BYTES_MAX: u64 = 4_096;

/// Maximum length of a reason, as in the API.
const REASON_CHARS_MAX: usize = 2_000;

/// Longest arguments that are shown with a question. Longer ones cannot be read here, so they are not
/// approved here.
const INPUT_CHARS_MAX: usize = 8_000;

/// The answers that can be typed.
const PROMPT: &str = "  y / n [REASON] / why / later > ";

/// The same for a decision that can open the agent's hosts to the run.
const PROMPT_WITH_HOSTS: &str = "  y / hosts (yes, for this run) / n [REASON] / why / later > ";

/// What became of the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskOutcome {
    /// All are answered, here or elsewhere.
    Answered,
    /// At least one is still pending.
    Later,
}

/// What a person typed as an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Reply {
    Approve,
    ApproveHosts,
    Deny(Option<String>),
    Why,
    Later,
    Unclear,
}

impl Reply {
    pub(in crate::cli) fn parse(line: &str) -> Self {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let reason = Some(rest.trim()).filter(|reason| !reason.is_empty());
        match (word.to_ascii_lowercase().as_str(), reason) {
            ("y" | "yes" | "approve", None) => Self::Approve,
            ("h" | "hosts" | "approve_hosts", None) => Self::ApproveHosts,
            ("n" | "no" | "deny", reason) => {
                Self::Deny(reason.map(|reason| reason.chars().take(REASON_CHARS_MAX).collect()))
            }
            ("w" | "why" | "?", None) => Self::Why,
            ("l" | "later", None) => Self::Later,
            _ => Self::Unclear,
        }
    }
}

/// Whether one answer can open the agent's hosts to the run.
pub(in crate::cli) fn offers_hosts(one: &Decision) -> bool {
    one.options.iter().any(|option| option.id == APPROVE_HOSTS)
}

/// The line before the cursor.
pub(in crate::cli) fn prompt_of(one: &Decision) -> &'static str {
    if offers_hosts(one) {
        PROMPT_WITH_HOSTS
    } else {
        PROMPT
    }
}

/// Whether a person at a terminal can be asked.
pub(super) fn can_ask(out: &Out) -> bool {
    !out.is_json() && std::io::stderr().is_terminal() && is_foreground() && refuse_tool_process().is_ok()
}

/// Asks the questions one after another.
pub(super) async fn ask(backend: &Backend, pending: &[Decision], out: &Out) -> Result<AskOutcome, Failure> {
    for one in pending {
        let id = decision_id(&one.decision_id)?;
        let one = backend.call(GetDecision { decision_id: id }).await?;
        if one.status == DecisionStatus::Pending && ask_one(backend, &one, out).await? == AskOutcome::Later {
            return Ok(AskOutcome::Later);
        }
    }
    Ok(AskOutcome::Answered)
}

async fn ask_one(backend: &Backend, one: &Decision, out: &Out) -> Result<AskOutcome, Failure> {
    if !one.may_answer.contains(&backend.channel()) || is_too_long(one) {
        return Ok(AskOutcome::Later);
    }
    out.block(&question(one));
    let (option, reason) = loop {
        let Some(line) = read_line(out, prompt_of(one)).await else {
            out.block(&[(String::new(), Ink::Plain)]);
            return Ok(AskOutcome::Later);
        };
        match Reply::parse(&line) {
            Reply::Approve => break (APPROVE, None),
            Reply::ApproveHosts if offers_hosts(one) => break (APPROVE_HOSTS, None),
            Reply::Deny(reason) => break (DENY, reason),
            Reply::Why => out.block(&reasons(backend, one).await?),
            Reply::Later => return Ok(AskOutcome::Later),
            Reply::Unclear | Reply::ApproveHosts => out.note("type y, n, why or later, and Enter"),
        }
    };
    if let Some(message) = store_answer(backend, one, option, reason).await? {
        out.note(&message);
    }
    Ok(AskOutcome::Answered)
}

/// Whether the arguments are too long to be read here.
pub(in crate::cli) fn is_too_long(one: &Decision) -> bool {
    match &one.diff {
        Some(diff) => diff.ends_with(CUT),
        None => one.is_input_cut || is_long(&one.input),
    }
}

fn is_long(input: &str) -> bool {
    input.chars().count() > INPUT_CHARS_MAX
}

/// Stores an answer to the version of the decision that was shown. A decision that was closed meanwhile is
/// reported, and the run continues with the other answer.
pub(in crate::cli) async fn store_answer(
    backend: &Backend,
    one: &Decision,
    option: &str,
    note: Option<String>,
) -> Result<Option<String>, Failure> {
    let answer = AnswerDecision {
        decision_id: decision_id(&one.decision_id)?,
        option: option.to_owned(),
        note,
        version: Some(one.version),
    };
    match backend.call(answer).await {
        Ok(_) => Ok(None),
        Err(failure) if matches!(failure.code(), "decision_closed" | "decision_changed") => {
            Ok(Some(failure.message().to_owned()))
        }
        Err(failure) => Err(failure),
    }
}

/// The question: the tool, its exact arguments or the changes that they mean, and the rule that requires the
/// answer.
pub(in crate::cli) fn question(one: &Decision) -> Vec<(String, Ink)> {
    let meaning = rule_words(&one.rule).map_or_else(String::new, |words| format!(" ({words})"));
    let call = match &one.diff {
        Some(_) if is_long(&one.input) => one.tool.clone(),
        Some(_) | None => format!("{} {}", one.tool, one.input),
    };
    let mut lines = vec![
        (format!("? {}", one.title), Ink::Yellow),
        (format!("  {call}"), Ink::Bold),
    ];
    let targets = one.targets.iter().map(|target| format!("  {target}"));
    lines.extend(targets.map(|target| (target, Ink::Plain)));
    lines.extend(one.diff.iter().flat_map(|diff| diff.lines()).map(diff_line));
    if let Some(evidence) = &one.evidence {
        lines.push((
            format!("  untrusted text{} led to this:", from_source(evidence)),
            Ink::Dim,
        ));
        let text = marked(evidence).into_iter();
        lines.extend(text.map(|(line, ink)| (format!("  {line}"), ink)));
    }
    lines.push((format!("  asked by rule {}{meaning}", one.rule), Ink::Dim));
    lines
}

/// Where the untrusted text came from.
pub(in crate::cli) fn from_source(evidence: &Evidence) -> String {
    let source = evidence.source.as_ref();
    source.map_or_else(String::new, |source| format!(" from {source}"))
}

/// Untrusted text with the sentence that matters marked in place.
pub(in crate::cli) fn marked(evidence: &Evidence) -> Vec<(String, Ink)> {
    let part = |text: &str, mark: &str, ink: Ink| {
        let lines = text
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.trim().is_empty());
        let lines = lines.map(|line| (format!("{mark}{}", line.trim_start()), ink));
        lines.collect::<Vec<_>>()
    };
    let mut lines = part(&evidence.before, "  ", Ink::Dim);
    lines.extend(part(&evidence.text, "> ", Ink::Yellow));
    lines.extend(part(&evidence.after, "  ", Ink::Dim));
    lines
}

fn diff_line(line: &str) -> (String, Ink) {
    let ink = match line.as_bytes().first() {
        Some(b'+') => Ink::Green,
        Some(b'-') => Ink::Red,
        _ => Ink::Plain,
    };
    (format!("  {line}"), ink)
}

/// Why the question is asked: the rule, the agent, and what started the run.
pub(in crate::cli) async fn reasons(
    backend: &Backend,
    one: &Decision,
) -> Result<Vec<(String, Ink)>, Failure> {
    let mut lines = vec![
        format!("  rule    {}", one.rule),
        format!("  agent   {}, run {}", one.agent_id, one.run_key),
        format!("  action  {}", one.operation_id),
    ];
    if let Some(retries) = &one.retries {
        lines.push(format!("  it repeats action {retries}, whose outcome is unknown"));
    }
    if let Some(run) = Digest::from_hex(&one.run_key).map(RunKey) {
        let why = backend.call(GetWhyRun { run_key: Text(run) }).await?;
        lines.push(format!("  cause   {}", why.summary));
        lines.extend(why.text.map(|text| format!("  prompt  {text}")));
    }
    lines.extend(
        one.options
            .iter()
            .map(|option| format!("  {:<8}{}", option.id, option.description)),
    );
    Ok(lines.into_iter().map(|line| (line, Ink::Dim)).collect())
}

/// Reads one line that was typed after the question appeared; none at Ctrl-C, Ctrl-D or a lost terminal.
/// Earlier input is discarded, because it cannot be an answer to a question that was not shown. It is discarded
/// before the prompt: an answer that follows the prompt at once is kept.
async fn read_line(out: &Out, prompt: &str) -> Option<String> {
    tcflush(std::io::stdin(), QueueSelector::IFlush).ok()?;
    out.prompt(prompt);
    let (answer, answered) = oneshot::channel();
    // A thread of its own: it may block until the process ends, which the runtime would wait for.
    let read = std::thread::Builder::new().spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line);
        let _ = answer.send(read.ok().filter(|count| *count > 0).map(|_| line));
    });
    read.ok()?;
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => None,
        line = answered => line.ok().flatten(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_approves() {
        for yes in ["y", "Y\n", " yes ", "approve"] {
            assert_eq!(Reply::parse(yes), Reply::Approve, "{yes:?}");
        }
        for other in ["", "yy", "y es", "yes please", "ok", "1", "\u{1b}[A", "why not"] {
            assert_eq!(Reply::parse(other), Reply::Unclear, "{other:?}");
        }
        assert_eq!(Reply::parse("hosts"), Reply::ApproveHosts);
        assert_eq!(Reply::parse("n"), Reply::Deny(None));
        assert_eq!(
            Reply::parse("no  use a branch "),
            Reply::Deny(Some("use a branch".into()))
        );
        assert_eq!(Reply::parse("why\n"), Reply::Why);
        assert_eq!(Reply::parse("later"), Reply::Later);
        let long = format!("n {}", "ä".repeat(REASON_CHARS_MAX + 9));
        assert_eq!(
            Reply::parse(&long),
            Reply::Deny(Some("ä".repeat(REASON_CHARS_MAX)))
        );
    }
}
