//! OpenAI Chat Completions, as OpenAI and the many who imitate it speak it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wakeful_core::conversation::{Block, Entry, Role, Usage};
use wakeful_core::prompt::Request;
use wakeful_ports::model::{Answer, Audience};

use super::{
    BLOCKS_MAX, Decoder, Fault, Flow, arguments, as_object, is_blank, own_call_id, plain_name, read, system,
    tell, too_many_blocks, tool_use, words,
};

/// The data of the last event.
const DONE: &str = "[DONE]";

#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
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
    parameters: &'a Value,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: String,
    },
    User {
        content: String,
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

#[derive(Debug, Serialize)]
struct Call {
    id: String,
    r#type: &'static str,
    function: Called,
}

#[derive(Debug, Serialize)]
struct Called {
    name: String,
    arguments: String,
}

impl<'a> Body<'a> {
    pub(super) fn new(model: &'a str, request: &'a Request) -> Self {
        let tools = request.tools.iter().map(|tool| Tool::Function {
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.input_schema,
            },
        });
        let system = Some(system(request)).filter(|content| !content.is_empty());
        let system = system.map(|content| Message::System { content });
        let said = request.entries.iter().flat_map(messages);
        Self {
            model,
            tools: tools.collect(),
            messages: system.into_iter().chain(said).collect(),
            stream: true,
            stream_options: StreamOptions { include_usage: true },
        }
    }
}

/// An entry as messages: results one by one, words and calls together.
fn messages(entry: &Entry) -> Vec<Message<'_>> {
    let mut messages = Vec::new();
    let (mut text, mut tool_calls) = (Vec::new(), Vec::new());
    for block in entry.blocks.iter().filter(|block| !is_blank(block)) {
        match block {
            Block::Text { text: words } | Block::Thinking { text: words, .. } => text.push(words.as_str()),
            Block::Attachment(attachment) => text.push(&attachment.name),
            Block::ToolUse(call) => tool_calls.push(Call {
                id: plain_name(&call.call_id),
                r#type: "function",
                function: Called {
                    name: plain_name(&call.name),
                    arguments: as_object(&call.input).to_string(),
                },
            }),
            // The format has no mark for a failed call; the receipt itself says that it failed.
            Block::ToolResult { call_id, content, .. } => messages.push(Message::Tool {
                tool_call_id: plain_name(call_id),
                content,
            }),
        }
    }
    let content = Some(text.join("\n")).filter(|text| !text.is_empty());
    match entry.role {
        Role::Assistant if content.is_some() || !tool_calls.is_empty() => {
            messages.push(Message::Assistant { content, tool_calls });
        }
        Role::User | Role::Tool => messages.extend(content.map(|content| Message::User { content })),
        Role::Assistant => {}
    }
    messages
}

#[derive(Debug, Deserialize)]
struct Whole {
    choices: Vec<Choice>,
    usage: Option<Counted>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    /// The whole message, or in a stream its next piece.
    #[serde(alias = "delta", default)]
    message: Piece,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Piece {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Debug, Deserialize)]
struct CallPiece {
    index: Option<usize>,
    id: Option<String>,
    #[serde(default)]
    function: CalledPiece,
}

#[derive(Debug, Default, Deserialize)]
struct CalledPiece {
    name: Option<String>,
    /// Text by the book; some send the object itself.
    arguments: Option<Value>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct Counted {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

pub(super) fn whole(text: &str, request: u32) -> Result<Answer, Fault> {
    let mut whole: Whole = read(text)?;
    // In a whole message each stands for itself, whatever it has or lacks.
    let calls = whole
        .choices
        .iter_mut()
        .filter_map(|choice| choice.message.tool_calls.as_mut());
    for (index, call) in calls.flat_map(|calls| calls.iter_mut().enumerate()) {
        call.index = Some(index);
    }
    let mut stream = Stream::new(request);
    stream.add(whole, &wakeful_ports::model::NoAudience)?;
    match stream.finish_reason {
        Some(_) => Box::new(stream).end(),
        None => Err(Fault::invalid("the response has no finish reason")),
    }
}

/// An answer that comes in pieces.
#[derive(Debug)]
pub(super) struct Stream {
    request: u32,
    text: String,
    calls: Vec<Growing>,
    usage: Counted,
    finish_reason: Option<String>,
}

#[derive(Debug, Default)]
struct Growing {
    id: String,
    name: String,
    arguments: String,
}

impl Stream {
    pub(super) const fn new(request: u32) -> Self {
        Self {
            request,
            text: String::new(),
            calls: Vec::new(),
            usage: Counted {
                prompt_tokens: None,
                completion_tokens: None,
            },
            finish_reason: None,
        }
    }

    fn add(&mut self, chunk: Whole, audience: &dyn Audience) -> Result<(), Fault> {
        self.usage = chunk.usage.unwrap_or(self.usage);
        // One answer was asked for.
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            let piece = choice.message;
            for text in [piece.content, piece.refusal].into_iter().flatten() {
                tell(audience, &text);
                self.text.push_str(&text);
            }
            for call in piece.tool_calls.into_iter().flatten() {
                self.add_call(call)?;
            }
            self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        }
        Ok(())
    }

    fn add_call(&mut self, piece: CallPiece) -> Result<(), Fault> {
        // Some leave the index out: then an id begins a call, and what has none goes on with the last.
        let begins = piece.id.as_ref().is_some_and(|id| !id.is_empty());
        let fallback = if begins || self.calls.is_empty() {
            self.calls.len()
        } else {
            self.calls.len().saturating_sub(1)
        };
        let index = piece.index.unwrap_or(fallback);
        if index >= BLOCKS_MAX {
            return Err(too_many_blocks());
        }
        if index > self.calls.len() {
            return Err(Fault::invalid(format!(
                "call {index} comes before the one in front of it"
            )));
        }
        if index == self.calls.len() {
            self.calls.push(Growing::default());
        }
        let Some(call) = self.calls.get_mut(index) else {
            return Err(too_many_blocks());
        };
        call.id = piece
            .id
            .filter(|id| !id.is_empty())
            .unwrap_or(std::mem::take(&mut call.id));
        call.name.push_str(&piece.function.name.unwrap_or_default());
        match piece.function.arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => call.arguments.push_str(&text),
            Some(other) => call.arguments.push_str(&other.to_string()),
        }
        Ok(())
    }
}

impl Decoder for Stream {
    fn take(&mut self, data: &str, audience: &dyn Audience) -> Result<Flow, Fault> {
        if data.trim() == DONE {
            return Ok(Flow::Done);
        }
        self.add(read(data)?, audience)?;
        Ok(Flow::More)
    }

    /// The finish reason and not the last event says that the answer is complete: some servers leave the event out.
    fn end(self: Box<Self>) -> Result<Answer, Fault> {
        match self.finish_reason.as_deref() {
            None => return Err(Fault::Truncated),
            Some("length") => return Err(Fault::OutputLimit),
            Some("content_filter") => return Err(Fault::Withheld("content_filter".to_owned())),
            Some(_) => {}
        }
        let request = self.request;
        let calls = self.calls.into_iter().enumerate().map(|(index, call)| {
            let id = match call.id.is_empty() {
                true => own_call_id(request, index),
                false => call.id,
            };
            tool_use(id, call.name, arguments(&call.arguments))
        });
        Ok(Answer {
            blocks: words(self.text).into_iter().chain(calls).collect(),
            usage: Usage::of(
                self.usage.prompt_tokens.unwrap_or_default(),
                self.usage.completion_tokens.unwrap_or_default(),
            ),
        })
    }
}
