//! Embeddings from a server that speaks like OpenAI's.

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

/// Asks `POST {base}/embeddings`.
#[derive(Debug, Clone)]
pub struct EmbeddingEndpoint {
    hosted: HostedModel,
    url: Url,
    identity: String,
    dimensions: usize,
}

/// Why a server cannot be asked for embeddings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEmbeddingEndpoint {
    /// It has no such path.
    #[error("{model_ref} gives no embeddings; use openai/MODEL or openai-chat/MODEL")]
    Provider {
        /// What was named.
        model_ref: String,
    },
    /// No embedding is that long.
    #[error("an embedding has 1 to {DIMENSIONS_MAX} dimensions, not {given}")]
    Dimensions {
        /// What was configured.
        given: usize,
    },
}

impl EmbeddingEndpoint {
    /// Takes a model over as an embedder: its address, its key and its bounds hold here as well. How many numbers its
    /// embeddings have is for a person to say, because what is stored depends on it; an answer with others is refused.
    pub fn new(hosted: HostedModel, dimensions: usize) -> Result<Self, BadEmbeddingEndpoint> {
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
            return Err(BadEmbeddingEndpoint::Dimensions { given: dimensions });
        }
        let model_ref = hosted.model_ref();
        let Some(url) = hosted.auxiliary_url("embeddings") else {
            return Err(BadEmbeddingEndpoint::Provider { model_ref });
        };
        // The address is part of it: servers of one's own give models what names they like. Its hash tells it apart
        // and does not show it.
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

/// Puts the items in the order of the texts: the format gives each its place and promises no order.
fn read(whole: &[u8], count: usize, dimensions: usize) -> Result<EmbeddingResponse, ResponseError> {
    let text = std::str::from_utf8(whole).map_err(|_| ResponseError::invalid("the response is not UTF-8"))?;
    let reply: EmbeddingResponseBody = wire::read(text)?;
    if reply.data.len() != count {
        let given = reply.data.len();
        return Err(ResponseError::invalid(format!(
            "{count} texts were sent and {given} embeddings came back"
        )));
    }
    let mut places: Vec<Option<Embedding>> = vec![None; count];
    for Item { index, embedding } in reply.data {
        if embedding.len() != dimensions {
            let given = embedding.len();
            let why = format!("embedding {index} has {given} numbers, and {dimensions} are configured");
            return Err(ResponseError::invalid(why));
        }
        let embedding = Embedding::new(embedding)
            .map_err(|bad| ResponseError::invalid(format!("embedding {index} of the response: {bad}")))?;
        match places.get_mut(index) {
            Some(place @ None) => *place = Some(embedding),
            Some(Some(_)) => return Err(ResponseError::invalid(format!("embedding {index} came twice"))),
            None => return Err(ResponseError::invalid(format!("no text has the place {index}"))),
        }
    }
    // As many items as places, and none twice: every place is taken.
    let embeddings = places.into_iter().flatten().collect();
    let input_tokens = reply.usage.map_or(0, |used| used.prompt_tokens);
    Ok(EmbeddingResponse {
        embeddings,
        usage: Usage::of(input_tokens, 0),
    })
}
