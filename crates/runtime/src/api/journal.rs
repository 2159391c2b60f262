//! Writing and reading the journal.

use std::sync::Arc;

use serde_json::Value;
use wakeful_core::journal::{Author, Category, Mutation, Note, Record, RecordId, Task, person_operation_id};
use wakeful_core::key::OperationId;
use wakeful_core::saga::SagaPhase;
use wakeful_ports::journal::{
    CommittedChange, Journal, JournalError, OperationStatus, RecordQuery, TaskFilter, WriteReceipt,
    WriteRequest,
};
use wakeful_store::rows::SagaRow;

use super::shared::Shared;
use crate::saga;

pub struct JournalApi {
    pub(super) shared: Arc<Shared>,
    pub(super) journal: Arc<dyn Journal>,
}

impl JournalApi {
    /// The fields of the records, in the same order.
    async fn fields(&self, records: &[Record]) -> Result<Vec<Value>, JournalError> {
        let ids: Vec<RecordId> = records.iter().map(|record| record.id().clone()).collect();
        let mut fields = self.journal.entities(ids.clone()).await?;
        Ok(ids.iter().filter_map(|id| fields.remove(id)).collect())
    }

    /// Writes on behalf of a person. Repeating a key repeats the result without writing again.
    pub async fn write(&self, mutation: Mutation, key: Option<String>) -> Result<WriteReceipt, JournalError> {
        let key = key.unwrap_or_else(|| {
            let bytes = self.shared.entropy.random_bytes();
            wakeful_core::key::Digest::from_bytes(bytes).to_string()
        });
        self.journal
            .write(WriteRequest {
                operation_id: person_operation_id(&key),
                author: Author::Person,
                mutation,
                at: self.shared.clock.now(),
            })
            .await
    }

    /// Lists tasks, newest first.
    pub async fn tasks(&self, filter: TaskFilter) -> Result<Vec<Task>, JournalError> {
        self.journal.tasks(filter).await
    }

    /// Lists notes, newest first, optionally only those of one task.
    pub async fn notes(&self, task: Option<RecordId>, limit: u32) -> Result<Vec<Note>, JournalError> {
        self.journal.notes(task, limit).await
    }

    /// Lists categories by name.
    pub async fn categories(&self) -> Result<Vec<Category>, JournalError> {
        self.journal.categories().await
    }

    /// Returns the fields of the records that match a query.
    pub async fn records(&self, listing: RecordQuery, limit: u32) -> Result<Vec<Value>, JournalError> {
        let records = self.journal.records(listing, limit).await?;
        self.fields(&records).await
    }

    /// Returns the fields of records of any kind whose id starts with this prefix, including tombstones.
    pub async fn found(&self, id_prefix: String, limit: u32) -> Result<Vec<Value>, JournalError> {
        let records = self.journal.records_with_prefix(id_prefix, limit).await?;
        self.fields(&records).await
    }

    /// Returns the changes committed after a position, oldest first, and the newest position.
    pub async fn changes(
        &self,
        after_seq: u64,
        limit: u32,
    ) -> Result<(Vec<CommittedChange>, u64), JournalError> {
        let changes = self.journal.changes(after_seq, limit).await?;
        Ok((changes, self.journal.last_seq().await?))
    }

    /// Lists unfinished sagas, oldest first, with the phase derived from both databases.
    pub async fn sagas(&self) -> Result<Vec<SagaRow>, JournalError> {
        let mut rows = self.shared.store.read(|view| view.unfinished_sagas()).await?;
        for row in rows.iter_mut().filter(|row| row.saga.phase == SagaPhase::Intent) {
            // If the journal cannot be read, the stored phase is returned.
            if let Ok(OperationStatus::Written) = self.journal.operation_status(row.saga.operation_id).await {
                row.saga.phase = SagaPhase::Journal;
            }
        }
        Ok(rows)
    }

    /// Resolves a stuck saga by keeping the journal as it is. Returns none if no such saga is stuck.
    pub async fn resolve_saga(&self, operation: OperationId) -> Result<Option<OperationId>, JournalError> {
        let kept = saga::resolve_stuck(&self.shared.store, self.shared.clock.as_ref(), operation).await?;
        Ok(kept.map(|saga| saga.operation_id))
    }
}
