//! Embeddings from a server that is compatible with OpenAI's API.

use reqwest::Url;
use serde::{Deserialize, Serialize};
use wakeful_core::conversation::Usage;
use wakeful_core::embedding::{DIMENSIONS_MAX, Embedding};
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::ModelProfile;
use wakeful_core::key::Digest;
use wakeful_ports::embedding::{Embedder, EmbeddingResponse};
use wakeful_ports::model::Model as _;

use crate::hosted::HostedModel;
use crate::wire::{self, ResponseError};

/// An embedder that calls `POST {base}/embeddings`.
#[derive(Debug, Clone)]
pub struct EmbeddingEndpoint {
    hosted: HostedModel,
    url: Url,
    identity: String,
    dimensions: usize,
}

/// Why a model cannot be used as an embedder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEmbeddingEndpoint {
    /// The provider has no embeddings endpoint.
    #[error("{model_ref} does not provide embeddings; use openai/MODEL or openai-chat/MODEL")]
    Provider { model_ref: String },
    /// The number of dimensions is out of range.
    #[error("an embedding has 1 to {DIMENSIONS_MAX} dimensions, not {given}")]
    Dimensions { given: usize },
}

impl EmbeddingEndpoint {
    /// Uses a hosted model as an embedder, with its address, key and limits. The number of dimensions must
    /// be configured, because stored data depends on it; a response with another number is rejected.
    pub fn new(hosted: HostedModel, dimensions: usize) -> Result<Self, BadEmbeddingEndpoint> {
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
            return Err(BadEmbeddingEndpoint::Dimensions { given: dimensions });
        }
        let model_ref = hosted.model_ref();
        let Some(url) = hosted.auxiliary_url("embeddings") else {
            return Err(BadEmbeddingEndpoint::Provider { model_ref });
        };
        // The identity includes the address, because private servers choose model names freely. It is
        // hashed so that it distinguishes servers without revealing the address.
        let place = Digest::of(url.as_str().as_bytes());
        let identity = format!("endpoint/{}/{dimensions}/{place}", hosted.model());
        Ok(Self {
            hosted,
            url,
            identity,
            dimensions,
        })
    }
}

impl Embedder for EmbeddingEndpoint {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn profile(&self) -> ModelProfile {
        self.hosted.profile(&self.hosted.model_ref())
    }

    async fn embed(&self, texts: Vec<String>) -> Result<EmbeddingResponse, ModelFailure> {
        let texts = super::checked(texts)?;
        let ask = EmbeddingRequestBody {
            model: self.hosted.model(),
            input: &texts,
        };
        let body = serde_json::to_vec(&ask);
        let body = body.map_err(|error| super::refused("request_encoding_failed", &error.to_string()))?;
        let (count, dimensions) = (texts.len(), self.dimensions);
        let read = move |whole: &[u8]| read(whole, count, dimensions);
        self.hosted.post(&self.url, body, read).await
    }
}

#[derive(Debug, Serialize)]
struct EmbeddingRequestBody<'a> {
    model: &'a str,
    input: &'a [String],
}

#[derive(Debug, Deserialize)]
struct EmbeddingResponseBody {
    data: Vec<Item>,
    #[serde(default)]
    usage: Option<EmbeddingUsage>,
}

#[derive(Debug, Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Debug, Deserialize)]
struct EmbeddingUsage {
    #[serde(default)]
    prompt_tokens: u64,
}

/// Sorts the items into the order of the texts: each item has an index, and the format guarantees no order.
fn read(whole: &[u8], count: usize, dimensions: usize) -> Result<EmbeddingResponse, ResponseError> {
    let text = std::str::from_utf8(whole).map_err(|_| ResponseError::invalid("the response is not UTF-8"))?;
    let reply: EmbeddingResponseBody = wire::read(text)?;
    if reply.data.len() != count {
        let given = reply.data.len();
        return Err(ResponseError::invalid(format!(
            "{count} texts were sent and {given} embeddings were returned"
        )));
    }
    let mut places: Vec<Option<Embedding>> = vec![None; count];
    for Item { index, embedding } in reply.data {
        if embedding.len() != dimensions {
            let given = embedding.len();
            let why = format!("embedding {index} has {given} numbers instead of the configured {dimensions}");
            return Err(ResponseError::invalid(why));
        }
        let embedding = Embedding::new(embedding).map_err(|bad| {
            ResponseError::invalid(format!("invalid embedding {index} in the response: {bad}"))
        })?;
        match places.get_mut(index) {
            Some(place @ None) => *place = Some(embedding),
            Some(Some(_)) => {
                return Err(ResponseError::invalid(format!(
                    "embedding {index} was returned twice"
                )));
            }
            None => {
                return Err(ResponseError::invalid(format!(
                    "embedding {index} does not belong to any text"
                )));
            }
        }
    }
    // There are as many items as texts and no index occurs twice, so every text has an embedding.
    let embeddings = places.into_iter().flatten().collect();
    let input_tokens = reply.usage.map_or(0, |used| used.prompt_tokens);
    Ok(EmbeddingResponse {
        embeddings,
        usage: Usage::of(input_tokens, 0),
    })
}
