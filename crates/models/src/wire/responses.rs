//! OpenAI Responses.
//!
//! Nothing is left with the provider (`store` is false), so every request carries its whole conversation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wakeful_core::conversation::{Attachment, Block, Role, Usage};
use wakeful_core::prompt::Request;
use wakeful_ports::model::{Answer, Audience};

use super::{
    BLOCKS_MAX, Complaint, Decoder, Fault, Flow, arguments, as_object, is_blank, plain_name, read, system,
    tell, too_many_blocks, tool_use, words,
};

#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    instructions: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    input: Vec<Item<'a>>,
    store: bool,
    stream: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        /// Strict schemas must list every property as required, which ours do not.
        strict: bool,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: [Content<'a>; 1],
    },
    FunctionCall {
        call_id: String,
        name: String,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: &'a str,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
}

impl<'a> Body<'a> {
    pub(super) fn new(model: &'a str, request: &'a Request) -> Self {
        let tools = request.tools.iter().map(|tool| Tool::Function {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
            strict: false,
        });
        let said = request
            .entries
            .iter()
            .flat_map(|entry| entry.blocks.iter().map(move |block| (entry.role, block)));
        let input = said
            .filter(|(_, block)| !is_blank(block))
            .map(|(role, block)| item(role, block));
        Self {
            model,
            instructions: system(request),
            tools: tools.collect(),
            input: input.collect(),
            store: false,
            stream: true,
        }
    }
}

fn item(role: Role, block: &Block) -> Item<'_> {
    match block {
        Block::Attachment(Attachment { name: text, .. })
        | Block::Thinking { text, .. }
        | Block::Text { text } => match role {
            Role::User | Role::Tool => Item::Message {
                role: "user",
                content: [Content::InputText { text }],
            },
            Role::Assistant => Item::Message {
                role: "assistant",
                content: [Content::OutputText { text }],
            },
        },
        Block::ToolUse(call) => Item::FunctionCall {
            call_id: plain_name(&call.call_id),
            name: plain_name(&call.name),
            arguments: as_object(&call.input).to_string(),
        },
        // The format has no mark for a failed call; the receipt itself says that it failed.
        Block::ToolResult { call_id, content, .. } => Item::FunctionCallOutput {
            call_id: plain_name(call_id),
            output: content,
        },
    }
}

#[derive(Debug, Default, Deserialize)]
struct Whole {
    status: Option<String>,
    #[serde(default)]
    output: Vec<Output>,
    usage: Option<Counted>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Debug, Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counted {
    input_tokens: u64,
    output_tokens: u64,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Output {
    Message {
        content: Vec<Said>,
    },
    FunctionCall {
        call_id: String,
        name: String,
        arguments: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said {
    OutputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    #[serde(other)]
    Other,
}

pub(super) fn whole(text: &str) -> Result<Answer, Fault> {
    let whole: Whole = read(text)?;
    // Without it, any JSON object would pass for an empty answer.
    match whole.status {
        Some(_) => finish(whole),
        None => Err(Fault::invalid("the response has no status")),
    }
}

fn finish(whole: Whole) -> Result<Answer, Fault> {
    match whole.status.as_deref() {
        Some("failed" | "cancelled") => {
            let error = whole.error.unwrap_or_default();
            return Err(Fault::Reported(Complaint::of(&error)));
        }
        Some("incomplete") => {
            let reason = whole.incomplete_details.and_then(|details| details.reason);
            return Err(match reason.as_deref() {
                Some("max_output_tokens") => Fault::OutputLimit,
                _ => Fault::Withheld(reason.unwrap_or_else(|| "incomplete".to_owned())),
            });
        }
        Some(_) | None => {}
    }
    let usage = whole.usage.unwrap_or_default();
    Ok(Answer {
        blocks: whole.output.into_iter().flat_map(blocks).collect(),
        usage: Usage::of(usage.input_tokens, usage.output_tokens),
    })
}

fn blocks(output: Output) -> Vec<Block> {
    match output {
        Output::Message { content } => {
            let texts = content.into_iter().filter_map(|said| match said {
                Said::OutputText { text } => words(text),
                Said::Refusal { refusal } => words(refusal),
                Said::Other => None,
            });
            texts.collect()
        }
        Output::FunctionCall {
            call_id,
            name,
            arguments: text,
        } => vec![tool_use(call_id, name, arguments(&text))],
        Output::Other => Vec::new(),
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Delta { delta: String },
    #[serde(rename = "response.output_item.done")]
    ItemDone { output_index: u64, item: Output },
    #[serde(
        rename = "response.completed",
        alias = "response.failed",
        alias = "response.incomplete"
    )]
    Ended { response: Whole },
    #[serde(other)]
    Other,
}

/// An answer that comes in pieces. The last event repeats all of it; the items on the way count where it does not.
#[derive(Debug, Default)]
pub(super) struct Stream {
    items: BTreeMap<u64, Output>,
    last: Option<Whole>,
}

impl Decoder for Stream {
    fn take(&mut self, data: &str, audience: &dyn Audience) -> Result<Flow, Fault> {
        match read(data)? {
            Event::Delta { delta } => tell(audience, &delta),
            Event::ItemDone { output_index, item } => {
                if self.items.len() >= BLOCKS_MAX {
                    return Err(too_many_blocks());
                }
                self.items.insert(output_index, item);
            }
            Event::Ended { response } => {
                self.last = Some(response);
                return Ok(Flow::Done);
            }
            Event::Other => {}
        }
        Ok(Flow::More)
    }

    fn end(self: Box<Self>) -> Result<Answer, Fault> {
        let mut last = self.last.ok_or(Fault::Truncated)?;
        if last.output.is_empty() {
            last.output = self.items.into_values().collect();
        }
        finish(last)
    }
}
