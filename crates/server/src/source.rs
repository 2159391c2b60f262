//! HTTP handlers for sources: watched folders and Git repositories.

use wakeful_api::{AddSource, ListSources, RemoveSource, ScanSource, Source, SourceList, SourceScan};

use crate::error::ApiError;
use crate::route::{Call, Routes};
use crate::view;

pub(crate) fn routes() -> Routes {
    Routes::default().add(list).add(add).add(remove).add(scan)
}

async fn list(call: Call, _: ListSources) -> Result<SourceList, ApiError> {
    let sources = call.open()?.sources.sources().await?;
    let sources = sources.iter().map(view::source).collect();
    Ok(SourceList { sources })
}

async fn add(call: Call, asked: AddSource) -> Result<Source, ApiError> {
    Ok(view::source(
        &call.open()?.sources.add(view::new_source(asked)).await?,
    ))
}

async fn remove(call: Call, asked: RemoveSource) -> Result<Source, ApiError> {
    Ok(view::source(
        &call.open()?.sources.remove(asked.source_id.0).await?,
    ))
}

async fn scan(call: Call, asked: ScanSource) -> Result<SourceScan, ApiError> {
    let scanned = call.open()?.sources.scan(asked.source_id.0.clone()).await?;
    Ok(view::source_scan(&asked.source_id.0, scanned))
}
