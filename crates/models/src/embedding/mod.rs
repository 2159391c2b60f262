//! Embedders, which turn texts into vectors. They are used only if one is configured.
//!
//! An [`EmbeddingEndpoint`] calls a server that is compatible with OpenAI's API; a [`WordTable`] is a local
//! file.

mod bpe;
mod endpoint;
mod safetensors;
mod table;

use wakeful_core::embedding::check_texts;
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::inference::ModelProfile;
use wakeful_ports::embedding::{Embedder, EmbeddingResponse};

pub use bpe::{ADDED_TOKENS_MAX, BadTokenizer, TOKENIZER_BYTES_MAX};
pub use endpoint::{BadEmbeddingEndpoint, EmbeddingEndpoint};
pub use safetensors::{BadTensor, HEADER_BYTES_MAX, ROWS_MAX, TENSOR_BYTES_MAX};
pub use table::{BadTable, FOLDER_ENTRIES_MAX, WordTable};

/// Longest excerpt of a file's own text in an error, in characters.
const GIVEN_CHARS_MAX: usize = 60;

/// Longest description of a read error, in characters.
const CAUSE_CHARS_MAX: usize = 200;

/// An embedder of any kind.
#[derive(Debug, Clone)]
pub enum AnyEmbedder {
    /// Calls a server over HTTP.
    Endpoint(Box<EmbeddingEndpoint>),
    /// Reads a local word table.
    Table(WordTable),
}

impl Embedder for AnyEmbedder {
    fn identity(&self) -> &str {
        match self {
            Self::Endpoint(endpoint) => endpoint.identity(),
            Self::Table(table) => table.identity(),
        }
    }

    fn dimensions(&self) -> usize {
        match self {
            Self::Endpoint(endpoint) => endpoint.dimensions(),
            Self::Table(table) => table.dimensions(),
        }
    }

    fn profile(&self) -> ModelProfile {
        match self {
            Self::Endpoint(endpoint) => endpoint.profile(),
            Self::Table(table) => table.profile(),
        }
    }

    async fn embed(&self, texts: Vec<String>) -> Result<EmbeddingResponse, ModelFailure> {
        match self {
            Self::Endpoint(endpoint) => endpoint.embed(texts).await,
            Self::Table(table) => table.embed(texts).await,
        }
    }
}

impl From<EmbeddingEndpoint> for AnyEmbedder {
    fn from(endpoint: EmbeddingEndpoint) -> Self {
        Self::Endpoint(Box::new(endpoint))
    }
}

impl From<WordTable> for AnyEmbedder {
    fn from(table: WordTable) -> Self {
        Self::Table(table)
    }
}

/// Rejects texts that exceed the limits of all embedders.
fn checked(texts: Vec<String>) -> Result<Vec<String>, ModelFailure> {
    match check_texts(&texts) {
        Ok(()) => Ok(texts),
        Err(bad) => Err(refused("bad_texts", &bad.to_string())),
    }
}

fn refused(kind: &str, summary: &str) -> ModelFailure {
    let artifact = FailureArtifact::new(FailureCategory::Protocol, kind, summary);
    ModelFailure::new(ModelFailureKind::FailFast, artifact)
}
