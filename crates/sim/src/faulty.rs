//! A store whose process may die before or after each commit, and which may fail for a moment.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::blob::{Blob, BlobHash};
use wakeful_ports::records::PackedBlob;
use wakeful_ports::store::{Store, StoreError, Tx, View};

use crate::chance::Chance;
use crate::ledger::Site;
use crate::world::Absence;

/// A process as its store knows it.
pub(crate) trait Process: Clone + Send + Sync + 'static {
    /// Passes a port. Whoever is dead never comes out of it.
    fn pass(&self, site: Site) -> impl Future<Output = ()> + Send;
    /// Whether the store must now fail it, and whether it is away altogether.
    fn failure(&self) -> Option<Absence>;
    /// Whether it may be sure to act alone.
    fn holds_lease(&self) -> bool;
}

/// A store whose process may die before or after each commit, and which may fail for a moment.
pub(crate) struct FaultyStore<S, P> {
    inner: S,
    process: P,
    chance: Arc<Mutex<Chance>>,
}

impl<S: Clone, P: Clone> Clone for FaultyStore<S, P> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            process: self.process.clone(),
            chance: Arc::clone(&self.chance),
        }
    }
}

impl<S: Store, P: Process> FaultyStore<S, P> {
    /// The store as one process sees it.
    pub(crate) fn new(inner: S, process: P, chance: Chance) -> Self {
        let chance = Arc::new(Mutex::new(chance));
        Self {
            inner,
            process,
            chance,
        }
    }

    async fn pass(&self, site: Site) -> Result<(), StoreError> {
        self.process.pass(site).await;
        let Some(absence) = self.process.failure() else {
            return Ok(());
        };
        // Once something was written, all that can happen is that nobody hears of it.
        Err(match (site, absence) {
            (Site::BeforeCommit, Absence::Once) if self.one_in(2) => StoreError::Conflict,
            (Site::BeforeCommit | Site::Pack, Absence::Once) if self.one_in(2) => StoreError::Full,
            (_, Absence::Once | Absence::Longer) => StoreError::Unreachable("the line went dead".into()),
        })
    }

    fn one_in(&self, times: u32) -> bool {
        self.chance
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .one_in(times)
    }
}

/// How a first try at a transaction ends that the database gives up.
fn given_up<T>() -> Result<T, StoreError> {
    Err(StoreError::Backend("the transaction must be tried again".into()))
}

impl<S: Store, P: Process> Store for FaultyStore<S, P> {
    async fn read<T, F>(&self, f: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut dyn View) -> Result<T, StoreError> + Send + 'static,
    {
        self.pass(Site::Read).await?;
        self.inner.read(f).await
    }

    async fn write<T, F>(&self, f: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    {
        self.pass(Site::BeforeCommit).await?;
        // A transaction may be run, rolled back and run again, and must not notice.
        let f = Arc::new(Mutex::new(f));
        if self.one_in(8) {
            let first = Arc::clone(&f);
            let run = move |tx: &mut dyn Tx| {
                let f = first.lock().unwrap_or_else(PoisonError::into_inner);
                f(tx).map(drop).and_then(|()| given_up())
            };
            let _: Result<(), StoreError> = self.inner.write(run).await;
        }
        let run = move |tx: &mut dyn Tx| f.lock().unwrap_or_else(PoisonError::into_inner)(tx);
        let value = self.inner.write(run).await?;
        self.pass(Site::AfterCommit).await?;
        Ok(value)
    }

    async fn pack(&self, blob: Blob) -> Result<PackedBlob, StoreError> {
        self.pass(Site::Pack).await?;
        self.inner.pack(blob).await
    }

    async fn discard(&self, gone: Vec<BlobHash>) -> Result<(), StoreError> {
        self.inner.discard(gone).await
    }

    fn holds_lease(&self) -> bool {
        self.process.holds_lease()
    }
}
