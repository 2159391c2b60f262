//! Requests for metadata of a provider or model that are free of charge.

use std::time::Duration;

use reqwest::Url;
use serde_json::Value;
use wakeful_core::failure::ModelFailure;

use super::failure::WaitStage;
use super::transport::MetadataRequest;
use super::{ExchangeError, HostedModel};
use crate::provider::Provider;
use crate::wire::ResponseError;

/// Longest time for such a request, because a person waits for it.
const METADATA_MS_MAX: u64 = 10_000;

/// The built-in provider whose model list is public, so that only another URL tests its key.
const KEY_CHECKED_SEPARATELY: &str = "openrouter";

/// The metadata of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelMetadata {
    /// Longest request in tokens; `None` if the provider does not report it.
    pub context_tokens: Option<u64>,
    /// The URL that reported it, without anything after the path.
    pub source: Option<String>,
}

/// Most names that are kept of a provider's list. Gateways list some hundreds of models.
pub const LISTED_MODELS_MAX: usize = 1_000;

/// The model list of a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelList {
    /// Names at the provider, in its order.
    pub names: Vec<String>,
    /// Whether the provider has models that are not in `names`.
    pub is_partial: bool,
}

impl ModelList {
    /// Whether the provider may know a model. Providers accept a name without its date or tag, and a
    /// variant after a colon.
    #[must_use]
    pub fn may_contain(&self, model: &str) -> bool {
        let ends_word = |rest: &str| rest.is_empty() || rest.starts_with(['-', ':', '@']);
        let fits = |name: &String| {
            name.strip_prefix(model).is_some_and(ends_word)
                || model
                    .strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.starts_with(':'))
        };
        self.is_partial || self.names.iter().any(fits)
    }
}

impl HostedModel {
    /// Checks that the server responds and accepts the key. Returns the status of its model list.
    pub async fn check_reachable(&self) -> Result<u16, ModelFailure> {
        let wait = Duration::from_millis(METADATA_MS_MAX);
        let (status, _) = self.look_at(self.models_url(), wait).await?;
        Ok(status)
    }

    /// Fetches the model list, which also tests the key, within this time. Returns `None` if the server
    /// has no such list.
    pub async fn list_models(&self, wait: Duration) -> Result<Option<ModelList>, ModelFailure> {
        let listing = async {
            if self.name == KEY_CHECKED_SEPARATELY {
                self.look_at(self.endpoint.below(&["key"]), wait).await?;
            }
            let mut url = self.models_url();
            match self.provider {
                Provider::Anthropic => url.set_query(Some(&format!("limit={LISTED_MODELS_MAX}"))),
                Provider::Gemini => url.set_query(Some(&format!("pageSize={LISTED_MODELS_MAX}"))),
                Provider::OpenAi | Provider::OpenAiChat | Provider::OpenAiCodex => {}
            }
            self.look_at(url, wait).await
        };
        let timed_out = || ExchangeError::TimedOut(WaitStage::FirstByte);
        let (status, body) = tokio::time::timeout(wait, listing)
            .await
            .unwrap_or_else(|_| Err(self.failure(&self.model_ref(), timed_out())))?;
        if status != 200 {
            return Ok(None);
        }
        let value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let invalid = || {
            ExchangeError::Fault(ResponseError::invalid(
                "the server responds, but not with a list of models",
            ))
        };
        let list = model_list(&value).ok_or_else(|| self.failure(&self.model_ref(), invalid()))?;
        Ok(Some(list))
    }

    fn models_url(&self) -> Url {
        self.endpoint.below(match self.provider {
            Provider::Anthropic => &["v1", "models"],
            Provider::OpenAi | Provider::OpenAiChat | Provider::OpenAiCodex => &["models"],
            Provider::Gemini => &["v1beta", "models"],
        })
    }

    /// Reads a URL. A server that does not have it is not an error.
    async fn look_at(&self, url: Url, wait: Duration) -> Result<(u16, Vec<u8>), ModelFailure> {
        match self.transport.look(MetadataRequest::Get, url, wait).await {
            Ok((status @ (200 | 404 | 405 | 501), body)) => Ok((status, body)),
            Ok((status, body)) => Err(self.failure(
                &self.model_ref(),
                ExchangeError::Status {
                    status,
                    retry_after_ms: None,
                    body,
                },
            )),
            Err(trouble) => Err(self.failure(&self.model_ref(), trouble)),
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

/// Finds the names in the list of OpenAI's, Anthropic's and Gemini's formats.
fn model_list(value: &Value) -> Option<ModelList> {
    let listed = value.get("data").or_else(|| value.get("models"))?.as_array()?;
    let name = |one: &Value| {
        let name = one.get("id").or_else(|| one.get("name"))?.as_str()?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    let has_more = value.get("has_more").and_then(Value::as_bool) == Some(true);
    Some(ModelList {
        names: listed.iter().filter_map(name).take(LISTED_MODELS_MAX).collect(),
        is_partial: has_more || value.get("nextPageToken").is_some() || listed.len() > LISTED_MODELS_MAX,
    })
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
    fn model_lists_of_every_format_are_read() {
        let list = |value: Value| model_list(&value).map(|list| (list.names.join(" "), list.is_partial));
        let openai = json!({"object": "list", "data": [{"id": "a"}, {"id": "b/c"}, {"x": 1}]});
        assert_eq!(list(openai), Some(("a b/c".to_owned(), false)));
        assert_eq!(
            list(json!({"data": [{"id": "a"}], "has_more": true})),
            Some(("a".to_owned(), true))
        );
        let gemini = json!({"models": [{"name": "models/g-1"}], "nextPageToken": "x"});
        assert_eq!(list(gemini), Some(("g-1".to_owned(), true)));
        for other in [
            json!(null),
            json!([]),
            json!({"data": "no"}),
            json!({"error": {}}),
        ] {
            assert_eq!(list(other), None);
        }
    }

    #[test]
    fn a_model_is_known_without_its_date_and_with_a_variant() {
        let list = ModelList {
            names: ["claude-x-4-20260101", "llama3:latest", "a/b"]
                .map(str::to_owned)
                .into(),
            is_partial: false,
        };
        for known in ["claude-x-4", "claude-x-4-20260101", "llama3", "a/b", "a/b:free"] {
            assert!(list.may_contain(known), "{known}");
        }
        for unknown in ["claude-x-", "claude-x-5", "llama", "a/bc", "a"] {
            assert!(!list.may_contain(unknown), "{unknown}");
        }
    }

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
