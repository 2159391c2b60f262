//! The bounded set of connections of one listener.
//!
//! Connections without a valid login must not lock out those with one. When the limit is reached, the
//! connection that has been idle longest is closed, those without a login first. Busy connections without a
//! login cannot use the reserved slots.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// One slot in this many is reserved for connections with a valid login.
const RESERVED_PART: usize = 8;

/// Maximum number of connections that are closing. Beyond it no connection is accepted, so that a flood
/// cannot take descriptors faster than they are released.
const CLOSING_MAX: usize = 64;

#[derive(Debug)]
pub(crate) struct Slots {
    slots_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// A counter that numbers connections and the times at which they become idle.
    next: u64,
    open: BTreeMap<u64, Entry>,
    /// Idle connections: those without a login first, then by idle time. The first one is closed next.
    idle: BTreeMap<(bool, u64), u64>,
    /// Number of connections without a login that have a request in progress.
    anonymous_busy: usize,
    /// Number of connections that were asked to close and are still open.
    closing: usize,
}

#[derive(Debug)]
struct Entry {
    is_authenticated: bool,
    /// When the connection became idle; `None` while a request is in progress.
    idle_since: Option<u64>,
    shed: Arc<Notify>,
}

/// The slot of one connection, released on drop.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    id: u64,
    shed: Arc<Notify>,
}

/// A request in progress, until dropped with the last byte of its response.
#[derive(Debug)]
pub(crate) struct RequestGuard(Arc<Slot>);

impl Slots {
    pub(crate) fn new(slots_max: usize) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Self { slots_max, state })
    }

    /// Takes a slot for an accepted connection. If all are in use, an idle connection is asked to close;
    /// returns `None` if every connection has a request in progress.
    pub(crate) fn open(self: &Arc<Self>) -> Option<Slot> {
        let mut state = self.state();
        if state.open.len() >= self.slots_max {
            let (_, oldest) = state.idle.pop_first()?;
            if let Some(entry) = state.open.remove(&oldest) {
                state.closing = state.closing.saturating_add(1);
                entry.shed.notify_one();
            }
        }
        let (id, since) = (state.tick(), state.tick());
        let shed = Arc::new(Notify::new());
        let entry = Entry {
            is_authenticated: false,
            idle_since: Some(since),
            shed: Arc::clone(&shed),
        };
        state.open.insert(id, entry);
        state.idle.insert((false, since), id);
        let slots = Arc::clone(self);
        Some(Slot { slots, id, shed })
    }

    /// Whether another connection may be accepted now.
    pub(crate) fn may_accept(&self) -> bool {
        self.state().closing < CLOSING_MAX
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.next = self.next.saturating_add(1);
        self.next
    }
}

impl Slot {
    /// Resolves when the slot is needed for another connection.
    pub(crate) async fn shed(&self) {
        self.shed.notified().await;
    }

    /// Marks the start of a request. Returns `None` if the connection was already asked to close.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<RequestGuard> {
        let mut state = self.slots.state();
        let entry = state.open.get_mut(&self.id)?;
        let (is_authenticated, since) = (entry.is_authenticated, entry.idle_since.take());
        if let Some(since) = since {
            state.idle.remove(&(is_authenticated, since));
        }
        if !is_authenticated {
            state.anonymous_busy = state.anonymous_busy.saturating_add(1);
        }
        drop(state);
        Some(RequestGuard(Arc::clone(self)))
    }

    /// Records that the current request has a valid login, so that this connection is closed only after
    /// those without one.
    pub(crate) fn authenticate(&self) {
        let mut state = self.slots.state();
        let Some(entry) = state.open.get_mut(&self.id) else {
            return;
        };
        let was_anonymous = !std::mem::replace(&mut entry.is_authenticated, true);
        if was_anonymous && entry.idle_since.is_none() {
            state.anonymous_busy = state.anonymous_busy.saturating_sub(1);
        }
    }

    /// Whether a request without a login may be served here; reserved slots do not admit it.
    pub(crate) fn admits_anonymous(&self) -> bool {
        let state = self.slots.state();
        let is_authenticated = state
            .open
            .get(&self.id)
            .is_some_and(|entry| entry.is_authenticated);
        let reserved = self.slots.slots_max.div_ceil(RESERVED_PART);
        is_authenticated || state.anonymous_busy <= self.slots.slots_max.saturating_sub(reserved)
    }

    /// Whether no request is in progress.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.slots.state();
        state
            .open
            .get(&self.id)
            .is_none_or(|entry| entry.idle_since.is_some())
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let Self(slot) = self;
        let mut state = slot.slots.state();
        let since = state.tick();
        let Some(entry) = state.open.get_mut(&slot.id) else {
            return;
        };
        entry.idle_since = Some(since);
        let is_authenticated = entry.is_authenticated;
        state.idle.insert((is_authenticated, since), slot.id);
        if !is_authenticated {
            state.anonymous_busy = state.anonymous_busy.saturating_sub(1);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.slots.state();
        match state.open.remove(&self.id) {
            Some(Entry {
                is_authenticated,
                idle_since: Some(since),
                ..
            }) => {
                state.idle.remove(&(is_authenticated, since));
            }
            // Every request in progress holds the slot, so none is left here.
            Some(Entry { idle_since: None, .. }) => {}
            None => state.closing = state.closing.saturating_sub(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_shed(slot: &Slot) -> bool {
        !slot.slots.state().open.contains_key(&slot.id)
    }

    fn opened(slots: &Arc<Slots>) -> Arc<Slot> {
        Arc::new(slots.open().expect("a slot"))
    }

    #[test]
    fn a_new_connection_replaces_the_one_idle_longest() {
        let slots = Slots::new(2);
        let (first, second) = (opened(&slots), opened(&slots));
        drop(first.begin().expect("not shed"));
        let third = opened(&slots);
        assert_eq!(
            [&first, &second, &third].map(|slot| is_shed(slot)),
            [false, true, false]
        );
        assert!(second.begin().is_none(), "the connection was asked to close");
        assert!(slots.may_accept());
    }

    #[test]
    fn connections_without_a_login_are_closed_before_those_with_one() {
        let slots = Slots::new(2);
        let (first, second) = (opened(&slots), opened(&slots));
        let busy = first.begin().expect("not shed");
        first.authenticate();
        drop(busy);
        drop(second.begin().expect("not shed"));
        let third = opened(&slots);
        assert!(!is_shed(&first) && is_shed(&second));
        drop(third);
    }

    #[test]
    fn a_request_in_progress_is_never_closed_for_a_new_connection() {
        let slots = Slots::new(1);
        let only = opened(&slots);
        let busy = only.begin().expect("not shed");
        assert!(slots.open().is_none());
        drop(busy);
        assert!(slots.open().is_some() && is_shed(&only));
    }

    #[test]
    fn requests_without_a_login_leave_the_reserved_slots_free() {
        let slots = Slots::new(8);
        let all: Vec<Arc<Slot>> = (0..8).map(|_| opened(&slots)).collect();
        let busy: Vec<RequestGuard> = all.iter().filter_map(Slot::begin).collect();
        let last = all.last().expect("eight");
        assert!(!last.admits_anonymous(), "the eighth is reserved");
        last.authenticate();
        assert!(last.admits_anonymous() && all.iter().all(|slot| slot.admits_anonymous()));
        drop(busy);
        assert_eq!(slots.state().anonymous_busy, 0);
        drop(all);
        let state = slots.state();
        assert!(state.open.is_empty() && state.idle.is_empty() && state.closing == 0);
    }

    #[test]
    fn accepting_waits_while_too_many_are_still_closing() {
        let slots = Slots::new(CLOSING_MAX);
        let all: Vec<Arc<Slot>> = (0..2 * CLOSING_MAX).map(|_| opened(&slots)).collect();
        assert!(!slots.may_accept());
        drop(all);
        assert!(slots.may_accept());
    }
}
