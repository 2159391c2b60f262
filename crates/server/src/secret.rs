//! HTTP handlers for secrets that commands of agents receive.

use axum::http::StatusCode;
use wakeful_api::{ListSecrets, RemoveSecret, Secret, SetSecret};
use wakeful_core::agent_settings::{Change, SettingsChange};
use wakeful_core::id::AgentId;
use wakeful_core::problem::Problem;
use wakeful_runtime::EngineError;

use crate::error::ApiError;
use crate::provider::HostFuture;
use crate::route::{Call, Routes};

/// What the binary knows about secrets. Their values are stored by it and never returned.
pub trait SecretHost: Send + Sync + 'static {
    /// All secrets, without the agents that may use them.
    fn list(&self) -> HostFuture<Vec<Secret>>;

    /// Stores a secret.
    fn set(&self, asked: SetSecret) -> HostFuture<Secret>;

    /// Removes a secret and returns what it was.
    fn remove(&self, name: String) -> HostFuture<Secret>;
}

pub(crate) fn routes() -> Routes {
    Routes::default().add(list).add(set).add(remove)
}

async fn list(call: Call, _: ListSecrets) -> Result<Vec<Secret>, ApiError> {
    let secrets = call.host.secrets().list().await.map_err(refusal)?;
    with_agents(&call, secrets).await
}

async fn set(call: Call, asked: SetSecret) -> Result<Secret, ApiError> {
    call.refuse_tools().await?;
    let stored = call.host.secrets().set(asked).await.map_err(refusal)?;
    one_with_agents(&call, stored).await
}

async fn remove(call: Call, asked: RemoveSecret) -> Result<Secret, ApiError> {
    call.refuse_tools().await?;
    let removed = call.host.secrets().remove(asked.name.to_string()).await;
    let removed = one_with_agents(&call, removed.map_err(refusal)?).await?;
    for agent in removed.agents.iter().filter_map(|name| AgentId::parse(name).ok()) {
        forget(&call, agent, &removed.name).await?;
    }
    Ok(removed)
}

/// Removes a name from the list of an agent. A later secret of this name is not meant for it.
async fn forget(call: &Call, agent: AgentId, name: &str) -> Result<(), ApiError> {
    let agents = &call.runtime()?.agents;
    let mut sandbox = agents.settings(agent.clone()).await?.settings.sandbox;
    sandbox.allowed_secrets.remove(name);
    let change = SettingsChange {
        sandbox: Change::Set(sandbox),
        ..SettingsChange::default()
    };
    match agents.change_settings(agent, change).await {
        // A destroyed agent performs nothing, so its list does not matter.
        Ok(_) | Err(EngineError::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn one_with_agents(call: &Call, secret: Secret) -> Result<Secret, ApiError> {
    let mut listed = with_agents(call, vec![secret.clone()]).await?;
    Ok(listed.pop().unwrap_or(secret))
}

/// Adds the agents whose settings list each secret.
async fn with_agents(call: &Call, mut secrets: Vec<Secret>) -> Result<Vec<Secret>, ApiError> {
    let agents = &call.runtime()?.agents;
    for listed in agents.list(true).await? {
        let agent_id = listed.overview.agent.agent_id;
        let stored = agents.settings(agent_id.clone()).await?;
        let allowed = &stored.settings.sandbox.allowed_secrets;
        for secret in secrets.iter_mut().filter(|secret| allowed.contains(&secret.name)) {
            secret.agents.push(agent_id.to_string());
        }
    }
    Ok(secrets)
}

fn refusal(problem: Problem) -> ApiError {
    let status = match &*problem.code {
        "secret_unknown" => StatusCode::NOT_FOUND,
        _ => StatusCode::CONFLICT,
    };
    ApiError::of(status, problem)
}
