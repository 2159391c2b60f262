//! Triggers retention by counting commits instead of using a timer: an idle daemon creates no data and need
//! not check any.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use wakeful_core::id::AgentId;
use wakeful_core::report::Event;
use wakeful_core::retention::{DAY_MS, ROUND_EVERY_MS};
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock;

use super::{GcMode, RetentionRound, RetentionWorker};
use crate::{Halt, Observer, TextDelta, ToolOutputDelta};
use wakeful_core::problem::with_causes;

/// Number of commits after which sizes are checked, even if the next round is not due yet.
pub const COMMITS_BETWEEN: u64 = 50_000;

/// Counts commits and wakes a worker when its next round is due.
pub struct CommitCounter {
    clock: Arc<dyn Clock>,
    commits: AtomicU64,
    /// When the next round is due; none before the first is planned.
    due_at: Mutex<Option<Millis>>,
    due: Notify,
}

impl CommitCounter {
    /// Creates a counter without a due round.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            commits: AtomicU64::new(0),
            due_at: Mutex::default(),
            due: Notify::new(),
        }
    }

    fn count_commit(&self) {
        let commits = self.commits.fetch_add(1, Ordering::Relaxed);
        if commits >= COMMITS_BETWEEN || self.is_due() {
            self.due.notify_one();
        }
    }

    /// Whether a round is due. A due time more than a day ahead was set by a wrong clock and counts as due.
    fn is_due(&self) -> bool {
        let due_at = *self.due_at.lock().unwrap_or_else(PoisonError::into_inner);
        due_at.is_some_and(|due_at| !(1..=DAY_MS).contains(&due_at.0.saturating_sub(self.clock.now().0)))
    }

    /// Lets commits before this time pass without a signal.
    pub fn suspend_until(&self, at: Millis) {
        self.commits.store(0, Ordering::Relaxed);
        *self.due_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    /// Resolves after the first commit at or after the time of [`Self::suspend_until`]; also after very many
    /// commits, so that the caller has to check. Supports one waiter.
    pub async fn wait_until_due(&self) {
        self.due.notified().await;
    }
}

/// Forwards events to an observer and counts the commits.
pub struct CountingObserver<O> {
    pub observer: Arc<O>,
    pub commit_counter: Arc<CommitCounter>,
}

impl<O: Observer> Observer for CountingObserver<O> {
    fn on_events(&self, agent: &AgentId, events: &[Event]) {
        self.observer.on_events(agent, events);
        self.commit_counter.count_commit();
    }

    fn on_text_delta(&self, spoken: &TextDelta<'_>) {
        self.observer.on_text_delta(spoken);
    }

    fn on_tool_output(&self, printed: &ToolOutputDelta<'_>) {
        self.observer.on_tool_output(printed);
    }

    fn on_spend_settled(&self) {
        self.observer.on_spend_settled();
    }
}

impl RetentionWorker {
    /// Runs a retention round whenever one is due, until the process halts.
    pub async fn run(&self, pulse: &CommitCounter, halt: &Halt) {
        // If it cannot be read, the first commit retries.
        let first = self.next_round().await;
        pulse.suspend_until(first.unwrap_or(Millis(0)));
        while !halt.is_set() {
            tokio::select! {
                biased;
                () = halt.wait_until_set() => return,
                () = pulse.wait_until_due() => {}
            }
            match self.run_round(GcMode::WhereDue, halt).await {
                Ok(removed) if removed.is_empty() => {}
                Ok(removed) => log_removed(&removed),
                Err(error) => tracing::warn!(error = %with_causes(&error), "retention failed"),
            }
            let next = self.clock.now().0.saturating_add(ROUND_EVERY_MS);
            pulse.suspend_until(Millis(next));
        }
    }
}

fn log_removed(removed: &RetentionRound) {
    let RetentionRound {
        pruned,
        swept,
        files,
        snapshots,
        is_done,
    } = removed;
    for (class, held) in pruned {
        tracing::info!(
            class = class.as_str(),
            rows = held.rows,
            bytes = held.bytes,
            "retention removed data"
        );
    }
    tracing::info!(
        contents = swept.rows,
        files = files.removed.rows,
        bytes = swept.bytes + files.removed.bytes,
        snapshots,
        is_done,
        "retention removed unreferenced contents"
    );
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::sync::atomic::AtomicI64;

    use super::*;

    /// A clock with a settable time.
    struct Set(AtomicI64);

    impl Clock for Set {
        fn now(&self) -> Millis {
            Millis(self.0.load(Ordering::Relaxed))
        }

        fn monotonic_ms(&self) -> u64 {
            0
        }

        fn sleep(&self, _ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            Box::pin(std::future::pending())
        }
    }

    fn wakes(pulse: &CommitCounter) -> bool {
        pulse.count_commit();
        pin!(pulse.due.notified()).as_mut().enable()
    }

    #[test]
    fn a_clock_set_back_delays_no_round_by_more_than_a_day() {
        let then = 20_000 * DAY_MS;
        let clock = Arc::new(Set(AtomicI64::new(then)));
        let pulse = CommitCounter::new(Arc::clone(&clock) as _);
        assert!(!wakes(&pulse), "no round is planned");
        pulse.suspend_until(Millis(then + ROUND_EVERY_MS));
        assert!(!wakes(&pulse));
        clock.0.store(then - 3_650 * DAY_MS, Ordering::Relaxed);
        assert!(wakes(&pulse), "ten years are too long");
        clock.0.store(then + ROUND_EVERY_MS, Ordering::Relaxed);
        assert!(wakes(&pulse));
    }
}
