//! HTTP endpoints for records of every kind: lists, writes, and committed changes.

use axum::http::StatusCode;
use wakeful_api::{
    GetRecord, JournalChangeList, JournalRecord, JournalRecordList, ListChanges, ListRecords, WriteJournal,
    WriteReceipt,
};
use wakeful_core::journal::WriteError;

use crate::error::ApiError;
use crate::journal::write;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default()
        .add(list)
        .add(show)
        .add(write_record)
        .add(changes)
}

async fn list(call: Call, asked: ListRecords) -> Result<JournalRecordList, ApiError> {
    let limit = asked.limit.0;
    let prefix = asked.prefix.as_ref().map(|prefix| prefix.as_str().to_owned());
    let missing = |refusal: WriteError| ApiError::of(StatusCode::NOT_FOUND, (&refusal).into());
    let found = match view::listing(asked).map_err(missing)? {
        Some(listing) => call.open()?.journal.records(listing, limit).await?,
        None => {
            call.open()?
                .journal
                .found(prefix.unwrap_or_default(), limit)
                .await?
        }
    };
    let records = found.into_iter().filter_map(view::record).collect();
    Ok(JournalRecordList { records })
}

async fn show(call: Call, asked: GetRecord) -> Result<JournalRecord, ApiError> {
    let id = asked.record_id.to_string();
    let found = call.open()?.journal.found(id.clone(), 1).await?;
    let found = found.into_iter().find_map(view::record);
    Ok(found.ok_or(WriteError::UnknownRecord { kind: "record", id })?)
}

async fn write_record(call: Call, asked: WriteJournal) -> Result<WriteReceipt, ApiError> {
    write(&call, view::mutation(asked.write)?, asked.key).await
}

async fn changes(call: Call, asked: ListChanges) -> Result<JournalChangeList, ApiError> {
    if i64::try_from(asked.after_seq).is_err() {
        let hint = "use the last sequence number that you received";
        return Err(ApiError::bad("bad_query", "after_seq is too large", hint));
    }
    let (changes, last_seq) = call
        .open()?
        .journal
        .changes(asked.after_seq, asked.limit.0)
        .await?;
    let changes = changes.iter().map(view::change).collect();
    Ok(JournalChangeList { changes, last_seq })
}
