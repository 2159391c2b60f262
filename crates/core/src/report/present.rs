//! How an event is shown: one level, one category, a few words, the same on every surface.
//!
//! A projection and nothing else. It is total: a payload that was erased, or that a newer version wrote, still gets
//! a line, because a person who looks at a log must see that something is there.

mod decision;
mod notice;
mod provenance;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::provenance::{Provenance, provenance};
use super::EventKind;
use super::payload::{
    ActionCancelled, AgentStateChanged, AssistantRoundRecorded, Payload, PolicyDecided,
    ProviderRoundCompleted, RunEnded, ToolExecuted, WakeDecided,
};
use crate::attempt::AttemptOutcome;
use crate::failure::{SUMMARY_CHARS_MAX as FAILURE_CHARS_MAX, truncate_chars};
use crate::policy::PolicyEffect;
use crate::run::RunStatus;
use crate::step::{StepStatus, UNDECIDED};
use crate::wake::{AgentControl, Lifecycle, WakeOutcome};

/// Longest title in characters. A heading on a narrow screen.
pub const TITLE_CHARS_MAX: usize = 80;

/// Longest summary in characters: a preview with the words before it.
pub const SUMMARY_CHARS_MAX: usize = 240;

/// Longest body in characters: a failure's sentence, the longest text an event carries.
pub const BODY_CHARS_MAX: usize = FAILURE_CHARS_MAX;

/// Longest fact of a provenance in characters. The longest we write is a key of 64 hex digits.
pub const FACT_CHARS_MAX: usize = 200;

/// Most tools that a line names. A round may ask for many; the transcript has them all.
const TOOLS_SHOWN_MAX: usize = 8;

/// How an event is shown. What is shown is no question of permission: everyone who may read an event may read all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presentation {
    /// How much it matters to a person.
    pub visibility: EventLevel,
    /// What it is about.
    pub category: EventCategory,
    /// A few words.
    pub title: String,
    /// More, where there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// One line for lists.
    pub summary: String,
    /// The kind of the event it was made from.
    pub source_event_kind: String,
}

string_enum! {
    /// How much an event matters to a person, most first.
    #[derive(PartialOrd, Ord)]
    pub enum EventLevel {
        /// Somebody has to do something.
        ActionRequired = "action_required",
        /// A piece of work is done.
        WorkDone = "work_done",
        /// A turn has ended or begun.
        TurnResult = "turn_result",
        /// Something moves.
        Progress = "progress",
        /// For looking closely.
        Trace = "trace",
    }
}

string_enum! {
    /// What an event is about.
    pub enum EventCategory {
        /// Something that the operator should know.
        OperatorNotification = "operator_notification",
        /// A short text about what a run did.
        Brief = "brief",
        /// Somebody said something to the agent.
        Message = "message",
        /// A piece of work that outlives turns.
        WorkItem = "work_item",
        /// Work in the background.
        Task = "task",
        /// The agent waits for something.
        Waiting = "waiting",
        /// The folder that the agent works in.
        Workspace = "workspace",
        /// The loops themselves.
        Runtime = "runtime",
        /// What the model says on its way.
        AssistantProgress = "assistant_progress",
        /// What tools do.
        Tool = "tool",
        /// Pages refresh; nobody speaks.
        StateSync = "state_sync",
        /// For looking closely.
        Trace = "trace",
    }
}

impl EventCategory {
    /// Whether it is a line of the conversation between a person and the agent.
    #[must_use]
    pub const fn is_conversation(self) -> bool {
        match self {
            Self::OperatorNotification | Self::Brief | Self::Message | Self::AssistantProgress => true,
            Self::WorkItem | Self::Task | Self::Waiting | Self::Workspace => false,
            Self::Runtime | Self::Tool | Self::StateSync | Self::Trace => false,
        }
    }
}

/// How much a person wants to see. What is shown is never a question of permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DisplayMode {
    /// What came of it.
    Info,
    /// And what moves.
    Verbose,
    /// Everything.
    Debug,
}

impl DisplayMode {
    /// Reads a name or the number of its level. None for anything else, `trace` included: that is the log itself.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "info" | "3" => Some(Self::Info),
            "verbose" | "4" => Some(Self::Verbose),
            "debug" | "5" => Some(Self::Debug),
            _ => None,
        }
    }

    /// Whether this mode shows an event. Rows about tools are short enough for everyone who asked for more, though
    /// the events behind them matter least.
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

/// Shows an event. Without a payload (it was erased, or a newer version wrote it) the kind alone is shown.
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

/// What an event says, before it is cut to size.
struct Row {
    level: EventLevel,
    title: String,
    body: Option<String>,
    summary: String,
}

impl Row {
    /// A row that says one thing.
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

    /// Adds a detail to what the title says, where there is one.
    fn with_detail(self, detail: &str) -> Self {
        if detail.is_empty() {
            return self;
        }
        let summary = format!("{}: {detail}", self.title);
        self.with_summary(summary)
    }
}

const fn category(kind: EventKind) -> EventCategory {
    match kind {
        EventKind::MessageAdmitted => EventCategory::Message,
        EventKind::AgentStateChanged | EventKind::BrakeChanged | EventKind::ContentErased => {
            EventCategory::StateSync
        }
        EventKind::WakeDecided
        | EventKind::RunStarted
        | EventKind::SubRunStarted
        | EventKind::RunEnded
        | EventKind::QuarantineResolved => EventCategory::Runtime,
        EventKind::DecisionAsked | EventKind::DecisionEscalated | EventKind::DecisionAnswered => {
            EventCategory::Waiting
        }
        EventKind::ProviderRoundCompleted | EventKind::DataPruned | EventKind::RowsBound => {
            EventCategory::Trace
        }
        EventKind::AssistantRoundRecorded => EventCategory::AssistantProgress,
        EventKind::PolicyDecided | EventKind::ToolExecuted | EventKind::ActionCancelled => {
            EventCategory::Tool
        }
        EventKind::RuntimeError | EventKind::RunParked | EventKind::RunQuarantined => {
            EventCategory::OperatorNotification
        }
    }
}

/// What is shown of an event of which only the kind is known.
fn row_of_kind(kind: EventKind) -> Row {
    let (level, title) = match kind {
        EventKind::MessageAdmitted => (EventLevel::TurnResult, "Message received"),
        EventKind::AgentStateChanged => (EventLevel::Trace, "Agent changed"),
        EventKind::WakeDecided => (EventLevel::Trace, "Wake decided"),
        EventKind::RunStarted => (EventLevel::Progress, "Run started"),
        EventKind::ProviderRoundCompleted => (EventLevel::Trace, "Model request ended"),
        EventKind::AssistantRoundRecorded => (EventLevel::Progress, "Model round recorded"),
        EventKind::PolicyDecided => (EventLevel::Trace, "Tool use decided"),
        EventKind::ToolExecuted => (EventLevel::Trace, "Tool used"),
        EventKind::ActionCancelled => (EventLevel::Trace, "Tool called off"),
        EventKind::RuntimeError => (EventLevel::ActionRequired, "Runtime error"),
        EventKind::RunParked => (
            EventLevel::ActionRequired,
            "Run waits: the day's money is spent or reserved",
        ),
        EventKind::SubRunStarted => (EventLevel::Progress, "Run of another agent started"),
        EventKind::RunEnded => (EventLevel::TurnResult, "Run ended"),
        EventKind::DecisionAsked => (EventLevel::ActionRequired, "A decision waits for you"),
        EventKind::DecisionAnswered => (EventLevel::Trace, "A decision is no longer needed"),
        EventKind::DecisionEscalated => (EventLevel::ActionRequired, "A decision is overdue"),
        EventKind::BrakeChanged => (EventLevel::TurnResult, "A brake was changed"),
        EventKind::RunQuarantined => (EventLevel::ActionRequired, "A run cannot go on"),
        EventKind::QuarantineResolved => (
            EventLevel::TurnResult,
            "A run that could not go on is tried again",
        ),
        EventKind::ContentErased => (EventLevel::Progress, "Contents erased"),
        EventKind::DataPruned => (EventLevel::Trace, "Old data taken away"),
        EventKind::RowsBound => (EventLevel::Trace, "Settings changed"),
    };
    Row::plain(level, title)
}

fn row(payload: &Payload) -> Row {
    let row = row_of_kind(payload.kind());
    match payload {
        Payload::MessageAdmitted(admitted) => with_words(row, &admitted.text, &admitted.text),
        Payload::AgentStateChanged(change) => agent_state_changed(change, row),
        Payload::WakeDecided(decided) => wake_decided(decided),
        Payload::RunStarted(started) if !started.model_ref.is_empty() => {
            row.with_summary(format!("Run started with {}", started.model_ref))
        }
        Payload::ProviderRoundCompleted(round) => provider_round(round),
        Payload::AssistantRoundRecorded(round) => assistant_round(round, row),
        Payload::PolicyDecided(decided) => policy_decided(decided),
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
            Row::plain(row.level, "A run that could not go on was given up")
        }
        Payload::ContentErased(erased) => notice::content_erased(erased, row),
        Payload::RunStarted(_)
        | Payload::QuarantineResolved(_)
        | Payload::DataPruned(_)
        | Payload::RowsBound(_) => row,
    }
}

/// Shows words that a person or a provider wrote, where there are any.
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

fn agent_state_changed(change: &AgentStateChanged, row: Row) -> Row {
    let title = match change {
        AgentStateChanged::Subscription { subscription, state } => {
            return notice::subscription_changed(subscription, *state);
        }
        AgentStateChanged::Created { .. } => "Agent created",
        AgentStateChanged::Control { control } => match control {
            AgentControl::Paused => "Agent paused",
            AgentControl::Running => "Agent goes on",
            AgentControl::Stopped => "Agent stopped",
        },
        AgentStateChanged::Lifecycle { lifecycle } => match lifecycle {
            Lifecycle::Active => "Agent let loose",
            Lifecycle::Dormant => "Agent put to rest",
            Lifecycle::Destroyed => "Agent destroyed",
            Lifecycle::Created => return row,
        },
        AgentStateChanged::Mode { .. } => "Agent has another mode",
        AgentStateChanged::Sleep { .. } => "Agent put to sleep",
        AgentStateChanged::Wake { .. } => "Agent woken by a person",
        AgentStateChanged::Trigger { .. } => "Agent's trigger changed",
        AgentStateChanged::Restored { .. } => "Agent restored from a backup",
        AgentStateChanged::ScheduleAdded(_)
        | AgentStateChanged::ScheduleEdited(_)
        | AgentStateChanged::SchedulePaused(_)
        | AgentStateChanged::ScheduleResumed(_)
        | AgentStateChanged::ScheduleDisabled(_)
        | AgentStateChanged::ScheduleExpired(_)
        | AgentStateChanged::ScheduleUnreadable { .. }
        | AgentStateChanged::BudgetDay { .. }
        | AgentStateChanged::Model { .. } => return row,
    };
    Row::plain(row.level, title)
}

fn wake_decided(decided: &WakeDecided) -> Row {
    let verdict = decided.verdict;
    if verdict == WakeOutcome::Run {
        Row::plain(EventLevel::Trace, "Message became a run")
    } else if verdict == WakeOutcome::Cancelled {
        Row::plain(EventLevel::TurnResult, "Message taken back before its turn")
    } else if verdict == WakeOutcome::Absorbed {
        Row::plain(EventLevel::Progress, "Message joined the run under way")
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
        // Shown to those who wait: nothing else moves until the next attempt.
        AttemptOutcome::Retrying => {
            let row = Row::plain(EventLevel::Progress, "Model request failed, trying again");
            row.with_summary(format!("Model request failed ({failure}), trying again"))
        }
        AttemptOutcome::RetriesExhausted | AttemptOutcome::FailFastAborted
            if attempt.advanced_to_fallback =>
        {
            let row = Row::plain(EventLevel::Progress, "Model gave out, asking the next one");
            row.with_summary(format!("Model gave out ({failure}), asking the next one"))
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
        // Whoever asks for no more tools has answered, and the answer is what the turn was for.
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
    let said = match decided.effect {
        PolicyEffect::Ask => "waits for a person",
        PolicyEffect::Permit | PolicyEffect::Deny => "permitted",
    };
    Row::plain(EventLevel::Trace, &format!("{tool} {said}")).with_detail(&decided.input)
}

fn tool_executed(executed: &ToolExecuted) -> Row {
    let tool = tool(&executed.tool);
    let lasting = format!(" in {} ms", executed.duration_ms);
    match executed.status {
        StepStatus::Ok => {
            let row = Row::plain(EventLevel::Trace, &format!("{tool} done"));
            row.with_summary(format!("{tool} done{lasting}"))
        }
        StepStatus::OutcomeUnknown => Row {
            level: EventLevel::ActionRequired,
            title: format!("{tool}: outcome unknown"),
            body: Some(
                "It may or may not have happened. Look, then decide whether to have it done again."
                    .to_owned(),
            ),
            summary: format!("{tool}: outcome unknown, it may or may not have happened"),
        },
        StepStatus::Planned | StepStatus::Intended | StepStatus::Failed | StepStatus::Denied => {
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
    let row = Row::plain(level_of(code), &format!("{} called off", tool(&action.tool)));
    row.with_detail(code.unwrap_or_default())
}

fn run_ended(ended: &RunEnded) -> Row {
    let (level, title) = match ended.outcome {
        RunStatus::Completed => (EventLevel::WorkDone, "Run completed"),
        RunStatus::Failed => (EventLevel::ActionRequired, "Run failed"),
        // The work is not done, and only a person can grant it more.
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

/// How much a refusal matters. Most are answers to the model, which goes on without; one is a question to a person.
fn level_of(code: Option<&str>) -> EventLevel {
    match code {
        Some(UNDECIDED) => EventLevel::ActionRequired,
        Some(_) | None => EventLevel::Trace,
    }
}

fn tool(name: &str) -> &str {
    if name.is_empty() { "Tool" } else { name }
}

/// A text on one line, cut to size: what models and people wrote must not break a list.
fn line(text: &str, chars_max: usize) -> String {
    // Cut before and after: the first bounds the work on a text of any size, the second the result.
    let piece: String = text.chars().take(chars_max.saturating_mul(4)).collect();
    let words: Vec<&str> = piece
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    truncate_chars(&words.join(" "), chars_max)
}
