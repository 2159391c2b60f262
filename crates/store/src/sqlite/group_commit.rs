//! Group commit: many closures, one transaction, one sync of the disk.
//!
//! A group first runs bare, since nearly always all of it succeeds. When one closure fails, the group is rolled
//! back and runs again with a savepoint around each, so that the failing ones leave no trace and the others
//! commit. When the transaction itself is gone, everybody in the group is told.

use std::path::PathBuf;
use std::sync::Arc;

use wakeful_core::id::RunnerId;

use crate::commit::commit;
use crate::job::{Job, again};
use crate::runner::RegisteredRunner;
use crate::sqlite::connection::Connection;
use crate::sqlite::wal::Wal;
use crate::tx::Tx;
use crate::{Result, StoreError};

/// The writing side of a database.
pub(crate) struct GroupCommit {
    connection: Connection,
    blobs: Option<PathBuf>,
    registered: Arc<RegisteredRunner>,
    log: Option<Wal>,
}

/// Why a group did not commit at the first try.
enum GroupFailure {
    /// One closure failed and the transaction was rolled back.
    One(StoreError),
    /// The transaction is gone.
    All(StoreError),
}

impl GroupCommit {
    /// Writes through a connection; `blobs` is the folder of large blobs, where there is one.
    pub(crate) const fn new(
        connection: Connection,
        blobs: Option<PathBuf>,
        registered: Arc<RegisteredRunner>,
    ) -> Self {
        Self {
            connection,
            blobs,
            registered,
            log: None,
        }
    }

    /// The same with an eye on the file's log, without which nothing that is committed would be found again.
    pub(crate) fn watching(self, log: Wal) -> Self {
        Self {
            log: Some(log),
            ..self
        }
    }

    /// The connection, when nothing is written through it any more.
    pub(crate) fn into_connection(self) -> Connection {
        self.connection
    }

    fn check_log(&self) -> Result<()> {
        self.log.as_ref().map_or(Ok(()), Wal::check)
    }

    /// Reads outside of any group.
    pub(crate) fn read(&mut self, mut job: Box<dyn Job>) {
        let done = self
            .connection
            .begin_reading()
            .and_then(|()| self.run(job.as_mut()));
        let ended = self.connection.rollback();
        job.answer(done.and(ended));
    }

    /// Runs the jobs, commits once, answers all.
    pub(crate) fn perform(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        match self.bare(&mut jobs) {
            Ok(()) => jobs.into_iter().for_each(|job| job.answer(Ok(()))),
            Err(GroupFailure::All(error)) => jobs.into_iter().for_each(|job| job.answer(Err(again(&error)))),
            Err(GroupFailure::One(error)) => match <[Box<dyn Job>; 1]>::try_from(jobs) {
                Ok([job]) => job.answer(Err(error)),
                Err(jobs) => self.one_by_one(jobs),
            },
        }
    }

    /// Writes the whole file anew, and its log into it, so that nothing that was deleted is left on any page. Readers go on
    /// meanwhile; one that reads for long leaves its pages in the log until the next checkpoint.
    pub(crate) fn rewrite(&mut self) -> Result<()> {
        self.check_log()?;
        self.connection.control("VACUUM")?;
        self.connection.control("PRAGMA wal_checkpoint(TRUNCATE)")?;
        self.check_log()
    }

    fn bare(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), GroupFailure> {
        self.check_log().map_err(GroupFailure::All)?;
        self.connection.begin_writing().map_err(GroupFailure::All)?;
        let mut registered = None;
        for job in jobs {
            match self.run(job.as_mut()) {
                Ok(runner) => registered = runner.or(registered),
                Err(error) => return Err(self.give_up(error)),
            }
        }
        self.commit().map_err(GroupFailure::All)?;
        self.registered.note(registered);
        Ok(())
    }

    fn run(&mut self, job: &mut dyn Job) -> Result<Option<RunnerId>> {
        let mut tx = Tx::new(&mut self.connection, self.blobs.as_deref());
        job.run(&mut tx)?;
        Ok(tx.registered)
    }

    /// Rolls back after a closure failed, and says whether only that one has to be told.
    fn give_up(&mut self, error: StoreError) -> GroupFailure {
        if !self.connection.in_transaction() {
            return GroupFailure::All(error);
        }
        match self.connection.rollback() {
            Ok(()) => GroupFailure::One(error),
            Err(error) => GroupFailure::All(error),
        }
    }

    fn commit(&mut self) -> Result<()> {
        commit(&mut self.connection).inspect_err(|_| {
            // The failed commit is what is reported; without a rollback the next group could not begin.
            let _ = self.connection.rollback();
        })?;
        // Before anybody is answered: what went into a log that is gone is not durable.
        self.check_log()
    }

    fn one_by_one(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        let mut outcomes: Vec<Result<()>> = Vec::with_capacity(jobs.len());
        let done = self.guarded(&mut jobs, &mut outcomes);
        let mut outcomes = outcomes.into_iter();
        for job in jobs {
            // One that failed by itself hears its own reason; the rest share the fate of the transaction.
            let own = outcomes.next().unwrap_or(Ok(()));
            job.answer(own.and_then(|()| done.as_ref().map(drop).map_err(again)));
        }
    }

    fn guarded(&mut self, jobs: &mut [Box<dyn Job>], outcomes: &mut Vec<Result<()>>) -> Result<()> {
        self.connection.begin_writing()?;
        let mut registered = None;
        for job in jobs {
            self.connection
                .control("SAVEPOINT closure")
                .inspect_err(|_| self.forget())?;
            let done = self.run(job.as_mut());
            if !self.connection.in_transaction() {
                let error = done.err().unwrap_or(StoreError::Malformed("transaction"));
                outcomes.push(Err(again(&error)));
                return Err(error);
            }
            if done.is_err() {
                self.connection
                    .control("ROLLBACK TO closure")
                    .inspect_err(|_| self.forget())?;
            }
            self.connection
                .control("RELEASE closure")
                .inspect_err(|_| self.forget())?;
            outcomes.push(done.map(|runner| registered = runner.or(registered.take())));
        }
        self.commit()?;
        self.registered.note(registered);
        Ok(())
    }

    /// Rolls back where the first error is already on its way to everybody.
    fn forget(&mut self) {
        let _ = self.connection.rollback();
    }
}
