//! Anthropic Messages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wakeful_core::conversation::{Block, Usage};
use wakeful_core::prompt::Request;
use wakeful_ports::model::{Answer, Audience};

use super::{
    BLOCKS_MAX, Complaint, Decoder, Fault, Flow, Side, arguments, as_object, plain_name, read, tell,
    too_many_blocks, tool_use, turns, words,
};

/// Longest reply that is asked for. The format demands a number, and every model in service takes this one.
const OUTPUT_TOKENS_MAX: u32 = 8_192;

#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Message<'a>>,
    stream: bool,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Content<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: &'a str,
        is_error: bool,
    },
}

impl<'a> Body<'a> {
    pub(super) fn new(model: &'a str, request: &'a Request) -> Self {
        let system = request
            .system
            .iter()
            .map(|block| Content::Text { text: &block.text });
        let tools = request.tools.iter().map(|tool| Tool {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.input_schema,
        });
        let messages = turns(&request.entries).into_iter().map(|(side, blocks)| Message {
            role: match side {
                Side::User => "user",
                Side::Model => "assistant",
            },
            content: blocks.into_iter().map(content).collect(),
        });
        Self {
            model,
            max_tokens: OUTPUT_TOKENS_MAX,
            system: system.collect(),
            tools: tools.collect(),
            messages: messages.collect(),
            stream: true,
        }
    }
}

fn content(block: &Block) -> Content<'_> {
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => Content::Text { text },
        Block::Attachment(attachment) => Content::Text {
            text: &attachment.name,
        },
        Block::ToolUse(call) => Content::ToolUse {
            id: plain_name(&call.call_id),
            name: plain_name(&call.name),
            input: as_object(&call.input),
        },
        Block::ToolResult {
            call_id,
            is_error,
            content,
        } => Content::ToolResult {
            tool_use_id: plain_name(call_id),
            content,
            is_error: *is_error,
        },
    }
}

#[derive(Debug, Deserialize)]
struct Whole {
    content: Vec<Said>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Counted,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

/// Counts are cumulative: a later event repeats or raises what an earlier one said.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
struct Counted {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Counted {
    fn or(self, earlier: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.or(earlier.input_tokens),
            cache_creation_input_tokens: self
                .cache_creation_input_tokens
                .or(earlier.cache_creation_input_tokens),
            cache_read_input_tokens: self.cache_read_input_tokens.or(earlier.cache_read_input_tokens),
            output_tokens: self.output_tokens.or(earlier.output_tokens),
        }
    }

    /// The request's tokens, wherever the provider read them from.
    fn usage(self) -> Usage {
        let parts = [
            self.input_tokens,
            self.cache_creation_input_tokens,
            self.cache_read_input_tokens,
        ];
        Usage::of(
            parts.into_iter().flatten().fold(0, u64::saturating_add),
            self.output_tokens.unwrap_or_default(),
        )
    }
}

pub(super) fn whole(text: &str) -> Result<Answer, Fault> {
    let whole: Whole = read(text)?;
    stopped(whole.stop_reason.as_deref())?;
    let blocks = whole.content.into_iter().filter_map(|said| match said {
        Said::Text { text } => words(text),
        Said::ToolUse { id, name, input } => Some(tool_use(id, name, input)),
        Said::Other => None,
    });
    Ok(Answer {
        blocks: blocks.collect(),
        usage: whole.usage.usage(),
    })
}

/// Whether the model came to its own end.
fn stopped(reason: Option<&str>) -> Result<(), Fault> {
    match reason {
        Some("max_tokens") => Err(Fault::OutputLimit),
        Some("refusal") => Err(Fault::Withheld("refusal".to_owned())),
        Some("model_context_window_exceeded") => Err(Fault::Reported(Complaint::of(&serde_json::json!({
            "code": "context_length_exceeded",
            "message": "the reply reached the end of the model's context window",
        })))),
        Some(_) | None => Ok(()),
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Said,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageDelta {
        delta: End,
        #[serde(default)]
        usage: Counted,
    },
    MessageStop,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Start {
    #[serde(default)]
    usage: Counted,
}

#[derive(Debug, Deserialize)]
struct End {
    stop_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Other,
}

/// An answer that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Stream {
    parts: BTreeMap<u64, Part>,
    usage: Counted,
    stop_reason: Option<String>,
    stopped: bool,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Tool {
        id: String,
        name: String,
        input: Value,
        json: String,
    },
    Other,
}

impl Decoder for Stream {
    fn take(&mut self, data: &str, audience: &dyn Audience) -> Result<Flow, Fault> {
        match read(data)? {
            Event::MessageStart { message } => self.usage = message.usage.or(self.usage),
            Event::ContentBlockStart { index, content_block } => {
                self.start(index, content_block, audience)?
            }
            Event::ContentBlockDelta { index, delta } => self.grow(index, delta, audience)?,
            Event::MessageDelta { delta, usage } => {
                self.usage = usage.or(self.usage);
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
            }
            Event::MessageStop => {
                self.stopped = true;
                return Ok(Flow::Done);
            }
            Event::Other => {}
        }
        Ok(Flow::More)
    }

    fn end(self: Box<Self>) -> Result<Answer, Fault> {
        if !self.stopped {
            return Err(Fault::Truncated);
        }
        stopped(self.stop_reason.as_deref())?;
        let blocks = self.parts.into_values().filter_map(|part| match part {
            Part::Text(text) => words(text),
            Part::Tool {
                id,
                name,
                input,
                json,
            } => Some(match json.is_empty() {
                true => tool_use(id, name, input),
                false => tool_use(id, name, arguments(&json)),
            }),
            Part::Other => None,
        });
        Ok(Answer {
            blocks: blocks.collect(),
            usage: self.usage.usage(),
        })
    }
}

impl Stream {
    fn start(&mut self, index: u64, said: Said, audience: &dyn Audience) -> Result<(), Fault> {
        if self.parts.len() >= BLOCKS_MAX {
            return Err(too_many_blocks());
        }
        let part = match said {
            Said::Text { text } => {
                tell(audience, &text);
                Part::Text(text)
            }
            Said::ToolUse { id, name, input } => Part::Tool {
                id,
                name,
                input,
                json: String::new(),
            },
            Said::Other => Part::Other,
        };
        match self.parts.insert(index, part) {
            None => Ok(()),
            Some(_) => Err(Fault::invalid(format!("block {index} begins twice"))),
        }
    }

    fn grow(&mut self, index: u64, delta: Delta, audience: &dyn Audience) -> Result<(), Fault> {
        match (self.parts.get_mut(&index), delta) {
            (Some(Part::Text(text)), Delta::Text { text: more }) => {
                tell(audience, &more);
                text.push_str(&more);
                Ok(())
            }
            (Some(Part::Tool { json, .. }), Delta::InputJson { partial_json }) => {
                json.push_str(&partial_json);
                Ok(())
            }
            // Signatures, citations and what belongs to blocks that are left out.
            (Some(Part::Other), _) | (Some(_), Delta::Other) => Ok(()),
            (Some(_), Delta::Text { .. } | Delta::InputJson { .. }) => {
                Err(Fault::invalid(format!("block {index} goes on as another kind")))
            }
            (None, _) => Err(Fault::invalid(format!("block {index} goes on before it begins"))),
        }
    }
}
