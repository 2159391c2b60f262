//! The journal over HTTP.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::{
    CreateCategory, CreateNote, CreateTask, ErrorBody, JournalCategoryList, NoteList, SagaList, Task,
    TaskList, TaskStatus, UpdateTask, Written,
};
use wakeful_core::id::TurnId;
use wakeful_core::journal::{Mutation, RECORD_ID_DIGITS, RecordId, Refusal};
use wakeful_core::key::{Digest, OperationId};
use wakeful_ports::journal::{JournalError, TaskFilter};
use wakeful_runtime::EngineError;
use wakeful_runtime::problem::Problem;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Told, limit};
use crate::view;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/journal/tasks", get(tasks).post(create_task))
        .route("/api/journal/tasks/{task_id}", get(task).post(update_task))
        .route("/api/journal/notes", get(notes).post(create_note))
        .route("/api/journal/categories", get(categories).post(create_category))
        .route("/api/journal/sagas", get(sagas))
        .route("/api/journal/sagas/{operation_id}/keep", post(keep))
}

/// Which tasks to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Tasks {
    /// Only those that stand like this.
    #[param(nullable = false)]
    status: Option<TaskStatus>,
    /// Only those whose id begins like this.
    #[param(nullable = false, min_length = 1, max_length = 32, pattern = "^[0-9a-f]+$")]
    prefix: Option<String>,
    /// Most tasks, from the newest back.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// Which notes to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Notes {
    /// Only those about this task.
    #[param(
        nullable = false,
        min_length = 32,
        max_length = 32,
        pattern = "^[0-9a-f]{32}$"
    )]
    task_id: Option<String>,
    /// Most notes, from the newest back.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// Tasks, newest first.
#[utoipa::path(
    get, path = "/api/journal/tasks", tag = "journal", operation_id = "journal_tasks", params(Tasks),
    responses((status = 200, description = "The tasks", body = TaskList)),
)]
pub(crate) async fn tasks(
    State(app): State<App>,
    Asked(asked): Asked<Tasks>,
) -> Result<Json<TaskList>, ApiError> {
    let filter = TaskFilter {
        status: asked.status.map(view::task_status),
        id_prefix: asked.prefix.map(prefix).transpose()?,
        limit: limit(asked.limit)?,
    };
    let tasks = app.open()?.journal.tasks(filter).await;
    let tasks = tasks.map_err(|error| app.journal_error(error))?;
    Ok(Json(TaskList {
        tasks: tasks.iter().map(view::task).collect(),
    }))
}

pub(crate) fn prefix(given: String) -> Result<String, ApiError> {
    let is_hex = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
    if given.is_empty() || given.len() > RECORD_ID_DIGITS || !given.bytes().all(is_hex) {
        return Err(ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad_record_id",
            "prefix is 1 to 32 lower-case hex digits",
            "take it from a list",
        ));
    }
    Ok(given)
}

/// One task.
#[utoipa::path(
    get, path = "/api/journal/tasks/{task_id}", tag = "journal", operation_id = "journal_task",
    params(("task_id" = String, Path, description = "The task's id", pattern = "^[0-9a-f]{32}$")),
    responses(
        (status = 200, description = "The task", body = Task),
        (status = 404, description = "There is no such task", body = ErrorBody),
    ),
)]
pub(crate) async fn task(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Task>, ApiError> {
    let id = record_id("task_id", &id)?;
    let filter = TaskFilter {
        id_prefix: Some(id.to_string()),
        limit: 1,
        ..TaskFilter::default()
    };
    let tasks = app.open()?.journal.tasks(filter).await;
    let tasks = tasks.map_err(|error| app.journal_error(error))?;
    let unknown = || app.journal_error(Refusal::UnknownTask(id.to_string()).into());
    tasks.first().map(view::task).map(Json).ok_or_else(unknown)
}

/// Makes a task.
#[utoipa::path(
    post, path = "/api/journal/tasks", tag = "journal", operation_id = "journal_create_task",
    request_body = CreateTask,
    responses(
        (status = 200, description = "It is written", body = Written),
        (status = 404, description = "There is no such category", body = ErrorBody),
        (status = 409, description = "The key was used before for another write", body = ErrorBody),
    ),
)]
pub(crate) async fn create_task(
    State(app): State<App>,
    Told(told): Told<CreateTask>,
) -> Result<Json<Written>, ApiError> {
    let mutation = Mutation::CreateTask {
        title: told.title,
        details: told.details.unwrap_or_default(),
        category: optional_id("category_id", told.category_id)?,
    };
    write(&app, mutation, told.key).await
}

/// Changes a task. What is left out stays.
#[utoipa::path(
    post, path = "/api/journal/tasks/{task_id}", tag = "journal", operation_id = "journal_update_task",
    params(("task_id" = String, Path, description = "The task's id", pattern = "^[0-9a-f]{32}$")),
    request_body = UpdateTask,
    responses(
        (status = 200, description = "It is written", body = Written),
        (status = 404, description = "There is no such task or category", body = ErrorBody),
        (status = 409, description = "The key was used before for another write", body = ErrorBody),
    ),
)]
pub(crate) async fn update_task(
    State(app): State<App>,
    Path(id): Path<String>,
    Told(told): Told<UpdateTask>,
) -> Result<Json<Written>, ApiError> {
    let mutation = Mutation::UpdateTask {
        task: record_id("task_id", &id)?,
        title: told.title,
        details: told.details,
        status: told.status.map(view::task_status),
        category: optional_id("category_id", told.category_id)?,
    };
    write(&app, mutation, told.key).await
}

/// Notes, newest first.
#[utoipa::path(
    get, path = "/api/journal/notes", tag = "journal", operation_id = "journal_notes", params(Notes),
    responses((status = 200, description = "The notes", body = NoteList)),
)]
pub(crate) async fn notes(
    State(app): State<App>,
    Asked(asked): Asked<Notes>,
) -> Result<Json<NoteList>, ApiError> {
    let task = optional_id("task_id", asked.task_id)?;
    let notes = app.open()?.journal.notes(task, limit(asked.limit)?).await;
    let notes = notes.map_err(|error| app.journal_error(error))?;
    Ok(Json(NoteList {
        notes: notes.iter().map(view::note).collect(),
    }))
}

/// Makes a note.
#[utoipa::path(
    post, path = "/api/journal/notes", tag = "journal", operation_id = "journal_create_note",
    request_body = CreateNote,
    responses(
        (status = 200, description = "It is written", body = Written),
        (status = 404, description = "There is no such task", body = ErrorBody),
        (status = 409, description = "The key was used before for another write", body = ErrorBody),
    ),
)]
pub(crate) async fn create_note(
    State(app): State<App>,
    Told(told): Told<CreateNote>,
) -> Result<Json<Written>, ApiError> {
    let task = optional_id("task_id", told.task_id)?;
    write(
        &app,
        Mutation::CreateNote {
            text: told.text,
            task,
        },
        told.key,
    )
    .await
}

/// Categories by name.
#[utoipa::path(
    get, path = "/api/journal/categories", tag = "journal", operation_id = "journal_categories",
    responses((status = 200, description = "The categories", body = JournalCategoryList)),
)]
pub(crate) async fn categories(State(app): State<App>) -> Result<Json<JournalCategoryList>, ApiError> {
    let categories = app.open()?.journal.categories().await;
    let categories = categories.map_err(|error| app.journal_error(error))?;
    Ok(Json(JournalCategoryList {
        categories: categories.iter().map(view::journal_category).collect(),
    }))
}

/// Makes a category.
#[utoipa::path(
    post, path = "/api/journal/categories", tag = "journal", operation_id = "journal_create_category",
    request_body = CreateCategory,
    responses(
        (status = 200, description = "It is written", body = Written),
        (status = 409, description = "The name is taken, or the key was used for another write", body = ErrorBody),
    ),
)]
pub(crate) async fn create_category(
    State(app): State<App>,
    Told(told): Told<CreateCategory>,
) -> Result<Json<Written>, ApiError> {
    write(&app, Mutation::CreateCategory { name: told.name }, told.key).await
}

/// Writes of agents to the journal that are not over, oldest first.
#[utoipa::path(
    get, path = "/api/journal/sagas", tag = "journal", operation_id = "sagas",
    responses((status = 200, description = "The sagas", body = SagaList)),
)]
pub(crate) async fn sagas(State(app): State<App>) -> Result<Json<SagaList>, ApiError> {
    let rows = app.open()?.journal.sagas().await;
    let rows = rows.map_err(|error| app.journal_error(error))?;
    Ok(Json(SagaList {
        sagas: rows.iter().map(view::saga).collect(),
    }))
}

/// Says that the journal is right as it is, although a stuck saga could not be taken back.
#[utoipa::path(
    post, path = "/api/journal/sagas/{operation_id}/keep", tag = "journal", operation_id = "keep_saga",
    params(("operation_id" = String, Path, description = "The operation", pattern = "^[0-9a-f]{64}$")),
    responses(
        (status = 200, description = "What is still not over", body = SagaList),
        (status = 404, description = "No such saga is stuck", body = ErrorBody),
    ),
)]
pub(crate) async fn keep(State(app): State<App>, Path(id): Path<String>) -> Result<Json<SagaList>, ApiError> {
    let operation = Digest::from_hex(&id).map(OperationId).ok_or_else(|| {
        let message = "an operation id is 64 lower-case hex digits";
        ApiError::bad(
            "bad_operation_id",
            message,
            "take it from the list of sagas, whole",
        )
    })?;
    let kept = app.open()?.journal.keep(operation).await;
    if kept.map_err(|error| app.journal_error(error))?.is_none() {
        let message = format!("no saga of operation {id} is stuck");
        let hint = "`wakeful saga list` shows those that are";
        return Err(ApiError::new(
            StatusCode::NOT_FOUND,
            "saga_unknown",
            message,
            hint,
        ));
    }
    sagas(State(app)).await
}

pub(crate) async fn write(
    app: &App,
    mutation: Mutation,
    key: Option<String>,
) -> Result<Json<Written>, ApiError> {
    let key = key.map(|key| TurnId::parse(&key)).transpose()?;
    let key = key.map(|key| key.to_string());
    let receipt = app.open()?.journal.write(mutation, key).await;
    let receipt = receipt.map_err(|error| app.journal_error(error))?;
    Ok(Json(view::written(&receipt)))
}

pub(crate) fn record_id(field: &'static str, given: &str) -> Result<RecordId, ApiError> {
    RecordId::parse(field, given).map_err(|refusal| misspelled(&refusal))
}

/// What cannot be read as what it is meant to be.
pub(crate) fn misspelled(refusal: &Refusal) -> ApiError {
    ApiError::new(
        status_of(refusal),
        refusal.code(),
        refusal.to_string(),
        refusal.hint(),
    )
}

fn optional_id(field: &'static str, given: Option<String>) -> Result<Option<RecordId>, ApiError> {
    given.map(|given| record_id(field, &given)).transpose()
}

impl App {
    /// An error of the journal on its way to a client. What broke inside is told to the host.
    pub(crate) fn journal_error(&self, error: JournalError) -> ApiError {
        let Problem { code, message, hint } = (&error).into();
        let status = match error {
            JournalError::Refused(refusal) => status_of(&refusal),
            JournalError::Missing | JournalError::Another => StatusCode::SERVICE_UNAVAILABLE,
            JournalError::Store(error) => {
                return self.engine_error(&EngineError::Store(error)).of_journal();
            }
        };
        ApiError::new(status, code, message, hint)
    }
}

/// A client that reads only the status must be told rightly whether to change the request or to give up.
fn status_of(refusal: &Refusal) -> StatusCode {
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
        | Refusal::ChangedSince { .. } => StatusCode::CONFLICT,
        Refusal::Empty { .. }
        | Refusal::TooLong { .. }
        | Refusal::Control { .. }
        | Refusal::BadId { .. }
        | Refusal::BadStatus
        | Refusal::TooMany { .. }
        | Refusal::BadDay
        | Refusal::BadTime { .. }
        | Refusal::EndsBeforeStart { .. }
        | Refusal::NotOnDay { .. }
        | Refusal::BadOrder
        | Refusal::BadScale
        | Refusal::OutOfRange { .. }
        | Refusal::BadLinkKind
        | Refusal::LinkToSelf
        | Refusal::NothingToChange => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
