//! A thread with one connection that runs closures as transactions.
//!
//! Workers block on the driver, so they have their own threads and are never called from an async task.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;
use wakeful_core::id::RunnerId;

use crate::Result;
use crate::commit::commit;
use crate::job::Job;
use crate::lock::locked;
use crate::postgres::Shared;
use crate::postgres::boot_time::BootTime;
use crate::postgres::connection::{Connection, TxFailure};
use crate::tx::Tx;

/// Maximum number of attempts for a closure that keeps conflicting with other transactions. Conflicts are
/// rare, because all transactions lock heads in the same order; this many in a row are a defect.
const ATTEMPTS_MAX: u32 = 6;

/// Delay before the second attempt; doubled for each further one.
const PAUSE: Duration = Duration::from_millis(2);

/// A closure, by the access it needs.
pub(crate) enum Work {
    Read(Box<dyn Job>),
    Write(Box<dyn Job>),
}

/// The queue shared by all workers.
pub(crate) type Queue = Arc<Mutex<mpsc::Receiver<Work>>>;

pub(crate) struct Worker {
    shared: Arc<Shared>,
    connection: Option<Connection>,
}

impl Worker {
    /// Creates a worker, with a connection if one is already open.
    pub(crate) const fn new(shared: Arc<Shared>, connection: Option<Connection>) -> Self {
        Self { shared, connection }
    }

    /// Works until the queue is closed and empty.
    pub(crate) fn work(mut self, queue: &Queue) {
        loop {
            // The lock is held while waiting: the worker that holds it receives the next job.
            let next = locked(queue).blocking_recv();
            let Some(work) = next else { return };
            match work {
                // The caller received a timeout error or no longer waits, so the job must not run later.
                Work::Read(job) | Work::Write(job) if job.is_abandoned() => {}
                Work::Read(mut job) => {
                    let outcome = self.read(job.as_mut());
                    job.answer(outcome);
                }
                Work::Write(mut job) => {
                    let outcome = self.write(job.as_mut());
                    job.answer(outcome);
                }
            }
        }
    }

    fn read(&mut self, job: &mut dyn Job) -> Result<()> {
        let mut connection = self.begin(Connection::begin_reading)?;
        let done = job.run(&mut Tx::new(&mut connection, None));
        // Discard a connection that cannot end its transaction.
        if connection.rollback().is_ok() {
            self.connection = Some(connection);
        }
        done
    }

    fn write(&mut self, job: &mut dyn Job) -> Result<()> {
        let mut pause = PAUSE;
        let mut attempt = 1;
        loop {
            let begun = BootTime::now();
            let mut connection = self.begin(Connection::begin_writing)?;
            let done = transact(&mut connection, job);
            let trouble = connection.trouble();
            // After a rejected commit there may be nothing to roll back, which causes only a warning.
            let clean = done.is_ok() || (trouble != TxFailure::Lost && connection.rollback().is_ok());
            if clean {
                self.connection = Some(connection);
            }
            match done {
                Ok(None) => return Ok(()),
                Ok(Some(runner)) => return self.shared.registered(runner, begun),
                Err(_) if trouble == TxFailure::Collided && attempt < ATTEMPTS_MAX => {
                    thread::sleep(pause);
                    pause *= 2;
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns a connection with an open transaction. A connection that broke while idle is replaced: the
    /// closure has not run yet, so nothing can happen twice.
    fn begin(&mut self, begin: fn(&mut Connection) -> Result<()>) -> Result<Connection> {
        if let Some(mut connection) = self.connection.take()
            && begin(&mut connection).is_ok()
        {
            return Ok(connection);
        }
        let mut connection = Connection::open(&self.shared.config, self.shared.schema, self.shared.access)?;
        begin(&mut connection)?;
        Ok(connection)
    }
}

fn transact(connection: &mut Connection, job: &mut dyn Job) -> Result<Option<RunnerId>> {
    let mut tx = Tx::new(connection, None);
    job.run(&mut tx)?;
    let registered = tx.registered;
    commit(connection)?;
    Ok(registered)
}
