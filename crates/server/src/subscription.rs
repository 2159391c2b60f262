//! Subscriptions over HTTP.

use axum::extract::{Path, State};
use axum::routing::{delete, get};
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::{CreateSubscription, ErrorBody, Subscription, SubscriptionList};
use wakeful_core::id::{AgentId, RuleId};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Told, limit};
use crate::view;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/subscriptions", get(list).post(create))
        .route("/api/subscriptions/{subscription_id}", delete(remove))
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
    let made = app.open()?.alert.subscribe(view::new_subscription(new)?).await;
    let made = made.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::subscription(&made)))
}

/// Takes a subscription away. What waits because of it stays in line.
#[utoipa::path(
    delete, path = "/api/subscriptions/{subscription_id}", tag = "subscriptions", operation_id = "unsubscribe",
    params(("subscription_id" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "It is gone; this is what it was", body = Subscription),
        (status = 404, description = "There is no such subscription", body = ErrorBody),
    ),
)]
pub(crate) async fn remove(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Subscription>, ApiError> {
    let gone = app.open()?.alert.unsubscribe(RuleId::parse(&id)?).await;
    let gone = gone.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::subscription(&gone)))
}
