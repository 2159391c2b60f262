//! The responses of the fake provider, in the measured formats.

use serde_json::{Value, json};

/// The format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Messages,
    Responses,
    Chat,
    Gemini,
}

impl Format {
    /// Selects the format by the end of the path.
    pub(super) fn of(path: &str) -> Self {
        match path.rsplit('/').next().unwrap_or_default() {
            "messages" => Self::Messages,
            "responses" => Self::Responses,
            "completions" => Self::Chat,
            _ => Self::Gemini,
        }
    }

    /// A response that is not streamed.
    pub(super) fn whole(self) -> String {
        const WORDS: &str = "All is well.";
        let whole = match self {
            Self::Messages => json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [{"type": "text", "text": WORDS}],
                "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 1200, "output_tokens": 4},
            }),
            Self::Responses => response("completed", WORDS),
            Self::Chat => json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": WORDS}}],
                "usage": {"prompt_tokens": 1200, "completion_tokens": 4, "total_tokens": 1204},
            }),
            Self::Gemini => json!({
                "candidates": [{
                    "index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": WORDS}]},
                }],
                "usageMetadata": {"promptTokenCount": 1200, "candidatesTokenCount": 4, "totalTokenCount": 1204},
            }),
        };
        whole.to_string()
    }

    /// The events before the first text.
    pub(super) fn opening(self) -> String {
        match self {
            Self::Messages => {
                let message = json!({
                    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                    "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1200, "output_tokens": 1},
                });
                let block = json!({"type": "text", "text": ""});
                event(&json!({"type": "message_start", "message": message}))
                    + &event(&json!({"type": "content_block_start", "index": 0, "content_block": block}))
            }
            Self::Responses => event(&json!({
                "type": "response.created", "sequence_number": 0, "response": response("in_progress", ""),
            })),
            Self::Chat | Self::Gemini => String::new(),
        }
    }

    /// The event with this text.
    pub(super) fn delta(self, number: usize, words: &str) -> String {
        event(&match self {
            Self::Messages => json!({
                "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words},
            }),
            Self::Responses => json!({
                "type": "response.output_text.delta", "sequence_number": number + 1, "item_id": "msg_1",
                "output_index": 0, "content_index": 0, "delta": words, "logprobs": [],
            }),
            Self::Chat => json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "finish_reason": null, "delta": {"content": words}}],
            }),
            Self::Gemini => json!({
                "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": words}]}}],
            }),
        })
    }

    /// The events after the last text; `words` is the whole text.
    pub(super) fn closing(self, words: &str) -> String {
        match self {
            Self::Messages => {
                let delta = json!({"stop_reason": "end_turn", "stop_sequence": null});
                event(&json!({"type": "content_block_stop", "index": 0}))
                    + &event(&json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 4}}))
                    + &event(&json!({"type": "message_stop"}))
            }
            Self::Responses => event(&json!({
                "type": "response.completed", "sequence_number": 2, "response": response("completed", words),
            })),
            Self::Chat => {
                let choice = json!({"index": 0, "finish_reason": "stop", "delta": {}});
                event(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}))
                    + "data: [DONE]\n\n"
            }
            Self::Gemini => event(&json!({"candidates": [{"index": 0, "finishReason": "STOP"}]})),
        }
    }
}

fn response(status: &str, words: &str) -> Value {
    let said = json!({"type": "output_text", "text": words, "annotations": []});
    let message = json!({
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said],
    });
    json!({
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status,
        "output": if words.is_empty() { json!([]) } else { json!([message]) },
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
        "usage": {
            "input_tokens": 1200, "output_tokens": 4, "total_tokens": 1204,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
        },
    })
}

/// One event; its type is also its name, which some readers require.
fn event(data: &Value) -> String {
    match data.get("type").and_then(Value::as_str) {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
