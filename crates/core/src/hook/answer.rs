//! What a hook answered, and what follows from it.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{HookEvent, HookResult, REASON_CHARS_MAX};
use crate::failure::truncate_chars;

/// The exit status with which a hook blocks.
const BLOCKS: i32 = 2;

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEnd {
    /// A command with this exit status.
    Exited(i32),
    /// A command that a signal ended.
    Killed,
    /// An address that answered with this status.
    Answered(u16),
    /// It took too long.
    TimedOut,
    /// It answered more than allowed.
    TooMuchOutput,
    /// It could not be run, for this reason.
    NotRun(String),
}

/// The end of a hook, with what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutput {
    pub end: HookEnd,
    /// The standard output of a command, or the body of a response.
    pub answer: Vec<u8>,
    /// The error output of a command.
    pub errors: Vec<u8>,
}

/// What follows from the answer of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookVerdict {
    pub result: HookResult,
    /// The reason that it gave, or the error.
    pub reason: String,
    /// Whether it stops the step.
    pub is_blocking: bool,
    /// Whether the call needs an approval.
    pub asks: bool,
    /// The changed arguments of the call.
    pub changed_input: Option<Value>,
}

impl HookVerdict {
    const fn new(result: HookResult, reason: String) -> Self {
        Self {
            result,
            reason,
            is_blocking: false,
            asks: false,
            changed_input: None,
        }
    }

    /// The verdict on a hook without objections.
    #[must_use]
    pub const fn new_passed() -> Self {
        Self::new(HookResult::Passed, String::new())
    }

    /// The verdict on a hook that failed.
    #[must_use]
    pub fn failed(event: HookEvent, why: &str) -> Self {
        Self {
            is_blocking: event.is_blocking(),
            ..Self::new(HookResult::Failed, one_line(why))
        }
    }

    fn blocked(event: HookEvent, reason: &str) -> Self {
        let reason = match one_line(reason) {
            reason if reason.is_empty() => "the hook gave no reason".to_owned(),
            reason => reason,
        };
        Self {
            is_blocking: event.is_blocking(),
            ..Self::new(HookResult::Blocked, reason)
        }
    }
}

/// What a hook may answer. Other fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    #[serde(rename = "continue")]
    continues: Option<bool>,
    #[serde(rename = "stopReason")]
    stop_reason: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    specific: Option<SpecificAnswer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SpecificAnswer {
    hook_event_name: Option<String>,
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Map<String, Value>>,
}

/// What the end of a hook means. An answer that cannot be read is a failure, because the hook may have meant to
/// block.
#[must_use]
pub fn judge(event: HookEvent, output: &HookOutput) -> HookVerdict {
    let failed = |why: &str| HookVerdict::failed(event, why);
    let errors = || one_line(&String::from_utf8_lossy(&output.errors));
    let with_errors = |what: String| match errors() {
        errors if errors.is_empty() => what,
        errors => format!("{what}: {errors}"),
    };
    match &output.end {
        HookEnd::Exited(0) | HookEnd::Answered(200..=299) => read(event, &output.answer),
        HookEnd::Exited(BLOCKS) => HookVerdict::blocked(event, &errors()),
        HookEnd::Exited(status) => failed(&with_errors(format!("the hook ended with exit {status}"))),
        HookEnd::Killed => failed(&with_errors("a signal ended the hook".to_owned())),
        HookEnd::Answered(status) => failed(&format!("the hook answered with status {status}")),
        HookEnd::TimedOut => failed("the hook did not end in time and was stopped"),
        HookEnd::TooMuchOutput => failed("the hook wrote more than allowed and was stopped"),
        HookEnd::NotRun(why) => failed(&format!("the hook could not be run: {why}")),
    }
}

fn read(event: HookEvent, bytes: &[u8]) -> HookVerdict {
    if bytes.trim_ascii().is_empty() || !event.is_blocking() {
        return HookVerdict::new_passed();
    }
    // An array would be read as the fields in their order.
    let object = serde_json::from_slice::<Map<String, Value>>(bytes);
    let answer: Answer = match object.and_then(|object| serde_json::from_value(Value::Object(object))) {
        Ok(answer) => answer,
        Err(error) => {
            let why = format!("the answer of the hook is not the JSON that is expected: {error}");
            return HookVerdict::failed(event, &why);
        }
    };
    match verdict(event, answer) {
        Ok(verdict) => verdict,
        Err(why) => HookVerdict::failed(event, &why),
    }
}

fn verdict(event: HookEvent, answer: Answer) -> Result<HookVerdict, String> {
    let specific = answer.specific.unwrap_or_default();
    if let Some(name) = specific.hook_event_name.filter(|name| name != event.as_str()) {
        let name = truncate_chars(&name, 40);
        return Err(format!("the hook answered to {name:?} and not to {event}"));
    }
    let reason = specific.permission_decision_reason.or(answer.reason);
    let reason = reason.unwrap_or_default();
    if answer.continues == Some(false) {
        return Ok(HookVerdict::blocked(event, &answer.stop_reason.unwrap_or(reason)));
    }
    let mut asks = false;
    for decision in [specific.permission_decision, answer.decision]
        .into_iter()
        .flatten()
    {
        match decision.as_str() {
            "block" | "deny" => return Ok(HookVerdict::blocked(event, &reason)),
            "ask" if event == HookEvent::PreToolUse => asks = true,
            // A hook can only restrict: what the policy decides stays.
            "allow" | "approve" => {}
            other => {
                let other = truncate_chars(other, 40);
                return Err(format!("the hook answered with the unknown decision {other:?}"));
            }
        }
    }
    if specific.updated_input.is_some() && event != HookEvent::PreToolUse {
        return Err(format!("a hook of {event} cannot change arguments"));
    }
    let result = match (&specific.updated_input, asks) {
        (Some(_), _) => HookResult::Changed,
        (None, true) => HookResult::Asked,
        (None, false) => HookResult::Passed,
    };
    Ok(HookVerdict {
        asks,
        changed_input: specific.updated_input.map(Value::Object),
        ..HookVerdict::new(result, one_line(&reason))
    })
}

/// The text in one line, within the bound of a reason.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .collect();
    let words = words.into_iter().filter(|word| !word.is_empty());
    truncate_chars(&words.collect::<Vec<_>>().join(" "), REASON_CHARS_MAX)
}
