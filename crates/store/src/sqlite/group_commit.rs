//! Group commit: many closures, one transaction, one sync of the disk.
//!
//! A group first runs without savepoints, because nearly always all of it succeeds. If a closure fails, the
//! group is rolled back and runs again with a savepoint around each, so that the failing ones leave nothing
//! behind and the others commit. If the transaction itself is lost, every job in the group receives the
//! error.

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

/// The writer of a database.
pub(crate) struct GroupCommit {
    connection: Connection,
    blobs: Option<PathBuf>,
    registered: Arc<RegisteredRunner>,
    log: Option<Wal>,
}

/// Why a group did not commit at the first attempt.
enum GroupFailure {
    /// One closure failed and the transaction was rolled back.
    One(StoreError),
    /// The transaction was lost.
    All(StoreError),
}

impl GroupCommit {
    /// Creates a writer for a connection; `blobs` is the folder of large blobs, if there is one.
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

    /// Adds a check that the write-ahead log still exists, because commits in a removed log are lost.
    pub(crate) fn watching(self, log: Wal) -> Self {
        Self {
            log: Some(log),
            ..self
        }
    }

    /// Returns the connection after the last write.
    pub(crate) fn into_connection(self) -> Connection {
        self.connection
    }

    fn check_log(&self) -> Result<()> {
        self.log.as_ref().map_or(Ok(()), Wal::check)
    }

    /// Runs a job that reads, outside of any group.
    pub(crate) fn read(&mut self, mut job: Box<dyn Job>) {
        let done = self
            .connection
            .begin_reading()
            .and_then(|()| self.run(job.as_mut()));
        let ended = self.connection.rollback();
        job.answer(done.and(ended));
    }

    /// Runs the jobs, commits once, and answers all of them.
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

    /// Rewrites the whole file and checkpoints its log, so that no deleted content is left on any page.
    /// Readers continue meanwhile; a long read leaves its pages in the log until the next checkpoint.
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

    /// Rolls back after a closure failed. Returns whether the error concerns only that closure.
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
            // The failed commit is reported; without a rollback the next group could not begin.
            let _ = self.connection.rollback();
        })?;
        // Check before answering: a commit in a removed log is not durable.
        self.check_log()
    }

    fn one_by_one(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        let mut outcomes: Vec<Result<()>> = Vec::with_capacity(jobs.len());
        let done = self.guarded(&mut jobs, &mut outcomes);
        let mut outcomes = outcomes.into_iter();
        for job in jobs {
            // A closure that failed receives its own error; the others share the outcome of the
            // transaction.
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

    /// Rolls back and ignores errors, because the first error is already reported.
    fn forget(&mut self) {
        let _ = self.connection.rollback();
    }
}
