//! HTTP handlers for the daemon's own status.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use wakeful_api::{
    AgentControl, DaemonState, FailurePhase, GetHealth, GetReadiness, GetRuntimeStatus, Health, HealthStatus,
    LastFailure, Readiness, ReadinessStatus, RuntimeStatus, ShutDown,
};
use wakeful_core::run::StatusFilter;
use wakeful_core::time::Millis;
use wakeful_runtime::api::{AgentView, RunQuery};

use crate::agent::StuckIndex;
use crate::app::{App, ServedHome};
use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

/// Maximum number of stuck agents that are reported.
const STUCK_MAX: usize = 50;

pub(crate) fn routes() -> Routes {
    Routes::default()
        .add(health)
        .respond(ready)
        .add(status)
        .add(shut_down)
}

async fn health(_: Call, _: GetHealth) -> Result<Health, ApiError> {
    Ok(Health {
        status: HealthStatus::Ok,
    })
}

async fn ready(call: Call, _: GetReadiness) -> Result<Response, ApiError> {
    // A hanging database returns no error, so a probe request with a timeout detects it.
    let silent = call.probe_storage().await;
    if silent.is_none() {
        call.try_storage().await;
    }
    let mut status = call.readiness();
    if status == Readiness::Ready && silent.is_some() {
        status = Readiness::Failing;
    }
    // The endpoint needs no authentication, so only the error code is exposed.
    let code = silent.or_else(|| call.storage().map(|problem| problem.code.into_owned()));
    let http = match status {
        Readiness::Ready => StatusCode::OK,
        Readiness::Recovering | Readiness::Failing | Readiness::Stopping => StatusCode::SERVICE_UNAVAILABLE,
    };
    Ok((http, Json(ReadinessStatus { status, code })).into_response())
}

async fn status(call: Call, _: GetRuntimeStatus) -> Result<RuntimeStatus, ApiError> {
    let (app, open) = (&call.app, call.open()?);
    let agents = open.runtime.agents.list(false).await?;
    let last_failure = last_failure(app, &open).await?;
    let counts = ActivityCounts::of(&agents, &StuckIndex::of(&open));
    let facts = &app.facts;
    let stuck = open.stuck.all();
    let brakes = open.runtime.brakes.list().await?;
    let owed = open.runtime.decisions.human_backlog().await?;
    let (settings_problem, needs_restart) = app.host.settings_status();
    let host = std::sync::Arc::clone(&app.host);
    let confinement = tokio::task::spawn_blocking(move || host.confinement()).await;
    app.try_storage().await;
    Ok(RuntimeStatus {
        version: facts.version.clone(),
        pid: facts.pid,
        home_dir: facts.home_dir.clone(),
        http_addr: app.access.bound.to_string(),
        database: facts.database.clone(),
        started_at: facts.started_at.rfc3339(),
        config_fingerprint: facts.config_fingerprint.clone(),
        readiness: app.readiness(),
        storage: app.storage(),
        state: match (counts.processing, counts.waiting) {
            (0, 0) => DaemonState::Idle,
            (0, _) => DaemonState::Waiting,
            (_, _) => DaemonState::Processing,
        },
        active_agent_count: counts.active,
        active_task_count: 0,
        processing_agent_count: counts.processing,
        waiting_agent_count: counts.waiting,
        stream_count: u64::try_from(open.runtime.events.listeners()).unwrap_or(u64::MAX),
        model: app.host.default_model(),
        last_failure,
        stuck: stuck
            .iter()
            .take(STUCK_MAX)
            .map(|(agent, error)| view::stuck(agent, error))
            .collect(),
        brakes: view::brakes(&brakes, &open.runtime.brakes.pending()).brakes,
        pending_decision_count: owed.pending_decisions,
        quarantined_run_count: owed.quarantined_runs,
        backup: app.host.backup(),
        confinement: confinement.unwrap_or_default(),
        settings_problem,
        needs_restart,
    })
}

async fn shut_down(call: Call, _: ShutDown) -> Result<ReadinessStatus, ApiError> {
    call.host.stop();
    let (status, code) = (Readiness::Stopping, None);
    Ok(ReadinessStatus { status, code })
}

/// Number of agents by activity.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct ActivityCounts {
    active: u64,
    processing: u64,
    waiting: u64,
}

impl ActivityCounts {
    fn of(agents: &[AgentView], stalled: &StuckIndex) -> Self {
        agents
            .iter()
            .map(|agent| stalled.status(agent))
            .fold(Self::default(), |mut counts, agent| {
                counts.active += u64::from(agent.control == AgentControl::Running);
                counts.processing += u64::from(agent.open_run.is_some());
                counts.waiting += u64::from(agent.open_run.is_none() && agent.pending > 0);
                counts
            })
    }
}

/// The newest failure: of a run, or one recorded by the binary.
async fn last_failure(app: &App, open: &ServedHome) -> Result<Option<LastFailure>, ApiError> {
    let query = RunQuery {
        statuses: vec![StatusFilter::Failed],
        limit: 1,
        ..RunQuery::default()
    };
    let runs = open.runtime.runs.list(query).await?.runs;
    let Some(failed) = runs.first() else {
        return Ok(app.facts.last_failure.clone());
    };
    let report = open.runtime.runs.get(failed.row.run_key).await?;
    let summary = report.failure().map(|failure| failure.summary.clone());
    let of_run = LastFailure {
        occurred_at: failed.row.ended_at.map(Millis::rfc3339).unwrap_or_default(),
        summary: summary.unwrap_or_else(|| "a run failed".to_owned()),
        phase: FailurePhase::RuntimeTurn,
        detail_hint: format!("GET /api/runs/{}", failed.row.run_key),
    };
    // Both times use the same format, so they can be compared as text.
    let other = app.facts.last_failure.as_ref();
    let newer = other.filter(|other| other.occurred_at > of_run.occurred_at);
    Ok(Some(newer.cloned().unwrap_or(of_run)))
}
