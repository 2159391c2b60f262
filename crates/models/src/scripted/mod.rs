//! The scripted model, which returns predefined responses.
//!
//! It is a full provider and not a mock: the demo, replays, evals and most tests use it through the same
//! port as any other model. It stores no position. The number of recorded requests of the run selects the
//! entry, so a run that was killed and resumed, even by another process, continues at the same entry.

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

/// Maximum number of rounds in a script: the number that the engine is tested with in one run.
pub const ROUNDS_MAX: usize = 100_000;

/// Maximum number of tool calls in one round: the limit of any response.
pub const TOOLS_PER_ROUND_MAX: usize = CALLS_PER_REPLY_MAX;

/// Longest delay of one round, ten minutes. It exceeds every timeout that a test could cover.
pub const DELAY_MS_MAX: u64 = 600_000;

/// Maximum number of deltas for one text: enough to look like a stream, few enough to be cheap.
const PIECES_MAX: usize = 64;

/// The script that is used when no model is named.
const DEMO: &str = include_str!("demo.yaml");

/// Output limit in tokens that the model declares unless the script sets one.
const OUTPUT_TOKENS_DEFAULT: u64 = 8_192;

/// The provider name in failures of scripted models.
pub const PROVIDER: &str = "scripted";

/// A model that responds from a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedModel {
    name: String,
    rounds: Vec<Round>,
    past_end: PastEnd,
    terms: ModelProfile,
}

/// The response to a request after the last round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PastEnd {
    Fails,
    RepeatsLast,
}

/// One entry: the response to one request, and its delay.
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
    /// The HTTP status; `None` if the connection failed.
    status: Option<u16>,
    /// The code of the failure.
    word: String,
    /// Whether the attempt can be retried.
    kind: ModelFailureKind,
    retry_after_ms: Option<u64>,
    message: Option<String>,
    /// The text that is streamed before the failure.
    after: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct ScriptedCall {
    name: String,
    input: Value,
}

impl ScriptedModel {
    /// Loads a script. Errors show `name`, which is the path of the file as given.
    pub fn load(text: &str, name: &str) -> Result<Self, ScriptError> {
        file::read(text, name)
    }

    /// The built-in demo: an agent that does a little visible work in its workspace. It can fail only if
    /// the build is broken, which a test rules out.
    pub fn demo() -> Result<Self, ScriptError> {
        Self::load(DEMO, "the built-in demo")
    }

    /// Returns the name that errors show.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the entry for the request after `recorded` recorded ones.
    fn round(&self, recorded: u32) -> Option<&Round> {
        let index = usize::try_from(recorded).unwrap_or(usize::MAX);
        match self.past_end {
            PastEnd::Fails => self.rounds.get(index),
            PastEnd::RepeatsLast => self.rounds.get(index).or(self.rounds.last()),
        }
    }

    fn exhausted(&self, request: &ModelRequest) -> ModelFailure {
        let summary = format!(
            "the script {} ends after {} rounds and another was requested; add a round, or set `repeat_last: true`",
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
        send_deltas(round, audience).await;
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
        let made_up = || format!("the script fails this attempt with {how}");
        let summary = self.message.clone().unwrap_or_else(made_up);
        // A failure with a status, or one that can be retried, is a transport failure; the others are
        // protocol failures.
        let category = match (self.status, self.kind) {
            (None, ModelFailureKind::FailFast) => FailureCategory::Protocol,
            (Some(_), _) | (None, ModelFailureKind::Retryable) => FailureCategory::Transport,
        };
        let mut artifact = FailureArtifact::new(category, &self.word, &summary);
        artifact.status = self.status;
        ModelFailure {
            retry_after_ms: self.retry_after_ms,
            // A response that has begun is billed.
            may_be_billed: self.after.is_some(),
            ..failure(request, self.kind, artifact)
        }
    }
}

/// Streams the text of a round in pieces, spread over its delay like the stream of a provider. A round
/// without text only waits.
async fn send_deltas(round: &Round, audience: &dyn DeltaSink) {
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

/// Splits a text between words into at most [`PIECES_MAX`] pieces, which together are the text.
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

/// Builds the blocks of a response. Call ids are derived from the request, so that a repeated attempt after
/// a crash gives the same ids and a repeated last round gives different ones.
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
