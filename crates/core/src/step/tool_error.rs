//! The errors of tools: as the model reads them, and as events and transcripts hold them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::truncate_chars;
use crate::key::Digest;
use crate::policy::DenialCategory;

/// Why a tool call failed, in a form that the caller can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolError {
    /// A stable code, such as `invalid_arguments`.
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// The invalid field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// More about it, such as the lines that were not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// The category, if the call was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<DenialCategory>,
}

/// Maximum size of the details of an error, as JSON. Larger ones are replaced by a preview and a digest.
pub const DETAILS_BYTES_MAX: usize = 2_000;

/// Characters of the preview of details that are too large.
const DETAILS_PREVIEW_CHARS: usize = 1_000;

impl ToolError {
    /// Creates an error without a field.
    #[must_use]
    pub fn new(kind: &str, message: &str, hint: &str) -> Self {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        Self {
            kind: kind.to_owned(),
            message: truncate_chars(message, 500),
            field: None,
            hint,
            details: None,
            retryable: false,
            category: None,
        }
    }

    /// Creates the error of a denied call. Its category follows from the code.
    #[must_use]
    pub fn denied(kind: &str, message: &str, hint: &str) -> Self {
        Self {
            category: Some(DenialCategory::of_code(kind)),
            ..Self::new(kind, message, hint)
        }
    }

    /// The error as events and transcripts hold it.
    #[must_use]
    pub fn envelope(&self) -> ErrorEnvelope {
        ErrorEnvelope {
            kind: self.kind.clone(),
            message: self.message.clone(),
            details: with_field(self.bounded_details(), self.field.as_deref()),
            recovery_hint: self.hint.clone(),
            retryable: self.retryable,
        }
    }

    /// The details, or a preview of them with the digest of the whole.
    fn bounded_details(&self) -> Option<Value> {
        let details = self.details.as_ref()?;
        let text = details.to_string();
        if text.len() <= DETAILS_BYTES_MAX {
            return Some(details.clone());
        }
        Some(json!({
            "preview": truncate_chars(&text, DETAILS_PREVIEW_CHARS),
            "bytes": text.len(),
            "sha256": Digest::of(text.as_bytes()).to_string(),
        }))
    }

    /// Returns the text for the model, in the same form for every refusal and failure.
    #[must_use]
    pub fn receipt(&self, tool: &str) -> String {
        let mut receipt = json!({
            "ok": false,
            "tool_name": tool,
            "kind": self.kind,
            "message": self.message,
            "retryable": self.retryable,
        });
        if let Some(members) = receipt.as_object_mut() {
            let category = self.category.map(|category| category.as_str().to_owned());
            let optional = [
                ("hint", &self.hint),
                ("field", &self.field),
                ("category", &category),
            ];
            members.extend(
                optional
                    .into_iter()
                    .filter_map(|(k, v)| Some((k.to_owned(), json!(v.as_ref()?)))),
            );
            members.extend(
                self.bounded_details()
                    .map(|details| ("details".to_owned(), details)),
            );
        }
        receipt.to_string()
    }
}

/// The error of an action as events and transcripts hold it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorEnvelope {
    /// A stable code.
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// More about it: the invalid `field`, and what the tool adds. Large details are a `preview` with their size
    /// and digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_hint: Option<String>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

impl ErrorEnvelope {
    /// Reads the error from the text for the model; none if the text is not a receipt.
    #[must_use]
    pub fn of_receipt(receipt: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Receipt {
            ok: bool,
            kind: String,
            message: String,
            #[serde(default)]
            field: Option<String>,
            #[serde(default)]
            hint: Option<String>,
            #[serde(default)]
            details: Option<Value>,
            retryable: bool,
        }
        let receipt: Receipt = serde_json::from_str(receipt).ok()?;
        (!receipt.ok).then(|| Self {
            kind: receipt.kind,
            message: receipt.message,
            details: with_field(receipt.details, receipt.field.as_deref()),
            recovery_hint: receipt.hint,
            retryable: receipt.retryable,
        })
    }

    /// The error in one line.
    #[must_use]
    pub fn flat(&self) -> String {
        format!("{}: {}", self.kind, self.message)
    }
}

/// The details of an error with the name of the invalid field.
fn with_field(details: Option<Value>, field: Option<&str>) -> Option<Value> {
    let Some(field) = field else {
        return details;
    };
    let mut all = match details {
        Some(Value::Object(members)) => members,
        Some(other) => serde_json::Map::from_iter([("value".to_owned(), other)]),
        None => serde_json::Map::new(),
    };
    all.insert("field".to_owned(), json!(field));
    Some(Value::Object(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Conformance: H-051
    #[test]
    fn a_tool_error_names_tool_kind_field_and_hint() {
        let fault = ToolError {
            field: Some("cmd".into()),
            ..ToolError::new("invalid_arguments", "cmd is missing", "give cmd")
        };
        let receipt: Value = serde_json::from_str(&fault.receipt("ExecCommand")).expect("json");
        let expected = json!({"ok": false, "tool_name": "ExecCommand", "kind": "invalid_arguments",
            "message": "cmd is missing", "hint": "give cmd", "field": "cmd", "retryable": false});
        assert_eq!(receipt, expected);
    }

    // Conformance: H-050
    #[test]
    fn an_error_is_stored_with_and_without_its_optional_parts() {
        let plain = ToolError::new("timed_out", "it took too long", "");
        let stored = json!({"kind": "timed_out", "message": "it took too long", "retryable": false});
        assert_eq!(serde_json::to_value(plain.envelope()).expect("json"), stored);
        let whole = ToolError {
            field: Some("patch".into()),
            details: Some(json!({"hunk": 2})),
            retryable: true,
            ..ToolError::new("no_match", "hunk 2 does not apply", "read the file again")
        };
        let stored = json!({"kind": "no_match", "message": "hunk 2 does not apply", "retryable": true,
            "details": {"field": "patch", "hunk": 2}, "recovery_hint": "read the file again"});
        assert_eq!(serde_json::to_value(whole.envelope()).expect("json"), stored);
        assert_eq!(
            ErrorEnvelope::of_receipt(&whole.receipt("ApplyPatch")),
            Some(whole.envelope())
        );
        assert_eq!(
            ErrorEnvelope::of_receipt(&plain.receipt("x")),
            Some(plain.envelope())
        );
        assert_eq!(ErrorEnvelope::of_receipt(r#"{"ok": true}"#), None);
    }

    // Conformance: H-051
    #[test]
    fn large_details_become_a_preview_with_a_digest() {
        let details = json!({"lines": "x".repeat(100_000)});
        let fault = ToolError {
            details: Some(details.clone()),
            ..ToolError::new("no_match", "the lines do not occur", "")
        };
        let receipt = fault.receipt("ApplyPatch");
        assert!(receipt.len() < 2_000, "{} bytes", receipt.len());
        let receipt: Value = serde_json::from_str(&receipt).expect("json");
        let digest = Digest::of(details.to_string().as_bytes()).to_string();
        assert_eq!(receipt["details"]["sha256"], json!(digest));
        assert_eq!(receipt["details"]["bytes"], json!(details.to_string().len()));
        assert!(
            receipt["details"]["preview"]
                .as_str()
                .is_some_and(|text| text.starts_with("{\"lines\""))
        );
        let small = ToolError {
            details: Some(json!([1])),
            ..ToolError::new("no_match", "the lines do not occur", "")
        };
        let receipt: Value = serde_json::from_str(&small.receipt("ApplyPatch")).expect("json");
        assert_eq!(receipt["details"], json!([1]));
    }
}
