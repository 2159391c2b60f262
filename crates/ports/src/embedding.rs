//! Embeddings of texts for search.

use std::future::Future;

use wakeful_core::conversation::Usage;
use wakeful_core::embedding::Embedding;
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::ModelProfile;

/// The response of an embedder.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingResponse {
    /// One per text, in order, each with [`Embedder::dimensions`] numbers.
    pub embeddings: Vec<Embedding>,
    /// Tokens, as far as the provider reports them.
    pub usage: Usage,
}

/// Converts texts into embeddings. It is optional: callers work without one.
///
/// One call is one attempt. Embeddings find similar texts; they do not detect contradictions.
pub trait Embedder: Send + Sync + 'static {
    /// The name and version of the model, stored with every embedding. Embeddings of different models are
    /// never compared.
    fn identity(&self) -> &str;

    /// The length of each embedding.
    fn dimensions(&self) -> usize;

    /// The profile that the gates check before a request. Must not block.
    fn profile(&self) -> ModelProfile;

    /// Embeds texts within the limits of [`wakeful_core::embedding::check_texts`]; other texts are rejected
    /// before anything is sent. Dropping the future cancels the attempt.
    fn embed(
        &self,
        texts: Vec<String>,
    ) -> impl Future<Output = Result<EmbeddingResponse, ModelFailure>> + Send;
}
