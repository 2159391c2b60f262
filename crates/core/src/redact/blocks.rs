//! Redaction of the parts of a conversation.

use serde_json::{Map, Value};

use crate::conversation::{Block, ToolCall};

/// Returns a text without secrets; none if it contains none.
type Hide<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Removes secrets from blocks. Texts without secrets are not copied.
pub fn blocks(blocks: &mut [Block], hide: &Hide<'_>) {
    for block in blocks {
        match block {
            Block::Text { text } => words(hide, text),
            Block::ToolUse(ToolCall { call_id, name, input }) => {
                words(hide, call_id);
                words(hide, name);
                json(hide, input);
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
            // Attachments come only from people.
            Block::Attachment(_) => {}
        }
    }
}

fn words(hide: &Hide<'_>, text: &mut String) {
    if let Some(hidden) = hide(text) {
        *text = hidden;
    }
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

fn json(hide: &Hide<'_>, value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => words(hide, text),
        Value::Array(items) => items.iter_mut().for_each(|item| json(hide, item)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| json(hide, value));
            if fields.keys().any(|name| hide(name).is_some()) {
                let renamed = std::mem::take(fields).into_iter();
                *fields = renamed
                    .map(|(name, value)| (hide(&name).unwrap_or(name), value))
                    .collect::<Map<_, _>>();
            }
        }
    }
}
