//! HTTP handlers that explain why an agent was woken or not.

use std::sync::Arc;

use wakeful_api::{GetWhyNot, GetWhyRun, WhyNot, WhyRun};
use wakeful_core::run::WaitingFor;
use wakeful_core::wake::{BrakeSet, Hold, HoldCode, WakeOutcome};

use crate::app::MissingKey;
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
    let (runtime, since) = (call.runtime()?, asked.since.map(|since| since.0));
    let mut report = runtime.agents.why_not(asked.agent_id.0, since).await?;
    let agent = report.overview.agent.clone();
    let brakes = runtime.brakes.list().await?;
    let own = brakes
        .iter()
        .find(|brake| brake.agent_id.as_ref().is_none_or(|held| *held == agent.agent_id));
    if let Some(brake) = own {
        let set = BrakeSet {
            reason: &brake.reason,
            channel: brake.channel,
            at: brake.at,
        };
        let explained = report.holds.into_iter().map(|hold| match hold.code {
            HoldCode::Refusal(WakeOutcome::Braked) => hold.with_brake(brake.agent_id.as_ref(), &set),
            HoldCode::Refusal(_) | HoldCode::Delay(_) | HoldCode::Wait(_) | HoldCode::Model(_) => hold,
        });
        report.holds = explained.collect();
    }
    if let Some(run) = report.overview.open_run {
        let run = runtime.runs.get(run).await?;
        let budget = run.exceeded().filter(|_| report.overview.is_waiting_for_budget);
        if run.waiting_for == Some(WaitingFor::Approval) {
            let explained = report.holds.into_iter().map(|hold| match hold.code {
                HoldCode::Refusal(WakeOutcome::RunOpen) => hold.with_question(),
                HoldCode::Refusal(_) | HoldCode::Delay(_) | HoldCode::Wait(_) | HoldCode::Model(_) => hold,
            });
            report.holds = explained.collect();
        }
        report.holds.extend(budget.map(Hold::over_budget));
    }
    let host = Arc::clone(&call.host);
    // Looking up a key may ask a keyring.
    let missing = move || host.missing_key(&agent);
    if let Ok(Some(MissingKey { provider, problem })) = tokio::task::spawn_blocking(missing).await {
        report.holds.push(Hold::key_missing(&provider, &problem.message));
    }
    Ok(view::why_not(&report))
}
