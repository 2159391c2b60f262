//! Requests and helpers for the tests of the formats.

mod answer;
mod answer_schema;
mod attachment;
mod cache;
mod freeform;
mod request;
mod thinking;
mod web_search;

use serde_json::{Value, json};
use wakeful_core::conversation::{Block, Role, ToolCall, ToolSpec, TranscriptEntry};
use wakeful_core::id::AgentId;
use wakeful_core::prompt::{BlockSource, ModelRequest, PromptBlock, PromptCache, Stability};

use super::*;

/// The optimisations that need no settings.
const USES: &[ProviderPromptCapability] = &[
    ProviderPromptCapability::PromptCacheBlocks,
    ProviderPromptCapability::PromptCacheKey,
];

/// The conversion without settings for the provider's own server.
pub(super) fn lowering(provider: Provider) -> Lowering<'static> {
    Lowering {
        provider,
        thinking_scope: provider.word(),
        model: "m",
        output_tokens_max: None,
        thinking: None,
        schema: schema::SchemaMode::Relaxed,
        own_server: true,
        uses: USES,
        sealed_thoughts: true,
        freeform: false,
        images: true,
        web_search: false,
        thread: ProviderThread::NotKept,
    }
}

/// Decodes a response that arrived as a whole.
fn answer(provider: Provider, request: u32, body: &[u8]) -> Result<ModelResponse, ResponseError> {
    decode_whole(provider, request, body).map(|heard| heard.answer)
}

/// Returns the request body as JSON.
fn sent_json(lowering: &Lowering<'_>, request: &ModelRequest) -> Value {
    let bytes = body(lowering, request).expect("a body");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn text(text: &str) -> Block {
    Block::Text {
        text: text.to_owned(),
    }
}

fn call(call_id: &str, name: &str, input: Value) -> Block {
    Block::ToolUse(ToolCall {
        call_id: call_id.to_owned(),
        name: name.to_owned(),
        input,
    })
}

fn result(call_id: &str, is_error: bool, content: &str) -> Block {
    Block::ToolResult {
        call_id: call_id.to_owned(),
        is_error,
        content: content.to_owned(),
    }
}

fn entry(role: Role, blocks: Vec<Block>) -> TranscriptEntry {
    TranscriptEntry { role, blocks }
}

/// The first request of a run: system blocks, a question and a tool.
fn opening() -> ModelRequest {
    let block = |text: &str, stability| PromptBlock {
        text: text.to_owned(),
        stability,
        source: BlockSource::Contract,
        cache_breakpoint: true,
    };
    ModelRequest {
        model_ref: "any/m".to_owned(),
        request: 0,
        system: vec![
            block("Be exact.", Stability::Stable),
            block("You are `main`.", Stability::AgentScoped),
        ],
        entries: vec![entry(Role::User, vec![text("What is here?")])],
        tools: vec![ToolSpec {
            name: "Look".to_owned(),
            description: "Looks.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"at": {"type": "string"}}}),
            freeform: None,
        }],
        answer_schema: None,
        cache: PromptCache::none(AgentId::parse("main").expect("an id")),
    }
}

/// A round with two calls, one of which failed, and the next question. It also contains what real
/// conversations contain: blank text, an unregistered tool name, and arguments that are not an object.
fn round_trip() -> ModelRequest {
    ModelRequest {
        request: 1,
        system: Vec::new(),
        tools: Vec::new(),
        entries: vec![
            entry(Role::User, vec![text("What is here?")]),
            entry(
                Role::Assistant,
                vec![
                    text("Let me look."),
                    text(" \n"),
                    call("c1", "Look", json!({"at": "."})),
                    call("c 2", "fun.ctions", json!("{not json")),
                ],
            ),
            entry(Role::Tool, vec![result("c1", false, "{\"files\":3}")]),
            entry(
                Role::Tool,
                vec![result("c 2", true, "{\"code\":\"unknown_tool\"}")],
            ),
            entry(Role::Assistant, vec![text("")]),
            entry(Role::User, vec![text("And?")]),
        ],
        ..opening()
    }
}
