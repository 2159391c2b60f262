//! Responses of Gemini.

use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_core::conversation::{Block, Usage};
use wakeful_ports::model::{DeltaSink, ModelResponse};

use crate::provider::Provider;
use crate::wire::web_search::search;
use crate::wire::{
    BLOCKS_MAX, DecodedResponse, Decoder, ResponseError, StreamState, count, own_call_id, read, send_text,
    thought, too_many_blocks, tool_use, usage,
};

/// Finish reasons with which the provider withholds the rest of the response.
const WITHHELD: [&str; 7] = [
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "OTHER",
];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    candidates: Vec<Candidate>,
    prompt_feedback: Option<Feedback>,
    #[serde(default)]
    usage_metadata: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    index: u64,
    #[serde(default)]
    content: ContentBody,
    finish_reason: Option<String>,
    /// What the reply is based on. It comes with the last part or in several.
    #[serde(default)]
    grounding_metadata: Value,
}

#[derive(Debug, Default, Deserialize)]
struct ContentBody {
    #[serde(default)]
    parts: Vec<PartBody>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartBody {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<FunctionCallBody>,
    /// The query of a search, which the provider performs, and its result.
    tool_call: Option<Value>,
    tool_response: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct FunctionCallBody {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

pub(in crate::wire) fn whole(text: &str, request: u32) -> Result<DecodedResponse, ResponseError> {
    let mut stream = StreamDecoder::new(request);
    stream.add(read(text)?, &wakeful_ports::model::NoDeltaSink)?;
    match stream.finish_reason {
        Some(_) => Box::new(stream).end(),
        None => Err(ResponseError::invalid("the response has no finish reason")),
    }
}

/// Decodes a streamed response. The format has no last event: the finish reason marks the response as
/// complete.
#[derive(Debug)]
pub(in crate::wire) struct StreamDecoder {
    request: u32,
    blocks: Vec<Block>,
    /// Thoughts that are not followed by a signature yet.
    thoughts: String,
    usage: Value,
    grounding: Value,
    finish_reason: Option<String>,
}

impl StreamDecoder {
    pub(in crate::wire) const fn new(request: u32) -> Self {
        Self {
            request,
            blocks: Vec::new(),
            thoughts: String::new(),
            usage: Value::Null,
            grounding: Value::Null,
            finish_reason: None,
        }
    }

    fn add(&mut self, chunk: Chunk, audience: &dyn DeltaSink) -> Result<(), ResponseError> {
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            return Err(ResponseError::Withheld(reason));
        }
        if !chunk.usage_metadata.is_null() {
            self.usage = chunk.usage_metadata;
        }
        // Only one candidate was requested.
        for candidate in chunk
            .candidates
            .into_iter()
            .filter(|candidate| candidate.index == 0)
        {
            for part in candidate.content.parts {
                self.add_part(part, audience)?;
            }
            if !candidate.grounding_metadata.is_null() {
                self.grounding = candidate.grounding_metadata;
            }
            self.finish_reason = candidate.finish_reason.or(self.finish_reason.take());
        }
        Ok(())
    }

    fn add_part(&mut self, part: PartBody, audience: &dyn DeltaSink) -> Result<(), ResponseError> {
        if self.blocks.len() >= BLOCKS_MAX {
            return Err(too_many_blocks());
        }
        let more = part.text.unwrap_or_default();
        if part.thought {
            self.thoughts.push_str(&more);
            return Ok(());
        }
        send_text(audience, &more);
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        for (name, invocation) in [("toolCall", part.tool_call), ("toolResponse", part.tool_response)] {
            if let Some(invocation) = invocation {
                self.blocks.push(searched(name, invocation, signature));
                return Ok(());
            }
        }
        match part.function_call {
            Some(call) => {
                self.add_words(more, None);
                if let Some(signature) = signature {
                    self.add_thought(Value::String(signature));
                }
                let calls = self
                    .blocks
                    .iter()
                    .filter(|block| matches!(block, Block::ToolUse(_)));
                let own = own_call_id(self.request, calls.count());
                let id = call.id.filter(|id| !id.is_empty()).unwrap_or(own);
                let args = call.args.unwrap_or_else(|| json!({}));
                self.blocks.push(tool_use(id, call.name, args));
            }
            None => self.add_words(more, signature),
        }
        Ok(())
    }

    /// Keeps consecutive text together, even if a signature arrives in between: such a signature, or one
    /// without text, becomes a separate part after the text.
    fn add_words(&mut self, more: String, signature: Option<String>) {
        let thinks =
            |block: &&mut Block| matches!(block, Block::Thinking { opaque, .. } if opaque.is_object());
        let mut newest = self.blocks.iter_mut().rev().skip_while(thinks);
        let goes_on = match newest.next() {
            Some(Block::Text { text }) => {
                text.push_str(&more);
                true
            }
            Some(
                Block::ToolUse(_)
                | Block::ToolResult { .. }
                | Block::Thinking { .. }
                | Block::WebSearch(_)
                | Block::Attachment(_),
            )
            | None => false,
        };
        match signature {
            Some(signature) if goes_on || more.is_empty() => {
                self.add_thought(json!({"text": "", "thoughtSignature": signature}));
            }
            Some(signature) => self.add_thought(Value::String(signature)),
            None => {}
        }
        if !goes_on && !more.is_empty() {
            self.blocks.push(Block::Text { text: more });
        }
    }

    fn add_thought(&mut self, opaque: Value) {
        let text = std::mem::take(&mut self.thoughts);
        self.blocks.push(thought(Provider::Gemini, text, opaque));
    }
}

/// The part of a search, exactly as it is sent back.
fn searched(name: &str, invocation: Value, signature: Option<String>) -> Block {
    let queries = strings(&invocation, "/args/queries").join("; ");
    let signature = signature.map(|signature| ("thoughtSignature".to_owned(), signature.into()));
    let part = [(name.to_owned(), invocation)].into_iter().chain(signature);
    search(&queries, Vec::new(), Value::Object(part.collect()))
}

fn strings(value: &Value, pointer: &str) -> Vec<String> {
    let items = value.pointer(pointer).and_then(Value::as_array);
    let items = items.into_iter().flatten().filter_map(Value::as_str);
    items.map(str::to_owned).collect()
}

impl StreamDecoder {
    /// Adds the addresses of what was found, and the queries if no part had them. The provider does not
    /// accept them back. Returns the number of queries.
    fn add_grounding(&mut self) -> u64 {
        let queries = strings(&self.grounding, "/webSearchQueries");
        let chunks = self.grounding.get("groundingChunks").and_then(Value::as_array);
        let chunks = chunks.into_iter().flatten();
        let sources: Vec<String> = chunks
            .filter_map(|chunk| chunk.pointer("/web/uri")?.as_str().map(str::to_owned))
            .collect();
        let asked = |block: &&Block| matches!(block, Block::WebSearch(search) if !search.query.is_empty());
        let asked = self.blocks.iter().filter(asked).count();
        let count = queries.len().max(asked);
        if !sources.is_empty() || count > asked {
            let query = if asked == 0 {
                queries.join("; ")
            } else {
                String::new()
            };
            self.blocks.push(search(&query, sources, Value::Null));
        }
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

impl Decoder for StreamDecoder {
    fn take(&mut self, data: &str, audience: &dyn DeltaSink) -> Result<StreamState, ResponseError> {
        self.add(read(data)?, audience)?;
        Ok(StreamState::More)
    }

    fn end(mut self: Box<Self>) -> Result<DecodedResponse, ResponseError> {
        match self.finish_reason.as_deref() {
            None => return Err(ResponseError::Truncated),
            Some("MAX_TOKENS") => return Err(ResponseError::OutputLimit),
            Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") => {
                return Err(ResponseError::invalid(
                    "the model wrote a tool call that its provider cannot parse",
                ));
            }
            // New finish reasons appear without notice; an unknown one does not discard the received text.
            Some(reason) if WITHHELD.contains(&reason) || (reason != "STOP" && self.blocks.is_empty()) => {
                return Err(ResponseError::Withheld(reason.to_owned()));
            }
            Some(_) => {}
        }
        let web_searches = self.add_grounding();
        let counts = &self.usage;
        let thoughts = count(counts, "/thoughtsTokenCount");
        Ok(ModelResponse {
            blocks: self.blocks,
            usage: usage(Usage {
                input_tokens: count(counts, "/promptTokenCount"),
                output_tokens: count(counts, "/candidatesTokenCount").saturating_add(thoughts),
                cached_read_tokens: count(counts, "/cachedContentTokenCount"),
                reasoning_tokens: thoughts,
                web_searches,
                ..Usage::default()
            }),
        }
        .into())
    }
}
