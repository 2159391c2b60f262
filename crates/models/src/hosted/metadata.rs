//! Requests for metadata of a provider or model that are free of charge.

use std::time::Duration;

use serde_json::Value;
use wakeful_core::failure::ModelFailure;

use super::transport::MetadataRequest;
use super::{ExchangeError, HostedModel};
use crate::provider::Provider;

/// Longest time for such a request, because a person waits for it.
const METADATA_MS_MAX: u64 = 10_000;

/// The metadata of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelMetadata {
    /// Longest request in tokens; `None` if the provider does not report it.
    pub context_tokens: Option<u64>,
    /// The URL that reported it, without anything after the path.
    pub source: Option<String>,
}

impl HostedModel {
    /// Checks that the server responds and accepts the key. Returns the status of its model list.
    pub async fn check_reachable(&self) -> Result<u16, ModelFailure> {
        let path: &[&str] = match self.provider {
            Provider::Anthropic => &["v1", "models"],
            Provider::OpenAi | Provider::OpenAiChat | Provider::OpenAiCodex => &["models"],
            Provider::Gemini => &["v1beta", "models"],
        };
        let wait = Duration::from_millis(METADATA_MS_MAX);
        let looked = self
            .transport
            .look(MetadataRequest::Get, self.endpoint.below(path), wait)
            .await;
        match looked {
            Ok((status @ 200, _)) => Ok(status),
            // The server exists and has no model list.
            Ok((status @ (404 | 405 | 501), _)) => Ok(status),
            Ok((status, body)) => Err(self.failure(
                &format!("{}/{}", self.name, self.model),
                ExchangeError::Status {
                    status,
                    retry_after_ms: None,
                    body,
                },
            )),
            Err(trouble) => Err(self.failure(&format!("{}/{}", self.name, self.model), trouble)),
        }
    }

    /// Fetches the metadata of this model. Values that the provider does not report are not guessed.
    pub async fn fetch_metadata(&self) -> ModelMetadata {
        let model = self.model.as_str();
        let own: (&[&str], MetadataRequest) = match self.provider {
            Provider::Anthropic => (&["v1", "models", model], MetadataRequest::Get),
            Provider::OpenAi | Provider::OpenAiChat | Provider::OpenAiCodex => {
                (&["models", model], MetadataRequest::Get)
            }
            Provider::Gemini => (&["v1beta", "models", model], MetadataRequest::Get),
        };
        let mut questions = vec![(self.endpoint.below(own.0), own.1)];
        if self.endpoint.is_here() && self.provider == Provider::OpenAiChat {
            let body = serde_json::json!({"model": model}).to_string().into_bytes();
            // Ollama has its own API next to the OpenAI-compatible one.
            questions.push((self.endpoint.root(&["api", "show"]), MetadataRequest::Post(body)));
            questions.push((self.endpoint.below(&["models"]), MetadataRequest::Get));
        }
        for (url, look) in questions {
            let shown = url.to_string();
            let wait = Duration::from_millis(METADATA_MS_MAX);
            let Ok((200, body)) = self.transport.look(look, url, wait).await else {
                continue;
            };
            let Ok(value) = serde_json::from_slice::<Value>(&body) else {
                continue;
            };
            if let Some(tokens) = context_tokens(&value, model) {
                return ModelMetadata {
                    context_tokens: Some(tokens),
                    source: Some(shown),
                };
            }
        }
        ModelMetadata::default()
    }
}

/// Finds the context size in the field that each kind of server uses.
fn context_tokens(value: &Value, model: &str) -> Option<u64> {
    let pointers = [
        "/max_input_tokens",
        "/inputTokenLimit",
        "/context_length",
        "/context_window",
        "/max_model_len",
        "/max_context_length",
        "/meta/n_ctx",
        "/meta/n_ctx_train",
    ];
    let whole = |value: &Value| pointers.iter().find_map(|at| value.pointer(at)?.as_u64());
    // Ollama prefixes the field with the model's family.
    let family = || {
        let facts = value.get("model_info")?.as_object()?;
        let found = facts.iter().find(|(key, _)| key.ends_with(".context_length"));
        found.and_then(|(_, tokens)| tokens.as_u64())
    };
    let listed = || {
        let models = value.get("data")?.as_array()?;
        let own = models
            .iter()
            .find(|one| one.get("id").and_then(Value::as_str) == Some(model));
        own.and_then(whole)
    };
    whole(value)
        .or_else(family)
        .or_else(listed)
        .filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_context_size_is_found_in_every_format_and_never_guessed() {
        let told = |value: Value| context_tokens(&value, "m");
        assert_eq!(told(json!({"inputTokenLimit": 1_048_576})), Some(1_048_576));
        assert_eq!(told(json!({"id": "m", "max_model_len": 4_096})), Some(4_096));
        assert_eq!(
            told(json!({"id": "m", "meta": {"n_ctx_train": 131_072}})),
            Some(131_072)
        );
        assert_eq!(
            told(json!({"model_info": {"llama.context_length": 8_192}})),
            Some(8_192)
        );
        let list =
            json!({"data": [{"id": "x", "context_length": 1}, {"id": "m", "context_length": 200_000}]});
        assert_eq!(told(list), Some(200_000));
        assert_eq!(told(json!({"id": "m", "object": "model", "created": 7})), None);
        assert_eq!(told(json!({"context_length": 0})), None);
        assert_eq!(told(json!([])), None);
    }
}
