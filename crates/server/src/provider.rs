//! HTTP handlers for model providers, their keys and the models that a person can choose.

use std::pin::Pin;

use axum::http::StatusCode;
use serde_json::Value;
use wakeful_api::{
    AddProvider, AddedProvider, FindLocalProviders, ListModels, ListProviders, LocalProvider, ModelChoice,
    ModelProvider, ProviderTest, RemoveProviderKey, SetProviderKey, StoredKey, TestProvider,
};
use wakeful_core::problem::Problem;

use crate::error::ApiError;
use crate::route::{Call, Routes};

/// The result of a host function that reads files or sends requests.
pub type HostFuture<T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send>>;

/// What the binary knows about model providers. Keys are stored by it and never returned.
pub trait ProviderHost: Send + Sync + 'static {
    /// All built-in and configured providers.
    fn list(&self) -> HostFuture<Vec<ModelProvider>>;

    /// The models that a person can choose.
    fn models(&self) -> HostFuture<Vec<ModelChoice>>;

    /// Looks for model servers on this machine.
    fn find_local(&self) -> HostFuture<Vec<LocalProvider>>;

    /// Refuses models that their providers do not list. Returns a warning if a list cannot be read.
    fn check_models(&self, names: Vec<String>) -> HostFuture<Option<String>>;

    /// The same for the models that a setting names.
    fn check_setting(&self, name: String, value: Value) -> HostFuture<Option<String>>;

    /// Tests a provider with its stored key.
    fn test(&self, asked: TestProvider) -> HostFuture<ProviderTest>;

    /// Tests and adds a provider with its own address.
    fn add(&self, asked: AddProvider) -> HostFuture<AddedProvider>;

    /// Tests and stores a key.
    fn set_key(&self, asked: SetProviderKey) -> HostFuture<StoredKey>;

    /// Removes a stored key.
    fn remove_key(&self, provider: String) -> HostFuture<ModelProvider>;
}

pub(crate) fn routes() -> Routes {
    Routes::default()
        .add(list)
        .add(add)
        .add(find_local)
        .add(set_key)
        .add(remove_key)
        .add(test)
        .add(models)
}

async fn list(call: Call, _: ListProviders) -> Result<Vec<ModelProvider>, ApiError> {
    call.host.providers().list().await.map_err(refusal)
}

async fn models(call: Call, _: ListModels) -> Result<Vec<ModelChoice>, ApiError> {
    call.host.providers().models().await.map_err(refusal)
}

async fn add(call: Call, asked: AddProvider) -> Result<AddedProvider, ApiError> {
    call.refuse_tools().await?;
    call.host.providers().add(asked).await.map_err(refusal)
}

async fn find_local(call: Call, _: FindLocalProviders) -> Result<Vec<LocalProvider>, ApiError> {
    call.refuse_tools().await?;
    call.host.providers().find_local().await.map_err(refusal)
}

async fn test(call: Call, asked: TestProvider) -> Result<ProviderTest, ApiError> {
    call.refuse_tools().await?;
    call.host.providers().test(asked).await.map_err(refusal)
}

async fn set_key(call: Call, asked: SetProviderKey) -> Result<StoredKey, ApiError> {
    call.refuse_tools().await?;
    call.host.providers().set_key(asked).await.map_err(refusal)
}

async fn remove_key(call: Call, asked: RemoveProviderKey) -> Result<ModelProvider, ApiError> {
    call.refuse_tools().await?;
    let provider = asked.provider.to_string();
    call.host.providers().remove_key(provider).await.map_err(refusal)
}

fn refusal(problem: Problem) -> ApiError {
    let status = match &*problem.code {
        "provider_unknown" => StatusCode::NOT_FOUND,
        "bad_key" => StatusCode::BAD_REQUEST,
        _ => StatusCode::CONFLICT,
    };
    ApiError::of(status, problem)
}
