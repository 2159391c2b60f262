//! Virtual time: it stands still while a task has work, and then advances to the next awaited time. A
//! simulated hour takes only as long as the work in it.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The clock of a simulation.
#[derive(Debug, Default)]
pub(crate) struct Time(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    now_ms: u64,
    /// Waits by due time; the second number separates waits for the same time.
    waits: BTreeSet<(u64, u64)>,
    next: u64,
    /// The tasks that wait for time or for a change of the environment.
    wakers: Vec<Waker>,
}

impl Time {
    /// Milliseconds since the start.
    pub(crate) fn now_ms(&self) -> u64 {
        self.state().now_ms
    }

    /// Advances to the next awaited time. Returns false if there is none.
    pub(crate) fn advance(&self) -> bool {
        let mut state = self.state();
        let later = (state.now_ms + 1, 0);
        let Some((next_ms, _)) = state.waits.range(later..).next().copied() else {
            return false;
        };
        state.now_ms = next_ms;
        true
    }

    /// Advances time without waking a waiter.
    pub(crate) fn jump(&self, ms: u64) {
        let mut state = self.state();
        state.now_ms = state.now_ms.saturating_add(ms);
    }

    /// Waits until some milliseconds have passed.
    pub(crate) fn wait(self: &Arc<Self>, ms: u64) -> Wait {
        let mut state = self.state();
        let entry = (state.now_ms.saturating_add(ms), state.next);
        state.next += 1;
        state.waits.insert(entry);
        let time = Arc::clone(self);
        Wait { time, entry }
    }

    /// Registers a task that waits, so that combinators that poll only woken tasks poll it again.
    pub(crate) fn register(&self, context: &Context<'_>) {
        self.state().wakers.push(context.waker().clone());
    }

    /// Wakes every waiting task. Each checks again what it waits for.
    pub(crate) fn wake_all(&self) {
        let wakers = std::mem::take(&mut self.state().wakers);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A future that resolves at its time.
pub(crate) struct Wait {
    time: Arc<Time>,
    entry: (u64, u64),
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.time.now_ms() >= self.entry.0 {
            Poll::Ready(())
        } else {
            self.time.register(context);
            Poll::Pending
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.time.state().waits.remove(&self.entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::at_once;

    #[test]
    fn time_advances_only_to_the_next_awaited_time() {
        let time = Arc::new(Time::default());
        let (mut late, soon) = (Box::pin(time.wait(500)), time.wait(20));
        assert_eq!(
            (at_once(late.as_mut()), time.advance(), time.now_ms()),
            (None, true, 20)
        );
        assert_eq!(at_once(soon), Some(()));
        assert_eq!(
            (at_once(late.as_mut()), time.advance(), time.now_ms()),
            (None, true, 500)
        );
        assert_eq!(at_once(late.as_mut()), Some(()));
        assert!(!time.advance());
    }

    #[test]
    fn a_dropped_wait_is_removed() {
        let time = Arc::new(Time::default());
        drop(time.wait(500));
        assert!(!time.advance());
    }
}
