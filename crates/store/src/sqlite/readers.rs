//! A pool of reading connections. Reading never waits for the writer; it only needs a thread that may block.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use wakeful_ports::store::{StoreError, View};

use crate::job::guarded;
use crate::lock::locked;
use crate::session::Session;
use crate::sqlite::connection::Connection;
use crate::sqlite::open::open_to_read;

/// Connections that read at once. More would only share the same two or four cores.
pub const READERS_MAX: u32 = 4;

/// The reading side of a database file.
pub(crate) struct Readers {
    path: PathBuf,
    blobs: PathBuf,
    busy: Duration,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    /// A pool without connections; they are opened when they are needed.
    pub(crate) fn new(path: PathBuf, blobs: PathBuf, busy: Duration) -> Self {
        let permits = Arc::new(Semaphore::new(READERS_MAX as usize));
        Self {
            path,
            blobs,
            busy,
            idle: Mutex::new(Vec::new()),
            permits,
        }
    }

    /// Keeps a connection that was opened to look at the file.
    pub(crate) fn keep(&self, connection: Connection) {
        locked(&self.idle).push(connection);
    }

    /// Reads from a consistent view, on a thread that may block.
    pub(crate) async fn read<T, F>(self: Arc<Self>, f: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut dyn View) -> Result<T, StoreError> + Send + 'static,
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

    fn read_here<T, F>(&self, f: F) -> Result<T, StoreError>
    where
        F: FnOnce(&mut dyn View) -> Result<T, StoreError>,
    {
        let idle = locked(&self.idle).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => open_to_read(&self.path, self.busy)?,
        };
        connection.begin_reading()?;
        let answer = guarded(|| f(&mut Session::new(&mut connection, Some(&self.blobs))));
        // A connection that cannot end its transaction is not used again.
        connection.rollback()?;
        self.keep(connection);
        answer
    }

    /// Waits for those who read and closes all connections.
    pub(crate) async fn stop(&self) {
        if let Ok(all) = self.permits.acquire_many(READERS_MAX).await {
            self.permits.close();
            drop(all);
        }
        locked(&self.idle).clear();
    }
}
