//! A store on a disk that is sometimes full, and on a line that is sometimes cut.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::blob::{Blob, BlobHash};
use wakeful_core::key::RunKey;
use wakeful_ports::records::PackedBlob;
use wakeful_ports::store::{StoreError, Tx, View};
use wakeful_runtime::run::CLAIMS_MAX;
use wakeful_store::Store;

use super::{Daemon, First, Mailer};

/// How often the disk is full before it is not: more often than a run may be taken up without moving.
pub(super) const FULL_TIMES: u32 = CLAIMS_MAX + 5;

/// A message that somebody takes back, and who has to have sent a mail before.
type TakenBack = Option<(RunKey, Arc<Mailer>)>;

/// A store whose writes fail when they are told to, and are counted.
#[derive(Clone)]
pub(super) struct Faulty {
    inner: Store,
    /// Writes that are still to fail.
    failing: Arc<AtomicU32>,
    /// Whether the disk fails instead of being full, as it does where a quota is used up.
    pub(super) breaks: Arc<AtomicBool>,
    /// How often the disk was full.
    pub(super) filled: Arc<AtomicU32>,
    pub(super) writes: Arc<AtomicU32>,
    /// The how manyeth commit from now on stands and nobody hears of it; 0 for none.
    pub(super) loses: Arc<AtomicU32>,
    /// Whether the database goes away with that answer.
    pub(super) leaves: Arc<AtomicBool>,
    /// Whether it is away.
    pub(super) away: Arc<AtomicBool>,
    /// A message that somebody takes back right before the first write after a mail was sent.
    pub(super) taken_back: Arc<Mutex<TakenBack>>,
    /// Whether this process may no longer act for anybody.
    pub(super) has_no_lease: Arc<AtomicBool>,
}

impl Faulty {
    pub(super) fn new() -> Self {
        Self {
            inner: Store::in_memory("service").expect("a store"),
            failing: Arc::default(),
            breaks: Arc::default(),
            filled: Arc::default(),
            writes: Arc::default(),
            loses: Arc::default(),
            leaves: Arc::default(),
            away: Arc::default(),
            taken_back: Arc::default(),
            has_no_lease: Arc::default(),
        }
    }

    /// The message whose moment to be taken back has come.
    fn taken(&self) -> Option<RunKey> {
        let mut taken_back = self.taken_back.lock().unwrap_or_else(PoisonError::into_inner);
        let has_sent = |(_, mailer): &mut (RunKey, Arc<Mailer>)| mailer.0.load(Ordering::Relaxed) > 0;
        taken_back.take_if(has_sent).map(|(run, _)| run)
    }

    /// Fails while the database is away.
    fn reach(&self) -> Result<(), StoreError> {
        match self.away.load(Ordering::Relaxed) {
            true => Err(dead()),
            false => Ok(()),
        }
    }

    /// Whether the answer to a commit is the one that is lost.
    fn loses_this(&self) -> bool {
        let left = self.loses.load(Ordering::Relaxed);
        self.loses.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 1 && self.leaves.load(Ordering::Relaxed) {
            self.away.store(true, Ordering::Relaxed);
        }
        left == 1
    }

    /// The next commit fails, and so does whatever is written because of that.
    pub(super) fn fill(&self) {
        if self.filled.fetch_add(1, Ordering::Relaxed) < FULL_TIMES {
            self.failing.store(2, Ordering::Relaxed);
        }
    }
}

fn dead() -> StoreError {
    StoreError::Unreachable("the line went dead".into())
}

impl wakeful_ports::store::Store for Faulty {
    async fn read<T, F>(&self, f: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut dyn View) -> Result<T, StoreError> + Send + 'static,
    {
        self.reach()?;
        self.inner.read(f).await
    }

    async fn write<T, F>(&self, f: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    {
        self.reach()?;
        self.writes.fetch_add(1, Ordering::Relaxed);
        let left = self.failing.load(Ordering::Relaxed);
        if left > 0 {
            self.failing.store(left - 1, Ordering::Relaxed);
            return Err(match self.breaks.load(Ordering::Relaxed) {
                true => StoreError::Device("quota exceeded".into()),
                false => StoreError::Full,
            });
        }
        if let Some(run) = self.taken() {
            let taken = self.inner.write(move |tx| {
                let agent = tx.message(&run)?.expect("a message").agent_id;
                tx.dequeue(&agent, &run)
            });
            taken.await?;
        }
        let written = self.inner.write(f).await?;
        match self.loses_this() {
            true => Err(dead()),
            false => Ok(written),
        }
    }

    async fn pack(&self, blob: Blob) -> Result<PackedBlob, StoreError> {
        self.inner.pack(blob).await
    }

    async fn discard(&self, gone: Vec<BlobHash>) -> Result<(), StoreError> {
        self.inner.discard(gone).await
    }

    fn holds_lease(&self) -> bool {
        !self.has_no_lease.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn a_disk_that_fails_again_and_again_quarantines_no_run() {
    let daemon = Daemon::begin(First::FillsDisk).await;
    daemon.store.breaks.store(true, Ordering::Relaxed);
    daemon.pass(24 * 60 * 60 * 1_000).await;
    assert!(daemon.store.filled.load(Ordering::Relaxed) > FULL_TIMES);
    assert_eq!(daemon.status().await, "completed");
}
