//! The journal.

use wakeful_api::{
    Hex, JournalChangeList, JournalRecord, Limit, ListChanges, ListRecords, ListTasks, RecordKind,
    RecordListKind, Task,
};
use wakeful_core::journal::WriteError;
use wakeful_core::problem::Problem;

use super::Backend;
use crate::failure::Failure;

impl Backend {
    /// The one task whose id begins like this.
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
                format!("several tasks begin with {hex}"),
                "give more digits",
            )),
        }
    }

    /// A task that was deleted is not unknown, and can be brought back.
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

    /// The one record of any kind whose id begins like this; a deleted one too.
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
                format!("several records begin with {hex}"),
                "give more digits",
            )),
        }
    }

    /// What was committed after a place, oldest first. Without a place, the newest of all.
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

/// The first digits of an id.
fn digits(given: &str, kind: &str) -> Result<Hex<1, 32>, Failure> {
    Hex::try_from(given.to_ascii_lowercase()).map_err(|_| {
        let message = format!("{given:?} is no {kind} id");
        let hint = "lists such as `wakeful journal task list` show the ids; the first digits are enough";
        Failure::usage("bad_record_id", message, hint)
    })
}

fn refused(refusal: &WriteError) -> Failure {
    Problem::from(refusal).into()
}
