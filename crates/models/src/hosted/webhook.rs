//! A note to an address that a person named, over HTTP: the same care for keys, times and redirects as with a provider.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use tokio::time::timeout;

use super::credential::Credential;
use super::endpoint::{BadUrl, Endpoint};
use super::failure::ExchangeError;
use super::transport::HttpClients;
use crate::provider::KeyHeader;

/// Longest time from the connection to the head of the answer. Whoever takes longer is asked again later.
const NOTE_MS_MAX: u64 = 10_000;

/// An address that takes notes.
#[derive(Debug, Clone)]
pub struct Webhook {
    endpoint: Endpoint,
    key: Option<Credential>,
    clients: HttpClients,
}

/// Why a note was not taken. It says neither the address, which may be a secret itself, nor anything that came back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// Nobody was there, or the connection broke.
    #[error("the address cannot be reached: {0}")]
    Unreachable(String),
    /// No answer came in time.
    #[error("no answer came within {NOTE_MS_MAX} ms")]
    Late,
    /// The answer was no.
    #[error("the answer was status {0}")]
    Status(u16),
}

impl Webhook {
    /// An address and the key that is shown to it as a bearer token.
    pub fn new(url: &str, key: Option<Credential>, clients: HttpClients) -> Result<Self, BadUrl> {
        let endpoint = Endpoint::parse(url)?;
        Ok(Self {
            endpoint,
            key,
            clients,
        })
    }

    /// Posts a note. Any status from 200 to 299 means that it was taken. Headers that cannot be said are left out.
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
            .map_err(told)?;
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
            .map_err(|error| told(ExchangeError::Unsent(error)))?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(WebhookError::Status(status.as_u16())),
        }
    }
}

/// What went wrong, in words of our own: an error of the client may name the address.
fn told(trouble: ExchangeError) -> WebhookError {
    let why = match trouble {
        ExchangeError::TimedOut(_) => return WebhookError::Late,
        ExchangeError::Status { status, .. } => return WebhookError::Status(status),
        ExchangeError::Unsent(error) if error.is_timeout() => return WebhookError::Late,
        ExchangeError::Unsent(error) if error.is_connect() => "nobody takes the connection".to_owned(),
        ExchangeError::Unsent(_) | ExchangeError::Broken(_) | ExchangeError::Fault(_) => {
            "the connection broke".to_owned()
        }
        ExchangeError::Unsendable(why) => why,
    };
    WebhookError::Unreachable(why)
}
