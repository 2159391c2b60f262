//! The providers' own formats, and the way between them and ours.
//!
//! Each file holds the typed shape of one format: what is sent, what comes back whole, what comes back in pieces. The
//! same request always gives the same bytes. Fields that we do not know are ignored and blocks that we do not know are
//! left out, because providers add both without asking.

mod anthropic;
mod attachment;
mod chat;
mod error_body;
mod gemini;
mod lowering;
mod responses;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wakeful_core::conversation::{Block, Role, ToolCall, ToolSpec, TranscriptEntry, Usage};
use wakeful_core::prompt::ModelRequest;
use wakeful_core::schema;
use wakeful_ports::model::{DeltaSink, ModelResponse};

pub(crate) use anthropic::OUTPUT_TOKENS_MAX as ANTHROPIC_OUTPUT_TOKENS;
pub(crate) use error_body::ProviderErrorBody;
pub use lowering::{Clearable, ProviderPromptCapability, TOOL_RESULTS_KEPT, clearable};
pub(crate) use lowering::{Lowering, ProviderThread};

use crate::provider::Provider;

/// Most blocks of one answer. A reply with more calls than the core takes is refused there; this only keeps a stream of
/// empty blocks from filling memory.
const BLOCKS_MAX: usize = 1_024;

/// As long as the first body of most runs. Room for it is made at once.
const BODY_BYTES_USUAL: usize = 16 * 1024;

/// Longest name or id that every provider takes.
const NAME_CHARS_MAX: usize = 64;

/// Why a response is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResponseError {
    /// It is not what the format allows.
    Invalid(String),
    /// It ended before it was complete.
    Truncated,
    /// It is a provider's report that it failed.
    Reported(ProviderErrorBody),
    /// The model was cut off at the longest reply it may give.
    OutputLimit,
    /// The provider holds the reply back.
    Withheld(String),
}

impl ResponseError {
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self::Invalid(why.into())
    }
}

/// Puts an answer together from the events of a stream.
pub(crate) trait Decoder: Send {
    /// Takes the data of the next event.
    fn take(&mut self, data: &str, audience: &dyn DeltaSink) -> Result<StreamState, ResponseError>;

    /// The answer, once the stream has ended.
    fn end(self: Box<Self>) -> Result<DecodedResponse, ResponseError>;
}

/// An answer, and what else came with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DecodedResponse {
    pub(crate) answer: ModelResponse,
    /// The id under which the provider has it, where it says one.
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

/// Whether anything may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamState {
    /// The answer is not complete.
    More,
    /// That was the last event; what follows is not read.
    Done,
}

/// The body of a request.
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

/// What an answer makes of a conversation: its items as they are written, one by one.
pub(crate) fn items(
    lowering: &Lowering<'_>,
    entries: &[TranscriptEntry],
    answer: &[Block],
) -> serde_json::Result<Vec<Vec<u8>>> {
    responses::answered(lowering, entries, answer)
}

/// What reads a streamed answer to the request of this number.
pub(crate) fn decoder(provider: Provider, request: u32) -> Box<dyn Decoder> {
    match provider {
        Provider::Anthropic => Box::new(anthropic::StreamDecoder::default()),
        Provider::OpenAi | Provider::OpenAiCodex => Box::new(responses::StreamDecoder::new(provider)),
        Provider::OpenAiChat => Box::new(chat::StreamDecoder::new(request)),
        Provider::Gemini => Box::new(gemini::StreamDecoder::new(request)),
    }
}

/// The answer in a body that came whole.
pub(crate) fn heard(provider: Provider, request: u32, body: &[u8]) -> Result<DecodedResponse, ResponseError> {
    let text = std::str::from_utf8(body).map_err(|_| ResponseError::invalid("the response is not UTF-8"))?;
    match provider {
        Provider::Anthropic => anthropic::whole(text),
        Provider::OpenAi | Provider::OpenAiCodex => responses::whole(text, provider),
        Provider::OpenAiChat => chat::whole(text, request),
        Provider::Gemini => gemini::whole(text, request),
    }
}

/// Reads JSON from a provider. What it says instead of an answer is looked for first, because it may come in any place.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, ResponseError> {
    if let Some(complaint) = ProviderErrorBody::found_in(text) {
        return Err(ResponseError::Reported(complaint));
    }
    serde_json::from_str(text).map_err(|error| {
        ResponseError::invalid(format!(
            "the response is not what the format allows (column {} of line {})",
            error.column(),
            error.line()
        ))
    })
}

/// Who speaks, for formats that know two sides and want them in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Model,
}

/// The conversation as turns of two sides: what comes to the model stands together, results before words.
fn turns<'a>(lowering: &Lowering<'_>, entries: &'a [TranscriptEntry]) -> Vec<(Speaker, Vec<&'a Block>)> {
    let mut turns: Vec<(Speaker, Vec<&Block>)> = Vec::new();
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

/// The blocks of an entry that this provider is sent.
///
/// Words without a letter are not: providers refuse them, and they say nothing. Thoughts go to the provider alone whose
/// record they carry; nobody else could read it, also at another address of the same format. Those that nothing follows
/// stay here, because they are refused: they are what is left of a reply when everything behind them was left out. With
/// Gemini they are parts like any other.
fn sent<'a>(lowering: &Lowering<'_>, entry: &'a TranscriptEntry) -> Vec<&'a Block> {
    let blocks = entry.blocks.iter().filter(|block| match block {
        Block::Text { text } => !text.trim().is_empty(),
        Block::ToolUse(_) | Block::ToolResult { .. } | Block::Attachment(_) => true,
        Block::Thinking { provider, opaque, .. } => provider == lowering.thinker && !opaque.is_null(),
    });
    let mut blocks: Vec<&Block> = blocks.collect();
    while lowering.provider != Provider::Gemini && matches!(blocks.last(), Some(Block::Thinking { .. })) {
        blocks.pop();
    }
    blocks
}

/// A thought with its provider's record of it. Whoever asked writes down who that was, see [`Lowering::thinker`].
fn thought(provider: Provider, text: String, opaque: Value) -> Block {
    Block::Thinking {
        provider: provider.word().to_owned(),
        text,
        opaque,
    }
}

/// All system blocks as one text.
fn system(request: &ModelRequest) -> String {
    let blocks = request.system.iter().map(|block| block.text.as_str());
    let blocks = blocks.filter(|text| !text.trim().is_empty());
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// The schema of a tool's arguments, as this request spells schemas.
fn arguments_schema<'a>(lowering: &Lowering<'_>, tool: &'a ToolSpec) -> Cow<'a, Value> {
    schema::render(&tool.input_schema, lowering.schema)
}

/// A count in what a provider says of tokens. One that is missing, or is no count, is zero: it never fails an answer.
fn count(usage: &Value, pointer: &str) -> u64 {
    let mut names = pointer.split('/').skip(1);
    let found = names.try_fold(usage, |value, name| value.get(name));
    found.and_then(Value::as_u64).unwrap_or_default()
}

/// The tokens of an answer. A part is never more than what it is a part of, whatever a provider says.
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

/// A name or id in the letters that every provider takes. Models invent names, and one that is sent back as it was
/// spelled would have every later request of its thread refused.
fn plain_name(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let letters = text.chars().take(NAME_CHARS_MAX);
    let name: String = letters.map(|c| if allowed(c) { c } else { '_' }).collect();
    match name.is_empty() {
        true => "_".to_owned(),
        false => name,
    }
}

/// Arguments as an object: some formats take nothing else, and some servers read even those that come as text.
fn as_object(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            json!({ "value": input })
        }
    }
}

/// Arguments that a model wrote as text. What is no JSON stays text: the tool's check then says so to the model.
fn arguments(text: &str) -> Value {
    match text.trim() {
        "" => json!({}),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

/// The id of a call to which the provider gave none: the same for the same reply, and new in every round.
fn own_call_id(request: u32, index: usize) -> String {
    format!("call-{request}-{index}")
}

/// A block of words, unless there are none.
fn words(text: String) -> Option<Block> {
    (!text.is_empty()).then_some(Block::Text { text })
}

fn tool_use(call_id: String, name: String, input: Value) -> Block {
    Block::ToolUse(ToolCall { call_id, name, input })
}

/// Tells the audience, unless there is nothing to tell.
fn tell(audience: &dyn DeltaSink, text: &str) {
    if !text.is_empty() {
        audience.on_text(text);
    }
}

fn too_many_blocks() -> ResponseError {
    ResponseError::invalid(format!("the answer has more than {BLOCKS_MAX} blocks"))
}
