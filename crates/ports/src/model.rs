//! A model's reply.

use std::future::Future;

use wakeful_core::conversation::{Block, Usage};
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::ModelProfile;
use wakeful_core::prompt::ModelRequest;

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResponse {
    /// What it said and asked for.
    pub blocks: Vec<Block>,
    /// Tokens, as far as the provider counted them.
    pub usage: Usage,
}

/// Someone who is told what a model says while it speaks. What was heard is worth nothing until the answer is there:
/// an attempt may fail half-way and begin again.
pub trait DeltaSink: Send + Sync {
    /// The next words.
    fn on_text(&self, text: &str);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy)]
pub struct NoDeltaSink;

impl DeltaSink for NoDeltaSink {
    fn on_text(&self, _text: &str) {}
}

/// Something that answers requests. One call is one attempt; the machine decides on the next.
pub trait Model: Send + Sync + 'static {
    /// The same bytes without the keys that it knows; none where they have none in them. Must not block.
    fn redact_keys(&self, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// What is known of one of its models before it is asked. Must not block.
    fn profile(&self, model_ref: &str) -> ModelProfile;

    /// Whether one of its models can be asked at all, as far as is known. Must not block.
    fn can_ask(&self, _model_ref: &str) -> bool {
        true
    }

    /// Sends one request and waits for the whole answer. Dropping the future gives the attempt up.
    ///
    /// [`Request::model_ref`] says which model, if this answers for several.
    fn call(
        &self,
        request: ModelRequest,
        audience: &dyn DeltaSink,
    ) -> impl Future<Output = Result<ModelResponse, ModelFailure>> + Send;
}
