//! The one shape of an answer that is not a success.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use wakeful_api::{ErrorBody, Problem as Wire};
use wakeful_core::decision::Unanswerable;
use wakeful_core::failure::{SUMMARY_CHARS_MAX, clip};
use wakeful_core::id::BadId;
use wakeful_runtime::desk::alert::Subscribing;
use wakeful_runtime::problem::Problem;
use wakeful_runtime::{EngineError, ScheduleFault, StoreError};

use crate::rate::Key;

/// When to ask again while a daemon starts or stops: about as long as that takes.
const SOON_S: u64 = 1;

/// A failure on its way to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: String,
    message: String,
    hint: String,
    retry_after_s: Option<u64>,
}

impl ApiError {
    pub(crate) fn new(
        status: StatusCode,
        code: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            status,
            code: code.into(),
            // It may repeat what was asked, which may be a megabyte.
            message: clip(&message.into(), SUMMARY_CHARS_MAX),
            hint: hint.into(),
            retry_after_s: None,
        }
    }

    /// What was asked cannot be understood.
    pub(crate) fn bad(code: &str, message: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message, hint)
    }

    /// Not now.
    pub(crate) fn unavailable(code: &str, message: &str, hint: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message, hint).retry_after(SOON_S)
    }

    /// Every connection is in use.
    pub(crate) fn too_many_connections() -> Self {
        let message = "too many connections are open";
        let hint = "try again in a moment and close idle connections; on the daemon's machine the `wakeful` commands \
                    use the home's socket, which has connections of its own";
        Self::unavailable("too_many_connections", message, hint)
    }

    pub(crate) fn recovering() -> Self {
        let message = "the daemon is starting and takes up what an earlier life left";
        Self::unavailable("recovering", message, "ask again in a moment; /readyz says when")
    }

    pub(crate) fn stopping() -> Self {
        Self::unavailable(
            "stopping",
            "the daemon is stopping",
            "start it again with `wakeful daemon start`",
        )
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the request carries no valid token, or not both parts of a browser's login",
            "send `Authorization: Bearer …`, or log this browser in with `wakeful open`",
        )
    }

    pub(crate) fn rate_limited(key: &Key, retry_after_s: u64) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            format!("too many {} within a minute", key.noun()),
            key.way_out(),
        )
        .retry_after(retry_after_s)
    }

    pub(crate) fn not_found(path: &str) -> Self {
        let message = format!("there is nothing at {path}");
        let hint = "GET /api/openapi.json lists what there is";
        Self::new(StatusCode::NOT_FOUND, "not_found", message, hint)
    }

    /// What has the right form and cannot be met all the same.
    pub(crate) fn unmet(code: &str, message: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message, hint)
    }

    /// What the binary said about a well-formed wish that cannot be met on this machine.
    pub(crate) fn unusable(problem: Problem) -> Self {
        let Problem { code, message, hint } = problem;
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message, hint)
    }

    /// What somebody may not do, whatever they say.
    pub(crate) fn forbidden(problem: Problem) -> Self {
        let Problem { code, message, hint } = problem;
        Self::new(StatusCode::FORBIDDEN, code, message, hint)
    }

    pub(crate) fn of_engine(error: &EngineError) -> Self {
        let Problem { code, hint, .. } = Problem::from(error);
        // Causes stay inside: they may name paths and addresses of the database.
        let answer = Self::new(status_of(error), code, error.to_string(), hint);
        match answer.status {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => answer.retry_after(SOON_S),
            _ => answer,
        }
    }

    /// The same in other words.
    pub(crate) fn with_message(self, message: String) -> Self {
        Self { message, ..self }
    }

    /// The same, about the journal and not about the agents' own database.
    pub(crate) fn of_journal(self) -> Self {
        let message = format!("the journal: {}", self.message);
        self.with_message(message)
    }

    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        let retry_after_s = Some(seconds);
        Self {
            retry_after_s,
            ..self
        }
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) const fn retry_after_s(&self) -> Option<u64> {
        self.retry_after_s
    }

    /// The body of its answer, for whoever writes answers by hand.
    pub(crate) fn into_json(self) -> String {
        let Self {
            code, message, hint, ..
        } = self;
        let error = Wire { code, message, hint };
        // It has only strings, so it always has a JSON form.
        serde_json::to_string(&ErrorBody { error }).unwrap_or_default()
    }

    /// Whether the fault is on our side, so that somebody should look at the log.
    pub(crate) fn is_ours(&self) -> bool {
        self.status.is_server_error()
    }
}

/// A client that reads only the status must be told rightly whether to change the request, to wait, or to give up.
fn status_of(error: &EngineError) -> StatusCode {
    match error {
        EngineError::UnknownAgent(_)
        | EngineError::UnknownRun(_)
        | EngineError::UnknownDecision(_)
        | EngineError::NoTrigger
        | EngineError::Schedule(ScheduleFault::Unknown(_)) => StatusCode::NOT_FOUND,
        EngineError::Subscribing(error) => match error {
            Subscribing::Unknown(_) => StatusCode::NOT_FOUND,
            Subscribing::Exists(_) | Subscribing::AgentFull(_) | Subscribing::Full => StatusCode::CONFLICT,
            Subscribing::Terms(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Subscribing::Journal(_) => StatusCode::SERVICE_UNAVAILABLE,
        },
        EngineError::AmbiguousDecision(_)
        | EngineError::Past(_)
        | EngineError::Schedule(
            ScheduleFault::Bad(_) | ScheduleFault::TooMany(_) | ScheduleFault::EventFull(_),
        )
        | EngineError::Unanswerable(Unanswerable::NoOption { .. } | Unanswerable::NoteTooLong) => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        EngineError::Unanswerable(Unanswerable::NotAllowed { .. }) => StatusCode::FORBIDDEN,
        EngineError::Unanswerable(
            Unanswerable::Closed { .. } | Unanswerable::Changed { .. } | Unanswerable::Late { .. },
        )
        | EngineError::NotQuarantined { .. }
        | EngineError::Schedule(
            ScheduleFault::Exists(_) | ScheduleFault::Status { .. } | ScheduleFault::Over { .. },
        )
        | EngineError::Undecided { .. }
        | EngineError::Braked { .. }
        | EngineError::Kept { .. }
        | EngineError::Quarantined { .. } => StatusCode::CONFLICT,
        EngineError::Refused(_)
        | EngineError::Lifecycle { .. }
        | EngineError::KeyReused { .. }
        | EngineError::Waits { .. }
        | EngineError::AgentBusy { .. }
        | EngineError::AgentExists(_)
        | EngineError::NotEnded { .. }
        | EngineError::ErasureRecord { .. }
        | EngineError::RunErased { .. }
        | EngineError::RunPruned { .. } => StatusCode::CONFLICT,
        EngineError::LeaseLost(_) | EngineError::NoEngine { .. } | EngineError::BudgetExceeded { .. } => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        EngineError::MachineVersion { .. }
        | EngineError::Broken { .. }
        | EngineError::CrashLoop { .. }
        | EngineError::Panicked(_) => StatusCode::INTERNAL_SERVER_ERROR,
        EngineError::Store(error) => match error {
            StoreError::Conflict | StoreError::FenceLost(_) | StoreError::Braked(_) => StatusCode::CONFLICT,
            StoreError::QueueFull(_) => StatusCode::TOO_MANY_REQUESTS,
            StoreError::Full | StoreError::ReadOnly | StoreError::Unreachable(_) | StoreError::Closed => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            StoreError::Corrupt(_)
            | StoreError::LogRemoved
            | StoreError::Foreign
            | StoreError::DevelopmentHome
            | StoreError::NewerSchema { .. }
            | StoreError::OlderSchema { .. }
            | StoreError::Absent
            | StoreError::BadAddress(_)
            | StoreError::Malformed(_)
            | StoreError::Device(_)
            | StoreError::Backend(_) => StatusCode::INTERNAL_SERVER_ERROR,
        },
    }
}

impl From<BadId> for ApiError {
    fn from(error: BadId) -> Self {
        let status = match error {
            BadId::Agent(_) | BadId::Turn | BadId::Trace => StatusCode::BAD_REQUEST,
            BadId::Rule(_) | BadId::Event(_) => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, "bad_id", error.to_string(), "choose another name")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self {
            status,
            code,
            message,
            hint,
            retry_after_s,
        } = self;
        let error = Wire { code, message, hint };
        let mut response = (status, Json(ErrorBody { error })).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"wakeful\""),
            );
        }
        response
    }
}
