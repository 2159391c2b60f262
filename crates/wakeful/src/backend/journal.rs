//! The journal, at the daemon or in the database.

use std::sync::Arc;

use wakeful_api::client::Client;
use wakeful_api::{
    CreateCategory, CreateNote, CreateTask, JournalCategory, JournalCategoryList, JournalChangeList,
    JournalOrder, JournalRecord, JournalRecordList, JournalWrite, Listed, Note, NoteList, RecordKind, Saga,
    SagaList, Task, TaskList, TaskStatus, UpdateTask, Written,
};
use wakeful_core::journal::{Mutation, RECORD_ID_DIGITS, RecordId, Refusal};
use wakeful_core::key::{Digest, OperationId};
use wakeful_ports::journal::TaskFilter;
use wakeful_runtime::desk::{JournalClerk, JournalDesk};
use wakeful_runtime::problem::Problem;
use wakeful_server::view;
use wakeful_store::Store;

use crate::cli::Shared;
use crate::failure::Failure;
use crate::home::Home;
use crate::journal::{Access, HomeJournal, Source};
use crate::place::{Place, reading};
use crate::reach::daemon;
use crate::show::Out;
use crate::world::{RealClock, RealEntropy};

/// Where a verb asks for the journal.
pub(crate) enum JournalFront {
    /// The daemon, over its API.
    Daemon(Client),
    /// The databases, in this process.
    Here(Box<dyn JournalDesk>),
}

/// Which tasks to list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    pub(crate) status: Option<TaskStatus>,
    pub(crate) prefix: Option<String>,
    pub(crate) limit: u32,
}

/// Which records to list.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) kind: Listed,
    pub(crate) of: Option<String>,
    pub(crate) date: Option<String>,
    pub(crate) running: bool,
    pub(crate) limit: u32,
}

impl Wanted {
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

/// For verbs that only look.
pub(crate) async fn asking<T>(
    shared: &Shared,
    look: impl AsyncFnOnce(&JournalFront) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return look(&JournalFront::Daemon(client)).await;
    }
    let source = match shared.database() {
        Some(url) => Source::Server { url: url.to_owned() },
        None => Source::of(&Home::open(&shared.home()?)?, None),
    };
    reading(shared, async |store| {
        let journal = HomeJournal::new(store.clone(), source, Access::Read);
        let seen = look(&here(store, &journal)).await;
        journal.close().await;
        seen
    })
    .await
}

/// For verbs that change something.
pub(crate) async fn telling<T>(
    shared: &Shared,
    out: &Out,
    tell: impl AsyncFnOnce(&JournalFront) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return tell(&JournalFront::Daemon(client)).await;
    }
    let place = Place::open_for_writing(shared).await?;
    place
        .work(out, async |place| tell(&here(&place.store, &place.journal)).await)
        .await
}

fn here(store: &Store, journal: &Arc<HomeJournal>) -> JournalFront {
    JournalFront::Here(Box::new(clerk(store, journal)))
}

/// Who serves the journal of a home.
pub(crate) fn clerk(store: &Store, journal: &Arc<HomeJournal>) -> JournalClerk<Store> {
    JournalClerk {
        store: store.clone(),
        journal: Arc::clone(journal) as _,
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
    }
}

impl JournalFront {
    /// Tasks, newest first.
    pub(crate) async fn tasks(&self, tasks: Tasks) -> Result<Vec<Task>, Failure> {
        let Tasks {
            status,
            prefix,
            limit,
        } = tasks;
        match self {
            Self::Daemon(client) => {
                let status = status.map(|status| format!("&status={}", view::task_status(status).as_str()));
                let prefix = prefix.map(|prefix| format!("&prefix={prefix}"));
                let [status, prefix] = [status, prefix].map(Option::unwrap_or_default);
                let path = format!("/api/journal/tasks?limit={limit}{status}{prefix}");
                let list: TaskList = client.get(&path).await?;
                Ok(list.tasks)
            }
            Self::Here(desk) => {
                let filter = TaskFilter {
                    status: status.map(view::task_status),
                    id_prefix: prefix,
                    limit,
                };
                Ok(desk.tasks(filter).await?.iter().map(view::task).collect())
            }
        }
    }

    /// The one task whose id begins like this.
    pub(crate) async fn find(&self, given: &str) -> Result<Task, Failure> {
        let hex = digits(given, "task")?;
        let wanted = Tasks {
            prefix: Some(hex.clone()),
            limit: 2,
            ..Tasks::default()
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
        match self.record(&hex).await {
            Ok(record) if record.removed && record.kind == RecordKind::Task => refused(&Refusal::Removed {
                kind: "task",
                id: record.id,
            }),
            Ok(_) | Err(_) => refused(&Refusal::UnknownTask(hex)),
        }
    }

    /// Makes a task.
    pub(crate) async fn create_task(&self, new: CreateTask) -> Result<Written, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.post("/api/journal/tasks", &new).await?),
            Self::Here(desk) => {
                let mutation = Mutation::CreateTask {
                    title: new.title,
                    details: new.details.unwrap_or_default(),
                    category: optional_id("category_id", new.category_id)?,
                };
                Ok(view::written(&desk.write(mutation, new.key).await?))
            }
        }
    }

    /// Changes a task.
    pub(crate) async fn update_task(&self, task_id: &str, update: UpdateTask) -> Result<Written, Failure> {
        match self {
            Self::Daemon(client) => Ok(client
                .post(&format!("/api/journal/tasks/{task_id}"), &update)
                .await?),
            Self::Here(desk) => {
                let mutation = Mutation::UpdateTask {
                    task: RecordId::parse("task_id", task_id).map_err(|refusal| refused(&refusal))?,
                    title: update.title,
                    details: update.details,
                    status: update.status.map(view::task_status),
                    category: optional_id("category_id", update.category_id)?,
                };
                Ok(view::written(&desk.write(mutation, update.key).await?))
            }
        }
    }

    /// Notes, newest first.
    pub(crate) async fn notes(&self, task_id: Option<String>, limit: u32) -> Result<Vec<Note>, Failure> {
        match self {
            Self::Daemon(client) => {
                let task = task_id.map(|task| format!("&task_id={task}")).unwrap_or_default();
                let list: NoteList = client
                    .get(&format!("/api/journal/notes?limit={limit}{task}"))
                    .await?;
                Ok(list.notes)
            }
            Self::Here(desk) => {
                let notes = desk.notes(optional_id("task_id", task_id)?, limit).await?;
                Ok(notes.iter().map(view::note).collect())
            }
        }
    }

    /// Makes a note.
    pub(crate) async fn create_note(&self, new: CreateNote) -> Result<Written, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.post("/api/journal/notes", &new).await?),
            Self::Here(desk) => {
                let task = optional_id("task_id", new.task_id)?;
                let mutation = Mutation::CreateNote { text: new.text, task };
                Ok(view::written(&desk.write(mutation, new.key).await?))
            }
        }
    }

    /// Categories by name.
    pub(crate) async fn categories(&self) -> Result<Vec<JournalCategory>, Failure> {
        match self {
            Self::Daemon(client) => {
                let list: JournalCategoryList = client.get("/api/journal/categories").await?;
                Ok(list.categories)
            }
            Self::Here(desk) => Ok(desk
                .categories()
                .await?
                .iter()
                .map(view::journal_category)
                .collect()),
        }
    }

    /// Makes a category.
    pub(crate) async fn create_category(&self, new: CreateCategory) -> Result<Written, Failure> {
        match self {
            Self::Daemon(client) => Ok(client.post("/api/journal/categories", &new).await?),
            Self::Here(desk) => {
                let mutation = Mutation::CreateCategory { name: new.name };
                Ok(view::written(&desk.write(mutation, new.key).await?))
            }
        }
    }

    /// Writes, whatever it is.
    pub(crate) async fn write(&self, write: JournalWrite, key: Option<String>) -> Result<Written, Failure> {
        match self {
            Self::Daemon(client) => Ok(client
                .post("/api/journal/writes", &JournalOrder { write, key })
                .await?),
            Self::Here(desk) => {
                let mutation = view::mutation(write).map_err(|refusal| refused(&refusal))?;
                Ok(view::written(&desk.write(mutation, key).await?))
            }
        }
    }

    /// Records of a kind.
    pub(crate) async fn records(&self, wanted: Wanted) -> Result<Vec<JournalRecord>, Failure> {
        let Wanted {
            kind,
            of,
            date,
            running,
            limit,
        } = wanted;
        match self {
            Self::Daemon(client) => {
                let mut path = format!(
                    "/api/journal/records?kind={}&limit={limit}&running={running}",
                    kind.as_str()
                );
                for (name, value) in [("of", of), ("date", date)] {
                    if let Some(value) = value {
                        path.push_str(&format!("&{name}={value}"));
                    }
                }
                let list: JournalRecordList = client.get(&path).await?;
                Ok(list.records)
            }
            Self::Here(desk) => {
                let listing = view::listing(kind, of.as_deref(), date.as_deref(), running);
                let listing = listing.map_err(|refusal| refused(&refusal))?;
                let found = match listing {
                    Some(listing) => desk.records(listing, limit).await?,
                    None => Vec::new(),
                };
                Ok(found.into_iter().filter_map(view::record).collect())
            }
        }
    }

    /// The one record of any kind whose id begins like this; a deleted one too.
    pub(crate) async fn record(&self, given: &str) -> Result<JournalRecord, Failure> {
        let hex = digits(given, "record")?;
        let found = match self {
            Self::Daemon(client) => {
                let path = format!("/api/journal/records?kind=any&limit=2&prefix={hex}");
                let list: JournalRecordList = client.get(&path).await?;
                list.records
            }
            Self::Here(desk) => {
                let found = desk.found(hex.clone(), 2).await?;
                found.into_iter().filter_map(view::record).collect()
            }
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
    pub(crate) async fn changes(&self, after: Option<u64>, limit: u32) -> Result<JournalChangeList, Failure> {
        let after = match after {
            Some(after) => after,
            None => {
                let newest = self.changes_after(0, 1).await?.last_seq;
                newest.saturating_sub(u64::from(limit))
            }
        };
        self.changes_after(after, limit).await
    }

    async fn changes_after(&self, after: u64, limit: u32) -> Result<JournalChangeList, Failure> {
        match self {
            Self::Daemon(client) => Ok(client
                .get(&format!("/api/journal/changes?after_seq={after}&limit={limit}"))
                .await?),
            Self::Here(desk) => {
                let (changes, last_seq) = desk.changes(after, limit).await?;
                let changes = changes.iter().map(view::change).collect();
                Ok(JournalChangeList { changes, last_seq })
            }
        }
    }

    /// Sagas that are not over, oldest first.
    pub(crate) async fn sagas(&self) -> Result<Vec<Saga>, Failure> {
        match self {
            Self::Daemon(client) => {
                let list: SagaList = client.get("/api/journal/sagas").await?;
                Ok(list.sagas)
            }
            Self::Here(desk) => Ok(desk.sagas().await?.iter().map(view::saga).collect()),
        }
    }

    /// Says that the journal is right as it is.
    pub(crate) async fn keep(&self, operation_id: &str) -> Result<Vec<Saga>, Failure> {
        match self {
            Self::Daemon(client) => {
                let path = format!("/api/journal/sagas/{operation_id}/keep");
                let list: SagaList = client.post(&path, &()).await?;
                Ok(list.sagas)
            }
            Self::Here(desk) => {
                let unknown = || {
                    let message = format!("no saga of operation {operation_id} is stuck");
                    Failure::new(
                        "saga_unknown",
                        message,
                        "`wakeful saga list` shows those that are",
                    )
                };
                let operation = Digest::from_hex(operation_id)
                    .map(OperationId)
                    .ok_or_else(unknown)?;
                desk.keep(operation).await?.ok_or_else(unknown)?;
                Ok(desk.sagas().await?.iter().map(view::saga).collect())
            }
        }
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

fn optional_id(field: &'static str, given: Option<String>) -> Result<Option<RecordId>, Failure> {
    let id = given.map(|given| RecordId::parse(field, &given)).transpose();
    id.map_err(|refusal| refused(&refusal))
}

fn refused(refusal: &Refusal) -> Failure {
    let problem = Problem {
        code: refusal.code().to_owned(),
        message: refusal.to_string(),
        hint: refusal.hint().to_owned(),
    };
    problem.into()
}
