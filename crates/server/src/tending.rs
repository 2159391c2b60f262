//! How a person looks after an agent, over HTTP.

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use std::sync::Arc;
use wakeful_api::{AgentStatus, ErrorBody, SetMode, SetSleep};
use wakeful_core::id::AgentId;
use wakeful_core::wake::{Control, Lifecycle};
use wakeful_runtime::desk::AgentChange;

use crate::agent::{Stalled, control};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentPath, Told};
use crate::view;
use crate::whole::whole;
use crate::why::moment;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/agents/{agent_id}/activate", post(activate))
        .route("/api/agents/{agent_id}/dormant", post(dormant))
        .route("/api/agents/{agent_id}/destroy", post(destroy))
        .route("/api/agents/{agent_id}/mode", post(mode))
        .route("/api/agents/{agent_id}/sleep", post(sleep))
        .route("/api/agents/{agent_id}/wake", post(wake))
        .route("/api/agents/{agent_id}/stop", post(stop))
}

async fn tend(app: &App, agent: AgentId, change: AgentChange) -> Result<Json<AgentStatus>, ApiError> {
    let open = app.open()?;
    let desk = Arc::clone(&open.desk);
    let set = whole(async move { desk.tend(agent, change).await }).await;
    let set = set.map_err(|error| app.engine_error(&error))?;
    Ok(Json(Stalled::of(&open).status(&set)))
}

/// Lets an agent loose: whatever its mode allows may wake it.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/activate", tag = "agents", operation_id = "activate_agent",
    params(view::AgentParam),
    responses(
        (status = 200, description = "It is active", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "It cannot go there from where it stands", body = ErrorBody),
    ),
)]
pub(crate) async fn activate(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<AgentStatus>, ApiError> {
    tend(&app, agent, AgentChange::Life(Lifecycle::Active)).await
}

/// Puts an agent to rest: only a person wakes it. What waits already has its turn.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/dormant", tag = "agents", operation_id = "put_agent_to_rest",
    params(view::AgentParam),
    responses(
        (status = 200, description = "It rests", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "It cannot go there from where it stands", body = ErrorBody),
    ),
)]
pub(crate) async fn dormant(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<AgentStatus>, ApiError> {
    tend(&app, agent, AgentChange::Life(Lifecycle::Dormant)).await
}

/// Ends an agent for good. What waits is taken back, what it did stays to be read.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/destroy", tag = "agents", operation_id = "destroy_agent",
    params(view::AgentParam),
    responses(
        (status = 200, description = "It is gone for good", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "A run of it is under way", body = ErrorBody),
    ),
)]
pub(crate) async fn destroy(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<AgentStatus>, ApiError> {
    tend(&app, agent, AgentChange::Life(Lifecycle::Destroyed)).await
}

/// Settles who may wake an agent.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/mode", tag = "agents", operation_id = "set_agent_mode",
    params(view::AgentParam), request_body = SetMode,
    responses(
        (status = 200, description = "It is settled", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "It is gone for good", body = ErrorBody),
    ),
)]
pub(crate) async fn mode(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    Told(told): Told<SetMode>,
) -> Result<Json<AgentStatus>, ApiError> {
    tend(&app, agent, AgentChange::Mode(view::told_mode(told.mode))).await
}

/// Lets an agent sleep: until then only a person wakes it, and everything else waits.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/sleep", tag = "agents", operation_id = "let_agent_sleep",
    params(view::AgentParam), request_body = SetSleep,
    responses(
        (status = 200, description = "It sleeps", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "It is gone for good", body = ErrorBody),
        (status = 422, description = "That moment has passed", body = ErrorBody),
    ),
)]
pub(crate) async fn sleep(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    Told(told): Told<SetSleep>,
) -> Result<Json<AgentStatus>, ApiError> {
    tend(&app, agent, AgentChange::Sleep(moment(&told.until)?)).await
}

/// Takes the sleep barrier away: what it held begins. It is recorded as a person's override.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/wake", tag = "agents", operation_id = "wake_agent",
    params(view::AgentParam),
    responses(
        (status = 200, description = "It does not sleep", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "It is stopped, or gone for good", body = ErrorBody),
    ),
)]
pub(crate) async fn wake(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<AgentStatus>, ApiError> {
    tend(&app, agent, AgentChange::Wake).await
}

/// Stops an agent: it takes nothing in until it is let go on.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/stop", tag = "agents", operation_id = "stop_agent",
    params(view::AgentParam),
    responses(
        (status = 200, description = "It is stopped; a run that is under way goes on to its end", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "It is gone for good", body = ErrorBody),
    ),
)]
pub(crate) async fn stop(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<AgentStatus>, ApiError> {
    control(&app, agent, Control::Stopped).await
}
