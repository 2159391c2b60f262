//! The handle that everybody holds.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use wakeful_core::blob::{Blob, BlobHash};

use crate::blob_files::{self, BlobFileReport};
use crate::faults::{FaultPoint, Faults};
use crate::job::{AnyValue, Change, Query, change, query, typed};
use crate::lock::locked;
use crate::pack::{self, INLINE_BYTES_MAX, LargeBlobs};
use crate::postgres::{PostgresOptions, Server};
use crate::rows::{FileSweep, PackedBlob};
use crate::schema::AGENT;
use crate::sqlite::copy::SchemaUpgrade;
use crate::sqlite::{Database, Memory, SqliteOptions};
use crate::stops::PendingStopStore;
use crate::tx::{Tx, View};
use crate::write_health::WriteHealth;
use crate::{Result, StoreError};

/// A database behind the verbs. Cloning it is cheap; all clones are one store.
#[derive(Clone)]
pub struct Store {
    inner: Inner,
    trouble: Arc<WriteHealth>,
    stops: Arc<PendingStopStore>,
    faults: Option<Arc<dyn Faults>>,
}

/// Which database is behind a handle. Cloning it is cheap.
#[derive(Clone)]
pub(crate) enum Inner {
    Sqlite(Arc<Database>),
    Memory(Arc<Memory>),
    Postgres(Arc<Server>),
}

impl Store {
    /// Opens a database file, makes it or brings it up to date where needed. `host_id` names the host if the
    /// database is fresh, and is otherwise not looked at. Blocks for some milliseconds.
    pub fn open_sqlite(options: &SqliteOptions, host_id: &str) -> Result<Self> {
        Ok(Self::around(Inner::Sqlite(Arc::new(Database::open(
            options, &AGENT, host_id,
        )?))))
    }

    /// Opens a database file for reading, while another process may write to it. Takes no lock that anybody
    /// would have to wait for. [`StoreError::Absent`] when there is none, [`StoreError::OlderSchema`] when it
    /// would have to be brought up to date first.
    pub fn open_sqlite_read_only(options: &SqliteOptions) -> Result<Self> {
        Ok(Self::around(Inner::Sqlite(Arc::new(Database::open_read_only(
            options, &AGENT,
        )?))))
    }

    /// A fresh database in memory, for simulations: closures run at once, on the caller's thread.
    pub fn in_memory(host_id: &str) -> Result<Self> {
        Ok(Self::around(Inner::Memory(Arc::new(Memory::new(
            &AGENT, host_id,
        )?))))
    }

    /// Connects to a PostgreSQL server and makes the tables or brings them up to date where needed; several
    /// processes may do so at once. `host_id` is as for [`Store::open_sqlite`].
    pub async fn open_postgres(options: &PostgresOptions, host_id: &str) -> Result<Self> {
        Ok(Self::around(Inner::Postgres(Arc::new(
            Server::open(options, &AGENT, host_id).await?,
        ))))
    }

    /// Connects to a PostgreSQL server for reading, with no right beyond it: nothing is made, brought up to date or
    /// registered. [`StoreError::Absent`] when there are no tables, [`StoreError::OlderSchema`] when they would have
    /// to be brought up to date first.
    pub async fn open_postgres_read_only(options: &PostgresOptions) -> Result<Self> {
        Ok(Self::around(Inner::Postgres(Arc::new(
            Server::open_read_only(options, &AGENT).await?,
        ))))
    }

    fn around(inner: Inner) -> Self {
        Self {
            inner,
            trouble: Arc::default(),
            stops: Arc::default(),
            faults: None,
        }
    }

    /// The same with the file in which stop requests are kept that the database does not take. Called before the first
    /// clone. Reads the file, for half a second at most; where it cannot be read, everything is braked. Where there is
    /// none, requests are held in memory until [`make_slot`](crate::make_slot) has made it.
    #[must_use]
    pub fn with_slot(self, path: PathBuf) -> Self {
        let stops = PendingStopStore::with_slot(path);
        Self { stops, ..self }
    }

    /// The same database as a simulated process sees it: with faults, and with stop requests of its own.
    #[must_use]
    pub fn with_faults(self, faults: Arc<dyn Faults>) -> Self {
        Self {
            faults: Some(faults),
            ..Self::around(self.inner)
        }
    }

    /// Takes back the registration of this process, finishes what is queued and ends all threads. Later calls on
    /// any clone answer [`StoreError::Closed`]. An error says what could not be taken back; it is closed anyway.
    pub async fn close(&self) -> Result<()> {
        let unregistered = self.unregister().await;
        self.inner.close().await;
        unregistered
    }

    /// What it was brought up to date from when it was opened, if it was.
    #[must_use]
    pub fn upgraded(&self) -> Option<&SchemaUpgrade> {
        self.inner.upgraded()
    }

    /// Which files of blobs no row names, and which rows name files that are gone. Looks at all of them.
    pub async fn inspect_files(&self) -> Result<BlobFileReport> {
        match &self.inner {
            Inner::Sqlite(database) => blob_files::inspect(self, &database.blobs_dir).await,
            Inner::Memory(_) | Inner::Postgres(_) => Ok(BlobFileReport::default()),
        }
    }

    async fn unregister(&self) -> Result<()> {
        let registered = match &self.inner {
            Inner::Sqlite(database) => database.registered.take(),
            Inner::Memory(memory) => memory.registered.take(),
            Inner::Postgres(server) => server.take_registered(),
        };
        let Some(runner) = registered else { return Ok(()) };
        self.write(move |tx| tx.remove_dead_runner(&runner)).await
    }
}

impl Inner {
    /// What a file was brought up to date from when it was opened, if it was.
    pub(crate) fn upgraded(&self) -> Option<&SchemaUpgrade> {
        match self {
            Self::Sqlite(database) => database.upgraded.as_ref(),
            Self::Memory(_) | Self::Postgres(_) => None,
        }
    }

    /// Reads from a consistent view.
    pub(crate) async fn read<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut View<'_>) -> Result<T> + Send + 'static,
    {
        typed(self.run_query(query(f)).await?)
    }

    /// Runs one transaction.
    pub(crate) async fn write<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        typed(self.run_change(change(f)).await?)
    }

    async fn run_query(&self, query: Query) -> Result<AnyValue> {
        match self {
            Self::Sqlite(database) => database.read(query).await,
            Self::Memory(memory) => memory.read(query),
            Self::Postgres(server) => server.read(query).await,
        }
    }

    async fn run_change(&self, change: Change) -> Result<AnyValue> {
        match self {
            Self::Sqlite(database) => database.write(change).await,
            Self::Memory(memory) => memory.write(change),
            Self::Postgres(server) => server.write(change).await,
        }
    }

    /// Finishes what is queued and ends all threads.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(database) => Arc::clone(database).close().await,
            Self::Memory(memory) => memory.close(),
            Self::Postgres(server) => server.close().await,
        }
    }
}

impl Store {
    /// Reads from a consistent view.
    pub async fn read<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut View<'_>) -> Result<T> + Send + 'static,
    {
        typed(self.run_query(query(f)).await?)
    }

    async fn run_query(&self, query: Query) -> Result<AnyValue> {
        self.pass(FaultPoint::Read).await?;
        let stops = Arc::clone(&self.stops);
        let read = self.inner.run_query(Box::new(move |view| {
            view.set_stops(stops);
            query(view)
        }));
        read.await
    }

    /// Runs one transaction. An error of the closure rolls it back; `Ok` means it is durable.
    pub async fn write<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        typed(self.run_change(change(f)).await?)
    }

    async fn run_change(&self, change: Change) -> Result<AnyValue> {
        let Some(faults) = &self.faults else {
            return self.transact(change).await;
        };
        faults.pass(FaultPoint::BeforeCommit).await?;
        let change = Arc::new(Mutex::new(change));
        if faults.runs_twice() {
            let first = Arc::clone(&change);
            let given_up = self.transact(Box::new(move |tx| {
                locked(&first)(tx)?;
                Err(StoreError::Backend("the transaction must be tried again".into()))
            }));
            let _ = given_up.await;
        }
        let value = self.transact(Box::new(move |tx| locked(&change)(tx))).await?;
        faults.pass(FaultPoint::AfterCommit).await?;
        Ok(value)
    }

    async fn transact(&self, change: Change) -> Result<AnyValue> {
        let stops = Arc::clone(&self.stops);
        let written = self.inner.run_change(Box::new(move |tx| {
            tx.set_stops(Arc::clone(&stops));
            change(tx)
        }));
        self.trouble.note(written.await)
    }

    async fn pass(&self, point: FaultPoint) -> Result<()> {
        match &self.faults {
            Some(faults) => faults.pass(point).await,
            None => Ok(()),
        }
    }

    /// The stop requests that hold in this process whatever the database does.
    #[must_use]
    pub const fn stops(&self) -> &Arc<PendingStopStore> {
        &self.stops
    }

    /// Why the storage refused the last write, until one has worked again.
    #[must_use]
    pub fn last_write_error(&self) -> Option<StoreError> {
        self.trouble.last()
    }

    /// Makes a blob ready for storing, off the writing thread. A large one is a synced file when this returns.
    pub async fn pack(&self, blob: Blob) -> Result<PackedBlob> {
        self.pass(FaultPoint::Pack).await?;
        let packed = match &self.inner {
            Inner::Sqlite(database) if !database.can_write() => Err(StoreError::ReadOnly),
            Inner::Postgres(server) if !server.can_write() => Err(StoreError::ReadOnly),
            // A small one stays in its row in any case, and is compressed in microseconds.
            Inner::Sqlite(_) | Inner::Postgres(_) if blob.bytes().len() <= INLINE_BYTES_MAX => {
                pack::pack(&blob, LargeBlobs::Row)
            }
            // A large one takes milliseconds, which would hold up the other tasks of the caller's thread.
            Inner::Sqlite(database) => {
                let folder = database.blobs_dir.clone();
                run_blocking(move || pack::pack(&blob, LargeBlobs::File(&folder))).await
            }
            Inner::Postgres(_) => run_blocking(move || pack::pack(&blob, LargeBlobs::Row)).await,
            Inner::Memory(_) => pack::pack(&blob, LargeBlobs::Row),
        };
        // A large one is a file, and may be what fills the disk.
        packed.inspect_err(|error| self.trouble.note_error(error))
    }

    /// Removes the files of contents that are no longer there, and what is left of erased text in the pages of the
    /// database, as far as that is in our hands. Called after the commit that erased them.
    pub async fn remove_blob_files(&self, gone: Vec<BlobHash>) -> Result<()> {
        match &self.inner {
            Inner::Sqlite(database) => {
                // In the writer's turn, where nobody can name one of them between the look and the removal.
                database.write(move |tx| tx.discard(&gone)).await?;
                database.rewrite().await
            }
            // Elsewhere they were in their rows.
            Inner::Postgres(_) | Inner::Memory(_) => Ok(()),
        }
    }

    /// Whether this process may certainly still act for the agents it claimed.
    #[must_use]
    pub fn holds_lease(&self) -> bool {
        if let Some(faults) = &self.faults {
            return faults.holds_lease();
        }
        match &self.inner {
            Inner::Sqlite(_) | Inner::Memory(_) => true,
            Inner::Postgres(server) => server.holds_lease(),
        }
    }

    /// Removes files of blobs that no row names and that are old enough that no caller is about to name them. Where blobs
    /// are rows there are none.
    pub async fn sweep_files(&self) -> Result<FileSweep> {
        match &self.inner {
            Inner::Sqlite(database) if !database.can_write() => Err(StoreError::ReadOnly),
            Inner::Sqlite(database) => blob_files::sweep(self, &database.blobs_dir).await,
            Inner::Memory(_) | Inner::Postgres(_) => Ok(FileSweep {
                is_all: true,
                ..FileSweep::default()
            }),
        }
    }
}

pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| StoreError::Closed)?
}
