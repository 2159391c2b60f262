//! Messages over HTTP.

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use wakeful_api::{Accepted, Admission, Attached, ErrorBody, SendMessage};
use wakeful_core::attachment;
use wakeful_core::conversation::Attachment;
use wakeful_core::id::{AgentId, TurnId};
use wakeful_core::key::Digest;
use wakeful_core::message::{PROMPT_BYTES_MAX, Wishes};
use wakeful_core::run::ROUNDS_MAX;
use wakeful_runtime::desk::Post;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentPath, Laden};
use crate::rate::Key;
use crate::whole::whole;
use crate::{guard, view};

/// The header that names a message.
const KEY_HEADER: &str = "idempotency-key";

/// Most tools that a message may forbid. There are fewer.
const DENY_TOOLS_MAX: usize = 64;

/// Longest name of a model or a folder: the longest path that Linux takes.
const NAME_BYTES_MAX: usize = 4_096;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/agents/{agent_id}/messages", post(send))
}

/// An agent that may be sent one more message this minute. Counted before the body is read.
pub(crate) struct Addressed(AgentId);

impl FromRequestParts<App> for Addressed {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let AgentPath(agent) = AgentPath::from_request_parts(parts, app).await?;
        let key = Key::Agent(agent.to_string());
        guard::count(app, &key, app.limits.turns_per_minute)?;
        Ok(Self(agent))
    }
}

/// Puts a message into an agent's queue. It is durable when this answers.
#[utoipa::path(
    post, path = "/api/agents/{agent_id}/messages", tag = "messages", operation_id = "send_message",
    params(
        view::AgentParam,
        ("Idempotency-Key" = Option<String>, Header, description = "Names this message, like `key` in the body",
            nullable = false, min_length = 1, max_length = 200, pattern = "^[!-~]([ -~]*[!-~])?$"),
    ),
    request_body = SendMessage,
    responses(
        (status = 202, description = "It is kept; its run answers it, now or later", body = Accepted),
        (status = 404, description = "There is no such agent", body = ErrorBody),
        (status = 409, description = "The key was used before, for another message", body = ErrorBody),
        (status = 422, description = "The model, the workspace or a tool is not to be had here", body = ErrorBody),
    ),
)]
pub(crate) async fn send(
    State(app): State<App>,
    Addressed(agent): Addressed,
    headers: HeaderMap,
    Laden(told): Laden<SendMessage>,
) -> Result<(StatusCode, Json<Accepted>), ApiError> {
    let turn = match key(&headers, told.key.as_deref())? {
        Some(key) => TurnId::parse(key)?,
        None => TurnId::parse(&Digest::from_bytes(app.entropy.bytes32()).to_string())?,
    };
    check(&told)?;
    let SendMessage {
        text,
        model,
        max_rounds,
        workspace,
        deny_tools,
        ask_tools,
        attachments,
        priority,
        ..
    } = told;
    let attachments = attached(attachments)?;
    let wishes = Wishes {
        model_ref: model,
        max_rounds,
        workspace,
        deny_tools: deny_tools.into_iter().collect(),
        ask_tools: ask_tools.into_iter().collect(),
    };
    let post = Post {
        agent: agent.clone(),
        turn,
        text,
        attachments,
        wishes: app.host.wishes(wishes).map_err(ApiError::unusable)?,
        priority: view::priority(priority),
    };
    let desk = app.desk()?;
    let posted = whole(async move { desk.post(post).await }).await;
    let posted = posted.map_err(|error| app.engine_error(&error))?;
    app.metrics.message_accepted();
    let accepted = Accepted {
        run_key: posted.run_key.to_string(),
        agent_id: agent.to_string(),
        admission: if posted.is_new {
            Admission::New
        } else {
            Admission::Known
        },
    };
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

/// The caller's name for what is sent, which may stand in two places but must be one.
pub(crate) fn key<'a>(headers: &'a HeaderMap, in_body: Option<&'a str>) -> Result<Option<&'a str>, ApiError> {
    let mut in_headers = headers.get_all(KEY_HEADER).iter();
    let (first, second) = (in_headers.next(), in_headers.next());
    let in_header = first.map(|value| {
        let text = value.to_str();
        text.map_err(|_| ApiError::bad("bad_id", "Idempotency-Key is not ASCII", "use letters and digits"))
    });
    match (in_header.transpose()?, in_body) {
        _ if second.is_some() => Err(two_keys()),
        (Some(header), Some(body)) if header != body => Err(two_keys()),
        (Some(header), _) => Ok(Some(header)),
        (None, body) => Ok(body),
    }
}

fn two_keys() -> ApiError {
    let message = "there are two keys: Idempotency-Key and `key` differ, or the header is there twice";
    ApiError::unmet("two_keys", message, "send one of them, or the same in both")
}

/// What comes with a message, checked.
fn attached(attachments: Vec<Attached>) -> Result<Vec<Attachment>, ApiError> {
    let attachments: Vec<Attachment> = attachments.into_iter().map(view::attachment).collect();
    attachment::check(&attachments).map_err(|error| {
        let hint = "attach pictures, PDFs and plain text, or put other files into the workspace";
        ApiError::unmet("bad_attachment", format!("attachments: {error}"), hint)
    })?;
    Ok(attachments)
}

/// The bounds that the wire type promises.
fn check(told: &SendMessage) -> Result<(), ApiError> {
    let long = |name: &Option<String>| {
        name.as_ref()
            .is_some_and(|name| name.is_empty() || name.len() > NAME_BYTES_MAX)
    };
    let wrong = if told.text.is_empty() || told.text.len() > PROMPT_BYTES_MAX {
        format!("text: must have 1 to {PROMPT_BYTES_MAX} bytes")
    } else if long(&told.model) {
        format!("model: must have 1 to {NAME_BYTES_MAX} bytes")
    } else if long(&told.workspace) {
        format!("workspace: must have 1 to {NAME_BYTES_MAX} bytes")
    } else if told
        .max_rounds
        .is_some_and(|rounds| !(1..=ROUNDS_MAX).contains(&rounds))
    {
        format!("max_rounds: must be 1 to {ROUNDS_MAX}")
    } else if told.deny_tools.len() > DENY_TOOLS_MAX {
        format!("deny_tools: must name at most {DENY_TOOLS_MAX}")
    } else if told.ask_tools.len() > DENY_TOOLS_MAX {
        format!("ask_tools: must name at most {DENY_TOOLS_MAX}")
    } else {
        return Ok(());
    };
    let hint = "GET /api/openapi.json describes the body of each path";
    Err(ApiError::bad("bad_field", wrong, hint))
}
