//! The script file: its shape as YAML, and the checks that a shape cannot express.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr as yaml;
use wakeful_core::conversation::Usage;
use yaml::Spanned;
use yaml::options::MergeKeyPolicy;

use super::error::{Place, ScriptError};
use super::{
    DELAY_MS_MAX, PastEnd, Play, ROUNDS_MAX, Round, SCRIPT_BYTES_MAX, Scripted, TOOLS_PER_ROUND_MAX, Tool,
};

/// Deepest nesting. Rounds, tools and input take five levels; the rest is for the arguments of a tool.
const DEPTH_MAX: usize = 32;

/// Most values and keys of a file: twenty for every round there may be.
const NODES_MAX: usize = 2_000_000;

/// Longest wait a failure may ask for, a day. Far beyond what a run accepts, so that giving up can be tried.
const RETRY_AFTER_MS_MAX: u64 = 86_400_000;

/// Most tokens of one direction. JSON numbers are exact up to 2^53, and sums of rounds must stay below.
const TOKENS_MAX: u64 = 1_000_000_000;

/// The statuses a failed attempt can have.
const STATUSES: std::ops::RangeInclusive<u16> = 400..=599;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileShape {
    #[serde(default)]
    repeat_last: bool,
    rounds: Vec<Spanned<RoundShape>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoundShape {
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
    #[serde(deserialize_with = "status")]
    status: u16,
    #[serde(default, deserialize_with = "retry_after")]
    retry_after_ms: Option<u64>,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageShape {
    #[serde(default, deserialize_with = "tokens")]
    input_tokens: u64,
    #[serde(default, deserialize_with = "tokens")]
    output_tokens: u64,
}

/// Reads and checks a whole script. Nothing is left to be found out while a run is under way.
pub(super) fn read(text: &str, name: &str) -> Result<Scripted, ScriptError> {
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
        .map(|round| Place::of(round.referenced));
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
        let place = Place::of(spanned.referenced);
        round(spanned.value).map_err(|(key, message)| flaw(place, format!("rounds[{index}]{key}"), message))
    });
    let past_end = if shape.repeat_last {
        PastEnd::RepeatsLast
    } else {
        PastEnd::Fails
    };
    Ok(Scripted {
        name: name.to_owned(),
        rounds: rounds.collect::<Result<_, _>>()?,
        past_end,
    })
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

/// A script is plain data. Aliases are refused rather than counted: a script has no need of them, and every
/// way to blow a small file up to gigabytes goes through them.
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

/// What one entry says. The error is the key it is about, with its dot, and the message.
fn round(shape: RoundShape) -> Result<Round, (&'static str, String)> {
    let delay = Duration::from_millis(shape.delay_ms);
    let says_something = shape.text.is_some() || !shape.tools.is_empty();
    let play = match shape.fail {
        Some(_) if says_something || shape.usage.is_some() => {
            return Err((
                ".fail",
                "an attempt that fails says nothing; take `text`, `tools` and `usage` out".into(),
            ));
        }
        Some(fail) => Play::Fail {
            status: fail.status,
            retry_after_ms: fail.retry_after_ms,
            message: fail.message,
        },
        None if !says_something => {
            return Err(("", "says nothing; give it `text`, `tools` or `fail`".into()));
        }
        None => Play::Answer {
            text: shape.text,
            tools: tools(shape.tools)?,
            usage: usage(shape.usage),
        },
    };
    Ok(Round { delay, play })
}

fn tools(shapes: Vec<ToolShape>) -> Result<Vec<Tool>, (&'static str, String)> {
    if shapes.len() > TOOLS_PER_ROUND_MAX {
        let message =
            format!("a round asks for at most {TOOLS_PER_ROUND_MAX} tools; move the rest to the next round");
        return Err((".tools", message));
    }
    Ok(shapes
        .into_iter()
        .map(|shape| Tool {
            name: shape.name,
            input: shape.input,
        })
        .collect())
}

fn usage(shape: Option<UsageShape>) -> Usage {
    let counted = |shape: UsageShape| Usage::of(shape.input_tokens, shape.output_tokens);
    shape.map(counted).unwrap_or_default()
}

/// A tool that is called without arguments, as a model spells it.
fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

// Bounds are checked while reading, because only then are line and field of a number at hand.

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

fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let status = u16::deserialize(deserializer)?;
    if STATUSES.contains(&status) {
        return Ok(status);
    }
    let (least, most) = (STATUSES.start(), STATUSES.end());
    Err(serde::de::Error::custom(format!(
        "must be an HTTP status of a failure, {least} to {most}"
    )))
}

fn at_most<E: serde::de::Error>(value: u64, most: u64) -> Result<u64, E> {
    if value > most {
        return Err(E::custom(format!("must be at most {most}")));
    }
    Ok(value)
}
