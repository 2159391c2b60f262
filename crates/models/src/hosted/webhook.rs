//! Posts notifications to a configured URL, with the same rules for keys, timeouts and redirects as for
//! providers.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use tokio::time::timeout;

use super::credential::Credential;
use super::endpoint::{BadUrl, Endpoint};
use super::failure::ExchangeError;
use super::transport::HttpClients;
use crate::provider::KeyHeader;

/// Longest time from connecting to the head of the response. A slower delivery is retried later.
const NOTE_MS_MAX: u64 = 10_000;

/// A URL that receives notifications.
#[derive(Debug, Clone)]
pub struct Webhook {
    endpoint: Endpoint,
    key: Option<Credential>,
    clients: HttpClients,
}

/// Why a notification was not delivered. The error contains neither the URL, which may be a secret, nor any
/// part of the response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// The connection failed or was lost.
    #[error("cannot reach the webhook: {0}")]
    Unreachable(String),
    /// No response arrived in time.
    #[error("no response within {NOTE_MS_MAX} ms")]
    Late,
    /// The response has an error status.
    #[error("the webhook responded with status {0}")]
    Status(u16),
}

impl Webhook {
    /// Creates a webhook from a URL and the key that is sent as a bearer token.
    pub fn new(url: &str, key: Option<Credential>, clients: HttpClients) -> Result<Self, BadUrl> {
        let endpoint = Endpoint::parse(url)?;
        Ok(Self {
            endpoint,
            key,
            clients,
        })
    }

    /// Posts a notification. Any status from 200 to 299 counts as delivered. Headers with invalid values
    /// are left out.
    pub async fn post(
        &self,
        content_type: &'static str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<(), WebhookError> {
        let url: Url = self.endpoint.itself();
        let client = self
            .clients
            .get(self.endpoint.reach(), NOTE_MS_MAX)
            .map_err(webhook_error)?;
        let mut request = client
            .post(url)
            .header(CONTENT_TYPE, HeaderValue::from_static(content_type));
        for (name, value) in headers {
            if let Ok(value) = HeaderValue::from_str(value) {
                request = request.header(HeaderName::from_static(name), value);
            }
        }
        if let Some((name, value)) = self.key.as_ref().and_then(|key| key.header(KeyHeader::Bearer)) {
            request = request.header(name, value);
        }
        let sent = timeout(Duration::from_millis(NOTE_MS_MAX), request.body(body).send()).await;
        let response = sent
            .map_err(|_| WebhookError::Late)?
            .map_err(|error| webhook_error(ExchangeError::Unsent(error)))?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(WebhookError::Status(status.as_u16())),
        }
    }
}

/// Describes an error without the text of the HTTP client, which may contain the URL.
fn webhook_error(trouble: ExchangeError) -> WebhookError {
    let why = match trouble {
        ExchangeError::TimedOut(_) => return WebhookError::Late,
        ExchangeError::Status { status, .. } => return WebhookError::Status(status),
        ExchangeError::Unsent(error) if error.is_timeout() => return WebhookError::Late,
        ExchangeError::Unsent(error) if error.is_connect() => "the connection failed".to_owned(),
        ExchangeError::Unsent(_) | ExchangeError::Broken(_) | ExchangeError::Fault(_) => {
            "the connection was lost".to_owned()
        }
        ExchangeError::Unsendable(why) => why,
    };
    WebhookError::Unreachable(why)
}
