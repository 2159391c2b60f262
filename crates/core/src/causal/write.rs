//! The possible writes to a causal record and their JSON form.

use serde_json::Value;

use crate::time::Millis;
pub use crate::wake::Lifecycle;

/// The greatest counter and failure count: larger integers are not exact in every JSON implementation.
const NUMBER_MAX: u64 = (1 << 53) - 1;

const NUMBER: &str = "a whole number from 0 to 9007199254740991";

/// One write to one field.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// `lifecycle`
    Lifecycle(Lifecycle),
    /// `sleep_until`: only a person wakes the agent before this time.
    SleepUntil(Option<Millis>),
    /// `next_wake_at`: the agent is woken at this time at the latest.
    NextWakeAt(Option<Millis>),
    /// `recent_head`: the newest message.
    RecentHead(Option<String>),
    /// `latest_summary`: the message that summarizes the earlier ones.
    LatestSummary(Option<String>),
    /// `failure_count`: consecutive failures.
    FailureCount(u64),
    /// `processed.<host>`: a change of that host was processed.
    Processed {
        /// The host that made the change.
        host: String,
        /// The number of the change, starting at 1.
        counter: u64,
    },
    /// `slot.primary_goal`
    PrimaryGoal(Option<String>),
    /// `slot.active_task_id`
    ActiveTaskId(Option<String>),
    /// `slot.open_loop_ids`
    OpenLoop(LoopWrite),
    /// `slot.preference.<key>`; each key has its own version.
    Preference { key: String, value: Option<String> },
    /// `slot.extension.<namespaced key>`; each key has its own version.
    Extension {
        /// The namespace and the name, separated by `.` or `:`.
        key: String,
        /// Any JSON value.
        value: Value,
    },
}

/// A write to the set of open loops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopWrite {
    /// Adds an open loop.
    Add(String),
    /// Removes an open loop, as far as its adds have been seen.
    Remove(String),
}

/// Why a field and value do not form a write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// The field does not exist.
    #[error("`{0}` is no field of a record; {hint}", hint = FIELDS)]
    Field(String),
    /// The field requires another type or range.
    #[error("the value of `{field}` must be {expected}")]
    Value {
        field: String,
        /// Description of the accepted values.
        expected: &'static str,
    },
}

const FIELDS: &str = "there are lifecycle, sleep_until, next_wake_at, recent_head, latest_summary, failure_count, processed.<host>, \
    slot.primary_goal, slot.active_task_id, slot.open_loop_ids, slot.preference.<key> and slot.extension.<key with a . or :>";

impl Write {
    /// Parses a write from its field name and value.
    pub fn parse(field: &str, value: &Value) -> Result<Self, FormError> {
        let parsed = match field {
            "lifecycle" => value.as_str().and_then(Lifecycle::parse).map(Self::Lifecycle),
            "sleep_until" => time(value).map(Self::SleepUntil),
            "next_wake_at" => time(value).map(Self::NextWakeAt),
            "recent_head" => text(value).map(Self::RecentHead),
            "latest_summary" => text(value).map(Self::LatestSummary),
            "failure_count" => number(value).map(Self::FailureCount),
            "slot.primary_goal" => text(value).map(Self::PrimaryGoal),
            "slot.active_task_id" => text(value).map(Self::ActiveTaskId),
            "slot.open_loop_ids" => LoopWrite::parse(value).map(Self::OpenLoop),
            named => return Self::parse_keyed(named, value),
        };
        parsed.ok_or_else(|| FormError::Value {
            field: field.to_owned(),
            expected: expected(field),
        })
    }

    /// Parses a write to a field whose name contains a key.
    fn parse_keyed(field: &str, value: &Value) -> Result<Self, FormError> {
        let key = |prefix: &str| {
            field
                .strip_prefix(prefix)
                .filter(|key| !key.is_empty())
                .map(str::to_owned)
        };
        let wrong = |expected| FormError::Value {
            field: field.to_owned(),
            expected,
        };
        if let Some(host) = key("processed.") {
            let counter = number(value).filter(|counter| *counter >= 1);
            let counter = counter.ok_or_else(|| wrong("a whole number from 1 to 9007199254740991"))?;
            return Ok(Self::Processed { host, counter });
        }
        if let Some(key) = key("slot.preference.") {
            let value = text(value).ok_or_else(|| wrong("a string or null"))?;
            return Ok(Self::Preference { key, value });
        }
        if let Some(key) = key("slot.extension.").filter(|key| key.contains(['.', ':'])) {
            let value = value.clone();
            return Ok(Self::Extension { key, value });
        }
        Err(FormError::Field(field.to_owned()))
    }
}

impl LoopWrite {
    fn parse(value: &Value) -> Option<Self> {
        let members = value.as_object().filter(|members| members.len() == 1)?;
        let (verb, id) = members.iter().next()?;
        let id = id.as_str()?.to_owned();
        match verb.as_str() {
            "add" => Some(Self::Add(id)),
            "remove" => Some(Self::Remove(id)),
            _ => None,
        }
    }
}

fn expected(field: &str) -> &'static str {
    match field {
        "lifecycle" => "created, active, dormant or destroyed",
        "sleep_until" | "next_wake_at" => "an RFC 3339 time or null",
        "failure_count" => NUMBER,
        "slot.open_loop_ids" => r#"{"add": id} or {"remove": id}"#,
        _ => "a string or null",
    }
}

/// A time or null; `None` if it is neither.
fn time(value: &Value) -> Option<Option<Millis>> {
    match value {
        Value::Null => Some(None),
        Value::String(text) => Millis::parse_rfc3339(text).map(Some),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A string or null; `None` if it is neither.
fn text(value: &Value) -> Option<Option<String>> {
    match value {
        Value::Null => Some(None),
        Value::String(text) => Some(Some(text.clone())),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().filter(|number| *number <= NUMBER_MAX)
}
