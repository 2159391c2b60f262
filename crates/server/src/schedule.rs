//! Schedules over HTTP.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::{
    AddSchedule, EditSchedule, ErrorBody, EventCame, EventFirings, Schedule, ScheduleHistory, ScheduleList,
    ScheduledExecution, TriggerSchedule,
};
use wakeful_core::id::{AgentId, EventName, RuleId, TurnId};
use wakeful_core::key::Digest;
use wakeful_core::timer::{Status, TimerError};
use wakeful_runtime::rows::ScheduleFilter;
use wakeful_runtime::{EngineError, ScheduleFault};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Told, limit};
use crate::message::key;
use crate::view;
use crate::whole::whole;

/// Digits of a name that is made up: enough that no two are ever the same.
const NAME_DIGITS: usize = 16;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/schedules", get(list).post(add))
        .route("/api/schedules/{schedule_id}", get(show).post(edit))
        .route("/api/schedules/{schedule_id}/pause", post(pause))
        .route("/api/schedules/{schedule_id}/resume", post(resume))
        .route("/api/schedules/{schedule_id}/disable", post(disable))
        .route("/api/schedules/{schedule_id}/trigger", post(trigger))
        .route("/api/schedules/{schedule_id}/executions", get(history))
        .route("/api/events/{event}", post(happened))
}

/// The schedule in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it only describes; `name` reads")]
pub(crate) struct ScheduleParam {
    /// The schedule's name.
    #[param(min_length = 1, max_length = 64, pattern = "^[a-z0-9][a-z0-9_-]{0,63}$")]
    schedule_id: String,
}

/// Which schedules to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// Only those of this agent.
    #[param(
        nullable = false,
        min_length = 1,
        max_length = 64,
        pattern = "^[a-z0-9][a-z0-9_-]{0,63}$"
    )]
    agent_id: Option<String>,
    /// Only those whose name comes after this one.
    #[param(
        nullable = false,
        min_length = 1,
        max_length = 64,
        pattern = "^[a-z0-9][a-z0-9_-]{0,63}$"
    )]
    after: Option<String>,
    /// Most schedules, by name.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// How much of a history.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HowMany {
    /// Most records, from the newest back.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// Schedules by name.
#[utoipa::path(
    get, path = "/api/schedules", tag = "schedules", operation_id = "list_schedules", params(Which),
    responses((status = 200, description = "The schedules", body = ScheduleList)),
)]
pub(crate) async fn list(
    State(app): State<App>,
    Asked(asked): Asked<Which>,
) -> Result<Json<ScheduleList>, ApiError> {
    let filter = ScheduleFilter {
        agent_id: asked.agent_id.as_deref().map(AgentId::parse).transpose()?,
        after: asked.after.as_deref().map(RuleId::parse).transpose()?,
        limit: limit(asked.limit)?,
    };
    let found = app.open()?.schedules.schedules(filter).await;
    let found = found.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::schedules(&found)))
}

/// Makes a schedule. Without `always` it wakes its agent only when something changed since the agent last ran.
#[utoipa::path(
    post, path = "/api/schedules", tag = "schedules", operation_id = "add_schedule", request_body = AddSchedule,
    responses(
        (status = 201, description = "It is made", body = Schedule),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "The name is taken, or the agent is gone for good", body = ErrorBody),
        (status = 422, description = "A field is not as it must be, and is named", body = ErrorBody),
    ),
)]
pub(crate) async fn add(
    State(app): State<App>,
    Told(told): Told<AddSchedule>,
) -> Result<(StatusCode, Json<Schedule>), ApiError> {
    let agent_id = AgentId::parse(&told.agent_id)?;
    let schedule_id = match told.schedule_id.as_deref() {
        Some(given) => RuleId::parse(given)?,
        None => made_up(&app)?,
    };
    let schedules = app.open()?.schedules;
    let names = (schedule_id, agent_id);
    let draft = view::draft(told, names, schedules.makes_up_for_missed(), app.clock.now());
    let draft = draft.map_err(|error| bad(&app, error))?;
    let added = whole(async move { schedules.add_schedule(draft).await }).await;
    let added = added.map_err(|error| app.engine_error(&error))?;
    Ok((StatusCode::CREATED, Json(view::schedule(&added))))
}

/// One schedule.
#[utoipa::path(
    get, path = "/api/schedules/{schedule_id}", tag = "schedules", operation_id = "get_schedule",
    params(ScheduleParam),
    responses(
        (status = 200, description = "The schedule", body = Schedule),
        (status = 404, description = "There is no such schedule", body = ErrorBody),
    ),
)]
pub(crate) async fn show(
    State(app): State<App>,
    Path(named): Path<String>,
) -> Result<Json<Schedule>, ApiError> {
    let found = app.open()?.schedules.schedule(name(&named)?).await;
    answer(&app, found)
}

/// Changes what a schedule is meant to do. Another pattern or zone is another revision, and begins now.
#[utoipa::path(
    post, path = "/api/schedules/{schedule_id}", tag = "schedules", operation_id = "edit_schedule",
    params(ScheduleParam), request_body = EditSchedule,
    responses(
        (status = 200, description = "It is changed", body = Schedule),
        (status = 404, description = "There is no such schedule", body = ErrorBody),
        (status = 409, description = "It is over", body = ErrorBody),
        (status = 422, description = "A field is not as it must be, and is named", body = ErrorBody),
    ),
)]
pub(crate) async fn edit(
    State(app): State<App>,
    Path(named): Path<String>,
    Told(told): Told<EditSchedule>,
) -> Result<Json<Schedule>, ApiError> {
    let named = name(&named)?;
    let edit = view::edit(told, app.clock.now()).map_err(|error| bad(&app, error))?;
    let schedules = app.open()?.schedules;
    let edited = whole(async move { schedules.edit_schedule(named, edit).await }).await;
    answer(&app, edited)
}

/// Lets a schedule rest: nothing fires, and what would have been due meanwhile is not made up for.
#[utoipa::path(
    post, path = "/api/schedules/{schedule_id}/pause", tag = "schedules", operation_id = "pause_schedule",
    params(ScheduleParam),
    responses(
        (status = 200, description = "It rests", body = Schedule),
        (status = 404, description = "There is no such schedule", body = ErrorBody),
        (status = 409, description = "It is over", body = ErrorBody),
    ),
)]
pub(crate) async fn pause(
    State(app): State<App>,
    Path(named): Path<String>,
) -> Result<Json<Schedule>, ApiError> {
    stand(&app, &named, Status::Paused).await
}

/// Lets a schedule go on with what is to come.
#[utoipa::path(
    post, path = "/api/schedules/{schedule_id}/resume", tag = "schedules", operation_id = "resume_schedule",
    params(ScheduleParam),
    responses(
        (status = 200, description = "It fires again", body = Schedule),
        (status = 404, description = "There is no such schedule", body = ErrorBody),
        (status = 409, description = "It is over", body = ErrorBody),
    ),
)]
pub(crate) async fn resume(
    State(app): State<App>,
    Path(named): Path<String>,
) -> Result<Json<Schedule>, ApiError> {
    stand(&app, &named, Status::Active).await
}

/// Ends a schedule for good. Its history stays.
#[utoipa::path(
    post, path = "/api/schedules/{schedule_id}/disable", tag = "schedules", operation_id = "disable_schedule",
    params(ScheduleParam),
    responses(
        (status = 200, description = "It is over", body = Schedule),
        (status = 404, description = "There is no such schedule", body = ErrorBody),
    ),
)]
pub(crate) async fn disable(
    State(app): State<App>,
    Path(named): Path<String>,
) -> Result<Json<Schedule>, ApiError> {
    stand(&app, &named, Status::Disabled).await
}

/// Lets a schedule fire now, also when nothing changed. What is to come stays as it is.
#[utoipa::path(
    post, path = "/api/schedules/{schedule_id}/trigger", tag = "schedules", operation_id = "trigger_schedule",
    params(ScheduleParam), request_body = TriggerSchedule,
    responses(
        (status = 200, description = "What became of it", body = ScheduledExecution),
        (status = 404, description = "There is no such schedule", body = ErrorBody),
        (status = 409, description = "It is over", body = ErrorBody),
    ),
)]
pub(crate) async fn trigger(
    State(app): State<App>,
    Path(named): Path<String>,
    Told(told): Told<TriggerSchedule>,
) -> Result<Json<ScheduledExecution>, ApiError> {
    let request = match told.key.as_deref() {
        Some(given) => TurnId::parse(given)?.to_string(),
        None => Digest::from_bytes(app.entropy.bytes32()).to_string(),
    };
    let (schedules, named) = (app.open()?.schedules, name(&named)?);
    let fired = whole(async move { schedules.trigger_now(named, request).await }).await;
    let fired = fired.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::execution_row(&fired)))
}

/// Something happened: every active schedule that waits for this event fires, each in its own right. One that came before
/// under the same key fires nothing again.
#[utoipa::path(
    post, path = "/api/events/{event}", tag = "schedules", operation_id = "event_came",
    params(
        ("event" = String, Path, description = "What happened", min_length = 1, max_length = 64,
            pattern = "^[a-z0-9][a-z0-9._-]{0,63}$"),
        ("Idempotency-Key" = Option<String>, Header, description = "Names this delivery, like `key` in the body",
            nullable = false, min_length = 1, max_length = 200, pattern = "^[!-~]([ -~]*[!-~])?$"),
    ),
    request_body = EventCame,
    responses(
        (status = 200, description = "What became of each schedule that waits for it", body = EventFirings),
        (status = 422, description = "The name is none, or there are two keys", body = ErrorBody),
    ),
)]
pub(crate) async fn happened(
    State(app): State<App>,
    Path(named): Path<String>,
    headers: HeaderMap,
    Told(told): Told<EventCame>,
) -> Result<Json<EventFirings>, ApiError> {
    let event = EventName::parse(&named)?;
    let key = match key(&headers, told.key.as_deref())? {
        Some(key) => TurnId::parse(key)?.to_string(),
        None => Digest::from_bytes(app.entropy.bytes32()).to_string(),
    };
    let (schedules, what, name) = (app.open()?.schedules, event.clone(), key.clone());
    let fired = whole(async move { schedules.happened(what, name).await }).await;
    let fired = fired.map_err(|error| app.engine_error(&error))?;
    Ok(Json(EventFirings {
        event: event.to_string(),
        key,
        executions: fired.iter().map(view::execution_row).collect(),
    }))
}

/// A schedule and what became of its firings, newest first.
#[utoipa::path(
    get, path = "/api/schedules/{schedule_id}/executions", tag = "schedules", operation_id = "schedule_history",
    params(ScheduleParam, HowMany),
    responses(
        (status = 200, description = "The history", body = ScheduleHistory),
        (status = 404, description = "There is no such schedule", body = ErrorBody),
    ),
)]
pub(crate) async fn history(
    State(app): State<App>,
    Path(named): Path<String>,
    Asked(asked): Asked<HowMany>,
) -> Result<Json<ScheduleHistory>, ApiError> {
    let found = app
        .open()?
        .schedules
        .executions(name(&named)?, limit(asked.limit)?)
        .await;
    let (timer, executions) = found.map_err(|error| app.engine_error(&error))?;
    Ok(Json(ScheduleHistory {
        schedule: view::schedule(&timer),
        executions: executions.iter().map(view::execution).collect(),
    }))
}

async fn stand(app: &App, named: &str, status: Status) -> Result<Json<Schedule>, ApiError> {
    let (schedules, named) = (app.open()?.schedules, name(named)?);
    let moved = whole(async move { schedules.set_schedule_status(named, status).await }).await;
    answer(app, moved)
}

fn answer(
    app: &App,
    found: Result<wakeful_core::timer::Timer, EngineError>,
) -> Result<Json<Schedule>, ApiError> {
    let timer = found.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::schedule(&timer)))
}

fn name(named: &str) -> Result<RuleId, ApiError> {
    Ok(RuleId::parse(named)?)
}

fn bad(app: &App, error: TimerError) -> ApiError {
    app.engine_error(&ScheduleFault::from(error).into())
}

fn made_up(app: &App) -> Result<RuleId, ApiError> {
    let digits = Digest::from_bytes(app.entropy.bytes32()).to_string();
    Ok(RuleId::parse(digits.get(..NAME_DIGITS).unwrap_or(&digits))?)
}
