//! A store whose process may die before or after each commit, and which may fail temporarily.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_store::{FaultFuture, FaultPoint, Faults, Store, StoreError};

use crate::environment::Absence;
use crate::ledger::Site;
use crate::rng::Rng;

/// A process as seen by its store.
pub(crate) trait Process: Send + Sync + 'static {
    /// Passes a port. The future of a dead process never resolves.
    fn pass(&self, site: Site) -> impl Future<Output = ()> + Send;
    /// Whether the store must now fail a call, and for how long.
    fn failure(&self) -> Option<Absence>;
    /// Whether the process still holds its lease.
    fn holds_lease(&self) -> bool;
}

/// The faults of a process at its store.
struct ProcessFaults<P> {
    process: P,
    chance: Mutex<Rng>,
}

/// The store as one process sees it.
pub(crate) fn faulty_store(store: &Store, process: impl Process, chance: Rng) -> Store {
    let chance = Mutex::new(chance);
    store
        .clone()
        .with_faults(Arc::new(ProcessFaults { process, chance }))
}

impl<P: Process> ProcessFaults<P> {
    fn one_in(&self, times: u32) -> bool {
        self.chance
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .one_in(times)
    }
}

impl<P: Process> Faults for ProcessFaults<P> {
    fn pass(&self, point: FaultPoint) -> FaultFuture<'_> {
        let site = match point {
            FaultPoint::Read => Site::Read,
            FaultPoint::BeforeCommit => Site::BeforeCommit,
            FaultPoint::AfterCommit => Site::AfterCommit,
            FaultPoint::Pack => Site::Pack,
        };
        Box::pin(async move {
            self.process.pass(site).await;
            let Some(absence) = self.process.failure() else {
                return Ok(());
            };
            // After a commit, the only possible fault is a lost response.
            Err(match (site, absence) {
                (Site::BeforeCommit, Absence::Once) if self.one_in(2) => StoreError::Conflict,
                (Site::BeforeCommit | Site::Pack, Absence::Once) if self.one_in(2) => StoreError::Full,
                (_, Absence::Once | Absence::Longer) => {
                    StoreError::Unreachable("the connection was lost".into())
                }
            })
        })
    }

    fn runs_twice(&self) -> bool {
        self.one_in(8)
    }

    fn holds_lease(&self) -> bool {
        self.process.holds_lease()
    }
}
