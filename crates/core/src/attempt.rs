//! The record of every attempt at a model round: the model, the outcome, the duration and the cost.

use serde::{Deserialize, Serialize};

use crate::budget::MicroUsd;
use crate::conversation::Usage;
use crate::failure::{DETAIL_CHARS_MAX, DETAIL_ENTRIES_MAX, truncate_chars};

string_enum! {
    /// How an attempt ended.
    pub enum AttemptOutcome {
        /// It failed, and another attempt follows.
        Retrying = "retrying",
        /// It failed and was the last attempt with this model.
        RetriesExhausted = "retries_exhausted",
        /// It failed with an error that a retry would repeat.
        FailFastAborted = "fail_fast_aborted",
        /// The model returned a reply.
        Succeeded = "succeeded",
    }
}

/// One attempt of a model round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AttemptRecord {
    /// The provider of the model.
    pub provider: String,
    /// The requested model.
    pub model_ref: String,
    /// The number of this attempt with this model, starting at 1.
    pub attempt: u32,
    /// The maximum number of attempts with this model.
    pub max_attempts: u32,
    /// Duration from the request to its reply or failure. The backoff before the request is not included.
    pub duration_ms: u64,
    /// The kind of failure, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<String>,
    /// Whether a retry is useful: `retryable` or `fail_fast`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disposition: Option<crate::failure::ModelFailureKind>,
    /// Result of the attempt.
    pub outcome: AttemptOutcome,
    /// Whether this failure advanced the run to the next model of its route.
    #[serde(default)]
    pub advanced_to_fallback: bool,
    /// The backoff after this attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    /// Token counts, as far as the provider reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<Usage>,
    /// The cost. Absent if the attempt was free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    /// The rule that allowed the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// Details of the HTTP exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_diagnostics: Option<TransportDiagnostics>,
}

/// Details of one HTTP exchange with a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TransportDiagnostics {
    /// The stage that was reached: `connect`, `first_byte`, `body`, `decode`, or `gate` if nothing was
    /// sent.
    pub stage: String,
    /// The request URL without query and fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// HTTP status code of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The error flags of the HTTP client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reqwest: Option<ClientFlags>,
    /// The chain of error causes, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
}

/// The error flags that the HTTP client reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are the flags of the HTTP client"
)]
pub struct ClientFlags {
    /// The request timed out.
    pub is_timeout: bool,
    /// The connection failed.
    pub is_connect: bool,
    /// The request could not be sent.
    pub is_request: bool,
    /// The body ended early.
    pub is_body: bool,
    /// The body could not be decoded.
    pub is_decode: bool,
    /// A redirect was received.
    pub is_redirect: bool,
}

impl TransportDiagnostics {
    /// Truncates all external text to its limits.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.stage = truncate_chars(&self.stage, DETAIL_CHARS_MAX);
        self.url = self.url.map(|url| truncate_chars(&url, DETAIL_CHARS_MAX));
        self.source_chain.truncate(DETAIL_ENTRIES_MAX);
        self.source_chain
            .iter_mut()
            .for_each(|cause| *cause = truncate_chars(cause, DETAIL_CHARS_MAX));
        self
    }
}

/// The attempts of a run, or of the part of it that is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// In the order in which they were made.
    pub attempts: Vec<AttemptRecord>,
    /// The model that the run requested.
    pub requested_model_ref: String,
    /// The model of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_model_ref: Option<String>,
    /// The model that returned the last reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winning_model_ref: Option<String>,
    /// The sum of all token counts; `None` if no provider reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregated_token_usage: Option<Usage>,
}

impl Timeline {
    /// Builds the timeline of these attempts.
    #[must_use]
    pub fn of(requested_model_ref: &str, attempts: Vec<AttemptRecord>) -> Self {
        let won = |record: &&AttemptRecord| record.outcome == AttemptOutcome::Succeeded;
        let counted = attempts.iter().filter_map(|record| record.token_usage);
        Self {
            requested_model_ref: requested_model_ref.to_owned(),
            active_model_ref: attempts.last().map(|record| record.model_ref.clone()),
            winning_model_ref: attempts
                .iter()
                .rev()
                .find(won)
                .map(|record| record.model_ref.clone()),
            aggregated_token_usage: counted.reduce(Usage::plus),
            attempts,
        }
    }
}
