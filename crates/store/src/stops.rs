//! Pending stop requests, in memory and in the slot file of a home.
//!
//! Memory is authoritative: adding and checking a request never touch the file, because its disk may hang.
//! One thread (the refresher) reads what other processes wrote to the slot, as long as this process checks
//! for stop requests.

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

/// How often the refresher reads the slot. Running commands check as often.
const REFRESH_EVERY: Duration = Duration::from_millis(50);

/// How long the refresher keeps reading after the last check. An idle process has no refresher, so that it
/// does not wake the processor.
const REFRESH_AFTER_LOOK: Duration = Duration::from_secs(2);

/// A stop request that is not in the database yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingStop {
    pub request: StopRequest,
    /// The ids of all requests for the same target that count as this one. They end when it is stored.
    pub ids: BTreeSet<u64>,
    /// Whether it is saved in the home and so survives this process.
    pub is_kept: bool,
    /// The error code of the database; empty until the database has answered.
    pub code: String,
}

/// The stop requests of a home that are not in its database yet. They are in force.
#[derive(Debug, Default)]
pub struct PendingStopStore {
    state: Mutex<State>,
    slot: Option<PathBuf>,
    /// Held by the caller that waits for the disk: while it hangs, other callers time out instead of
    /// accumulating.
    at_disk: Mutex<()>,
    changed: Notify,
    /// Passed to the refresher.
    this: Weak<Self>,
}

#[derive(Debug, Default)]
struct State {
    pending: PendingStops,
    /// Number of this process's own writes to the slot: a read that started before one of them is stale.
    writes: u64,
    code: String,
    /// Whether the slot was ever read successfully.
    is_read: bool,
    /// When a caller last checked for stop requests, and when the slot was last read.
    looked_at: Option<Instant>,
    refreshed_at: Option<Instant>,
    /// Whether the refresher runs. A hanging one counts as running: there is never a second one.
    is_refreshing: bool,
}

impl PendingStopStore {
    /// Creates a store with the slot file of a home, which is read before this returns. A missing file
    /// means no requests; a file that cannot be read in time brakes everything.
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

    /// Reads the state in memory, and starts a refresh for the next call.
    fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        let mut state = locked(&self.state);
        if let Some(path) = &self.slot {
            self.have_refreshed(path, &mut state);
        }
        look(&state)
    }

    /// Starts the refresher, unless it runs or the slot was just read: a short command needs none.
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
        // If the thread could not be started, the next check tries again. The requests in memory are in
        // force anyway.
        state.is_refreshing = started.is_ok();
    }

    fn seen(&self) -> Seen {
        let state = locked(&self.state);
        Seen {
            writes: state.writes,
            holds: state.pending.holds(),
        }
    }

    /// Merges the result of a read that started at `seen`. If the slot is temporarily unreadable, the
    /// previous requests stay; if it was never readable, everything is braked.
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

    /// Whether the refresher is still needed. If not, it ends.
    fn goes_on(&self) -> bool {
        let mut state = locked(&self.state);
        state.is_refreshing = state
            .looked_at
            .is_some_and(|at| at.elapsed() < REFRESH_AFTER_LOOK);
        state.is_refreshing
    }

    /// Returns brakes that the database does not have, given the scopes of those that it has.
    pub(crate) fn unstored_brakes(&self, stored: &BTreeSet<Option<AgentId>>) -> Vec<StopRequest> {
        self.look(|state| state.pending.unstored_brakes(stored))
    }

    /// Waits to become the only caller of this process that waits for the disk.
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

    /// Changes the slot and merges its new contents. The caller holds `at_disk`.
    fn change(&self, path: &Path, change: impl FnOnce(&mut StopSlot)) -> Result<()> {
        let holds = self.seen().holds;
        let slot = write(path, change).map_err(of_io)?;
        let mut state = locked(&self.state);
        state.writes += 1;
        state.pending.merge_slot(slot.requests, holds);
        Ok(())
    }
}

/// The state of this process when it started to read the slot.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    writes: u64,
    holds: u64,
}

/// The refresher: reads the slot until no caller has checked for a while. It keeps no store open while it
/// reads.
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

/// Only [`Self::refresh`], [`Self::save`] and [`Self::end`] wait for a disk.
impl PendingStopStore {
    /// Whether a pending brake applies to an agent.
    pub fn is_braked(&self, agent: &AgentId) -> bool {
        self.look(|state| state.pending.is_braked(agent))
    }

    /// Whether the cancellation of a run is pending.
    pub fn is_cancelled(&self, run: &RunKey) -> bool {
        self.look(|state| state.pending.is_cancelled(run))
    }

    /// Returns every pending request, one for each target, brakes first.
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

    /// Adds a request, which is in force in this process when this returns. Returns the ids of all requests
    /// that count as this one, or `None` if too many are pending.
    pub fn add(&self, request: StopRequest) -> Option<BTreeSet<u64>> {
        locked(&self.state).pending.hold(request)
    }

    /// Records why the database did not store the requests, and wakes the task that stores them later
    /// ([`Self::changed`]).
    pub fn note(&self, code: &str) {
        code.clone_into(&mut locked(&self.state).code);
        self.changed.notify_one();
    }

    /// Whether there is a file for [`Self::save`].
    pub fn has_slot(&self) -> bool {
        self.slot.is_some()
    }

    /// Reads the requests that other processes wrote to the home. The refresher does this while runs are
    /// driven, but a release needs a current result. Waits for the disk like [`Self::save`].
    pub fn refresh(&self) -> Result<()> {
        let Some(path) = &self.slot else { return Ok(()) };
        let _alone = self.alone()?;
        let seen = self.seen();
        let slot = read_settled(path).map_err(of_io)?;
        self.take_over(Ok(slot), seen);
        Ok(())
    }

    /// Saves the requests of this process in the home, which needs no free space, so that they survive this
    /// process. Writes a small file and waits for the disk, so do not call it on a thread that must not
    /// block.
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

    /// Ends requests that are in the database or void. Waits for the disk like [`Self::save`]; fails if
    /// they are still saved in the home.
    pub fn end(&self, ids: &BTreeSet<u64>) -> Result<()> {
        if let Some(path) = &self.slot {
            // A concurrent write may add one of them to the slot.
            let _alone = self.alone()?;
            if locked(&self.state).pending.is_any_kept(ids) {
                self.change(path, |slot| slot.requests.retain(|one| !ids.contains(&one.id)))?;
            }
        }
        locked(&self.state).pending.end(ids);
        Ok(())
    }

    /// Resolves when, since the last call, [`Self::note`] was called or another process saved a request in
    /// the home.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
