//! Group commits with a full disk, a read-only database, or a lost transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rusqlite::ffi;
use tokio::sync::oneshot;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::time::Millis;

use crate::job::{Job, reading, writing};
use crate::schema::AGENT;
use crate::sql::Sql;
use crate::sqlite::group_commit::GroupCommit;
use crate::sqlite::open::open_to_write;
use crate::tx::Tx;
use crate::{Result, StoreError};

type Answer = oneshot::Receiver<Result<()>>;

/// Creates a group on a new file, after running statements on its connection.
fn group(home: &tempfile::TempDir, told: &str) -> GroupCommit {
    let path = home.path().join("agent.sqlite");
    let mut opened = open_to_write(&path, &AGENT, Duration::from_secs(1), "host").unwrap();
    opened.connection.batch(told).unwrap();
    GroupCommit::new(opened.connection, None, Arc::default()).watching(opened.log)
}

/// A job that requests the cancellation of some runs: one small row for each.
fn small(first: u32, rows: u32) -> (Box<dyn Job>, Answer) {
    writing(move |tx| (first..first + rows).try_for_each(|n| tx.request_cancel(&key(n), Millis(1))))
}

fn key(number: u32) -> RunKey {
    RunKey(Digest::of(&number.to_le_bytes()))
}

fn answered(mut answer: Answer) -> Result<()> {
    answer.try_recv().expect("every job is answered")
}

fn is_there(group: &mut GroupCommit, number: u32) -> bool {
    let (job, mut answer) = reading(move |view| view.cancel_requested(&key(number)));
    group.read(job);
    answer.try_recv().expect("answered").expect("read")
}

/// The pages of an empty database, plus a few free ones.
const ROOM: &str = "PRAGMA max_page_count = 50";

#[test]
fn a_full_disk_fails_only_the_job_that_does_not_fit() {
    let home = tempfile::tempdir().unwrap();
    let mut group = group(&home, ROOM);
    let (before, after) = (small(0, 1), small(1, 1));
    let too_much = small(10, 20_000);
    group.perform(vec![before.0, too_much.0, after.0]);
    assert!(matches!(answered(too_much.1), Err(StoreError::Full)));
    // The other jobs may fit or not, but their results must match what is stored.
    for (number, answer) in [(0, before.1), (1, after.1)] {
        let told = answered(answer);
        assert_eq!(is_there(&mut group, number), told.is_ok(), "{told:?}");
    }
    assert!(!is_there(&mut group, 10), "nothing of it stayed");
    let later = small(2, 1);
    group.perform(vec![later.0]);
    answered(later.1).expect("there is room for a small one");
    assert!(is_there(&mut group, 2));
}

#[test]
fn after_a_full_disk_a_single_writer_can_retry() {
    let home = tempfile::tempdir().unwrap();
    let mut group = group(&home, ROOM);
    let first = small(0, 20_000);
    group.perform(vec![first.0]);
    assert!(matches!(answered(first.1), Err(StoreError::Full)));
    assert!(!is_there(&mut group, 0));
    let second = small(0, 1);
    group.perform(vec![second.0]);
    answered(second.1).expect("there is room for a small one");
}

#[test]
fn a_read_only_database_fails_every_job_of_the_group() {
    let home = tempfile::tempdir().unwrap();
    let mut group = group(&home, "PRAGMA query_only = ON");
    let (one, two) = (small(0, 1), small(1, 1));
    group.perform(vec![one.0, two.0]);
    assert!(matches!(answered(one.1), Err(StoreError::ReadOnly)));
    assert!(matches!(answered(two.1), Err(StoreError::ReadOnly)));
}

/// Ends the group's transaction, as SQLite itself does after some errors.
struct Saboteur(oneshot::Sender<Result<()>>);

impl Job for Saboteur {
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        tx.sql.execute("ROLLBACK", &[])?;
        Err(StoreError::Full)
    }

    fn answer(self: Box<Self>, outcome: Result<()>) {
        let _ = self.0.send(outcome);
    }
}

/// A job that counts how often it runs.
fn counting(runs: &Arc<AtomicU32>) -> (Box<dyn Job>, Answer) {
    let runs = Arc::clone(runs);
    writing(move |tx| {
        runs.fetch_add(1, Ordering::Relaxed);
        tx.request_cancel(&key(0), Millis(1))
    })
}

#[test]
fn a_lost_transaction_fails_every_job_of_the_group() {
    let home = tempfile::tempdir().unwrap();
    let mut group = group(&home, "");
    // Without a failing job the group ends at the first attempt and nothing runs again; with one, at the
    // second.
    for failing in [false, true] {
        let (reply, sabotaged) = oneshot::channel();
        let runs = Arc::new(AtomicU32::new(0));
        let (before, after) = (counting(&runs), small(1, 1));
        let (job, failed) = writing(|_| Err::<(), _>(StoreError::Conflict));
        let mut jobs: Vec<Box<dyn Job>> = vec![before.0];
        jobs.extend(failing.then_some(job));
        jobs.extend([Box::new(Saboteur(reply)) as Box<dyn Job>, after.0]);
        group.perform(jobs);
        for answer in [before.1, sabotaged, after.1] {
            let told = answered(answer);
            assert!(matches!(told, Err(StoreError::Full)), "{told:?}");
        }
        assert!(!failing || matches!(answered(failed), Err(StoreError::Conflict)));
        assert!(!is_there(&mut group, 0) && !is_there(&mut group, 1));
        assert_eq!(runs.load(Ordering::Relaxed), 1 + u32::from(failing));
    }
    let later = small(2, 1);
    group.perform(vec![later.0]);
    answered(later.1).expect("the next group is not affected");
}

#[test]
fn storage_failures_are_distinguished_from_rejected_statements() {
    let said = |code| {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        crate::sqlite::connection::store_error(error)
    };
    for code in [
        ffi::SQLITE_IOERR_WRITE,
        ffi::SQLITE_IOERR_FSYNC,
        ffi::SQLITE_NOMEM,
    ] {
        assert!(matches!(said(code), StoreError::Device(_)), "{code}");
    }
    assert!(matches!(said(ffi::SQLITE_FULL), StoreError::Full));
    for code in [ffi::SQLITE_CONSTRAINT_CHECK, ffi::SQLITE_TOOBIG] {
        assert!(matches!(said(code), StoreError::Backend(_)), "{code}");
    }
}
