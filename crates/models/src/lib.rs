//! What answers model requests.
//!
//! [`ModelRef`] is what a person may name; the binary reads the file or the key that the name stands for and
//! builds [`Models`] from it. The [`Scripted`] model drives tests, the demo and replays; a [`Hosted`] one is asked over
//! HTTP at its [`Provider`]. [`Embedders`] turn texts into directions.
#![forbid(unsafe_code)]

mod embedding;
mod hosted;
mod provider;
mod reference;
mod scripted;
mod wire;

use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::Terms;
use wakeful_core::prompt::Request;
use wakeful_ports::model::{Answer, Audience, Model};

pub use embedding::{
    ADDED_TOKENS_MAX, BadEmbeddingEndpoint, BadTable, BadTensor, BadTokenizer, Embedders, EmbeddingEndpoint,
    FOLDER_ENTRIES_MAX, HEADER_BYTES_MAX, ROWS_MAX, TENSOR_BYTES_MAX, TOKENIZER_BYTES_MAX, WordTable,
};
pub use hosted::{
    BadCredential, BadHosted, BadUrl, CREDENTIAL_BYTES_MAX, Credential, Hosted, Options, URL_BYTES_MAX,
};
pub use provider::Provider;
pub use reference::{BadModelRef, MODEL_CHARS_MAX, ModelRef, REF_CHARS_MAX};
pub use scripted::{
    DELAY_MS_MAX, Place, ROUNDS_MAX, SCRIPT_BYTES_MAX, ScriptError, Scripted, TOOLS_PER_ROUND_MAX,
};

/// The model of a run, whichever kind it is. An enum and no trait object, because [`Model`] returns a future
/// of its own type and the kinds are few and ours.
#[derive(Debug, Clone)]
pub enum Models {
    /// Answers from a script.
    Scripted(Scripted),
    /// Answers over HTTP.
    Hosted(Box<Hosted>),
}

impl Model for Models {
    fn terms(&self, model_ref: &str) -> Terms {
        match self {
            Self::Scripted(model) => model.terms(model_ref),
            Self::Hosted(model) => model.terms(model_ref),
        }
    }

    async fn ask(&self, request: Request, audience: &dyn Audience) -> Result<Answer, ModelFailure> {
        match self {
            Self::Scripted(model) => model.ask(request, audience).await,
            Self::Hosted(model) => model.ask(request, audience).await,
        }
    }
}

impl From<Scripted> for Models {
    fn from(model: Scripted) -> Self {
        Self::Scripted(model)
    }
}

impl From<Hosted> for Models {
    fn from(model: Hosted) -> Self {
        Self::Hosted(Box::new(model))
    }
}
