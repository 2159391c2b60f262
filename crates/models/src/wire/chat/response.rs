//! Responses of Chat Completions.

use serde::Deserialize;
use serde_json::Value;
use wakeful_core::conversation::Usage;
use wakeful_ports::model::{DeltaSink, ModelResponse};

use crate::provider::Provider;
use crate::wire::{
    BLOCKS_MAX, DecodedResponse, Decoder, ResponseError, StreamState, arguments, count, own_call_id, read,
    send_text, thought, too_many_blocks, tool_use, usage, words,
};

/// The data of the last event.
const DONE: &str = "[DONE]";

#[derive(Debug, Deserialize)]
struct ResponseBody {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Value,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    /// The whole message, or the next piece of it in a stream.
    #[serde(alias = "delta", default)]
    message: MessageBody,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct MessageBody {
    content: Option<String>,
    /// The model's thoughts. There are two names for the field, and some servers send both.
    #[serde(default)]
    reasoning_content: Value,
    #[serde(default)]
    reasoning: Value,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Debug, Deserialize)]
struct CallPiece {
    index: Option<usize>,
    id: Option<String>,
    #[serde(default)]
    function: FunctionPiece,
}

#[derive(Debug, Default, Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    /// A string according to the specification; some servers send the object itself.
    arguments: Option<Value>,
}

pub(in crate::wire) fn whole(text: &str, request: u32) -> Result<DecodedResponse, ResponseError> {
    let mut whole: ResponseBody = read(text)?;
    // In a whole message every call is complete, even if fields such as the index are missing.
    let calls = whole
        .choices
        .iter_mut()
        .filter_map(|choice| choice.message.tool_calls.as_mut());
    for (index, call) in calls.flat_map(|calls| calls.iter_mut().enumerate()) {
        call.index = Some(index);
    }
    let mut stream = StreamDecoder::new(request);
    stream.add(whole, &wakeful_ports::model::NoDeltaSink)?;
    match stream.finish_reason {
        Some(_) => Box::new(stream).end(),
        None => Err(ResponseError::invalid("the response has no finish reason")),
    }
}

/// Decodes a streamed response.
#[derive(Debug)]
pub(in crate::wire) struct StreamDecoder {
    request: u32,
    thoughts: String,
    text: String,
    calls: Vec<PartialCall>,
    usage: Value,
    finish_reason: Option<String>,
}

#[derive(Debug, Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl StreamDecoder {
    pub(in crate::wire) const fn new(request: u32) -> Self {
        Self {
            request,
            thoughts: String::new(),
            text: String::new(),
            calls: Vec::new(),
            usage: Value::Null,
            finish_reason: None,
        }
    }

    fn add(&mut self, chunk: ResponseBody, audience: &dyn DeltaSink) -> Result<(), ResponseError> {
        if !chunk.usage.is_null() {
            self.usage = chunk.usage;
        }
        // Only one choice was requested.
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            let piece = choice.message;
            let thoughts = [&piece.reasoning_content, &piece.reasoning]
                .into_iter()
                .find_map(Value::as_str);
            self.thoughts.push_str(thoughts.unwrap_or_default());
            for text in [piece.content, piece.refusal].into_iter().flatten() {
                send_text(audience, &text);
                self.text.push_str(&text);
            }
            for call in piece.tool_calls.into_iter().flatten() {
                self.add_call(call)?;
            }
            self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        }
        Ok(())
    }

    fn add_call(&mut self, piece: CallPiece) -> Result<(), ResponseError> {
        // Some servers leave the index out: then an id starts a call, and a piece without an id continues
        // the last one.
        let begins = piece.id.as_ref().is_some_and(|id| !id.is_empty());
        let fallback = if begins || self.calls.is_empty() {
            self.calls.len()
        } else {
            self.calls.len().saturating_sub(1)
        };
        let index = piece.index.unwrap_or(fallback);
        if index >= BLOCKS_MAX {
            return Err(too_many_blocks());
        }
        if index > self.calls.len() {
            return Err(ResponseError::invalid(format!(
                "call {index} arrived before the previous call"
            )));
        }
        if index == self.calls.len() {
            self.calls.push(PartialCall::default());
        }
        let Some(call) = self.calls.get_mut(index) else {
            return Err(too_many_blocks());
        };
        call.id = piece
            .id
            .filter(|id| !id.is_empty())
            .unwrap_or(std::mem::take(&mut call.id));
        call.name.push_str(&piece.function.name.unwrap_or_default());
        match piece.function.arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => call.arguments.push_str(&text),
            Some(other) => call.arguments.push_str(&other.to_string()),
        }
        Ok(())
    }
}

impl Decoder for StreamDecoder {
    fn take(&mut self, data: &str, audience: &dyn DeltaSink) -> Result<StreamState, ResponseError> {
        if data.trim() == DONE {
            return Ok(StreamState::Done);
        }
        self.add(read(data)?, audience)?;
        Ok(StreamState::More)
    }

    /// The finish reason, not the last event, marks the response as complete, because some servers leave
    /// the event out.
    fn end(self: Box<Self>) -> Result<DecodedResponse, ResponseError> {
        match self.finish_reason.as_deref() {
            None => return Err(ResponseError::Truncated),
            Some("length") => return Err(ResponseError::OutputLimit),
            Some("content_filter") => return Err(ResponseError::Withheld("content_filter".to_owned())),
            Some(_) => {}
        }
        let request = self.request;
        let calls = self.calls.into_iter().enumerate().map(|(index, call)| {
            let id = match call.id.is_empty() {
                true => own_call_id(request, index),
                false => call.id,
            };
            tool_use(id, call.name, arguments(&call.arguments))
        });
        // These thoughts are only shown to people. No server accepts them back, so no record is stored with
        // them.
        let thoughts = Some(self.thoughts).filter(|text| !text.trim().is_empty());
        let thoughts = thoughts.map(|text| thought(Provider::OpenAiChat, text, Value::Null));
        let said = thoughts.into_iter().chain(words(self.text)).chain(calls);
        let counts = &self.usage;
        Ok(ModelResponse {
            blocks: said.collect(),
            usage: usage(Usage {
                input_tokens: count(counts, "/prompt_tokens"),
                output_tokens: count(counts, "/completion_tokens"),
                cached_read_tokens: count(counts, "/prompt_tokens_details/cached_tokens"),
                cached_write_tokens: count(counts, "/prompt_tokens_details/cache_write_tokens"),
                reasoning_tokens: count(counts, "/completion_tokens_details/reasoning_tokens"),
                web_searches: 0,
            }),
        }
        .into())
    }
}
