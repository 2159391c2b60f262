//! How an event is shown: one level, one category, a few words, the same on every surface.
//!
//! A projection and nothing else. It is total: a payload that was erased, or that a newer version wrote, still gets
//! a line, because a person who looks at a log must see that something is there.

mod deciding;
mod notice;
mod provenance;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use self::provenance::{Provenance, provenance};
use super::Kind;
use crate::failure::{SUMMARY_CHARS_MAX as FAILURE_CHARS_MAX, clip};
use crate::step::{OUTCOME_UNKNOWN, UNDECIDED};

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

/// How an event is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presentation {
    /// How much it matters to a person.
    pub visibility: Level,
    /// What it is about.
    pub category: Category,
    /// A few words.
    pub title: String,
    /// More, where there is more.
    pub body: Option<String>,
    /// One line for lists.
    pub summary: String,
    /// The kind of the event it was made from.
    pub source_event_kind: String,
}

/// How much an event matters to a person, most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Somebody has to do something.
    ActionRequired,
    /// A piece of work is done.
    WorkDone,
    /// A turn has ended or begun.
    TurnResult,
    /// Something moves.
    Progress,
    /// For looking closely.
    Trace,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Something that the operator should know.
    OperatorNotification,
    /// A short text about what a run did.
    Brief,
    /// Somebody said something to the agent.
    Message,
    /// A piece of work that outlives turns.
    WorkItem,
    /// Work in the background.
    Task,
    /// The agent waits for something.
    Waiting,
    /// The folder that the agent works in.
    Workspace,
    /// The loops themselves.
    Runtime,
    /// What the model says on its way.
    AssistantProgress,
    /// What tools do.
    Tool,
    /// Pages refresh; nobody speaks.
    StateSync,
    /// For looking closely.
    Trace,
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

/// Shows an event.
#[must_use]
pub fn present(kind: &str, payload: &Value) -> Presentation {
    let source_event_kind = line(kind, TITLE_CHARS_MAX);
    let Some(known) = Kind::parse(kind) else {
        return Presentation {
            visibility: Level::Trace,
            category: Category::Trace,
            title: source_event_kind.clone(),
            body: None,
            summary: source_event_kind.clone(),
            source_event_kind,
        };
    };
    let row = row(known, payload);
    Presentation {
        visibility: row.level,
        category: category(known),
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

fn row(kind: Kind, payload: &Value) -> Row {
    match kind {
        Kind::MessageAdmitted => message_admitted(payload),
        Kind::AgentStateChanged => agent_state_changed(payload),
        Kind::WakeDecided => wake_decided(payload),
        Kind::RunStarted => run_started(payload),
        Kind::ProviderRoundCompleted => provider_round(payload),
        Kind::AssistantRoundRecorded => assistant_round(payload),
        Kind::PolicyDecided => policy_decided(payload),
        Kind::ToolExecuted => tool_executed(payload),
        Kind::ActionCalledOff => action_called_off(payload),
        Kind::RuntimeError => runtime_error(payload),
        Kind::RunParked => notice::run_parked(payload),
        Kind::SubRunStarted => notice::sub_run_started(payload),
        Kind::RunEnded => run_ended(payload),
        Kind::DecisionAsked => deciding::asked(payload),
        Kind::DecisionAnswered => deciding::answered(payload),
        Kind::DecisionEscalated => deciding::escalated(payload),
        Kind::BrakeChanged => deciding::brake(payload),
        Kind::RunQuarantined => deciding::quarantined(payload),
        Kind::RunReleased => deciding::released(payload),
        Kind::ContentErased => notice::content_erased(payload),
        Kind::DataPruned => Row::plain(Level::Trace, "Old data taken away"),
        Kind::RecordBound => Row::plain(Level::Trace, "Settings changed"),
    }
}

fn message_admitted(payload: &Value) -> Row {
    let row = Row::plain(Level::TurnResult, "Message received");
    match word(payload, "text") {
        Some(text) => Row {
            body: Some(text.to_owned()),
            summary: text.to_owned(),
            ..row
        },
        None => row,
    }
}

fn agent_state_changed(payload: &Value) -> Row {
    if word(payload, "change") == Some("subscription") {
        return notice::subscription_changed(payload);
    }
    let title = match (word(payload, "change"), word(payload, "control")) {
        (Some("created"), _) => "Agent created",
        (Some("control"), Some("paused")) => "Agent paused",
        (Some("control"), Some("running")) => "Agent goes on",
        (Some("control"), Some("stopped")) => "Agent stopped",
        (Some("lifecycle"), _) => match word(payload, "lifecycle") {
            Some("active") => "Agent let loose",
            Some("dormant") => "Agent put to rest",
            Some("destroyed") => "Agent destroyed",
            _ => "Agent changed",
        },
        (Some("mode"), _) => "Agent has another mode",
        (Some("sleep"), _) => "Agent put to sleep",
        (Some("wake"), _) => "Agent woken by a person",
        (Some("trigger"), _) => "Agent's trigger changed",
        (Some("restored"), _) => "Agent restored from a backup",
        _ => "Agent changed",
    };
    Row::plain(Level::Trace, title)
}

fn wake_decided(payload: &Value) -> Row {
    match word(payload, "verdict") {
        Some("run") => Row::plain(Level::Trace, "Message became a run"),
        Some("cancelled") => Row::plain(Level::TurnResult, "Message taken back before its turn"),
        Some("absorbed") => Row::plain(Level::Progress, "Message joined the run under way"),
        Some(reason) => {
            let row = Row::plain(Level::TurnResult, "Message did not become a run");
            row.with_summary(format!("Message did not become a run: {reason}"))
        }
        None => Row::plain(Level::Trace, "Wake decided"),
    }
}

fn run_started(payload: &Value) -> Row {
    let row = Row::plain(Level::Progress, "Run started");
    match word(payload, "model_ref") {
        Some(model) => row.with_summary(format!("Run started with {model}")),
        None => row,
    }
}

fn provider_round(payload: &Value) -> Row {
    let failure = word(payload, "failure_kind").unwrap_or("failed");
    match word(payload, "outcome") {
        Some("succeeded") => {
            let row = Row::plain(Level::Trace, "Model answered");
            row.with_summary(format!("Model answered{}", lasting(payload)))
        }
        // Shown to those who wait: nothing else moves until the next attempt.
        Some("retrying") => {
            let row = Row::plain(Level::Progress, "Model request failed, trying again");
            row.with_summary(format!("Model request failed ({failure}), trying again"))
        }
        Some(_) if payload.get("advanced_to_fallback") == Some(&Value::Bool(true)) => {
            let row = Row::plain(Level::Progress, "Model gave out, asking the next one");
            row.with_summary(format!("Model gave out ({failure}), asking the next one"))
        }
        Some(_) => {
            let row = Row::plain(Level::Trace, "Model request failed");
            row.with_summary(format!("Model request failed ({failure})"))
        }
        None => Row::plain(Level::Trace, "Model request ended"),
    }
}

fn assistant_round(payload: &Value) -> Row {
    let tools: Vec<&str> = match payload.get("tools") {
        Some(Value::Array(tools)) => tools.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let text = word(payload, "text").filter(|text| !text.trim().is_empty());
    match (text, tools.as_slice()) {
        (Some(text), asked) => Row {
            // Whoever asks for no more tools has answered, and the answer is what the turn was for.
            level: if asked.is_empty() {
                Level::TurnResult
            } else {
                Level::Progress
            },
            title: "Assistant progress".to_owned(),
            body: Some(text.to_owned()),
            summary: format!("Assistant progress: {text}"),
        },
        (None, []) => Row::plain(Level::Progress, "Model round recorded"),
        (None, asked) => {
            let shown: Vec<&str> = asked.iter().copied().take(TOOLS_SHOWN_MAX).collect();
            let more = if shown.len() < asked.len() { ", …" } else { "" };
            let row = Row::plain(Level::Progress, "Model requested tools");
            row.with_summary(format!("Model requested tools: {}{more}", shown.join(", ")))
        }
    }
}

fn policy_decided(payload: &Value) -> Row {
    let tool = tool(payload);
    let code = word(payload, "code");
    let word_for_no = if word(payload, "status") == Some("denied") {
        "denied"
    } else {
        "refused"
    };
    match code.or_else(|| word(payload, "rule").filter(|_| word(payload, "effect") == Some("deny"))) {
        Some(reason) => {
            let row = Row::plain(level_of(code), &format!("{tool} {word_for_no}"));
            row.with_summary(format!("{tool} {word_for_no}: {reason}"))
        }
        None => {
            let is_asked = word(payload, "effect") == Some("ask");
            let said = if is_asked {
                "waits for a person"
            } else {
                "permitted"
            };
            let row = Row::plain(Level::Trace, &format!("{tool} {said}"));
            match word(payload, "input") {
                Some(input) => row.with_summary(format!("{tool} {said}: {input}")),
                None => row,
            }
        }
    }
}

fn tool_executed(payload: &Value) -> Row {
    let tool = tool(payload);
    let code = word(payload, "code");
    match word(payload, "status") {
        Some("ok") => {
            let row = Row::plain(Level::Trace, &format!("{tool} done"));
            row.with_summary(format!("{tool} done{}", lasting(payload)))
        }
        Some(OUTCOME_UNKNOWN) => Row {
            level: Level::ActionRequired,
            title: format!("{tool}: outcome unknown"),
            body: Some(
                "It may or may not have happened. Look, then decide whether to have it done again."
                    .to_owned(),
            ),
            summary: format!("{tool}: outcome unknown, it may or may not have happened"),
        },
        Some(_) | None => {
            let row = Row::plain(Level::Trace, &format!("{tool} failed"));
            match code {
                Some(code) => row.with_summary(format!("{tool} failed: {code}{}", lasting(payload))),
                None => row,
            }
        }
    }
}

fn action_called_off(payload: &Value) -> Row {
    let tool = tool(payload);
    let code = word(payload, "code");
    let row = Row::plain(level_of(code), &format!("{tool} called off"));
    match code {
        Some(code) => row.with_summary(format!("{tool} called off: {code}")),
        None => row,
    }
}

fn runtime_error(payload: &Value) -> Row {
    let row = Row::plain(Level::ActionRequired, "Runtime error");
    match payload
        .get("failure_artifact")
        .and_then(|failure| word(failure, "summary"))
    {
        Some(summary) => Row {
            body: Some(summary.to_owned()),
            summary: format!("Runtime error: {summary}"),
            ..row
        },
        None => row,
    }
}

fn run_ended(payload: &Value) -> Row {
    let (level, title) = match word(payload, "outcome") {
        Some("completed") => (Level::WorkDone, "Run completed"),
        Some("failed") => (Level::ActionRequired, "Run failed"),
        // The work is not done, and only a person can grant it more.
        Some("out_of_rounds") => (Level::ActionRequired, "Run out of rounds"),
        Some("cancelled") => (Level::TurnResult, "Run cancelled"),
        Some(_) | None => (Level::TurnResult, "Run ended"),
    };
    let row = Row::plain(level, title);
    match payload.get("rounds").and_then(Value::as_u64) {
        Some(1) => row.with_summary(format!("{title} after 1 round")),
        Some(rounds) => row.with_summary(format!("{title} after {rounds} rounds")),
        None => row,
    }
}

/// How much a refusal matters. Most are answers to the model, which goes on without; one is a question to a person.
fn level_of(code: Option<&str>) -> Level {
    match code {
        Some(UNDECIDED) => Level::ActionRequired,
        Some(_) | None => Level::Trace,
    }
}

fn lasting(payload: &Value) -> String {
    let duration_ms = payload.get("duration_ms").and_then(Value::as_u64);
    duration_ms.map_or_else(String::new, |ms| format!(" in {ms} ms"))
}

fn tool(payload: &Value) -> &str {
    word(payload, "tool").unwrap_or("Tool")
}

/// A text member of a payload that says something.
fn word<'a>(payload: &'a Value, name: &str) -> Option<&'a str> {
    payload.get(name)?.as_str().filter(|text| !text.is_empty())
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
