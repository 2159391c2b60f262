//! Request bodies of Gemini.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use wakeful_core::conversation::{Attachment, Block};
use wakeful_core::prompt::ModelRequest;

use crate::thinking::ThinkingRequest;
use crate::wire::answer_schema::enforced_by;
use crate::wire::attachment::{AttachmentForm, carried, misplaced};
use crate::wire::web_search::{functions, uses_max};
use crate::wire::{Lowering, SentBlock, Speaker, arguments_schema, as_object, plain_name, turns};

/// Replaces the signature of a call that another provider's model made. The provider documents this value;
/// without it, models that require signatures refuse the whole conversation.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The prefix of the names of models that require signatures.
const SIGNED_MODELS: &str = "gemini-3";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::wire) struct RequestBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<GenerationConfig>,
    contents: Vec<Content<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    /// Not `responseSchema`, which supports only a part of JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum ThinkingConfig {
    /// A budget in tokens; 0 turns thinking off.
    ThinkingBudget(u32),
    ThinkingLevel(&'static str),
}

impl GenerationConfig {
    /// Returns the settings, if any are configured.
    fn new(lowering: &Lowering<'_>, request: &ModelRequest) -> Option<Self> {
        let thinking_config = lowering.thinking.map(|thinking| match thinking {
            ThinkingRequest::Nothing => ThinkingConfig::ThinkingBudget(0),
            ThinkingRequest::Tokens(tokens) => ThinkingConfig::ThinkingBudget(tokens),
            ThinkingRequest::Effort(effort) => ThinkingConfig::ThinkingLevel(effort.level()),
        });
        let max_output_tokens = lowering.output_tokens_max;
        let schema = enforced_by(lowering, request).map(|schema| schema.schema);
        (max_output_tokens.is_some() || thinking_config.is_some() || schema.is_some()).then_some(Self {
            max_output_tokens,
            thinking_config,
            response_mime_type: schema.is_some().then_some("application/json"),
            response_json_schema: schema,
        })
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    function_declarations: Vec<Declaration<'a>>,
    /// The provider's own search. The format has no limit of its uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    google_search: Option<GoogleSearch>,
}

#[derive(Debug, Serialize)]
struct GoogleSearch {}

/// Returns the parts of searches, which the provider requires beside function calls.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    include_server_side_tool_invocations: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    /// Not `parameters`, which supports only a part of JSON Schema.
    parameters_json_schema: Cow<'a, Value>,
}

#[derive(Debug, Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<Part<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Kind<'a> {
    Text(&'a str),
    /// Text that is generated here.
    #[serde(rename = "text")]
    Note(String),
    #[serde(rename_all = "camelCase")]
    InlineData {
        mime_type: &'static str,
        data: &'a str,
    },
    FunctionCall {
        name: String,
        args: Value,
    },
    FunctionResponse {
        name: String,
        response: Value,
    },
    /// A part of a search, exactly as it was received.
    #[serde(untagged)]
    Search(&'a Value),
}

impl<'a> From<Kind<'a>> for Part<'a> {
    fn from(kind: Kind<'a>) -> Self {
        Self {
            kind,
            thought_signature: None,
        }
    }
}

impl<'a> RequestBody<'a> {
    pub(in crate::wire) fn new(lowering: &Lowering<'a>, request: &'a ModelRequest) -> Self {
        let system = request
            .system
            .iter()
            .filter(|block| !block.text.trim().is_empty());
        let system: Vec<Part<'a>> = system.map(|block| Kind::Text(&block.text).into()).collect();
        let declarations = functions(request).map(|tool| Declaration {
            name: &tool.name,
            description: &tool.description,
            parameters_json_schema: arguments_schema(lowering, tool),
        });
        let declarations: Vec<Declaration<'a>> = declarations.collect();
        let searches = uses_max(lowering, request).is_some();
        let signs = lowering.model.starts_with(SIGNED_MODELS);
        let mut names = BTreeMap::new();
        let mut contents = Vec::new();
        for (side, blocks) in turns(lowering, &request.entries) {
            let mut parts = parts(lowering, side, &blocks, &mut names);
            if signs && side == Speaker::Model {
                add_placeholder_signature(&mut parts);
            }
            contents.push(Content {
                role: Some(match side {
                    Speaker::User => "user",
                    Speaker::Model => "model",
                }),
                parts,
            });
        }
        Self {
            system_instruction: (!system.is_empty()).then_some(Content {
                role: None,
                parts: system,
            }),
            tools: (searches || !declarations.is_empty()).then_some([Tools {
                function_declarations: declarations,
                google_search: searches.then_some(GoogleSearch {}),
            }]),
            tool_config: searches.then_some(ToolConfig {
                include_server_side_tool_invocations: true,
            }),
            generation_config: GenerationConfig::new(lowering, request),
            contents,
        }
    }
}

/// The first call of a response carries the signature for all of its calls. If it has none, this sets the
/// placeholder [`NO_SIGNATURE`].
fn add_placeholder_signature(parts: &mut [Part<'_>]) {
    let mut calls = parts
        .iter_mut()
        .filter(|part| matches!(part.kind, Kind::FunctionCall { .. }));
    if let Some(first) = calls.next() {
        first.thought_signature = first.thought_signature.or(Some(NO_SIGNATURE));
    }
}

/// Converts blocks to parts. A thought becomes a signature on the part after it, or an empty text part with
/// a signature.
///
/// Results are matched to calls by name and order, so `names` maps the ids of earlier calls to their names.
fn parts<'a>(
    lowering: &Lowering<'_>,
    side: Speaker,
    blocks: &[SentBlock<'a>],
    names: &mut BTreeMap<&'a str, &'a str>,
) -> Vec<Part<'a>> {
    let (mut parts, mut signature) = (Vec::new(), None);
    // The images of a result follow it, because the format's results are JSON.
    let blocks = blocks
        .iter()
        .flat_map(|sent| std::iter::once(&sent.block).chain(&sent.images));
    for block in blocks.copied() {
        let kind = match block {
            Block::Thinking { opaque, .. } => {
                match (
                    opaque.as_str(),
                    opaque.get("thoughtSignature").and_then(Value::as_str),
                ) {
                    (Some(next), _) => signature = Some(next),
                    (None, own) => parts.extend(own.map(|own| Part {
                        kind: Kind::Text(""),
                        thought_signature: Some(own),
                    })),
                }
                continue;
            }
            Block::WebSearch(search) => {
                // Its signature is part of it.
                parts.push(Kind::Search(&search.opaque).into());
                continue;
            }
            Block::Text { text } => Kind::Text(text),
            Block::Attachment(attachment) => attached(lowering, side, attachment),
            Block::ToolUse(call) => {
                names.insert(&call.call_id, &call.name);
                Kind::FunctionCall {
                    name: plain_name(&call.name),
                    args: as_object(&call.input),
                }
            }
            Block::ToolResult {
                call_id,
                is_error,
                content,
            } => Kind::FunctionResponse {
                name: plain_name(names.get(call_id.as_str()).copied().unwrap_or_default()),
                response: match is_error {
                    true => json!({ "error": content }),
                    false => json!({ "output": content }),
                },
            },
        };
        parts.push(Part {
            kind,
            thought_signature: signature.take(),
        });
    }
    parts
}

fn attached<'a>(lowering: &Lowering<'_>, side: Speaker, attachment: &'a Attachment) -> Kind<'a> {
    if side == Speaker::Model {
        return Kind::Note(misplaced(attachment));
    }
    match carried(lowering, attachment) {
        AttachmentForm::Image { media_type, data } => Kind::InlineData {
            mime_type: media_type,
            data,
        },
        AttachmentForm::Pdf { data, .. } => Kind::InlineData {
            mime_type: "application/pdf",
            data,
        },
        AttachmentForm::Words { .. } => Kind::InlineData {
            mime_type: "text/plain",
            data: &attachment.data,
        },
        AttachmentForm::Nothing(text) => Kind::Note(text),
    }
}
