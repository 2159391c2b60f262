//! Event streams, and pages of events.
//!
//! A stream is `text/event-stream`. It starts with `retry: 1000` and a `cursor` frame with the start
//! position, so that a client that never received an event can resume from there. Then follow
//!
//! | `event:` | `id:` | `data:` |
//! |---|---|---|
//! | `event` | the position after it | an event |
//! | `delta` | none | a text delta of a model's reply; never repeated, and may be dropped |
//! | `tool_output` | none | output of a running tool call; never repeated, and may be dropped |
//! | `cursor` | the current position | the same position |
//! | `dropped` | the current position | why the stream ends; reconnect with that position |
//!
//! Events of one agent arrive in sequence order, without duplicates or gaps; the position is the sequence
//! number. In the stream of all agents that holds for each agent, the order between agents is unspecified,
//! and the position is a cursor. If cursors are long, not every event has one, so a client that reconnects
//! may receive some events again; it recognizes them by `agent_id` and `seq`.
//!
//! | module | does |
//! |---|---|
//! | `agent` | the stream of one agent |
//! | `all` | the stream of all listed agents |
//! | `wait` | waits for hub messages, the end of the daemon, or the keep-alive timer |
//! | `body` | a stream as a response body, produced only as fast as it is read |
//! | `frame` | encodes the frames |
//! | `cursor` | the positions of all agents in one bounded string |
//! | `write_timeout` | closes the connection of a client that no longer reads |
//! | `feed` | pages of the events of all listed agents |

mod agent;
mod all;
mod body;
mod cursor;
mod feed;
mod frame;
#[cfg(test)]
mod tests;
mod wait;
mod write_timeout;

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, watch};
use wakeful_api::{EventFeed, ListAgentEvents, ListEvents};

use crate::app::{App, DaemonStage};
use crate::error::ApiError;
use crate::guard::Caller;
use crate::login::LoginSession;
use crate::peer::Peer;

use self::cursor::Positions;
pub(crate) use self::write_timeout::WriteTimeout;

/// Maximum number of events by which a stream may lag and still catch up. A stream that lags more reads
/// more slowly than the agents write, and would never catch up.
pub(crate) const LAG_EVENTS_MAX: u64 = 10_000;

/// Number of events read from the store at a time, which bounds the memory of a stream that catches up.
const PAGE_EVENTS: u32 = 200;

/// How long a reader may take for one frame.
pub(crate) const STALL_MS_MAX: u64 = 30_000;

/// Idle time before a keep-alive; shorter than the timeouts of common proxies.
const KEEPALIVE_MS: u64 = 15_000;

/// Streams the events of one agent after a sequence number, or from now on. The header `Last-Event-ID`
/// overrides `after_seq`.
pub(crate) async fn agent(app: &App, head: &Parts, asked: ListAgentEvents) -> Result<Response, ApiError> {
    if asked.before_seq.is_some() {
        let message = "before_seq cannot be used with a stream";
        return Err(ApiError::bad(
            "bad_query",
            message,
            "use after_seq, or request JSON",
        ));
    }
    let after_seq = match last_event_id(&head.headers)? {
        Some(id) => Some(seq_of(id)?),
        None => asked.after_seq,
    };
    let stream = agent::open(
        app.runtime()?,
        asked.agent_id.0,
        after_seq,
        StreamGuard::at(app, head)?,
    )
    .await;
    Ok(body::respond(stream?))
}

/// Streams the events of all listed agents after a cursor, or from now on. The header `Last-Event-ID`
/// overrides `cursor`.
pub(crate) async fn all(app: &App, head: &Parts, asked: ListEvents) -> Result<Response, ApiError> {
    let cursor = match last_event_id(&head.headers)? {
        Some(id) => Some(id),
        None => asked.cursor.as_deref(),
    };
    let from = cursor.map(Positions::decode).transpose()?;
    let stream = all::open(app.runtime()?, from, StreamGuard::at(app, head)?).await;
    Ok(body::respond(stream?))
}

/// Returns a page of the events of all listed agents: after a cursor, or the newest.
pub(crate) async fn feed(app: &App, asked: ListEvents) -> Result<EventFeed, ApiError> {
    let from = asked.cursor.as_deref().map(Positions::decode).transpose()?;
    feed::read(&*app.runtime()?, from, asked.limit.0).await
}

/// Resources that a stream holds until it ends.
struct StreamGuard {
    stage: watch::Receiver<DaemonStage>,
    /// The login of the browser that reads; `None` for a program with the API token.
    session: Option<LoginSession>,
    /// Released when the stream ends.
    _permit: OwnedSemaphorePermit,
}

impl StreamGuard {
    fn at(app: &App, head: &Parts) -> Result<Self, ApiError> {
        let session = match head.extensions.get::<Caller>() {
            Some(Caller::Browser(login)) => {
                let session = app.logins.session(*login, app.clock.now());
                Some(session.ok_or_else(ApiError::unauthorized)?)
            }
            Some(Caller::Bearer | Caller::InProcess | Caller::Anonymous) | None => None,
        };
        let (streams, message, hint) = match head.extensions.get::<Peer>() {
            Some(Peer::Local(_)) => (
                &app.local_streams,
                "too many streams are open on the home's socket",
                "close some, use TCP, or request pages of events instead",
            ),
            Some(Peer::Network(_) | Peer::InProcess) | None => (
                &app.streams,
                "too many streams are open on this daemon",
                "close some, or request pages of events instead",
            ),
        };
        let permit = Arc::clone(streams).try_acquire_owned();
        let permit = permit.map_err(|_| ApiError::unavailable("too_many_streams", message, hint))?;
        Ok(Self {
            stage: app.stage.clone(),
            session,
            _permit: permit,
        })
    }
}

/// The error for a position that this server never sent.
fn bad_cursor(message: &str) -> ApiError {
    let hint = "start without it, or use the newest position that the server sent, complete and unchanged";
    ApiError::new(StatusCode::NOT_FOUND, "bad_cursor", message, hint)
}

/// The error for a position beyond the end: the log differs from the one that the client knew, and
/// continuing would skip events.
fn ahead() -> ApiError {
    bad_cursor("the position is beyond the newest event")
}

fn too_many_agents() -> ApiError {
    let message = format!("there are more than {} listed agents", cursor::CURSOR_AGENTS_MAX);
    ApiError::bad(
        TOO_MANY_AGENTS,
        message,
        "follow agents individually: /api/agents/{agent_id}/events",
    )
}

const TOO_MANY_AGENTS: &str = "too_many_agents";

fn last_event_id(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let id = headers.get("last-event-id").map(|id| id.to_str());
    id.transpose()
        .map_err(|_| bad_cursor("the header Last-Event-ID is not ASCII text"))
}

fn seq_of(id: &str) -> Result<u64, ApiError> {
    // The number parser accepts a sign, but the server never sends one.
    let digits = id.bytes().all(|byte| byte.is_ascii_digit());
    let seq = id.parse().ok().filter(|_| digits);
    seq.ok_or_else(|| bad_cursor("the header Last-Event-ID is not a sequence number"))
}
