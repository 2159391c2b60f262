//! The error response, which has one shape for all failures.

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use wakeful_api::ErrorBody;
use wakeful_core::decision::AnswerError;
use wakeful_core::failure::{SUMMARY_CHARS_MAX, truncate_chars};
use wakeful_core::id::BadId;
use wakeful_core::journal::WriteError;
use wakeful_core::problem::Problem;
use wakeful_core::recurrence::RecurrenceError;
use wakeful_core::schedule::ScheduleError;
use wakeful_core::watch::BadSource;
use wakeful_ports::journal::JournalError;
use wakeful_ports::snapshot::SnapshotError;
use wakeful_runtime::api::subscription::SubscriptionError;
use wakeful_runtime::watch::WatchError;
use wakeful_runtime::{EngineError, ScheduleRefusal, StoreError};

use crate::rate::RateKey;

/// Seconds to wait while a daemon starts or stops: about as long as that takes.
const RETRY_AFTER_S: u64 = 1;

/// A [`Problem`] with the status and headers of its response.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    problem: Problem,
    retry_after_s: Option<u64>,
    /// The engine's error, for the log and for a caller in this process.
    cause: Option<Box<EngineError>>,
}

impl ApiError {
    pub(crate) fn new(
        status: StatusCode,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::of(status, Problem::new(code, message, hint))
    }

    pub(crate) fn of(status: StatusCode, problem: Problem) -> Self {
        // The message may repeat the input, which may be a megabyte.
        let message = truncate_chars(&problem.message, SUMMARY_CHARS_MAX);
        Self {
            status,
            problem: Problem { message, ..problem },
            retry_after_s: None,
            cause: None,
        }
    }

    /// The request cannot be understood.
    pub(crate) fn bad(code: &'static str, message: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message, hint)
    }

    /// The service is temporarily unavailable.
    pub(crate) fn unavailable(code: &'static str, message: &str, hint: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message, hint).retry_after(RETRY_AFTER_S)
    }

    pub(crate) fn too_many_connections() -> Self {
        let message = "too many connections are open";
        let hint = "try again in a moment and close idle connections; on the daemon's machine, `wakeful` commands use the home's \
            socket, which has its own connections";
        Self::unavailable("too_many_connections", message, hint)
    }

    pub(crate) fn recovering() -> Self {
        let message = "the daemon is starting and recovering unfinished work";
        Self::unavailable(
            "recovering",
            message,
            "try again in a moment; /readyz shows when it is ready",
        )
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
            "the request has no valid token, or not both parts of a browser login",
            "send `Authorization: Bearer …`, or log this browser in with `wakeful open`",
        )
    }

    pub(crate) fn rate_limited(key: &RateKey, retry_after_s: u64) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            format!("too many {} within a minute", key.noun()),
            key.hint(),
        )
        .retry_after(retry_after_s)
    }

    pub(crate) fn not_found(path: &str) -> Self {
        let message = format!("nothing exists at {path}");
        let hint = "GET /api/openapi.json lists all paths";
        Self::new(StatusCode::NOT_FOUND, "not_found", message, hint)
    }

    /// The requested object does not exist.
    pub(crate) fn unknown(code: &'static str, message: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message, hint)
    }

    /// A well-formed request that conflicts with the state of this machine or with itself.
    pub(crate) fn conflict(code: &'static str, message: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::CONFLICT, code, message, hint)
    }

    /// The engine's error behind it.
    pub(crate) fn cause(&self) -> Option<&EngineError> {
        self.cause.as_deref()
    }

    /// Adds the engine's full error, for a caller that can read every file anyway.
    pub(crate) fn in_full(mut self) -> Self {
        if let Some(cause) = &self.cause {
            let full = Problem::from(&**cause).message;
            self.problem.message = self.problem.message.replace(&cause.to_string(), &full);
        }
        self
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

    /// The JSON body of the response, for callers that write responses by hand.
    pub(crate) fn into_json(self) -> String {
        let error = self.problem;
        // It contains only strings, so serialization cannot fail.
        serde_json::to_string(&ErrorBody { error }).unwrap_or_default()
    }

    /// Whether the error is on the server's side, so that the log has more details.
    pub(crate) fn is_ours(&self) -> bool {
        self.status.is_server_error()
    }
}

/// Maps an error to a status. A client that reads only the status must learn whether to change the request,
/// to wait, or to give up.
fn status_of(error: &EngineError) -> StatusCode {
    match error {
        EngineError::UnknownAgent(_)
        | EngineError::UnknownRun(_)
        | EngineError::UnknownLimit(_)
        | EngineError::UnknownStep { .. }
        | EngineError::UnknownDecision(_)
        | EngineError::UnknownTrigger
        | EngineError::Unanswerable(AnswerError::NoOption { .. })
        | EngineError::Schedule(ScheduleRefusal::Unknown(_)) => StatusCode::NOT_FOUND,
        EngineError::Subscription(error) => match error {
            SubscriptionError::Unknown(_) => StatusCode::NOT_FOUND,
            SubscriptionError::Exists(_)
            | SubscriptionError::AgentFull(_)
            | SubscriptionError::Full
            | SubscriptionError::Terms(_) => StatusCode::CONFLICT,
            SubscriptionError::Journal(_) => StatusCode::SERVICE_UNAVAILABLE,
        },
        EngineError::Schedule(ScheduleRefusal::Bad(error)) => status_of_schedule(error),
        EngineError::Unanswerable(AnswerError::NoteTooLong) => StatusCode::BAD_REQUEST,
        EngineError::Unanswerable(AnswerError::NotAllowed { .. }) => StatusCode::FORBIDDEN,
        EngineError::AmbiguousDecision { .. }
        | EngineError::TimeInPast(_)
        | EngineError::Unanswerable(
            AnswerError::Closed { .. } | AnswerError::Changed { .. } | AnswerError::Late { .. },
        )
        | EngineError::NotQuarantined { .. }
        | EngineError::Schedule(
            ScheduleRefusal::TooMany(_)
            | ScheduleRefusal::EventFull(_)
            | ScheduleRefusal::Exists(_)
            | ScheduleRefusal::Status { .. }
            | ScheduleRefusal::Over { .. },
        )
        | EngineError::DecisionPending { .. }
        | EngineError::Braked { .. }
        | EngineError::Quarantined { .. } => StatusCode::CONFLICT,
        EngineError::Setting(_)
        | EngineError::Refused(_)
        | EngineError::Lifecycle { .. }
        | EngineError::KeyReused { .. }
        | EngineError::AgentBusy { .. }
        | EngineError::AgentExists(_)
        | EngineError::NotEnded { .. }
        | EngineError::RetryOpen { .. }
        | EngineError::NotErasable { .. }
        | EngineError::RunErased { .. }
        | EngineError::RunPruned { .. } => StatusCode::CONFLICT,
        EngineError::LeaseLost(_) | EngineError::NoEngine { .. } | EngineError::BudgetExceeded { .. } => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        EngineError::MachineVersion { .. }
        | EngineError::InvalidState { .. }
        | EngineError::CrashLoop { .. }
        | EngineError::Panicked(_) => StatusCode::INTERNAL_SERVER_ERROR,
        EngineError::Snapshot(SnapshotError::Missing(_)) => StatusCode::NOT_FOUND,
        EngineError::Snapshot(SnapshotError::Failed(_)) => StatusCode::INTERNAL_SERVER_ERROR,
        EngineError::Snapshot(
            SnapshotError::Unavailable(_)
            | SnapshotError::NoWorkspace(_)
            | SnapshotError::WorkspaceBusy(_)
            | SnapshotError::Locked,
        ) => StatusCode::CONFLICT,
        EngineError::Store(error) => status_of_store(error),
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        // Causes stay internal: they may contain paths and database addresses.
        let problem = Problem {
            message: error.to_string(),
            ..Problem::from(&error)
        };
        let mut answer = Self::of(status_of(&error), problem);
        answer.cause = Some(Box::new(error));
        match answer.status {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                answer.retry_after(RETRY_AFTER_S)
            }
            _ => answer,
        }
    }
}

impl From<JournalError> for ApiError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Refused(refusal) => refusal.into(),
            JournalError::Missing | JournalError::WrongJournal => {
                Self::of(StatusCode::SERVICE_UNAVAILABLE, (&error).into())
            }
            JournalError::Store(error) => {
                let mut answer = Self::from(EngineError::Store(error));
                answer.problem.message = format!("the journal: {}", answer.problem.message);
                answer
            }
        }
    }
}

impl From<WriteError> for ApiError {
    fn from(refusal: WriteError) -> Self {
        Self::of(status_of_refusal(&refusal), (&refusal).into())
    }
}

impl From<WatchError> for ApiError {
    fn from(error: WatchError) -> Self {
        let problem = Problem::from(&error);
        match error {
            WatchError::Journal(error) => error.into(),
            WatchError::Bad(BadSource::Unknown(_)) => Self::of(StatusCode::NOT_FOUND, problem),
            WatchError::Bad(_) => Self::of(StatusCode::CONFLICT, problem),
        }
    }
}

impl From<BadId> for ApiError {
    fn from(error: BadId) -> Self {
        let status = StatusCode::BAD_REQUEST;
        Self::new(status, "bad_id", error.to_string(), "choose another id")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self {
            status,
            problem: error,
            retry_after_s,
            cause: _,
        } = self;
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

/// Valid patterns, installed time zones and the current time are not part of the schema, so these errors
/// are conflicts.
fn status_of_schedule(error: &ScheduleError) -> StatusCode {
    match error {
        ScheduleError::When(
            RecurrenceError::Pattern(_)
            | RecurrenceError::Zone(_)
            | RecurrenceError::Impossible
            | RecurrenceError::Exhausted,
        )
        | ScheduleError::Field { field: "at", .. } => StatusCode::CONFLICT,
        ScheduleError::When(
            RecurrenceError::Form { .. } | RecurrenceError::Kind | RecurrenceError::TooMany,
        )
        | ScheduleError::Field { .. } => StatusCode::BAD_REQUEST,
    }
}

/// Maps a refused write to a status. A client that reads only the status must learn whether to change the
/// request or to give up.
fn status_of_refusal(refusal: &WriteError) -> StatusCode {
    match refusal {
        WriteError::UnknownTask(_) | WriteError::UnknownCategory(_) | WriteError::UnknownRecord { .. } => {
            StatusCode::NOT_FOUND
        }
        WriteError::CategoryExists(_)
        | WriteError::CategoryInUse { .. }
        | WriteError::Removed { .. }
        | WriteError::NotRemoved { .. }
        | WriteError::TimeEntryRunning(_)
        | WriteError::TimeEntryStopped(_)
        | WriteError::LinkExists(_)
        | WriteError::OperationReused
        | WriteError::OperationUndone
        | WriteError::ChangedSince { .. }
        | WriteError::EndsBeforeStart { .. }
        | WriteError::NotOnDay { .. }
        | WriteError::BadOrder
        | WriteError::OutOfRange { .. }
        | WriteError::TooMany { .. }
        | WriteError::LinkToSelf
        | WriteError::NothingToChange => StatusCode::CONFLICT,
        WriteError::Empty { .. }
        | WriteError::TooLong { .. }
        | WriteError::Control { .. }
        | WriteError::BadId { .. }
        | WriteError::BadStatus
        | WriteError::BadDay
        | WriteError::BadTime { .. }
        | WriteError::BadScale
        | WriteError::BadLinkKind => StatusCode::BAD_REQUEST,
    }
}
