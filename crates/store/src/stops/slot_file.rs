//! The slot file of a home: reading it, and writing it in place.
//!
//! A disk may hang, so nothing here runs on a thread that must not block. Functions for callers without
//! their own thread, such as [`keep_in_slot`], wait for at most [`SLOT_WAIT`].

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use wakeful_core::stop::{SLOT_BYTES, StopRequest, StopSlot, half_of};

use crate::{Result, StoreError};

/// Timeout for reading or writing a slot, and for waiting for another writer. A write takes milliseconds.
pub(super) const SLOT_WAIT: Duration = Duration::from_millis(500);

/// How often a writer checks whether another one has finished.
pub(super) const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Creates a slot, or completes one whose creation was interrupted. All its bytes are written, so that
/// later writes in place need no free space.
pub fn make_slot(path: &Path) -> io::Result<()> {
    if path
        .metadata()
        .is_ok_and(|found| found.len() >= SLOT_BYTES as u64)
    {
        return Ok(());
    }
    let file = open(path)?;
    lock(&file)?;
    complete(&file)?;
    file.sync_all()
}

/// Saves a request in a slot, for a process that has no database open. An existing request for the same
/// target is kept.
pub fn keep_in_slot(path: &Path, request: &StopRequest) -> Result<()> {
    let (path, request) = (path.to_owned(), request.clone());
    let left_out = within(SLOT_WAIT, move || {
        let mut left_out = Vec::new();
        write(&path, |slot| left_out = slot.take_in(vec![request]))?;
        Ok(left_out)
    });
    if left_out.map_err(of_io)?.is_empty() {
        Ok(())
    } else {
        Err(StoreError::Full)
    }
}

/// Removes a request from a slot because it has no target.
pub fn drop_from_slot(path: &Path, id: u64) -> Result<()> {
    let path = path.to_owned();
    let dropped = within(SLOT_WAIT, move || {
        write(&path, |slot| slot.requests.retain(|kept| kept.id != id))
    });
    dropped.map(drop).map_err(of_io)
}

/// Returns the requests in a slot. An unreadable slot brakes everything.
#[must_use]
pub fn read_slot(path: &Path) -> Vec<StopRequest> {
    let slot = read_within(path).map(|slot| slot.requests);
    slot.unwrap_or_else(|_| vec![StopRequest::unreadable_slot()])
}

/// Reads a slot within [`SLOT_WAIT`].
pub(super) fn read_within(path: &Path) -> io::Result<StopSlot> {
    let path = path.to_owned();
    within(SLOT_WAIT, move || read(&path))
}

/// Runs a closure on its own thread and waits for it with a timeout. A hanging thread is abandoned: it
/// blocks neither the caller nor the end of the process.
fn within<T: Send + 'static>(
    wait: Duration,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (done, result) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name("brake-slot".to_owned())
        .spawn(move || drop(done.send(work())))?;
    result.recv_timeout(wait).unwrap_or_else(|_| Err(hangs()))
}

pub(super) fn hangs() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        "the disk with the brake slot does not respond",
    )
}

/// Reads a slot. A missing file means no requests.
pub(super) fn read(path: &Path) -> io::Result<StopSlot> {
    open_to_read(path)?.map_or_else(|| Ok(StopSlot::default()), |file| read_open(&file))
}

/// Like [`read`], while no process writes: the result includes every write in progress, or this fails.
pub(super) fn read_settled(path: &Path) -> io::Result<StopSlot> {
    let Some(file) = open_to_read(path)? else {
        return Ok(StopSlot::default());
    };
    lock(&file)?;
    read_open(&file)
}

/// Writes the other half in place and syncs it.
pub(super) fn write(path: &Path, change: impl FnOnce(&mut StopSlot)) -> io::Result<StopSlot> {
    let file = open(path)?;
    lock(&file)?;
    let mut slot = read_open(&file)?;
    change(&mut slot);
    slot.generation += 1;
    let half = slot
        .half()
        .map_err(|full| io::Error::new(io::ErrorKind::StorageFull, full))?;
    file.write_all_at(&half, half_of(slot.generation))?;
    file.sync_data()?;
    Ok(slot)
}

fn open_to_read(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_open(file: &File) -> io::Result<StopSlot> {
    let mut bytes = Vec::with_capacity(SLOT_BYTES);
    file.take(SLOT_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(StopSlot::read(&bytes))
}

/// Writes missing halves. An empty half of generation 0 is older than anything that a process has written.
fn complete(file: &File) -> io::Result<()> {
    let there = file.metadata()?.len();
    let empty = StopSlot::default().half().map_err(io::Error::other)?;
    for at in [half_of(0), half_of(1)] {
        if there < at + empty.len() as u64 {
            file.write_all_at(&empty, at)?;
        }
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Allows one writer at a time, across all processes.
fn lock(file: &File) -> io::Result<()> {
    let deadline = Instant::now() + SLOT_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(hangs()),
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_POLL_INTERVAL),
        }
    }
}

pub(super) fn of_io(error: io::Error) -> StoreError {
    let kind = error.kind();
    if matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        StoreError::Full
    } else if matches!(
        kind,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
    ) {
        StoreError::ReadOnly
    } else {
        StoreError::Device(error.into())
    }
}
