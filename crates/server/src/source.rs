//! Sources over HTTP: what is watched outside.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use wakeful_api::{AddSource, ErrorBody, Source, SourceList, SourceScan};
use wakeful_core::id::SourceId;
use wakeful_core::outside::BadSource;
use wakeful_runtime::outside::OutsideError;
use wakeful_runtime::problem::Problem;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::Told;
use crate::view;
use crate::whole::whole;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/sources", get(list).post(add))
        .route("/api/sources/{source_id}", delete(remove))
        .route("/api/sources/{source_id}/scan", post(scan))
}

/// All sources by name.
#[utoipa::path(
    get, path = "/api/sources", tag = "sources", operation_id = "sources",
    responses((status = 200, description = "The sources", body = SourceList)),
)]
pub(crate) async fn list(State(app): State<App>) -> Result<Json<SourceList>, ApiError> {
    let sources = app.open()?.outside.sources().await;
    let sources = sources.map_err(|error| app.outside_error(error))?;
    Ok(Json(SourceList {
        sources: sources.iter().map(view::source).collect(),
    }))
}

/// Watches a folder or a Git repository from now on. What is there already is read once and is no change, so this takes as
/// long as reading it. The same one again is the same one.
#[utoipa::path(
    post, path = "/api/sources", tag = "sources", operation_id = "add_source",
    request_body = AddSource,
    responses(
        (status = 200, description = "It is watched", body = Source),
        (status = 409, description = "The name or the place is taken, or there are too many", body = ErrorBody),
        (status = 422, description = "It cannot be watched; the message says why", body = ErrorBody),
    ),
)]
pub(crate) async fn add(
    State(app): State<App>,
    Told(new): Told<AddSource>,
) -> Result<Json<Source>, ApiError> {
    let (outside, new) = (app.open()?.outside, view::new_source(new)?);
    // Kept, read and settled in several transactions: whoever hangs up does not leave it half made.
    let added = whole(async move { outside.add(new).await }).await;
    let added = added.map_err(|error| app.outside_error(error))?;
    Ok(Json(view::source(&added)))
}

/// Watches a source no longer, and forgets what was seen of it.
#[utoipa::path(
    delete, path = "/api/sources/{source_id}", tag = "sources", operation_id = "remove_source",
    params(("source_id" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "It is gone; this is what it was", body = Source),
        (status = 404, description = "There is no such source", body = ErrorBody),
    ),
)]
pub(crate) async fn remove(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Source>, ApiError> {
    let (outside, id) = (app.open()?.outside, SourceId::parse(&id)?);
    let gone = whole(async move { outside.remove(id).await }).await;
    let gone = gone.map_err(|error| app.outside_error(error))?;
    Ok(Json(view::source(&gone)))
}

/// Looks at a source now.
#[utoipa::path(
    post, path = "/api/sources/{source_id}/scan", tag = "sources", operation_id = "scan_source",
    params(("source_id" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "What it came to", body = SourceScan),
        (status = 404, description = "There is no such source", body = ErrorBody),
        (status = 422, description = "It cannot be looked at; the message says why", body = ErrorBody),
    ),
)]
pub(crate) async fn scan(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<SourceScan>, ApiError> {
    let id = SourceId::parse(&id)?;
    let looked = app.open()?.outside.scan(id.clone()).await;
    let looked = looked.map_err(|error| app.outside_error(error))?;
    Ok(Json(view::source_scan(&id, looked)))
}

impl App {
    fn outside_error(&self, error: OutsideError) -> ApiError {
        let Problem { code, message, hint } = (&error).into();
        let status = match error {
            OutsideError::Journal(error) => return self.journal_error(error),
            OutsideError::Bad(bad) => status_of(&bad),
        };
        ApiError::new(status, code, message, hint)
    }
}

const fn status_of(bad: &BadSource) -> StatusCode {
    match bad {
        BadSource::Unknown(_) => StatusCode::NOT_FOUND,
        BadSource::AlreadyWatched { .. }
        | BadSource::Exists(_)
        | BadSource::Elsewhere(_)
        | BadSource::Busy(_)
        | BadSource::TooManySources => StatusCode::CONFLICT,
        BadSource::NoFolder(_)
        | BadSource::NotARepository(_)
        | BadSource::Reftable(_)
        | BadSource::BadPath
        | BadSource::InHome(_)
        | BadSource::InGit(_)
        | BadSource::TooManyFiles { .. }
        | BadSource::IgnoreTooLarge { .. }
        | BadSource::NamesTooLong(_)
        | BadSource::TooSlow(_)
        | BadSource::TooManyWatches(_) => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
