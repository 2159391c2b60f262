//! How a request is taken apart: paths, query strings and bodies, each with an answer that names what is wrong.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use wakeful_core::attachment::ATTACHMENTS_BYTES_MAX;
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_runtime::problem::Problem;

use crate::app::App;
use crate::error::ApiError;
use crate::guard::{Caller, Peer};

/// Largest body in bytes: four times the longest message, so that escaping never makes a good one too long.
pub(crate) const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Largest body of a message in bytes: all that may be attached, in base64, and what any other body may have.
pub(crate) const MESSAGE_BODY_BYTES_MAX: usize = BODY_BYTES_MAX + ATTACHMENTS_BYTES_MAX.div_ceil(3) * 4;

/// Longest wait for a body. On the slowest line that is still a line, a megabyte comes within it.
pub(crate) const BODY_READ_MS_MAX: u64 = 30_000;

/// Most rows that a list may be asked for.
pub(crate) const LIMIT_MAX: u32 = 500;

/// Rows of a list when nobody says how many.
pub(crate) const LIMIT_DEFAULT: u32 = 100;

/// An agent named in a path.
pub(crate) struct AgentPath(pub(crate) AgentId);

/// A run named in a path.
pub(crate) struct RunPath(pub(crate) RunKey);

/// A question named in a path, by the first digits of its name or all of them.
pub(crate) struct DecisionPath(pub(crate) String);

/// By which way a request came. Whoever shows the token is a program: the command line is one of them, and nothing that
/// it could say of itself another could not say.
pub(crate) struct By(pub(crate) Channel);

/// That the request does not come from a process which an agent's tool started: an agent never answers its own question.
pub(crate) struct NoTool;

/// A query string of known parameters.
pub(crate) struct Asked<T>(pub(crate) T);

/// A body of JSON.
pub(crate) struct Told<T>(pub(crate) T);

/// A body of JSON that may hold attachments.
pub(crate) struct Laden<T>(pub(crate) T);

impl<S: Send + Sync> FromRequestParts<S> for AgentPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let text = path_word(parts, state, "bad_id", "agent ids are lower-case words").await?;
        Ok(Self(AgentId::parse(&text)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RunPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let text = path_word(
            parts,
            state,
            "bad_run_key",
            "run keys are 64 lower-case hex digits",
        )
        .await?;
        run_key(&text).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for DecisionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let hint = "take it from a list of decisions; the first digits are enough";
        let text = path_word(parts, state, "bad_decision_id", hint).await?;
        let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if !(1..=64).contains(&text.len()) || !text.bytes().all(is_digit) {
            let message = "the name of a decision is 1 to 64 lower-case hex digits";
            return Err(ApiError::bad("bad_decision_id", message, hint));
        }
        Ok(Self(text))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for By {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        // The guard has put it there for every request of the API.
        match parts.extensions.get::<Caller>() {
            Some(Caller::Browser(_)) => Ok(Self(Channel::Page)),
            Some(Caller::Bearer) => Ok(Self(Channel::Api)),
            Some(Caller::InProcess) => Ok(Self(Channel::Cli)),
            Some(Caller::Anybody) | None => Err(ApiError::unauthorized()),
        }
    }
}

impl FromRequestParts<App> for NoTool {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Some(peer) = parts.extensions.get::<Peer>().copied() else {
            return Ok(Self);
        };
        let host = Arc::clone(&app.host);
        // It reads many small files.
        let looked = tokio::task::spawn_blocking(move || host.is_tool(peer)).await;
        match looked {
            Ok(false) => Ok(Self),
            // Whoever looked in vain does not know that it is a person.
            Ok(true) | Err(_) => Err(ApiError::forbidden(Problem::descends_from_tool())),
        }
    }
}

async fn path_word<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    code: &str,
    hint: &str,
) -> Result<String, ApiError> {
    let word = Path::<String>::from_request_parts(parts, state).await;
    word.map(|Path(word)| word)
        .map_err(|_| ApiError::bad(code, "the path is not UTF-8", hint))
}

/// Reads a run key.
pub(crate) fn run_key(text: &str) -> Result<RunKey, ApiError> {
    Digest::from_hex(text).map(RunKey).ok_or_else(|| {
        let message = "a run key is 64 lower-case hex digits";
        ApiError::bad("bad_run_key", message, "take it from a list of runs, whole")
    })
}

/// How many rows a list has.
pub(crate) fn limit(asked: Option<u32>) -> Result<u32, ApiError> {
    match asked.unwrap_or(LIMIT_DEFAULT) {
        limit @ 1..=LIMIT_MAX => Ok(limit),
        limit => {
            let message = format!("limit {limit} is not between 1 and {LIMIT_MAX}");
            Err(ApiError::bad(
                "bad_limit",
                message,
                "ask for several pages instead",
            ))
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        let Query(asked) = query.map_err(|rejection| {
            let hint = "GET /api/openapi.json lists the parameters of each path";
            ApiError::bad("bad_query", rejection.body_text(), hint)
        })?;
        Ok(Self(asked))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Told<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        told(request, BODY_BYTES_MAX).await.map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Laden<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        told(request, MESSAGE_BODY_BYTES_MAX).await.map(Self)
    }
}

/// Reads a body of any kind, of at most so many bytes.
pub(crate) async fn bounded(body: Body, bytes_max: usize) -> Result<Vec<u8>, ApiError> {
    let read = tokio::time::timeout(Duration::from_millis(BODY_READ_MS_MAX), read(body, bytes_max));
    read.await.unwrap_or_else(|_| Err(too_slow()))
}

/// Reads a body of JSON of at most so many bytes.
async fn told<T: DeserializeOwned>(request: Request, bytes_max: usize) -> Result<T, ApiError> {
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "the body is not declared as JSON",
            "send `Content-Type: application/json`",
        ));
    }
    parse(&bounded(body, bytes_max).await?)
}

fn is_json(headers: &HeaderMap) -> bool {
    let declared = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = declared.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

fn too_slow() -> ApiError {
    let message = "the body did not come in time";
    ApiError::new(
        StatusCode::REQUEST_TIMEOUT,
        "request_timeout",
        message,
        "send it again",
    )
}

async fn read(body: Body, bytes_max: usize) -> Result<Vec<u8>, ApiError> {
    // Not one byte of a body is waited for that declares itself too long.
    if usize::try_from(body.size_hint().lower()).is_ok_and(|declared| declared <= bytes_max) {
        return read_within(body, bytes_max).await;
    }
    Err(too_large(bytes_max))
}

fn too_large(bytes_max: usize) -> ApiError {
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_large",
        format!("the body has more than {bytes_max} bytes"),
        "put long text into a file of the workspace and send its name",
    )
}

async fn read_within(body: Body, bytes_max: usize) -> Result<Vec<u8>, ApiError> {
    match Limited::new(body, bytes_max).collect().await {
        Ok(collected) => Ok(collected.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(bytes_max)),
        Err(_) => Err(ApiError::bad(
            "body_broken",
            "the body ended before its end",
            "send it again",
        )),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // A list would be taken for the fields in their order, which nobody means.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(wrong_field(
            "the body is a list, and must be an object".to_owned(),
        ));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let told = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        match inner.classify() {
            Category::Data if path == "." => wrong_field(inner.to_string()),
            Category::Data => wrong_field(format!("{path}: {inner}")),
            Category::Syntax | Category::Eof | Category::Io => not_json(&inner),
        }
    })?;
    deserializer.end().map_err(|error| not_json(&error))?;
    Ok(told)
}

fn wrong_field(message: String) -> ApiError {
    let hint = "GET /api/openapi.json describes the body of each path";
    ApiError::bad("bad_field", message, hint)
}

fn not_json(error: &serde_json::Error) -> ApiError {
    ApiError::bad(
        "bad_json",
        format!("the body is not JSON: {error}"),
        "check it with a JSON parser",
    )
}

#[cfg(test)]
mod tests {
    use wakeful_api::SendMessage;

    use super::*;

    fn code_of(body: &str) -> String {
        let error = parse::<SendMessage>(body.as_bytes()).expect_err("an error");
        format!("{error:?}")
    }

    #[test]
    fn what_is_wrong_with_a_body_is_named() {
        assert!(code_of("{").contains("bad_json"));
        assert!(code_of("{\"text\":\"a\"} x").contains("bad_json"));
        assert!(code_of("{\"text\":\"a\",\"deny_tools\":[1]}").contains("deny_tools[0]"));
        assert!(code_of("{\"text\":\"a\",\"colour\":1}").contains("unknown field `colour`"));
        assert!(code_of("{}").contains("missing field `text`"));
    }

    #[test]
    fn a_body_nested_too_deeply_is_no_json_and_no_crash() {
        let deep = format!("{{\"text\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(code_of(&deep).contains("bad_"));
    }
}
