//! Why something woke an agent, and why nothing did, over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::{ErrorBody, WhyNot, WhyRun};
use wakeful_core::time::Millis;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentPath, Asked, RunPath};
use crate::view;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/runs/{run_key}/why", get(run))
        .route("/api/agents/{agent_id}/why-not", get(agent))
}

/// From when on to look.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Since {
    /// From this moment on, RFC 3339 or a day; a day ago where nothing is said.
    #[param(nullable = false, max_length = 64)]
    since: Option<String>,
}

/// Why there is a run, or why there is none: also for keys of causes that never became one.
#[utoipa::path(
    get, path = "/api/runs/{run_key}/why", tag = "runs", operation_id = "why_run",
    params(view::RunParam),
    responses(
        (status = 200, description = "What led to it", body = WhyRun),
        (status = 404, description = "Nothing is known of such a run", body = ErrorBody),
    ),
)]
pub(crate) async fn run(State(app): State<App>, RunPath(run): RunPath) -> Result<Json<WhyRun>, ApiError> {
    let why = app.desk()?.why(run).await;
    let why = why.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::why(&why)))
}

/// What kept an agent from being woken.
#[utoipa::path(
    get, path = "/api/agents/{agent_id}/why-not", tag = "agents", operation_id = "why_not_agent",
    params(view::AgentParam, Since),
    responses(
        (status = 200, description = "What was refused, what waits and what holds it", body = WhyNot),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn agent(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    Asked(asked): Asked<Since>,
) -> Result<Json<WhyNot>, ApiError> {
    let since = asked.since.as_deref().map(moment).transpose()?;
    let why = app.desk()?.why_not(agent, since).await;
    let why = why.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::why_not(&why)))
}

/// Reads a moment.
pub(crate) fn moment(text: &str) -> Result<Millis, ApiError> {
    Millis::parse(text).ok_or_else(|| {
        let message = format!("{text:?} is no moment");
        let hint = "write it like 2026-02-17T16:00:00Z";
        ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_time", message, hint)
    })
}
