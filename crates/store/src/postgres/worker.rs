//! A thread with one connection that runs closures as transactions.
//!
//! We block on the driver, so it lives on threads of its own and is never called from a task.

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

/// Times a closure runs when it keeps meeting other transactions. Collisions are rare, since everybody locks
/// heads in the same order; one that happens this often in a row is a defect.
const ATTEMPTS_MAX: u32 = 6;

/// Before the second attempt; doubled for each further one.
const PAUSE: Duration = Duration::from_millis(2);

/// A closure and what it may do.
pub(crate) enum Work {
    /// It reads.
    Read(Box<dyn Job>),
    /// It writes.
    Write(Box<dyn Job>),
}

/// The queue that all workers take from.
pub(crate) type Queue = Arc<Mutex<mpsc::Receiver<Work>>>;

/// One worker.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    connection: Option<Connection>,
}

impl Worker {
    /// A worker, with a connection if one is open already.
    pub(crate) const fn new(shared: Arc<Shared>, connection: Option<Connection>) -> Self {
        Self { shared, connection }
    }

    /// Works until the queue is closed and empty.
    pub(crate) fn work(mut self, queue: &Queue) {
        loop {
            // The lock is held while waiting: whoever has it is the next to get work.
            let next = locked(queue).blocking_recv();
            let Some(work) = next else { return };
            match work {
                // Its caller was told that the server does not answer, or has gone: it must not happen long after that.
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
        // A connection that cannot end its transaction is not used again.
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
            // After a commit that was refused there may be nothing to roll back, which is only a warning.
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

    /// A connection with a transaction. One that broke while it was idle is replaced: the closure has not run
    /// yet, so nothing can happen twice.
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
