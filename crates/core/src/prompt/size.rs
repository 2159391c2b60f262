//! Estimates of a request's size in tokens. They are deliberately high: the budget reserves the estimate
//! and later releases what was not needed.

use crate::conversation::{Attachment, Block, TranscriptEntry};
use crate::json::bytes_of;
use crate::tool::{WEB_SEARCH, WEB_SEARCHES_MAX};

use super::ModelRequest;

/// Bytes of text per token. English has about four, code three, other scripts two.
pub const BYTES_PER_TOKEN: u64 = 2;

/// Tokens of an image: more than providers charge for the largest they accept.
pub const IMAGE_TOKENS: u64 = 4_000;

/// Bytes of any other document per token. Most of its bytes are not text.
pub const DOCUMENT_BYTES_PER_TOKEN: u64 = 8;

/// Bytes of a PDF per token. Its text is compressed, and each page also counts as an image.
const PDF_BYTES_PER_TOKEN: u64 = 2;

/// Tokens of the smallest document: one page, as text and as an image.
const DOCUMENT_TOKENS_MIN: u64 = 6_000;

/// Tokens that one search of the web adds to a request: providers count what they show of ten pages as input.
pub const WEB_SEARCH_TOKENS: u64 = 16_000;

/// Tokens that an entry, a system block or a tool costs in addition to its text.
pub const ENTRY_TOKENS: u64 = 16;

impl ModelRequest {
    /// How often the provider may search the web for the request.
    #[must_use]
    pub fn web_searches_max(&self) -> u64 {
        let is_offered = self.tools.iter().any(|tool| tool.name == WEB_SEARCH);
        if is_offered {
            u64::from(WEB_SEARCHES_MAX)
        } else {
            0
        }
    }

    /// A high estimate of the whole request in tokens, with what the provider may find on the web for it.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let system = self
            .system
            .iter()
            .map(|block| framed(tokens_of(block.text.len())));
        let entries = self.entries.iter().map(entry_tokens);
        let tools = self.tools.iter().map(|tool| {
            let grammar = tool
                .freeform
                .as_ref()
                .map_or(0, |freeform| freeform.grammar.len());
            let form = bytes_of(&tool.input_schema).max(grammar);
            let bytes = tool.name.len() + tool.description.len() + form;
            framed(tokens_of(bytes))
        });
        // A provider that enforces the schema shows it to the model once more.
        let answer = self.answer_schema.iter();
        let answer = answer.map(|schema| framed(tokens_of(bytes_of(schema.value()))));
        let found = self.web_searches_max().saturating_mul(WEB_SEARCH_TOKENS);
        let parts = system.chain(entries).chain(tools).chain(answer);
        parts.fold(found, u64::saturating_add)
    }
}

/// A high estimate of a text's tokens.
#[must_use]
pub fn tokens_of(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES_PER_TOKEN)
}

const fn framed(tokens: u64) -> u64 {
    tokens.saturating_add(ENTRY_TOKENS)
}

fn entry_tokens(entry: &TranscriptEntry) -> u64 {
    let blocks = entry.blocks.iter().map(block_tokens);
    framed(blocks.fold(0, u64::saturating_add))
}

fn block_tokens(block: &Block) -> u64 {
    match block {
        Block::Text { text } => tokens_of(text.len()),
        Block::ToolUse(call) => tokens_of(call.name.len() + bytes_of(&call.input)),
        Block::ToolResult { content, .. } => tokens_of(content.len()),
        Block::Thinking { text, opaque, .. } => tokens_of(text.len() + bytes_of(opaque)),
        Block::WebSearch(search) => tokens_of(bytes_of(&search.opaque)),
        Block::Attachment(attachment) => attachment_tokens(attachment),
    }
}

fn attachment_tokens(attachment: &Attachment) -> u64 {
    // Four base64 characters are three bytes.
    let bytes = attachment.data.len().div_ceil(4).saturating_mul(3);
    let named = tokens_of(attachment.name.len());
    let bare = attachment.media_type.split(';').next().unwrap_or_default();
    let kind = bare.trim().to_ascii_lowercase();
    let held = match kind.split_once('/') {
        Some(("image", _)) => IMAGE_TOKENS,
        Some(("text", _) | ("application", "json")) => tokens_of(bytes),
        Some(("application", "pdf")) => document_tokens(bytes, PDF_BYTES_PER_TOKEN),
        Some(_) | None => document_tokens(bytes, DOCUMENT_BYTES_PER_TOKEN),
    };
    named.saturating_add(held)
}

fn document_tokens(bytes: usize, bytes_per_token: u64) -> u64 {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    bytes.div_ceil(bytes_per_token).max(DOCUMENT_TOKENS_MIN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::conversation::{Role, ToolCall, ToolSpec};
    use crate::id::AgentId;
    use crate::prompt::{BlockSource, PromptBlock, PromptCache, Stability};

    fn attachment(media_type: &str, bytes: usize) -> Block {
        Block::Attachment(Attachment {
            name: String::new(),
            media_type: media_type.to_owned(),
            data: "A".repeat(bytes.div_ceil(3) * 4),
        })
    }

    fn request(entries: Vec<TranscriptEntry>) -> ModelRequest {
        let agent = AgentId::parse("main").expect("id");
        ModelRequest {
            model_ref: "demo".into(),
            request: 0,
            system: Vec::new(),
            entries,
            tools: Vec::new(),
            answer_schema: None,
            cache: PromptCache::none(agent),
        }
    }

    fn said(blocks: Vec<Block>) -> TranscriptEntry {
        TranscriptEntry {
            role: Role::User,
            blocks,
        }
    }

    #[test]
    fn text_images_and_documents_have_different_weights() {
        let text = |bytes: usize| Block::Text {
            text: "x".repeat(bytes),
        };
        let of = |block| request(vec![said(vec![block])]).estimated_tokens();
        assert_eq!(of(text(101)), 51 + ENTRY_TOKENS);
        assert_eq!(
            of(attachment("image/png", 3_000_000)),
            IMAGE_TOKENS + ENTRY_TOKENS
        );
        assert_eq!(of(attachment("application/pdf", 30_000)), 15_000 + ENTRY_TOKENS);
        assert_eq!(of(attachment("application/zip", 80_001)), 10_001 + ENTRY_TOKENS);
        for small in ["application/pdf", "Application/PDF", "application/zip", ""] {
            assert_eq!(
                of(attachment(small, 30)),
                DOCUMENT_TOKENS_MIN + ENTRY_TOKENS,
                "{small}"
            );
        }
        for words in ["text/plain", "Text/Plain; charset=utf-8", "application/json"] {
            assert_eq!(of(attachment(words, 3_000)), 1_500 + ENTRY_TOKENS, "{words}");
        }
        let mut framed = request(Vec::new());
        assert_eq!(framed.estimated_tokens(), 0);
        framed.system.push(PromptBlock {
            text: "four".into(),
            stability: Stability::Stable,
            source: BlockSource::Contract,
            cache_breakpoint: true,
        });
        framed.tools.push(ToolSpec {
            name: "ab".into(),
            description: "cd".into(),
            input_schema: json!({}),
            freeform: None,
        });
        assert_eq!(framed.estimated_tokens(), 2 + 3 + 2 * ENTRY_TOKENS);
        let before = framed.estimated_tokens();
        framed.tools[0].name = WEB_SEARCH.into();
        assert!(framed.estimated_tokens() > before + u64::from(WEB_SEARCHES_MAX) * WEB_SEARCH_TOKENS);
    }

    fn block() -> impl Strategy<Value = Block> {
        prop_oneof![
            "\\PC{0,40}".prop_map(|text| Block::Text { text }),
            "\\PC{0,40}".prop_map(|content| Block::ToolResult {
                call_id: "c".into(),
                is_error: false,
                content
            }),
            "\\PC{0,40}".prop_map(|name| Block::ToolUse(ToolCall {
                call_id: "c".into(),
                name,
                input: json!({})
            })),
            (0_usize..400).prop_map(|bytes| attachment("application/pdf", bytes)),
            Just(attachment("image/png", 10)),
        ]
    }

    proptest! {
        #[test]
        fn a_longer_conversation_is_never_estimated_smaller(
            entries in proptest::collection::vec(proptest::collection::vec(block(), 0..4), 1..8),
        ) {
            let entries: Vec<TranscriptEntry> = entries.into_iter().map(said).collect();
            let mut before = 0;
            for count in 0..=entries.len() {
                let now = request(entries[..count].to_vec()).estimated_tokens();
                prop_assert!(count == 0 || now > before, "{now} after {before}");
                before = now;
            }
        }
    }
}
