//! How much a model is asked to think before it answers, and what that becomes at each provider.

use std::fmt;

use crate::provider::Provider;
use crate::wire::ANTHROPIC_OUTPUT_TOKENS;

/// Fewest tokens that Anthropic lets a model think with.
const BUDGET_TOKENS_MIN: u32 = 1_024;

/// Most tokens that can be asked for: more than any model gives in one reply.
pub const THINKING_TOKENS_MAX: u32 = 1_000_000;

/// The models that are told a number of tokens to think with, by a part of their names. Those that came later are told how
/// hard to think, and refuse numbers sooner or later; so this list is closed.
const BY_TOKENS: [&str; 10] = [
    "claude-3",
    "claude-haiku-4-5",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-20250514",
    "claude-opus-4-5",
    "claude-sonnet-4-0",
    "claude-sonnet-4-20250514",
    "claude-sonnet-4-5",
    "gemini-2",
];

/// How many tokens the models of Gemini that count them may think with, by a part of their names, the longer first:
/// fewest, most, and whether they can be told not to think.
const GEMINI: [(&str, u32, u32, bool); 3] = [
    ("gemini-2.5-flash-lite", 512, 24_576, true),
    ("gemini-2.5-flash", 1, 24_576, true),
    ("gemini-2.5-pro", 128, 32_768, false),
];

/// How much a model is asked to think. Where nobody says anything, the provider's own default holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// Not at all.
    Off,
    /// A little.
    Low,
    /// As much as is usual.
    Medium,
    /// Much.
    High,
    /// With so many tokens.
    Tokens(u32),
}

impl Thinking {
    /// The words of a person.
    pub const WORDS: [&str; 4] = ["off", "low", "medium", "high"];

    /// What this word asks for.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "low" => Some(Self::Low),
            "medium" => Some(Self::Medium),
            "high" => Some(Self::High),
            _ => None,
        }
    }

    /// What it becomes in a request to this model, or why it cannot be asked for. `told` is the longest reply that the
    /// provider is told: thoughts are part of it.
    pub(crate) fn asked_of(
        self,
        provider: Provider,
        model: &str,
        told: Option<u32>,
    ) -> Result<ThinkingRequest, BadThinking> {
        let bad = |why| BadThinking { given: self, why };
        let longest = told.unwrap_or(ANTHROPIC_OUTPUT_TOKENS);
        match provider {
            Provider::OpenAi | Provider::OpenAiChat | Provider::OpenAiCodex => Ok(ThinkingRequest::Effort(
                self.effort().ok_or_else(|| bad(BadThinkingReason::WordsOnly))?,
            )),
            Provider::Anthropic => match self.lowered(model, longest) {
                ThinkingRequest::Tokens(tokens) if tokens < BUDGET_TOKENS_MIN => {
                    Err(bad(BadThinkingReason::TooFew))
                }
                ThinkingRequest::Tokens(tokens) if tokens >= longest => {
                    Err(bad(BadThinkingReason::TooMany { longest }))
                }
                asked @ (ThinkingRequest::Nothing
                | ThinkingRequest::Effort(_)
                | ThinkingRequest::Tokens(_)) => Ok(asked),
            },
            Provider::Gemini => {
                let asked = self.of_gemini(model, longest).map_err(bad)?;
                match asked {
                    // Where it is told no longest reply, its own is longer than any number here.
                    ThinkingRequest::Tokens(tokens) if told.is_some() && tokens >= longest => {
                        Err(bad(BadThinkingReason::TooMany { longest }))
                    }
                    ThinkingRequest::Nothing | ThinkingRequest::Effort(_) | ThinkingRequest::Tokens(_) => {
                        Ok(asked)
                    }
                }
            }
        }
    }

    /// A word becomes what the model can take; what a person counted is taken as it is or not at all.
    fn of_gemini(self, model: &str, longest: u32) -> Result<ThinkingRequest, BadThinkingReason> {
        let asked = self.lowered(model, longest);
        let Some((_, least, most, has_off)) = GEMINI.iter().find(|(part, ..)| model.contains(part)) else {
            return Ok(asked);
        };
        let is_word = !matches!(self, Self::Tokens(_));
        match asked {
            ThinkingRequest::Nothing if !has_off => Err(BadThinkingReason::AlwaysThinks { least: *least }),
            ThinkingRequest::Tokens(tokens) if is_word => {
                Ok(ThinkingRequest::Tokens(tokens.clamp(*least, *most)))
            }
            ThinkingRequest::Tokens(tokens) if !(*least..=*most).contains(&tokens) => {
                Err(BadThinkingReason::Between {
                    least: *least,
                    most: *most,
                })
            }
            ThinkingRequest::Nothing | ThinkingRequest::Effort(_) | ThinkingRequest::Tokens(_) => Ok(asked),
        }
    }

    /// The word of the OpenAI formats; none for a number.
    const fn effort(self) -> Option<Effort> {
        match self {
            Self::Off => Some(Effort::None),
            Self::Low => Some(Effort::Low),
            Self::Medium => Some(Effort::Medium),
            Self::High => Some(Effort::High),
            Self::Tokens(_) => None,
        }
    }

    /// A number of tokens or a word, as the model takes it. A word is a share of the longest reply where only numbers are
    /// taken, so that room for the answer is left.
    fn lowered(self, model: &str, longest: u32) -> ThinkingRequest {
        let (quarters, effort) = match self {
            Self::Off => return ThinkingRequest::Nothing,
            Self::Tokens(tokens) => return ThinkingRequest::Tokens(tokens),
            Self::Low => (1, Effort::Low),
            Self::Medium => (2, Effort::Medium),
            Self::High => (3, Effort::High),
        };
        match BY_TOKENS.iter().any(|part| model.contains(part)) {
            true => ThinkingRequest::Tokens((longest / 4 * quarters).max(BUDGET_TOKENS_MIN)),
            false => ThinkingRequest::Effort(effort),
        }
    }
}

impl fmt::Display for Thinking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Low => f.write_str("low"),
            Self::Medium => f.write_str("medium"),
            Self::High => f.write_str("high"),
            Self::Tokens(tokens) => write!(f, "{tokens}"),
        }
    }
}

/// What a provider is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingRequest {
    /// Not to think.
    Nothing,
    /// To think so hard.
    Effort(Effort),
    /// To think with so many tokens.
    Tokens(u32),
}

/// How hard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    None,
    Low,
    Medium,
    High,
}

impl Effort {
    /// As Anthropic and OpenAI spell it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// As Gemini spells it.
    pub(crate) const fn level(self) -> &'static str {
        match self {
            Self::None => "MINIMAL",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }
}

/// An amount of thinking that a model cannot be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`thinking` is {given}: {why}")]
pub struct BadThinking {
    given: Thinking,
    why: BadThinkingReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BadThinkingReason {
    WordsOnly,
    TooFew,
    TooMany { longest: u32 },
    AlwaysThinks { least: u32 },
    Between { least: u32, most: u32 },
}

impl fmt::Display for BadThinkingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WordsOnly => write!(f, "this format takes one of {}", Thinking::WORDS.join(", ")),
            Self::TooFew => write!(f, "Anthropic takes {BUDGET_TOKENS_MIN} tokens or more"),
            Self::TooMany { longest } => write!(
                f,
                "thoughts are part of the reply, and the longest reply has {longest} tokens; raise `max_output_tokens` or \
                 think less"
            ),
            Self::AlwaysThinks { least } => {
                write!(
                    f,
                    "this model always thinks, with {least} tokens at least; write {least}"
                )
            }
            Self::Between { least, most } => write!(f, "this model takes {least} to {most} tokens"),
        }
    }
}
