//! The PostgreSQL backend: threads with one connection each, and a lease that is renewed while the process
//! lives.

mod boot_time;
mod connection;
mod lease;
mod migrate;
mod response_timeout;
#[cfg(test)]
mod tests;
mod worker;

use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Config;
use wakeful_core::id::RunnerId;

pub use self::lease::LEASE_TRUST_MS;

use self::boot_time::BootTime;
use self::connection::Connection;
use self::lease::{Heartbeat, Lease};
use self::response_timeout::SilenceDetector;
use self::worker::{Queue, Work, Worker};
use crate::job::{QUEUE_MAX, QueuedJob, reading, writing};
use crate::lock::locked;
use crate::runner::RegisteredRunner;
use crate::schema::Schema;
use crate::sql::Access;
use crate::tx::{Tx, View};
use crate::{Result, StoreError};

/// Maximum number of connections for transactions. More would queue inside the server instead of here.
pub const CONNECTIONS_MAX: usize = 64;

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long sent data may stay unacknowledged before the connection counts as lost. As long as a lease:
/// after that, another process may own the work.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// How long closing waits for threads that hang in the driver, and how long if the server is known to be
/// unresponsive.
const CLOSE_MAX: Duration = Duration::from_secs(10);
const CLOSE_SILENT_MAX: Duration = Duration::from_secs(1);

/// The server's address and the number of connections to open.
#[derive(Clone)]
pub struct PostgresOptions {
    /// A `postgres://` URL or `key=value` pairs. It may contain a password and is never shown.
    pub url: String,
    /// Connections for transactions, from 1 to [`CONNECTIONS_MAX`]; the lease uses one more.
    pub connections: usize,
}

/// State shared by the threads.
pub(crate) struct Shared {
    config: Config,
    schema: &'static Schema,
    access: Access,
    lease: Arc<Lease>,
    own: RegisteredRunner,
    // Only the last one is active; earlier ones were asked to stop and are joined when the store closes.
    heartbeats: Mutex<Vec<Heartbeat>>,
}

impl Shared {
    /// Records that this process is registered since `begun`, and starts its heartbeats.
    fn registered(&self, runner: RunnerId, begun: BootTime) -> Result<()> {
        self.own.note(Some(runner.clone()));
        self.lease.renew(begun);
        let mut heartbeats = locked(&self.heartbeats);
        heartbeats.iter().for_each(Heartbeat::stop);
        heartbeats.push(Heartbeat::start(
            self.config.clone(),
            runner,
            Arc::clone(&self.lease),
        )?);
        Ok(())
    }

    /// Asks all heartbeats to stop and returns the threads to join.
    fn end_heartbeats(&self) -> Vec<JoinHandle<()>> {
        let mut heartbeats = locked(&self.heartbeats);
        heartbeats.iter().for_each(Heartbeat::stop);
        heartbeats.drain(..).map(|heartbeat| heartbeat.thread).collect()
    }
}

impl Drop for Shared {
    /// The workers of a store that is dropped without being closed end by themselves, and the last of them
    /// drops this value, which stops the heartbeats. It does not join threads, because one may hang in the
    /// driver.
    fn drop(&mut self) {
        drop(self.end_heartbeats());
    }
}

/// A PostgreSQL server with its worker threads.
pub(crate) struct Server {
    shared: Arc<Shared>,
    silence: SilenceDetector,
    queue: Mutex<Option<mpsc::Sender<Work>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Server {
    /// Connects, migrates the tables and starts the threads.
    pub(crate) async fn open(
        options: &PostgresOptions,
        schema: &'static Schema,
        host_id: &str,
    ) -> Result<Self> {
        let host_id = host_id.to_owned();
        Self::start(options, schema, Access::Write, move |connection| {
            migrate::bring_up_to_date(connection, schema, &host_id)
        })
        .await
    }

    /// Connects for reading only, and starts the threads.
    pub(crate) async fn open_read_only(options: &PostgresOptions, schema: &'static Schema) -> Result<Self> {
        Self::start(options, schema, Access::Read, |connection| {
            migrate::look(connection, schema)
        })
        .await
    }

    async fn start(
        options: &PostgresOptions,
        schema: &'static Schema,
        access: Access,
        look: impl FnOnce(&mut Connection) -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let config = config(&options.url)?;
        let shared = Arc::new(Shared {
            config,
            schema,
            access,
            lease: Arc::default(),
            own: RegisteredRunner::default(),
            heartbeats: Mutex::default(),
        });
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let waiting: Queue = Arc::new(Mutex::new(waiting));
        let first = first_worker(Arc::clone(&shared), Arc::clone(&waiting), look).await?;
        let mut threads = vec![first];
        for _ in 1..options.connections.clamp(1, CONNECTIONS_MAX) {
            let (shared, waiting) = (Arc::clone(&shared), Arc::clone(&waiting));
            threads.push(start("store-worker", move || {
                Worker::new(shared, None).work(&waiting)
            })?);
        }
        Ok(Self {
            silence: SilenceDetector::new(shared.config.clone()),
            shared,
            queue: Mutex::new(Some(queue)),
            threads: Mutex::new(threads),
        })
    }

    pub(crate) fn can_write(&self) -> bool {
        self.shared.access == Access::Write
    }

    /// Reads from a consistent snapshot.
    pub(crate) async fn read<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut View<'_>) -> Result<T> + Send + 'static,
    {
        let (job, answer) = reading(f);
        let called = async {
            self.submit(Work::Read(job)).await?;
            answer.await.map_err(|_| StoreError::Closed)?
        };
        self.silence.bound(called).await
    }

    /// Runs one transaction.
    pub(crate) async fn write<T, F>(&self, f: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
    {
        if !self.can_write() {
            return Err(StoreError::ReadOnly);
        }
        let (job, answer): QueuedJob<T> = writing(f);
        let called = async {
            self.submit(Work::Write(job)).await?;
            answer.await.map_err(|_| StoreError::Closed)?
        };
        self.silence.bound(called).await
    }

    async fn submit(&self, work: Work) -> Result<()> {
        let queue = locked(&self.queue).clone();
        queue
            .ok_or(StoreError::Closed)?
            .send(work)
            .await
            .map_err(|_| StoreError::Closed)
    }

    /// Whether no other process can have taken over the claims of this one.
    pub(crate) fn holds_lease(&self) -> bool {
        self.shared.lease.holds_at(BootTime::now())
    }

    /// Returns and clears the runner that this process registered.
    pub(crate) fn take_registered(&self) -> Option<RunnerId> {
        self.shared.own.take()
    }

    /// Completes queued work and ends all threads. Later calls fail because the store is closed.
    pub(crate) async fn close(&self) {
        drop(locked(&self.queue).take());
        let workers = std::mem::take(&mut *locked(&self.threads));
        let shared = Arc::clone(&self.shared);
        let patience = if self.silence.is_known() {
            CLOSE_SILENT_MAX
        } else {
            CLOSE_MAX
        };
        let ending = tokio::task::spawn_blocking(move || {
            let deadline = Instant::now() + patience;
            join(workers, deadline);
            // Joined last, because queued work may have started a heartbeat.
            join(shared.end_heartbeats(), deadline);
        });
        let _ = ending.await;
    }
}

/// Parses an address. Errors do not repeat it, because it may contain a password.
fn config(url: &str) -> Result<Config> {
    let mut config = Config::from_str(url).map_err(|error| StoreError::BadAddress(error.into()))?;
    // One timeout covers sent data that is not acknowledged, the other a response that never arrives.
    config
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_user_timeout(SILENCE_MAX);
    config
        .keepalives_idle(SILENCE_MAX / 3)
        .keepalives_interval(SILENCE_MAX / 3)
        .keepalives_retries(2);
    if config.get_application_name().is_none() {
        config.application_name("wakeful");
    }
    Ok(config)
}

/// Starts the worker that first checks the database, and waits for its result.
async fn first_worker(
    shared: Arc<Shared>,
    waiting: Queue,
    look: impl FnOnce(&mut Connection) -> Result<()> + Send + 'static,
) -> Result<JoinHandle<()>> {
    let (ready, readiness) = oneshot::channel();
    let thread = start("store-worker", move || {
        let opened =
            Connection::open(&shared.config, shared.schema, shared.access).and_then(|mut connection| {
                look(&mut connection)?;
                Ok(connection)
            });
        match opened {
            Ok(connection) => {
                let _ = ready.send(Ok(()));
                Worker::new(shared, Some(connection)).work(&waiting);
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        }
    })?;
    readiness.await.map_err(|_| StoreError::Closed)??;
    Ok(thread)
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|error| StoreError::Backend(error.into()))
}

fn join(threads: Vec<JoinHandle<()>>, deadline: Instant) {
    const POLL_INTERVAL: Duration = Duration::from_millis(2);
    for thread in threads {
        while !thread.is_finished() && Instant::now() < deadline {
            thread::sleep(POLL_INTERVAL);
        }
        if thread.is_finished() {
            // The thread cannot have panicked: panics of callers' closures are caught.
            let _ = thread.join();
        }
    }
}
