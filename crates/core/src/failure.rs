//! Failure records, which people and programs read after a run did not succeed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attempt::TransportDiagnostics;

/// Maximum length of a summary in characters. A failure fits on one screen; further details belong in logs.
pub const SUMMARY_CHARS_MAX: usize = 500;

/// Maximum number of metadata entries and of causes.
pub const DETAIL_ENTRIES_MAX: usize = 16;

/// Maximum length of a cause and of a metadata value in characters. A failure is part of a run's last
/// state, whose size is limited too.
pub const DETAIL_CHARS_MAX: usize = 160;

/// Maximum length of kinds, provider names and metadata keys in characters.
pub const WORD_CHARS_MAX: usize = 64;

/// The kind of a failure in which the conversation exceeds the model's context window. A retry or another
/// model does not help.
pub const CONTEXT_LENGTH_EXCEEDED: &str = "context_length_exceeded";

string_enum! {
    /// The stage at which something failed.
    #[schemars(rename = "FailureCategory")]
    pub enum FailureCategory {
        /// Communication with a provider.
        Transport = "transport",
        /// A request or response violated its contract.
        Protocol = "protocol",
        /// The run itself.
        Runtime = "runtime",
        /// A command or its environment.
        Task = "task",
        /// Any other stage.
        Unknown = "unknown",
    }
}

/// The stored description of a failure: bounded in size, without raw logs or secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FailureArtifact {
    /// The stage at which it failed.
    pub category: FailureCategory,
    /// A stable identifier of the failure, such as `script_exhausted`.
    pub kind: String,
    /// One sentence for a person.
    pub summary: String,
    /// The provider, when one was involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The requested model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    /// The HTTP status, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The chain of error causes, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
    /// Additional details.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl FailureArtifact {
    /// Creates a failure and truncates its summary.
    #[must_use]
    pub fn new(category: FailureCategory, kind: &str, summary: &str) -> Self {
        Self {
            category,
            kind: kind.to_owned(),
            summary: truncate_chars(summary, SUMMARY_CHARS_MAX),
            provider: None,
            model_ref: None,
            status: None,
            source_chain: Vec::new(),
            metadata: BTreeMap::new(),
        }
    }

    /// Truncates all external text to its limits.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.summary = truncate_chars(&self.summary, SUMMARY_CHARS_MAX);
        self.source_chain.truncate(DETAIL_ENTRIES_MAX);
        self.source_chain
            .iter_mut()
            .for_each(|cause| *cause = truncate_chars(cause, DETAIL_CHARS_MAX));
        let facts = self.metadata.into_iter().take(DETAIL_ENTRIES_MAX);
        self.metadata = facts
            .map(|(key, value)| {
                (
                    truncate_chars(&key, WORD_CHARS_MAX),
                    truncate_chars(&value, DETAIL_CHARS_MAX),
                )
            })
            .collect();
        self.kind = truncate_chars(&self.kind, WORD_CHARS_MAX);
        self.provider = self
            .provider
            .map(|provider| truncate_chars(&provider, WORD_CHARS_MAX));
        self.model_ref = self
            .model_ref
            .map(|model_ref| truncate_chars(&model_ref, SUMMARY_CHARS_MAX));
        self
    }
}

/// Marks the end of a truncated text.
pub const CUT: char = '…';

/// Truncates a text to a number of characters and marks the cut with an ellipsis.
#[must_use]
pub fn truncate_chars(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text
            .chars()
            .take(chars_max.saturating_sub(1))
            .chain([CUT])
            .collect(),
    }
}

/// Why one attempt at a model round failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailure {
    /// Whether a retry is useful.
    pub kind: ModelFailureKind,
    /// The stored description.
    pub artifact: FailureArtifact,
    /// The delay that the provider requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Details of the HTTP exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Box<TransportDiagnostics>>,
    /// Whether the provider may charge for it: a reply had started, or its state is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_billed: bool,
}

/// Whether the same request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelFailureKind {
    /// A timeout, a lost connection, 429 or 5xx: a retry may succeed.
    Retryable,
    /// Authentication, another 4xx, an invalid response: a retry would fail again.
    FailFast,
}

impl ModelFailure {
    /// The model did not answer within its timeout. A retry may succeed.
    #[must_use]
    pub fn timed_out() -> Self {
        let artifact = FailureArtifact::new(
            FailureCategory::Transport,
            "timeout",
            "the model did not answer in time",
        );
        Self {
            may_be_billed: true,
            ..Self::new(ModelFailureKind::Retryable, artifact)
        }
    }

    /// A failure that is not billed.
    #[must_use]
    pub const fn new(kind: ModelFailureKind, artifact: FailureArtifact) -> Self {
        Self {
            kind,
            artifact,
            retry_after_ms: None,
            diagnostics: None,
            may_be_billed: false,
        }
    }

    /// Truncates all external text to its limits.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self {
            artifact: self.artifact.bounded(),
            diagnostics: self
                .diagnostics
                .map(|diagnostics| Box::new(diagnostics.bounded())),
            ..self
        }
    }

    /// Classifies an HTTP status: 429 and 5xx are retryable, everything else fails fast.
    #[must_use]
    pub const fn kind_of_status(status: u16) -> ModelFailureKind {
        match status {
            429 | 500..=599 => ModelFailureKind::Retryable,
            _ => ModelFailureKind::FailFast,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oversized_failure_is_truncated() {
        let mut failure = FailureArtifact::new(FailureCategory::Transport, "x", &"é".repeat(2_000));
        failure.source_chain = vec!["cause ".repeat(500); 40];
        failure.metadata = (0..40)
            .map(|n| (format!("k{n:02}{}", "y".repeat(90)), "v".repeat(900)))
            .collect();
        (failure.kind, failure.provider, failure.model_ref) =
            ("k".repeat(90), Some("p".repeat(90)), Some("m".repeat(900)));
        let failure = failure.bounded();
        assert_eq!(failure.summary.chars().count(), SUMMARY_CHARS_MAX);
        assert_eq!(failure.source_chain.len(), DETAIL_ENTRIES_MAX);
        assert_eq!(failure.metadata.len(), DETAIL_ENTRIES_MAX);
        assert!(
            failure
                .source_chain
                .iter()
                .all(|cause| cause.chars().count() == DETAIL_CHARS_MAX)
        );
        assert!(
            failure
                .metadata
                .iter()
                .all(|(key, value)| key.len() <= 66 && value.chars().count() == DETAIL_CHARS_MAX)
        );
        let words = [
            failure.kind,
            failure.provider.unwrap_or_default(),
            failure.model_ref.unwrap_or_default(),
        ];
        assert_eq!(
            words.map(|word| word.chars().count()),
            [WORD_CHARS_MAX, WORD_CHARS_MAX, SUMMARY_CHARS_MAX]
        );
    }

    #[test]
    fn only_429_and_5xx_are_retryable() {
        for status in [429, 500, 502, 503, 529, 599] {
            assert_eq!(
                ModelFailure::kind_of_status(status),
                ModelFailureKind::Retryable,
                "{status}"
            );
        }
        for status in [400, 401, 403, 404, 413, 422, 600] {
            assert_eq!(
                ModelFailure::kind_of_status(status),
                ModelFailureKind::FailFast,
                "{status}"
            );
        }
    }
}
