//! A store whose disk is sometimes full and whose connection is sometimes lost.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::key::RunKey;
use wakeful_runtime::run::CLAIMS_MAX;
use wakeful_store::{FaultFuture, FaultPoint, Faults, Store, StoreError};

use super::{Daemon, First, Mailer};

/// How often the disk is full: more often than a run may be claimed without progress.
pub(super) const FULL_TIMES: u32 = CLAIMS_MAX + 5;

/// A message to withdraw, and the mailer that must have sent a mail before.
type TakenBack = Option<(RunKey, Arc<Mailer>)>;

/// Writes that fail on request, and are counted.
pub(super) struct Faulty {
    inner: Store,
    /// Number of writes that are still to fail.
    failing: AtomicU32,
    /// Whether the disk fails instead of being full, as with an exhausted quota.
    pub(super) breaks: AtomicBool,
    /// How often the disk was full.
    pub(super) filled: AtomicU32,
    pub(super) writes: AtomicU32,
    /// The response of the commit with this number, counted from now, is lost; 0 for none.
    pub(super) loses: AtomicU32,
    /// Whether the database becomes unavailable with that response.
    pub(super) leaves: AtomicBool,
    /// Whether the database is unavailable.
    pub(super) away: AtomicBool,
    /// A message that is withdrawn right before the first write after a mail was sent.
    pub(super) taken_back: Mutex<TakenBack>,
    /// Whether this process has lost its lease.
    pub(super) has_no_lease: AtomicBool,
}

impl Faulty {
    /// Creates a store with faults, and returns both.
    pub(super) fn store() -> (Store, Arc<Self>) {
        let inner = Store::in_memory("service").expect("a store");
        let faults = Arc::new(Self {
            inner: inner.clone(),
            failing: AtomicU32::default(),
            breaks: AtomicBool::default(),
            filled: AtomicU32::default(),
            writes: AtomicU32::default(),
            loses: AtomicU32::default(),
            leaves: AtomicBool::default(),
            away: AtomicBool::default(),
            taken_back: Mutex::default(),
            has_no_lease: AtomicBool::default(),
        });
        (inner.with_faults(Arc::<Self>::clone(&faults)), faults)
    }

    /// The message to withdraw now, if any.
    fn taken(&self) -> Option<RunKey> {
        let mut taken_back = self.taken_back.lock().unwrap_or_else(PoisonError::into_inner);
        let has_sent = |(_, mailer): &mut (RunKey, Arc<Mailer>)| mailer.0.load(Ordering::Relaxed) > 0;
        taken_back.take_if(has_sent).map(|(run, _)| run)
    }

    /// Fails while the database is unavailable.
    fn reach(&self) -> Result<(), StoreError> {
        match self.away.load(Ordering::Relaxed) {
            true => Err(dead()),
            false => Ok(()),
        }
    }

    /// Whether the response of this commit is lost.
    fn loses_this(&self) -> bool {
        let left = self.loses.load(Ordering::Relaxed);
        self.loses.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 1 && self.leaves.load(Ordering::Relaxed) {
            self.away.store(true, Ordering::Relaxed);
        }
        left == 1
    }

    async fn before_commit(&self) -> Result<(), StoreError> {
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
        let Some(run) = self.taken() else { return Ok(()) };
        let taken = self.inner.write(move |tx| {
            let agent = tx.message(&run)?.expect("a message").agent_id;
            tx.dequeue(&agent, &run)
        });
        taken.await
    }

    /// Makes the next commit fail, and every write that follows from the failure.
    pub(super) fn fill(&self) {
        if self.filled.fetch_add(1, Ordering::Relaxed) < FULL_TIMES {
            self.failing.store(2, Ordering::Relaxed);
        }
    }
}

fn dead() -> StoreError {
    StoreError::Unreachable("the connection was lost".into())
}

impl Faults for Faulty {
    fn pass(&self, point: FaultPoint) -> FaultFuture<'_> {
        Box::pin(async move {
            match point {
                FaultPoint::Read => self.reach(),
                FaultPoint::BeforeCommit => self.before_commit().await,
                FaultPoint::AfterCommit if self.loses_this() => Err(dead()),
                FaultPoint::AfterCommit | FaultPoint::Pack => Ok(()),
            }
        })
    }

    fn holds_lease(&self) -> bool {
        !self.has_no_lease.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn a_repeatedly_failing_disk_quarantines_no_run() {
    let daemon = Daemon::begin(First::FillsDisk).await;
    daemon.faults.breaks.store(true, Ordering::Relaxed);
    daemon.pass(24 * 60 * 60 * 1_000).await;
    assert!(daemon.faults.filled.load(Ordering::Relaxed) > FULL_TIMES);
    assert_eq!(daemon.status().await, "completed");
}
