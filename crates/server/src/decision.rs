//! HTTP endpoints for decisions.

use wakeful_api::{AnswerDecision, Decision, DecisionList, GetDecision, ListDecisions};
use wakeful_core::decision::AnswerInput;
use wakeful_runtime::api::DecisionInput;

use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default().add(list).add(show).add(answer)
}

async fn list(call: Call, asked: ListDecisions) -> Result<DecisionList, ApiError> {
    let runtime = call.runtime()?;
    let found = runtime.decisions.list(asked.pending).await?;
    Ok(view::decisions(&found, runtime.decisions.human_backlog().await?))
}

async fn show(call: Call, asked: GetDecision) -> Result<Decision, ApiError> {
    let runtime = call.runtime()?;
    let found = runtime
        .decisions
        .get(asked.decision_id.as_str().to_owned())
        .await?;
    let announcements = runtime.decisions.announcements(found.inquiry.decision_id).await?;
    let arguments = runtime.decisions.arguments(found.clone()).await?;
    Ok(view::decision(&found, &arguments, &announcements))
}

async fn answer(call: Call, asked: AnswerDecision) -> Result<Decision, ApiError> {
    call.refuse_tools().await?;
    let reply = AnswerInput {
        option: asked.option,
        version: asked.version,
        channel: call.channel()?,
        note: asked.note,
    };
    let runtime = call.runtime()?;
    let answered = runtime
        .decisions
        .answer(asked.decision_id.as_str().to_owned(), reply)
        .await?;
    // The answer is already stored, so a failed read of additional data is logged and does not fail the
    // request.
    let unread = |error| call.log(&ApiError::from(error));
    let announcements = runtime
        .decisions
        .announcements(answered.inquiry.decision_id)
        .await;
    let announcements = announcements.map_err(unread).unwrap_or_default();
    let arguments = runtime
        .decisions
        .arguments(answered.clone())
        .await
        .map_err(unread);
    let arguments = arguments.unwrap_or_else(|()| DecisionInput::of_record(&answered));
    Ok(view::decision(&answered, &arguments, &announcements))
}
