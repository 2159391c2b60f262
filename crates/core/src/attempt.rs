//! What is kept of every attempt at a model round: who was asked, how it ended, how long it took, what it cost.

use serde::{Deserialize, Serialize};

use crate::budget::MicroUsd;
use crate::conversation::Usage;
use crate::failure::{DETAIL_CHARS_MAX, DETAIL_ENTRIES_MAX, truncate_chars};

string_enum! {
    /// How an attempt ended, seen from its round.
    pub enum AttemptOutcome {
        /// It failed, and another one follows.
        Retrying = "retrying",
        /// It failed, and was the last one with this model.
        RetriesExhausted = "retries_exhausted",
        /// It failed in a way in which it would fail again.
        FailFastAborted = "fail_fast_aborted",
        /// It brought a reply.
        Succeeded = "succeeded",
    }
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AttemptRecord {
    /// Who provides the model.
    pub provider: String,
    /// The model that was asked.
    pub model_ref: String,
    /// Which attempt with this model, from 1.
    pub attempt: u32,
    /// How many it may have.
    pub max_attempts: u32,
    /// How long it took, from the request to its reply or failure. Waiting before it does not count.
    pub duration_ms: u64,
    /// What failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<String>,
    /// What can be done about that: `retryable` or `fail_fast`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disposition: Option<crate::failure::ModelFailureKind>,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Whether the next model of the route was asked because of it.
    #[serde(default)]
    pub advanced_to_fallback: bool,
    /// How long was waited after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    /// Tokens, as far as the provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<Usage>,
    /// What it cost; none where it cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    /// The rule by which the model might be asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// What happened on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_diagnostics: Option<TransportDiagnostics>,
}

/// What happened on the way to a provider and back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TransportDiagnostics {
    /// How far it came: `connect`, `first_byte`, `body`, `decode`, or `gate` where nothing was sent.
    pub stage: String,
    /// Where it was sent, without anything after the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What the HTTP client says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reqwest: Option<ClientFlags>,
    /// What it was caused by, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
}

/// What the HTTP client says of a failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are the client's own questions"
)]
pub struct ClientFlags {
    /// It took too long.
    pub is_timeout: bool,
    /// No connection came about.
    pub is_connect: bool,
    /// The request could not be sent.
    pub is_request: bool,
    /// The body broke off.
    pub is_body: bool,
    /// The body could not be read.
    pub is_decode: bool,
    /// There was a redirect.
    pub is_redirect: bool,
}

impl TransportDiagnostics {
    /// Cuts everything that came from outside down to its bounds.
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

/// All attempts of a run, or of as much of it as is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// In the order in which they were made.
    pub attempts: Vec<AttemptRecord>,
    /// The model that was asked for.
    pub requested_model_ref: String,
    /// The model that was asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_model_ref: Option<String>,
    /// The model that answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winning_model_ref: Option<String>,
    /// The tokens of all of them; none where no provider counted any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregated_token_usage: Option<Usage>,
}

impl Timeline {
    /// Puts attempts together.
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
