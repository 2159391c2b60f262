//! The scripted model: answers written down beforehand.
//!
//! A first-class provider and no mock: the demo, replays, evals and most tests run on it, through the same
//! port as any other. It keeps no position. The entry is chosen by how many requests of the run have a
//! recorded result, so a run that was killed and resumed, even by another process, goes on where it stood.

mod error;
mod file;
#[cfg(test)]
mod tests;
mod write;

use std::time::Duration;

use serde_json::Value;
use wakeful_core::conversation::{Block, CALLS_PER_REPLY_MAX, ToolCall, Usage};
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::inference::ModelProfile;
use wakeful_core::prompt::ModelRequest;
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};

pub use error::{FilePosition, ScriptError};
pub use write::{RecordedRound, ScriptWriteError, write};

/// Largest script in bytes. A hundred thousand rounds of ordinary length fit.
pub const SCRIPT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Most rounds of a script: what the engine is tested for in one run.
pub const ROUNDS_MAX: usize = 100_000;

/// Most tool calls of one round: what a reply may contain at all.
pub const TOOLS_PER_ROUND_MAX: usize = CALLS_PER_REPLY_MAX;

/// Longest delay of one round, ten minutes. Longer than any time-out one would want to try out.
pub const DELAY_MS_MAX: u64 = 600_000;

/// Most pieces in which a text is said: enough to look alive, few enough to cost nothing.
const PIECES_MAX: usize = 64;

/// The script that runs when nobody names a model.
const DEMO: &str = include_str!("demo.yaml");

/// Longest reply in tokens that is said to be asked for, unless the script says otherwise.
const OUTPUT_TOKENS_DEFAULT: u64 = 8_192;

/// How failures of this provider are labelled.
pub const PROVIDER: &str = "scripted";

/// A model that answers from a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedModel {
    name: String,
    rounds: Vec<Round>,
    past_end: PastEnd,
    terms: ModelProfile,
}

/// What a request past the last round gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PastEnd {
    Fails,
    RepeatsLast,
}

/// One entry: what one request gets, and after how long.
#[derive(Debug, Clone, PartialEq)]
struct Round {
    delay: Duration,
    play: RoundResult,
}

#[derive(Debug, Clone, PartialEq)]
enum RoundResult {
    Answer {
        thinking: Option<String>,
        text: Option<String>,
        tools: Vec<ScriptedCall>,
        usage: Usage,
    },
    Fail(ScriptedFailure),
}

/// An attempt that fails.
#[derive(Debug, Clone, PartialEq)]
struct ScriptedFailure {
    /// The HTTP status; none when the way there or back broke.
    status: Option<u16>,
    /// A stable word for what failed.
    word: String,
    /// Whether another attempt is worth it.
    kind: ModelFailureKind,
    retry_after_ms: Option<u64>,
    message: Option<String>,
    /// What is said before it breaks.
    after: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct ScriptedCall {
    name: String,
    input: Value,
}

impl ScriptedModel {
    /// Reads a script. `name` is what errors call it: the file's path as it was given.
    pub fn load(text: &str, name: &str) -> Result<Self, ScriptError> {
        file::read(text, name)
    }

    /// The built-in demo: an agent that does a little visible work in its workspace. An error is a broken
    /// build, which a test rules out.
    pub fn demo() -> Result<Self, ScriptError> {
        Self::load(DEMO, "the built-in demo")
    }

    /// What errors call the script.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The entry for the request that follows `recorded` recorded ones.
    fn round(&self, recorded: u32) -> Option<&Round> {
        let index = usize::try_from(recorded).unwrap_or(usize::MAX);
        match self.past_end {
            PastEnd::Fails => self.rounds.get(index),
            PastEnd::RepeatsLast => self.rounds.get(index).or(self.rounds.last()),
        }
    }

    fn exhausted(&self, request: &ModelRequest) -> ModelFailure {
        let summary = format!(
            "the script {} ends after {} rounds and one more was asked for; add a round, or set `repeat_last: true`",
            self.name,
            self.rounds.len(),
        );
        failure(
            request,
            ModelFailureKind::FailFast,
            FailureArtifact::new(FailureCategory::Protocol, "script_exhausted", &summary),
        )
    }
}

impl Model for ScriptedModel {
    fn profile(&self, _model_ref: &str) -> ModelProfile {
        self.terms.clone()
    }

    async fn call(
        &self,
        request: ModelRequest,
        audience: &dyn DeltaSink,
    ) -> Result<ModelResponse, ModelFailure> {
        let Some(round) = self.round(request.request) else {
            return Err(self.exhausted(&request));
        };
        speak(round, audience).await;
        match &round.play {
            RoundResult::Answer {
                thinking,
                text,
                tools,
                usage,
            } => Ok(ModelResponse {
                blocks: blocks(thinking.as_deref(), text.as_deref(), tools, request.request),
                usage: *usage,
            }),
            RoundResult::Fail(fail) => Err(fail.failure(&request)),
        }
    }
}

impl ScriptedFailure {
    fn failure(&self, request: &ModelRequest) -> ModelFailure {
        let how = self
            .status
            .map_or_else(|| self.word.clone(), |status| format!("status {status}"));
        let made_up = || format!("the script lets this attempt fail with {how}");
        let summary = self.message.clone().unwrap_or_else(made_up);
        // What came with a status, or may pass, happened on the way; the rest was said and is wrong.
        let category = match (self.status, self.kind) {
            (None, ModelFailureKind::FailFast) => FailureCategory::Protocol,
            (Some(_), _) | (None, ModelFailureKind::Retryable) => FailureCategory::Transport,
        };
        let mut artifact = FailureArtifact::new(category, &self.word, &summary);
        artifact.status = self.status;
        ModelFailure {
            retry_after_ms: self.retry_after_ms,
            // A reply that has begun is paid for.
            may_be_billed: self.after.is_some(),
            ..failure(request, self.kind, artifact)
        }
    }
}

/// Says the words of a round in pieces, spread over its delay, as a provider that streams would. A round without
/// words takes its time in silence.
async fn speak(round: &Round, audience: &dyn DeltaSink) {
    let said = match &round.play {
        RoundResult::Answer { text, .. } => text.as_deref(),
        RoundResult::Fail(fail) => fail.after.as_deref(),
    };
    let words = said.map(pieces).unwrap_or_default();
    if words.is_empty() && !round.delay.is_zero() {
        tokio::time::sleep(round.delay).await;
    }
    let (began, count) = (tokio::time::Instant::now(), words.len());
    for (index, piece) in words.into_iter().enumerate() {
        if !round.delay.is_zero() {
            let part = round.delay.mul_f64(fraction(index.saturating_add(1), count));
            tokio::time::sleep_until(began + part).await;
        }
        audience.on_text(piece);
    }
}

#[expect(clippy::cast_precision_loss, reason = "both are at most PIECES_MAX")]
fn fraction(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// Cuts a text between words into at most [`PIECES_MAX`] pieces that together are the text.
fn pieces(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let per_piece = words.len().div_ceil(PIECES_MAX).max(1);
    let mut rest = text;
    let lengths = words
        .chunks(per_piece)
        .map(|chunk| chunk.iter().map(|word| word.len()).sum::<usize>());
    lengths
        .map_while(|length| {
            let (piece, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(piece)
        })
        .collect()
}

/// The blocks of an answer. Call ids are derived from the request, so that a repeated attempt after a crash
/// gives the same ids and a repeated last round different ones.
fn blocks(thinking: Option<&str>, text: Option<&str>, tools: &[ScriptedCall], request: u32) -> Vec<Block> {
    let thought = thinking.map(|text| Block::Thinking {
        provider: PROVIDER.to_owned(),
        text: text.to_owned(),
        opaque: Value::Null,
    });
    let words = text.filter(|text| !text.is_empty()).map(|text| Block::Text {
        text: text.to_owned(),
    });
    let calls = tools.iter().enumerate().map(|(index, tool)| {
        let call_id = format!("call_{request}_{index}");
        Block::ToolUse(ToolCall {
            call_id,
            name: tool.name.clone(),
            input: tool.input.clone(),
        })
    });
    thought.into_iter().chain(words).chain(calls).collect()
}

fn failure(request: &ModelRequest, kind: ModelFailureKind, mut artifact: FailureArtifact) -> ModelFailure {
    artifact.provider = Some(PROVIDER.to_owned());
    artifact.model_ref = Some(request.model_ref.clone());
    ModelFailure::new(kind, artifact)
}
