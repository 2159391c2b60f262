//! Money, models and confirmations over HTTP.

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use wakeful_api::{AgentSpending, AgentStatus, Budget, ErrorBody, Receipt, SetCap, SetModel};
use wakeful_core::budget::{DAILY_CAP_MAX, MicroUsd, parse_cap};
use wakeful_core::id::AgentId;
use wakeful_core::message::Wishes;

use crate::agent::{Stalled, guided};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentPath, By, Told};
use crate::view;
use crate::whole::whole;

/// Longest name of a provider.
const PROVIDER_CHARS_MAX: usize = 64;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/budget", get(show).post(set))
        .route("/api/agents/{agent_id}/spending", get(of_agent))
        .route("/api/agents/{agent_id}/model", post(choose))
        .route("/api/receipts", get(receipts))
        .route("/api/receipts/{provider}", post(confirm))
}

/// What was spent today, what may be, and what the last days cost.
#[utoipa::path(
    get, path = "/api/budget", tag = "budget", operation_id = "budget",
    responses((status = 200, description = "Today's money", body = Budget)),
)]
pub(crate) async fn show(State(app): State<App>) -> Result<Json<Budget>, ApiError> {
    let budget = app.desk()?.budget().await;
    Ok(Json(view::budget(
        &budget.map_err(|error| app.engine_error(&error))?,
    )))
}

/// Sets the cap of an agent or of all together, or takes it away. Runs that wait for money are looked at again.
#[utoipa::path(
    post, path = "/api/budget", tag = "budget", operation_id = "set_cap", request_body = SetCap,
    responses(
        (status = 200, description = "It holds from the next request on", body = Budget),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn set(State(app): State<App>, Told(told): Told<SetCap>) -> Result<Json<Budget>, ApiError> {
    let agent = told.agent_id.as_deref().map(AgentId::parse).transpose()?;
    let daily = told.daily_usd.as_deref().map(amount).transpose()?;
    one_of(daily.is_some(), told.unset, "daily_usd", "unset")?;
    let desk = app.desk()?;
    let budget = whole(async move { desk.set_cap(agent, daily).await }).await;
    Ok(Json(view::budget(
        &budget.map_err(|error| app.engine_error(&error))?,
    )))
}

/// A limit is not taken away by saying nothing.
fn one_of(is_given: bool, is_taken: bool, given: &str, taken: &str) -> Result<(), ApiError> {
    if is_given != is_taken {
        return Ok(());
    }
    let message = format!("give either `{given}`, or `{taken}: true`");
    Err(ApiError::unmet(
        "one_of_two",
        message,
        "an empty wish changes nothing",
    ))
}

fn amount(dollars: &str) -> Result<MicroUsd, ApiError> {
    let amount = parse_cap(dollars);
    amount.ok_or_else(|| {
        let message = format!("daily_usd: {dollars:?} is no amount of dollars from 0 to {DAILY_CAP_MAX}");
        ApiError::bad(
            "bad_amount",
            message,
            "give a number such as 2.50, with at most six decimals",
        )
    })
}

/// What an agent's last days cost.
#[utoipa::path(
    get, path = "/api/agents/{agent_id}/spending", tag = "budget", operation_id = "agent_spending",
    params(view::AgentParam),
    responses(
        (status = 200, description = "Its days", body = AgentSpending),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn of_agent(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<AgentSpending>, ApiError> {
    let days = app.desk()?.spending(agent.clone()).await;
    let days = days.map_err(|error| app.engine_error(&error))?;
    Ok(Json(view::spending(&agent, &days)))
}

/// Chooses an agent's model for the runs that begin from now on, or gives it the default back.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/model", tag = "agents", operation_id = "set_model",
    params(view::AgentParam), request_body = SetModel,
    responses(
        (status = 200, description = "The agent", body = AgentStatus),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 422, description = "There is no such model", body = ErrorBody),
    ),
)]
pub(crate) async fn choose(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    Told(told): Told<SetModel>,
) -> Result<Json<AgentStatus>, ApiError> {
    one_of(told.model.is_some(), told.clear, "model", "clear")?;
    let wishes = Wishes {
        model_ref: told.model,
        ..Wishes::default()
    };
    let wishes = app.host.wishes(wishes).map_err(ApiError::unusable)?;
    let open = app.open()?;
    let chosen = open.desk.set_model(agent, wishes.model_ref).await;
    let chosen = chosen.map_err(|error| app.engine_error(&error))?;
    Ok(Json(guided(&app, &chosen, Stalled::of(&open).status(&chosen))))
}

/// Every confirmation that a provider may be shown agents' work, oldest first.
#[utoipa::path(
    get, path = "/api/receipts", tag = "budget", operation_id = "receipts",
    responses((status = 200, description = "The confirmations", body = Vec<Receipt>)),
)]
pub(crate) async fn receipts(State(app): State<App>) -> Result<Json<Vec<Receipt>>, ApiError> {
    let rows = app.desk()?.receipts().await;
    let rows = rows.map_err(|error| app.engine_error(&error))?;
    Ok(Json(rows.iter().map(view::receipt).collect()))
}

/// Confirms that a provider may be shown agents' work, under the rules that hold now.
#[utoipa::path(
    post, path = "/api/receipts/{provider}", tag = "budget", operation_id = "confirm_provider",
    params(("provider" = String, Path, description = "The provider's name", min_length = 1, max_length = 64,
        pattern = "^[a-z0-9][a-z0-9_-]*$", example = "anthropic")),
    responses((status = 200, description = "It is confirmed, for every set of rules there is", body = Vec<Receipt>)),
)]
pub(crate) async fn confirm(
    State(app): State<App>,
    By(channel): By,
    Path(provider): Path<String>,
) -> Result<Json<Vec<Receipt>>, ApiError> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if provider.is_empty() || provider.len() > PROVIDER_CHARS_MAX || !provider.chars().all(is_word) {
        let message = "the provider in the path is no name: a-z, 0-9, '-' and '_', at most 64";
        return Err(ApiError::bad(
            "bad_provider",
            message,
            "see `wakeful models list`",
        ));
    }
    let versions = app.host.inference_versions();
    let rows = app.desk()?.confirm(provider, versions, channel).await;
    let rows = rows.map_err(|error| app.engine_error(&error))?;
    Ok(Json(rows.iter().map(view::receipt).collect()))
}
