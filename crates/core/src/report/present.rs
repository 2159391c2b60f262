//! How an event is shown: one level, one category, a few words, the same on every surface.
//!
//! A projection and nothing else. It is total: a payload that was erased, or that a newer version wrote, still gets
//! a line, because a person who looks at a log must see that something is there.

mod deciding;
mod notice;
mod provenance;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::provenance::{Provenance, provenance};
use super::Kind;
use super::payload::{
    ActionCalledOff, AgentStateChanged, AssistantRoundRecorded, Payload, PolicyDecided,
    ProviderRoundCompleted, RunEnded, ToolExecuted, WakeDecided,
};
use crate::attempt::AttemptOutcome;
use crate::failure::{SUMMARY_CHARS_MAX as FAILURE_CHARS_MAX, clip};
use crate::policy::Effect;
use crate::run::RunStatus;
use crate::step::{Status, UNDECIDED};
use crate::wake::{Control, Lifecycle, WakeOutcome};

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
    pub visibility: Level,
    /// What it is about.
    pub category: Category,
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
    pub enum Level {
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
    pub enum Category {
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

impl Category {
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
pub enum Mode {
    /// What came of it.
    Info,
    /// And what moves.
    Verbose,
    /// Everything.
    Debug,
}

impl Mode {
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
            Self::Info => (Level::TurnResult, false),
            Self::Verbose => (Level::Progress, true),
            Self::Debug => (Level::Trace, true),
        };
        shown.visibility <= deepest || (tools && shown.category == Category::Tool)
    }
}

/// Shows an event. Without a payload (it was erased, or a newer version wrote it) the kind alone is shown.
#[must_use]
pub fn present(kind: &str, payload: Option<&Payload>) -> Presentation {
    let source_event_kind = line(kind, TITLE_CHARS_MAX);
    let known = Kind::parse(kind);
    let row = match (payload, known) {
        (Some(payload), _) => row(payload),
        (None, Some(kind)) => row_of_kind(kind),
        (None, None) => Row::plain(Level::Trace, &source_event_kind),
    };
    Presentation {
        visibility: row.level,
        category: known.map_or(Category::Trace, category),
        title: line(&row.title, TITLE_CHARS_MAX),
        body: row.body.map(|body| clip(&body, BODY_CHARS_MAX)),
        summary: line(&row.summary, SUMMARY_CHARS_MAX),
        source_event_kind,
    }
}

/// What an event says, before it is cut to size.
struct Row {
    level: Level,
    title: String,
    body: Option<String>,
    summary: String,
}

impl Row {
    /// A row that says one thing.
    fn plain(level: Level, title: &str) -> Self {
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

const fn category(kind: Kind) -> Category {
    match kind {
        Kind::MessageAdmitted => Category::Message,
        Kind::AgentStateChanged | Kind::BrakeChanged | Kind::ContentErased => Category::StateSync,
        Kind::WakeDecided | Kind::RunStarted | Kind::SubRunStarted | Kind::RunEnded | Kind::RunReleased => {
            Category::Runtime
        }
        Kind::DecisionAsked | Kind::DecisionEscalated | Kind::DecisionAnswered => Category::Waiting,
        Kind::ProviderRoundCompleted | Kind::DataPruned | Kind::RecordBound => Category::Trace,
        Kind::AssistantRoundRecorded => Category::AssistantProgress,
        Kind::PolicyDecided | Kind::ToolExecuted | Kind::ActionCalledOff => Category::Tool,
        Kind::RuntimeError | Kind::RunParked | Kind::RunQuarantined => Category::OperatorNotification,
    }
}

/// What is shown of an event of which only the kind is known.
fn row_of_kind(kind: Kind) -> Row {
    let (level, title) = match kind {
        Kind::MessageAdmitted => (Level::TurnResult, "Message received"),
        Kind::AgentStateChanged => (Level::Trace, "Agent changed"),
        Kind::WakeDecided => (Level::Trace, "Wake decided"),
        Kind::RunStarted => (Level::Progress, "Run started"),
        Kind::ProviderRoundCompleted => (Level::Trace, "Model request ended"),
        Kind::AssistantRoundRecorded => (Level::Progress, "Model round recorded"),
        Kind::PolicyDecided => (Level::Trace, "Tool use decided"),
        Kind::ToolExecuted => (Level::Trace, "Tool used"),
        Kind::ActionCalledOff => (Level::Trace, "Tool called off"),
        Kind::RuntimeError => (Level::ActionRequired, "Runtime error"),
        Kind::RunParked => (
            Level::ActionRequired,
            "Run waits: the day's money is spent or reserved",
        ),
        Kind::SubRunStarted => (Level::Progress, "Run of another agent started"),
        Kind::RunEnded => (Level::TurnResult, "Run ended"),
        Kind::DecisionAsked => (Level::ActionRequired, "A decision waits for you"),
        Kind::DecisionAnswered => (Level::Trace, "A decision is no longer needed"),
        Kind::DecisionEscalated => (Level::ActionRequired, "A decision is overdue"),
        Kind::BrakeChanged => (Level::TurnResult, "A brake was changed"),
        Kind::RunQuarantined => (Level::ActionRequired, "A run cannot go on"),
        Kind::RunReleased => (Level::TurnResult, "A run that could not go on is tried again"),
        Kind::ContentErased => (Level::Progress, "Contents erased"),
        Kind::DataPruned => (Level::Trace, "Old data taken away"),
        Kind::RecordBound => (Level::Trace, "Settings changed"),
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
        Payload::ActionCalledOff(action) => action_called_off(action),
        Payload::RuntimeError(error) => {
            let summary = &error.failure_artifact.summary;
            with_words(row, summary, &format!("Runtime error: {summary}"))
        }
        Payload::RunParked(parked) => notice::run_parked(parked, row),
        Payload::SubRunStarted(started) => notice::sub_run_started(started, row),
        Payload::RunEnded(ended) => run_ended(ended),
        Payload::DecisionAsked(asked) => deciding::asked(asked, row),
        Payload::DecisionAnswered(answered) => deciding::answered(answered, row),
        Payload::DecisionEscalated(decision) => {
            row.with_summary(format!("Overdue, now {}: {}", decision.severity, decision.title))
        }
        Payload::BrakeChanged(brake) => deciding::brake(brake),
        Payload::RunQuarantined(quarantined) => row.with_detail(&quarantined.fault.why),
        Payload::RunReleased(released) if released.status == RunStatus::Abandoned => {
            Row::plain(row.level, "A run that could not go on was given up")
        }
        Payload::ContentErased(erased) => notice::content_erased(erased, row),
        Payload::RunStarted(_)
        | Payload::RunReleased(_)
        | Payload::DataPruned(_)
        | Payload::RecordBound(_) => row,
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
            Control::Paused => "Agent paused",
            Control::Running => "Agent goes on",
            Control::Stopped => "Agent stopped",
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
        | AgentStateChanged::ScheduleSetAside { .. }
        | AgentStateChanged::BudgetDay { .. }
        | AgentStateChanged::Model { .. } => return row,
    };
    Row::plain(row.level, title)
}

fn wake_decided(decided: &WakeDecided) -> Row {
    let verdict = decided.verdict;
    if verdict == WakeOutcome::Run {
        Row::plain(Level::Trace, "Message became a run")
    } else if verdict == WakeOutcome::Cancelled {
        Row::plain(Level::TurnResult, "Message taken back before its turn")
    } else if verdict == WakeOutcome::Absorbed {
        Row::plain(Level::Progress, "Message joined the run under way")
    } else {
        Row::plain(Level::TurnResult, "Message did not become a run").with_detail(verdict.as_str())
    }
}

fn provider_round(round: &ProviderRoundCompleted) -> Row {
    let attempt = &round.attempt;
    let failure = attempt.failure_kind.as_deref().unwrap_or("failed");
    match attempt.outcome {
        AttemptOutcome::Succeeded => {
            let row = Row::plain(Level::Trace, "Model answered");
            row.with_summary(format!("Model answered in {} ms", attempt.duration_ms))
        }
        // Shown to those who wait: nothing else moves until the next attempt.
        AttemptOutcome::Retrying => {
            let row = Row::plain(Level::Progress, "Model request failed, trying again");
            row.with_summary(format!("Model request failed ({failure}), trying again"))
        }
        AttemptOutcome::RetriesExhausted | AttemptOutcome::FailFastAborted
            if attempt.advanced_to_fallback =>
        {
            let row = Row::plain(Level::Progress, "Model gave out, asking the next one");
            row.with_summary(format!("Model gave out ({failure}), asking the next one"))
        }
        AttemptOutcome::RetriesExhausted | AttemptOutcome::FailFastAborted => {
            let row = Row::plain(Level::Trace, "Model request failed");
            row.with_summary(format!("Model request failed ({failure})"))
        }
    }
}

fn assistant_round(round: &AssistantRoundRecorded, row: Row) -> Row {
    let AssistantRoundRecorded { text, tools, .. } = round;
    if !text.trim().is_empty() {
        // Whoever asks for no more tools has answered, and the answer is what the turn was for.
        let level = if tools.is_empty() {
            Level::TurnResult
        } else {
            Level::Progress
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
    let denied_by = (decided.effect == Effect::Deny).then_some(decided.rule.as_str());
    if let Some(reason) = code.or(denied_by) {
        let verb = match decided.status {
            Some(Status::Denied) => "denied",
            _ => "refused",
        };
        return Row::plain(level_of(code), &format!("{tool} {verb}")).with_detail(reason);
    }
    let said = match decided.effect {
        Effect::Ask => "waits for a person",
        Effect::Permit | Effect::Deny => "permitted",
    };
    Row::plain(Level::Trace, &format!("{tool} {said}")).with_detail(&decided.input)
}

fn tool_executed(executed: &ToolExecuted) -> Row {
    let tool = tool(&executed.tool);
    let lasting = format!(" in {} ms", executed.duration_ms);
    match executed.status {
        Status::Ok => {
            let row = Row::plain(Level::Trace, &format!("{tool} done"));
            row.with_summary(format!("{tool} done{lasting}"))
        }
        Status::OutcomeUnknown => Row {
            level: Level::ActionRequired,
            title: format!("{tool}: outcome unknown"),
            body: Some(
                "It may or may not have happened. Look, then decide whether to have it done again."
                    .to_owned(),
            ),
            summary: format!("{tool}: outcome unknown, it may or may not have happened"),
        },
        Status::Planned | Status::Intended | Status::Failed | Status::Denied => {
            let row = Row::plain(Level::Trace, &format!("{tool} failed"));
            match &executed.code {
                Some(code) => row.with_detail(&format!("{code}{lasting}")),
                None => row,
            }
        }
    }
}

fn action_called_off(action: &ActionCalledOff) -> Row {
    let code = action.code.as_deref();
    let row = Row::plain(level_of(code), &format!("{} called off", tool(&action.tool)));
    row.with_detail(code.unwrap_or_default())
}

fn run_ended(ended: &RunEnded) -> Row {
    let (level, title) = match ended.outcome {
        RunStatus::Completed => (Level::WorkDone, "Run completed"),
        RunStatus::Failed => (Level::ActionRequired, "Run failed"),
        // The work is not done, and only a person can grant it more.
        RunStatus::OutOfRounds => (Level::ActionRequired, "Run out of rounds"),
        RunStatus::Cancelled => (Level::TurnResult, "Run cancelled"),
        RunStatus::Queued | RunStatus::Open | RunStatus::Quarantined | RunStatus::Abandoned => {
            (Level::TurnResult, "Run ended")
        }
        RunStatus::Absorbed | RunStatus::Replaced | RunStatus::Refused | RunStatus::Gone => {
            (Level::TurnResult, "Run ended")
        }
    };
    let rounds = match ended.rounds {
        1 => "1 round".to_owned(),
        rounds => format!("{rounds} rounds"),
    };
    Row::plain(level, title).with_summary(format!("{title} after {rounds}"))
}

/// How much a refusal matters. Most are answers to the model, which goes on without; one is a question to a person.
fn level_of(code: Option<&str>) -> Level {
    match code {
        Some(UNDECIDED) => Level::ActionRequired,
        Some(_) | None => Level::Trace,
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
    clip(&words.join(" "), chars_max)
}
