//! The one shape of an answer that is not a success.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use wakeful_api::{ErrorBody, Problem as Wire};
use wakeful_core::decision::Unanswerable;
use wakeful_core::failure::{SUMMARY_CHARS_MAX, clip};
use wakeful_core::id::BadId;
use wakeful_core::journal::Refusal;
use wakeful_core::outside::BadSource;
use wakeful_core::schedule::ScheduleError;
use wakeful_core::timer::TimerError;
use wakeful_ports::journal::JournalError;
use wakeful_runtime::api::subscription::Subscribing;
use wakeful_runtime::outside::OutsideError;
use wakeful_runtime::problem::Problem;
use wakeful_runtime::{EngineError, ScheduleFault, StoreError};

use crate::rate::Key;

/// When to ask again while a daemon starts or stops: about as long as that takes.
const SOON_S: u64 = 1;

/// A failure on its way to a client.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: String,
    message: String,
    hint: String,
    retry_after_s: Option<u64>,
    /// What the engine said, for the log and for a caller in this process.
    cause: Option<Box<EngineError>>,
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
            cause: None,
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

    /// What is asked for is not there.
    pub(crate) fn unknown(code: &str, message: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message, hint)
    }

    /// What has the right form and does not go together with the state of this machine or with itself.
    pub(crate) fn conflict(code: &str, message: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::CONFLICT, code, message, hint)
    }

    /// What the binary said about a well-formed wish that cannot be met on this machine.
    pub(crate) fn unusable(problem: Problem) -> Self {
        let Problem { code, message, hint } = problem;
        Self::new(StatusCode::CONFLICT, code, message, hint)
    }

    /// What somebody may not do, whatever they say.
    pub(crate) fn forbidden(problem: Problem) -> Self {
        let Problem { code, message, hint } = problem;
        Self::new(StatusCode::FORBIDDEN, code, message, hint)
    }

    /// The same, about the journal and not about the agents' own database.
    fn of_journal(self) -> Self {
        let message = format!("the journal: {}", self.message);
        Self { message, ..self }
    }

    /// The error of the engine behind it.
    pub(crate) fn cause(&self) -> Option<&EngineError> {
        self.cause.as_deref()
    }

    /// The same with everything that the engine said, for a caller that may read every file itself.
    pub(crate) fn in_full(self) -> Self {
        let Some(cause) = &self.cause else { return self };
        let short = cause.to_string();
        let message = self.message.replace(&short, &Problem::from(&**cause).message);
        Self { message, ..self }
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

    /// Whether the fault is on our side, so that the log says more.
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
        | EngineError::Unanswerable(Unanswerable::NoOption { .. })
        | EngineError::Schedule(ScheduleFault::Unknown(_)) => StatusCode::NOT_FOUND,
        EngineError::Subscribing(error) => match error {
            Subscribing::Unknown(_) => StatusCode::NOT_FOUND,
            Subscribing::Exists(_)
            | Subscribing::AgentFull(_)
            | Subscribing::Full
            | Subscribing::Terms(_) => StatusCode::CONFLICT,
            Subscribing::Journal(_) => StatusCode::SERVICE_UNAVAILABLE,
        },
        EngineError::Schedule(ScheduleFault::Bad(error)) => status_of_schedule(error),
        EngineError::Unanswerable(Unanswerable::NoteTooLong) => StatusCode::BAD_REQUEST,
        EngineError::Unanswerable(Unanswerable::NotAllowed { .. }) => StatusCode::FORBIDDEN,
        EngineError::AmbiguousDecision(_)
        | EngineError::Past(_)
        | EngineError::Unanswerable(
            Unanswerable::Closed { .. } | Unanswerable::Changed { .. } | Unanswerable::Late { .. },
        )
        | EngineError::NotQuarantined { .. }
        | EngineError::Schedule(
            ScheduleFault::TooMany(_)
            | ScheduleFault::EventFull(_)
            | ScheduleFault::Exists(_)
            | ScheduleFault::Status { .. }
            | ScheduleFault::Over { .. },
        )
        | EngineError::Undecided { .. }
        | EngineError::Braked { .. }
        | EngineError::Quarantined { .. } => StatusCode::CONFLICT,
        EngineError::Refused(_)
        | EngineError::Lifecycle { .. }
        | EngineError::KeyReused { .. }
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
        EngineError::Store(error) => status_of_store(error),
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let Problem { code, hint, .. } = Problem::from(&error);
        // Causes stay inside: they may name paths and addresses of the database.
        let answer = Self::new(status_of(&error), code, error.to_string(), hint);
        let answer = Self {
            cause: Some(Box::new(error)),
            ..answer
        };
        match answer.status {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => answer.retry_after(SOON_S),
            _ => answer,
        }
    }
}

impl From<JournalError> for ApiError {
    fn from(error: JournalError) -> Self {
        let Problem { code, message, hint } = (&error).into();
        let status = match error {
            JournalError::Refused(refusal) => return refusal.into(),
            JournalError::Missing | JournalError::Another => StatusCode::SERVICE_UNAVAILABLE,
            JournalError::Store(error) => return Self::from(EngineError::Store(error)).of_journal(),
        };
        Self::new(status, code, message, hint)
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let status = status_of_refusal(&refusal);
        Self::new(status, refusal.code(), refusal.to_string(), refusal.hint())
    }
}

impl From<OutsideError> for ApiError {
    fn from(error: OutsideError) -> Self {
        let Problem { code, message, hint } = (&error).into();
        match error {
            OutsideError::Journal(error) => error.into(),
            OutsideError::Bad(BadSource::Unknown(_)) => Self::new(StatusCode::NOT_FOUND, code, message, hint),
            OutsideError::Bad(_) => Self::new(StatusCode::CONFLICT, code, message, hint),
        }
    }
}

impl From<BadId> for ApiError {
    fn from(error: BadId) -> Self {
        let status = StatusCode::BAD_REQUEST;
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
            cause: _,
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

const fn status_of_store(error: &StoreError) -> StatusCode {
    match error {
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
    }
}

/// Which times a pattern means, which zones this machine has and what time it is: no schema says that.
fn status_of_schedule(error: &TimerError) -> StatusCode {
    match error {
        TimerError::When(
            ScheduleError::Pattern(_)
            | ScheduleError::Zone(_)
            | ScheduleError::Impossible
            | ScheduleError::Exhausted,
        )
        | TimerError::Field { field: "at", .. } => StatusCode::CONFLICT,
        TimerError::When(ScheduleError::Form { .. } | ScheduleError::Kind | ScheduleError::TooMany)
        | TimerError::Field { .. } => StatusCode::BAD_REQUEST,
    }
}

/// A client that reads only the status must be told rightly whether to change the request or to give up.
fn status_of_refusal(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::UnknownTask(_) | Refusal::UnknownCategory(_) | Refusal::UnknownRecord { .. } => {
            StatusCode::NOT_FOUND
        }
        Refusal::CategoryExists(_)
        | Refusal::CategoryInUse { .. }
        | Refusal::Removed { .. }
        | Refusal::NotRemoved { .. }
        | Refusal::TimerRuns(_)
        | Refusal::TimerStopped(_)
        | Refusal::LinkExists(_)
        | Refusal::OperationReused
        | Refusal::OperationUndone
        | Refusal::ChangedSince { .. }
        | Refusal::EndsBeforeStart { .. }
        | Refusal::NotOnDay { .. }
        | Refusal::BadOrder
        | Refusal::OutOfRange { .. }
        | Refusal::TooMany { .. }
        | Refusal::LinkToSelf
        | Refusal::NothingToChange => StatusCode::CONFLICT,
        Refusal::Empty { .. }
        | Refusal::TooLong { .. }
        | Refusal::Control { .. }
        | Refusal::BadId { .. }
        | Refusal::BadStatus
        | Refusal::BadDay
        | Refusal::BadTime { .. }
        | Refusal::BadScale
        | Refusal::BadLinkKind => StatusCode::BAD_REQUEST,
    }
}
