//! A provider without a network, for the endpoints of providers.

use serde_json::Value;
use wakeful_api::{
    AddProvider, AddedProvider, LocalProvider, ModelChoice, ModelProvider, ProviderTest, SetProviderKey,
    StoredKey, TestProvider,
};
use wakeful_core::problem::Problem;
use wakeful_server::{HostFuture, ProviderHost};

/// The provider `mine`, which accepts every key.
pub(super) struct OneProvider;

impl OneProvider {
    fn check(name: &str) -> Result<ModelProvider, Problem> {
        if name != "mine" {
            return Err(Problem::new("provider_unknown", "unknown provider", "use mine"));
        }
        Ok(ModelProvider {
            name: name.to_owned(),
            is_built_in: false,
            is_local: true,
            kind: "openai-chat".to_owned(),
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            key_handle: None,
            needs_key: false,
            has_key: false,
            problem: None,
            default_model: None,
            models: Vec::new(),
        })
    }

    fn tested() -> ProviderTest {
        ProviderTest {
            is_ok: true,
            message: "mine responds".to_owned(),
            hint: None,
            code: None,
            duration_ms: 1,
            models: Vec::new(),
        }
    }
}

impl ProviderHost for OneProvider {
    fn list(&self) -> HostFuture<Vec<ModelProvider>> {
        Box::pin(async { Ok(vec![Self::check("mine")?]) })
    }

    fn models(&self) -> HostFuture<Vec<ModelChoice>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn find_local(&self) -> HostFuture<Vec<LocalProvider>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn check_models(&self, names: Vec<String>) -> HostFuture<Option<String>> {
        Box::pin(async move {
            match names.iter().find(|name| *name == "mine/unlisted") {
                Some(name) => Err(Problem::new(
                    "model_unknown",
                    format!("mine has no model {name}"),
                    "",
                )),
                None => Ok(names
                    .contains(&"mine/away".to_owned())
                    .then(|| "mine is away".to_owned())),
            }
        })
    }

    fn check_setting(&self, _name: String, value: Value) -> HostFuture<Option<String>> {
        Self::check_models(self, value.as_str().map(str::to_owned).into_iter().collect())
    }

    fn test(&self, asked: TestProvider) -> HostFuture<ProviderTest> {
        Box::pin(async move { Self::check(&asked.provider.to_string()).map(|_| Self::tested()) })
    }

    fn add(&self, _asked: AddProvider) -> HostFuture<AddedProvider> {
        Box::pin(async {
            Ok(AddedProvider {
                provider: Self::check("mine")?,
                test: None,
            })
        })
    }

    fn set_key(&self, asked: SetProviderKey) -> HostFuture<StoredKey> {
        Box::pin(async move {
            Ok(StoredKey {
                provider: Self::check(&asked.provider.to_string())?,
                test: None,
            })
        })
    }

    fn remove_key(&self, provider: String) -> HostFuture<ModelProvider> {
        Box::pin(async move { Self::check(&provider) })
    }
}
