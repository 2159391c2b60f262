//! Conversations over HTTP.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::{ErrorBody, Transcript};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentPath, Asked, limit};
use crate::view;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/agents/{agent_id}/transcript", get(show))
}

/// How much of a conversation to show.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Newest {
    /// Most lines, from the newest back.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// The newest lines of an agent's conversation, oldest first.
#[utoipa::path(
    get, path = "/api/agents/{agent_id}/transcript", tag = "agents", operation_id = "agent_transcript",
    params(view::AgentParam, Newest),
    responses(
        (status = 200, description = "The lines", body = Transcript),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn show(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    Asked(asked): Asked<Newest>,
) -> Result<Json<Transcript>, ApiError> {
    let rows = limit(asked.limit)?;
    let conversation = app.desk()?.transcript(agent.clone(), rows).await;
    let conversation = conversation.map_err(|error| app.engine_error(&error))?;
    Ok(Json(Transcript {
        agent_id: agent.to_string(),
        lines: conversation.lines.iter().map(view::transcript_line).collect(),
        has_more: conversation.has_more,
    }))
}
