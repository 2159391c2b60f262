//! Erasing over HTTP.

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use wakeful_api::{EraseContent, Erasure, ErrorBody};
use wakeful_runtime::proof::{Erase, REASON_CHARS_MAX, What, reason};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentPath, By, Told, run_key};
use crate::view;
use crate::whole::whole;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/agents/{agent_id}/erasures", post(erase))
}

/// Erases contents of a run or of some events that have ended. The log stays whole and tells of it.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/erasures", tag = "events", operation_id = "erase",
    params(view::AgentParam), request_body = EraseContent,
    responses(
        (status = 200, description = "They are gone", body = Erasure),
        (status = 404, description = "There is no such agent or run", body = ErrorBody),
        (status = 409, description = "The run has not ended, or somebody moved the log at the same moment", body = ErrorBody),
    ),
)]
pub(crate) async fn erase(
    State(app): State<App>,
    By(channel): By,
    AgentPath(agent): AgentPath,
    Told(told): Told<EraseContent>,
) -> Result<Json<Erasure>, ApiError> {
    let what = what(&told)?;
    let reason = reason(&told.reason).ok_or_else(|| {
        let message =
            format!("reason must have 1 to {REASON_CHARS_MAX} characters without control characters");
        ApiError::unmet("bad_reason", message, "say in a sentence why it has to go")
    })?;
    let wanted = Erase {
        agent,
        what,
        reason,
        channel,
    };
    let desk = app.desk()?;
    let erased = whole(async move { desk.erase(wanted).await }).await;
    let erased = erased.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::erasure(&erased)))
}

fn what(told: &EraseContent) -> Result<What, ApiError> {
    match (&told.run_key, told.first_seq, told.last_seq) {
        (Some(run), None, None) => Ok(What::Run(run_key(run)?)),
        (None, Some(first), last) if last.is_none_or(|last| last >= first) && first > 0 => Ok(What::Events {
            first,
            last: last.unwrap_or(first),
        }),
        (None, Some(_) | None, _) | (Some(_), _, _) => Err(ApiError::unmet(
            "one_of_two",
            "give either `run_key`, or `first_seq` and a `last_seq` that is not before it",
            "an empty wish erases nothing",
        )),
    }
}
