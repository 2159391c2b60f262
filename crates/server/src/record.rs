//! Records of every kind over HTTP: lists, writes, and what was committed.

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use utoipa::IntoParams;
use wakeful_api::{
    ErrorBody, JournalChangeList, JournalOrder, JournalRecord, JournalRecordList, Listed, Written,
};
use wakeful_core::journal::Refusal;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Told, limit};
use crate::journal::{misspelled, prefix, record_id, write};
use crate::view;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/journal/records", get(records))
        .route("/api/journal/records/{record_id}", get(record))
        .route("/api/journal/writes", post(write_record))
        .route("/api/journal/changes", get(changes))
}

/// Which records to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Records {
    /// Of what kind.
    kind: Listed,
    /// Only those that belong to this record.
    #[param(
        nullable = false,
        min_length = 32,
        max_length = 32,
        pattern = "^[0-9a-f]{32}$"
    )]
    of: Option<String>,
    /// Only those of this day.
    #[param(nullable = false, pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    date: Option<String>,
    /// Only time entries that run.
    #[param(nullable = false)]
    running: Option<bool>,
    /// With the kind `any`: how the id begins.
    #[param(nullable = false, min_length = 1, max_length = 32, pattern = "^[0-9a-f]+$")]
    prefix: Option<String>,
    /// Most records.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// Which changes to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Changes {
    /// Only those after this place.
    #[param(nullable = false, minimum = 0, maximum = 9223372036854775807_i64, default = 0)]
    after_seq: Option<u64>,
    /// Most changes; the last transaction is told whole.
    #[param(nullable = false, minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// Records of a kind.
#[utoipa::path(
    get, path = "/api/journal/records", tag = "journal", operation_id = "journal_records", params(Records),
    responses(
        (status = 200, description = "The records", body = JournalRecordList),
        (status = 400, description = "What belongs to the kind is missing or misspelled", body = ErrorBody),
    ),
)]
pub(crate) async fn records(
    State(app): State<App>,
    Asked(asked): Asked<Records>,
) -> Result<Json<JournalRecordList>, ApiError> {
    let most = limit(asked.limit)?;
    let running = asked.running.unwrap_or(false);
    // Also where the kind does not ask for it: what is misspelled is told, not passed over.
    let digits = asked.prefix.map(prefix).transpose()?;
    let listing = view::listing(asked.kind, asked.of.as_deref(), asked.date.as_deref(), running);
    let found = match listing.map_err(|refusal| misspelled(&refusal))? {
        Some(listing) => app.open()?.journal.records(listing, most).await,
        None => {
            let digits = digits.map_or_else(|| prefix(String::new()), Ok)?;
            app.open()?.journal.found(digits, most).await
        }
    };
    let found = found.map_err(|error| app.journal_error(error))?;
    Ok(Json(JournalRecordList {
        records: found.into_iter().filter_map(view::record).collect(),
    }))
}

/// One record of any kind; a deleted one too.
#[utoipa::path(
    get, path = "/api/journal/records/{record_id}", tag = "journal", operation_id = "journal_record",
    params(("record_id" = String, Path, description = "The record's id", pattern = "^[0-9a-f]{32}$")),
    responses(
        (status = 200, description = "The record", body = JournalRecord),
        (status = 404, description = "There is no such record", body = ErrorBody),
    ),
)]
pub(crate) async fn record(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<JournalRecord>, ApiError> {
    let id = record_id("record_id", &id)?;
    let found = app.open()?.journal.found(id.to_string(), 1).await;
    let found = found.map_err(|error| app.journal_error(error))?;
    let unknown = || {
        let (kind, id) = ("record", id.to_string());
        app.journal_error(Refusal::UnknownRecord { kind, id }.into())
    };
    found
        .into_iter()
        .find_map(view::record)
        .map(Json)
        .ok_or_else(unknown)
}

/// Writes to the journal. Everything that one write touches is one transaction.
#[utoipa::path(
    post, path = "/api/journal/writes", tag = "journal", operation_id = "journal_write",
    request_body = JournalOrder,
    responses(
        (status = 200, description = "It is written", body = Written),
        (status = 400, description = "A field is misspelled", body = ErrorBody),
        (status = 404, description = "There is no such record", body = ErrorBody),
        (status = 409, description = "Something stands in the way, or the key was used for another write", body = ErrorBody),
    ),
)]
pub(crate) async fn write_record(
    State(app): State<App>,
    Told(told): Told<JournalOrder>,
) -> Result<Json<Written>, ApiError> {
    let mutation = view::mutation(told.write).map_err(|refusal| misspelled(&refusal))?;
    write(&app, mutation, told.key).await
}

/// What was committed after a place, oldest first: the outbox.
#[utoipa::path(
    get, path = "/api/journal/changes", tag = "journal", operation_id = "journal_changes", params(Changes),
    responses((status = 200, description = "The changes", body = JournalChangeList)),
)]
pub(crate) async fn changes(
    State(app): State<App>,
    Asked(asked): Asked<Changes>,
) -> Result<Json<JournalChangeList>, ApiError> {
    let after = asked.after_seq.unwrap_or(0);
    if i64::try_from(after).is_err() {
        return Err(ApiError::bad(
            "bad_field",
            "after_seq is too large".to_owned(),
            "give the last place that was told",
        ));
    }
    let told = app.open()?.journal.changes(after, limit(asked.limit)?).await;
    let (changes, last_seq) = told.map_err(|error| app.journal_error(error))?;
    Ok(Json(JournalChangeList {
        changes: changes.iter().map(view::change).collect(),
        last_seq,
    }))
}
