//! When to care for data, without a clock that ticks: what is committed tells. A daemon that does nothing makes no
//! data, and need not look at any.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tokio::sync::Notify;
use wakeful_core::id::AgentId;
use wakeful_core::report::Event;
use wakeful_core::retention::ROUND_EVERY_MS;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock;
use wakeful_ports::store::{Store, StoreError};

use super::{Cared, Keeper, Sweep};
use crate::{Halt, Observer, Spoken};

/// Commits after which sizes are looked at, however early in the day it is.
pub const COMMITS_BETWEEN: u64 = 50_000;

/// Counts commits, and wakes whoever cares for data when it is time.
pub struct Pulse {
    clock: Arc<dyn Clock>,
    commits: AtomicU64,
    due_at: AtomicI64,
    due: Notify,
}

impl Pulse {
    /// Not due before somebody says when.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            commits: AtomicU64::new(0),
            due_at: AtomicI64::new(i64::MAX),
            due: Notify::new(),
        }
    }

    fn beat(&self) {
        let commits = self.commits.fetch_add(1, Ordering::Relaxed);
        if commits >= COMMITS_BETWEEN || self.clock.now().0 >= self.due_at.load(Ordering::Relaxed) {
            self.due.notify_one();
        }
    }

    fn rest_until(&self, at: Millis) {
        self.commits.store(0, Ordering::Relaxed);
        self.due_at.store(at.0, Ordering::Relaxed);
    }
}

/// Tells others what was committed, and counts it.
pub struct Pulsing<O> {
    /// Who is told.
    pub observer: Arc<O>,
    /// Who counts.
    pub pulse: Arc<Pulse>,
}

impl<O: Observer> Observer for Pulsing<O> {
    fn saw(&self, agent: &AgentId, events: &[Event]) {
        self.observer.saw(agent, events);
        self.pulse.beat();
    }

    fn heard(&self, spoken: &Spoken<'_>) {
        self.observer.heard(spoken);
    }
}

impl<S: Store> Keeper<S> {
    /// Cares for data whenever it is time, until a stop is asked for. What came of each round is told.
    pub async fn run(&self, pulse: &Pulse, halt: &Halt, tell: impl Fn(&Result<Cared, StoreError>)) {
        // Where it cannot be read, the first commit tries again.
        let first = self.next_round().await;
        pulse.rest_until(first.unwrap_or(Millis(0)));
        while !halt.is_set() {
            tokio::select! {
                biased;
                () = halt.asked() => return,
                () = pulse.due.notified() => {}
            }
            tell(&self.round(Sweep::WhereDue, halt).await);
            let next = self.clock.now().0.saturating_add(ROUND_EVERY_MS);
            pulse.rest_until(Millis(next));
        }
    }
}
