//! Redaction of the parts of a conversation and of JSON values.

use serde_json::{Map, Value};

use crate::conversation::{Block, ToolCall, WebSearch};

/// Returns a text without secrets; none if it contains none.
pub type Hide<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Removes secrets from blocks. Texts without secrets are not copied.
pub fn blocks(blocks: &mut [Block], hide: &Hide<'_>) {
    for block in blocks {
        match block {
            Block::Text { text } => {
                words(hide, text);
            }
            Block::ToolUse(ToolCall { call_id, name, input }) => {
                words(hide, call_id);
                words(hide, name);
                json(input, hide);
            }
            Block::ToolResult { call_id, content, .. } => {
                words(hide, call_id);
                words(hide, content);
            }
            Block::Thinking { text, opaque, .. } => {
                words(hide, text);
                // The provider would refuse a modified record; without a record, the thought is not sent
                // back.
                if occurs(hide, opaque) {
                    *opaque = Value::Null;
                }
            }
            Block::WebSearch(WebSearch {
                query,
                sources,
                opaque,
                ..
            }) => {
                words(hide, query);
                for source in sources {
                    words(hide, source);
                }
                if occurs(hide, opaque) {
                    *opaque = Value::Null;
                }
            }
            // Attachments come only from people.
            Block::Attachment(_) => {}
        }
    }
}

/// Returns whether the text contained a secret.
fn words(hide: &Hide<'_>, text: &mut String) -> bool {
    let hidden = hide(text);
    let is_changed = hidden.is_some();
    if let Some(hidden) = hidden {
        *text = hidden;
    }
    is_changed
}

/// Whether any string contains a secret. The recursion is bounded, because the JSON parser stops at 128
/// levels.
fn occurs(hide: &Hide<'_>, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => hide(text).is_some(),
        Value::Array(items) => items.iter().any(|item| occurs(hide, item)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| hide(name).is_some() || occurs(hide, value)),
    }
}

/// Removes secrets from the texts and the names of a JSON value, after their escapes were decoded. Returns how
/// many of them contained one.
pub fn json(value: &mut Value, hide: &Hide<'_>) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => usize::from(words(hide, text)),
        Value::Array(items) => items.iter_mut().map(|item| json(item, hide)).sum(),
        Value::Object(fields) => {
            let in_values: usize = fields.values_mut().map(|value| json(value, hide)).sum();
            let in_names = fields.keys().filter(|name| hide(name).is_some()).count();
            if in_names > 0 {
                let renamed = std::mem::take(fields).into_iter();
                *fields = renamed
                    .map(|(name, value)| (hide(&name).unwrap_or(name), value))
                    .collect::<Map<_, _>>();
            }
            in_values + in_names
        }
    }
}
