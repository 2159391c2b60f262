//! The daemon itself over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use wakeful_api::{Control, DaemonState, Health, LastFailure, Phase, Readiness, Ready, RuntimeStatus};
use wakeful_core::time::Millis;
use wakeful_runtime::desk::AgentView;
use wakeful_runtime::rows::RunFilter;

use crate::agent::Stalled;
use crate::app::{App, Open};
use crate::error::ApiError;
use crate::view;

/// How many of the newest runs are searched for the last failure. An older one is history.
const FAILURE_RUNS_MAX: u32 = 50;

/// The status of a run that could not go on.
const RUN_FAILED: &str = "failed";

/// Most agents of which it is said why they cannot go on.
const STUCK_MAX: usize = 50;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/healthz", get(health))
        .route("/readyz", get(ready))
        .route("/api/runtime/status", get(status))
        .route("/api/runtime/shutdown", post(shutdown))
}

/// Whether the process lives.
#[utoipa::path(
    get, path = "/healthz", tag = "daemon", operation_id = "health", security(()),
    responses((status = 200, description = "It does", body = Health)),
)]
pub(crate) async fn health() -> Json<Health> {
    Json(Health {
        status: "ok".to_owned(),
    })
}

/// Whether it can be used.
#[utoipa::path(
    get, path = "/readyz", tag = "daemon", operation_id = "ready", security(()),
    responses(
        (status = 200, description = "It can", body = Ready),
        (status = 503, description = "Not yet, not now, or no longer", body = Ready),
    ),
)]
pub(crate) async fn ready(State(app): State<App>) -> Response {
    // A database that hangs refuses nothing, so it is asked for something.
    let silent = app.probe_storage().await;
    if silent.is_none() {
        app.try_storage().await;
    }
    let mut status = app.readiness();
    if status == Readiness::Ready && silent.is_some() {
        status = Readiness::Failing;
    }
    // Anybody may ask, so the word is all that is told.
    let code = silent.or_else(|| app.storage().map(|problem| problem.code));
    let http = match status {
        Readiness::Ready => StatusCode::OK,
        Readiness::Recovering | Readiness::Failing | Readiness::Stopping => StatusCode::SERVICE_UNAVAILABLE,
    };
    (http, Json(Ready { status, code })).into_response()
}

/// The daemon as it stands.
#[utoipa::path(
    get, path = "/api/runtime/status", tag = "daemon", operation_id = "runtime_status",
    responses((status = 200, description = "The daemon", body = RuntimeStatus)),
)]
pub(crate) async fn status(State(app): State<App>) -> Result<Json<RuntimeStatus>, ApiError> {
    let open = app.open()?;
    let agents = open
        .desk
        .agents(false)
        .await
        .map_err(|error| app.engine_error(&error))?;
    let last_failure = last_failure(&app, &open).await?;
    let counts = Counts::of(&agents, &Stalled::of(&open));
    let facts = &app.facts;
    let stuck = open.stuck.all();
    let brakes = open
        .desk
        .brakes()
        .await
        .map_err(|error| app.engine_error(&error))?;
    let owed = open.desk.owed().await.map_err(|error| app.engine_error(&error))?;
    app.try_storage().await;
    Ok(Json(RuntimeStatus {
        version: facts.version.clone(),
        pid: facts.pid,
        home_dir: facts.home_dir.clone(),
        http_addr: app.access.bound.to_string(),
        database: facts.database.clone(),
        started_at: facts.started_at.rfc3339(),
        config_fingerprint: facts.config_fingerprint.clone(),
        readiness: app.readiness(),
        storage: app.storage().map(view::problem),
        state: match (counts.processing, counts.waiting) {
            (0, 0) => DaemonState::Idle,
            (0, _) => DaemonState::Waiting,
            (_, _) => DaemonState::Processing,
        },
        active_agent_count: counts.active,
        active_task_count: 0,
        processing_agent_count: counts.processing,
        waiting_agent_count: counts.waiting,
        listener_count: u64::try_from(open.desk.listeners()).unwrap_or(u64::MAX),
        model: facts.model.clone(),
        last_failure,
        stuck: stuck
            .iter()
            .take(STUCK_MAX)
            .map(|(agent, error)| view::stuck(agent, error))
            .collect(),
        brakes: view::brakes(&brakes, &open.desk.pending_stops()).brakes,
        pending_decision_count: owed.pending_decisions,
        quarantined_run_count: owed.quarantined_runs,
    }))
}

/// Ends the daemon. Runs come to a safe point and go on when it is started again; no agent is stopped.
#[utoipa::path(
    post, path = "/api/runtime/shutdown", tag = "daemon", operation_id = "shutdown",
    responses((status = 202, description = "It will end in a moment", body = Ready)),
)]
pub(crate) async fn shutdown(State(app): State<App>) -> (StatusCode, Json<Ready>) {
    app.host.stop();
    let (status, code) = (Readiness::Stopping, None);
    (StatusCode::ACCEPTED, Json(Ready { status, code }))
}

/// Agents by what they do.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    active: u64,
    processing: u64,
    waiting: u64,
}

impl Counts {
    fn of(agents: &[AgentView], stalled: &Stalled) -> Self {
        agents
            .iter()
            .map(|agent| stalled.status(agent))
            .fold(Self::default(), |mut counts, agent| {
                counts.active += u64::from(agent.control == Control::Running);
                counts.processing += u64::from(agent.open_run.is_some());
                counts.waiting += u64::from(agent.open_run.is_none() && agent.pending > 0);
                counts
            })
    }
}

/// The newest failure: of a run, or what the binary knows of.
async fn last_failure(app: &App, open: &Open) -> Result<Option<LastFailure>, ApiError> {
    let fail = |error| app.engine_error(&error);
    let filter = RunFilter {
        limit: FAILURE_RUNS_MAX,
        ..RunFilter::default()
    };
    let runs = open.desk.runs(filter).await.map_err(fail)?;
    let Some(failed) = runs.iter().find(|run| run.row.status == RUN_FAILED) else {
        return Ok(app.facts.last_failure.clone());
    };
    let report = open.desk.run(failed.row.run_key).await.map_err(fail)?;
    let summary = report.failure().map(|failure| failure.summary.clone());
    let of_run = LastFailure {
        occurred_at: failed.row.ended_at.map(Millis::rfc3339).unwrap_or_default(),
        summary: summary.unwrap_or_else(|| "a run failed".to_owned()),
        phase: Phase::RuntimeTurn,
        detail_hint: format!("GET /api/runs/{}", failed.row.run_key),
    };
    // One spelling of time, so that text compares like time.
    let other = app.facts.last_failure.as_ref();
    let newer = other.filter(|other| other.occurred_at > of_run.occurred_at);
    Ok(Some(newer.cloned().unwrap_or(of_run)))
}
