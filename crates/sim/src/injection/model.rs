//! A fully obedient model: it does what its script says, and an injected instruction only after it has read it.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use wakeful_core::conversation::{Block, Role, ToolCall, TranscriptEntry, Usage, text_of};
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::ModelProfile;
use wakeful_core::prompt::ModelRequest;
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};

/// What the model does in one round.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// It requests these calls: tools with their arguments.
    Calls(Vec<(&'static str, Value)>),
    /// It ends the run with this text.
    Say(String),
}

impl Reply {
    pub(super) fn call(tool: &'static str, input: Value) -> Self {
        Self::Calls(vec![(tool, input)])
    }

    pub(super) fn done() -> Self {
        Self::Say("Done.".to_owned())
    }
}

/// What the model has read: everything in its request, as a person would read it.
pub(super) struct Conversation {
    text: String,
    /// The results of tools.
    results: Vec<Value>,
}

impl Conversation {
    fn of(entries: &[TranscriptEntry]) -> Self {
        let (mut text, mut results) = (String::new(), Vec::new());
        for block in entries.iter().flat_map(|entry| &entry.blocks) {
            match block {
                Block::Text { text: words } => add(&mut text, words),
                Block::ToolResult { content, .. } => match serde_json::from_str(content) {
                    Ok(value) => {
                        add_strings(&mut text, &value);
                        results.push(value);
                    }
                    Err(_) => add(&mut text, content),
                },
                Block::Attachment(attachment) => {
                    add(&mut text, &attachment.name);
                    let bytes = STANDARD.decode(&attachment.data).unwrap_or_default();
                    add(&mut text, &String::from_utf8_lossy(&bytes));
                }
                Block::ToolUse(_) | Block::Thinking { .. } | Block::WebSearch(_) => {}
            }
        }
        Self { text, results }
    }

    pub(super) fn contains(&self, words: &str) -> bool {
        self.text.contains(words)
    }

    /// The id of a task that was listed.
    pub(super) fn task_id(&self, title: &str) -> Option<&str> {
        let lists = self
            .results
            .iter()
            .filter_map(|result| result.get("tasks")?.as_array());
        let mut tasks = lists.flatten();
        let task = tasks.find(|task| task.get("title").and_then(Value::as_str) == Some(title))?;
        task.get("task_id")?.as_str()
    }
}

fn add(text: &mut String, words: &str) {
    text.push_str(words);
    text.push('\n');
}

/// Adds every string of a JSON value, with the names of its fields.
fn add_strings(text: &mut String, value: &Value) {
    match value {
        // Deliveries of triggers and texts of sub-runs are quoted as JSON.
        Value::String(words) => add(text, words),
        Value::Array(values) => values.iter().for_each(|value| add_strings(text, value)),
        Value::Object(fields) => {
            for (name, value) in fields {
                text.push_str(name);
                text.push_str(": ");
                add_strings(text, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => add(text, &value.to_string()),
    }
}

/// One round of a script.
pub(super) type Step = Arc<dyn Fn(&Conversation) -> Reply + Send + Sync>;

/// A step that does not depend on what was read.
pub(super) fn fixed(tool: &'static str, input: Value) -> Step {
    Arc::new(move |_| Reply::call(tool, input.clone()))
}

/// A step that depends on what was read.
pub(super) fn depending(reply: impl Fn(&Conversation) -> Reply + Send + Sync + 'static) -> Step {
    Arc::new(reply)
}

/// What the model of an agent does in a run.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) agent: &'static str,
    /// Words in the newest message that select this script; empty for every message.
    pub(super) when: String,
    pub(super) steps: Vec<Step>,
}

/// The model of one agent.
pub(super) struct Obedient {
    scripts: Vec<Script>,
}

impl Obedient {
    /// The model of this agent. The first script whose words occur in the message applies.
    pub(super) fn of(agent: &str, scripts: &[Script]) -> Self {
        let own = scripts.iter().filter(|script| script.agent == agent);
        Self {
            scripts: own.cloned().collect(),
        }
    }

    fn reply(&self, request: &ModelRequest) -> Reply {
        let newest = request
            .entries
            .iter()
            .rev()
            .find(|entry| entry.role == Role::User);
        let newest = newest.map(|entry| text_of(&entry.blocks)).unwrap_or_default();
        let script = self.scripts.iter().find(|script| newest.contains(&script.when));
        let step = script.and_then(|script| script.steps.get(request.request as usize));
        step.map_or_else(Reply::done, |step| step(&Conversation::of(&request.entries)))
    }
}

impl Model for Obedient {
    fn profile(&self, _: &str) -> ModelProfile {
        ModelProfile::here("obedient")
    }

    async fn call(&self, request: ModelRequest, _: &dyn DeltaSink) -> Result<ModelResponse, ModelFailure> {
        let blocks = match self.reply(&request) {
            Reply::Say(text) => vec![Block::Text { text }],
            Reply::Calls(calls) => {
                let calls = calls.into_iter().enumerate();
                let block = |(number, (name, input)): (usize, (&str, Value))| {
                    Block::ToolUse(ToolCall {
                        call_id: format!("call-{}-{number}", request.request),
                        name: name.to_owned(),
                        input,
                    })
                };
                calls.map(block).collect()
            }
        };
        Ok(ModelResponse {
            blocks,
            usage: Usage::of(1, 1),
        })
    }
}
