//! The providers' wire formats, and the conversion from and to the project's own types.
//!
//! Each module contains the types of one format: request bodies, whole responses and streamed responses.
//! The same request always gives the same bytes. Unknown fields and blocks are ignored, because providers
//! add both without notice.

mod answer_schema;
mod anthropic;
mod attachment;
mod chat;
mod error_body;
mod gemini;
mod lowering;
mod responses;
#[cfg(test)]
mod tests;
mod web_search;

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wakeful_core::conversation::{Block, Freeform, Role, ToolCall, ToolSpec, TranscriptEntry, Usage};
use wakeful_core::prompt::ModelRequest;
use wakeful_core::schema;
use wakeful_ports::model::{DeltaSink, ModelResponse};

pub(crate) use anthropic::OUTPUT_TOKENS_MAX as ANTHROPIC_OUTPUT_TOKENS;
pub(crate) use attachment::sees_images;
pub(crate) use error_body::ProviderErrorBody;
pub use lowering::{Clearable, ProviderPromptCapability, TOOL_RESULTS_KEPT, clearable};
pub(crate) use lowering::{Lowering, ProviderThread};
pub(crate) use web_search::is_known_to_search;

use crate::provider::Provider;

/// Maximum number of blocks in one response. The core refuses responses with too many calls; this limit
/// only keeps a stream of empty blocks from filling memory.
const BLOCKS_MAX: usize = 1_024;

/// Size of the first request body of most runs, allocated in advance.
const BODY_BYTES_USUAL: usize = 16 * 1024;

/// Longest name or id that every provider accepts.
const NAME_CHARS_MAX: usize = 64;

/// Why a response cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResponseError {
    /// The response does not match the format.
    Invalid(String),
    /// The response ended before it was complete.
    Truncated,
    /// The response is an error of the provider.
    Reported(ProviderErrorBody),
    /// The response reached the output limit.
    OutputLimit,
    /// The provider withheld the response.
    Withheld(String),
}

impl ResponseError {
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self::Invalid(why.into())
    }
}

/// Decodes a response from the events of a stream.
pub(crate) trait Decoder: Send {
    /// Processes the data of the next event.
    fn take(&mut self, data: &str, audience: &dyn DeltaSink) -> Result<StreamState, ResponseError>;

    /// Returns the response after the stream has ended.
    fn end(self: Box<Self>) -> Result<DecodedResponse, ResponseError>;
}

/// A response and its id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DecodedResponse {
    pub(crate) answer: ModelResponse,
    /// The id under which the provider stored the response, if it sent one.
    pub(crate) response_id: Option<String>,
}

impl From<ModelResponse> for DecodedResponse {
    fn from(answer: ModelResponse) -> Self {
        Self {
            answer,
            response_id: None,
        }
    }
}

/// Whether more events are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamState {
    /// The response is not complete.
    More,
    /// The last event was processed; any further data is ignored.
    Done,
}

/// Builds the body of a request.
pub(crate) fn body(lowering: &Lowering<'_>, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
    match lowering.provider {
        Provider::Anthropic => written(&anthropic::RequestBody::new(lowering, request)),
        Provider::OpenAi | Provider::OpenAiCodex => written(&responses::RequestBody::new(lowering, request)),
        Provider::OpenAiChat => written(&chat::RequestBody::new(lowering, request)),
        Provider::Gemini => written(&gemini::RequestBody::new(lowering, request)),
    }
}

fn written(body: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(BODY_BYTES_USUAL);
    serde_json::to_writer(&mut bytes, body)?;
    Ok(bytes)
}

/// Returns the items of a conversation that includes the response, each as it is written on the wire.
pub(crate) fn items(
    lowering: &Lowering<'_>,
    request: &ModelRequest,
    answer: &[Block],
) -> serde_json::Result<Vec<Vec<u8>>> {
    responses::answered(lowering, request, answer)
}

/// Returns the free form of a tool, if it was offered in it.
fn freeform<'a>(lowering: &Lowering<'_>, tools: &'a [ToolSpec], name: &str) -> Option<&'a Freeform> {
    let tool = tools.iter().find(|tool| tool.name == name)?;
    tool.freeform.as_ref().filter(|_| lowering.freeform)
}

/// Converts the text of free-form calls to arguments, so that everything else sees one form of a call.
pub(crate) fn read_freeform(lowering: &Lowering<'_>, tools: &[ToolSpec], answer: &mut [Block]) {
    for block in answer {
        if let Block::ToolUse(call) = block
            && let Some(form) = freeform(lowering, tools, &call.name)
            && let Value::String(text) = &call.input
        {
            call.input = form.arguments(text);
        }
    }
}

/// Creates the decoder for the streamed response to the request with this number.
pub(crate) fn decoder(provider: Provider, request: u32) -> Box<dyn Decoder> {
    match provider {
        Provider::Anthropic => Box::new(anthropic::StreamDecoder::default()),
        Provider::OpenAi | Provider::OpenAiCodex => Box::new(responses::StreamDecoder::new(provider)),
        Provider::OpenAiChat => Box::new(chat::StreamDecoder::new(request)),
        Provider::Gemini => Box::new(gemini::StreamDecoder::new(request)),
    }
}

/// Decodes a response that arrived as a whole.
pub(crate) fn decode_whole(
    provider: Provider,
    request: u32,
    body: &[u8],
) -> Result<DecodedResponse, ResponseError> {
    let text = std::str::from_utf8(body).map_err(|_| ResponseError::invalid("the response is not UTF-8"))?;
    match provider {
        Provider::Anthropic => anthropic::whole(text),
        Provider::OpenAi | Provider::OpenAiCodex => responses::whole(text, provider),
        Provider::OpenAiChat => chat::whole(text, request),
        Provider::Gemini => gemini::whole(text, request),
    }
}

/// Parses JSON from a provider. It looks for an error first, because an error can replace any part of a
/// response.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, ResponseError> {
    if let Some(complaint) = ProviderErrorBody::found_in(text) {
        return Err(ResponseError::Reported(complaint));
    }
    serde_json::from_str(text).map_err(|error| {
        ResponseError::invalid(format!(
            "the response does not match the format (column {} of line {})",
            error.column(),
            error.line()
        ))
    })
}

/// The author of a turn, for formats in which two sides alternate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Model,
}

/// Groups the conversation into alternating turns. Consecutive entries for the model form one turn, with
/// tool results before text.
fn turns<'a>(lowering: &Lowering<'_>, entries: &'a [TranscriptEntry]) -> Vec<(Speaker, Vec<SentBlock<'a>>)> {
    let mut turns: Vec<(Speaker, Vec<SentBlock<'_>>)> = Vec::new();
    for entry in entries {
        let side = match entry.role {
            Role::User | Role::Tool => Speaker::User,
            Role::Assistant => Speaker::Model,
        };
        let blocks = sent(lowering, entry);
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, said)) if *last == side => said.extend(blocks),
            _ => turns.push((side, blocks)),
        }
    }
    turns
}

/// A block that is sent, with the images of a tool result.
#[derive(Debug, Clone, PartialEq)]
struct SentBlock<'a> {
    block: &'a Block,
    /// The blocks that follow a tool result in its entry: images, and notes in place of them.
    images: Vec<&'a Block>,
}

impl<'a> From<&'a Block> for SentBlock<'a> {
    fn from(block: &'a Block) -> Self {
        let images = Vec::new();
        Self { block, images }
    }
}

/// Returns the blocks of an entry that are sent to this provider. Images of a tool result are with the result.
///
/// Blank text is left out, because providers refuse it. Thoughts and searches are sent only to the server that
/// produced them; no other server can read their record, even one with the same format. Thoughts at the end of an
/// entry, which remain when all later blocks were left out, are removed because providers refuse them.
/// Gemini accepts them.
fn sent<'a>(lowering: &Lowering<'_>, entry: &'a TranscriptEntry) -> Vec<SentBlock<'a>> {
    let blocks = entry.blocks.iter().filter(|block| match block {
        Block::Text { text } => !text.trim().is_empty(),
        Block::ToolUse(_) | Block::ToolResult { .. } | Block::Attachment(_) => true,
        Block::WebSearch(search) => search.provider == lowering.thinking_scope && !search.opaque.is_null(),
        Block::Thinking { provider, opaque, .. } => provider == lowering.thinking_scope && !opaque.is_null(),
    });
    let mut sent: Vec<SentBlock<'a>> = Vec::new();
    for block in blocks {
        match sent.last_mut() {
            Some(result)
                if entry.role == Role::Tool
                    && matches!(result.block, Block::ToolResult { .. })
                    && !matches!(block, Block::ToolResult { .. }) =>
            {
                result.images.push(block);
            }
            _ => sent.push(block.into()),
        }
    }
    let is_thought = |last: &SentBlock<'_>| matches!(last.block, Block::Thinking { .. });
    while lowering.provider != Provider::Gemini && sent.last().is_some_and(is_thought) {
        sent.pop();
    }
    sent
}

/// Creates a thought with its provider's record. The caller replaces the provider with its scope, see
/// [`Lowering::thinker`].
fn thought(provider: Provider, text: String, opaque: Value) -> Block {
    Block::Thinking {
        provider: provider.word().to_owned(),
        text,
        opaque,
    }
}

/// Joins all system blocks into one text.
fn system(request: &ModelRequest) -> String {
    let blocks = request.system.iter().map(|block| block.text.as_str());
    let blocks = blocks.filter(|text| !text.trim().is_empty());
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// Returns the schema of a tool's arguments in the notation of this request.
fn arguments_schema<'a>(lowering: &Lowering<'_>, tool: &'a ToolSpec) -> Cow<'a, Value> {
    schema::render(&tool.input_schema, lowering.schema)
}

/// Reads a token count. A missing or invalid count is zero, so that it never fails a response.
fn count(usage: &Value, pointer: &str) -> u64 {
    let mut names = pointer.split('/').skip(1);
    let found = names.try_fold(usage, |value, name| value.get(name));
    found.and_then(Value::as_u64).unwrap_or_default()
}

/// Corrects reported token counts, so that a part never exceeds its total.
fn usage(said: Usage) -> Usage {
    let cached_read_tokens = said.cached_read_tokens.min(said.input_tokens);
    Usage {
        cached_read_tokens,
        cached_write_tokens: said
            .cached_write_tokens
            .min(said.input_tokens - cached_read_tokens),
        reasoning_tokens: said.reasoning_tokens.min(said.output_tokens),
        ..said
    }
}

/// Replaces characters in a name or id that some provider refuses. Models invent names, and sending one
/// back unchanged would make every later request of the conversation fail.
fn plain_name(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let letters = text.chars().take(NAME_CHARS_MAX);
    let name: String = letters.map(|c| if allowed(c) { c } else { '_' }).collect();
    match name.is_empty() {
        true => "_".to_owned(),
        false => name,
    }
}

/// Wraps arguments that are not an object, because some formats and servers accept only objects.
fn as_object(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            json!({ "value": input })
        }
    }
}

/// Parses arguments that a model wrote as text. Invalid JSON stays text, so that the tool's validation
/// reports it to the model.
fn arguments(text: &str) -> Value {
    match text.trim() {
        "" => json!({}),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

/// Returns an id for a call without one: the same for the same response, and different in every round.
fn own_call_id(request: u32, index: usize) -> String {
    format!("call-{request}-{index}")
}

/// Creates a text block, unless the text is empty.
fn words(text: String) -> Option<Block> {
    (!text.is_empty()).then_some(Block::Text { text })
}

fn tool_use(call_id: String, name: String, input: Value) -> Block {
    Block::ToolUse(ToolCall { call_id, name, input })
}

/// Passes text on, unless it is empty.
fn send_text(audience: &dyn DeltaSink, text: &str) {
    if !text.is_empty() {
        audience.on_text(text);
    }
}

fn too_many_blocks() -> ResponseError {
    ResponseError::invalid(format!("the response has more than {BLOCKS_MAX} blocks"))
}
