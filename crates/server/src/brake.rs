//! Brakes over HTTP.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use wakeful_api::{BrakeList, ErrorBody, ReleaseBrake, SetBrake};
use wakeful_core::id::AgentId;
use wakeful_runtime::desk::deciding::REASON_CHARS_MAX;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{By, NoTool, Told};
use crate::view;
use crate::whole::whole;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/brake", get(show).post(set))
        .route("/api/brake/release", post(release))
}

/// The brakes that are on.
#[utoipa::path(
    get, path = "/api/brake", tag = "brake", operation_id = "brakes",
    responses((status = 200, description = "The brakes", body = BrakeList)),
)]
pub(crate) async fn show(State(app): State<App>) -> Result<Json<BrakeList>, ApiError> {
    let desk = app.desk()?;
    let brakes = desk.brakes().await.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::brakes(&brakes, &desk.pending_stops())))
}

/// Sets a brake on one agent or on all. What comes is kept, nothing begins, and what runs is stopped. One that is on
/// stays as it was set. It is in force when this answers, also where the database does not take it: then `not_durable` says
/// why, and it is stored as soon as that is possible.
#[utoipa::path(
    post, path = "/api/brake", tag = "brake", operation_id = "set_brake", request_body = SetBrake,
    responses(
        (status = 200, description = "It holds", body = BrakeList),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 422, description = "The reason is too long", body = ErrorBody),
    ),
)]
pub(crate) async fn set(
    State(app): State<App>,
    By(channel): By,
    Told(told): Told<SetBrake>,
) -> Result<Json<BrakeList>, ApiError> {
    let agent = told.agent_id.as_deref().map(AgentId::parse).transpose()?;
    let reason = told.reason.unwrap_or_default();
    if reason.chars().count() > REASON_CHARS_MAX {
        let message = format!("reason: it has more than {REASON_CHARS_MAX} characters");
        return Err(ApiError::unmet(
            "reason_too_long",
            message,
            "say it in fewer words",
        ));
    }
    let desk = app.desk()?;
    let by = Arc::clone(&desk);
    let set = whole(async move { by.brake(agent, reason, channel).await }).await;
    let set = set.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::brakes(&set, &desk.pending_stops())))
}

/// Releases a brake. What it held goes on where it stood. Nothing happens where there was none. It counts only when the
/// database has it.
#[utoipa::path(
    post, path = "/api/brake/release", tag = "brake", operation_id = "release_brake", request_body = ReleaseBrake,
    responses(
        (status = 200, description = "What still holds", body = BrakeList),
        (status = 403, description = "An agent's own tool asks (`descends_from_tool`)", body = ErrorBody),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn release(
    State(app): State<App>,
    By(channel): By,
    _person: NoTool,
    Told(told): Told<ReleaseBrake>,
) -> Result<Json<BrakeList>, ApiError> {
    let agent = told.agent_id.as_deref().map(AgentId::parse).transpose()?;
    let desk = app.desk()?;
    let by = Arc::clone(&desk);
    let left = whole(async move { by.release(agent, channel).await }).await;
    let left = left.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::brakes(&left, &desk.pending_stops())))
}
