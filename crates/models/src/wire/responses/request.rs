//! Request bodies of OpenAI Responses.
//!
//! Nothing is stored at the provider unless a conversation is continued there, so every other request
//! contains its whole conversation, including thoughts.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use wakeful_core::conversation::{Attachment, Block, Role, ToolCall, ToolSpec, TranscriptEntry};
use wakeful_core::prompt::ModelRequest;

use crate::provider::Provider;
use crate::wire::answer_schema::{TextOptions, enforced_by};
use crate::wire::attachment::{AttachmentForm, carried, data_url, misplaced, quoted};
use crate::wire::web_search::{functions, uses_max};
use crate::wire::{
    Lowering, ProviderPromptCapability, ProviderThread, SentBlock, arguments_schema, as_object, freeform,
    plain_name, sent, system,
};
use wakeful_core::schema::SchemaMode;

/// Requests thoughts in a form that can be sent back.
const SEALED_THOUGHTS: &str = "reasoning.encrypted_content";

/// Requests the addresses of what a search found.
const SEARCH_SOURCES: &str = "web_search_call.action.sources";

#[derive(Debug, Serialize)]
pub(in crate::wire) struct RequestBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    instructions: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    /// Bounds the calls of the provider's own tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_calls: Option<u32>,
    /// Codex requires the field even if it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Option<Reasoning>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    store: bool,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_response_id: Option<&'a str>,
    input: Vec<Item<'a>>,
}

#[derive(Debug, Serialize)]
struct Reasoning {
    effort: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: Cow<'a, Value>,
        strict: bool,
    },
    /// A free-form tool.
    Custom {
        name: &'a str,
        description: &'a str,
        format: Format<'a>,
    },
    /// The provider's own search.
    WebSearch,
}

/// The grammar of a free-form tool's input.
#[derive(Debug, Serialize)]
struct Format<'a> {
    r#type: &'static str,
    syntax: &'static str,
    definition: &'a str,
}

impl<'a> Tool<'a> {
    fn new(lowering: &Lowering<'_>, tool: &'a ToolSpec) -> Self {
        let (name, description) = (&tool.name, &tool.description);
        match &tool.freeform {
            Some(form) if lowering.freeform => Self::Custom {
                name,
                description,
                format: Format {
                    r#type: "grammar",
                    syntax: "lark",
                    definition: &form.grammar,
                },
            },
            Some(_) | None => Self::Function {
                name,
                description,
                parameters: arguments_schema(lowering, tool),
                strict: lowering.schema == SchemaMode::Strict,
            },
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Plain(InputItem<'a>),
    /// A thought or a search, exactly as it was received.
    Raw(&'a Value),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem<'a> {
    Message {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        role: &'static str,
        content: [Content<'a>; 1],
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: String,
        name: String,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: Output<'a>,
    },
    CustomToolCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: String,
        name: String,
        input: &'a str,
    },
    CustomToolCallOutput {
        call_id: String,
        output: Output<'a>,
    },
}

/// The output of a call: parts if it has images.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(&'a str),
    Parts(Vec<Content<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    InputText {
        text: &'a str,
    },
    /// Text that is generated here.
    #[serde(rename = "input_text")]
    Note {
        text: String,
    },
    InputImage {
        image_url: String,
    },
    InputFile {
        filename: String,
        file_data: String,
    },
    OutputText {
        text: &'a str,
    },
}

impl<'a> RequestBody<'a> {
    pub(in crate::wire) fn new(lowering: &Lowering<'a>, request: &'a ModelRequest) -> Self {
        let provider = lowering.provider;
        let tools = functions(request).map(|tool| Tool::new(lowering, tool));
        let searches_max = uses_max(lowering, request);
        let search = searches_max.map(|_| Tool::WebSearch);
        let key = request.cache.prompt_cache_key.as_str();
        let key =
            Some(key).filter(|key| !key.is_empty() && lowering.may(ProviderPromptCapability::PromptCacheKey));
        let thread = match lowering.may(ProviderPromptCapability::IncrementalResponses) {
            true => lowering.thread,
            false => ProviderThread::NotKept,
        };
        let (previous_response_id, known) = match thread {
            ProviderThread::NotKept | ProviderThread::Kept => (None, 0),
            ProviderThread::Continues { response_id, items } => (Some(response_id), items),
        };
        let thinking = lowering.effort().map(|effort| Reasoning { effort });
        let (reasoning, include, max_output_tokens) = match provider {
            Provider::OpenAiCodex => (Some(thinking), Some(Vec::new()), None),
            Provider::Anthropic | Provider::OpenAi | Provider::OpenAiChat | Provider::Gemini => {
                let thoughts = lowering.asks_for_thoughts().then_some(SEALED_THOUGHTS);
                let sources = searches_max.map(|_| SEARCH_SOURCES);
                let include: Vec<&str> = thoughts.into_iter().chain(sources).collect();
                let include = Some(include).filter(|include| !include.is_empty());
                (thinking.map(Some), include, lowering.output_tokens_max)
            }
        };
        let mut calls = FreeformCalls::new(&request.tools);
        let entries = request.entries.iter();
        let items = entries.flat_map(|entry| items(lowering, &mut calls, entry));
        Self {
            model: lowering.model,
            instructions: system(request),
            tools: tools.chain(search).collect(),
            max_output_tokens,
            // Codex accepts no limits.
            max_tool_calls: searches_max.filter(|_| provider != Provider::OpenAiCodex),
            reasoning,
            text: enforced_by(lowering, request).map(TextOptions::from),
            include,
            prompt_cache_key: key,
            store: thread != ProviderThread::NotKept,
            stream: true,
            previous_response_id,
            input: items.skip(known).collect(),
        }
    }
}

/// Returns the items of a request and of its response in the form of the next request, each as it is
/// written on the wire.
pub(in crate::wire) fn answered(
    lowering: &Lowering<'_>,
    request: &ModelRequest,
    answer: &[Block],
) -> serde_json::Result<Vec<Vec<u8>>> {
    let reply = TranscriptEntry {
        role: Role::Assistant,
        blocks: answer.to_vec(),
    };
    let mut calls = FreeformCalls::new(&request.tools);
    let all = request
        .entries
        .iter()
        .chain([&reply])
        .flat_map(|entry| items(lowering, &mut calls, entry));
    all.map(|item| serde_json::to_vec(&item)).collect()
}

/// The calls of a conversation that are sent in the free form. Their results have a form of their own, and the
/// provider refuses a result in the other one.
struct FreeformCalls<'a> {
    tools: &'a [ToolSpec],
    ids: BTreeSet<&'a str>,
}

impl<'a> FreeformCalls<'a> {
    const fn new(tools: &'a [ToolSpec]) -> Self {
        let ids = BTreeSet::new();
        Self { tools, ids }
    }

    /// The text of a call, if it is sent in the free form. A call with further arguments keeps the other.
    fn text(&mut self, lowering: &Lowering<'_>, call: &'a ToolCall) -> Option<&'a str> {
        let text = freeform(lowering, self.tools, &call.name)?.text(&call.input)?;
        self.ids.insert(&call.call_id);
        Some(text)
    }
}

/// Converts an entry to items.
///
/// The provider pairs a thought with the item that followed it, by that item's id, and refuses one without
/// the other. Therefore the item is sent back with its id.
fn items<'a>(
    lowering: &Lowering<'_>,
    calls: &mut FreeformCalls<'a>,
    entry: &'a TranscriptEntry,
) -> Vec<Item<'a>> {
    let (mut items, mut next) = (Vec::new(), None);
    for SentBlock { block, images } in sent(lowering, entry) {
        let item = match block {
            Block::Thinking { opaque, .. } => {
                next = opaque.get("next").and_then(Value::as_str);
                items.extend(opaque.get("item").map(Item::Raw));
                continue;
            }
            // It has its own id.
            Block::WebSearch(search) => {
                next = None;
                items.push(Item::Raw(&search.opaque));
                continue;
            }
            Block::Text { text } => words(entry.role, text, next.take()),
            Block::Attachment(attachment) => InputItem::Message {
                id: None,
                role: "user",
                content: [attached(lowering, entry.role, attachment)],
            },
            Block::ToolUse(call) => {
                let (id, call_id, name) = (next.take(), plain_name(&call.call_id), plain_name(&call.name));
                match calls.text(lowering, call) {
                    Some(input) => InputItem::CustomToolCall {
                        id,
                        call_id,
                        name,
                        input,
                    },
                    None => InputItem::FunctionCall {
                        id,
                        call_id,
                        name,
                        arguments: as_object(&call.input).to_string(),
                    },
                }
            }
            // The format cannot mark a call as failed; the content of the result contains the failure.
            Block::ToolResult { call_id, content, .. } => {
                let output = output(lowering, content, &images);
                let is_freeform = calls.ids.contains(call_id.as_str());
                let call_id = plain_name(call_id);
                match is_freeform {
                    true => InputItem::CustomToolCallOutput { call_id, output },
                    false => InputItem::FunctionCallOutput { call_id, output },
                }
            }
        };
        items.push(Item::Plain(item));
    }
    items
}

fn words<'a>(role: Role, text: &'a str, id: Option<&'a str>) -> InputItem<'a> {
    match role {
        Role::User | Role::Tool => InputItem::Message {
            id: None,
            role: "user",
            content: [Content::InputText { text }],
        },
        Role::Assistant => InputItem::Message {
            id,
            role: "assistant",
            content: [Content::OutputText { text }],
        },
    }
}

fn output<'a>(lowering: &Lowering<'_>, content: &'a str, images: &[&'a Block]) -> Output<'a> {
    if images.is_empty() {
        return Output::Text(content);
    }
    let images = images.iter().filter_map(|block| match block {
        Block::Text { text } => Some(Content::InputText { text }),
        Block::Attachment(image) => Some(attached(lowering, Role::Tool, image)),
        Block::ToolUse(_) | Block::Thinking { .. } | Block::WebSearch(_) | Block::ToolResult { .. } => None,
    });
    let text = Content::InputText { text: content };
    Output::Parts(std::iter::once(text).chain(images).collect())
}

fn attached<'a>(lowering: &Lowering<'_>, role: Role, attachment: &'a Attachment) -> Content<'a> {
    if role == Role::Assistant {
        return Content::Note {
            text: misplaced(attachment),
        };
    }
    match carried(lowering, attachment) {
        AttachmentForm::Image { media_type, data } => Content::InputImage {
            image_url: data_url(media_type, data),
        },
        AttachmentForm::Pdf { name, data } => Content::InputFile {
            filename: name,
            file_data: data_url("application/pdf", data),
        },
        AttachmentForm::Words { name, text } => Content::Note {
            text: quoted(&name, &text),
        },
        AttachmentForm::Nothing(text) => Content::Note { text },
    }
}
