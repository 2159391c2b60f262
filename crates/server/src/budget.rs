//! HTTP endpoints for budgets and confirmations.

use wakeful_api::{
    AgentSpending, Budget, BudgetLimit, ChangeLimit, ClearLimit, ConfirmProvider, GetAgentSpending,
    GetBudget, ListLimits, ListPrivacyReceipts, PrivacyReceipt, SetCap, SetLimit,
};
use wakeful_runtime::api::NewLimit;

use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default()
        .add(show)
        .add(set)
        .add(limits)
        .add(set_limit)
        .add(change_limit)
        .add(clear_limit)
        .add(of_agent)
        .add(receipts)
        .add(confirm)
}

async fn show(call: Call, _: GetBudget) -> Result<Budget, ApiError> {
    Ok(view::budget(&call.runtime()?.budgets.get().await?))
}

async fn set(call: Call, asked: SetCap) -> Result<Budget, ApiError> {
    // An empty request must not remove a limit.
    if asked.daily_usd.is_some() == asked.unset {
        let message = "give either `daily_usd` or `unset: true`";
        return Err(ApiError::bad(
            "one_of_two",
            message,
            "an empty request changes nothing",
        ));
    }
    let (agent, daily) = (
        asked.agent_id.map(|agent| agent.0),
        asked.daily_usd.map(|daily| daily.0),
    );
    Ok(view::budget(
        &call.runtime()?.budgets.set_cap(agent, daily).await?,
    ))
}

async fn limits(call: Call, _: ListLimits) -> Result<Vec<BudgetLimit>, ApiError> {
    let limits = call.runtime()?.budgets.limits().await?;
    Ok(limits.iter().map(view::limit).collect())
}

async fn set_limit(call: Call, asked: SetLimit) -> Result<BudgetLimit, ApiError> {
    let SetLimit {
        scope,
        subject,
        resource,
        period,
        max,
    } = asked;
    let new = NewLimit {
        scope,
        subject,
        resource,
        period,
        max,
    };
    Ok(view::limit(&call.runtime()?.budgets.set_limit(new).await?))
}

async fn change_limit(call: Call, asked: ChangeLimit) -> Result<BudgetLimit, ApiError> {
    let budgets = &call.runtime()?.budgets;
    Ok(view::limit(
        &budgets.change_limit(asked.limit_id.as_str(), asked.max).await?,
    ))
}

async fn clear_limit(call: Call, asked: ClearLimit) -> Result<BudgetLimit, ApiError> {
    let budgets = &call.runtime()?.budgets;
    Ok(view::limit(&budgets.clear_limit(asked.limit_id.as_str()).await?))
}

async fn of_agent(call: Call, asked: GetAgentSpending) -> Result<AgentSpending, ApiError> {
    let days = call.runtime()?.budgets.spending(asked.agent_id.0.clone()).await?;
    Ok(view::spending(&asked.agent_id.0, &days))
}

async fn receipts(call: Call, _: ListPrivacyReceipts) -> Result<Vec<PrivacyReceipt>, ApiError> {
    let rows = call.runtime()?.receipts.list().await?;
    Ok(rows.iter().map(view::receipt).collect())
}

async fn confirm(call: Call, asked: ConfirmProvider) -> Result<Vec<PrivacyReceipt>, ApiError> {
    let (versions, channel) = (call.host.inference_versions(), call.channel()?);
    let rows = call
        .runtime()?
        .receipts
        .confirm_provider(asked.provider.to_string(), versions, channel)
        .await?;
    Ok(rows.iter().map(view::receipt).collect())
}
