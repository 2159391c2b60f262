//! HTTP handlers that explain why an agent was woken or not.

use wakeful_api::{GetWhyNot, GetWhyRun, WhyNot, WhyRun};

use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default().add(run).add(agent)
}

async fn run(call: Call, asked: GetWhyRun) -> Result<WhyRun, ApiError> {
    Ok(view::why(&call.runtime()?.runs.why(asked.run_key.0).await?))
}

async fn agent(call: Call, asked: GetWhyNot) -> Result<WhyNot, ApiError> {
    let since = asked.since.map(|since| since.0);
    Ok(view::why_not(
        &call.runtime()?.agents.why_not(asked.agent_id.0, since).await?,
    ))
}
