//! A model at a provider.
//!
//! One request is one attempt over HTTP. An event stream is asked for and its words are passed on as they come; a server
//! that answers with the whole at once is understood as well, and gives the same answer.

mod beside;
mod credential;
mod endpoint;
mod event;
mod failure;
mod transport;

use reqwest::Url;
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::{Boundary, Terms};
use wakeful_core::prompt::Request;
use wakeful_ports::model::{Answer, Audience, Model};

pub use credential::{BadCredential, CREDENTIAL_BYTES_MAX, Credential};
pub use endpoint::{BadUrl, URL_BYTES_MAX};

use self::endpoint::Endpoint;
use self::event::Events;
use self::failure::Trouble;
use self::transport::{Body, Form, Source, Transport};
use crate::provider::{Keyed, Provider};
use crate::wire::{self, Flow};

/// What a model at a provider is made from.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// Who provides it.
    pub provider: Provider,
    /// Its name there.
    pub model: &'a str,
    /// Another address than the provider's own.
    pub base_url: Option<&'a str>,
    /// The key, if there is one.
    pub credential: Option<Credential>,
}

/// Why a model cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadHosted {
    /// The address is none to send to.
    #[error("{variable}: {source}")]
    Url {
        /// Where it was found.
        variable: &'static str,
        /// What is wrong with it.
        source: BadUrl,
    },
    /// There is no key.
    #[error("{provider} wants a key and {variables} is not set")]
    SecretMissing {
        /// Who wants it.
        provider: &'static str,
        /// Where it would be looked for.
        variables: String,
    },
}

/// A model at a provider.
#[derive(Debug, Clone)]
pub struct Hosted {
    provider: Provider,
    model: String,
    url: Url,
    credential: Option<Credential>,
    transport: Transport,
}

impl Hosted {
    /// Checks what was configured. Nothing is sent yet.
    pub fn new(options: Options<'_>) -> Result<Self, BadHosted> {
        let Options {
            provider,
            model,
            base_url,
            credential,
        } = options;
        let endpoint = Endpoint::parse(base_url.unwrap_or(provider.base_url()));
        let endpoint = endpoint.map_err(|source| BadHosted::Url {
            variable: provider.url_variable(),
            source,
        })?;
        let wants_key = match provider.keyed() {
            Keyed::Always => true,
            Keyed::AtItsOwnAddress => endpoint.is_own(provider),
        };
        if credential.is_none() && wants_key {
            return Err(BadHosted::SecretMissing {
                provider: provider.word(),
                variables: provider.key_variables().join(" or "),
            });
        }
        let key = credential.as_ref().and_then(|key| key.header(provider.auth()));
        Ok(Self {
            provider,
            model: model.to_owned(),
            url: endpoint.url(provider, model),
            transport: Transport::new(endpoint.reach(), provider.headers(), key),
            credential,
        })
    }

    /// The body that this request is sent as. The same request gives the same bytes.
    pub fn body(&self, request: &Request) -> serde_json::Result<Vec<u8>> {
        wire::body(self.provider, &self.model, request)
    }

    async fn exchange(&self, request: &Request, audience: &dyn Audience) -> Result<Answer, Trouble> {
        let body = self.body(request);
        let body = body.map_err(|error| Trouble::Unsendable(error.to_string()))?;
        let (form, mut response) = self.transport.send(self.url.clone(), body).await?;
        match form {
            Form::Whole => {
                let whole = response.whole().await?;
                Ok(wire::answer(self.provider, request.request, &whole)?)
            }
            Form::Stream => self.listen(&mut response, request.request, audience).await,
        }
    }

    async fn listen<S: Source>(
        &self,
        response: &mut Body<S>,
        request: u32,
        audience: &dyn Audience,
    ) -> Result<Answer, Trouble> {
        let mut decoder = wire::decoder(self.provider, request);
        let (mut events, mut flow) = (Events::default(), Flow::More);
        while flow == Flow::More {
            let Some(chunk) = response.next().await? else {
                break;
            };
            events.push(chunk.as_ref(), |data| {
                // What follows the end is not read, even when it came in the same breath.
                if flow == Flow::More {
                    flow = decoder.take(data, audience)?;
                }
                Ok(())
            })?;
        }
        Ok(decoder.end()?)
    }

    fn provider(&self) -> Provider {
        self.provider
    }

    fn key_variables(&self) -> String {
        self.provider.key_variables().join(" or ")
    }

    /// The text without the key.
    fn hide(&self, text: &str) -> String {
        self.credential
            .as_ref()
            .map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }
}

impl Model for Hosted {
    fn terms(&self, _model_ref: &str) -> Terms {
        Terms {
            boundary: Boundary::Outside,
            ..Terms::here(self.provider.word())
        }
    }

    async fn ask(&self, request: Request, audience: &dyn Audience) -> Result<Answer, ModelFailure> {
        let answer = self.exchange(&request, audience).await;
        answer.map_err(|trouble| self.failure(&request.model_ref, trouble))
    }
}
