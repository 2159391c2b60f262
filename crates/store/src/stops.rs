//! Stop requests in memory, and in the slot file of a home.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::stop::{PendingStops, SLOT_BYTES, Slot, StopRequest, half_of};
use wakeful_ports::stops::{PendingStop, Stops as Port};
use wakeful_ports::store::StoreError;

use crate::lock::locked;

/// How long a writer of the slot waits for another one, and how often it looks. A write takes milliseconds.
const LOCK_WAIT: Duration = Duration::from_millis(500);
const LOCK_LOOK: Duration = Duration::from_millis(5);

/// Stop requests that the database does not have.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    state: Mutex<State>,
    slot: Option<PathBuf>,
    came: Notify,
}

#[derive(Debug, Default)]
struct State {
    pending: PendingStops,
    /// Counts this process's own writes to the slot: a read that one of them overtook is stale.
    writes: u64,
    code: String,
    /// Whether the slot could be read once.
    is_read: bool,
}

impl Stops {
    /// With the slot file of a home. One that is not there says nothing.
    pub(crate) fn with_slot(path: PathBuf) -> Self {
        Self {
            slot: Some(path),
            ..Self::default()
        }
    }

    /// Takes over what the slot says now. A slot that is not there says nothing. One that cannot be opened for a moment
    /// leaves what it said before; one that could not be from the start brakes everything.
    fn refresh(&self) {
        let Some(path) = &self.slot else { return };
        let writes = locked(&self.state).writes;
        let slot = read(path);
        let mut state = locked(&self.state);
        let slot = match slot {
            Ok(slot) => slot,
            Err(_) if state.is_read => return,
            Err(_) => Slot {
                generation: 0,
                requests: vec![StopRequest::unreadable_slot()],
            },
        };
        if state.writes != writes {
            return;
        }
        state.is_read = true;
        let before = state.pending.all().count();
        state.pending.slot_says(slot.requests);
        let has_more = state.pending.all().count() > before;
        drop(state);
        if has_more {
            self.came.notify_one();
        }
    }

    /// What is pending, after a look at the slot.
    fn seen<T>(&self, look: impl FnOnce(&PendingStops) -> T) -> T {
        self.refresh();
        look(&locked(&self.state).pending)
    }

    /// Brakes that the database does not have, given the scopes of those that it has.
    pub(crate) fn brakes_beside(&self, stored: &BTreeSet<Option<AgentId>>) -> Vec<StopRequest> {
        self.seen(|pending| pending.brakes_beside(stored))
    }

    /// Changes the slot and takes over what it says then.
    fn change(&self, change: impl FnOnce(&mut Vec<StopRequest>)) -> Result<(), StoreError> {
        let Some(path) = &self.slot else { return Ok(()) };
        let slot = write(path, change).map_err(of_io)?;
        let mut state = locked(&self.state);
        state.writes += 1;
        state.pending.slot_says(slot.requests);
        Ok(())
    }
}

impl Port for Stops {
    fn is_braked(&self, agent: &AgentId) -> bool {
        self.seen(|pending| pending.is_braked(agent))
    }

    fn is_cancelled(&self, run: &RunKey) -> bool {
        self.seen(|pending| pending.is_cancelled(run))
    }

    fn pending(&self) -> Vec<PendingStop> {
        self.refresh();
        let state = locked(&self.state);
        let all = state.pending.all().map(|request| PendingStop {
            is_kept: state.pending.is_kept(request.id),
            code: state.code.clone(),
            request: request.clone(),
        });
        all.collect()
    }

    fn hold(&self, request: StopRequest) -> Option<u64> {
        // What a verb left in the slot for the same target counts as this request.
        self.refresh();
        locked(&self.state).pending.hold(request)
    }

    fn note(&self, code: &str) {
        code.clone_into(&mut locked(&self.state).code);
        self.came.notify_one();
    }

    fn has_slot(&self) -> bool {
        self.slot.is_some()
    }

    fn keep(&self) -> Result<(), StoreError> {
        if self.slot.is_none() {
            return Err(StoreError::ReadOnly);
        }
        let own = locked(&self.state).pending.own().to_vec();
        if own.is_empty() {
            return Ok(());
        }
        self.change(move |requests| {
            let new = own
                .into_iter()
                .filter(|one| requests.iter().all(|kept| kept.id != one.id));
            let new: Vec<StopRequest> = new.collect();
            requests.extend(new);
        })
    }

    fn end(&self, ids: &BTreeSet<u64>) -> Result<(), StoreError> {
        let is_kept = self.seen(|pending| ids.iter().any(|id| pending.is_kept(*id)));
        if is_kept {
            self.change(|requests| requests.retain(|one| !ids.contains(&one.id)))?;
        }
        locked(&self.state).pending.forget(ids);
        Ok(())
    }

    fn came(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.came.notified())
    }
}

/// Makes a slot, or completes one whose making was cut off. Its bytes are really written, so that later writes in their
/// place need no free space.
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

/// Keeps a request in a slot, for a process that has no database open. One for the same target that is there stands.
pub fn keep_in_slot(path: &Path, request: &StopRequest) -> Result<(), StoreError> {
    let kept = write(path, |requests| {
        if requests.iter().all(|kept| kept.target != request.target) {
            requests.push(request.clone());
        }
    });
    kept.map(drop).map_err(of_io)
}

/// Takes a request out of a slot again: it turned out to concern nothing.
pub fn drop_from_slot(path: &Path, id: u64) -> Result<(), StoreError> {
    let dropped = write(path, |requests| requests.retain(|kept| kept.id != id));
    dropped.map(drop).map_err(of_io)
}

/// The requests that a slot keeps.
#[must_use]
pub fn read_slot(path: &Path) -> Vec<StopRequest> {
    let slot = read(path).map(|slot| slot.requests);
    slot.unwrap_or_else(|_| vec![StopRequest::unreadable_slot()])
}

/// Writes the halves that are not there. An empty one of generation 0 is older than whatever a process has written.
fn complete(file: &File) -> io::Result<()> {
    let there = file.metadata()?.len();
    let empty = Slot::default().half().map_err(io::Error::other)?;
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

/// One writer at a time, of all processes.
fn lock(file: &File) -> io::Result<()> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the brake slot is locked",
                ));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_LOOK),
        }
    }
}

fn read(path: &Path) -> io::Result<Slot> {
    match File::open(path) {
        Ok(file) => read_open(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Slot::default()),
        Err(error) => Err(error),
    }
}

fn read_open(file: &File) -> io::Result<Slot> {
    let mut bytes = Vec::with_capacity(SLOT_BYTES);
    file.take(SLOT_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(Slot::read(&bytes))
}

/// Writes the other half in its place and waits until the disk has it.
fn write(path: &Path, change: impl FnOnce(&mut Vec<StopRequest>)) -> io::Result<Slot> {
    let file = open(path)?;
    lock(&file)?;
    let mut slot = read_open(&file)?;
    change(&mut slot.requests);
    slot.generation += 1;
    let half = slot
        .half()
        .map_err(|full| io::Error::new(io::ErrorKind::StorageFull, full))?;
    file.write_all_at(&half, half_of(slot.generation))?;
    file.sync_data()?;
    Ok(slot)
}

fn of_io(error: io::Error) -> StoreError {
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
