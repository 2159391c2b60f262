//! HTTP endpoints for the settings of the home.

use std::sync::Arc;

use axum::http::StatusCode;
use wakeful_api::{ChangeSetting, ListSettings, SettingsList};
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::problem::Problem;

use crate::error::ApiError;
use crate::route::{Call, Routes};

pub(crate) fn routes() -> Routes {
    Routes::default().add(list).add(change)
}

async fn list(call: Call, _: ListSettings) -> Result<SettingsList, ApiError> {
    let host = Arc::clone(&call.host);
    blocking(move || host.settings()).await
}

async fn change(call: Call, asked: ChangeSetting) -> Result<SettingsList, ApiError> {
    // A process of an agent's tool must not lift its own restrictions.
    call.refuse_tools().await?;
    check_channel(&call, &asked.name).await?;
    check_agent(&call, &asked).await?;
    let model_warning = match asked.skip_model_test {
        true => None,
        false => {
            let (name, value) = (asked.name.clone(), asked.value.clone());
            let checked = call.host.providers().check_setting(name, value).await;
            checked.map_err(|problem| ApiError::of(StatusCode::CONFLICT, problem))?
        }
    };
    let host = Arc::clone(&call.host);
    let settings = blocking(move || {
        host.change_setting(&asked.name, &asked.value)?;
        host.settings()
    });
    Ok(SettingsList {
        model_warning,
        ..settings.await?
    })
}

/// Refuses settings that run a program or send an existing key to another address, unless they come from the command
/// line: a stolen login of a browser must not be enough for that.
async fn check_channel(call: &Call, name: &str) -> Result<(), ApiError> {
    if call.channel()? == Channel::Cli {
        return Ok(());
    }
    // The parts of a name may be quoted, as in the file.
    let name = name.replace('"', "");
    let field = name.rsplit('.').next().unwrap_or_default();
    let is_refused = match field {
        // The address of a provider, and the place of any key.
        "base_url" | "key" | "webhook_key" => true,
        _ if name == "notify.command" => true,
        // Its requests carry the webhook's key.
        _ if name == "notify.webhook" => has_webhook_key(call).await?,
        _ => false,
    };
    if is_refused {
        let message = format!("{name} is changed only on the command line");
        let hint = format!("`wakeful config set {name} …`");
        return Err(ApiError::of(
            StatusCode::FORBIDDEN,
            Problem::new("setting_needs_command_line", message, hint),
        ));
    }
    Ok(())
}

async fn has_webhook_key(call: &Call) -> Result<bool, ApiError> {
    let host = Arc::clone(&call.host);
    let list = blocking(move || host.settings()).await?;
    let mut settings = list.settings.iter();
    Ok(settings.any(|one| one.name == "notify.webhook_key" && one.value.is_some()))
}

/// Refuses a setting that names an unknown agent, because it would have no effect.
async fn check_agent(call: &Call, asked: &ChangeSetting) -> Result<(), ApiError> {
    let section = asked.name.strip_prefix("agents.");
    let default = asked.value.as_str().filter(|_| asked.name == "agent.default");
    let named = section.and_then(|rest| rest.split('.').next()).or(default);
    if let Some(Ok(agent)) = named.map(AgentId::parse)
        && !asked.value.is_null()
    {
        call.runtime()?.agents.get(agent).await?;
    }
    Ok(())
}

/// The settings are files, so they are accessed on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    let failed = |_| {
        Err(Problem::new(
            "settings_failed",
            "the settings could not be accessed",
            "try again",
        ))
    };
    done.unwrap_or_else(failed)
        .map_err(|problem| ApiError::of(StatusCode::CONFLICT, problem))
}
