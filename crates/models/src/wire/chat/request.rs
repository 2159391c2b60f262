//! Request bodies of Chat Completions.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use wakeful_core::conversation::{Attachment, Block, Role, TranscriptEntry};
use wakeful_core::prompt::ModelRequest;
use wakeful_core::schema::SchemaMode;

use crate::wire::answer_schema::{ResponseFormat, enforced_by};
use crate::wire::attachment::{AttachmentForm, carried, data_url, misplaced, quoted};
use crate::wire::web_search::functions;
use crate::wire::{
    Lowering, ProviderPromptCapability, arguments_schema, as_object, plain_name, sent, system,
};

#[derive(Debug, Serialize)]
pub(in crate::wire) struct RequestBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    /// The output limit in the field that OpenAI uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    /// The output limit in the older field, which all other servers support.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    messages: Vec<Message<'a>>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function { function: Function<'a> },
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: String,
    },
    User {
        content: Content,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call>,
    },
    Tool {
        tool_call_id: String,
        content: &'a str,
    },
}

/// Content that is only text is sent as a string, because not every server supports parts.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content {
    Words(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
    File { file: File },
}

#[derive(Debug, Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Debug, Serialize)]
struct File {
    filename: String,
    file_data: String,
}

#[derive(Debug, Serialize)]
struct Call {
    id: String,
    r#type: &'static str,
    function: CalledFunction,
}

#[derive(Debug, Serialize)]
struct CalledFunction {
    name: String,
    arguments: String,
}

impl<'a> RequestBody<'a> {
    pub(in crate::wire) fn new(lowering: &Lowering<'a>, request: &'a ModelRequest) -> Self {
        // Relaxed is the default, so only OpenAI receives the field.
        let strict = match lowering.schema {
            SchemaMode::Strict => Some(true),
            SchemaMode::Relaxed => lowering.own_server.then_some(false),
        };
        let tools = functions(request).map(|tool| Tool::Function {
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: arguments_schema(lowering, tool),
                strict,
            },
        });
        let key = request.cache.prompt_cache_key.as_str();
        let key =
            Some(key).filter(|key| !key.is_empty() && lowering.may(ProviderPromptCapability::PromptCacheKey));
        let system = Some(system(request)).filter(|content| !content.is_empty());
        let system = system.map(|content| Message::System { content });
        let said = conversation(&request.entries, lowering);
        Self {
            model: lowering.model,
            tools: tools.collect(),
            max_completion_tokens: lowering.output_tokens_max.filter(|_| lowering.own_server),
            max_tokens: lowering.output_tokens_max.filter(|_| !lowering.own_server),
            reasoning_effort: lowering.effort(),
            response_format: enforced_by(lowering, request).map(|schema| ResponseFormat::JsonSchema {
                json_schema: schema.into(),
            }),
            prompt_cache_key: key,
            messages: system.into_iter().chain(said).collect(),
            stream: true,
            stream_options: StreamOptions { include_usage: true },
        }
    }
}

/// Converts the conversation to messages. Tool messages hold text alone and must follow their calls without
/// another message between them, so the images of all results follow in one message.
fn conversation<'a>(entries: &'a [TranscriptEntry], lowering: &Lowering<'_>) -> Vec<Message<'a>> {
    let (mut said, mut images) = (Vec::new(), Vec::new());
    for entry in entries {
        if entry.role != Role::Tool {
            said.extend(user(std::mem::take(&mut images)));
        }
        said.extend(messages(entry, lowering, &mut images));
    }
    said.extend(user(images));
    said
}

fn user<'a>(parts: Vec<Part>) -> Option<Message<'a>> {
    (!parts.is_empty()).then_some(Message::User {
        content: Content::Parts(parts),
    })
}

/// Converts an entry to messages: one per tool result, and one for text and calls together. Adds the images
/// of tool results to `images`.
fn messages<'a>(
    entry: &'a TranscriptEntry,
    lowering: &Lowering<'_>,
    images: &mut Vec<Part>,
) -> Vec<Message<'a>> {
    let mut messages = Vec::new();
    let (mut parts, mut tool_calls) = (Vec::new(), Vec::new());
    for sent in sent(lowering, entry) {
        match sent.block {
            Block::Text { text } => parts.push(Part::Text { text: text.clone() }),
            // Servers that return thoughts do not accept them in requests.
            Block::Thinking { .. } | Block::WebSearch(_) => {}
            Block::Attachment(attachment) => parts.push(attached(lowering, entry.role, attachment)),
            Block::ToolUse(call) => tool_calls.push(Call {
                id: plain_name(&call.call_id),
                r#type: "function",
                function: CalledFunction {
                    name: plain_name(&call.name),
                    arguments: as_object(&call.input).to_string(),
                },
            }),
            // The format cannot mark a call as failed; the content of the result contains the failure.
            Block::ToolResult { call_id, content, .. } => {
                let tool_call_id = plain_name(call_id);
                if !sent.images.is_empty() {
                    let text = format!("[attachments of the result of {tool_call_id}]");
                    images.push(Part::Text { text });
                }
                images.extend(sent.images.iter().filter_map(|block| match block {
                    Block::Text { text } => Some(Part::Text { text: text.clone() }),
                    Block::Attachment(image) => Some(attached(lowering, Role::Tool, image)),
                    Block::ToolUse(_)
                    | Block::Thinking { .. }
                    | Block::WebSearch(_)
                    | Block::ToolResult { .. } => None,
                }));
                messages.push(Message::Tool {
                    tool_call_id,
                    content,
                });
            }
        }
    }
    let spoken = match words(&parts) {
        Some(words) => Some(Content::Words(words)).filter(|_| !parts.is_empty()),
        None => Some(Content::Parts(parts)),
    };
    match (entry.role, spoken) {
        (Role::User | Role::Tool, spoken) => messages.extend(spoken.map(|content| Message::User { content })),
        (Role::Assistant, None) if tool_calls.is_empty() => {}
        (Role::Assistant, spoken) => messages.push(Message::Assistant {
            content: spoken.and_then(|content| match content {
                Content::Words(words) => Some(words),
                Content::Parts(_) => None,
            }),
            tool_calls,
        }),
    }
    messages
}

/// Joins parts into one string, if all of them are text.
fn words(parts: &[Part]) -> Option<String> {
    let texts = parts.iter().map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::ImageUrl { .. } | Part::File { .. } => None,
    });
    let texts: Option<Vec<&str>> = texts.collect();
    texts.map(|texts| texts.join("\n"))
}

fn attached(lowering: &Lowering<'_>, role: Role, attachment: &Attachment) -> Part {
    if role == Role::Assistant {
        return Part::Text {
            text: misplaced(attachment),
        };
    }
    match carried(lowering, attachment) {
        AttachmentForm::Image { media_type, data } => Part::ImageUrl {
            image_url: ImageUrl {
                url: data_url(media_type, data),
            },
        },
        AttachmentForm::Pdf { name, data } => Part::File {
            file: File {
                filename: name,
                file_data: data_url("application/pdf", data),
            },
        },
        AttachmentForm::Words { name, text } => Part::Text {
            text: quoted(&name, &text),
        },
        AttachmentForm::Nothing(text) => Part::Text { text },
    }
}
