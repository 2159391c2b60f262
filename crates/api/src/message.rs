//! Messages: what enters an agent's queue.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A message for an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// What the agent is to do. At most 256 KiB.
    #[schema(min_length = 1, max_length = 262144, example = "Look at the newest log file")]
    pub text: String,
    /// Names this message: the same key with the same message again is the same message, with another it is an
    /// error. The header `Idempotency-Key` does the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"
    )]
    pub key: Option<String>,
    /// Who answers; the daemon's model when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 4096, example = "demo")]
    pub model: Option<String>,
    /// Most model rounds before the run is ended.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 100000)]
    pub max_rounds: Option<u32>,
    /// The folder this run's commands run in; the agent's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 4096)]
    pub workspace: Option<String>,
    /// Tools that this run may not use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub deny_tools: Vec<String>,
    /// Tools that this run may use only after a person said so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub ask_tools: Vec<String>,
    /// How soon it wants its turn; `normal` when absent. It says nothing about trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Pictures and documents, at most 20 MiB together; the model is shown them before the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 8)]
    pub attachments: Vec<Attached>,
}

/// How soon a message wants its turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before all others. What a person says with it, without wishes of its own, joins a run that is under way.
    Interject,
    /// Before what is ordinary.
    Next,
    /// In its turn.
    #[default]
    Normal,
    /// When there is nothing better to do.
    Background,
}

/// A picture or a document that comes with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Attached {
    /// Its file name, without folders.
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^/\u0000-\u001f\u007f-\u009f]+$",
        example = "notes.txt"
    )]
    pub name: String,
    /// What it is, and its first bytes must say the same.
    #[schema(
        pattern = "^(image/(png|jpeg|gif|webp)|application/pdf|text/plain)$",
        example = "text/plain"
    )]
    pub media_type: String,
    /// Its bytes in base64 with padding; at most 5 MiB before that.
    #[schema(
        min_length = 4,
        max_length = 6990508,
        pattern = "^[A-Za-z0-9+/]+={0,2}$",
        example = "aGVsbG8="
    )]
    pub data: String,
}

/// A whole number, also when it is spelled with a point: in JSON `5` and `5.0` are one number.
pub(crate) fn whole<'de, D: serde::Deserializer<'de>, T: std::str::FromStr>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let spelled = number
        .as_f64()
        .filter(|number| number.fract() == 0.0)
        .map(|number| format!("{number:.0}"));
    let parsed = spelled.and_then(|digits| digits.parse().ok());
    parsed.map(Some).ok_or_else(|| {
        serde::de::Error::custom(format!("{number} is no whole number, or one that is too large"))
    })
}

/// A message that is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// The run that answers it, now or later.
    pub run_key: String,
    /// Whose queue it is in.
    pub agent_id: String,
    /// Whether it was new.
    pub admission: Admission,
}

/// Whether a message was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// It was.
    New,
    /// The same message was there already.
    Known,
}

/// A message that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Queued {
    /// The run that will answer it.
    pub run_key: String,
    /// The number of the event that announced it: the order of the queue among equal priorities.
    pub seq: u64,
    /// How soon it wants its turn.
    #[serde(default)]
    pub priority: Priority,
    /// When it came.
    #[schema(format = DateTime)]
    pub admitted_at: String,
    /// How it begins.
    pub preview: String,
}

#[cfg(test)]
mod tests {
    use super::SendMessage;

    #[test]
    fn a_whole_number_may_be_spelled_with_a_point_and_nothing_else_passes() {
        let read = |rounds: &str| {
            let body = format!(r#"{{"text": "x", "max_rounds": {rounds}}}"#);
            serde_json::from_str::<SendMessage>(&body)
                .ok()
                .map(|message| message.max_rounds)
        };
        for (spelled, meant) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("1e2", Some(100)),
            ("null", None),
        ] {
            assert_eq!(read(spelled), Some(meant), "{spelled}");
        }
        for wrong in ["5.5", "-1", "4294967296", "1e300", "\"5\"", "true"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
