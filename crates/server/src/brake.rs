//! HTTP endpoints for brakes.

use wakeful_api::{BrakeList, ListBrakes, ReleaseBrake, SetBrake};
use wakeful_runtime::api::REASON_CHARS_MAX;

use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default().add(list).add(set).add(release)
}

async fn list(call: Call, _: ListBrakes) -> Result<BrakeList, ApiError> {
    let runtime = call.runtime()?;
    Ok(view::brakes(
        &runtime.brakes.list().await?,
        &runtime.brakes.pending(),
    ))
}

async fn set(call: Call, asked: SetBrake) -> Result<BrakeList, ApiError> {
    let reason = asked.reason.unwrap_or_default();
    if reason.chars().count() > REASON_CHARS_MAX {
        let message = format!("reason: must have at most {REASON_CHARS_MAX} characters");
        return Err(ApiError::bad("reason_too_long", message, "use a shorter reason"));
    }
    let (runtime, agent) = (call.runtime()?, asked.agent_id.map(|agent| agent.0));
    let set = runtime.brakes.set(agent, reason, call.channel()?).await?;
    Ok(view::brakes(&set, &runtime.brakes.pending()))
}

async fn release(call: Call, asked: ReleaseBrake) -> Result<BrakeList, ApiError> {
    call.refuse_tools().await?;
    let (runtime, agent) = (call.runtime()?, asked.agent_id.map(|agent| agent.0));
    let left = runtime.brakes.release(agent, call.channel()?).await?;
    Ok(view::brakes(&left, &runtime.brakes.pending()))
}
