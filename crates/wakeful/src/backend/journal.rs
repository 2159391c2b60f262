//! The journal.

use wakeful_api::{
    CreateCategory, CreateNote, CreateTask, JournalCategory, JournalCategoryList, JournalChangeList,
    JournalOrder, JournalRecord, JournalRecordList, JournalWrite, Listed, Note, NoteList, RecordKind, Saga,
    SagaList, Task, TaskList, TaskStatus, UpdateTask, Written,
};
use wakeful_core::journal::{RECORD_ID_DIGITS, Refusal};
use wakeful_runtime::problem::Problem;
use wakeful_server::view;

use super::Backend;
use crate::failure::Failure;

/// Which tasks to list.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskFilter {
    pub(crate) status: Option<TaskStatus>,
    pub(crate) prefix: Option<String>,
    pub(crate) limit: u32,
}

/// Which records to list.
#[derive(Debug, Clone)]
pub(crate) struct RecordFilter {
    pub(crate) kind: Listed,
    pub(crate) of: Option<String>,
    pub(crate) date: Option<String>,
    pub(crate) running: bool,
    pub(crate) limit: u32,
}

impl RecordFilter {
    /// All of a kind.
    pub(crate) const fn all(kind: Listed, limit: u32) -> Self {
        Self {
            kind,
            of: None,
            date: None,
            running: false,
            limit,
        }
    }
}

impl Backend {
    /// Tasks, newest first.
    pub(crate) async fn tasks(&self, tasks: TaskFilter) -> Result<Vec<Task>, Failure> {
        let TaskFilter {
            status,
            prefix,
            limit,
        } = tasks;
        let status = status.map(|status| format!("&status={}", view::task_status(status).as_str()));
        let prefix = prefix.map(|prefix| format!("&prefix={prefix}"));
        let [status, prefix] = [status, prefix].map(Option::unwrap_or_default);
        let path = format!("/api/journal/tasks?limit={limit}{status}{prefix}");
        let list: TaskList = self.client.get(&path).await?;
        Ok(list.tasks)
    }

    /// The one task whose id begins like this.
    pub(crate) async fn find_task(&self, given: &str) -> Result<Task, Failure> {
        let hex = digits(given, "task")?;
        let wanted = TaskFilter {
            prefix: Some(hex.clone()),
            limit: 2,
            ..TaskFilter::default()
        };
        let mut found = self.tasks(wanted).await?.into_iter();
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
    async fn why_no_task(&self, hex: String) -> Failure {
        match self.journal_record(&hex).await {
            Ok(record) if record.removed && record.kind == RecordKind::Task => refused(&Refusal::Removed {
                kind: "task",
                id: record.id,
            }),
            Ok(_) | Err(_) => refused(&Refusal::UnknownTask(hex)),
        }
    }

    /// Makes a task.
    pub(crate) async fn create_task(&self, new: CreateTask) -> Result<Written, Failure> {
        Ok(self.client.post("/api/journal/tasks", &new).await?)
    }

    /// Changes a task.
    pub(crate) async fn update_task(&self, task_id: &str, update: UpdateTask) -> Result<Written, Failure> {
        Ok(self
            .client
            .post(&format!("/api/journal/tasks/{task_id}"), &update)
            .await?)
    }

    /// Notes, newest first.
    pub(crate) async fn notes(&self, task_id: Option<String>, limit: u32) -> Result<Vec<Note>, Failure> {
        let task = task_id.map(|task| format!("&task_id={task}")).unwrap_or_default();
        let list: NoteList = self
            .client
            .get(&format!("/api/journal/notes?limit={limit}{task}"))
            .await?;
        Ok(list.notes)
    }

    /// Makes a note.
    pub(crate) async fn create_note(&self, new: CreateNote) -> Result<Written, Failure> {
        Ok(self.client.post("/api/journal/notes", &new).await?)
    }

    /// Categories by name.
    pub(crate) async fn categories(&self) -> Result<Vec<JournalCategory>, Failure> {
        let list: JournalCategoryList = self.client.get("/api/journal/categories").await?;
        Ok(list.categories)
    }

    /// Makes a category.
    pub(crate) async fn create_category(&self, new: CreateCategory) -> Result<Written, Failure> {
        Ok(self.client.post("/api/journal/categories", &new).await?)
    }

    /// Writes one change to the journal.
    pub(crate) async fn write_journal(
        &self,
        write: JournalWrite,
        key: Option<String>,
    ) -> Result<Written, Failure> {
        Ok(self
            .client
            .post("/api/journal/writes", &JournalOrder { write, key })
            .await?)
    }

    /// Records of a kind.
    pub(crate) async fn journal_records(&self, wanted: RecordFilter) -> Result<Vec<JournalRecord>, Failure> {
        let RecordFilter {
            kind,
            of,
            date,
            running,
            limit,
        } = wanted;
        let mut path = format!(
            "/api/journal/records?kind={}&limit={limit}&running={running}",
            kind.as_str()
        );
        for (name, value) in [("of", of), ("date", date)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={value}"));
            }
        }
        let list: JournalRecordList = self.client.get(&path).await?;
        Ok(list.records)
    }

    /// The one record of any kind whose id begins like this; a deleted one too.
    pub(crate) async fn journal_record(&self, given: &str) -> Result<JournalRecord, Failure> {
        let hex = digits(given, "record")?;
        let found = {
            let path = format!("/api/journal/records?kind=any&limit=2&prefix={hex}");
            let list: JournalRecordList = self.client.get(&path).await?;
            list.records
        };
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (Some(record), None) => Ok(record),
            (None, _) => Err(refused(&Refusal::UnknownRecord {
                kind: "record",
                id: hex,
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
        let after = match after {
            Some(after) => after,
            None => {
                let newest = self.journal_changes_after(0, 1).await?.last_seq;
                newest.saturating_sub(u64::from(limit))
            }
        };
        self.journal_changes_after(after, limit).await
    }

    async fn journal_changes_after(&self, after: u64, limit: u32) -> Result<JournalChangeList, Failure> {
        Ok(self
            .client
            .get(&format!("/api/journal/changes?after_seq={after}&limit={limit}"))
            .await?)
    }

    /// Sagas that are not over, oldest first.
    pub(crate) async fn sagas(&self) -> Result<Vec<Saga>, Failure> {
        let list: SagaList = self.client.get("/api/journal/sagas").await?;
        Ok(list.sagas)
    }

    /// Says that the journal is right as it is.
    pub(crate) async fn keep_saga(&self, operation_id: &str) -> Result<Vec<Saga>, Failure> {
        let path = format!("/api/journal/sagas/{operation_id}/keep");
        let list: SagaList = self.client.post(&path, &()).await?;
        Ok(list.sagas)
    }
}

/// The first digits of an id.
fn digits(given: &str, kind: &str) -> Result<String, Failure> {
    let hex = given.to_ascii_lowercase();
    if hex.is_empty() || hex.len() > RECORD_ID_DIGITS || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        let message = format!("{given:?} is no {kind} id");
        let hint = "lists such as `wakeful journal task list` show the ids; the first digits are enough";
        return Err(Failure::usage("bad_record_id", message, hint));
    }
    Ok(hex)
}

fn refused(refusal: &Refusal) -> Failure {
    let problem = Problem {
        code: refusal.code().to_owned(),
        message: refusal.to_string(),
        hint: refusal.hint().to_owned(),
    };
    problem.into()
}
