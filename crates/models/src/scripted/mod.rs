//! The scripted model: answers written down beforehand.
//!
//! A first-class provider and no mock: the demo, replays, evals and most tests run on it, through the same
//! port as any other. It keeps no position. The entry is chosen by how many requests of the run have a
//! recorded result, so a run that was killed and resumed, even by another process, goes on where it stood.

mod error;
mod file;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;
use wakeful_core::conversation::{Block, CALLS_PER_REPLY_MAX, ToolCall, Usage};
use wakeful_core::failure::{Category, FailureArtifact, ModelFailure, ModelFailureKind};
use wakeful_core::inference::Terms;
use wakeful_core::prompt::Request;
use wakeful_ports::model::{Answer, Audience, Model};

pub use error::{Place, ScriptError};

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

/// How failures of this provider are labelled.
const PROVIDER: &str = "scripted";

/// A model that answers from a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Scripted {
    name: String,
    rounds: Vec<Round>,
    past_end: PastEnd,
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
    play: Play,
}

#[derive(Debug, Clone, PartialEq)]
enum Play {
    Answer {
        text: Option<String>,
        tools: Vec<Tool>,
        usage: Usage,
    },
    Fail {
        status: u16,
        retry_after_ms: Option<u64>,
        message: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq)]
struct Tool {
    name: String,
    input: Value,
}

impl Scripted {
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

    fn exhausted(&self, request: &Request) -> ModelFailure {
        let summary = format!(
            "the script {} ends after {} rounds and one more was asked for; add a round, or set `repeat_last: true`",
            self.name,
            self.rounds.len(),
        );
        failure(
            request,
            ModelFailureKind::FailFast,
            FailureArtifact::new(Category::Protocol, "script_exhausted", &summary),
        )
    }
}

impl Model for Scripted {
    fn terms(&self, _model_ref: &str) -> Terms {
        Terms::here(PROVIDER)
    }

    async fn ask(&self, request: Request, audience: &dyn Audience) -> Result<Answer, ModelFailure> {
        let Some(round) = self.round(request.request) else {
            return Err(self.exhausted(&request));
        };
        speak(round, audience).await;
        match &round.play {
            Play::Answer { text, tools, usage } => Ok(Answer {
                blocks: blocks(text.as_deref(), tools, request.request),
                usage: *usage,
            }),
            Play::Fail {
                status,
                retry_after_ms,
                message,
            } => {
                let made_up = || format!("the script lets this attempt fail with status {status}");
                let summary = message.clone().unwrap_or_else(made_up);
                let mut artifact =
                    FailureArtifact::new(Category::Transport, &format!("http_{status}"), &summary);
                artifact.status = Some(*status);
                let failed = failure(&request, ModelFailure::kind_of_status(*status), artifact);
                Err(ModelFailure {
                    retry_after_ms: *retry_after_ms,
                    ..failed
                })
            }
        }
    }
}

/// Says the words of a round in pieces, spread over its delay, as a provider that streams would. A round without
/// words takes its time in silence.
async fn speak(round: &Round, audience: &dyn Audience) {
    let words = match &round.play {
        Play::Answer { text: Some(text), .. } => pieces(text),
        Play::Answer { text: None, .. } | Play::Fail { .. } => Vec::new(),
    };
    if words.is_empty() && !round.delay.is_zero() {
        tokio::time::sleep(round.delay).await;
    }
    let (began, count) = (tokio::time::Instant::now(), words.len());
    for (index, piece) in words.into_iter().enumerate() {
        if !round.delay.is_zero() {
            let part = round.delay.mul_f64(fraction(index.saturating_add(1), count));
            tokio::time::sleep_until(began + part).await;
        }
        audience.hear(piece);
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
fn blocks(text: Option<&str>, tools: &[Tool], request: u32) -> Vec<Block> {
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
    words.into_iter().chain(calls).collect()
}

fn failure(request: &Request, kind: ModelFailureKind, mut artifact: FailureArtifact) -> ModelFailure {
    artifact.provider = Some(PROVIDER.to_owned());
    artifact.model_ref = Some(request.model_ref.clone());
    ModelFailure::new(kind, artifact)
}
