//! HTTP endpoints for erasure.

use wakeful_api::{EraseContent, Erasure, SEQ_MAX};
use wakeful_runtime::proof::{ErasureRequest, ErasureTarget, REASON_CHARS_MAX, reason};

use crate::error::ApiError;
use crate::route::{Call, Routes};

pub(crate) fn routes() -> Routes {
    Routes::default().add(erase)
}

async fn erase(call: Call, asked: EraseContent) -> Result<Erasure, ApiError> {
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
    Ok(call.runtime()?.events.erase(wanted).await?)
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
