//! Agents over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use wakeful_api::{AgentList, AgentState, AgentStatus, CreateAgent, ErrorBody, Visibility as Listed};
use wakeful_core::id::AgentId;
use wakeful_core::wake::Control;
use wakeful_runtime::desk::{AgentView, NewAgent};
use wakeful_runtime::rows::{RunFilter, Visibility};

use crate::app::{App, Open};
use crate::error::ApiError;
use crate::extract::{AgentPath, Asked, Told};
use crate::view;
use crate::whole::whole;

/// Most messages and runs in a state: what a page shows before it asks for more.
const STATE_ROWS_MAX: u32 = 50;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/agents", get(list).post(create))
        .route("/api/agents/{agent_id}/status", get(status))
        .route("/api/agents/{agent_id}/state", get(state))
        .route("/api/agents/{agent_id}/pause", post(pause))
        .route("/api/agents/{agent_id}/resume", post(resume))
        .route("/api/status", get(default_status))
        .route("/api/state", get(default_state))
}

/// Which agents to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// Also those that were made for one call.
    #[param(nullable = false, default = false)]
    with_private: Option<bool>,
}

/// All listed agents.
#[utoipa::path(
    get, path = "/api/agents", tag = "agents", operation_id = "list_agents", params(Which),
    responses((status = 200, description = "The agents, by name", body = AgentList)),
)]
pub(crate) async fn list(
    State(app): State<App>,
    Asked(asked): Asked<Which>,
) -> Result<Json<AgentList>, ApiError> {
    let open = app.open()?;
    let agents = open.desk.agents(asked.with_private.unwrap_or(false)).await;
    let agents = agents.map_err(|error| app.engine_error(&error))?;
    let stuck = Stalled::of(&open);
    let agents = agents.iter().map(|agent| stuck.status(agent)).collect();
    Ok(Json(AgentList { agents }))
}

/// Makes an agent.
#[utoipa::path(
    post, path = "/api/agents", tag = "agents", operation_id = "create_agent",
    request_body = CreateAgent,
    responses(
        (status = 201, description = "It is there now", body = AgentStatus),
        (status = 409, description = "There is one of that name already", body = ErrorBody),
        (status = 422, description = "The workspace cannot be used", body = ErrorBody),
    ),
)]
pub(crate) async fn create(
    State(app): State<App>,
    Told(told): Told<CreateAgent>,
) -> Result<(StatusCode, Json<AgentStatus>), ApiError> {
    let agent_id = AgentId::parse(&told.agent_id)?;
    let workspace = app.host.workspace(&agent_id, told.workspace.as_deref());
    let new = NewAgent {
        agent_id,
        workspace: workspace.map_err(ApiError::unusable)?,
        visibility: match told.visibility {
            Listed::Public => Visibility::Public,
            Listed::Private => Visibility::Private,
        },
        mode: told.mode.map(view::told_mode).unwrap_or_default(),
    };
    let open = app.open()?;
    let made = open
        .desk
        .create_agent(new)
        .await
        .map_err(|error| app.engine_error(&error))?;
    Ok((StatusCode::CREATED, Json(Stalled::of(&open).status(&made))))
}

/// One agent as it stands: small, the same size however long its history is.
#[utoipa::path(
    get, path = "/api/agents/{agent_id}/status", tag = "agents", operation_id = "agent_status",
    params(view::AgentParam),
    responses(
        (status = 200, description = "The agent", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn status(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<AgentStatus>, ApiError> {
    status_of(&app, agent).await
}

/// What a page needs to draw an agent, before it follows the events.
#[utoipa::path(
    get, path = "/api/agents/{agent_id}/state", tag = "agents", operation_id = "agent_state",
    params(view::AgentParam),
    responses(
        (status = 200, description = "The agent, its queue and its newest runs", body = AgentState),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn state(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<AgentState>, ApiError> {
    state_of(&app, agent).await
}

/// Lets an agent keep what comes and begin nothing.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/pause", tag = "agents", operation_id = "pause_agent",
    params(view::AgentParam),
    responses(
        (status = 200, description = "It is paused; a run that is under way goes on to its end", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "It is gone for good", body = ErrorBody),
    ),
)]
pub(crate) async fn pause(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<AgentStatus>, ApiError> {
    control(&app, agent, Control::Paused).await
}

/// Lets a paused or stopped agent go on with what waits.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/resume", tag = "agents", operation_id = "resume_agent",
    params(view::AgentParam),
    responses(
        (status = 200, description = "It works", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "It is gone for good", body = ErrorBody),
    ),
)]
pub(crate) async fn resume(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<AgentStatus>, ApiError> {
    control(&app, agent, Control::Running).await
}

/// The status of the default agent.
#[utoipa::path(
    get, path = "/api/status", tag = "agents", operation_id = "default_agent_status",
    responses(
        (status = 200, description = "The agent", body = AgentStatus),
        (status = 404, description = "It has not been made yet", body = ErrorBody),
    ),
)]
pub(crate) async fn default_status(State(app): State<App>) -> Result<Json<AgentStatus>, ApiError> {
    status_of(&app, app.facts.default_agent.clone()).await
}

/// The state of the default agent.
#[utoipa::path(
    get, path = "/api/state", tag = "agents", operation_id = "default_agent_state",
    responses(
        (status = 200, description = "The agent, its queue and its newest runs", body = AgentState),
        (status = 404, description = "It has not been made yet", body = ErrorBody),
    ),
)]
pub(crate) async fn default_state(State(app): State<App>) -> Result<Json<AgentState>, ApiError> {
    state_of(&app, app.facts.default_agent.clone()).await
}

async fn status_of(app: &App, agent: AgentId) -> Result<Json<AgentStatus>, ApiError> {
    let open = app.open()?;
    let found = open
        .desk
        .agent(agent)
        .await
        .map_err(|error| app.engine_error(&error))?;
    Ok(Json(guided(app, &found, Stalled::of(&open).status(&found))))
}

pub(crate) async fn control(
    app: &App,
    agent: AgentId,
    control: Control,
) -> Result<Json<AgentStatus>, ApiError> {
    let open = app.open()?;
    let desk = Arc::clone(&open.desk);
    let set = whole(async move { desk.set_control(agent, control).await }).await;
    let set = set.map_err(|error| app.engine_error(&error))?;
    Ok(Json(Stalled::of(&open).status(&set)))
}

async fn state_of(app: &App, agent_id: AgentId) -> Result<Json<AgentState>, ApiError> {
    let open = app.open()?;
    let fail = |error| app.engine_error(&error);
    // The agent is read first: what happens meanwhile is then shown twice and never missed.
    let agent = open.desk.agent(agent_id.clone()).await.map_err(fail)?;
    let queue = open
        .desk
        .queue(agent_id.clone(), STATE_ROWS_MAX)
        .await
        .map_err(fail)?;
    let filter = RunFilter {
        agent_id: Some(agent_id),
        limit: STATE_ROWS_MAX,
        ..RunFilter::default()
    };
    let runs = open.desk.runs(filter).await.map_err(fail)?;
    Ok(Json(AgentState {
        after_seq: agent.overview.last_seq,
        agent: guided(app, &agent, Stalled::of(&open).status(&agent)),
        queue: queue.iter().map(view::queued).collect(),
        runs: runs.iter().map(view::run_line).collect(),
    }))
}

/// The status of an agent with the models that it asks and the files that guide it.
pub(crate) fn guided(app: &App, found: &AgentView, status: AgentStatus) -> AgentStatus {
    let agent = &found.overview.agent;
    let guidance = app.host.guidance(&agent.agent_id, &agent.workspace);
    AgentStatus {
        model_state: app.host.model_state(&agent.agent_id, agent.model_ref.as_deref()),
        loaded_agents_md: view::loaded_agents_md(&guidance),
        ..status
    }
}

/// Who cannot go on right now.
pub(crate) struct Stalled(Vec<AgentId>);

impl Stalled {
    pub(crate) fn of(open: &Open) -> Self {
        Self(open.stuck.all().into_iter().map(|(agent, _)| agent).collect())
    }

    pub(crate) fn status(&self, agent: &AgentView) -> AgentStatus {
        // Sorted by name, as they come.
        let is_stuck = self.0.binary_search(&agent.overview.agent.agent_id).is_ok();
        view::agent_status(
            agent,
            if is_stuck {
                view::Going::Stuck
            } else {
                view::Going::Well
            },
        )
    }
}
