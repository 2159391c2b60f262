//! A pool of read connections. Reads never wait for the writer; they only need a thread that may block.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::job::guarded;
use crate::lock::locked;
use crate::schema::Schema;
use crate::sqlite::connection::Connection;
use crate::sqlite::open::{Reader, open_to_read};
use crate::tx::View;
use crate::{Result, StoreError};

/// Maximum number of concurrent read connections. More would only share the same two or four cores.
pub const READERS_MAX: u32 = 4;

/// The readers of a database file.
pub(crate) struct Readers {
    path: PathBuf,
    schema: &'static Schema,
    blobs: PathBuf,
    busy: Duration,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    /// Creates an empty pool; connections are opened on demand.
    pub(crate) fn new(path: PathBuf, schema: &'static Schema, blobs: PathBuf, busy: Duration) -> Self {
        let permits = Arc::new(Semaphore::new(READERS_MAX as usize));
        Self {
            path,
            schema,
            blobs,
            busy,
            idle: Mutex::new(Vec::new()),
            permits,
        }
    }

    /// Opens and checks the file, so that opening a store reports its problems.
    pub(crate) fn try_out(&self) -> Result<()> {
        if let Reader::Shared(connection) = open_to_read(&self.path, self.schema, self.busy)? {
            self.keep(connection);
        }
        Ok(())
    }

    fn keep(&self, connection: Connection) {
        locked(&self.idle).push(connection);
    }

    /// Reads from a consistent snapshot, on a thread that may block.
    pub(crate) async fn read<T, F>(self: Arc<Self>, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut View<'_>) -> Result<T> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|_| StoreError::Closed)?;
        let reading = tokio::task::spawn_blocking(move || {
            let answer = self.read_here(f);
            drop(permit);
            answer
        });
        reading.await.map_err(|_| StoreError::Closed)?
    }

    fn read_here<T, F>(&self, f: F) -> Result<T>
    where
        F: FnOnce(&mut View<'_>) -> Result<T>,
    {
        let idle = locked(&self.idle).pop();
        let reader = match idle {
            Some(connection) => Reader::Shared(connection),
            None => open_to_read(&self.path, self.schema, self.busy)?,
        };
        match reader {
            Reader::Shared(mut connection) => {
                let answer = self.read_with(&mut connection, f)?;
                self.keep(connection);
                answer
            }
            Reader::Immutable(mut connection, still) => {
                let answer = self.read_with(&mut connection, f)?;
                still.check().and(answer)
            }
        }
    }

    /// Returns the closure's result. An outer error comes from the connection, which is then discarded.
    fn read_with<T, F>(&self, connection: &mut Connection, f: F) -> Result<Result<T>>
    where
        F: FnOnce(&mut View<'_>) -> Result<T>,
    {
        connection.begin_reading()?;
        let answer = guarded(|| f(&mut View::new(connection, Some(&self.blobs))));
        connection.rollback()?;
        Ok(answer)
    }

    /// Waits for running reads and closes all connections.
    pub(crate) async fn stop(&self) {
        if let Ok(all) = self.permits.acquire_many(READERS_MAX).await {
            self.permits.close();
            drop(all);
        }
        locked(&self.idle).clear();
    }
}
