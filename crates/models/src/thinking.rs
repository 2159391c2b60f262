//! How much a model should think before it responds, and the request field that each provider uses for it.

use std::fmt;

use crate::provider::Provider;
use crate::wire::ANTHROPIC_OUTPUT_TOKENS;

/// Smallest thinking budget that Anthropic accepts, in tokens.
const BUDGET_TOKENS_MIN: u32 = 1_024;

/// Largest thinking budget in tokens: more than any model produces in one response.
pub const THINKING_TOKENS_MAX: u32 = 1_000_000;

/// Substrings of the names of models that take a thinking budget in tokens. Newer models take an effort
/// level and refuse budgets sooner or later, so this list does not grow.
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

/// The thinking budgets of Gemini models, by a substring of their names, longer ones first: minimum,
/// maximum, and whether thinking can be turned off.
const GEMINI: [(&str, u32, u32, bool); 3] = [
    ("gemini-2.5-flash-lite", 512, 24_576, true),
    ("gemini-2.5-flash", 1, 24_576, true),
    ("gemini-2.5-pro", 128, 32_768, false),
];

/// How much a model should think. If it is not configured, the provider's default applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// No thinking.
    Off,
    /// Low effort.
    Low,
    /// Medium effort.
    Medium,
    /// High effort.
    High,
    /// A budget of this many tokens.
    Tokens(u32),
}

impl Thinking {
    /// The values that can be configured, besides a number.
    pub const WORDS: [&str; 4] = ["off", "low", "medium", "high"];

    /// Parses one of the values in [`Self::WORDS`].
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

    /// Returns the request setting for this model, or why the model does not support it. `told` is the
    /// output limit that is sent to the provider, which includes thinking.
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
                    // Without a sent limit, the provider's own output limit exceeds every budget here.
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

    /// A level is adjusted to the model's range; a number of tokens outside the range is an error.
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

    /// Returns the effort level of the OpenAI formats; `None` for a number of tokens.
    const fn effort(self) -> Option<Effort> {
        match self {
            Self::Off => Some(Effort::None),
            Self::Low => Some(Effort::Low),
            Self::Medium => Some(Effort::Medium),
            Self::High => Some(Effort::High),
            Self::Tokens(_) => None,
        }
    }

    /// Returns a number of tokens or an effort level, depending on the model. For models that take only
    /// numbers, a level becomes a share of the output limit, so that room for the response remains.
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

/// The thinking setting of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingRequest {
    /// Thinking is off.
    Nothing,
    /// An effort level.
    Effort(Effort),
    /// A budget in tokens.
    Tokens(u32),
}

/// An effort level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    None,
    Low,
    Medium,
    High,
}

impl Effort {
    /// Returns the level in the notation of Anthropic and OpenAI.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Returns the level in the notation of Gemini.
    pub(crate) const fn level(self) -> &'static str {
        match self {
            Self::None => "MINIMAL",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }
}

/// A thinking setting that a model does not support.
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
                "thinking counts towards the output limit of {longest} tokens; raise `max_output_tokens` or think less"
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
