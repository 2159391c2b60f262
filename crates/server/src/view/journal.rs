//! Wire types of the journal.

use serde_json::Value;
use wakeful_api::{JournalCategory, JournalChange, JournalRecord, Note, Saga, Task, Text, WriteReceipt};
use wakeful_core::journal::{self, RecordId};
use wakeful_ports::journal::CommittedChange;
use wakeful_runtime::rows::SagaRow;

#[must_use]
pub fn task(task: &journal::Task) -> Task {
    Task {
        task_id: Text(task.id.clone()),
        title: task.title.clone(),
        details: task.details.clone(),
        status: task.status,
        category_id: task.category.as_ref().map(RecordId::to_string),
        created_at: task.created_at.rfc3339(),
        updated_at: task.updated_at.rfc3339(),
        version: task.version,
    }
}

#[must_use]
pub fn note(note: &journal::Note) -> Note {
    Note {
        note_id: note.id.to_string(),
        text: note.text.clone(),
        task_id: note.task.as_ref().map(RecordId::to_string),
        created_at: note.created_at.rfc3339(),
    }
}

#[must_use]
pub fn journal_category(category: &journal::Category) -> JournalCategory {
    JournalCategory {
        category_id: Text(category.id.clone()),
        name: category.name.clone(),
        created_at: category.created_at.rfc3339(),
    }
}

/// Builds a record of any kind from its fields. Returns `None` if they are not those of a record.
#[must_use]
pub fn record(fields: Value) -> Option<JournalRecord> {
    serde_json::from_value(fields).ok()
}

/// One record that a committed transaction wrote.
#[must_use]
pub fn change(change: &CommittedChange) -> JournalChange {
    JournalChange {
        seq: change.seq,
        host: change.unit.host.to_string(),
        counter: change.unit.counter,
        kind: change.unit.payload_type,
        record_id: change.unit.payload_id.clone(),
        tokens: change.tokens.clone(),
        author: change.author.to_text(),
        operation_id: change.operation_id.to_string(),
        at: change.at.rfc3339(),
    }
}

/// The receipt of a write.
#[must_use]
pub fn written(receipt: &journal::WriteReceipt) -> WriteReceipt {
    WriteReceipt {
        kind: receipt.kind,
        record_id: receipt.record_id.to_string(),
        version: receipt.version,
    }
}

/// An incomplete saga.
#[must_use]
pub fn saga(row: &SagaRow) -> Saga {
    Saga {
        operation_id: row.saga.operation_id.to_string(),
        run_key: row.run_key.to_string(),
        agent_id: row.agent_id.as_ref().map(ToString::to_string),
        phase: row.saga.phase,
        status: row.saga.status,
        last_error: row.saga.last_error.clone(),
        updated_at: row.updated_at.rfc3339(),
    }
}
