//! Questions for people over HTTP.

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::{AnswerDecision, Decision, DecisionList, ErrorBody};
use wakeful_core::decision::{self, Reply};
use wakeful_runtime::desk::Arguments;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, By, DecisionPath, NoTool, Told};
use crate::view;
use crate::whole::whole;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/decisions", get(list))
        .route("/api/decisions/{decision_id}", get(show))
        .route("/api/decisions/{decision_id}/answer", post(answer))
}

/// The question in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it only describes; `extract::DecisionPath` reads")]
pub(crate) struct DecisionParam {
    /// The question's name, or the first digits of it.
    #[param(min_length = 1, max_length = 64, pattern = "^[0-9a-f]{1,64}$")]
    decision_id: String,
}

/// Which questions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// Only those that wait for an answer; `false` for those that are closed, too, newest first.
    #[param(nullable = false, default = true)]
    pending: Option<bool>,
}

/// Questions: those that wait in the order in which people should see them, or all of them, newest first.
#[utoipa::path(
    get, path = "/api/decisions", tag = "decisions", operation_id = "list_decisions", params(Which),
    responses((status = 200, description = "The questions", body = DecisionList)),
)]
pub(crate) async fn list(
    State(app): State<App>,
    Asked(asked): Asked<Which>,
) -> Result<Json<DecisionList>, ApiError> {
    let desk = app.desk()?;
    let fail = |error| app.engine_error(&error);
    let found = desk
        .decisions(asked.pending.unwrap_or(true))
        .await
        .map_err(fail)?;
    let owed = desk.owed().await.map_err(fail)?;
    Ok(Json(view::decisions(&found, owed)))
}

/// One question, with all of its arguments and who was told of it.
#[utoipa::path(
    get, path = "/api/decisions/{decision_id}", tag = "decisions", operation_id = "get_decision",
    params(DecisionParam),
    responses(
        (status = 200, description = "The question", body = Decision),
        (status = 404, description = "There is no such question", body = ErrorBody),
        (status = 422, description = "Several begin like this", body = ErrorBody),
    ),
)]
pub(crate) async fn show(
    State(app): State<App>,
    DecisionPath(named): DecisionPath,
) -> Result<Json<Decision>, ApiError> {
    let found = app.desk()?.decision(named).await;
    told(&app, &found.map_err(|error| app.engine_error(&error))?).await
}

/// Answers a question, once. With a version, only the question as it was read.
#[utoipa::path(
    post, path = "/api/decisions/{decision_id}/answer", tag = "decisions", operation_id = "answer_decision",
    params(DecisionParam), request_body = AnswerDecision,
    responses(
        (status = 200, description = "The answer stands, and the run goes on by it", body = Decision),
        (status = 403, description = "It takes no answer by this way (`answer_not_allowed`), or an agent's own tool asks \
            (`descends_from_tool`)", body = ErrorBody),
        (status = 404, description = "There is no such question", body = ErrorBody),
        (status = 409, description = "It is closed (`decision_closed`) or has changed since it was read \
            (`decision_changed`)", body = ErrorBody),
        (status = 422, description = "There is no such option, or several questions begin like this",
            body = ErrorBody),
    ),
)]
pub(crate) async fn answer(
    State(app): State<App>,
    DecisionPath(named): DecisionPath,
    By(channel): By,
    _person: NoTool,
    Told(told_by): Told<AnswerDecision>,
) -> Result<Json<Decision>, ApiError> {
    let AnswerDecision {
        option,
        note,
        version,
    } = told_by;
    let reply = Reply {
        option,
        version,
        channel,
        note,
    };
    let (desk, answering) = (app.desk()?, app.desk()?);
    let answered = whole(async move { answering.answer(named, reply).await }).await;
    let answered = answered.map_err(|error| app.engine_error(&error))?;
    // It stands: that something beside it cannot be read is no failure of it. It is told to whoever keeps the log.
    let unread = |error| drop(app.engine_error(&error));
    let told = desk.announcements(answered.inquiry.decision_id).await;
    let told = told.map_err(unread).unwrap_or_default();
    let arguments = desk.arguments(answered.clone()).await.map_err(unread);
    let arguments = arguments.unwrap_or_else(|()| Arguments::of_record(&answered));
    Ok(Json(view::decision(&answered, &arguments, &told)))
}

async fn told(app: &App, decision: &decision::Decision) -> Result<Json<Decision>, ApiError> {
    let (desk, fail) = (app.desk()?, |error| app.engine_error(&error));
    let told = desk
        .announcements(decision.inquiry.decision_id)
        .await
        .map_err(fail)?;
    let arguments = desk.arguments(decision.clone()).await.map_err(fail)?;
    Ok(Json(view::decision(decision, &arguments, &told)))
}
