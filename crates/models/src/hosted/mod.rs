//! A model that is called over HTTP at a provider.
//!
//! One request is one attempt. The model requests an event stream and passes text on as it arrives; a
//! server that returns the complete response at once gives the same result.

mod auxiliary;
mod continuation;
mod credential;
mod endpoint;
mod failure;
mod metadata;
mod redact;
mod request_options;
mod transport;
mod webhook;

use reqwest::Url;
use wakeful_core::budget::{Price, PriceBasis};
use wakeful_core::conversation::{Block, WebSearch};
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::{DataBoundary, ModelProfile, SecretStatus};
use wakeful_core::prompt::ModelRequest;
use wakeful_core::sse::Frames;
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};

pub use credential::{BadCredential, CREDENTIAL_BYTES_MAX, Credential};
pub use endpoint::{BadUrl, URL_BYTES_MAX, host_of};
pub use metadata::{LISTED_MODELS_MAX, ModelList, ModelMetadata};
pub use request_options::RequestOptions;
pub use transport::{HttpClients, TIME_MS_MAX, Timeouts};
pub use webhook::{Webhook, WebhookError};

use self::continuation::Continuations;
use self::endpoint::Endpoint;
use self::failure::ExchangeError;
use self::redact::RedactingSink;
use self::request_options::{CheckedRequestOptions, Target};
use self::transport::{ByteSource, ResponseForm, ResponseReader, Transport, header_map};
use crate::price::listed_or_assumed;
use crate::provider::{API_VERSIONS, KeyRequirement, Provider};
use crate::thinking::BadThinking;
use crate::wire::{self, DecodedResponse, Lowering, ProviderThread, ResponseError, StreamState};

/// Default output limit in tokens, including thoughts, for requests that cost money: without a limit, no
/// maximum cost could be reserved.
const OUTPUT_TOKENS: u32 = 16_384;

/// Default output limit for servers that host many models, including small ones.
const OUTPUT_TOKENS_ELSEWHERE: u32 = 8_192;

/// Output tokens that are reserved for a provider that accepts no limit.
const OUTPUT_TOKENS_UNLIMITED: u32 = 32_768;

/// The configuration of a hosted model.
#[derive(Debug, Clone)]
pub struct HostedOptions<'a> {
    /// The wire format.
    pub provider: Provider,
    /// The provider's configured name; defaults to the name of the format.
    pub name: &'a str,
    /// The model's name at the provider.
    pub model: &'a str,
    /// A base URL other than the provider's own.
    pub base_url: Option<&'a str>,
    pub credential: Option<Credential>,
    /// Where the key was looked for, as shown after "key from" in errors.
    pub key_source: String,
    /// Whether the provider requires a key.
    pub keyed: KeyRequirement,
    /// The configured price. A price of zero means that the model is free.
    pub price: Option<Price>,
    /// How long each phase may take.
    pub times: Timeouts,
    /// Optional features of requests.
    pub shape: RequestOptions<'a>,
}

impl<'a> HostedOptions<'a> {
    /// A model at the provider's own address, without a key.
    #[must_use]
    pub fn of(provider: Provider, model: &'a str) -> Self {
        Self {
            provider,
            name: provider.word(),
            model,
            base_url: None,
            credential: None,
            key_source: provider.key_variables().join(" or "),
            keyed: provider.keyed(),
            price: None,
            times: Timeouts::default(),
            shape: RequestOptions::default(),
        }
    }
}

/// Why a model cannot be configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostedModelError {
    /// The base URL is invalid.
    #[error("invalid address of {provider}: {source}")]
    Url { provider: String, source: BadUrl },
    /// The API version is not supported.
    #[error(
        "unsupported API version `{given}`; `anthropic` supports {}",
        API_VERSIONS.join(" and ")
    )]
    ApiVersion { given: String },
    /// The model does not support this amount of thinking.
    #[error(transparent)]
    Thinking(#[from] BadThinking),
    /// The key is missing.
    #[error("{provider} requires a key, but {key_source} is not set")]
    SecretMissing {
        provider: String,
        /// Where the key was looked for.
        key_source: String,
    },
}

/// A model that is called over HTTP at a provider.
#[derive(Debug, Clone)]
pub struct HostedModel {
    provider: Provider,
    name: String,
    model: String,
    endpoint: Endpoint,
    url: Url,
    credential: Option<Credential>,
    key_source: String,
    price: Option<(Price, PriceBasis)>,
    output_tokens_max: u64,
    transport: Transport,
    shape: CheckedRequestOptions,
    threads: Continuations,
}

impl HostedModel {
    /// Validates the configuration. Nothing is sent.
    pub fn new(options: HostedOptions<'_>) -> Result<Self, HostedModelError> {
        Self::with_clients(options, HttpClients::default())
    }

    /// Validates the configuration and uses existing HTTP clients.
    pub fn with_clients(options: HostedOptions<'_>, clients: HttpClients) -> Result<Self, HostedModelError> {
        let HostedOptions {
            provider,
            name,
            model,
            base_url,
            credential,
            key_source,
            keyed,
            price,
            times,
            shape: asked,
        } = options;
        let endpoint = Endpoint::parse(base_url.unwrap_or(provider.base_url()));
        let endpoint = endpoint.map_err(|source| HostedModelError::Url {
            provider: name.to_owned(),
            source,
        })?;
        let wants_key = match keyed {
            KeyRequirement::Never => false,
            KeyRequirement::Always => true,
            KeyRequirement::AtItsOwnAddress => endpoint.is_own(provider),
        };
        if credential.is_none() && wants_key {
            return Err(HostedModelError::SecretMissing {
                provider: name.to_owned(),
                key_source,
            });
        }
        let auth = asked.auth.unwrap_or(provider.auth());
        let key = credential.as_ref().and_then(|key| key.header(auth));
        let price = match (price, boundary(&endpoint, credential.as_ref())) {
            (Some(price), _) => (!price.is_free()).then_some((price, PriceBasis::Configured)),
            // Models on the user's own machine cost nothing per request.
            (None, DataBoundary::Machine | DataBoundary::Process) => None,
            (None, DataBoundary::Outside) => Some(listed_or_assumed(model)),
        };
        let is_own = endpoint.is_own(provider);
        let told = price.and_then(|_| max_tokens_sent(provider, is_own));
        let longest = asked.max_output_tokens.or(told);
        let asked = RequestOptions {
            max_output_tokens: longest,
            ..asked
        };
        let target = Target {
            provider,
            model,
            thinking_scope: endpoint.thinking_scope(name, provider),
            own_server: is_own,
        };
        let shape = CheckedRequestOptions::new(target, &asked)?;
        Ok(Self {
            provider,
            name: name.to_owned(),
            model: model.to_owned(),
            url: endpoint.url(provider, model),
            transport: Transport::new(endpoint.reach(), header_map(&shape.headers, key), times, clients),
            endpoint,
            credential,
            key_source,
            price,
            output_tokens_max: u64::from(reserved_output_tokens(provider, longest)),
            shape,
            threads: Continuations::default(),
        })
    }

    /// Returns the body of this request when nothing is stored at the provider. The same request gives the
    /// same bytes.
    pub fn body(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        wire::body(
            &self.shape.lowering(&self.model, ProviderThread::NotKept),
            request,
        )
    }

    /// Sends a request and waits for the complete response, like [`Model::call`], without taking ownership
    /// of the request.
    pub async fn answer(
        &self,
        request: &ModelRequest,
        audience: &dyn DeltaSink,
    ) -> Result<ModelResponse, ModelFailure> {
        let answer = self.converse(request, audience).await;
        answer.map_err(|trouble| self.failure(&request.model_ref, trouble))
    }

    async fn exchange(
        &self,
        request: &ModelRequest,
        lowering: &Lowering<'_>,
        audience: &dyn DeltaSink,
    ) -> Result<DecodedResponse, ExchangeError> {
        let body = wire::body(lowering, request);
        let body = body.map_err(|error| ExchangeError::Unsendable(error.to_string()))?;
        let (form, mut response) = self.transport.send(self.url.clone(), body).await?;
        let audience = RedactingSink {
            key: self.credential.as_ref(),
            audience,
        };
        let mut heard = match form {
            ResponseForm::Whole => {
                let whole = response.whole().await?;
                wire::decode_whole(self.provider, request.request, &whole)?
            }
            ResponseForm::Stream => self.listen(&mut response, request.request, &audience).await?,
        };
        for block in &mut heard.answer.blocks {
            if let Block::Thinking { provider, .. } | Block::WebSearch(WebSearch { provider, .. }) = block {
                provider.clone_from(&self.shape.thinking_scope);
            }
        }
        wire::read_freeform(lowering, &request.tools, &mut heard.answer.blocks);
        if let Some(key) = &self.credential {
            redact::redact(key, &mut heard.answer.blocks);
        }
        Ok(heard)
    }

    async fn listen<S: ByteSource>(
        &self,
        response: &mut ResponseReader<S>,
        request: u32,
        audience: &dyn DeltaSink,
    ) -> Result<DecodedResponse, ExchangeError> {
        let mut decoder = wire::decoder(self.provider, request);
        let (mut frames, mut flow) = (Frames::default(), StreamState::More);
        while flow == StreamState::More {
            let Some(chunk) = response.next().await? else {
                break;
            };
            let frames = frames
                .feed(chunk.as_ref())
                .map_err(|error| ResponseError::invalid(error.to_string()))?;
            for data in frames.into_iter().filter_map(|frame| frame.data) {
                // Data after the end is ignored, even in the same chunk.
                if flow == StreamState::More {
                    flow = decoder.take(&data, audience)?;
                }
            }
        }
        Ok(decoder.end()?)
    }

    /// Whether another instance calls the same model at the same address with the same key. Then either can
    /// continue a conversation of the other.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.model, &self.url, &self.credential)
            == (&other.name, &other.model, &other.url, &other.credential)
    }

    /// Returns the URL without anything after the path.
    fn shown_url(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.to_string()
    }

    /// Returns the bytes without the key, or `None` if they do not contain it.
    pub(crate) fn cut_key(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.credential.as_ref()?.cut_from(bytes)
    }

    /// Returns the text without the key.
    fn hide(&self, text: &str) -> String {
        self.credential
            .as_ref()
            .map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }
}

/// Returns the default output limit that is sent; `None` if the provider accepts none.
const fn max_tokens_sent(provider: Provider, is_own: bool) -> Option<u32> {
    match (provider, is_own) {
        (Provider::OpenAiCodex, _) => None,
        (Provider::OpenAi | Provider::OpenAiChat | Provider::Gemini, true) => Some(OUTPUT_TOKENS),
        (Provider::Anthropic, _) | (Provider::OpenAi | Provider::OpenAiChat | Provider::Gemini, false) => {
            Some(OUTPUT_TOKENS_ELSEWHERE)
        }
    }
}

/// Returns the output tokens to reserve. A limit that is not sent to the provider does not bound the
/// response.
fn reserved_output_tokens(provider: Provider, longest: Option<u32>) -> u32 {
    match provider {
        Provider::OpenAiCodex => longest.unwrap_or_default().max(OUTPUT_TOKENS_UNLIMITED),
        Provider::Anthropic | Provider::OpenAi | Provider::OpenAiChat | Provider::Gemini => {
            longest.unwrap_or(OUTPUT_TOKENS_UNLIMITED)
        }
    }
}

/// Only a loopback server without a key counts as this machine. Host names are not resolved, so other names
/// count as outside; so does a local server that needs a key, because it may be a gateway to a paid
/// service.
fn boundary(endpoint: &Endpoint, key: Option<&Credential>) -> DataBoundary {
    match endpoint.is_here() && key.is_none() {
        true => DataBoundary::Machine,
        false => DataBoundary::Outside,
    }
}

impl Model for HostedModel {
    fn profile(&self, _model_ref: &str) -> ModelProfile {
        ModelProfile {
            provider: self.name.clone(),
            boundary: boundary(&self.endpoint, self.credential.as_ref()),
            price: self.price,
            output_tokens_max: self.output_tokens_max,
            searches_web: self.shape.web_search,
            secret: match self.credential {
                Some(_) => SecretStatus::Available,
                None => SecretStatus::NotNeeded,
            },
        }
    }

    async fn call(
        &self,
        request: ModelRequest,
        audience: &dyn DeltaSink,
    ) -> Result<ModelResponse, ModelFailure> {
        self.answer(&request, audience).await
    }
}
