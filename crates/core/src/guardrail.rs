//! Guardrails: what an operator watches for in the messages to an agent, in the model's text and in tool calls.
//!
//! A guardrail adds to the policies and never permits anything: it blocks, warns or logs. It compares text with
//! phrases, so its cost is bounded by the sizes of both. What tripped is part of the read set of a run, so a replay
//! sees the same.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent_settings::bad;
use crate::conversation::{Block, Role, TranscriptEntry, text_of};
use crate::problem::Problem;

/// Maximum number of guardrails at each place. Each one reads the whole text.
pub const GUARDRAILS_MAX: usize = 32;

/// Maximum number of phrases of a guardrail, and of tools that it names.
pub const PHRASES_MAX: usize = 32;

/// Maximum length of a phrase and of a description, in characters.
pub const PHRASE_CHARS_MAX: usize = 200;

/// Maximum length of a name, in characters: it is shown in one line with its reason.
pub const NAME_CHARS_MAX: usize = 64;

/// Maximum nesting of arguments whose text is read. Deeper arguments trip every guardrail that has phrases, because
/// their text is not known.
const DEPTH_MAX: usize = 64;

/// The code of what a guardrail blocks, and the rule of a call that it denies.
pub const GUARDRAIL: &str = "guardrail";

string_enum! {
    /// What a guardrail does when it trips.
    #[derive(PartialOrd, Ord)]
    pub enum GuardrailAction {
        /// It stops the step: the message or the reply ends the run, and a call is denied.
        Block = "block",
        /// The step continues, and people see the event in the conversation.
        Warn = "warn",
        /// The step continues, and the event is only in the log.
        Log = "log",
    }
}

string_enum! {
    /// What a guardrail reads.
    #[derive(PartialOrd, Ord)]
    pub enum GuardrailPlace {
        /// A message to the agent.
        Input = "input",
        /// The text of a model reply.
        Output = "output",
        /// A tool call.
        Tool = "tool",
    }
}

/// One guardrail. It trips if it applies to the call and the text contains one of its phrases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardrailSpec {
    /// Its name, which is shown where it trips.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 200))]
    pub description: String,
    /// What it does when it trips.
    pub action: GuardrailAction,
    /// Phrases, compared without regard to case and to the amount of white space. Without phrases, a guardrail for
    /// tools trips at every call of its tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 1, max = 200)))]
    pub phrases: Vec<String>,
    /// For a tool guardrail, the tools whose arguments it reads; all tools if it is empty.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(length(max = 32))]
    pub tools: BTreeSet<String>,
}

/// The guardrails of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GuardrailPolicy {
    /// Guardrails for messages to the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub input_guardrails: Vec<GuardrailSpec>,
    /// Guardrails for the text of the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub output_guardrails: Vec<GuardrailSpec>,
    /// Guardrails for tool calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub tool_guardrails: Vec<GuardrailSpec>,
}

/// A guardrail that tripped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardrailTrip {
    /// What it read.
    pub place: GuardrailPlace,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub action: GuardrailAction,
}

impl GuardrailTrip {
    /// What happened, for people and for the model.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { place, name, .. } = self;
        match self.description.as_str() {
            "" => format!("the {place} guardrail {name:?} tripped"),
            description => format!("the {place} guardrail {name:?} tripped: {description}"),
        }
    }
}

/// The first guardrail that blocks among those that tripped.
#[must_use]
pub fn blocking(trips: &[GuardrailTrip]) -> Option<&GuardrailTrip> {
    trips.iter().find(|trip| trip.action == GuardrailAction::Block)
}

impl GuardrailPolicy {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places().iter().all(|(_, specs)| specs.is_empty())
    }

    fn places(&self) -> [(&'static str, &[GuardrailSpec]); 3] {
        [
            ("input_guardrails", &self.input_guardrails),
            ("output_guardrails", &self.output_guardrails),
            ("tool_guardrails", &self.tool_guardrails),
        ]
    }

    /// The guardrails that the newest messages of a transcript trip: those after the last reply.
    #[must_use]
    pub fn input_trips(&self, entries: &[TranscriptEntry]) -> Vec<GuardrailTrip> {
        if self.input_guardrails.is_empty() {
            return Vec::new();
        }
        let newest = entries
            .iter()
            .rev()
            .take_while(|entry| entry.role != Role::Assistant);
        let texts = newest
            .filter(|entry| entry.role == Role::User)
            .map(|entry| text_of(&entry.blocks));
        let text: String = texts.collect::<Vec<_>>().join("\n");
        trips(GuardrailPlace::Input, &self.input_guardrails, &Text::of(&text))
    }

    /// The guardrails that the text of a reply trips.
    #[must_use]
    pub fn output_trips(&self, reply: &[Block]) -> Vec<GuardrailTrip> {
        if self.output_guardrails.is_empty() {
            return Vec::new();
        }
        let text = Text::of(&text_of(reply));
        trips(GuardrailPlace::Output, &self.output_guardrails, &text)
    }

    /// The guardrails that a call trips.
    #[must_use]
    pub fn tool_trips(&self, tool: &str, input: &Value) -> Vec<GuardrailTrip> {
        let specs = self.specs_of(tool);
        if specs.is_empty() {
            return Vec::new();
        }
        let mut texts = Vec::new();
        let text = match collect(input, DEPTH_MAX, &mut texts) {
            Ok(()) => Text::of(&texts.join("\n")),
            Err(TooDeep) => Text::Unknown,
        };
        trips(GuardrailPlace::Tool, &specs, &text)
    }

    /// The guardrails that a call may trip whose arguments nothing reads before they are used.
    #[must_use]
    pub fn unread_tool_trips(&self, tool: &str) -> Vec<GuardrailTrip> {
        trips(GuardrailPlace::Tool, &self.specs_of(tool), &Text::Unknown)
    }

    fn specs_of(&self, tool: &str) -> Vec<GuardrailSpec> {
        let applies = |spec: &&GuardrailSpec| spec.tools.is_empty() || spec.tools.contains(tool);
        self.tool_guardrails.iter().filter(applies).cloned().collect()
    }

    /// Checks the bounds of every guardrail.
    pub fn check(&self) -> Result<(), Problem> {
        for (place, specs) in self.places() {
            let field = format!("guardrails.{place}");
            if specs.len() > GUARDRAILS_MAX {
                let message = format!(
                    "has {} entries, at most {GUARDRAILS_MAX} are allowed",
                    specs.len()
                );
                return Err(bad(&field, &message, "use fewer"));
            }
            let mut names = BTreeSet::new();
            for spec in specs {
                spec.check(&field, place == "tool_guardrails")?;
                if !names.insert(&spec.name) {
                    let message = format!("has two guardrails {:?}", spec.name);
                    return Err(bad(&field, &message, "give each its own name"));
                }
            }
        }
        Ok(())
    }
}

impl GuardrailSpec {
    fn check(&self, field: &str, is_for_tools: bool) -> Result<(), Problem> {
        let name: String = self.name.escape_default().take(NAME_CHARS_MAX).collect();
        let field = format!("{field} {name:?}");
        if !fits(&self.name, NAME_CHARS_MAX) {
            let message = format!(
                "has a name that is empty, longer than {NAME_CHARS_MAX} characters, or not printable"
            );
            return Err(bad(&field, &message, "use a short name"));
        }
        if !self.description.is_empty() && !fits(&self.description, PHRASE_CHARS_MAX) {
            let message =
                format!("has a description over {PHRASE_CHARS_MAX} characters, or one that is not printable");
            return Err(bad(&field, &message, "use one short line"));
        }
        if self.phrases.len() > PHRASES_MAX || self.tools.len() > PHRASES_MAX {
            let message = format!("has more than {PHRASES_MAX} phrases or tools");
            return Err(bad(&field, &message, "use several guardrails"));
        }
        let is_phrase =
            |phrase: &String| phrase.chars().count() <= PHRASE_CHARS_MAX && !normalized(phrase).is_empty();
        if !self.phrases.iter().all(is_phrase) {
            let message = format!("has a phrase that is empty or longer than {PHRASE_CHARS_MAX} characters");
            return Err(bad(&field, &message, "correct or remove it"));
        }
        match (is_for_tools, self.tools.is_empty(), self.phrases.is_empty()) {
            (false, false, _) => Err(bad(&field, "names tools", "only tool_guardrails may name tools")),
            (false, true, true) => Err(bad(&field, "has no phrase", "name the phrases that it looks for")),
            (true, true, true) => Err(bad(
                &field,
                "has neither a phrase nor a tool",
                "name phrases, tools, or both",
            )),
            (false, true, false) | (true, _, _) => Ok(()),
        }
    }
}

fn fits(text: &str, chars_max: usize) -> bool {
    let chars = text.chars().count();
    (1..=chars_max).contains(&chars) && !text.chars().any(char::is_control)
}

/// The text that guardrails read.
enum Text {
    Known(String),
    /// It could not be read, so every phrase may be in it.
    Unknown,
}

impl Text {
    fn of(text: &str) -> Self {
        Self::Known(normalized(text))
    }

    fn contains(&self, phrase: &str) -> bool {
        match self {
            Self::Known(text) => text.contains(&normalized(phrase)),
            Self::Unknown => true,
        }
    }
}

fn trips(place: GuardrailPlace, specs: &[GuardrailSpec], text: &Text) -> Vec<GuardrailTrip> {
    let is_tripped = |spec: &&GuardrailSpec| {
        spec.phrases.is_empty() || spec.phrases.iter().any(|phrase| text.contains(phrase))
    };
    let tripped = specs.iter().filter(is_tripped);
    tripped
        .map(|spec| GuardrailTrip {
            place,
            name: spec.name.clone(),
            description: spec.description.clone(),
            action: spec.action,
        })
        .collect()
}

/// The text in lower case, with single spaces and without characters that are not seen.
fn normalized(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !is_invisible(*c)) {
        if !c.is_whitespace() {
            result.extend(c.to_lowercase());
        } else if !result.is_empty() && !result.ends_with(' ') {
            result.push(' ');
        }
    }
    result.truncate(result.trim_end().len());
    result
}

/// Characters that Unicode calls default ignorable: they are not seen, so a phrase could be written with them, read
/// and not found.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

struct TooDeep;

/// Collects the names and texts of arguments, so that no spelling in JSON hides a phrase.
fn collect(value: &Value, depth: usize, texts: &mut Vec<String>) -> Result<(), TooDeep> {
    let deeper = depth.checked_sub(1).ok_or(TooDeep)?;
    match value {
        Value::Null => {}
        Value::Bool(value) => texts.push(value.to_string()),
        Value::Number(number) => texts.push(number.to_string()),
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().try_for_each(|item| collect(item, deeper, texts))?,
        Value::Object(fields) => {
            for (name, value) in fields {
                texts.push(name.clone());
                collect(value, deeper, texts)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
