//! The providers' own search of the web, which they perform while they write a reply.

use wakeful_core::conversation::{Block, SEARCH_QUERY_CHARS_MAX, SEARCH_SOURCES_MAX, ToolSpec, WebSearch};
use wakeful_core::failure::truncate_chars;
use wakeful_core::prompt::ModelRequest;
use wakeful_core::tool::{WEB_SEARCH, WEB_SEARCHES_MAX};

use super::Lowering;
use crate::provider::Provider;

/// The prefix of the names of Gemini's models that search beside function calls.
const GEMINI_MODELS: &str = "gemini-3";

/// Whether a model at its provider's own server can search: known from the format and the model's name. Chat
/// Completions has no search beside function calls.
pub(crate) fn is_known_to_search(provider: Provider, model: &str) -> bool {
    match provider {
        Provider::Anthropic | Provider::OpenAi => true,
        Provider::Gemini => model.starts_with(GEMINI_MODELS),
        Provider::OpenAiCodex | Provider::OpenAiChat => false,
    }
}

/// The tools that the model calls. The provider's search is not one of them.
pub(super) fn functions(request: &ModelRequest) -> impl Iterator<Item = &ToolSpec> {
    request.tools.iter().filter(|tool| tool.name != WEB_SEARCH)
}

/// How often the provider may search for this request; none if it may not.
pub(super) fn uses_max(lowering: &Lowering<'_>, request: &ModelRequest) -> Option<u32> {
    let is_offered = request.tools.iter().any(|tool| tool.name == WEB_SEARCH);
    (lowering.web_search && is_offered).then_some(WEB_SEARCHES_MAX)
}

/// A search in the form in which it is sent back. The caller replaces the provider with its scope.
pub(super) fn search(query: &str, mut sources: Vec<String>, opaque: serde_json::Value) -> Block {
    sources.truncate(SEARCH_SOURCES_MAX);
    Block::WebSearch(WebSearch {
        provider: String::new(),
        query: truncate_chars(query, SEARCH_QUERY_CHARS_MAX),
        sources,
        opaque,
    })
}

/// Joins texts that follow each other in a reply with a search: the provider splits sentences at its
/// citations.
pub(super) fn join_texts(blocks: Vec<Block>) -> Vec<Block> {
    if !blocks.iter().any(|block| matches!(block, Block::WebSearch(_))) {
        return blocks;
    }
    let mut joined: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks {
        match (joined.last_mut(), block) {
            (Some(Block::Text { text }), Block::Text { text: more }) => text.push_str(&more),
            (_, block) => joined.push(block),
        }
    }
    joined
}
