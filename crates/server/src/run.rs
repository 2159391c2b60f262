//! HTTP handlers for runs.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use wakeful_api::{
    AbandonRun, CancelRun, GetRun, GetRunStep, ListAgentRuns, ListRuns, PendingCancel, ResumeRun, Run,
    RunList, Step,
};
use wakeful_runtime::api::CancelAck;
use wakeful_runtime::rows::RunFilter;

use crate::app::App;
use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default()
        .add(list)
        .add(of_agent)
        .add(show)
        .add(show_step)
        .respond(cancel)
        .add(resume)
        .add(abandon)
}

async fn list(call: Call, asked: ListRuns) -> Result<RunList, ApiError> {
    if let Some(prefix) = asked.prefix {
        let found = call
            .runtime()?
            .runs
            .with_prefix(prefix.as_str().to_owned())
            .await?;
        return Ok(RunList {
            runs: found.iter().map(view::run_line).collect(),
            next_before: None,
        });
    }
    let filter = RunFilter {
        agent_id: asked.agent_id.map(|agent| agent.0),
        state: asked.state,
        before: asked.before.map(|before| before.0),
        limit: asked.limit.0,
    };
    page(&call, filter).await
}

async fn of_agent(call: Call, asked: ListAgentRuns) -> Result<RunList, ApiError> {
    let filter = RunFilter {
        agent_id: Some(asked.agent_id.0),
        state: asked.state,
        before: asked.before.map(|before| before.0),
        limit: asked.limit.0,
    };
    page(&call, filter).await
}

async fn show(call: Call, asked: GetRun) -> Result<Run, ApiError> {
    Ok(view::run(&call.runtime()?.runs.get(asked.run_key.0).await?))
}

async fn show_step(call: Call, asked: GetRunStep) -> Result<Step, ApiError> {
    let (run, operation) = (asked.run_key.0, asked.operation_id.0);
    let Some((step, contents)) = call.runtime()?.runs.step(run, operation).await? else {
        let message = format!("run {run} has no step {operation}");
        let hint = "retrieve the run for the list of its steps";
        return Err(ApiError::new(
            StatusCode::NOT_FOUND,
            "step_unknown",
            message,
            hint,
        ));
    };
    Ok(view::step(&step, Some(&contents)))
}

async fn cancel(call: Call, asked: CancelRun) -> Result<Response, ApiError> {
    Ok(match call.runtime()?.runs.cancel_now(asked.run_key.0).await? {
        CancelAck::Stored(stored) => Json(view::run(&stored)).into_response(),
        CancelAck::Pending(pending) => {
            let answer = PendingCancel {
                run_key: asked.run_key.to_string(),
                not_durable: view::not_durable(&pending),
            };
            (StatusCode::ACCEPTED, Json(answer)).into_response()
        }
    })
}

async fn resume(call: Call, asked: ResumeRun) -> Result<Run, ApiError> {
    Ok(view::run(&call.runtime()?.runs.resume(asked.run_key.0).await?))
}

async fn abandon(call: Call, asked: AbandonRun) -> Result<Run, ApiError> {
    Ok(view::run(&call.runtime()?.runs.abandon(asked.run_key.0).await?))
}

async fn page(app: &App, filter: RunFilter) -> Result<RunList, ApiError> {
    let rows = usize::try_from(filter.limit).unwrap_or(usize::MAX);
    // One more row than requested is read, to determine whether there are older runs.
    let limit = filter.limit.saturating_add(1);
    let mut found = app.runtime()?.runs.list(RunFilter { limit, ..filter }).await?;
    let has_more = found.len() > rows;
    found.truncate(rows);
    let last = found.last().map(|run| run.row.run_key.to_string());
    Ok(RunList {
        runs: found.iter().map(view::run_line).collect(),
        next_before: last.filter(|_| has_more),
    })
}
