//! HTTP endpoints for erasure.

use std::sync::Arc;

use axum::http::StatusCode;
use wakeful_api::{EraseContent, Erasure, SEQ_MAX};
use wakeful_core::id::AgentId;
use wakeful_core::problem::Problem;
use wakeful_runtime::proof::{ErasureRequest, ErasureTarget, REASON_CHARS_MAX, reason};

use crate::error::ApiError;
use crate::route::{Call, Routes};

pub(crate) fn routes() -> Routes {
    Routes::default().add(erase)
}

async fn erase(call: Call, asked: EraseContent) -> Result<Erasure, ApiError> {
    // The request is a person's consent, which a process of an agent cannot give.
    call.refuse_tools().await?;
    let what = what(&asked)?;
    let reason = reason(&asked.reason).ok_or_else(|| {
        let message =
            format!("reason: must have 1 to {REASON_CHARS_MAX} characters without control characters");
        ApiError::bad(
            "bad_reason",
            message,
            "state in one sentence why the content must be erased",
        )
    })?;
    let wanted = ErasureRequest {
        agent: asked.agent_id.0,
        what,
        reason,
        channel: call.channel()?,
    };
    let agent = wanted.agent.clone();
    let erased = call.runtime()?.events.erase(wanted).await?;
    let chat_messages = erase_typed(&call, agent).await?;
    Ok(Erasure {
        chat_messages,
        ..erased
    })
}

async fn erase_typed(call: &Call, agent: AgentId) -> Result<u64, ApiError> {
    let host = Arc::clone(&call.host);
    let removed = tokio::task::spawn_blocking(move || host.erase_typed(&agent)).await;
    let failed = |_| {
        Err(Problem::new(
            "history_not_erased",
            "chat_history could not be accessed",
            "try again",
        ))
    };
    let removed = removed.unwrap_or_else(failed);
    removed.map_err(|problem| ApiError::of(StatusCode::INTERNAL_SERVER_ERROR, problem))
}

fn what(asked: &EraseContent) -> Result<ErasureTarget, ApiError> {
    match (&asked.run_key, asked.first_seq, asked.last_seq) {
        (Some(run), None, None) => Ok(ErasureTarget::Run(run.0)),
        (None, Some(first), last) if (1..=SEQ_MAX).contains(&first) && last <= Some(SEQ_MAX) => {
            match last.unwrap_or(first) {
                last if last < first => Err(ApiError::conflict(
                    "bad_range",
                    "last_seq is before first_seq",
                    "give the smaller number as first_seq",
                )),
                last => Ok(ErasureTarget::Events { first, last }),
            }
        }
        (None, Some(_) | None, _) | (Some(_), _, _) => Err(ApiError::bad(
            "one_of_two",
            "give either `run_key`, or `first_seq` and optionally `last_seq`",
            "an empty request erases nothing",
        )),
    }
}
