//! Requests to models.

use std::future::Future;

use wakeful_core::conversation::{Block, Usage};
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::ModelProfile;
use wakeful_core::prompt::ModelRequest;

/// The response of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResponse {
    /// Its text and tool calls.
    pub blocks: Vec<Block>,
    /// Tokens, as far as the provider reports them.
    pub usage: Usage,
}

/// Receives the text of a model while it is streamed. The text is provisional until the response is
/// complete: an attempt may fail midway and start again.
pub trait DeltaSink: Send + Sync {
    /// Receives the next part of the text.
    fn on_text(&self, text: &str);
}

/// A sink that discards the text.
#[derive(Debug, Clone, Copy)]
pub struct NoDeltaSink;

impl DeltaSink for NoDeltaSink {
    fn on_text(&self, _text: &str) {}
}

/// Sends requests to models. One call is one attempt; the run machine decides whether another follows.
pub trait Model: Send + Sync + 'static {
    /// Returns the bytes with all known API keys redacted; none if they contain no key. Must not block.
    fn redact_keys(&self, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Returns the profile of a model before any request. Must not block.
    fn profile(&self, model_ref: &str) -> ModelProfile;

    /// Returns whether a model can currently receive requests, as far as known. Must not block.
    fn can_ask(&self, _model_ref: &str) -> bool {
        true
    }

    /// Sends one request and waits for the complete response. Dropping the future cancels the attempt.
    ///
    /// The model is chosen by [`ModelRequest::model_ref`] if the implementation provides several.
    fn call(
        &self,
        request: ModelRequest,
        audience: &dyn DeltaSink,
    ) -> impl Future<Output = Result<ModelResponse, ModelFailure>> + Send;
}
