//! HTTP endpoints for events: pages, and the entry to streams.

use axum::Json;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use wakeful_api::{Endpoint, EventPage, ListAgentEvents, ListEvents};

use crate::app::App;
use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::{stream, view};

/// The routes that can respond with a stream.
pub(crate) const ROUTES: [&str; 2] = [ListAgentEvents::OPERATION.path, ListEvents::OPERATION.path];

pub(crate) fn routes() -> Routes {
    Routes::default().respond(of_agent).respond(of_all)
}

async fn of_agent(call: Call, asked: ListAgentEvents) -> Result<Response, ApiError> {
    let greatest = asked.after_seq.max(asked.before_seq).unwrap_or(0);
    if greatest > wakeful_api::SEQ_MAX {
        let message = format!(
            "after_seq and before_seq must be at most {}",
            wakeful_api::SEQ_MAX
        );
        return Err(ApiError::bad(
            "bad_query",
            message,
            "use the sequence number of an event",
        ));
    }
    if wants_stream(call.headers()) {
        return stream::agent(&call, &call.head, asked).await;
    }
    Ok(Json(page(&call, asked).await?).into_response())
}

async fn of_all(call: Call, asked: ListEvents) -> Result<Response, ApiError> {
    if wants_stream(call.headers()) {
        return stream::all(&call, &call.head, asked).await;
    }
    Ok(Json(stream::feed(&call, asked).await?).into_response())
}

/// Whether the client requests a stream and not a page.
pub(crate) fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(','));
    kinds.any(|kind| {
        let essence = kind.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("text/event-stream")
    })
}

async fn page(app: &App, asked: ListAgentEvents) -> Result<EventPage, ApiError> {
    let (agent, rows, runtime) = (asked.agent_id.0, asked.limit.0, app.runtime()?);
    // One extra row shows whether there are more.
    let wanted = rows.saturating_add(1);
    let mut found = match (asked.after_seq, asked.before_seq) {
        (None, Some(before)) => runtime.events.before(agent.clone(), before, wanted).await?,
        (after, _) => {
            runtime
                .events
                .after(agent.clone(), after.unwrap_or(0), wanted)
                .await?
        }
    };
    found.retain(|row| asked.before_seq.is_none_or(|before| row.seq < before));
    let excess = found
        .len()
        .saturating_sub(usize::try_from(rows).unwrap_or(usize::MAX));
    match (asked.after_seq, asked.before_seq) {
        (None, Some(_)) => drop(found.drain(..excess)),
        (_, _) => found.truncate(found.len().saturating_sub(excess)),
    }
    let start = asked
        .after_seq
        .or(asked.before_seq.map(|before| before.saturating_sub(1)));
    Ok(EventPage {
        next_after_seq: found.last().map_or(start.unwrap_or(0), |row| row.seq),
        events: found.iter().map(|row| view::event(&agent, row)).collect(),
        has_more: excess > 0,
    })
}
