//! Assembly of a request from the agent, its guidance and its turn.

use super::contract::{CONTRACT, turn_mode};
use super::guidance::{Guidance, GuidanceFile, bounded, plain};
use super::window::window;
use super::{BlockSource, ModelRequest, PromptBlock, PromptCache, Stability};
use crate::answer_schema::{ANSWER_SCHEMA_BYTES_MAX, AnswerSchema};
use crate::conversation::{ToolSpec, TranscriptEntry};
use crate::id::AgentId;
use crate::key::{Digest, derived_hash};
use crate::message::MessageKind;

/// Maximum size in bytes of the block with the agent's id and workspace: the longest path and a sentence.
pub const IDENTITY_BYTES_MAX: usize = 5_000;

/// Maximum size in bytes of the block with the schema of the answer: the largest schema and two sentences.
pub const ANSWER_BLOCK_BYTES_MAX: usize = ANSWER_SCHEMA_BYTES_MAX + 500;

/// Everything that a request is assembled from.
#[derive(Debug, Clone)]
pub struct PromptInputs<'a> {
    pub agent: &'a AgentId,
    /// The folder in which its commands run.
    pub workspace: &'a str,
    pub guidance: &'a Guidance,
    /// The cause of the turn.
    pub kind: MessageKind,
    /// The requested model.
    pub model_ref: &'a str,
    /// The number of this run's requests with a recorded result.
    pub request: u32,
    /// The entry that started this run; it is included however long the run gets.
    pub opening: &'a TranscriptEntry,
    /// The newest entries of the thread, oldest first.
    pub entries: &'a [TranscriptEntry],
    /// The tool definitions.
    pub tools: Vec<ToolSpec>,
    /// The schema that the answer must fit.
    pub answer_schema: Option<&'a AnswerSchema>,
}

/// Assembles a request; equal inputs give equal bytes.
#[must_use]
pub fn assemble(from: PromptInputs<'_>) -> ModelRequest {
    let system = system(&from);
    let entries = window(from.opening, from.entries);
    let cache = cache(from.agent, &system, &entries, &from.tools);
    ModelRequest {
        model_ref: from.model_ref.to_owned(),
        request: from.request,
        system,
        entries,
        tools: from.tools,
        answer_schema: from.answer_schema.cloned(),
        cache,
    }
}

/// The system blocks in order. A provider may cache up to the last block of each stability that outlives a
/// turn.
fn system(from: &PromptInputs<'_>) -> Vec<PromptBlock> {
    let identity = format!(
        "You are the agent `{}`. Your workspace is `{}`; commands run there.",
        from.agent,
        plain(from.workspace)
    );
    let texts = [
        (BlockSource::Contract, Some(CONTRACT.to_owned())),
        (BlockSource::Identity, Some(identity)),
        (
            BlockSource::AgentGuidance,
            guiding("Guidance for you", from.guidance.agent.as_ref()),
        ),
        (
            BlockSource::WorkspaceGuidance,
            guiding("Guidance of the workspace", from.guidance.workspace.as_ref()),
        ),
        (BlockSource::TurnMode, Some(turn_mode(from.kind).to_owned())),
        (BlockSource::AnswerSchema, from.answer_schema.map(answer_rule)),
    ];
    let mut blocks: Vec<PromptBlock> = Vec::new();
    for (source, text) in texts {
        let Some(text) = text else { continue };
        let stability = source.stability();
        if let Some(before) = blocks.last_mut() {
            before.cache_breakpoint = before.stability != stability;
        }
        blocks.push(PromptBlock {
            text: bounded(text, source.bytes_max()),
            stability,
            source,
            cache_breakpoint: false,
        });
    }
    blocks
}

/// The rule for an answer that must fit a schema. Every model receives it, because not every provider enforces
/// schemas.
fn answer_rule(schema: &AnswerSchema) -> String {
    format!(
        "Your final answer must be exactly one JSON value that fits the JSON Schema below: without other text and \
         without a code fence. You may call tools before it.\n\n{}",
        schema.value()
    )
}

/// A guidance file under its heading; `None` if it is empty.
fn guiding(head: &str, file: Option<&GuidanceFile>) -> Option<String> {
    let file = file?;
    let text = plain(&file.text);
    (!text.is_empty()).then(|| format!("{head}, from `{}`:\n\n{text}", file.kind.file_name()))
}

/// The key covers what outlives the turn; the fingerprint covers everything.
fn cache(
    agent: &AgentId,
    system: &[PromptBlock],
    entries: &[TranscriptEntry],
    tools: &[ToolSpec],
) -> PromptCache {
    let lasting: Vec<&PromptBlock> = system
        .iter()
        .filter(|block| block.stability != Stability::TurnScoped)
        .collect();
    let (lasting, tools) = (digest(&lasting), digest(&tools));
    let key = derived_hash("prompt.cache", &[agent.as_str(), &lasting, &tools]);
    let all = [key.to_string(), digest(&system), digest(&entries)];
    PromptCache {
        prompt_cache_key: key.to_string(),
        context_fingerprint: derived_hash("prompt.context", &all.each_ref().map(String::as_str)).to_string(),
        ..PromptCache::none(agent.clone())
    }
}

fn digest(part: &impl serde::Serialize) -> String {
    // Blocks, entries and tool definitions always serialize to JSON.
    Digest::of(&serde_json::to_vec(part).unwrap_or_default()).to_string()
}

#[cfg(test)]
mod tests;
