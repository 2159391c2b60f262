//! Runs over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::{ErrorBody, PendingCancel, Run, RunList, RunState};
use wakeful_core::id::AgentId;
use wakeful_runtime::desk::Cancelled;
use wakeful_runtime::rows::{self, RunFilter};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentPath, Asked, RunPath, limit, run_key};
use crate::view;
use crate::whole::whole;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/agents/{agent_id}/runs", get(of_agent))
        .route("/api/runs", get(list))
        .route("/api/runs/{run_key}", get(show))
        .route("/api/runs/{run_key}/cancel", post(cancel))
        .route("/api/runs/{run_key}/retry", post(retry))
        .route("/api/runs/{run_key}/abandon", post(abandon))
}

/// Which runs to list, of all agents.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AllRuns {
    /// Only this agent's.
    #[param(nullable = false, max_length = 64, pattern = "^[a-z0-9][a-z0-9_-]*$")]
    agent_id: Option<String>,
    /// Only those that have not ended; the same as `state=open`. Not together with `state`.
    #[param(nullable = false)]
    open: Option<bool>,
    /// Only those that stand like this; `any` where nothing is said.
    #[param(nullable = false, inline)]
    state: Option<RunState>,
    /// Most rows.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
    /// Only those that are older than this one.
    #[param(nullable = false, pattern = "^[0-9a-f]{64}$")]
    before: Option<String>,
    /// Only those whose key begins with these digits: at most two, which is enough to know it is ambiguous. Not
    /// together with anything else.
    #[param(nullable = false, pattern = "^[0-9a-f]{1,64}$")]
    prefix: Option<String>,
}

/// Which runs to list, of one agent.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentRuns {
    /// Only those that have not ended; the same as `state=open`. Not together with `state`.
    #[param(nullable = false)]
    open: Option<bool>,
    /// Only those that stand like this; `any` where nothing is said.
    #[param(nullable = false, inline)]
    state: Option<RunState>,
    /// Most rows.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
    /// Only those that are older than this one.
    #[param(nullable = false, pattern = "^[0-9a-f]{64}$")]
    before: Option<String>,
}

/// Runs of one agent, newest first.
#[utoipa::path(
    get, path = "/api/agents/{agent_id}/runs", tag = "runs", operation_id = "list_agent_runs",
    params(view::AgentParam, AgentRuns),
    responses(
        (status = 200, description = "The runs", body = RunList),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn of_agent(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    Asked(asked): Asked<AgentRuns>,
) -> Result<Json<RunList>, ApiError> {
    let AgentRuns {
        open,
        state,
        limit,
        before,
    } = asked;
    page(&app, Some(agent), standing(open, state)?, limit, before).await
}

/// Runs of all agents, newest first.
#[utoipa::path(
    get, path = "/api/runs", tag = "runs", operation_id = "list_runs",
    params(AllRuns),
    responses(
        (status = 200, description = "The runs", body = RunList),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn list(
    State(app): State<App>,
    Asked(asked): Asked<AllRuns>,
) -> Result<Json<RunList>, ApiError> {
    let AllRuns {
        agent_id,
        open,
        state,
        limit,
        before,
        prefix,
    } = asked;
    let state_said = open.is_some() || state.is_some();
    if let Some(prefix) = prefix {
        let alone = agent_id.is_none() && !state_said && limit.is_none() && before.is_none();
        return with_prefix(&app, prefix, alone).await;
    }
    let agent = agent_id.as_deref().map(AgentId::parse).transpose()?;
    page(&app, agent, standing(open, state)?, limit, before).await
}

/// One run with everything that happened in it. A message whose turn has not come is a run that is `queued`.
#[utoipa::path(
    get, path = "/api/runs/{run_key}", tag = "runs", operation_id = "get_run",
    params(view::RunParam),
    responses(
        (status = 200, description = "The run", body = Run),
        (status = 404, description = "There is no such run", body = ErrorBody),
    ),
)]
pub(crate) async fn show(State(app): State<App>, RunPath(run): RunPath) -> Result<Json<Run>, ApiError> {
    let report = app
        .desk()?
        .run(run)
        .await
        .map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::run(&report)))
}

/// Asks for the end of a run, or takes its message out of the queue. One that has ended stays as it is.
#[utoipa::path(
    post, path = "/api/runs/{run_key}/cancel", tag = "runs", operation_id = "cancel_run",
    params(view::RunParam),
    responses(
        (status = 200, description = "The run as it stands; an open one ends at its next safe point", body = Run),
        (status = 202, description = "It is in force here, and the database does not have it yet", body = PendingCancel),
        (status = 404, description = "There is no such run", body = ErrorBody),
        (status = 409, description = "Somebody else moved it at the same moment; ask again", body = ErrorBody),
    ),
)]
pub(crate) async fn cancel(State(app): State<App>, RunPath(run): RunPath) -> Result<Response, ApiError> {
    let desk = app.desk()?;
    let cancelled = whole(async move { desk.cancel_at_once(run).await }).await;
    Ok(match cancelled.map_err(|error| app.engine_error(&error))? {
        Cancelled::Stored(report) => Json(view::run(&report)).into_response(),
        Cancelled::Pending(pending) => {
            let answer = PendingCancel {
                run_key: run.to_string(),
                not_durable: view::not_durable(&pending),
            };
            (StatusCode::ACCEPTED, Json(answer)).into_response()
        }
    })
}

/// Resumes a quarantined run.
#[utoipa::path(
    post, path = "/api/runs/{run_key}/retry", tag = "runs", operation_id = "retry_run",
    params(view::RunParam),
    responses(
        (status = 200, description = "It is open again", body = Run),
        (status = 404, description = "There is no such run", body = ErrorBody),
        (status = 409, description = "It does not stand aside (`run_not_quarantined`)", body = ErrorBody),
    ),
)]
pub(crate) async fn retry(State(app): State<App>, RunPath(run): RunPath) -> Result<Json<Run>, ApiError> {
    let desk = app.desk()?;
    let report = whole(async move { desk.retry(run).await }).await;
    let report = report.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::run(&report)))
}

/// Abandons a quarantined run. What it finished stays; what it was writing to the journal is taken back.
#[utoipa::path(
    post, path = "/api/runs/{run_key}/abandon", tag = "runs", operation_id = "abandon_run",
    params(view::RunParam),
    responses(
        (status = 200, description = "It has ended", body = Run),
        (status = 404, description = "There is no such run", body = ErrorBody),
        (status = 409, description = "It does not stand aside (`run_not_quarantined`)", body = ErrorBody),
    ),
)]
pub(crate) async fn abandon(State(app): State<App>, RunPath(run): RunPath) -> Result<Json<Run>, ApiError> {
    let desk = app.desk()?;
    let report = whole(async move { desk.abandon(run).await }).await;
    let report = report.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::run(&report)))
}

/// What `open` and `state` say together.
fn standing(open: Option<bool>, state: Option<RunState>) -> Result<rows::RunState, ApiError> {
    match (open, state) {
        (Some(_), Some(_)) => Err(ApiError::unmet(
            "one_of_two",
            "give either `open` or `state`",
            "`state=open` says the same as `open=true`",
        )),
        (Some(true), None) => Ok(rows::RunState::Open),
        (Some(false) | None, None) => Ok(rows::RunState::Any),
        (None, Some(state)) => Ok(view::run_state(state)),
    }
}

async fn with_prefix(app: &App, prefix: String, alone: bool) -> Result<Json<RunList>, ApiError> {
    let fits = (1..=64).contains(&prefix.len())
        && prefix
            .bytes()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if !fits || !alone {
        return Err(ApiError::unmet(
            "bad_prefix",
            "prefix must be 1 to 64 hex digits, and the only parameter",
            "give the first digits of a run's key",
        ));
    }
    let found = app.desk()?.runs_with_prefix(prefix).await;
    let found = found.map_err(|error| app.engine_error(&error))?;
    Ok(Json(RunList {
        runs: found.iter().map(view::run_line).collect(),
        next_before: None,
    }))
}

async fn page(
    app: &App,
    agent_id: Option<AgentId>,
    state: rows::RunState,
    rows: Option<u32>,
    before: Option<String>,
) -> Result<Json<RunList>, ApiError> {
    let rows = limit(rows)?;
    let filter = RunFilter {
        agent_id,
        state,
        before: before.as_deref().map(run_key).transpose()?,
        // One more than is shown says whether there are older ones.
        limit: rows.saturating_add(1),
    };
    let mut found = app
        .desk()?
        .runs(filter)
        .await
        .map_err(|error| app.engine_error(&error))?;
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let has_more = found.len() > rows;
    found.truncate(rows);
    let last = found.last().map(|run| run.row.run_key.to_string());
    Ok(Json(RunList {
        runs: found.iter().map(view::run_line).collect(),
        next_before: last.filter(|_| has_more),
    }))
}
