//! Presentation of events: a level, a category and short texts, equal on every surface.
//!
//! It is a total projection: an event whose payload was erased, or that a newer version wrote, still gets a
//! line, so that people see that it exists.

mod agent;
mod category;
mod decision;
mod guard;
mod notice;
mod provenance;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::category::category;
pub use self::provenance::{Provenance, provenance};
use super::EventKind;
use super::payload::{
    ActionCancelled, AssistantRoundRecorded, Payload, PolicyDecided, ProviderRoundCompleted, RunEnded,
    ToolExecuted, WakeDecided,
};
use crate::attempt::AttemptOutcome;
use crate::failure::{SUMMARY_CHARS_MAX as FAILURE_CHARS_MAX, truncate_chars};
use crate::policy::PolicyEffect;
use crate::run::RunStatus;
use crate::step::{StepStatus, UNDECIDED};
use crate::wake::WakeOutcome;

/// Maximum length of a title in characters: a heading on a narrow screen.
pub const TITLE_CHARS_MAX: usize = 80;

/// Maximum length of a summary in characters: a preview with its prefix.
pub const SUMMARY_CHARS_MAX: usize = 240;

/// Maximum length of a body in characters: a failure's summary, the longest text in an event.
pub const BODY_CHARS_MAX: usize = FAILURE_CHARS_MAX;

/// Maximum length of a provenance field in characters. The longest regular one is a key of 64 hex digits.
pub const FACT_CHARS_MAX: usize = 200;

/// Maximum number of tools that a line lists. The transcript has all of them.
const TOOLS_SHOWN_MAX: usize = 8;

/// The presentation of an event. It does not control access: everyone who may read an event may read all of
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presentation {
    /// How important the event is to a person.
    pub visibility: EventLevel,
    /// What the event is about.
    pub category: EventCategory,
    /// A short heading.
    pub title: String,
    /// Further text, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// One line for lists.
    pub summary: String,
    /// Kind of the presented event.
    pub source_event_kind: String,
}

string_enum! {
    /// How important an event is to a person, the most important first.
    #[derive(PartialOrd, Ord)]
    pub enum EventLevel {
        /// A person has to do something.
        ActionRequired = "action_required",
        /// Work was completed.
        WorkDone = "work_done",
        /// A message, the start or end of a run, an answer or a brake.
        TurnResult = "turn_result",
        /// Work makes progress.
        Progress = "progress",
        /// Details for debugging.
        Trace = "trace",
    }
}

string_enum! {
    /// What an event is about.
    pub enum EventCategory {
        /// Information for the operator.
        OperatorNotification = "operator_notification",
        /// A short report of a run.
        Brief = "brief",
        /// A message to the agent.
        Message = "message",
        /// Work that spans several runs.
        WorkItem = "work_item",
        /// Background work.
        Task = "task",
        /// The agent waits for something.
        Waiting = "waiting",
        /// The agent's workspace.
        Workspace = "workspace",
        /// The runtime itself.
        Runtime = "runtime",
        /// Intermediate output of the model.
        AssistantProgress = "assistant_progress",
        /// Tool calls.
        Tool = "tool",
        /// A change of state that makes pages refresh. Not part of the conversation.
        StateSync = "state_sync",
        /// Details for debugging.
        Trace = "trace",
    }
}

impl EventCategory {
    /// Whether it is part of the conversation between a person and the agent.
    #[must_use]
    pub const fn is_conversation(self) -> bool {
        match self {
            Self::OperatorNotification | Self::Brief | Self::Message | Self::AssistantProgress => true,
            Self::WorkItem | Self::Task | Self::Waiting | Self::Workspace => false,
            Self::Runtime | Self::Tool | Self::StateSync | Self::Trace => false,
        }
    }
}

/// How much detail a person wants to see. It does not control access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DisplayMode {
    /// Results.
    Info,
    /// Results and progress.
    Verbose,
    /// Everything.
    Debug,
}

impl DisplayMode {
    /// Parses a name or the number of its level. Returns `None` for anything else, including `trace`, which
    /// is the log itself.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "info" | "3" => Some(Self::Info),
            "verbose" | "4" => Some(Self::Verbose),
            "debug" | "5" => Some(Self::Debug),
            _ => None,
        }
    }

    /// Whether this mode shows an event. Tool rows are short, so verbose mode shows them although their
    /// level is the lowest.
    #[must_use]
    pub fn shows(self, shown: &Presentation) -> bool {
        let (deepest, tools) = match self {
            Self::Info => (EventLevel::TurnResult, false),
            Self::Verbose => (EventLevel::Progress, true),
            Self::Debug => (EventLevel::Trace, true),
        };
        shown.visibility <= deepest || (tools && shown.category == EventCategory::Tool)
    }
}

/// Presents an event. Without a payload (erased, or written by a newer version) only the kind is shown.
#[must_use]
pub fn present(kind: &str, payload: Option<&Payload>) -> Presentation {
    let source_event_kind = line(kind, TITLE_CHARS_MAX);
    let known = EventKind::parse(kind);
    let row = match (payload, known) {
        (Some(payload), _) => row(payload),
        (None, Some(kind)) => row_of_kind(kind),
        (None, None) => Row::plain(EventLevel::Trace, &source_event_kind),
    };
    Presentation {
        visibility: row.level,
        category: known.map_or(EventCategory::Trace, category),
        title: line(&row.title, TITLE_CHARS_MAX),
        body: row.body.map(|body| truncate_chars(&body, BODY_CHARS_MAX)),
        summary: line(&row.summary, SUMMARY_CHARS_MAX),
        source_event_kind,
    }
}

/// The presentation before truncation.
struct Row {
    level: EventLevel,
    title: String,
    body: Option<String>,
    summary: String,
}

impl Row {
    /// A row with only a title.
    fn plain(level: EventLevel, title: &str) -> Self {
        Self {
            level,
            title: title.to_owned(),
            body: None,
            summary: title.to_owned(),
        }
    }

    fn with_summary(self, summary: String) -> Self {
        Self { summary, ..self }
    }

    /// Appends a detail to the title, unless it is empty.
    fn with_detail(self, detail: &str) -> Self {
        if detail.is_empty() {
            return self;
        }
        let summary = format!("{}: {detail}", self.title);
        self.with_summary(summary)
    }
}

/// The row of an event of which only the kind is known.
fn row_of_kind(kind: EventKind) -> Row {
    let (level, title) = match kind {
        EventKind::MessageAdmitted => (EventLevel::TurnResult, "Message received"),
        EventKind::AgentStateChanged => (EventLevel::Trace, "Agent changed"),
        EventKind::WakeDecided => (EventLevel::Trace, "Wake decided"),
        EventKind::RunStarted => (EventLevel::Progress, "Run started"),
        EventKind::ProviderRoundCompleted => (EventLevel::Trace, "Model request ended"),
        EventKind::AssistantRoundRecorded => (EventLevel::Progress, "Model round recorded"),
        EventKind::PolicyDecided => (EventLevel::Trace, "Tool use decided"),
        EventKind::GuardrailTripped => (EventLevel::Progress, "Guardrail tripped"),
        EventKind::HookExecuted => (EventLevel::Trace, "Hook ran"),
        EventKind::ConnectionRefused => (EventLevel::Progress, "Connection refused"),
        EventKind::ToolExecuted => (EventLevel::Trace, "Tool used"),
        EventKind::ActionCancelled => (EventLevel::Trace, "Tool call cancelled"),
        EventKind::RuntimeError => (EventLevel::ActionRequired, "Runtime error"),
        EventKind::RunParked => (
            EventLevel::ActionRequired,
            "Run parked: the budget does not cover its next step",
        ),
        EventKind::SubRunStarted => (EventLevel::Progress, "Run of another agent started"),
        EventKind::RunEnded => (EventLevel::TurnResult, "Run ended"),
        EventKind::DecisionAsked => (EventLevel::ActionRequired, "A decision waits for you"),
        EventKind::DecisionAnswered => (EventLevel::Trace, "A decision was withdrawn"),
        EventKind::DecisionEscalated => (EventLevel::ActionRequired, "A decision is overdue"),
        EventKind::PolicyChanged => (EventLevel::TurnResult, "Policy files changed"),
        EventKind::BrakeChanged => (EventLevel::TurnResult, "A brake was changed"),
        EventKind::RunQuarantined => (EventLevel::ActionRequired, "Run quarantined"),
        EventKind::QuarantineResolved => (EventLevel::TurnResult, "Quarantined run resumed"),
        EventKind::AttentionDismissed => (EventLevel::Trace, "Failures dismissed"),
        EventKind::RunUndone => (EventLevel::Progress, "Files restored"),
        EventKind::ContentErased => (EventLevel::Progress, "Contents erased"),
        EventKind::DataPruned => (EventLevel::Trace, "Old data pruned"),
        EventKind::RowsBound => (EventLevel::Trace, "Settings changed"),
    };
    Row::plain(level, title)
}

fn row(payload: &Payload) -> Row {
    let row = row_of_kind(payload.kind());
    match payload {
        Payload::MessageAdmitted(admitted) => with_words(row, &admitted.text, &admitted.text),
        Payload::AgentStateChanged(change) => agent::state_changed(change, row),
        Payload::WakeDecided(decided) => wake_decided(decided),
        Payload::RunStarted(started) if !started.model_ref.is_empty() => {
            row.with_summary(format!("Run started with {}", started.model_ref))
        }
        Payload::ProviderRoundCompleted(round) => provider_round(round),
        Payload::AssistantRoundRecorded(round) => assistant_round(round, row),
        Payload::PolicyDecided(decided) => policy_decided(decided),
        Payload::GuardrailTripped(tripped) => guard::guardrail(tripped),
        Payload::HookExecuted(executed) => guard::hook(executed),
        Payload::ConnectionRefused(refused) => row.with_detail(&refused.reason),
        Payload::PolicyChanged(changed) => agent::policy_changed(changed, row),
        Payload::ToolExecuted(executed) => tool_executed(executed),
        Payload::ActionCancelled(action) => action_called_off(action),
        Payload::RuntimeError(error) => {
            let summary = &error.failure_artifact.summary;
            with_words(row, summary, &format!("Runtime error: {summary}"))
        }
        Payload::RunParked(parked) => notice::run_parked(parked, row),
        Payload::SubRunStarted(started) => notice::sub_run_started(started, row),
        Payload::RunEnded(ended) => run_ended(ended),
        Payload::DecisionAsked(asked) => decision::asked(asked, row),
        Payload::DecisionAnswered(answered) => decision::answered(answered, row),
        Payload::DecisionEscalated(decision) => {
            row.with_summary(format!("Overdue, now {}: {}", decision.severity, decision.title))
        }
        Payload::BrakeChanged(brake) => decision::brake(brake),
        Payload::RunQuarantined(quarantined) => row.with_detail(&quarantined.fault.why),
        Payload::QuarantineResolved(released) if released.status == RunStatus::Abandoned => {
            Row::plain(row.level, "Quarantined run abandoned")
        }
        Payload::ContentErased(erased) => notice::content_erased(erased, row),
        Payload::RunStarted(_)
        | Payload::QuarantineResolved(_)
        | Payload::AttentionDismissed(_)
        | Payload::RunUndone(_)
        | Payload::DataPruned(_)
        | Payload::RowsBound(_) => row,
    }
}

/// Shows text written by a person or a provider, if there is any.
fn with_words(row: Row, words: &str, summary: &str) -> Row {
    if words.is_empty() {
        return row;
    }
    Row {
        body: Some(words.to_owned()),
        summary: summary.to_owned(),
        ..row
    }
}

fn wake_decided(decided: &WakeDecided) -> Row {
    let verdict = decided.verdict;
    if verdict == WakeOutcome::Run {
        Row::plain(EventLevel::Trace, "Message became a run")
    } else if verdict == WakeOutcome::Cancelled {
        Row::plain(EventLevel::TurnResult, "Message cancelled before its run")
    } else if verdict == WakeOutcome::Absorbed {
        Row::plain(EventLevel::Progress, "Message joined the run in progress")
    } else {
        Row::plain(EventLevel::TurnResult, "Message did not become a run").with_detail(verdict.as_str())
    }
}

fn provider_round(round: &ProviderRoundCompleted) -> Row {
    let attempt = &round.attempt;
    let failure = attempt.failure_kind.as_deref().unwrap_or("failed");
    match attempt.outcome {
        AttemptOutcome::Succeeded => {
            let row = Row::plain(EventLevel::Trace, "Model answered");
            row.with_summary(format!("Model answered in {} ms", attempt.duration_ms))
        }
        // Shown as progress, because nothing else happens until the next attempt.
        AttemptOutcome::Retrying => {
            let row = Row::plain(EventLevel::Progress, "Model request failed, trying again");
            row.with_summary(format!("Model request failed ({failure}), trying again"))
        }
        AttemptOutcome::RetriesExhausted | AttemptOutcome::FailFastAborted
            if attempt.advanced_to_fallback =>
        {
            let row = Row::plain(EventLevel::Progress, "Model failed, trying the next one");
            row.with_summary(format!("Model failed ({failure}), trying the next one"))
        }
        AttemptOutcome::RetriesExhausted | AttemptOutcome::FailFastAborted => {
            let row = Row::plain(EventLevel::Trace, "Model request failed");
            row.with_summary(format!("Model request failed ({failure})"))
        }
    }
}

fn assistant_round(round: &AssistantRoundRecorded, row: Row) -> Row {
    let AssistantRoundRecorded { text, tools, .. } = round;
    if !text.trim().is_empty() {
        // A reply without tool calls is the answer, which is the result of the turn.
        let level = if tools.is_empty() {
            EventLevel::TurnResult
        } else {
            EventLevel::Progress
        };
        let row = Row::plain(level, "Assistant progress");
        return with_words(row, text, &format!("Assistant progress: {text}"));
    }
    let shown: Vec<&str> = tools.iter().map(String::as_str).take(TOOLS_SHOWN_MAX).collect();
    if shown.is_empty() {
        return row;
    }
    let more = if shown.len() < tools.len() { ", …" } else { "" };
    Row::plain(row.level, "Model requested tools").with_detail(&format!("{}{more}", shown.join(", ")))
}

fn policy_decided(decided: &PolicyDecided) -> Row {
    let tool = tool(&decided.tool);
    let code = decided.code.as_deref();
    let denied_by = (decided.effect == PolicyEffect::Deny).then_some(decided.rule.as_str());
    if let Some(reason) = code.or(denied_by) {
        let verb = match decided.status {
            Some(StepStatus::Denied) => "denied",
            _ => "refused",
        };
        return Row::plain(level_of(code), &format!("{tool} {verb}")).with_detail(reason);
    }
    match decided.effect {
        PolicyEffect::Ask => {
            let row = Row::plain(EventLevel::Trace, &format!("Waiting for your approval: {tool}"));
            let detail = format!("{} {}", row.title, decided.input);
            row.with_summary(detail)
        }
        PolicyEffect::Permit | PolicyEffect::Deny => {
            Row::plain(EventLevel::Trace, &format!("{tool} permitted")).with_detail(&decided.input)
        }
    }
}

fn tool_executed(executed: &ToolExecuted) -> Row {
    let tool = tool(&executed.tool);
    let lasting = format!(" in {} ms", executed.duration_ms);
    match executed.status {
        StepStatus::Ok if executed.exit_status.is_some_and(|status| status != 0) => {
            let status = executed.exit_status.unwrap_or_default();
            let row = Row::plain(EventLevel::Trace, &format!("{tool} ended with exit {status}"));
            row.with_summary(format!("{tool} ended with exit {status}{lasting}"))
        }
        StepStatus::Ok => {
            let row = Row::plain(EventLevel::Trace, &format!("{tool} done"));
            row.with_summary(format!("{tool} done{lasting}"))
        }
        StepStatus::Partial => {
            let row = Row::plain(EventLevel::Trace, &format!("{tool} done in part"));
            row.with_summary(format!("{tool} done in part{lasting}"))
        }
        StepStatus::OutcomeUnknown => Row {
            level: EventLevel::ActionRequired,
            title: format!("{tool}: outcome unknown"),
            body: Some(
                "It may or may not have happened. Check, then decide whether to repeat it.".to_owned(),
            ),
            summary: format!("{tool}: outcome unknown, it may or may not have happened"),
        },
        StepStatus::Planned
        | StepStatus::WaitingForApproval
        | StepStatus::Intended
        | StepStatus::Failed
        | StepStatus::Denied => {
            let row = Row::plain(EventLevel::Trace, &format!("{tool} failed"));
            match &executed.code {
                Some(code) => row.with_detail(&format!("{code}{lasting}")),
                None => row,
            }
        }
    }
}

fn action_called_off(action: &ActionCancelled) -> Row {
    let code = action.code.as_deref();
    let row = Row::plain(level_of(code), &format!("{} cancelled", tool(&action.tool)));
    row.with_detail(code.unwrap_or_default())
}

fn run_ended(ended: &RunEnded) -> Row {
    let (level, title) = match ended.outcome {
        RunStatus::Completed => (EventLevel::WorkDone, "Run completed"),
        RunStatus::Failed => (EventLevel::ActionRequired, "Run failed"),
        // The work is not done, and only a person can allow more rounds.
        RunStatus::OutOfRounds => (EventLevel::ActionRequired, "Run out of rounds"),
        RunStatus::Cancelled => (EventLevel::TurnResult, "Run cancelled"),
        RunStatus::Queued | RunStatus::Open | RunStatus::Quarantined | RunStatus::Abandoned => {
            (EventLevel::TurnResult, "Run ended")
        }
        RunStatus::Absorbed | RunStatus::Replaced | RunStatus::Refused | RunStatus::Gone => {
            (EventLevel::TurnResult, "Run ended")
        }
    };
    let rounds = match ended.rounds {
        1 => "1 round".to_owned(),
        rounds => format!("{rounds} rounds"),
    };
    Row::plain(level, title).with_summary(format!("{title} after {rounds}"))
}

/// The level of a refusal. Most are results for the model, which continues; one needs a person.
fn level_of(code: Option<&str>) -> EventLevel {
    match code {
        Some(UNDECIDED) => EventLevel::ActionRequired,
        Some(_) | None => EventLevel::Trace,
    }
}

fn tool(name: &str) -> &str {
    if name.is_empty() { "Tool" } else { name }
}

/// Formats a text as one line of limited length, because texts of models and people must not break a list.
fn line(text: &str, chars_max: usize) -> String {
    // Truncate before and after: the first bounds the work for a text of any size, the second the result.
    let piece: String = text.chars().take(chars_max.saturating_mul(4)).collect();
    let words: Vec<&str> = piece
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    truncate_chars(&words.join(" "), chars_max)
}
