//! Parses the error bodies of all providers. Their formats are similar enough for one parser.

use serde_json::Value;

/// Phrases in the errors of Anthropic, OpenAI and compatible servers, and Gemini when a request does not
/// fit the model. The error code is checked first, if there is one.
const TOO_LONG: [&str; 6] = [
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "exceeds the context window",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
];

/// The error codes with the same meaning.
const TOO_LONG_CODES: [&str; 2] = ["context_length_exceeded", "exceed_context_size_error"];

/// Error codes inside a stream, whose HTTP status was already 200, and the status that each stands for.
const STATUSES: [(&str, u16); 13] = [
    ("overloaded_error", 529),
    ("server_is_overloaded", 503),
    ("slow_down", 503),
    ("rate_limit_error", 429),
    ("rate_limit_exceeded", 429),
    ("insufficient_quota", 429),
    ("invalid_request_error", 400),
    ("invalid_prompt", 400),
    ("authentication_error", 401),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("context_length_exceeded", 400),
];

/// The status of an error inside a stream without a known code: an error of the server.
const STATUS_UNKNOWN: u16 = 500;

/// A provider's error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProviderErrorBody {
    codes: Vec<String>,
    number: Option<u16>,
    pub(crate) message: String,
}

impl ProviderErrorBody {
    /// Finds an error in a body or an event.
    pub(crate) fn found_in(text: &str) -> Option<Self> {
        // Avoids parsing nearly every event twice.
        if !text.contains("\"error\"") {
            return None;
        }
        let value: Value = serde_json::from_str(text).ok()?;
        let value = value.get(0).unwrap_or(&value);
        match value.get("error").filter(|error| !error.is_null()) {
            Some(error) => Some(Self::of(error)),
            None if value.get("type").and_then(Value::as_str) == Some("error") => Some(Self::of(value)),
            None => None,
        }
    }

    /// Reads an error object, or the plain string that some servers send.
    pub(crate) fn of(error: &Value) -> Self {
        let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = error.get("code").and_then(Value::as_u64);
        Self {
            codes: ["code", "type", "status"].into_iter().filter_map(text).collect(),
            number: number
                .and_then(|n| u16::try_from(n).ok())
                .filter(|n| (400..600).contains(n)),
            message: text("message")
                .or_else(|| error.as_str().map(str::to_owned))
                .unwrap_or_default(),
        }
    }

    /// Uses a body in an unknown format as the message.
    pub(crate) fn plain(text: &str) -> Self {
        Self {
            message: text.to_owned(),
            ..Self::default()
        }
    }

    /// Whether the request was too long for the model.
    pub(crate) fn is_too_long(&self) -> bool {
        let lower = self.message.to_lowercase();
        self.codes
            .iter()
            .any(|code| TOO_LONG_CODES.contains(&code.as_str()))
            || TOO_LONG.iter().any(|phrase| lower.contains(phrase))
    }

    /// Returns the HTTP status that the error stands for.
    pub(crate) fn status(&self) -> u16 {
        let known = |code: &String| STATUSES.iter().find(|(known, _)| known == code);
        let named = self.codes.iter().find_map(known).map(|(_, status)| *status);
        self.number.or(named).unwrap_or(STATUS_UNKNOWN)
    }

    /// Returns the most specific of its codes.
    pub(crate) fn code(&self) -> Option<&str> {
        self.codes.first().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> ProviderErrorBody {
        ProviderErrorBody::found_in(text).expect(text)
    }

    #[test]
    fn a_request_that_is_too_long_is_recognized_for_every_provider() {
        for text in [
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 1 + 2 > 2"}}"#,
            r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":null}}"#,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            r#"{"error":{"code":400,"message":"The input token count (1) exceeds the maximum number of tokens allowed (0).","status":"INVALID_ARGUMENT"}}"#,
        ] {
            let complaint = found(text);
            assert!(complaint.is_too_long(), "{text}");
            assert_eq!(complaint.status(), 400, "{text}");
        }
    }

    #[test]
    fn an_error_inside_a_stream_gets_its_http_status() {
        let cases = [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                529,
            ),
            (
                r#"{"type":"error","code":"rate_limit_exceeded","message":"slow down","error":null}"#,
                429,
            ),
            (r#"{"error":{"type":"authentication_error","message":"no"}}"#, 401),
            (
                r#"[{"error":{"code":503,"message":"later","status":"UNAVAILABLE"}}]"#,
                503,
            ),
            (r#"{"error":"model not loaded"}"#, 500),
        ];
        for (text, status) in cases {
            assert_eq!(found(text).status(), status, "{text}");
        }
        assert_eq!(
            found(r#"{"error":"model not loaded"}"#).message,
            "model not loaded"
        );
    }

    #[test]
    fn a_response_that_mentions_errors_is_not_an_error() {
        for text in [
            r#"{"text":"\"error\""}"#,
            r#"{"error":null,"status":"completed"}"#,
            "\"error\"",
            "[]",
        ] {
            assert_eq!(ProviderErrorBody::found_in(text), None, "{text}");
        }
    }
}
