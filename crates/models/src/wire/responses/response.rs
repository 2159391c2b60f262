//! Responses of OpenAI Responses.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_core::conversation::{Block, Usage};
use wakeful_ports::model::{DeltaSink, ModelResponse};

use crate::provider::Provider;
use crate::wire::web_search::search;
use crate::wire::{
    BLOCKS_MAX, DecodedResponse, Decoder, ProviderErrorBody, ResponseError, StreamState, arguments, count,
    read, send_text, thought, too_many_blocks, tool_use, usage, words,
};

#[derive(Debug, Default, Deserialize)]
struct ResponseBody {
    id: Option<String>,
    status: Option<String>,
    #[serde(default)]
    output: Vec<Output>,
    #[serde(default)]
    usage: Value,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Debug, Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

/// One output item. Thoughts are stored unchanged, so an item is parsed only when it is needed.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
struct Output(Value);

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    Message {
        content: Vec<OutputContent>,
    },
    FunctionCall {
        call_id: String,
        name: String,
        arguments: String,
    },
    /// A call of a free-form tool: its input is text and not JSON.
    CustomToolCall {
        call_id: String,
        name: String,
        input: String,
    },
    /// A search that the provider performed, or a page that it opened.
    WebSearchCall {
        #[serde(default)]
        action: Value,
    },
    Reasoning {
        #[serde(default)]
        summary: Value,
        #[serde(default)]
        encrypted_content: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputContent {
    OutputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    #[serde(other)]
    Other,
}

pub(in crate::wire) fn whole(text: &str, provider: Provider) -> Result<DecodedResponse, ResponseError> {
    let whole: ResponseBody = read(text)?;
    // Without the status, any JSON object would pass as an empty response.
    match whole.status {
        Some(_) => finish(whole, provider),
        None => Err(ResponseError::invalid("the response has no status")),
    }
}

fn finish(whole: ResponseBody, provider: Provider) -> Result<DecodedResponse, ResponseError> {
    match whole.status.as_deref() {
        Some("failed" | "cancelled") => {
            let error = whole.error.unwrap_or_default();
            return Err(ResponseError::Reported(ProviderErrorBody::of(&error)));
        }
        Some("incomplete") => {
            let reason = whole.incomplete_details.and_then(|details| details.reason);
            return Err(match reason.as_deref() {
                Some("max_output_tokens") => ResponseError::OutputLimit,
                _ => ResponseError::Withheld(reason.unwrap_or_else(|| "incomplete".to_owned())),
            });
        }
        Some(_) | None => {}
    }
    let counts = &whole.usage;
    let searches = whole.output.iter().filter(|Output(item)| is_search(item));
    let usage = usage(Usage {
        input_tokens: count(counts, "/input_tokens"),
        output_tokens: count(counts, "/output_tokens"),
        cached_read_tokens: count(counts, "/input_tokens_details/cached_tokens"),
        cached_write_tokens: count(counts, "/input_tokens_details/cache_write_tokens"),
        reasoning_tokens: count(counts, "/output_tokens_details/reasoning_tokens"),
        // The format does not count them itself.
        web_searches: u64::try_from(searches.count()).unwrap_or(u64::MAX),
    });
    Ok(DecodedResponse {
        answer: ModelResponse {
            blocks: blocks(whole.output, provider)?,
            usage,
        },
        response_id: whole.id.filter(|id| !id.is_empty()),
    })
}

/// Whether an item is a search. A page that is opened is not charged for.
fn is_search(item: &Value) -> bool {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let action = item.get("action").and_then(|action| text(action.get("type")));
    text(item.get("type")).as_deref() == Some("web_search_call")
        && action.is_none_or(|action| action == "search")
}

/// The block of an item about a search.
fn searched(action: &Value, raw: Value) -> Block {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let query = action.get("query").and_then(text);
    let found = action
        .get("sources")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let found = found.filter_map(|source| source.get("url").and_then(text));
    let sources = action.get("url").and_then(text).into_iter().chain(found);
    search(&query.unwrap_or_default(), sources.collect(), raw)
}

fn blocks(output: Vec<Output>, provider: Provider) -> Result<Vec<Block>, ResponseError> {
    let (mut blocks, mut rest) = (Vec::new(), output.into_iter().peekable());
    while let Some(Output(raw)) = rest.next() {
        let id = |Output(item): &Output| item.get("id").and_then(Value::as_str).map(str::to_owned);
        let next = rest.peek().and_then(id);
        let item = Item::deserialize(&raw)
            .map_err(|_| ResponseError::invalid("an item of the response does not match the format"))?;
        match item {
            Item::Message { content } => blocks.extend(content.into_iter().filter_map(|said| match said {
                OutputContent::OutputText { text } => words(text),
                OutputContent::Refusal { refusal } => words(refusal),
                OutputContent::Other => None,
            })),
            Item::FunctionCall {
                call_id,
                name,
                arguments: text,
            } => blocks.push(tool_use(call_id, name, arguments(&text))),
            Item::CustomToolCall { call_id, name, input } => {
                blocks.push(tool_use(call_id, name, Value::String(input)));
            }
            Item::Reasoning {
                summary,
                encrypted_content: Value::String(sealed),
            } if !sealed.is_empty() => {
                let parts = summary.as_array().into_iter().flatten();
                let texts = parts.filter_map(|part| part.get("text").and_then(Value::as_str));
                let text = texts.collect::<Vec<_>>().join("\n");
                blocks.push(thought(provider, text, json!({"item": raw, "next": next})));
            }
            Item::WebSearchCall { action } => blocks.push(searched(&action, raw)),
            // A thought that cannot be sent back, or an unknown item.
            Item::Reasoning { .. } | Item::Other => {}
        }
    }
    Ok(blocks)
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Delta {
        delta: String,
        sequence_number: Option<u64>,
    },
    #[serde(rename = "response.output_item.done")]
    ItemDone { output_index: u64, item: Output },
    #[serde(rename = "response.completed")]
    Completed { response: Box<ResponseBody> },
    #[serde(rename = "response.failed", alias = "response.cancelled")]
    Failed { response: Box<ResponseBody> },
    #[serde(rename = "response.incomplete")]
    Incomplete { response: Box<ResponseBody> },
    #[serde(other)]
    Other,
}

/// Decodes a streamed response. The last event repeats all items; if it does not, the items received before
/// are used.
#[derive(Debug)]
pub(in crate::wire) struct StreamDecoder {
    provider: Provider,
    items: BTreeMap<u64, Output>,
    last_sequence_number: Option<u64>,
    last: Option<ResponseBody>,
}

impl StreamDecoder {
    pub(in crate::wire) const fn new(provider: Provider) -> Self {
        Self {
            provider,
            items: BTreeMap::new(),
            last_sequence_number: None,
            last: None,
        }
    }

    /// Processes the last event. Its type decides the outcome, even if the status field differs.
    fn close(&mut self, response: ResponseBody, status: Option<&str>) -> StreamState {
        self.last = Some(ResponseBody {
            status: status.map(str::to_owned).or(response.status),
            ..response
        });
        StreamState::Done
    }
}

impl Decoder for StreamDecoder {
    fn take(&mut self, data: &str, audience: &dyn DeltaSink) -> Result<StreamState, ResponseError> {
        match read(data)? {
            Event::Delta {
                delta,
                sequence_number,
            } => {
                // Repeated text is passed on once. The response itself is built from complete items.
                if sequence_number.is_none() || sequence_number > self.last_sequence_number {
                    self.last_sequence_number = sequence_number;
                    send_text(audience, &delta);
                }
            }
            Event::ItemDone { output_index, item } => {
                if self.items.len() >= BLOCKS_MAX {
                    return Err(too_many_blocks());
                }
                self.items.insert(output_index, item);
            }
            Event::Completed { response } => return Ok(self.close(*response, None)),
            Event::Failed { response } => return Ok(self.close(*response, Some("failed"))),
            Event::Incomplete { response } => return Ok(self.close(*response, Some("incomplete"))),
            Event::Other => {}
        }
        Ok(StreamState::More)
    }

    fn end(self: Box<Self>) -> Result<DecodedResponse, ResponseError> {
        let mut last = self.last.ok_or(ResponseError::Truncated)?;
        if last.output.is_empty() {
            last.output = self.items.into_values().collect();
        }
        finish(last, self.provider)
    }
}
