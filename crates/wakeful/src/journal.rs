//! The journal of a home: `db.sqlite` beside `agent.sqlite`, or a second schema on the same server. It is
//! opened on first use, and only if it is the journal that this home's agents wrote to: a lost journal must
//! not be silently replaced by an empty one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::OnceCell;
use wakeful_core::id::SourceId;
use wakeful_core::journal::{Author, Category, Note, Record, RecordId, Task};
use wakeful_core::key::OperationId;
use wakeful_core::time::Millis;
use wakeful_core::watch::{EntryState as KnownEntry, Source as Outside};
use wakeful_ports::clock::Clock as _;
use wakeful_ports::journal::{
    CommitListener, CommittedChange, Journal, JournalError, JournalFuture, OperationStatus, RecordQuery,
    TaskFilter, UndoOutcome, WriteReceipt, WriteRequest,
};
use wakeful_ports::watch::{AddSourceOutcome, SourceChanges, SourceStatus, SourceStore};
use wakeful_store::{
    CommitNotifier, JournalStore, PostgresOptions, SchemaUpgrade, SqliteOptions, Store, StoreError,
};

use crate::home::Home;
use crate::system::{RealClock, fresh_id};

/// Connections to a server. Two are enough, because the journal's writers are serialized.
const CONNECTIONS: usize = 2;

#[derive(Clone)]
pub(crate) enum JournalLocation {
    /// A database file in the home.
    File { path: PathBuf, blobs: PathBuf },
    /// A PostgreSQL server.
    Server { url: String },
}

impl JournalLocation {
    /// The home's own file, unless a server is given.
    pub(crate) fn of(home: &Home, database: Option<&str>) -> Self {
        match database {
            Some(url) => Self::Server { url: url.to_owned() },
            None => Self::File {
                path: home.journal(),
                blobs: home.blobs(),
            },
        }
    }

    async fn open(&self) -> Result<JournalStore, StoreError> {
        match self.clone() {
            Self::File { path, blobs } => {
                let open = move || JournalStore::open_sqlite(&SqliteOptions::new(path, blobs), &fresh_id());
                let opened = tokio::task::spawn_blocking(open).await;
                opened.map_err(|_| StoreError::Closed)?
            }
            Self::Server { url } => JournalStore::open_postgres(&options(url), &fresh_id()).await,
        }
    }

    async fn open_to_read(&self) -> Result<JournalStore, StoreError> {
        match self.clone() {
            Self::File { path, blobs } => {
                let open = move || JournalStore::open_sqlite_read_only(&SqliteOptions::new(path, blobs));
                let opened = tokio::task::spawn_blocking(open).await;
                opened.map_err(|_| StoreError::Closed)?
            }
            Self::Server { url } => JournalStore::open_postgres_read_only(&options(url)).await,
        }
    }
}

fn options(url: String) -> PostgresOptions {
    PostgresOptions {
        url,
        connections: CONNECTIONS,
    }
}

/// Whether a missing journal may be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    Read,
}

/// A journal that is opened on first use.
pub(crate) struct HomeJournal {
    /// The agents' database, which records the identity of the expected journal.
    store: Store,
    source: JournalLocation,
    access: Access,
    opened: OnceCell<JournalStore>,
    /// Notified after each commit. Listeners can subscribe before the journal is opened.
    commit_notifier: CommitNotifier,
}

impl HomeJournal {
    pub(crate) fn new(store: Store, source: JournalLocation, access: Access) -> Arc<Self> {
        Arc::new(Self {
            store,
            source,
            access,
            opened: OnceCell::new(),
            commit_notifier: CommitNotifier::default(),
        })
    }

    async fn get(&self) -> Result<&JournalStore, JournalError> {
        let open = || async {
            Ok(self
                .find()
                .await?
                .with_commit_notifier(self.commit_notifier.clone()))
        };
        self.opened.get_or_try_init(open).await
    }

    /// Opens the expected journal. If none is recorded yet, an existing or new journal is adopted.
    async fn find(&self) -> Result<JournalStore, JournalError> {
        let Some(meant) = self.store.read(|view| view.journal_host()).await? else {
            return match self.access {
                Access::Read => Ok(self.source.open_to_read().await?),
                Access::Write => self.adopt().await,
            };
        };
        let missing = |error| {
            if matches!(error, StoreError::Absent) {
                JournalError::Missing
            } else {
                error.into()
            }
        };
        let journal = self.source.open_to_read().await;
        let journal = match (journal, self.access) {
            // A writer upgrades a journal with an older schema.
            (Err(StoreError::OlderSchema { .. }), Access::Write) => self.source.open().await?,
            (journal, Access::Read) => journal.map_err(missing)?,
            (journal, Access::Write) => {
                journal.map_err(missing)?.close().await;
                self.source.open().await?
            }
        };
        if journal.host_id().await? == meant {
            return Ok(journal);
        }
        journal.close().await;
        Err(JournalError::WrongJournal)
    }

    /// Opens or creates the journal and records it as the expected one.
    async fn adopt(&self) -> Result<JournalStore, JournalError> {
        let journal = self.source.open().await?;
        let host_id = journal.host_id().await?;
        let now = RealClock::new().now();
        let remembered = self.store.write(move |tx| tx.set_journal_host(&host_id, now));
        remembered.await?;
        Ok(journal)
    }

    /// Adopts the existing or a new journal, even if another one was recorded.
    pub(crate) async fn adopt_other(&self) -> Result<(), JournalError> {
        self.adopt().await?.close().await;
        Ok(())
    }

    /// Upgrades a journal with an older schema, so that readers can use it. Returns the upgrade if a file
    /// was upgraded. Other errors are left for the commands that need the journal.
    pub(crate) async fn bring_up_to_date(&self) -> Result<Option<SchemaUpgrade>, JournalError> {
        match self.source.open_to_read().await {
            Ok(journal) => journal.close().await,
            Err(StoreError::OlderSchema { .. }) => {
                let journal = self.source.open().await?;
                let upgraded = journal.upgraded().cloned();
                journal.close().await;
                return Ok(upgraded);
            }
            Err(_) => {}
        }
        Ok(None)
    }

    pub(crate) async fn close(&self) {
        if let Some(journal) = self.opened.get() {
            journal.close().await;
        }
    }
}

/// A missing journal reads as empty.
fn or_empty<T: Default>(error: JournalError) -> Result<T, JournalError> {
    if matches!(error, JournalError::Store(StoreError::Absent)) {
        Ok(T::default())
    } else {
        Err(error)
    }
}

impl Journal for HomeJournal {
    fn write(&self, order: WriteRequest) -> JournalFuture<'_, WriteReceipt> {
        Box::pin(async move { self.get().await?.write(order).await })
    }

    fn undo(&self, operation: OperationId, at: Millis) -> JournalFuture<'_, UndoOutcome> {
        Box::pin(async move { self.get().await?.undo(operation, at).await })
    }

    fn operation_status(&self, operation: OperationId) -> JournalFuture<'_, OperationStatus> {
        Box::pin(async move { self.get().await?.operation_status(operation).await })
    }

    fn tasks(&self, filter: TaskFilter) -> JournalFuture<'_, Vec<Task>> {
        Box::pin(async move {
            match self.get().await {
                Ok(journal) => journal.tasks(filter).await,
                Err(error) => or_empty(error),
            }
        })
    }

    fn notes(&self, task: Option<RecordId>, limit: u32) -> JournalFuture<'_, Vec<Note>> {
        Box::pin(async move {
            match self.get().await {
                Ok(journal) => journal.notes(task, limit).await,
                Err(error) => or_empty(error),
            }
        })
    }

    fn categories(&self) -> JournalFuture<'_, Vec<Category>> {
        Box::pin(async move {
            match self.get().await {
                Ok(journal) => journal.categories().await,
                Err(error) => or_empty(error),
            }
        })
    }

    fn newest_change_not_by(&self, author: Author) -> JournalFuture<'_, Option<(u64, Millis)>> {
        Box::pin(async move {
            match self.get().await {
                Ok(journal) => journal.newest_change_not_by(author).await,
                Err(JournalError::Store(StoreError::Absent)) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn changes(&self, after_seq: u64, limit: u32) -> JournalFuture<'_, Vec<CommittedChange>> {
        Box::pin(async move {
            match self.get().await {
                Ok(journal) => journal.changes(after_seq, limit).await,
                Err(error) => or_empty(error),
            }
        })
    }

    fn last_seq(&self) -> JournalFuture<'_, u64> {
        Box::pin(async move {
            match self.get().await {
                Ok(journal) => journal.last_seq().await,
                Err(error) => or_empty(error),
            }
        })
    }

    fn records(&self, listing: RecordQuery, limit: u32) -> JournalFuture<'_, Vec<Record>> {
        Box::pin(async move {
            match self.get().await {
                Ok(journal) => journal.records(listing, limit).await,
                Err(error) => or_empty(error),
            }
        })
    }

    fn records_with_prefix(&self, id_prefix: String, limit: u32) -> JournalFuture<'_, Vec<Record>> {
        Box::pin(async move {
            match self.get().await {
                Ok(journal) => journal.records_with_prefix(id_prefix, limit).await,
                Err(error) => or_empty(error),
            }
        })
    }

    fn entities(&self, ids: Vec<RecordId>) -> JournalFuture<'_, BTreeMap<RecordId, Value>> {
        Box::pin(async move {
            match self.get().await {
                Ok(journal) => journal.entities(ids).await,
                Err(error) => or_empty(error),
            }
        })
    }

    fn subscribe_commits(&self) -> Box<dyn CommitListener> {
        self.commit_notifier.subscribe()
    }
}

impl SourceStore for HomeJournal {
    fn sources(&self) -> JournalFuture<'_, Vec<SourceStatus>> {
        Box::pin(async move {
            // A home that never had a journal has no sources, and reading them must not create one.
            let is_new =
                self.opened.get().is_none() && self.store.read(|view| view.journal_host()).await?.is_none();
            if is_new {
                return Ok(Vec::new());
            }
            match self.get().await {
                Ok(journal) => journal.sources().await,
                Err(error) => or_empty(error),
            }
        })
    }

    fn add_source(&self, source: Outside, at_most: u32) -> JournalFuture<'_, AddSourceOutcome> {
        Box::pin(async move { self.get().await?.add_source(source, at_most).await })
    }

    fn remove_source(&self, source: SourceId) -> JournalFuture<'_, Option<Outside>> {
        Box::pin(async move { self.get().await?.remove_source(source).await })
    }

    fn entries(
        &self,
        source: SourceId,
        after: Option<Vec<u8>>,
        limit: u32,
    ) -> JournalFuture<'_, Vec<(Vec<u8>, KnownEntry)>> {
        Box::pin(async move { self.get().await?.entries(source, after, limit).await })
    }

    fn record_changes(&self, finding: SourceChanges) -> JournalFuture<'_, bool> {
        Box::pin(async move { self.get().await?.record_changes(finding).await })
    }

    fn set_last_error(&self, source: SourceId, trouble: Option<String>) -> JournalFuture<'_, ()> {
        Box::pin(async move { self.get().await?.set_last_error(source, trouble).await })
    }
}
