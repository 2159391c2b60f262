//! What turns texts into directions. Nothing does unless somebody configured it.
//!
//! An [`EmbeddingEndpoint`] asks a server that speaks like OpenAI's; a [`WordTable`] is a file on this machine.

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

/// Longest part of a file's own word that an error repeats, in characters.
const GIVEN_CHARS_MAX: usize = 60;

/// Longest account of why a file cannot be read, in characters.
const CAUSE_CHARS_MAX: usize = 200;

/// An embedder, whichever kind it is.
#[derive(Debug, Clone)]
pub enum AnyEmbedder {
    /// Answers over HTTP.
    Endpoint(Box<EmbeddingEndpoint>),
    /// Answers from a file.
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

/// Refuses texts out of bounds, as every embedder does.
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
