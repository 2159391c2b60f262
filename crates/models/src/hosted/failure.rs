//! Converts errors of an exchange into the failure record that a run stores.

use std::error::Error as _;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use wakeful_core::attempt::{ClientFlags, TransportDiagnostics};
use wakeful_core::failure::{
    FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind, truncate_chars,
};

use super::HostedModel;
use crate::wire::{ProviderErrorBody, ResponseError};

/// Longest wait that a provider can request, one day. A run that would have to wait longer fails instead.
const RETRY_AFTER_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// Longest excerpt of an unparsed error body, in characters.
const EXCERPT_CHARS_MAX: usize = 200;

/// Why an exchange gave no response.
#[derive(Debug)]
pub(super) enum ExchangeError {
    /// No data arrived in time, in this stage.
    TimedOut(WaitStage),
    /// The request was not delivered, or no response arrived.
    Unsent(reqwest::Error),
    /// The connection broke during the response.
    Broken(reqwest::Error),
    /// The request could not be built.
    Unsendable(String),
    /// The response has an error status.
    Status {
        status: u16,
        retry_after_ms: Option<u64>,
        body: Vec<u8>,
    },
    /// The response cannot be used.
    Fault(ResponseError),
}

impl From<ResponseError> for ExchangeError {
    fn from(fault: ResponseError) -> Self {
        Self::Fault(fault)
    }
}

/// What an attempt was waiting for when it timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitStage {
    FirstByte,
    NextByte,
}

impl HostedModel {
    /// Builds the record of a failed attempt, without the key and within its size limits.
    pub(super) fn failure(&self, model_ref: &str, trouble: ExchangeError) -> ModelFailure {
        let way = ExchangeProgress::of(&trouble);
        let mut failure = match trouble {
            ExchangeError::TimedOut(stage) => timed_out(stage),
            ExchangeError::Unsent(error) | ExchangeError::Broken(error) => connection(error),
            ExchangeError::Unsendable(why) => failed(
                ModelFailureKind::FailFast,
                FailureCategory::Protocol,
                "request_encoding_failed",
                &self.hide(&why),
            ),
            ExchangeError::Status {
                status,
                retry_after_ms,
                body,
            } => ModelFailure {
                retry_after_ms,
                ..self.status(status, &body)
            },
            ExchangeError::Fault(fault) => self.fault(fault),
        };
        failure.may_be_billed = way.may_be_billed();
        failure.diagnostics = Some(Box::new(TransportDiagnostics {
            stage: way.word().to_owned(),
            url: Some(self.shown_url()),
            status: way.status().or(failure.artifact.status),
            reqwest: way.flags,
            source_chain: failure
                .artifact
                .source_chain
                .iter()
                .map(|cause| self.hide(cause))
                .collect(),
        }));
        let artifact = &mut failure.artifact;
        artifact.provider = Some(self.name.clone());
        artifact.model_ref = Some(model_ref.to_owned());
        artifact.summary = self.hide(&artifact.summary);
        artifact
            .source_chain
            .iter_mut()
            .for_each(|cause| *cause = self.hide(cause));
        artifact
            .metadata
            .values_mut()
            .for_each(|value| *value = self.hide(value));
        failure.bounded()
    }

    fn status(&self, status: u16, body: &[u8]) -> ModelFailure {
        let text = String::from_utf8_lossy(body);
        if (300..400).contains(&status) {
            let summary = "the server redirected the request to another address; redirects are not followed";
            let mut failure = failed(
                ModelFailureKind::FailFast,
                FailureCategory::Protocol,
                "redirect_refused",
                summary,
            );
            failure.artifact.status = Some(status);
            return failure;
        }
        let complaint = ProviderErrorBody::found_in(&text).unwrap_or_else(|| ProviderErrorBody::plain(&text));
        self.complained(status, &complaint)
    }

    fn complained(&self, status: u16, complaint: &ProviderErrorBody) -> ModelFailure {
        // Redact the key before truncating, because half a key would not be recognized.
        let said = truncate_chars(&self.hide(complaint.message.trim()), EXCERPT_CHARS_MAX);
        let mut failure = if complaint.is_too_long() {
            let summary = format!("the request is too long for the model: {said}");
            failed(
                ModelFailureKind::FailFast,
                FailureCategory::Protocol,
                "context_length_exceeded",
                &summary,
            )
        } else {
            let hint = match status {
                401 | 403 => format!(" (key from {})", self.key_source),
                _ => String::new(),
            };
            let summary = format!("the provider responded with status {status}{hint}: {said}");
            let kind = ModelFailure::kind_of_status(status);
            failed(
                kind,
                FailureCategory::Transport,
                &format!("http_{status}"),
                &summary,
            )
        };
        failure.artifact.status = Some(status);
        if let Some(code) = complaint.code() {
            failure
                .artifact
                .metadata
                .insert("code".to_owned(), code.to_owned());
        }
        failure
    }

    fn fault(&self, fault: ResponseError) -> ModelFailure {
        use ModelFailureKind::{FailFast, Retryable};
        match fault {
            // Redact the key before the summary is truncated, as above.
            ResponseError::Invalid(why) => failed(
                FailFast,
                FailureCategory::Protocol,
                "invalid_response",
                &self.hide(&why),
            ),
            ResponseError::Truncated => {
                let summary = "the stream ended before the response was complete";
                failed(Retryable, FailureCategory::Transport, "truncated_stream", summary)
            }
            ResponseError::Reported(complaint) => self.complained(complaint.status(), &complaint),
            ResponseError::OutputLimit => {
                let summary = "the response reached the model's output limit; raise `max_output_tokens` or request less at once";
                failed(FailFast, FailureCategory::Protocol, "output_limit", summary)
            }
            ResponseError::Withheld(reason) => {
                let summary = format!("the provider withheld the response: {}", self.hide(&reason));
                failed(FailFast, FailureCategory::Protocol, "reply_withheld", &summary)
            }
        }
    }
}

/// How far an exchange got.
struct ExchangeProgress {
    came: ProgressStage,
    flags: Option<ClientFlags>,
}

/// The stages of an exchange that differ in whether they may be billed.
#[derive(Debug, Clone, Copy)]
enum ProgressStage {
    /// Nothing was sent.
    Nowhere,
    /// The connection failed.
    Connect,
    /// The request was sent and no response arrived.
    FirstByte,
    /// The response has an error status.
    Refused,
    /// The response had begun.
    Body,
    /// The response is complete and cannot be used.
    Decode,
}

impl ExchangeProgress {
    fn of(trouble: &ExchangeError) -> Self {
        let (came, flags) = match trouble {
            ExchangeError::Unsendable(_) => (ProgressStage::Nowhere, None),
            ExchangeError::Unsent(error) if error.is_connect() => {
                (ProgressStage::Connect, Some(flags(error)))
            }
            ExchangeError::Unsent(error) => (ProgressStage::FirstByte, Some(flags(error))),
            ExchangeError::TimedOut(WaitStage::FirstByte) => (ProgressStage::FirstByte, None),
            ExchangeError::TimedOut(WaitStage::NextByte) => (ProgressStage::Body, None),
            ExchangeError::Broken(error) => (ProgressStage::Body, Some(flags(error))),
            ExchangeError::Status { .. } => (ProgressStage::Refused, None),
            ExchangeError::Fault(ResponseError::Truncated) => (ProgressStage::Body, None),
            ExchangeError::Fault(_) => (ProgressStage::Decode, None),
        };
        Self { came, flags }
    }

    const fn word(&self) -> &'static str {
        match self.came {
            ProgressStage::Nowhere => "gate",
            ProgressStage::Connect => "connect",
            ProgressStage::FirstByte | ProgressStage::Refused => "first_byte",
            ProgressStage::Body => "body",
            ProgressStage::Decode => "decode",
        }
    }

    /// The HTTP status of a response that had begun. An error inside the response may stand for another
    /// status.
    const fn status(&self) -> Option<u16> {
        match self.came {
            ProgressStage::Body | ProgressStage::Decode => Some(200),
            ProgressStage::Nowhere
            | ProgressStage::Connect
            | ProgressStage::FirstByte
            | ProgressStage::Refused => None,
        }
    }

    /// Whether the provider may bill the exchange: a response has begun, or it is unknown whether one has.
    const fn may_be_billed(&self) -> bool {
        match self.came {
            ProgressStage::Nowhere | ProgressStage::Connect | ProgressStage::Refused => false,
            ProgressStage::FirstByte | ProgressStage::Body | ProgressStage::Decode => true,
        }
    }
}

fn flags(error: &reqwest::Error) -> ClientFlags {
    ClientFlags {
        is_timeout: error.is_timeout(),
        is_connect: error.is_connect(),
        is_request: error.is_request(),
        is_body: error.is_body(),
        is_decode: error.is_decode(),
        is_redirect: error.is_redirect(),
    }
}

fn failed(kind: ModelFailureKind, category: FailureCategory, word: &str, summary: &str) -> ModelFailure {
    ModelFailure::new(kind, FailureArtifact::new(category, word, summary))
}

fn timed_out(stage: WaitStage) -> ModelFailure {
    let stage = match stage {
        WaitStage::FirstByte => "first_byte",
        WaitStage::NextByte => "next_byte",
    };
    let mut failure = ModelFailure::timed_out();
    failure
        .artifact
        .metadata
        .insert("stage".to_owned(), stage.to_owned());
    failure
}

/// Builds the failure of a connection, with its causes and without the URL, which is known from the
/// configuration.
fn connection(error: reqwest::Error) -> ModelFailure {
    let error = error.without_url();
    let (kind, stage, summary) = if error.is_timeout() {
        ("timeout", "connect", "the connection to the provider timed out")
    } else if error.is_connect() {
        ("connection_failed", "connect", "cannot connect to the provider")
    } else {
        (
            "connection_lost",
            "response",
            "the connection to the provider was lost",
        )
    };
    let mut failure = failed(
        ModelFailureKind::Retryable,
        FailureCategory::Transport,
        kind,
        summary,
    );
    let mut cause = error.source();
    while let Some(error) = cause {
        // The limit of the record bounds a cause chain of any length.
        if failure.artifact.source_chain.len() >= wakeful_core::failure::DETAIL_ENTRIES_MAX {
            break;
        }
        failure.artifact.source_chain.push(error.to_string());
        cause = error.source();
    }
    failure
        .artifact
        .metadata
        .insert("stage".to_owned(), stage.to_owned());
    failure
}

/// Returns how long the provider asks to wait: seconds, or a date. A date is compared with the response's
/// own date, so that the local clock does not matter.
pub(super) fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    let after = text(RETRY_AFTER)?;
    let wait_ms = match after.parse::<u64>() {
        Ok(seconds) => seconds.saturating_mul(1_000),
        Err(_) => {
            let then = httpdate::parse_http_date(after).ok()?;
            let now = httpdate::parse_http_date(text(DATE)?).ok()?;
            let wait = then.duration_since(now).unwrap_or_default();
            u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
        }
    };
    Some(wait_ms.min(RETRY_AFTER_MS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let wait = |after: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, after.parse().expect("a header"));
            if let Some(date) = date {
                headers.insert(DATE, date.parse().expect("a header"));
            }
            retry_after_ms(&headers)
        };
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(wait("7", None), Some(7_000));
        assert_eq!(wait("Sun, 06 Nov 1994 08:50:07 GMT", date), Some(30_000));
        assert_eq!(wait("Sun, 06 Nov 1994 08:00:00 GMT", date), Some(0));
        assert_eq!(wait("Sun, 06 Nov 1994 08:50:07 GMT", None), None);
        assert_eq!(wait("99999999999999999999", None), None);
        assert_eq!(wait("18446744073709551615", None), Some(RETRY_AFTER_MS_MAX));
        assert_eq!(wait("soon", date), None);
        assert_eq!(retry_after_ms(&HeaderMap::new()), None);
    }
}
