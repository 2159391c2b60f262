//! Writes a recorded conversation as a script that gives the same responses again.

use serde_json::{Map, Value, json};
use wakeful_core::conversation::{Block, Usage, calls_of, text_of};
use wakeful_core::failure::{ModelFailure, ModelFailureKind, WORD_CHARS_MAX};

use super::file::{RETRY_AFTER_MS_MAX, STATUSES, TOKENS_MAX, usual_kind};
use super::{ROUNDS_MAX, SCRIPT_BYTES_MAX, ScriptError, ScriptedModel};

/// The code for a failure whose own code a script cannot hold.
const UNNAMED: &str = "unnamed";

/// The recorded result of one request.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordedRound {
    /// The request succeeded.
    Answer {
        /// The content of the response.
        blocks: Vec<Block>,
        /// The reported tokens.
        usage: Usage,
    },
    /// The request failed.
    Failure(ModelFailure),
}

/// Why a conversation cannot be written as a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptWriteError {
    /// The conversation has no model request.
    #[error("the run has not called a model yet")]
    Empty,
    /// The conversation exceeds the limits of a script.
    #[error(
        "the conversation exceeds the limits of a script: {ROUNDS_MAX} rounds and {SCRIPT_BYTES_MAX} bytes"
    )]
    TooLong,
    /// The conversation contains something that a script cannot hold.
    #[error("the conversation cannot be written as a script: {0}")]
    Refused(ScriptError),
}

/// Writes these requests as a script, oldest first. The script is loaded once to check that it is valid.
pub fn write(rounds: &[RecordedRound]) -> Result<String, ScriptWriteError> {
    if rounds.is_empty() {
        return Err(ScriptWriteError::Empty);
    }
    if rounds.len() > ROUNDS_MAX {
        return Err(ScriptWriteError::TooLong);
    }
    let mut text = String::from("rounds:\n");
    for round in rounds {
        let members = match round {
            RecordedRound::Answer { blocks, usage } => answer(blocks, *usage),
            RecordedRound::Failure(failure) => vec![("fail", failed(failure))],
        };
        for (index, (key, value)) in members.iter().enumerate() {
            let lead = if index == 0 { "  - " } else { "    " };
            text.push_str(&format!("{lead}{key}: {}\n", spelled(value)));
        }
        if text.len() > SCRIPT_BYTES_MAX {
            return Err(ScriptWriteError::TooLong);
        }
    }
    match ScriptedModel::load(&text, "the recording") {
        Ok(_) => Ok(text),
        Err(error) => Err(ScriptWriteError::Refused(error)),
    }
}

fn answer(blocks: &[Block], usage: Usage) -> Vec<(&'static str, Value)> {
    let (text, calls) = (text_of(blocks), calls_of(blocks));
    let thoughts = blocks.iter().filter_map(|block| match block {
        Block::Thinking { text, .. } => Some(text.as_str()),
        Block::Text { .. }
        | Block::ToolUse(_)
        | Block::ToolResult { .. }
        | Block::WebSearch(_)
        | Block::Attachment(_) => None,
    });
    let thinking = thoughts.collect::<Vec<_>>().join("\n");
    let mut members = Vec::new();
    if !thinking.is_empty() {
        members.push(("thinking", Value::from(thinking)));
    }
    // A response without any content is written as an empty text.
    if !text.is_empty() || calls.is_empty() {
        members.push(("text", Value::from(text)));
    }
    if !calls.is_empty() {
        let calls = calls
            .iter()
            .map(|call| json!({"name": call.name, "input": call.input}));
        members.push(("tools", calls.collect()));
    }
    if usage != Usage::default() {
        members.push(("usage", counted(usage)));
    }
    members
}

fn counted(usage: Usage) -> Value {
    let counts = [
        ("input_tokens", usage.input_tokens),
        ("output_tokens", usage.output_tokens),
        ("cached_read_tokens", usage.cached_read_tokens),
        ("cached_write_tokens", usage.cached_write_tokens),
        ("reasoning_tokens", usage.reasoning_tokens),
    ];
    let said = counts.into_iter().filter(|(_, count)| *count > 0);
    let members = said.map(|(name, count)| (name.to_owned(), Value::from(count.min(TOKENS_MAX))));
    Value::Object(members.collect())
}

fn failed(failure: &ModelFailure) -> Value {
    let artifact = &failure.artifact;
    let status = artifact.status.filter(|status| STATUSES.contains(status));
    let word = word(&artifact.kind);
    let mut members = Map::new();
    if let Some(status) = status {
        members.insert("status".into(), status.into());
    }
    let usual = usual_kind(status, &word);
    if status.is_none_or(|status| word != format!("http_{status}")) {
        members.insert("kind".into(), word.into());
    }
    if usual != failure.kind {
        members.insert(
            "retry".into(),
            (failure.kind == ModelFailureKind::Retryable).into(),
        );
    }
    if let Some(ms) = failure.retry_after_ms {
        members.insert("retry_after_ms".into(), ms.min(RETRY_AFTER_MS_MAX).into());
    }
    members.insert("message".into(), artifact.summary.clone().into());
    Value::Object(members)
}

fn word(kind: &str) -> String {
    let letters = kind.chars().map(|letter| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9') => letter,
        _ => '_',
    });
    let word: String = letters.take(WORD_CHARS_MAX).collect();
    if word.is_empty() { UNNAMED.to_owned() } else { word }
}

/// Formats a value as JSON, which is valid YAML except for some characters that YAML requires to be
/// escaped.
fn spelled(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        match letter {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => text.push(letter),
        }
    }
    text
}
