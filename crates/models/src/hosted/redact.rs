//! Removes the key from responses, because a server may repeat it and responses are stored and shown.

use serde_json::{Map, Value};
use wakeful_core::conversation::{Block, ToolCall};
use wakeful_ports::model::DeltaSink;

use super::credential::Credential;

/// Passes text on without the key. A key that is split between two deltas is passed on, because holding
/// text back would delay every stream; the stored response is redacted as a whole.
pub(super) struct RedactingSink<'a> {
    pub(super) key: Option<&'a Credential>,
    pub(super) audience: &'a dyn DeltaSink,
}

impl DeltaSink for RedactingSink<'_> {
    fn on_text(&self, text: &str) {
        match self.key.filter(|key| key.is_in(text)) {
            Some(key) => self.audience.on_text(&key.hide_in(text)),
            None => self.audience.on_text(text),
        }
    }
}

/// Removes the key from the blocks of a response. Blocks without the key are not copied.
pub(super) fn redact(key: &Credential, blocks: &mut [Block]) {
    for block in blocks {
        match block {
            Block::Text { text } => words(key, text),
            Block::ToolUse(ToolCall { call_id, name, input }) => {
                words(key, call_id);
                words(key, name);
                json(key, input);
            }
            Block::ToolResult { call_id, content, .. } => {
                words(key, call_id);
                words(key, content);
            }
            Block::Thinking { text, opaque, .. } => {
                words(key, text);
                // The provider would refuse a modified record; without a record, the thought is not sent
                // back.
                if occurs(key, opaque) {
                    *opaque = Value::Null;
                }
            }
            // Attachments come only from people.
            Block::Attachment(_) => {}
        }
    }
}

fn words(key: &Credential, text: &mut String) {
    if key.is_in(text) {
        *text = key.hide_in(text);
    }
}

/// Whether any string contains the key. The recursion is bounded, because the JSON parser stops at 128
/// levels.
fn occurs(key: &Credential, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => key.is_in(text),
        Value::Array(items) => items.iter().any(|item| occurs(key, item)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| key.is_in(name) || occurs(key, value)),
    }
}

fn json(key: &Credential, value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => words(key, text),
        Value::Array(items) => items.iter_mut().for_each(|item| json(key, item)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| json(key, value));
            if fields.keys().any(|name| key.is_in(name)) {
                let renamed = std::mem::take(fields).into_iter();
                *fields = renamed
                    .map(|(name, value)| (key.hide_in(&name), value))
                    .collect::<Map<_, _>>();
            }
        }
    }
}
