//! The clocks of a daemon scenario: virtual time that advances on request, and a wall clock that can be
//! set.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use wakeful_core::time::Millis;

/// The clocks of one machine. They outlive every process on it.
pub(crate) struct SimClock(Mutex<State>);

struct State {
    ticks_ms: u64,
    wall: Millis,
    /// How often the wall clock was set.
    sets: u64,
    next: u64,
    /// Wakers by due time; the second number separates waits for the same time.
    waits: BTreeMap<(u64, u64), Waker>,
}

impl SimClock {
    /// Creates clocks that show this time.
    pub(crate) fn at(wall: Millis) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            ticks_ms: 0,
            wall,
            sets: 0,
            next: 0,
            waits: BTreeMap::new(),
        })))
    }

    /// The time that the wall clock shows.
    pub(crate) fn now(&self) -> Millis {
        self.state().wall
    }

    /// Elapsed time, independent of the wall clock.
    pub(crate) fn ticks_ms(&self) -> u64 {
        self.state().ticks_ms
    }

    /// Sets the wall clock forward or back, and wakes every wait for a wall-clock time so that it checks
    /// again.
    pub(crate) fn set(&self, by_ms: i64) {
        let mut state = self.state();
        state.wall = Millis(state.wall.0.saturating_add(by_ms));
        state.sets += 1;
        let waiting: Vec<Waker> = std::mem::take(&mut state.waits).into_values().collect();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Advances to the next awaited time, at most to `until_ms`. Returns whether a waiter was woken.
    pub(crate) fn advance(&self, until_ms: u64) -> bool {
        let mut state = self.state();
        let first = state.waits.first_key_value().map(|(key, _)| *key);
        let to_ms = first.map_or(until_ms, |(at_ms, _)| at_ms.min(until_ms));
        let step = to_ms.saturating_sub(state.ticks_ms);
        state.ticks_ms += step;
        state.wall.0 = state
            .wall
            .0
            .saturating_add(i64::try_from(step).unwrap_or(i64::MAX));
        let Some(key) = first.filter(|(at_ms, _)| *at_ms <= state.ticks_ms) else {
            return false;
        };
        let waker = state.waits.remove(&key);
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        true
    }

    /// Whether a waiter exists.
    #[cfg(test)]
    pub(crate) fn is_awaited(&self) -> bool {
        !self.state().waits.is_empty()
    }

    /// Waits until some milliseconds have passed.
    pub(crate) fn wait(self: &Arc<Self>, ms: u64) -> Wait {
        self.wait_for(ms, false)
    }

    /// Waits until the wall clock shows a moment, or is set.
    pub(crate) fn wait_until(self: &Arc<Self>, moment: Millis) -> Wait {
        let ms = moment.since(self.now()).max(1);
        self.wait_for(ms, true)
    }

    fn wait_for(self: &Arc<Self>, ms: u64, hears_sets: bool) -> Wait {
        let mut state = self.state();
        state.next += 1;
        Wait {
            wall: Arc::clone(self),
            key: (state.ticks_ms.saturating_add(ms), state.next),
            sets: hears_sets.then_some(state.sets),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A future that resolves at its time.
pub(crate) struct Wait {
    wall: Arc<SimClock>,
    key: (u64, u64),
    /// The value of the set counter when the wait started, if setting the clock ends this wait.
    sets: Option<u64>,
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.wall.state();
        let is_set = self.sets.is_some_and(|sets| sets != state.sets);
        if is_set || state.ticks_ms >= self.key.0 {
            return Poll::Ready(());
        }
        state.waits.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.wall.state().waits.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::at_once;

    #[test]
    fn setting_the_clock_wakes_waits_for_times_but_not_for_durations() {
        let wall = SimClock::at(Millis(0));
        let (mut moment, mut time) = (Box::pin(wall.wait_until(Millis(500))), Box::pin(wall.wait(500)));
        assert_eq!((at_once(moment.as_mut()), at_once(time.as_mut())), (None, None));
        wall.set(-100);
        assert_eq!(
            (at_once(moment.as_mut()), at_once(time.as_mut())),
            (Some(()), None)
        );
        assert!(wall.advance(1_000), "a waiter exists");
        assert_eq!((wall.ticks_ms(), wall.now()), (500, Millis(400)));
        assert_eq!(at_once(time), Some(()));
    }

    #[test]
    fn time_stops_at_its_limit_and_dropped_waits_are_removed() {
        let wall = SimClock::at(Millis(0));
        let mut wait = Box::pin(wall.wait(500));
        assert_eq!(at_once(wait.as_mut()), None);
        assert!(!wall.advance(20) && wall.is_awaited());
        drop(wait);
        assert_eq!((wall.ticks_ms(), wall.is_awaited()), (20, false));
    }
}
