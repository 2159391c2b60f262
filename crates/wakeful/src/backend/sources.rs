//! Watched folders and repositories.

use wakeful_api::{AddSource, Source, SourceList, SourceScan};
use wakeful_core::id::SourceId;

use super::Backend;
use crate::failure::Failure;

impl Backend {
    /// All of them by name.
    pub(crate) async fn sources(&self) -> Result<SourceList, Failure> {
        Ok(self.client.get("/api/sources").await?)
    }

    /// Watches something from now on.
    pub(crate) async fn add_source(&self, new: AddSource) -> Result<Source, Failure> {
        Ok(self.client.post("/api/sources", &new).await?)
    }

    /// Watches it no longer.
    pub(crate) async fn remove_source(&self, id: SourceId) -> Result<Source, Failure> {
        Ok(self.client.delete(&format!("/api/sources/{id}")).await?)
    }

    /// Looks at it now.
    pub(crate) async fn scan_source(&self, id: SourceId) -> Result<SourceScan, Failure> {
        Ok(self.client.post(&format!("/api/sources/{id}/scan"), &()).await?)
    }
}
