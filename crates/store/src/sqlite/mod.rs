//! The SQLite backend: one file, one writer thread, a few readers; or one database in memory, for
//! simulations.

mod connection;
pub(crate) mod copy;
mod group_commit;
mod immutable;
pub(crate) mod open;
pub(crate) mod pool;
mod readers;
#[cfg(test)]
mod tests;
mod wal;
mod writer;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

pub use self::readers::READERS_MAX;
pub use self::writer::GROUP_MAX;

use self::copy::SchemaUpgrade;
use self::group_commit::GroupCommit;
use self::readers::Readers;
use self::writer::Writer;
use crate::job::{QueuedJob, reading, writing};
use crate::lock::locked;
use crate::pack;
use crate::runner::RegisteredRunner;
use crate::schema::Schema;
use crate::tx::{Tx, View};
use crate::{Result, StoreError};

/// Default time to wait for another process to finish writing. Other processes write one row at a time.
pub const BUSY_MS: u64 = 5_000;

/// The location of a database file, and how to open it.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file, usually `agent.sqlite` in the home.
    pub path: PathBuf,
    /// The folder of large blobs, usually `blobs` next to it.
    pub blobs_dir: PathBuf,
    /// How long to wait for another process that writes.
    pub busy_timeout_ms: u64,
}

impl SqliteOptions {
    /// Creates options with the default busy timeout.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, blobs_dir: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            blobs_dir: blobs_dir.into(),
            busy_timeout_ms: BUSY_MS,
        }
    }
}

pub(crate) struct Database {
    pub(crate) blobs_dir: PathBuf,
    // Readers are closed first: the last connection to close removes the log, and only the writer may do
    // that.
    readers: Arc<Readers>,
    writer: Option<Writer>,
    pub(crate) registered: Arc<RegisteredRunner>,
    pub(crate) upgraded: Option<SchemaUpgrade>,
}

impl Database {
    /// Opens a file for reading and writing.
    pub(crate) fn open(options: &SqliteOptions, schema: &'static Schema, host_id: &str) -> Result<Self> {
        let busy = Duration::from_millis(options.busy_timeout_ms);
        let opened = open::open_to_write(&options.path, schema, busy, host_id)?;
        pack::sweep_drafts(&options.blobs_dir);
        let registered = Arc::default();
        let group = GroupCommit::new(
            opened.connection,
            Some(options.blobs_dir.clone()),
            Arc::clone(&registered),
        )
        .watching(opened.log);
        let writer = Some(Writer::start(group)?);
        Ok(Self {
            writer,
            registered,
            upgraded: opened.upgraded,
            ..Self::around(options, schema)
        })
    }

    /// Opens a file for reading only.
    pub(crate) fn open_read_only(options: &SqliteOptions, schema: &'static Schema) -> Result<Self> {
        let database = Self::around(options, schema);
        database.readers.try_out()?;
        Ok(database)
    }

    fn around(options: &SqliteOptions, schema: &'static Schema) -> Self {
        let busy = Duration::from_millis(options.busy_timeout_ms);
        let readers = Readers::new(options.path.clone(), schema, options.blobs_dir.clone(), busy);
        Self {
            blobs_dir: options.blobs_dir.clone(),
            readers: Arc::new(readers),
            writer: None,
            registered: Arc::default(),
            upgraded: None,
        }
    }

    pub(crate) const fn can_write(&self) -> bool {
        self.writer.is_some()
    }

    /// Reads from a consistent snapshot.
    pub(crate) async fn read<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut View<'_>) -> Result<T> + Send + 'static,
    {
        Arc::clone(&self.readers).read(f).await
    }

    /// Runs one transaction on the writer thread.
    pub(crate) async fn write<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        let (job, answer) = writing(f);
        writer.submit(job).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Rewrites the whole file between two transactions, so that no deleted content is left on its pages.
    pub(crate) async fn rewrite(&self) -> Result<()> {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        writer.rewrite().await
    }

    /// Waits for readers and the writer to finish. Later calls fail because the store is closed.
    pub(crate) async fn close(self: Arc<Self>) {
        self.readers.stop().await;
        // Joining a thread blocks. A runtime that is shutting down may refuse the task; then dropping joins
        // the thread.
        let stopping = tokio::task::spawn_blocking(move || self.writer.as_ref().map(Writer::stop));
        let _ = stopping.await;
    }
}

/// A database in memory. Closures run immediately on the caller's thread, so that simulations are
/// deterministic.
pub(crate) struct Memory {
    name: pool::PoolKey,
    group: Mutex<Option<GroupCommit>>,
    pub(crate) registered: Arc<RegisteredRunner>,
}

impl Memory {
    /// Creates an empty database.
    pub(crate) fn new(schema: &Schema, host_id: &str) -> Result<Self> {
        let registered = Arc::default();
        let connection = pool::take(schema, host_id)?;
        let group = GroupCommit::new(connection, None, Arc::clone(&registered));
        Ok(Self {
            name: (schema.application_id, host_id.to_owned()),
            group: Mutex::new(Some(group)),
            registered,
        })
    }

    pub(crate) fn read<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut View<'_>) -> Result<T> + Send + 'static,
    {
        let (job, answer) = reading(f);
        self.with(|group| group.read(job))?;
        received(answer)
    }

    /// Runs one transaction.
    pub(crate) fn write<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        let (job, answer): QueuedJob<T> = writing(f);
        self.with(|group| group.perform(vec![job]))?;
        received(answer)
    }

    /// Discards the database. Later calls fail because the store is closed.
    pub(crate) fn close(&self) {
        *locked(&self.group) = None;
    }

    fn with(&self, work: impl FnOnce(&mut GroupCommit)) -> Result<()> {
        let mut group = locked(&self.group);
        group.as_mut().map(work).ok_or(StoreError::Closed)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let group = self
            .group
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(group) = group {
            pool::give_back(&self.name, group.into_connection());
        }
    }
}

fn received<T>(mut answer: oneshot::Receiver<Result<T>>) -> Result<T> {
    answer.try_recv().map_err(|_| StoreError::Closed)?
}
