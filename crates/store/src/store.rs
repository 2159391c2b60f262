//! The cloneable handle to a store.

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

/// A database behind domain operations. Clones are cheap and share one store.
#[derive(Clone)]
pub struct Store {
    inner: Inner,
    trouble: Arc<WriteHealth>,
    stops: Arc<PendingStopStore>,
    faults: Option<Arc<dyn Faults>>,
}

/// The database behind a handle. Clones are cheap.
#[derive(Clone)]
pub(crate) enum Inner {
    Sqlite(Arc<Database>),
    Memory(Arc<Memory>),
    Postgres(Arc<Server>),
}

impl Store {
    /// Opens a database file; creates or migrates it if needed. `host_id` names the host of a new database
    /// and is ignored otherwise. Blocks for some milliseconds.
    pub fn open_sqlite(options: &SqliteOptions, host_id: &str) -> Result<Self> {
        Ok(Self::around(Inner::Sqlite(Arc::new(Database::open(
            options, &AGENT, host_id,
        )?))))
    }

    /// Opens a database file for reading, while another process may write to it. Takes no lock that could
    /// block other processes. Fails with [`StoreError::Absent`] if the file does not exist, and with
    /// [`StoreError::OlderSchema`] if it needs a migration.
    pub fn open_sqlite_read_only(options: &SqliteOptions) -> Result<Self> {
        Ok(Self::around(Inner::Sqlite(Arc::new(Database::open_read_only(
            options, &AGENT,
        )?))))
    }

    /// Creates an empty database in memory, for simulations: closures run immediately on the caller's
    /// thread.
    pub fn in_memory(host_id: &str) -> Result<Self> {
        Ok(Self::around(Inner::Memory(Arc::new(Memory::new(
            &AGENT, host_id,
        )?))))
    }

    /// Connects to a PostgreSQL server and creates or migrates the tables if needed; several processes may
    /// do so at the same time. `host_id` is as for [`Store::open_sqlite`].
    pub async fn open_postgres(options: &PostgresOptions, host_id: &str) -> Result<Self> {
        Ok(Self::around(Inner::Postgres(Arc::new(
            Server::open(options, &AGENT, host_id).await?,
        ))))
    }

    /// Connects to a PostgreSQL server with read privileges only: nothing is created, migrated or
    /// registered. Fails with [`StoreError::Absent`] if there are no tables, and with
    /// [`StoreError::OlderSchema`] if they need a migration.
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

    /// Sets the file that holds stop requests which the database cannot store. Must be called before the
    /// first clone. Reads the file, for at most half a second; if it cannot be read, everything is braked.
    /// If it does not exist, requests are held in memory until [`make_slot`](crate::make_slot) creates it.
    #[must_use]
    pub fn with_slot(self, path: PathBuf) -> Self {
        let stops = PendingStopStore::with_slot(path);
        Self { stops, ..self }
    }

    /// Returns the same database as a simulated process sees it: with faults, and with its own stop
    /// requests.
    #[must_use]
    pub fn with_faults(self, faults: Arc<dyn Faults>) -> Self {
        Self {
            faults: Some(faults),
            ..Self::around(self.inner)
        }
    }

    /// Unregisters this process, completes queued work and ends all threads. Later calls on any clone fail
    /// with [`StoreError::Closed`]. An error means that the registration could not be removed; the store is
    /// closed anyway.
    pub async fn close(&self) -> Result<()> {
        let unregistered = self.unregister().await;
        self.inner.close().await;
        unregistered
    }

    /// Returns the schema upgrade that opening the store performed, if any.
    #[must_use]
    pub fn upgraded(&self) -> Option<&SchemaUpgrade> {
        self.inner.upgraded()
    }

    /// Compares blob files with rows: finds files without a row, and rows whose file is missing. Checks all
    /// of them.
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
    /// Returns the schema upgrade that opening the file performed, if any.
    pub(crate) fn upgraded(&self) -> Option<&SchemaUpgrade> {
        match self {
            Self::Sqlite(database) => database.upgraded.as_ref(),
            Self::Memory(_) | Self::Postgres(_) => None,
        }
    }

    /// Reads from a consistent snapshot.
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

    /// Completes queued work and ends all threads.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(database) => Arc::clone(database).close().await,
            Self::Memory(memory) => memory.close(),
            Self::Postgres(server) => server.close().await,
        }
    }
}

impl Store {
    /// Reads from a consistent snapshot.
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

    /// Runs one transaction. An error of the closure rolls it back; `Ok` means that it is durable.
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
                Err(StoreError::Backend("the transaction must be retried".into()))
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

    /// Returns the stop requests that are in force in this process, independent of the database.
    #[must_use]
    pub const fn stops(&self) -> &Arc<PendingStopStore> {
        &self.stops
    }

    /// Returns why the storage rejected the last write; `None` after a successful write.
    #[must_use]
    pub fn last_write_error(&self) -> Option<StoreError> {
        self.trouble.last()
    }

    /// Prepares a blob for storing, outside the writer thread. The file of a large one is synced when this
    /// returns.
    pub async fn pack(&self, blob: Blob) -> Result<PackedBlob> {
        self.pass(FaultPoint::Pack).await?;
        let packed = match &self.inner {
            Inner::Sqlite(database) if !database.can_write() => Err(StoreError::ReadOnly),
            Inner::Postgres(server) if !server.can_write() => Err(StoreError::ReadOnly),
            // A small blob is always stored in its row, and compressed within microseconds.
            Inner::Sqlite(_) | Inner::Postgres(_) if blob.bytes().len() <= INLINE_BYTES_MAX => {
                pack::pack(&blob, LargeBlobs::Row)
            }
            // A large blob takes milliseconds, which would delay other tasks on the caller's thread.
            Inner::Sqlite(database) => {
                let folder = database.blobs_dir.clone();
                run_blocking(move || pack::pack(&blob, LargeBlobs::File(&folder))).await
            }
            Inner::Postgres(_) => run_blocking(move || pack::pack(&blob, LargeBlobs::Row)).await,
            Inner::Memory(_) => pack::pack(&blob, LargeBlobs::Row),
        };
        // A large blob is written to a file, and may be what fills the disk.
        packed.inspect_err(|error| self.trouble.note_error(error))
    }

    /// Removes the files of deleted blobs and, as far as possible, the remains of erased text in the pages
    /// of the database. Called after the commit that erased them.
    pub async fn remove_blob_files(&self, gone: Vec<BlobHash>) -> Result<()> {
        match &self.inner {
            Inner::Sqlite(database) => {
                // On the writer thread, where no transaction can refer to one of them between the check and
                // the removal.
                database.write(move |tx| tx.discard(&gone)).await?;
                database.rewrite().await
            }
            // The other databases store blobs in their rows.
            Inner::Postgres(_) | Inner::Memory(_) => Ok(()),
        }
    }

    /// Whether this process certainly still holds its claims.
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

    /// Removes blob files that have no row and are too old to belong to a pending transaction. Does nothing
    /// on databases that store blobs in rows.
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
