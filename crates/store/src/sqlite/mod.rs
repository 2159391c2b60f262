//! SQLite in the process: one file, one writing thread, a few readers. Or one database in memory, for simulations.

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

/// How long we wait for another process to finish writing, unless told otherwise. Others write one row.
pub const BUSY_MS: u64 = 5_000;

/// Where a database file is and how to treat it.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file, usually `agent.sqlite` in the home.
    pub path: PathBuf,
    /// The folder of large blobs, usually `blobs` beside it.
    pub blobs_dir: PathBuf,
    /// How long to wait for another process that writes.
    pub busy_timeout_ms: u64,
}

impl SqliteOptions {
    /// A file and its folder of blobs, with the usual patience.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, blobs_dir: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            blobs_dir: blobs_dir.into(),
            busy_timeout_ms: BUSY_MS,
        }
    }
}

/// A database file.
pub(crate) struct Database {
    pub(crate) blobs_dir: PathBuf,
    // The readers go first: the last connection to close tidies the log away, and only the writer may.
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

    /// Whether it may write.
    pub(crate) const fn can_write(&self) -> bool {
        self.writer.is_some()
    }

    /// Reads from a consistent view.
    pub(crate) async fn read<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut View<'_>) -> Result<T> + Send + 'static,
    {
        Arc::clone(&self.readers).read(f).await
    }

    /// Runs one transaction on the writing thread.
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

    /// Writes the whole file anew, between two transactions: nothing that was deleted is left on its pages.
    pub(crate) async fn rewrite(&self) -> Result<()> {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        writer.rewrite().await
    }

    /// Lets readers and writer finish. Later calls find the store closed.
    pub(crate) async fn close(self: Arc<Self>) {
        self.readers.stop().await;
        // Joining a thread blocks. A runtime that is shutting down may refuse; then dropping joins it.
        let stopping = tokio::task::spawn_blocking(move || self.writer.as_ref().map(Writer::stop));
        let _ = stopping.await;
    }
}

/// A database in memory. Closures run at once and on the caller's thread, so a simulation is the same every time.
pub(crate) struct Memory {
    name: pool::PoolKey,
    group: Mutex<Option<GroupCommit>>,
    pub(crate) registered: Arc<RegisteredRunner>,
}

impl Memory {
    /// A fresh database.
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

    /// Reads.
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

    /// Throws the database away. Later calls find the store closed.
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
