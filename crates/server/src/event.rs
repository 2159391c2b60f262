//! Events over HTTP: pages of them, and the way to the streams.

use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::{ErrorBody, EventFeed, EventPage};
use wakeful_core::id::AgentId;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentPath, Asked, limit};
use crate::{stream, view};

/// The greatest whole number that every reader of JSON holds exactly.
const SEQ_MAX: u64 = (1 << 53) - 1;

/// The routes that answer with streams.
pub(crate) const ROUTES: [&str; 2] = ["/api/agents/{agent_id}/events", "/api/events"];

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(ROUTES[0], get(of_agent))
        .route(ROUTES[1], get(of_all))
}

/// Which events of one agent.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentEvents {
    /// Only those with a greater number, oldest first. A page begins with the first when absent, a stream with the next.
    #[param(nullable = false, minimum = 0, maximum = 9007199254740991_i64)]
    pub(crate) after_seq: Option<u64>,
    /// The newest of those with a smaller number, oldest first. Not together with `after_seq`, not for a stream.
    #[param(nullable = false, minimum = 0, maximum = 9007199254740991_i64)]
    pub(crate) before_seq: Option<u64>,
    /// For a stream of a browser: a one-use ticket, which stands in for the header `X-Wakeful-Token`.
    #[param(nullable = false)]
    #[expect(dead_code, reason = "the guard has read it")]
    ticket: Option<String>,
    /// Most rows of a page.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    pub(crate) limit: Option<u32>,
}

/// Which events of all listed agents.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AllEvents {
    /// Go on from here, as an earlier answer said. When absent, a page has the newest, and a stream begins with the next.
    #[param(nullable = false, max_length = 16384)]
    pub(crate) cursor: Option<String>,
    /// For a stream of a browser: a one-use ticket, which stands in for the header `X-Wakeful-Token`.
    #[param(nullable = false)]
    #[expect(dead_code, reason = "the guard has read it")]
    ticket: Option<String>,
    /// Most rows of a page.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    pub(crate) limit: Option<u32>,
}

/// Events of one agent: a page of them, or with `Accept: text/event-stream` all from there on as they happen.
#[utoipa::path(
    get, path = "/api/agents/{agent_id}/events", tag = "events", operation_id = "agent_events",
    params(
        view::AgentParam,
        AgentEvents,
        ("Last-Event-ID" = Option<String>, Header, description = "For streams: the number of the last event seen; \
            pages do not look at it", nullable = false),
    ),
    responses(
        (status = 200, description = "The events", content(
            (EventPage = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 404, description = "There is no such agent", body = ErrorBody),
    ),
)]
pub(crate) async fn of_agent(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    Asked(asked): Asked<AgentEvents>,
    head: Parts,
) -> Result<Response, ApiError> {
    in_range(&asked)?;
    if wants_stream(&head.headers) {
        return stream::agent(app, agent, &head, asked).await;
    }
    page(&app, agent, asked).await.map(IntoResponse::into_response)
}

/// Events of all listed agents: a page of them, or with `Accept: text/event-stream` all as they happen.
#[utoipa::path(
    get, path = "/api/events", tag = "events", operation_id = "all_events",
    params(
        AllEvents,
        ("Last-Event-ID" = Option<String>, Header, description = "For streams: the cursor of the last event seen; \
            pages do not look at it", nullable = false),
    ),
    responses((status = 200, description = "The events", content(
        (EventFeed = "application/json"),
        (String = "text/event-stream"),
    ))),
)]
pub(crate) async fn of_all(
    State(app): State<App>,
    Asked(asked): Asked<AllEvents>,
    head: Parts,
) -> Result<Response, ApiError> {
    if wants_stream(&head.headers) {
        return stream::all(app, &head, asked).await;
    }
    stream::feed(app, asked).await.map(IntoResponse::into_response)
}

/// Whether the client asks for a stream and not for a page.
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

async fn page(app: &App, agent: AgentId, asked: AgentEvents) -> Result<Json<EventPage>, ApiError> {
    let rows = limit(asked.limit)?;
    let desk = app.desk()?;
    // One more than is shown says whether there are more.
    let wanted = rows.saturating_add(1);
    let found = match (asked.after_seq, asked.before_seq) {
        (Some(_), Some(_)) => return Err(both_ends()),
        (after, None) => desk.events_after(agent.clone(), after.unwrap_or(0), wanted).await,
        (None, Some(before)) => desk.events_before(agent.clone(), before, wanted).await,
    };
    let mut found = found.map_err(|error| app.engine_error(&error))?;
    let excess = found
        .len()
        .saturating_sub(usize::try_from(rows).unwrap_or(usize::MAX));
    match asked.before_seq {
        Some(_) => drop(found.drain(..excess)),
        None => found.truncate(found.len().saturating_sub(excess)),
    }
    let start = asked
        .after_seq
        .or(asked.before_seq.map(|before| before.saturating_sub(1)));
    Ok(Json(EventPage {
        next_after_seq: found.last().map_or(start.unwrap_or(0), |row| row.seq),
        events: found.iter().map(|row| view::event(&agent, row)).collect(),
        has_more: excess > 0,
    }))
}

/// Numbers beyond those that JSON holds exactly belong to no event.
fn in_range(asked: &AgentEvents) -> Result<(), ApiError> {
    let greatest = asked.after_seq.max(asked.before_seq).unwrap_or(0);
    if greatest <= SEQ_MAX {
        return Ok(());
    }
    let message = format!("after_seq and before_seq are at most {SEQ_MAX}");
    Err(ApiError::bad("bad_query", message, "take a number from an event"))
}

fn both_ends() -> ApiError {
    let message = "after_seq and before_seq cannot be asked for together";
    ApiError::unmet("bad_query", message, "give one of them")
}
