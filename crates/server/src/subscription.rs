//! Subscriptions over HTTP.

use axum::extract::{Path, State};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::{CreateSubscription, ErrorBody, Subscription, SubscriptionList};
use wakeful_core::id::{AgentId, RuleId};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Told, limit};
use crate::view;
use crate::whole::whole;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/subscriptions", get(list).post(create))
        .route("/api/subscriptions/{subscription_id}", delete(remove))
        .route("/api/subscriptions/{subscription_id}/pause", post(pause))
        .route("/api/subscriptions/{subscription_id}/resume", post(resume))
}

/// The subscription in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it only describes; `RuleId` reads")]
pub(crate) struct SubscriptionParam {
    /// Its name.
    #[param(min_length = 1, max_length = 64, pattern = "^[a-z0-9][a-z0-9_-]{0,63}$")]
    subscription_id: String,
}

/// Which subscriptions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// Only those of this agent.
    #[param(nullable = false, min_length = 1, max_length = 64)]
    agent_id: Option<String>,
    /// Only those whose names come after this one.
    #[param(nullable = false, min_length = 1, max_length = 64)]
    after: Option<String>,
    /// Most subscriptions.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// Subscriptions by name.
#[utoipa::path(
    get, path = "/api/subscriptions", tag = "subscriptions", operation_id = "subscriptions", params(Which),
    responses(
        (status = 200, description = "The subscriptions", body = SubscriptionList),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn list(
    State(app): State<App>,
    Asked(which): Asked<Which>,
) -> Result<Json<SubscriptionList>, ApiError> {
    let agent = which.agent_id.as_deref().map(AgentId::parse).transpose()?;
    let after = which.after.as_deref().map(RuleId::parse).transpose()?;
    let most = limit(which.limit)?;
    let found = app.open()?.alert.subscriptions(agent, after, most).await;
    let found = found.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::subscriptions(&found, most)))
}

/// Makes a subscription: from now on, changes that it matches wake its agent. The same one again is the same one.
#[utoipa::path(
    post, path = "/api/subscriptions", tag = "subscriptions", operation_id = "subscribe",
    request_body = CreateSubscription,
    responses(
        (status = 200, description = "It holds", body = Subscription),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "Another one has this name, or there are too many", body = ErrorBody),
        (status = 422, description = "Its terms cannot be kept; the message says why", body = ErrorBody),
    ),
)]
pub(crate) async fn create(
    State(app): State<App>,
    Told(new): Told<CreateSubscription>,
) -> Result<Json<Subscription>, ApiError> {
    let (alert, new) = (app.open()?.alert, view::new_subscription(new)?);
    let made = whole(async move { alert.subscribe(new).await }).await;
    let made = made.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::subscription(&made)))
}

/// Takes a subscription away. What waits because of it stays in line.
#[utoipa::path(
    delete, path = "/api/subscriptions/{subscription_id}", tag = "subscriptions", operation_id = "unsubscribe",
    params(SubscriptionParam),
    responses(
        (status = 200, description = "It is gone; this is what it was", body = Subscription),
        (status = 404, description = "There is no such subscription", body = ErrorBody),
    ),
)]
pub(crate) async fn remove(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Subscription>, ApiError> {
    let (alert, id) = (app.open()?.alert, RuleId::parse(&id)?);
    let gone = whole(async move { alert.unsubscribe(id).await }).await;
    let gone = gone.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::subscription(&gone)))
}

/// Puts a subscription aside: until it is taken up again, it wakes nobody. What would have matched is counted as refused,
/// and is not made up for. What waits because of it stays in line.
#[utoipa::path(
    post, path = "/api/subscriptions/{subscription_id}/pause", tag = "subscriptions",
    operation_id = "pause_subscription", params(SubscriptionParam),
    responses(
        (status = 200, description = "It is put aside", body = Subscription),
        (status = 404, description = "There is no such subscription", body = ErrorBody),
    ),
)]
pub(crate) async fn pause(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Subscription>, ApiError> {
    let (alert, id) = (app.open()?.alert, RuleId::parse(&id)?);
    let turned = whole(async move { alert.pause_subscription(id).await }).await;
    let turned = turned.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::subscription(&turned)))
}

/// Takes a subscription up again: it sees what is committed from now on.
#[utoipa::path(
    post, path = "/api/subscriptions/{subscription_id}/resume", tag = "subscriptions",
    operation_id = "resume_subscription", params(SubscriptionParam),
    responses(
        (status = 200, description = "It wakes its agent again", body = Subscription),
        (status = 404, description = "There is no such subscription", body = ErrorBody),
    ),
)]
pub(crate) async fn resume(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Subscription>, ApiError> {
    let (alert, id) = (app.open()?.alert, RuleId::parse(&id)?);
    let turned = whole(async move { alert.resume_subscription(id).await }).await;
    let turned = turned.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::subscription(&turned)))
}
