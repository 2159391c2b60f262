//! Request bodies of Anthropic Messages.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use wakeful_core::conversation::{Attachment, Block};
use wakeful_core::prompt::{ModelRequest, PromptBlock, Stability};

use crate::thinking::ThinkingRequest;
use crate::wire::answer_schema::{OutputFormat, enforced_by};
use crate::wire::attachment::{AttachmentForm, carried, misplaced};
use crate::wire::web_search::{functions, uses_max};
use crate::wire::{
    Lowering, ProviderPromptCapability, SentBlock, Speaker, arguments_schema, as_object, plain_name, turns,
};

/// Default output limit. The format requires a number, and every available model accepts this one.
pub(crate) const OUTPUT_TOKENS_MAX: u32 = 8_192;

/// The role of everything that the model did not write.
const USER: &str = "user";

/// The context edit with which the provider removes old tool results from the model's input.
const CLEAR_TOOL_USES: &str = "clear_tool_uses_20250919";

/// The version of the provider's search that needs no other tool of the provider.
const WEB_SEARCH: &str = "web_search_20250305";

#[derive(Debug, Serialize)]
pub(in crate::wire) struct RequestBody<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_management: Option<ContextManagement>,
    messages: Vec<Message<'a>>,
    stream: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Disabled,
    /// A budget of at most this many tokens.
    Enabled {
        budget_tokens: u32,
    },
    /// The model decides how much to think, guided by the requested effort.
    Adaptive,
}

#[derive(Debug, Serialize)]
struct OutputConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat>,
}

impl OutputConfig {
    fn new(effort: Option<&'static str>, format: Option<OutputFormat>) -> Option<Self> {
        (effort.is_some() || format.is_some()).then_some(Self { effort, format })
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        input_schema: Cow<'a, Value>,
    },
    /// The provider's own search.
    WebSearch {
        r#type: &'static str,
        name: &'static str,
        max_uses: u32,
    },
}

#[derive(Debug, Serialize)]
struct ContextManagement {
    edits: [Edit; 1],
}

#[derive(Debug, Serialize)]
struct Edit {
    r#type: &'static str,
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Content<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Plain(CacheableBlock<'a>),
    /// A thought, exactly as it was received. It cannot have a cache mark.
    Thought(&'a Value),
    /// A part of a search, exactly as it was received.
    Search(&'a Value),
}

/// A block that can end a cached prefix.
#[derive(Debug, Serialize)]
struct CacheableBlock<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text {
        text: &'a str,
    },
    /// Text that is generated here.
    #[serde(rename = "text")]
    Note {
        text: String,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
        title: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: ResultContent<'a>,
        is_error: bool,
    },
}

/// The content of a tool result: blocks if it has images.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(&'a str),
    Blocks(Vec<Content<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'static str, data: &'a str },
    Text { media_type: &'static str, data: String },
}

/// The functions, and the provider's search if it is offered.
fn tools<'a>(lowering: &Lowering<'_>, request: &'a ModelRequest) -> Vec<Tool<'a>> {
    let functions = functions(request).map(|tool| Tool::Function {
        name: &tool.name,
        description: &tool.description,
        input_schema: arguments_schema(lowering, tool),
    });
    let search = uses_max(lowering, request).map(|max_uses| Tool::WebSearch {
        r#type: WEB_SEARCH,
        name: "web_search",
        max_uses,
    });
    functions.chain(search).collect()
}

/// The format of the answer, if the provider enforces a schema.
fn output_format(lowering: &Lowering<'_>, request: &ModelRequest) -> Option<OutputFormat> {
    let schema = enforced_by(lowering, request)?;
    Some(OutputFormat::JsonSchema {
        schema: schema.schema,
    })
}

impl<'a> RequestBody<'a> {
    pub(in crate::wire) fn new(lowering: &Lowering<'a>, request: &'a ModelRequest) -> Self {
        let may = |capability| lowering.may(capability);
        let turns = turns(lowering, &request.entries).into_iter();
        let messages = turns.map(|(side, blocks)| Message {
            role: match side {
                Speaker::User => USER,
                Speaker::Model => "assistant",
            },
            content: blocks
                .into_iter()
                .map(|block| content(lowering, side, block))
                .collect(),
        });
        let (thinking, effort) = match lowering.thinking {
            None => (None, None),
            Some(ThinkingRequest::Nothing) => (Some(Thinking::Disabled), None),
            Some(ThinkingRequest::Tokens(budget_tokens)) => (Some(Thinking::Enabled { budget_tokens }), None),
            Some(ThinkingRequest::Effort(effort)) => (Some(Thinking::Adaptive), Some(effort.word())),
        };
        let mut body = Self {
            model: lowering.model,
            max_tokens: lowering.output_tokens_max.unwrap_or(OUTPUT_TOKENS_MAX),
            thinking,
            output_config: OutputConfig::new(effort, output_format(lowering, request)),
            system: Vec::new(),
            tools: tools(lowering, request),
            context_management: may(ProviderPromptCapability::ContextManagement).then_some(
                ContextManagement {
                    edits: [Edit {
                        r#type: CLEAR_TOOL_USES,
                    }],
                },
            ),
            messages: messages.collect(),
            stream: true,
        };
        let blocks: Vec<&PromptBlock> = request
            .system
            .iter()
            .filter(|block| !block.text.trim().is_empty())
            .collect();
        let ends = match may(ProviderPromptCapability::PromptCacheBlocks) {
            true => breakpoints(&blocks),
            false => Vec::new(),
        };
        body.system = blocks
            .iter()
            .enumerate()
            .map(|(index, block)| {
                Content::Plain(CacheableBlock {
                    kind: Kind::Text { text: &block.text },
                    cache_control: ends.contains(&index).then_some(CacheControl::Ephemeral),
                })
            })
            .collect();
        if matches!(thinking, Some(Thinking::Enabled { .. })) && !body.may_think() {
            body.thinking = None;
        }
        // If the request has no cached prefix, the conversation gets no cache mark either: writing to the
        // cache costs more than reading.
        if !ends.is_empty() {
            body.mark_newest();
        }
        body
    }

    /// Whether the request may use a thinking budget. After a tool call, the provider requires that the
    /// first response to the last question began with a thought, which is not the case if another model
    /// wrote it. The restriction ends with the next question.
    fn may_think(&self) -> bool {
        let asks = |message: &Message<'_>| message.role == USER && !message.content.iter().any(is_result);
        let question = self.messages.iter().rposition(asks);
        let reply = question.and_then(|at| self.messages.get(at + 1));
        reply.is_none_or(|reply| matches!(reply.content.first(), Some(Content::Thought(_))))
    }

    /// Marks the newest block that can have a mark, so that the next request finds all of this one in the
    /// cache.
    fn mark_newest(&mut self) {
        let newest = self
            .messages
            .last_mut()
            .into_iter()
            .flat_map(|message| message.content.iter_mut().rev());
        let mut markable = newest.filter_map(|content| match content {
            Content::Plain(block) => Some(block),
            Content::Thought(_) | Content::Search(_) => None,
        });
        if let Some(block) = markable.next() {
            block.cache_control = Some(CacheControl::Ephemeral);
        }
    }
}

fn is_result(content: &Content<'_>) -> bool {
    match content {
        Content::Plain(block) => matches!(block.kind, Kind::ToolResult { .. }),
        Content::Thought(_) | Content::Search(_) => false,
    }
}

/// Returns where cached prefixes end: after the last marked block of each stability. Tools come before all
/// of them. Together with the mark in the conversation there are at most four, which is the provider's
/// limit.
fn breakpoints(blocks: &[&PromptBlock]) -> Vec<usize> {
    let last = |stability| {
        blocks
            .iter()
            .rposition(|block| block.stability == stability && block.cache_breakpoint)
    };
    let stabilities = [Stability::Stable, Stability::AgentScoped, Stability::TurnScoped];
    stabilities.into_iter().filter_map(last).collect()
}

fn content<'a>(lowering: &Lowering<'_>, side: Speaker, sent: SentBlock<'a>) -> Content<'a> {
    let kind = match sent.block {
        Block::Thinking { opaque, .. } => return Content::Thought(opaque),
        Block::WebSearch(search) => return Content::Search(&search.opaque),
        Block::Text { text } => Kind::Text { text },
        Block::Attachment(attachment) => attached(lowering, side, attachment),
        Block::ToolUse(call) => Kind::ToolUse {
            id: plain_name(&call.call_id),
            name: plain_name(&call.name),
            input: as_object(&call.input),
        },
        Block::ToolResult {
            call_id,
            is_error,
            content,
        } => Kind::ToolResult {
            tool_use_id: plain_name(call_id),
            content: match sent.images.is_empty() {
                true => ResultContent::Text(content),
                false => {
                    let text = Content::from(Kind::Text { text: content });
                    let images = sent.images.into_iter().map(SentBlock::from);
                    let images = images.map(|image| self::content(lowering, side, image));
                    ResultContent::Blocks(std::iter::once(text).chain(images).collect())
                }
            },
            is_error: *is_error,
        },
    };
    kind.into()
}

impl<'a> From<Kind<'a>> for Content<'a> {
    fn from(kind: Kind<'a>) -> Self {
        let cache_control = None;
        Self::Plain(CacheableBlock { kind, cache_control })
    }
}

fn attached<'a>(lowering: &Lowering<'_>, side: Speaker, attachment: &'a Attachment) -> Kind<'a> {
    if side == Speaker::Model {
        return Kind::Note {
            text: misplaced(attachment),
        };
    }
    match carried(lowering, attachment) {
        AttachmentForm::Image { media_type, data } => Kind::Image {
            source: Source::Base64 { media_type, data },
        },
        AttachmentForm::Pdf { name, data } => Kind::Document {
            source: Source::Base64 {
                media_type: "application/pdf",
                data,
            },
            title: name,
        },
        AttachmentForm::Words { name, text } => Kind::Document {
            source: Source::Text {
                media_type: "text/plain",
                data: text,
            },
            title: name,
        },
        AttachmentForm::Nothing(text) => Kind::Note { text },
    }
}
