//! Journal records: lookup by id prefix, and the list of changes.

use wakeful_api::{
    Hex, JournalChangeList, JournalRecord, Limit, ListChanges, ListRecords, ListTasks, RecordKind,
    RecordListKind, Task,
};
use wakeful_core::journal::WriteError;
use wakeful_core::problem::Problem;

use super::Backend;
use crate::failure::Failure;

impl Backend {
    /// Finds the one task whose id starts with the given prefix.
    pub(crate) async fn find_task(&self, given: &str) -> Result<Task, Failure> {
        let hex = digits(given, "task")?;
        let wanted = ListTasks {
            prefix: Some(hex.clone()),
            limit: Limit(2),
            ..ListTasks::default()
        };
        let mut found = self.call(wanted).await?.tasks.into_iter();
        let hex = hex.as_str();
        match (found.next(), found.next()) {
            (Some(task), None) => Ok(task),
            (None, _) => Err(self.why_no_task(hex).await),
            (Some(_), Some(_)) => Err(Failure::usage(
                "task_ambiguous",
                format!("several task ids start with {hex}"),
                "give more digits",
            )),
        }
    }

    /// Explains a failed lookup: a deleted task is reported as deleted, because it can be restored.
    async fn why_no_task(&self, hex: &str) -> Failure {
        match self.journal_record(hex).await {
            Ok(record) if record.removed && record.kind == RecordKind::Task => {
                refused(&WriteError::Removed {
                    kind: "task",
                    id: record.id.to_string(),
                })
            }
            Ok(_) | Err(_) => refused(&WriteError::UnknownTask(hex.to_owned())),
        }
    }

    /// Finds the one record of any kind, including deleted ones, whose id starts with the given prefix.
    pub(crate) async fn journal_record(&self, given: &str) -> Result<JournalRecord, Failure> {
        let hex = digits(given, "record")?;
        let wanted = ListRecords {
            prefix: Some(hex.clone()),
            ..ListRecords::all(RecordListKind::Any, Limit(2))
        };
        let mut found = self.call(wanted).await?.records.into_iter();
        let hex = hex.as_str();
        match (found.next(), found.next()) {
            (Some(record), None) => Ok(record),
            (None, _) => Err(refused(&WriteError::UnknownRecord {
                kind: "record",
                id: hex.to_owned(),
            })),
            (Some(_), Some(_)) => Err(Failure::usage(
                "record_ambiguous",
                format!("several record ids start with {hex}"),
                "give more digits",
            )),
        }
    }

    /// Changes after a sequence number, oldest first; without one, the newest changes.
    pub(crate) async fn journal_changes(
        &self,
        after: Option<u64>,
        limit: u32,
    ) -> Result<JournalChangeList, Failure> {
        let page = |after_seq, limit| self.call(ListChanges { after_seq, limit });
        let after = match after {
            Some(after) => after,
            None => {
                let newest = page(0, Limit(1)).await?.last_seq;
                newest.saturating_sub(u64::from(limit))
            }
        };
        page(after, Limit(limit)).await
    }
}

/// Parses an id prefix.
fn digits(given: &str, kind: &str) -> Result<Hex<1, 32>, Failure> {
    Hex::try_from(given.to_ascii_lowercase()).map_err(|_| {
        let message = format!("invalid {kind} id {given:?}");
        let hint = "lists such as `wakeful journal task list` show the ids; a unique prefix is enough";
        Failure::usage("bad_record_id", message, hint)
    })
}

fn refused(refusal: &WriteError) -> Failure {
    Problem::from(refusal).into()
}
