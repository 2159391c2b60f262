//! Events as they happen, and pages of them.
//!
//! A stream is `text/event-stream`. Its first lines are `retry: 1000` and a frame `cursor` that carries the place
//! where it begins, so that a client that never saw an event can still go on from there. Then come
//!
//! | `event:` | `id:` | `data:` |
//! |---|---|---|
//! | `event` | the place after it | an event |
//! | `delta` | none | words that a model is saying; never repeated, dropped freely |
//! | `cursor` | the place so far | the same place |
//! | `dropped` | the place so far | why the stream ends; connect again with that place |
//!
//! Of one agent, events come in the order of their numbers, none twice and none left out; the place is the number.
//! Of all agents that holds for each of them, while nothing is promised about the order between two; the place is a
//! cursor. Where cursors are long, not every event has one, so a client that comes back may see a few events again:
//! it knows them by `agent_id` and `seq`.
//!
//! | module | does |
//! |---|---|
//! | `agent` | the stream of one agent |
//! | `all` | the stream of all listed agents |
//! | `ear` | what both wait for: news, the end of the daemon, silence |
//! | `flow` | a stream as the body of a response, made only as fast as it is read |
//! | `frame` | one piece of a stream as bytes |
//! | `cursor` | the place of every agent in one bounded word |
//! | `patience` | a connection that gives up on a client that no longer reads |
//! | `feed` | pages of all listed agents' events |

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

/// Most events that a stream may have fallen behind and still be brought up to date. One that is further behind
/// reads more slowly than the agents write, and would never arrive.
pub(crate) const LAG_EVENTS_MAX: u64 = 10_000;

/// Events that are read from the store at a time. What one stream holds in memory while it catches up.
const PAGE_EVENTS: u32 = 200;

/// Longest time that a reader may take for one frame.
pub(crate) const STALL_MS_MAX: u64 = 30_000;

/// Silence after which a stream says that it is there. Shorter than the patience of common proxies.
const KEEPALIVE_MS: u64 = 15_000;

/// The events of one agent from a number on, or from now on. The header `Last-Event-ID` goes before `after_seq`.
pub(crate) async fn agent(app: &App, head: &Parts, asked: ListAgentEvents) -> Result<Response, ApiError> {
    if asked.before_seq.is_some() {
        let message = "before_seq asks for a page, and a stream goes the other way";
        return Err(ApiError::bad(
            "bad_query",
            message,
            "give after_seq, or ask for JSON",
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

/// The events of all listed agents from a cursor on, or from now on. The header `Last-Event-ID` goes before `cursor`.
pub(crate) async fn all(app: &App, head: &Parts, asked: ListEvents) -> Result<Response, ApiError> {
    let cursor = match last_event_id(&head.headers)? {
        Some(id) => Some(id),
        None => asked.cursor.as_deref(),
    };
    let from = cursor.map(Positions::decode).transpose()?;
    let stream = all::open(app.runtime()?, from, StreamGuard::at(app, head)?).await;
    Ok(body::respond(stream?))
}

/// A page of all listed agents' events: what follows a cursor, or else the newest.
pub(crate) async fn feed(app: &App, asked: ListEvents) -> Result<EventFeed, ApiError> {
    let from = asked.cursor.as_deref().map(Positions::decode).transpose()?;
    feed::read(&*app.runtime()?, from, asked.limit.0).await
}

/// What a stream holds as long as it lives.
struct StreamGuard {
    stage: watch::Receiver<DaemonStage>,
    /// The login of the browser that reads; none for a program with the API's token.
    session: Option<LoginSession>,
    /// Given back when the stream ends; nobody looks at it before.
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
                "the socket in the home serves no more streams",
                "close some, follow over TCP, or ask for pages of events instead",
            ),
            Some(Peer::Network(_) | Peer::InProcess) | None => (
                &app.streams,
                "as many streams are open as this daemon serves",
                "close some, or ask for pages of events instead",
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

/// A place that this server never gave out.
fn bad_cursor(message: &str) -> ApiError {
    let hint =
        "begin again without it, or with the newest place that the server gave you, whole and unchanged";
    ApiError::new(StatusCode::NOT_FOUND, "bad_cursor", message, hint)
}

/// A place beyond the end: the log is another one than the client knew, and to go on would leave events out.
fn ahead() -> ApiError {
    bad_cursor("the place is beyond the newest event")
}

fn too_many_agents() -> ApiError {
    let message = format!("there are more than {} listed agents", cursor::CURSOR_AGENTS_MAX);
    ApiError::bad(
        TOO_MANY_AGENTS,
        message,
        "follow agents one by one: /api/agents/{agent_id}/events",
    )
}

const TOO_MANY_AGENTS: &str = "too_many_agents";

fn last_event_id(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let id = headers.get("last-event-id").map(|id| id.to_str());
    id.transpose()
        .map_err(|_| bad_cursor("the header Last-Event-ID is not plain text"))
}

fn seq_of(id: &str) -> Result<u64, ApiError> {
    // A sign is taken by the parser of numbers and was never given out.
    let digits = id.bytes().all(|byte| byte.is_ascii_digit());
    let seq = id.parse().ok().filter(|_| digits);
    seq.ok_or_else(|| bad_cursor("the header Last-Event-ID is not the number of an event"))
}
