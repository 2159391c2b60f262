//! Responses of Anthropic Messages.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use wakeful_core::conversation::{Block, Usage};
use wakeful_ports::model::{DeltaSink, ModelResponse};

use crate::provider::Provider;
use crate::wire::web_search::{join_texts, search};
use crate::wire::{
    BLOCKS_MAX, DecodedResponse, Decoder, ProviderErrorBody, ResponseError, StreamState, arguments, count,
    read, send_text, thought, too_many_blocks, tool_use, usage, words,
};

/// The types of the blocks of a search.
const QUERY: &str = "server_tool_use";
const RESULT: &str = "web_search_tool_result";

#[derive(Debug, Deserialize)]
struct ResponseBody {
    content: Vec<ContentBlock>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Value,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentBlock {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    Thinking {
        thinking: Option<String>,
        signature: Option<String>,
    },
    RedactedThinking {
        data: String,
    },
    /// The query of a search, which the provider performs.
    ServerToolUse {
        #[serde(flatten)]
        fields: Map<String, Value>,
    },
    /// What a search found. The contents of the pages are encrypted.
    WebSearchToolResult {
        #[serde(flatten)]
        fields: Map<String, Value>,
    },
    #[serde(other)]
    Other,
}

/// The block of a query or of its result.
fn searched(kind: &str, mut fields: Map<String, Value>) -> Block {
    let query = fields.get("input").and_then(|input| input.get("query"));
    let query = query.and_then(Value::as_str).unwrap_or_default().to_owned();
    let found = fields.get("content").and_then(Value::as_array);
    let found = found.into_iter().flatten();
    let sources = found.filter_map(|page| page.get("url")?.as_str().map(str::to_owned));
    let sources = sources.collect();
    fields.insert("type".to_owned(), kind.into());
    search(&query, sources, Value::Object(fields))
}

/// Counts are cumulative: a later event repeats or raises the counts of an earlier one.
#[derive(Debug, Default, Clone, Copy)]
struct UsageBody {
    input: u64,
    written: u64,
    read: u64,
    output: u64,
    reasoning: u64,
    searches: u64,
}

impl UsageBody {
    fn raise(&mut self, said: &Value) {
        let raise = |known: &mut u64, pointer| *known = count(said, pointer).max(*known);
        raise(&mut self.input, "/input_tokens");
        raise(&mut self.written, "/cache_creation_input_tokens");
        raise(&mut self.read, "/cache_read_input_tokens");
        raise(&mut self.output, "/output_tokens");
        raise(&mut self.reasoning, "/output_tokens_details/thinking_tokens");
        raise(&mut self.searches, "/server_tool_use/web_search_requests");
    }

    /// The input tokens include those that the provider read from its cache or wrote to it.
    fn usage(self) -> Usage {
        let input = self.input.saturating_add(self.written).saturating_add(self.read);
        usage(Usage {
            input_tokens: input,
            output_tokens: self.output,
            cached_read_tokens: self.read,
            cached_write_tokens: self.written,
            reasoning_tokens: self.reasoning,
            web_searches: self.searches,
        })
    }
}

pub(in crate::wire) fn whole(text: &str) -> Result<DecodedResponse, ResponseError> {
    let whole: ResponseBody = read(text)?;
    stopped(whole.stop_reason.as_deref())?;
    let blocks = whole.content.into_iter().filter_map(|said| match said {
        ContentBlock::Text { text } => words(text),
        ContentBlock::ToolUse { id, name, input } => Some(tool_use(id, name, input)),
        ContentBlock::Thinking { thinking, signature } => {
            signed(thinking.unwrap_or_default(), &signature.unwrap_or_default())
        }
        ContentBlock::RedactedThinking { data } => Some(redacted(&data)),
        ContentBlock::ServerToolUse { fields } => Some(searched(QUERY, fields)),
        ContentBlock::WebSearchToolResult { fields } => Some(searched(RESULT, fields)),
        ContentBlock::Other => None,
    });
    let mut counted = UsageBody::default();
    counted.raise(&whole.usage);
    Ok(ModelResponse {
        blocks: join_texts(blocks.collect()),
        usage: counted.usage(),
    }
    .into())
}

/// Returns a thought in the form in which it is sent back. The provider would refuse one without a
/// signature.
fn signed(thinking: String, signature: &str) -> Option<Block> {
    let opaque = json!({"type": "thinking", "thinking": thinking, "signature": signature});
    (!signature.is_empty()).then(|| thought(Provider::Anthropic, thinking, opaque))
}

/// A thought that only the provider can read.
fn redacted(data: &str) -> Block {
    let opaque = json!({"type": "redacted_thinking", "data": data});
    thought(Provider::Anthropic, String::new(), opaque)
}

/// Whether the model finished its response.
fn stopped(reason: Option<&str>) -> Result<(), ResponseError> {
    match reason {
        Some("max_tokens") => Err(ResponseError::OutputLimit),
        Some("refusal") => Err(ResponseError::Withheld("refusal".to_owned())),
        // Its own search may take several turns of the provider; the limit of searches is below the one at
        // which it pauses.
        Some("pause_turn") => Err(ResponseError::invalid(
            "the provider paused before the end of the reply",
        )),
        Some("model_context_window_exceeded") => {
            Err(ResponseError::Reported(ProviderErrorBody::of(&json!({
                "code": "context_length_exceeded",
                "message": "the reply reached the end of the model's context window",
            }))))
        }
        Some(_) | None => Ok(()),
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: ContentBlock,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: End,
        #[serde(default)]
        usage: Value,
    },
    MessageStop,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Start {
    #[serde(default)]
    usage: Value,
}

#[derive(Debug, Deserialize)]
struct End {
    stop_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(other)]
    Other,
}

/// Decodes a streamed response.
#[derive(Debug, Default)]
pub(in crate::wire) struct StreamDecoder {
    parts: BTreeMap<u64, Part>,
    usage: UsageBody,
    stop_reason: Option<String>,
    stopped: bool,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Tool {
        id: String,
        name: String,
        input: Value,
        json: String,
    },
    Thinking {
        thinking: String,
        signature: String,
        ended: bool,
    },
    Redacted(String),
    Search {
        kind: &'static str,
        fields: Map<String, Value>,
        json: String,
    },
    Other,
}

impl Decoder for StreamDecoder {
    fn take(&mut self, data: &str, audience: &dyn DeltaSink) -> Result<StreamState, ResponseError> {
        match read(data)? {
            Event::MessageStart { message } => self.usage.raise(&message.usage),
            Event::ContentBlockStart { index, content_block } => {
                self.start(index, content_block, audience)?
            }
            Event::ContentBlockDelta { index, delta } => self.grow(index, delta, audience)?,
            Event::ContentBlockStop { index } => {
                if let Some(Part::Thinking { ended, .. }) = self.parts.get_mut(&index) {
                    *ended = true;
                }
            }
            Event::MessageDelta { delta, usage } => {
                self.usage.raise(&usage);
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
            }
            Event::MessageStop => {
                self.stopped = true;
                return Ok(StreamState::Done);
            }
            Event::Other => {}
        }
        Ok(StreamState::More)
    }

    fn end(self: Box<Self>) -> Result<DecodedResponse, ResponseError> {
        if !self.stopped {
            return Err(ResponseError::Truncated);
        }
        stopped(self.stop_reason.as_deref())?;
        let blocks = self.parts.into_values().filter_map(|part| match part {
            Part::Text(text) => words(text),
            Part::Tool {
                id,
                name,
                input,
                json,
            } => Some(match json.is_empty() {
                true => tool_use(id, name, input),
                false => tool_use(id, name, arguments(&json)),
            }),
            Part::Thinking {
                thinking,
                signature,
                ended,
            } => signed(thinking, &signature).filter(|_| ended),
            Part::Redacted(data) => Some(redacted(&data)),
            Part::Search {
                kind,
                mut fields,
                json,
            } => {
                if !json.is_empty() {
                    fields.insert("input".to_owned(), arguments(&json));
                }
                Some(searched(kind, fields))
            }
            Part::Other => None,
        });
        Ok(ModelResponse {
            blocks: join_texts(blocks.collect()),
            usage: self.usage.usage(),
        }
        .into())
    }
}

impl StreamDecoder {
    fn start(
        &mut self,
        index: u64,
        said: ContentBlock,
        audience: &dyn DeltaSink,
    ) -> Result<(), ResponseError> {
        if self.parts.len() >= BLOCKS_MAX {
            return Err(too_many_blocks());
        }
        let part = match said {
            ContentBlock::Text { text } => {
                send_text(audience, &text);
                Part::Text(text)
            }
            ContentBlock::ToolUse { id, name, input } => Part::Tool {
                id,
                name,
                input,
                json: String::new(),
            },
            ContentBlock::Thinking { thinking, signature } => Part::Thinking {
                thinking: thinking.unwrap_or_default(),
                signature: signature.unwrap_or_default(),
                ended: false,
            },
            ContentBlock::RedactedThinking { data } => Part::Redacted(data),
            ContentBlock::ServerToolUse { fields } => Part::Search {
                kind: QUERY,
                fields,
                json: String::new(),
            },
            ContentBlock::WebSearchToolResult { fields } => Part::Search {
                kind: RESULT,
                fields,
                json: String::new(),
            },
            ContentBlock::Other => Part::Other,
        };
        match self.parts.insert(index, part) {
            None => Ok(()),
            Some(_) => Err(ResponseError::invalid(format!("block {index} starts twice"))),
        }
    }

    fn grow(&mut self, index: u64, delta: Delta, audience: &dyn DeltaSink) -> Result<(), ResponseError> {
        match (self.parts.get_mut(&index), delta) {
            (Some(Part::Text(text)), Delta::Text { text: more }) => {
                send_text(audience, &more);
                text.push_str(&more);
                Ok(())
            }
            (
                Some(Part::Tool { json, .. } | Part::Search { json, .. }),
                Delta::InputJson { partial_json },
            ) => {
                json.push_str(&partial_json);
                Ok(())
            }
            (Some(Part::Thinking { thinking, .. }), Delta::Thinking { thinking: more }) => {
                thinking.push_str(&more);
                Ok(())
            }
            (Some(Part::Thinking { signature, .. }), Delta::Signature { signature: more }) => {
                signature.push_str(&more);
                Ok(())
            }
            // Citations, and deltas of ignored blocks.
            (Some(Part::Other), _) | (Some(_), Delta::Other) => Ok(()),
            (
                Some(_),
                Delta::Text { .. }
                | Delta::InputJson { .. }
                | Delta::Thinking { .. }
                | Delta::Signature { .. },
            ) => Err(ResponseError::invalid(format!(
                "block {index} continues as another kind"
            ))),
            (None, _) => Err(ResponseError::invalid(format!(
                "block {index} continues before it starts"
            ))),
        }
    }
}
