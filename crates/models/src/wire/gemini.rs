//! Gemini `generateContent`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wakeful_core::conversation::{Block, Usage};
use wakeful_core::prompt::Request;
use wakeful_ports::model::{Answer, Audience};

use super::{
    BLOCKS_MAX, Decoder, Fault, Flow, Side, as_object, own_call_id, plain_name, read, tell, too_many_blocks,
    tool_use, turns,
};

/// Reasons to finish with which the provider says that the rest is held back.
const WITHHELD: [&str; 7] = [
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "OTHER",
];

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    contents: Vec<Content<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    /// Not `parameters`, which takes a part of the schema language only.
    parameters_json_schema: &'a Value,
}

#[derive(Debug, Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<Part<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Part<'a> {
    Text(&'a str),
    FunctionCall { name: String, args: Value },
    FunctionResponse { name: String, response: Value },
}

impl<'a> Body<'a> {
    pub(super) fn new(request: &'a Request) -> Self {
        let system = request.system.iter().map(|block| Part::Text(&block.text));
        let system: Vec<Part<'a>> = system.collect();
        let declarations = request.tools.iter().map(|tool| Declaration {
            name: &tool.name,
            description: &tool.description,
            parameters_json_schema: &tool.input_schema,
        });
        let declarations: Vec<Declaration<'a>> = declarations.collect();
        let mut names = BTreeMap::new();
        let mut contents = Vec::new();
        for (side, blocks) in turns(&request.entries) {
            contents.push(Content {
                role: Some(match side {
                    Side::User => "user",
                    Side::Model => "model",
                }),
                parts: blocks.into_iter().map(|block| part(block, &mut names)).collect(),
            });
        }
        Self {
            system_instruction: (!system.is_empty()).then_some(Content {
                role: None,
                parts: system,
            }),
            tools: (!declarations.is_empty()).then_some([Tools {
                function_declarations: declarations,
            }]),
            contents,
        }
    }
}

/// A block as a part. Results are paired by name and order, so the names of earlier calls are kept by their ids.
fn part<'a>(block: &'a Block, names: &mut BTreeMap<&'a str, &'a str>) -> Part<'a> {
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => Part::Text(text),
        Block::Attachment(attachment) => Part::Text(&attachment.name),
        Block::ToolUse(call) => {
            names.insert(&call.call_id, &call.name);
            Part::FunctionCall {
                name: plain_name(&call.name),
                args: as_object(&call.input),
            }
        }
        Block::ToolResult {
            call_id,
            is_error,
            content,
        } => Part::FunctionResponse {
            name: plain_name(names.get(call_id.as_str()).copied().unwrap_or_default()),
            response: match is_error {
                true => json!({ "error": content }),
                false => json!({ "output": content }),
            },
        },
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    candidates: Vec<Candidate>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Counted>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    index: u64,
    #[serde(default)]
    content: Heard,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Heard {
    #[serde(default)]
    parts: Vec<HeardPart>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeardPart {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    function_call: Option<Called>,
}

#[derive(Debug, Deserialize)]
struct Called {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

pub(super) fn whole(text: &str, request: u32) -> Result<Answer, Fault> {
    let mut stream = Stream::new(request);
    stream.add(read(text)?, &wakeful_ports::model::NoAudience)?;
    match stream.finish_reason {
        Some(_) => Box::new(stream).end(),
        None => Err(Fault::invalid("the response has no finish reason")),
    }
}

/// An answer that comes in pieces. The format has no last event: the finish reason says that it is complete.
#[derive(Debug)]
pub(super) struct Stream {
    request: u32,
    blocks: Vec<Block>,
    usage: Counted,
    finish_reason: Option<String>,
}

impl Stream {
    pub(super) const fn new(request: u32) -> Self {
        Self {
            request,
            blocks: Vec::new(),
            usage: Counted {
                prompt_token_count: None,
                candidates_token_count: None,
                thoughts_token_count: None,
            },
            finish_reason: None,
        }
    }

    fn add(&mut self, chunk: Chunk, audience: &dyn Audience) -> Result<(), Fault> {
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            return Err(Fault::Withheld(reason));
        }
        self.usage = chunk.usage_metadata.unwrap_or(self.usage);
        // One answer was asked for.
        for candidate in chunk
            .candidates
            .into_iter()
            .filter(|candidate| candidate.index == 0)
        {
            for part in candidate.content.parts.into_iter().filter(|part| !part.thought) {
                self.add_part(part, audience)?;
            }
            self.finish_reason = candidate.finish_reason.or(self.finish_reason.take());
        }
        Ok(())
    }

    fn add_part(&mut self, part: HeardPart, audience: &dyn Audience) -> Result<(), Fault> {
        if self.blocks.len() >= BLOCKS_MAX {
            return Err(too_many_blocks());
        }
        let more = part.text.unwrap_or_default();
        tell(audience, &more);
        match self.blocks.last_mut() {
            _ if more.is_empty() => {}
            Some(Block::Text { text }) => text.push_str(&more),
            Some(
                Block::ToolUse(_) | Block::ToolResult { .. } | Block::Thinking { .. } | Block::Attachment(_),
            )
            | None => {
                self.blocks.push(Block::Text { text: more });
            }
        }
        if let Some(call) = part.function_call {
            let id = call.id.filter(|id| !id.is_empty());
            let id = id.unwrap_or_else(|| own_call_id(self.request, self.blocks.len()));
            let args = call.args.unwrap_or_else(|| json!({}));
            self.blocks.push(tool_use(id, call.name, args));
        }
        Ok(())
    }
}

impl Decoder for Stream {
    fn take(&mut self, data: &str, audience: &dyn Audience) -> Result<Flow, Fault> {
        self.add(read(data)?, audience)?;
        Ok(Flow::More)
    }

    fn end(self: Box<Self>) -> Result<Answer, Fault> {
        match self.finish_reason.as_deref() {
            None => return Err(Fault::Truncated),
            Some("MAX_TOKENS") => return Err(Fault::OutputLimit),
            Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") => {
                return Err(Fault::invalid(
                    "the model wrote a tool call that its provider cannot read",
                ));
            }
            // New reasons come without notice: one that we do not know takes nothing away from what was said.
            Some(reason) if WITHHELD.contains(&reason) || (reason != "STOP" && self.blocks.is_empty()) => {
                return Err(Fault::Withheld(reason.to_owned()));
            }
            Some(_) => {}
        }
        let thoughts = self.usage.thoughts_token_count.unwrap_or_default();
        let said = self.usage.candidates_token_count.unwrap_or_default();
        Ok(Answer {
            blocks: self.blocks,
            usage: Usage::of(
                self.usage.prompt_token_count.unwrap_or_default(),
                said.saturating_add(thoughts),
            ),
        })
    }
}
