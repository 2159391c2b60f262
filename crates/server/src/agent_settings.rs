//! HTTP endpoints for the settings of agents.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::StatusCode;
use wakeful_api::{
    AgentSettings, AgentStatus, ChangeAgentSettings, CreateAgent, GetAgentSettings, ListTools, Text, ToolList,
};
use wakeful_core::agent_settings::{
    ALL_CATEGORIES, AgentSettings as Record, Change, SettingsChange, StoredSettings, bad,
};
use wakeful_core::id::AgentId;
use wakeful_core::message::RunOptions;
use wakeful_core::policy::check_tool_names;
use wakeful_core::problem::Problem;
use wakeful_runtime::api::NewAgent;

use crate::agent::StuckIndex;
use crate::error::ApiError;
use crate::route::{Call, Routes};

pub(crate) fn routes() -> Routes {
    Routes::default().add(create).add(show).add(change).add(tools)
}

async fn tools(call: Call, _: ListTools) -> Result<ToolList, ApiError> {
    let tools = call.host.tools().into_iter().collect();
    Ok(ToolList { tools })
}

async fn create(call: Call, asked: CreateAgent) -> Result<AgentStatus, ApiError> {
    // A process of an agent's tool must not create an agent with fewer restrictions.
    call.refuse_tools().await?;
    let settings = checked(&call, asked.settings()).await?;
    let Text(agent_id) = asked.agent_id;
    let workspace = call
        .host
        .workspace(&agent_id, settings.workspace.value().map(String::as_str));
    let before = StoredSettings {
        settings: Record::with_all_categories(),
        model: None,
        workspace: workspace.map_err(conflict)?,
        daily_usd: None,
    };
    let stored = SettingsChange {
        workspace: Change::Keep,
        ..settings.clone()
    }
    .applied_to(&before);
    check_last_tool(&call, &settings, &stored)?;
    let model_warning = match asked.skip_model_test {
        true => None,
        false => check_models(&call, &settings, &before).await?,
    };
    let new = NewAgent {
        agent_id: agent_id.clone(),
        workspace: stored.workspace,
        visibility: asked.visibility,
        mode: asked.mode.unwrap_or_default(),
        settings: stored.settings,
        model_ref: stored.model,
        daily_cap: stored.daily_usd,
    };
    let open = call.open()?;
    let made = open.runtime.agents.create(new).await?;
    // The name is reserved first, so that the file of an existing agent is never replaced.
    write_instructions(&call, &agent_id, &settings.instructions).await?;
    Ok(AgentStatus {
        model_warning,
        ..StuckIndex::of(&open).status(&made)
    })
}

async fn show(call: Call, asked: GetAgentSettings) -> Result<AgentSettings, ApiError> {
    let Text(agent) = asked.agent_id;
    let stored = call.runtime()?.agents.settings(agent.clone()).await?;
    view(&call, agent, stored).await
}

async fn change(call: Call, asked: ChangeAgentSettings) -> Result<AgentSettings, ApiError> {
    // A process of an agent's tool must not lift its own restrictions.
    call.refuse_tools().await?;
    let settings = checked(&call, asked.settings()).await?;
    let skip_model_test = asked.skip_model_test;
    let Text(agent) = asked.agent_id;
    let runtime = call.runtime()?;
    let before = runtime.agents.settings(agent.clone()).await?;
    check_last_tool(&call, &settings, &settings.applied_to(&before))?;
    let model_warning = match skip_model_test {
        true => None,
        false => check_models(&call, &settings, &before).await?,
    };
    let workspace = match &settings.workspace {
        Change::Keep => Change::Keep,
        Change::Reset => Change::Set(call.host.workspace(&agent, None).map_err(conflict)?),
        Change::Set(path) => Change::Set(call.host.workspace(&agent, Some(path)).map_err(conflict)?),
    };
    let settings = SettingsChange {
        workspace,
        ..settings
    };
    let instructions = unless_same(&call, &agent, settings.instructions).await?;
    let settings = SettingsChange {
        instructions: instructions.clone(),
        ..settings
    };
    // The file comes first: after a crash the log may lack the change, but it never claims one that did not
    // happen.
    write_instructions(&call, &agent, &instructions).await?;
    let stored = runtime.agents.change_settings(agent.clone(), settings).await?;
    Ok(AgentSettings {
        model_warning,
        ..view(&call, agent, stored).await?
    })
}

/// Refuses new models that their providers do not have. Returns a warning if that cannot be determined.
async fn check_models(
    call: &Call,
    change: &SettingsChange,
    before: &StoredSettings,
) -> Result<Option<String>, ApiError> {
    let model = change
        .model
        .value()
        .filter(|model| before.model.as_ref() != Some(model));
    let known = before.settings.fallbacks.as_ref();
    let fallbacks = change.fallbacks.value().into_iter().flatten();
    let fallbacks = fallbacks.filter(|model| !known.is_some_and(|known| known.contains(model)));
    for (field, names) in [
        ("model", model.into_iter().cloned().collect()),
        ("fallbacks", fallbacks.cloned().collect::<Vec<_>>()),
    ] {
        let checked = call.host.providers().check_models(names).await;
        let warning = checked.map_err(|problem| {
            let message = format!("{field}: {}", problem.message);
            conflict(Problem { message, ..problem })
        })?;
        if warning.is_some() {
            return Ok(warning);
        }
    }
    Ok(None)
}

/// Refuses a change that leaves the agent without any tool.
fn check_last_tool(call: &Call, change: &SettingsChange, after: &StoredSettings) -> Result<(), ApiError> {
    change
        .check_last_tool(&after.settings, &call.host.tool_contracts())
        .map_err(conflict)
}

/// Validates names against what exists: models, tools and categories. The runtime checks agents.
async fn checked(call: &Call, settings: SettingsChange) -> Result<SettingsChange, ApiError> {
    settings.check().map_err(conflict)?;
    let set = |change: &Change<BTreeSet<String>>| change.value().cloned().unwrap_or_default();
    let options = RunOptions {
        deny_tools: set(&settings.deny_tools),
        ask_tools: set(&settings.ask_tools),
        ..RunOptions::default()
    };
    call.host.check_options(options).map_err(conflict)?;
    if let Some(quotas) = settings.tool_quotas.value() {
        let named = quotas.keys().cloned().collect();
        check_tool_names(&call.host.tools(), &named).map_err(|unknown| {
            let hint = "name the tool exactly as `GET /api/tools` lists it";
            conflict(bad("tool_quotas", &unknown.to_string(), hint))
        })?;
    }
    if let Some(guardrails) = settings.guardrails.value() {
        let named = guardrails.tool_guardrails.iter().flat_map(|spec| &spec.tools);
        check_tool_names(&call.host.tools(), &named.cloned().collect()).map_err(|unknown| {
            let hint = "name the tool exactly as `GET /api/tools` lists it";
            conflict(bad("guardrails.tool_guardrails", &unknown.to_string(), hint))
        })?;
    }
    let model = settings.model.try_map(|name| model(call, "model", name))?;
    let fallbacks = settings.fallbacks.try_map(|names| {
        let names = names.into_iter().map(|name| self::model(call, "fallbacks", name));
        names.collect::<Result<Vec<_>, _>>()
    })?;
    if let Some(ids) = settings.allowed_category_ids.value() {
        check_categories(call, ids).await?;
    }
    Ok(SettingsChange {
        model,
        fallbacks,
        ..settings
    })
}

fn model(call: &Call, field: &str, name: String) -> Result<String, ApiError> {
    let options = RunOptions {
        model_ref: Some(name.clone()),
        ..RunOptions::default()
    };
    let checked = call.host.check_options(options);
    let checked = checked.map_err(|problem| {
        let message = format!("{field}: {}", problem.message);
        conflict(Problem { message, ..problem })
    })?;
    Ok(checked.model_ref.unwrap_or(name))
}

async fn check_categories(call: &Call, ids: &BTreeSet<String>) -> Result<(), ApiError> {
    if ids.iter().all(|id| id == ALL_CATEGORIES) {
        return Ok(());
    }
    let known = call.open()?.journal.categories().await?;
    let known: BTreeSet<String> = known.iter().map(|category| category.id.to_string()).collect();
    match ids.iter().find(|id| !known.contains(*id)) {
        None => Ok(()),
        Some(unknown) => {
            let message = format!("there is no category {unknown:?}");
            let hint = "`wakeful journal category list` lists all categories; `*` allows every category";
            Err(conflict(bad("allowed_category_ids", &message, hint)))
        }
    }
}

/// The change of the instructions, unless the file already has this text.
async fn unless_same(
    call: &Call,
    agent: &AgentId,
    instructions: Change<String>,
) -> Result<Change<String>, ApiError> {
    if instructions.is_keep() {
        return Ok(Change::Keep);
    }
    let current = read_instructions(call, agent).await?;
    let is_same = current.as_ref() == instructions.value();
    Ok(if is_same { Change::Keep } else { instructions })
}

async fn read_instructions(call: &Call, agent: &AgentId) -> Result<Option<String>, ApiError> {
    let (host, agent) = (Arc::clone(&call.host), agent.clone());
    let read = tokio::task::spawn_blocking(move || host.instructions(&agent)).await;
    read.unwrap_or_else(|_| Err(file_task_failed())).map_err(conflict)
}

async fn write_instructions(
    call: &Call,
    agent: &AgentId,
    instructions: &Change<String>,
) -> Result<(), ApiError> {
    let text = match instructions {
        Change::Keep => return Ok(()),
        Change::Reset => None,
        Change::Set(text) => Some(text.clone()),
    };
    let (host, agent) = (Arc::clone(&call.host), agent.clone());
    let write = move || host.set_instructions(&agent, text.as_deref());
    let written = tokio::task::spawn_blocking(write).await;
    written
        .unwrap_or_else(|_| Err(file_task_failed()))
        .map_err(conflict)
}

fn file_task_failed() -> Problem {
    let message = "instructions: the file could not be accessed";
    Problem::new("instructions_failed", message, "try again")
}

async fn view(call: &Call, agent: AgentId, stored: StoredSettings) -> Result<AgentSettings, ApiError> {
    let record = stored.settings;
    let list = |set: BTreeSet<String>| set.into_iter().collect();
    Ok(AgentSettings {
        instructions: read_instructions(call, &agent).await?,
        agent_id: agent.to_string(),
        description: record.description,
        model: stored.model,
        fallbacks: record.fallbacks,
        ask_tools: list(record.ask_tools),
        ask_tools_of_all_agents: list(call.host.rule_defaults().ask_tools),
        deny_tools: list(record.deny_tools),
        may_start: list(record.may_start),
        foreign_targets: record.foreign_targets,
        answer_channels: record.answer_channels,
        max_rounds: record.max_rounds,
        daily_usd: stored.daily_usd.map(|cap| cap.to_string()),
        workspace: stored.workspace,
        permission_mode: record.permission_mode,
        sandbox: record.sandbox,
        tool_quotas: record.tool_quotas,
        guardrails: record.guardrails,
        capabilities: record.capabilities,
        web_search: record.web_search,
        allowed_category_ids: list(record.allowed_category_ids),
        model_warning: None,
    })
}

fn conflict(problem: Problem) -> ApiError {
    ApiError::of(StatusCode::CONFLICT, problem)
}
