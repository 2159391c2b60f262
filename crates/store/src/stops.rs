//! Stop requests in memory, and in the slot file of a home.
//!
//! Memory is what counts: holding a request and asking whether one holds never touch the file, because its disk may hang.
//! One thread (the refresher) reads what other processes left in the slot, while this process asks for it.

mod slot_file;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::stop::{Pending, PendingStops, StopRequest, StopSlot};

use self::slot_file::{LOCK_POLL_INTERVAL, SLOT_WAIT, hangs, of_io, read, read_settled, read_within, write};
pub use self::slot_file::{drop_from_slot, keep_in_slot, make_slot, read_slot};
use crate::lock::locked;
use crate::{Result, StoreError};

/// How often the refresher reads the slot. Running commands ask as often.
const REFRESH_EVERY: Duration = Duration::from_millis(50);

/// How long the refresher keeps reading after the last question. An idle process has none, so that it does not wake the processor.
const REFRESH_AFTER_LOOK: Duration = Duration::from_secs(2);

/// A stop request that waits for the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingStop {
    /// The request.
    pub request: StopRequest,
    /// The ids of all requests for its target that count as this one: whoever has stored it ends these.
    pub ids: BTreeSet<u64>,
    /// Whether it is kept in the home and so survives this process.
    pub is_kept: bool,
    /// Why the database did not take it, as an error code; empty while it has not answered.
    pub code: String,
}

/// The stop requests of a home that wait for its database. They are in force.
#[derive(Debug, Default)]
pub struct PendingStopStore {
    state: Mutex<State>,
    slot: Option<PathBuf>,
    /// Held by the caller that waits for the disk: while one hangs, others fail in time and do not pile up.
    at_disk: Mutex<()>,
    changed: Notify,
    /// For the refresher.
    this: Weak<Self>,
}

#[derive(Debug, Default)]
struct State {
    pending: PendingStops,
    /// Counts this process's own writes to the slot: a read that one of them overtook is stale.
    writes: u64,
    code: String,
    /// Whether the slot could be read once.
    is_read: bool,
    /// When a caller last asked what is pending, and when the slot was last read.
    looked_at: Option<Instant>,
    refreshed_at: Option<Instant>,
    /// Whether the refresher runs. One that hangs runs: there is never a second one.
    is_refreshing: bool,
}

impl PendingStopStore {
    /// With the slot file of a home, which is read before this returns. One that is not there says nothing; one that cannot
    /// be read in time brakes everything.
    pub(crate) fn with_slot(path: PathBuf) -> Arc<Self> {
        let slot = read_within(&path);
        let stops = Arc::new_cyclic(|this| Self {
            slot: Some(path),
            this: Weak::clone(this),
            ..Self::default()
        });
        stops.take_over(slot, Seen::default());
        stops
    }

    /// Asks memory, and has it refreshed for the next question.
    fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        let mut state = locked(&self.state);
        if let Some(path) = &self.slot {
            self.have_refreshed(path, &mut state);
        }
        look(&state)
    }

    /// Starts the refresher, unless it runs or the slot has just been read: a verb that ends at once needs none.
    fn have_refreshed(&self, path: &Path, state: &mut State) {
        let now = Instant::now();
        state.looked_at = Some(now);
        let is_fresh = |at: Instant| now.duration_since(at) < REFRESH_EVERY;
        if state.is_refreshing || state.refreshed_at.is_some_and(is_fresh) {
            return;
        }
        let (stops, path) = (Weak::clone(&self.this), path.to_owned());
        let started = thread::Builder::new()
            .name("brake-refresher".to_owned())
            .spawn(move || refresh_while_asked(&stops, &path));
        // Without a thread, the next question tries again. What this process holds is in force all the same.
        state.is_refreshing = started.is_ok();
    }

    fn seen(&self) -> Seen {
        let state = locked(&self.state);
        Seen {
            writes: state.writes,
            holds: state.pending.holds(),
        }
    }

    /// Takes over what a read found that began when `seen` was so. A slot that cannot be read for a moment leaves what it
    /// said before; one that could not be from the start brakes everything.
    fn take_over(&self, slot: io::Result<StopSlot>, seen: Seen) {
        let mut state = locked(&self.state);
        state.refreshed_at = Some(Instant::now());
        let requests = match slot {
            Ok(slot) => slot.requests,
            Err(_) if state.is_read => return,
            Err(_) => vec![StopRequest::unreadable_slot()],
        };
        if state.writes != seen.writes {
            return;
        }
        state.is_read = true;
        if state.pending.merge_slot(requests, seen.holds) {
            self.changed.notify_one();
        }
    }

    /// Whether the refresher is still needed. It ends where it is not.
    fn goes_on(&self) -> bool {
        let mut state = locked(&self.state);
        state.is_refreshing = state
            .looked_at
            .is_some_and(|at| at.elapsed() < REFRESH_AFTER_LOOK);
        state.is_refreshing
    }

    /// Brakes that the database does not have, given the scopes of those that it has.
    pub(crate) fn unstored_brakes(&self, stored: &BTreeSet<Option<AgentId>>) -> Vec<StopRequest> {
        self.look(|state| state.pending.unstored_brakes(stored))
    }

    /// Becomes the one caller of this process that waits for the disk.
    fn alone(&self) -> Result<MutexGuard<'_, ()>> {
        let deadline = Instant::now() + SLOT_WAIT;
        loop {
            match self.at_disk.try_lock() {
                Ok(alone) => return Ok(alone),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(PoisonError::into_inner(poisoned)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(of_io(hangs())),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_POLL_INTERVAL),
            }
        }
    }

    /// Changes the slot and takes over what it says then. Called alone.
    fn change(&self, path: &Path, change: impl FnOnce(&mut StopSlot)) -> Result<()> {
        let holds = self.seen().holds;
        let slot = write(path, change).map_err(of_io)?;
        let mut state = locked(&self.state);
        state.writes += 1;
        state.pending.merge_slot(slot.requests, holds);
        Ok(())
    }
}

/// What this process had done when it began to read the slot.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    writes: u64,
    holds: u64,
}

/// The refresher: reads the slot until no caller has asked for a while. It holds no store open while it reads.
fn refresh_while_asked(stops: &Weak<PendingStopStore>, path: &Path) {
    loop {
        let Some(seen) = stops.upgrade().map(|stops| stops.seen()) else {
            return;
        };
        let slot = read(path);
        let Some(stops) = stops.upgrade() else { return };
        stops.take_over(slot, seen);
        if !stops.goes_on() {
            return;
        }
        drop(stops);
        thread::sleep(REFRESH_EVERY);
    }
}

/// Only [`Self::refresh`], [`Self::keep`] and [`Self::end`] wait for a disk.
impl PendingStopStore {
    /// Whether a pending brake holds an agent.
    pub fn is_braked(&self, agent: &AgentId) -> bool {
        self.look(|state| state.pending.is_braked(agent))
    }

    /// Whether the cancellation of a run is pending.
    pub fn is_cancelled(&self, run: &RunKey) -> bool {
        self.look(|state| state.pending.is_cancelled(run))
    }

    /// Every pending request, one for each target, brakes first.
    pub fn pending(&self) -> Vec<PendingStop> {
        self.look(|state| {
            let stop = |pending: &Pending| {
                Some(PendingStop {
                    request: pending.request()?.clone(),
                    ids: pending.ids(),
                    is_kept: pending.is_kept(),
                    code: state.code.clone(),
                })
            };
            state.pending.all().filter_map(stop).collect()
        })
    }

    /// Takes a request in; it holds in this process when this returns. The ids of all that count as this request. None where
    /// too many wait.
    pub fn add(&self, request: StopRequest) -> Option<BTreeSet<u64>> {
        locked(&self.state).pending.hold(request)
    }

    /// Notes why the database did not take the requests, and wakes the task that stores them later ([`Self::changed`]).
    pub fn note(&self, code: &str) {
        code.clone_into(&mut locked(&self.state).code);
        self.changed.notify_one();
    }

    /// Whether there is a file for [`Self::keep`].
    pub fn has_slot(&self) -> bool {
        self.slot.is_some()
    }

    /// Reads what other processes left in the home. It is read anyway while runs are driven; a release must know it for
    /// certain. Waits for the disk like [`Self::keep`].
    pub fn refresh(&self) -> Result<()> {
        let Some(path) = &self.slot else { return Ok(()) };
        let _alone = self.alone()?;
        let seen = self.seen();
        let slot = read_settled(path).map_err(of_io)?;
        self.take_over(Ok(slot), seen);
        Ok(())
    }

    /// Keeps what this process holds in the home, which needs no free space, so that it survives this process. Writes a
    /// small file and waits for the disk: not on a thread that must not wait.
    pub fn save(&self) -> Result<()> {
        let path = self.slot.as_deref().ok_or(StoreError::ReadOnly)?;
        let _alone = self.alone()?;
        let unkept: Vec<StopRequest> = locked(&self.state).pending.unkept().cloned().collect();
        if unkept.is_empty() {
            return Ok(());
        }
        let mut left_out = Vec::new();
        self.change(path, |slot| left_out = slot.take_in(unkept))?;
        if left_out.is_empty() {
            Ok(())
        } else {
            Err(StoreError::Full)
        }
    }

    /// Ends requests that the database has or that are void. Waits for the disk like [`Self::keep`]; fails where the home
    /// still has them.
    pub fn end(&self, ids: &BTreeSet<u64>) -> Result<()> {
        if let Some(path) = &self.slot {
            // A write that is under way may put one of them into the slot.
            let _alone = self.alone()?;
            if locked(&self.state).pending.is_any_kept(ids) {
                self.change(path, |slot| slot.requests.retain(|one| !ids.contains(&one.id)))?;
            }
        }
        locked(&self.state).pending.end(ids);
        Ok(())
    }

    /// Resolves when, since the last call, [`Self::note`] was called or another process left a request in the home.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
