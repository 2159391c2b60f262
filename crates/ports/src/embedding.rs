//! Texts as directions, for search.

use std::future::Future;

use wakeful_core::conversation::Usage;
use wakeful_core::embedding::Embedding;
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::ModelProfile;

/// What an embedder answered.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingResponse {
    /// One for each text, in their order, each with [`Embedder::dimensions`] numbers.
    pub embeddings: Vec<Embedding>,
    /// Tokens, as far as they were counted.
    pub usage: Usage,
}

/// Something that turns texts into directions. There need not be one: whoever asks can do without.
///
/// One call is one attempt. It finds what is alike and knows nothing of what contradicts.
pub trait Embedder: Send + Sync + 'static {
    /// The name of the model and its version. What is kept of an embedding has it beside it: embeddings of different
    /// names are never compared.
    fn identity(&self) -> &str;

    /// How many numbers each of its embeddings has.
    fn dimensions(&self) -> usize;

    /// What is known of it before it is asked, for the gates. Must not block.
    fn profile(&self) -> ModelProfile;

    /// Embeds texts within the bounds of [`wakeful_core::embedding::check_texts`]; others are refused before anything
    /// is sent. Dropping the future gives the attempt up.
    fn embed(
        &self,
        texts: Vec<String>,
    ) -> impl Future<Output = Result<EmbeddingResponse, ModelFailure>> + Send;
}
