//! Parses script files: the YAML structure, and the checks that the structure cannot express.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr as yaml;
use wakeful_core::budget::{MicroUsd, Price, PriceBasis};
use wakeful_core::conversation::Usage;
use wakeful_core::failure::{CONTEXT_LENGTH_EXCEEDED, ModelFailure, ModelFailureKind, WORD_CHARS_MAX};
use wakeful_core::inference::{DataBoundary, ModelProfile};
use yaml::Spanned;
use yaml::options::MergeKeyPolicy;

use super::error::{FilePosition, ScriptError};
use super::{
    DELAY_MS_MAX, OUTPUT_TOKENS_DEFAULT, PROVIDER, PastEnd, ROUNDS_MAX, Round, RoundResult, SCRIPT_BYTES_MAX,
    ScriptedCall, ScriptedFailure, ScriptedModel, TOOLS_PER_ROUND_MAX,
};

/// Deepest nesting. Rounds, tools and input take five levels; the rest is for the arguments of a tool.
const DEPTH_MAX: usize = 32;

/// Maximum number of values and keys in a file: twenty per allowed round.
const NODES_MAX: usize = 2_000_000;

/// Longest wait that a scripted failure may request, one day. It exceeds what a run accepts, so that tests
/// can cover giving up.
pub(super) const RETRY_AFTER_MS_MAX: u64 = 86_400_000;

/// Maximum number of input or output tokens. JSON numbers are exact up to 2^53, and sums over rounds must
/// stay below it.
pub(super) const TOKENS_MAX: u64 = 1_000_000_000;

/// Highest price of a million tokens in dollars: ten times the highest price ever offered.
const DOLLARS_MAX: f64 = 10_000.0;

/// The HTTP statuses that a failed attempt can have.
pub(super) const STATUSES: std::ops::RangeInclusive<u16> = 400..=599;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileShape {
    #[serde(default)]
    repeat_last: bool,
    price: Option<PriceShape>,
    #[serde(default, deserialize_with = "output_tokens")]
    max_output_tokens: Option<u64>,
    boundary: Option<DataBoundary>,
    rounds: Vec<Spanned<RoundShape>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoundShape {
    thinking: Option<String>,
    text: Option<String>,
    #[serde(default, deserialize_with = "delay")]
    delay_ms: u64,
    #[serde(default)]
    tools: Vec<ToolShape>,
    fail: Option<FailShape>,
    usage: Option<UsageShape>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolShape {
    name: String,
    #[serde(default = "no_arguments")]
    input: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailShape {
    #[serde(default, deserialize_with = "status")]
    status: Option<u16>,
    #[serde(default, deserialize_with = "word")]
    kind: Option<String>,
    retry: Option<bool>,
    #[serde(default, deserialize_with = "retry_after")]
    retry_after_ms: Option<u64>,
    message: Option<String>,
    after: Option<String>,
}

/// Dollars per million tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceShape {
    #[serde(deserialize_with = "dollars")]
    input: MicroUsd,
    #[serde(deserialize_with = "dollars")]
    output: MicroUsd,
    #[serde(default, deserialize_with = "some_dollars")]
    cached_read: Option<MicroUsd>,
    #[serde(default, deserialize_with = "some_dollars")]
    cached_write: Option<MicroUsd>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageShape {
    #[serde(default, deserialize_with = "tokens")]
    input_tokens: u64,
    #[serde(default, deserialize_with = "tokens")]
    output_tokens: u64,
    #[serde(default, deserialize_with = "tokens")]
    cached_read_tokens: u64,
    #[serde(default, deserialize_with = "tokens")]
    cached_write_tokens: u64,
    #[serde(default, deserialize_with = "tokens")]
    reasoning_tokens: u64,
}

/// Parses and validates a whole script, so that a run never finds an error in it later.
pub(super) fn read(text: &str, name: &str) -> Result<ScriptedModel, ScriptError> {
    let flaw = |place, field: String, message: String| ScriptError {
        script: name.to_owned(),
        place,
        field,
        message,
    };
    if text.len() > SCRIPT_BYTES_MAX {
        let message =
            format!("a script has at most {SCRIPT_BYTES_MAX} bytes; split it, or use `repeat_last: true`");
        return Err(flaw(None, String::new(), message));
    }
    let shape = shape(text, name)?;
    let excess = shape
        .rounds
        .get(ROUNDS_MAX)
        .map(|round| FilePosition::of(round.referenced));
    if let Some(place) = excess {
        let message = format!("a script has at most {ROUNDS_MAX} rounds; use `repeat_last: true`");
        return Err(flaw(place, "rounds".into(), message));
    }
    if shape.rounds.is_empty() {
        return Err(flaw(
            None,
            "rounds".into(),
            "has no entry; write at least `- text: \"…\"`".into(),
        ));
    }
    let rounds = shape.rounds.into_iter().enumerate().map(|(index, spanned)| {
        let place = FilePosition::of(spanned.referenced);
        round(spanned.value).map_err(|(key, message)| flaw(place, format!("rounds[{index}]{key}"), message))
    });
    let terms = terms(shape.price, shape.max_output_tokens, shape.boundary);
    let past_end = if shape.repeat_last {
        PastEnd::RepeatsLast
    } else {
        PastEnd::Fails
    };
    Ok(ScriptedModel {
        name: name.to_owned(),
        rounds: rounds.collect::<Result<_, _>>()?,
        past_end,
        terms,
    })
}

/// Returns the model profile that the head of a script declares.
fn terms(
    price: Option<PriceShape>,
    output_tokens_max: Option<u64>,
    boundary: Option<DataBoundary>,
) -> ModelProfile {
    let here = ModelProfile::here(PROVIDER);
    let price = price.map(|price| Price {
        input: price.input,
        output: price.output,
        cached_read: price.cached_read.unwrap_or(price.input),
        cached_write: price.cached_write.unwrap_or(price.input),
    });
    ModelProfile {
        boundary: boundary.unwrap_or(here.boundary),
        price: price.map(|price| (price, PriceBasis::Configured)),
        output_tokens_max: output_tokens_max.unwrap_or(OUTPUT_TOKENS_DEFAULT),
        ..here
    }
}

fn shape(text: &str, name: &str) -> Result<FileShape, ScriptError> {
    let mut path = None;
    let read = yaml::with_deserializer_from_str_with_options(text, options(), |deserializer| {
        serde_path_to_error::deserialize(deserializer).map_err(
            |error: serde_path_to_error::Error<yaml::Error>| {
                path = Some(error.path().clone());
                error.into_inner()
            },
        )
    });
    read.map_err(|error| ScriptError::unreadable(name, path.as_ref(), &error))
}

/// A script is plain data. Aliases are rejected and not counted: scripts do not need them, and they are the
/// only way in which a small file could expand to gigabytes.
fn options() -> yaml::Options {
    yaml::options! {
        budget: yaml::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_merge_keys: 0,
            max_documents: 1,
            max_depth: DEPTH_MAX,
            flow_nesting_limit: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_events: NODES_MAX * 2,
        },
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// Converts one entry. The error contains the key with its dot, and the message.
fn round(shape: RoundShape) -> Result<Round, (&'static str, String)> {
    let delay = Duration::from_millis(shape.delay_ms);
    let says_something = shape.text.is_some() || !shape.tools.is_empty();
    let play = match shape.fail {
        Some(_) if says_something || shape.usage.is_some() || shape.thinking.is_some() => {
            return Err((
                ".fail",
                "a failing attempt has no response; remove `text`, `tools`, `thinking` and `usage`, or put the text before the \
                    failure into `fail.after`"
                    .into(),
            ));
        }
        Some(fail) => RoundResult::Fail(failure(fail)?),
        None if !says_something => {
            return Err(("", "has no response; add `text`, `tools` or `fail`".into()));
        }
        None => RoundResult::Answer {
            thinking: shape.thinking,
            text: shape.text,
            tools: tools(shape.tools)?,
            usage: usage(shape.usage),
        },
    };
    Ok(Round { delay, play })
}

/// Whether an attempt can be retried if the script does not specify it. The status decides; without a
/// status, the connection failed and can be retried, unless the conversation is too long, which a retry
/// cannot change.
pub(super) fn usual_kind(status: Option<u16>, word: &str) -> ModelFailureKind {
    match status {
        Some(status) => ModelFailure::kind_of_status(status),
        None if word == CONTEXT_LENGTH_EXCEEDED => ModelFailureKind::FailFast,
        None => ModelFailureKind::Retryable,
    }
}

/// Converts an attempt that fails.
fn failure(shape: FailShape) -> Result<ScriptedFailure, (&'static str, String)> {
    let word = match (shape.kind, shape.status) {
        (Some(word), _) => word,
        (None, Some(status)) => format!("http_{status}"),
        (None, None) => return Err((".fail", "has no cause; add `status` or `kind`".into())),
    };
    let usual = usual_kind(shape.status, &word);
    let kind = match shape.retry {
        Some(true) => ModelFailureKind::Retryable,
        Some(false) => ModelFailureKind::FailFast,
        None => usual,
    };
    Ok(ScriptedFailure {
        status: shape.status,
        word,
        kind,
        retry_after_ms: shape.retry_after_ms,
        message: shape.message,
        after: shape.after,
    })
}

fn tools(shapes: Vec<ToolShape>) -> Result<Vec<ScriptedCall>, (&'static str, String)> {
    if shapes.len() > TOOLS_PER_ROUND_MAX {
        let message =
            format!("a round has at most {TOOLS_PER_ROUND_MAX} tool calls; move the rest to the next round");
        return Err((".tools", message));
    }
    Ok(shapes
        .into_iter()
        .map(|shape| ScriptedCall {
            name: shape.name,
            input: shape.input,
        })
        .collect())
}

fn usage(shape: Option<UsageShape>) -> Usage {
    let counted = |shape: UsageShape| Usage {
        input_tokens: shape.input_tokens,
        output_tokens: shape.output_tokens,
        cached_read_tokens: shape.cached_read_tokens,
        cached_write_tokens: shape.cached_write_tokens,
        reasoning_tokens: shape.reasoning_tokens,
        web_searches: 0,
    };
    shape.map(counted).unwrap_or_default()
}

/// The input of a tool call without arguments, in the form that models use.
fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

// Limits are checked during deserialization, because only then are the line and field of a number known.

fn delay<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    at_most(u64::deserialize(deserializer)?, DELAY_MS_MAX)
}

fn tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    at_most(u64::deserialize(deserializer)?, TOKENS_MAX)
}

fn retry_after<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Option::<u64>::deserialize(deserializer)?
        .map(|value| at_most(value, RETRY_AFTER_MS_MAX))
        .transpose()
}

fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    let status = Option::<u16>::deserialize(deserializer)?;
    if status.is_none_or(|status| STATUSES.contains(&status)) {
        return Ok(status);
    }
    let (least, most) = (STATUSES.start(), STATUSES.end());
    Err(serde::de::Error::custom(format!(
        "must be an HTTP status of a failure, {least} to {most}"
    )))
}

fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let word = Option::<String>::deserialize(deserializer)?;
    let is_word = |word: &String| {
        (1..=WORD_CHARS_MAX).contains(&word.len())
            && word
                .bytes()
                .all(|letter| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    };
    if word.as_ref().is_none_or(is_word) {
        return Ok(word);
    }
    Err(serde::de::Error::custom(format!(
        "must be a word of a-z, 0-9 and _, at most {WORD_CHARS_MAX} letters"
    )))
}

fn output_tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Option::<u64>::deserialize(deserializer)?
        .map(|value| at_most(value, TOKENS_MAX))
        .transpose()
}

fn some_dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MicroUsd>, D::Error> {
    dollars(deserializer).map(Some)
}

fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MicroUsd, D::Error> {
    let dollars = f64::deserialize(deserializer)?;
    if !(0.0..=DOLLARS_MAX).contains(&dollars) {
        return Err(serde::de::Error::custom(format!(
            "must be dollars per million tokens, 0 to {DOLLARS_MAX}"
        )));
    }
    // Converted through the decimal digits, so that no amount of money is rounded.
    let micro = format!("{:.0}", dollars * 1_000_000.0).parse();
    micro
        .map(MicroUsd)
        .map_err(|_| serde::de::Error::custom("must be a number"))
}

fn at_most<E: serde::de::Error>(value: u64, most: u64) -> Result<u64, E> {
    if value > most {
        return Err(E::custom(format!("must be at most {most}")));
    }
    Ok(value)
}
