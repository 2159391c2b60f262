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
    check_channel(&call, &asked.name)?;
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
fn check_channel(call: &Call, name: &str) -> Result<(), ApiError> {
    // The parts of a name may be quoted, as in the file.
    let name = name.replace('"', "");
    let is_target = name.starts_with("providers.") && (name.ends_with(".base_url") || name.ends_with(".key"));
    if (is_target || name == "notify.command") && call.channel()? != Channel::Cli {
        let message = format!("{name} is changed only on the command line");
        let hint = format!("`wakeful config set {name} …`");
        return Err(ApiError::of(
            StatusCode::FORBIDDEN,
            Problem::new("setting_needs_command_line", message, hint),
        ));
    }
    Ok(())
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
