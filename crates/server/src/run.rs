//! HTTP handlers for runs.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use wakeful_api::{
    AbandonRun, AcceptedMessage, CancelRun, GetRun, GetRunStep, ListAgentRuns, ListRuns, PendingCancel,
    ResumeRun, RetryRun, Run, RunList, Step,
};
use wakeful_core::message::{PROMPT_BYTES_MAX, RunOptions};
use wakeful_core::problem::Problem;
use wakeful_runtime::api::{CancelAck, RetryRequest, RetryStart, RunQuery};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::SEE_DOCUMENT;
use crate::message::NAME_BYTES_MAX;
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
        .add(retry)
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
            counts: None,
        });
    }
    let query = RunQuery {
        agent_id: asked.agent_id.map(|agent| agent.0),
        statuses: asked.status.map(|status| status.0.0).unwrap_or_default(),
        cause: asked.cause,
        since: asked.since.map(|since| since.0),
        until: asked.until.map(|until| until.0),
        search: asked.search.map(searched).transpose()?,
        before: asked.before.map(|before| before.0),
        limit: asked.limit.0,
    };
    page(&call, query).await
}

/// Most characters of a text that is searched for.
const SEARCH_CHARS_MAX: usize = 200;

fn searched(text: String) -> Result<String, ApiError> {
    let is_valid =
        !text.chars().any(char::is_control) && (1..=SEARCH_CHARS_MAX).contains(&text.chars().count());
    if is_valid {
        return Ok(text);
    }
    let message = format!("search: use 1 to {SEARCH_CHARS_MAX} characters without control characters");
    Err(ApiError::bad("bad_query", message, "shorten the text"))
}

async fn of_agent(call: Call, asked: ListAgentRuns) -> Result<RunList, ApiError> {
    let query = RunQuery {
        agent_id: Some(asked.agent_id.0),
        statuses: asked.status.map(|status| status.0.0).unwrap_or_default(),
        before: asked.before.map(|before| before.0),
        limit: asked.limit.0,
        ..RunQuery::default()
    };
    page(&call, query).await
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

async fn retry(call: Call, asked: RetryRun) -> Result<AcceptedMessage, ApiError> {
    let fields = [
        ("text", &asked.text, PROMPT_BYTES_MAX),
        ("message", &asked.message, PROMPT_BYTES_MAX),
        ("model", &asked.model, NAME_BYTES_MAX),
    ];
    for (field, value, bytes_max) in fields {
        if value
            .as_ref()
            .is_some_and(|value| value.is_empty() || value.len() > bytes_max)
        {
            let message = format!("{field}: must have 1 to {bytes_max} bytes");
            return Err(ApiError::bad("bad_field", message, SEE_DOCUMENT));
        }
    }
    let options = RunOptions {
        model_ref: asked.model,
        ..RunOptions::default()
    };
    let options = call
        .host
        .check_options(options)
        .map_err(|problem| ApiError::of(StatusCode::CONFLICT, problem))?;
    let start = match (asked.from_step, asked.text, asked.message) {
        (None, text, None) => RetryStart::Message(text),
        (Some(step), None, message) => RetryStart::Step(step.0, message),
        (None, _, Some(_)) => {
            let hint = "add `from_step`, or send `text` instead";
            return Err(contradiction("message: needs `from_step`", hint));
        }
        (Some(_), Some(_), _) => {
            let hint = "send `message` instead, which is added after the conversation";
            return Err(contradiction("text: not together with `from_step`", hint));
        }
    };
    let model = options.model_ref;
    let request = RetryRequest { start, model };
    let runs = &call.runtime()?.runs;
    let receipt = runs.retry(asked.run_key.0, request).await?;
    let agent = runs.get(receipt.run_key).await?.row.agent_id;
    call.metrics.message_accepted();
    Ok(crate::message::accepted(receipt, agent.to_string()))
}

/// Fields that are valid alone and contradict each other.
fn contradiction(message: &str, hint: &str) -> ApiError {
    ApiError::of(StatusCode::CONFLICT, Problem::new("bad_field", message, hint))
}

async fn page(app: &App, query: RunQuery) -> Result<RunList, ApiError> {
    let page = app.runtime()?.runs.list(query).await?;
    Ok(RunList {
        runs: page.runs.iter().map(view::run_line).collect(),
        next_before: page.next_before.map(|run| run.to_string()),
        counts: page.counts.as_ref().map(view::status_counts),
    })
}
