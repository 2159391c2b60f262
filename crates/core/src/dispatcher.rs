//! Fair dispatch of agents with work when there are more of them than slots. Every agent gets a turn before
//! any agent gets a second one, and an agent that could not work backs off, so that it does not block
//! others.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::AgentId;

/// Backoff of an agent that could not work, unless something happens to it earlier.
pub const BACKOFF_MS: u64 = 30_000;

/// Maximum number of consecutive idle turns of an agent within [`IDLE_WINDOW_MS`]. Another process may
/// occasionally have done the work first.
pub const IDLE_TURNS_MAX: u32 = 20;

/// The window in which idle turns are counted, and the backoff after too many of them.
pub const IDLE_WINDOW_MS: u64 = 1_000;

/// Selects the agents that are driven next.
#[derive(Debug, Default)]
pub struct Dispatcher {
    busy: BTreeSet<AgentId>,
    /// Agents with an event during their turn, which the turn may have missed.
    again: BTreeSet<AgentId>,
    /// Agents in backoff, and when it ends.
    backoff_until: BTreeMap<AgentId, u64>,
    /// Agents with idle turns: the start of the counting window and the number of turns.
    idle: BTreeMap<AgentId, (u64, u32)>,
    /// The agent chosen last; the next one in id order follows.
    last: Option<AgentId>,
    /// Whether an agent with work found no free slot.
    left_out: bool,
}

/// How a turn of an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchResult {
    /// It did something, and there may be more work.
    Worked,
    /// There was nothing to do.
    Idle,
    /// It could not work.
    Stuck,
}

impl Dispatcher {
    /// Chooses agents among those with work and marks them as busy. `places` is the maximum number of busy
    /// agents.
    pub fn choose(&mut self, ready: &[AgentId], now_ms: u64, places: usize) -> Vec<AgentId> {
        let has_work: BTreeSet<&AgentId> = ready.iter().collect();
        // Drop the backoff of agents without work, and every expired backoff, even when no slot is free.
        self.backoff_until
            .retain(|agent, until| has_work.contains(agent) && *until > now_ms);
        self.idle
            .retain(|_, (since, _)| now_ms < since.saturating_add(IDLE_WINDOW_MS));
        let after = |agent: &&&AgentId| self.last.as_ref().is_some_and(|last| **agent <= last);
        let (again, first): (Vec<&AgentId>, Vec<&AgentId>) = has_work.iter().partition(after);
        let may = |agent: &&AgentId| !self.backoff_until.contains_key(*agent) && !self.busy.contains(*agent);
        let free = places.saturating_sub(self.busy.len());
        let mut eligible = first.into_iter().chain(again).filter(may);
        let chosen: Vec<AgentId> = eligible.by_ref().take(free).cloned().collect();
        self.left_out = eligible.next().is_some();
        self.busy.extend(chosen.iter().cloned());
        self.last = chosen.last().cloned().or(self.last.take());
        chosen
    }

    /// Records the end of a turn. Returns true if `choose` should be called again at once.
    pub fn record_result(&mut self, agent: &AgentId, how: DispatchResult, now_ms: u64) -> bool {
        self.busy.remove(agent);
        let rest = match how {
            DispatchResult::Stuck => Some(BACKOFF_MS),
            DispatchResult::Idle => self
                .has_too_many_idle_turns(agent, now_ms)
                .then_some(IDLE_WINDOW_MS),
            DispatchResult::Worked => None,
        };
        if how != DispatchResult::Idle {
            self.idle.remove(agent);
        }
        match rest {
            Some(_) if self.again.contains(agent) => {}
            Some(ms) => drop(
                self.backoff_until
                    .insert(agent.clone(), now_ms.saturating_add(ms)),
            ),
            None => drop(self.backoff_until.remove(agent)),
        }
        let again = self.again.remove(agent);
        how == DispatchResult::Worked || self.left_out || again
    }

    /// Counts an idle turn and returns true if there were too many. This stops an endless loop when an
    /// agent is wrongly reported as having work.
    fn has_too_many_idle_turns(&mut self, agent: &AgentId, now_ms: u64) -> bool {
        let (since, turns) = self.idle.entry(agent.clone()).or_insert((now_ms, 0));
        if now_ms >= since.saturating_add(IDLE_WINDOW_MS) {
            (*since, *turns) = (now_ms, 0);
        }
        *turns += 1;
        *turns >= IDLE_TURNS_MAX
    }

    #[must_use]
    pub fn is_backing_off(&self, agent: &AgentId) -> bool {
        self.backoff_until.contains_key(agent)
    }

    /// Ends the backoff of an agent because something happened to it.
    pub fn reset_backoff(&mut self, agent: &AgentId) {
        self.backoff_until.remove(agent);
        self.idle.remove(agent);
        if self.busy.contains(agent) {
            self.again.insert(agent.clone());
        }
    }

    /// When the next backoff ends; `None` if no agent is backing off.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<u64> {
        self.backoff_until.values().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn agents(names: &[&str]) -> Vec<AgentId> {
        names
            .iter()
            .map(|name| AgentId::parse(name).expect("a good name"))
            .collect()
    }

    #[test]
    fn agents_are_served_in_rotation() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a", "b", "c"]));
        let mut served = Vec::new();
        for _ in 0..6 {
            let chosen = line.choose(&all, 0, 1);
            assert_eq!(chosen.len(), 1);
            assert!(line.choose(&all, 0, 1).is_empty(), "there is one place");
            assert!(line.record_result(&chosen[0], DispatchResult::Worked, 0));
            served.extend(chosen);
        }
        assert_eq!(served, agents(&["a", "b", "c", "a", "b", "c"]));
    }

    #[test]
    fn a_stuck_agent_backs_off_until_an_event_or_the_timeout() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a", "b"]));
        assert_eq!(line.choose(&all, 0, 1), agents(&["a"]));
        assert!(
            line.record_result(&all[0], DispatchResult::Stuck, 5),
            "b found no place"
        );
        assert_eq!(line.choose(&all, 6, 1), agents(&["b"]));
        assert!(
            !line.record_result(&all[1], DispatchResult::Idle, 6),
            "an agent in backoff does not count as left out"
        );
        assert_eq!(line.next_due_ms(), Some(5 + BACKOFF_MS));
        assert_eq!(line.choose(&agents(&["a"]), 6, 9), []);
        line.reset_backoff(&all[0]);
        assert_eq!(line.choose(&agents(&["a"]), 6, 9), agents(&["a"]));
        line.record_result(&all[0], DispatchResult::Stuck, 7);
        assert_eq!(line.choose(&agents(&["a"]), 7 + BACKOFF_MS, 9), agents(&["a"]));
    }

    #[test]
    fn an_event_during_a_turn_is_handled_after_it() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a"]));
        line.choose(&all, 0, 1);
        line.reset_backoff(&all[0]);
        assert!(
            line.record_result(&all[0], DispatchResult::Idle, 0),
            "an answer came after its turn had looked for one"
        );
        line.choose(&all, 0, 1);
        line.reset_backoff(&all[0]);
        assert!(line.record_result(&all[0], DispatchResult::Stuck, 0));
        assert_eq!(line.choose(&all, 0, 1), all);
        line.record_result(&all[0], DispatchResult::Idle, 0);
        line.choose(&all, 0, 1);
        assert!(
            !line.record_result(&all[0], DispatchResult::Idle, 0),
            "the event is reported once"
        );
    }

    #[test]
    fn an_expired_backoff_does_not_cause_a_busy_loop() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a", "b"]));
        line.choose(&all[..1], 0, 1);
        line.record_result(&all[0], DispatchResult::Stuck, 0);
        assert_eq!(line.choose(&all[1..], 1, 1), agents(&["b"]));
        line.record_result(&all[0], DispatchResult::Stuck, 1);
        // The backoff has ended and the only slot is taken: the end of the running turn triggers the next
        // choice, not a timer.
        assert_eq!(line.choose(&all, 1 + BACKOFF_MS, 1), []);
        assert_eq!(line.next_due_ms(), None);
        assert!(line.record_result(&all[1], DispatchResult::Idle, 1 + BACKOFF_MS));
        // Now it is driven, perhaps for hours.
        assert_eq!(line.choose(&all[..1], 1 + BACKOFF_MS, 1), agents(&["a"]));
        assert_eq!(line.next_due_ms(), None);
    }

    #[test]
    fn repeated_idle_turns_cause_a_backoff() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a"]));
        let mut turns = 0;
        for now_ms in 0..10 * IDLE_WINDOW_MS {
            // A service that is notified of work at once behaves like this.
            while !line.choose(&all, now_ms, 1).is_empty() {
                turns += 1;
                assert!(turns <= 10 * IDLE_TURNS_MAX, "it has no end");
                line.record_result(&all[0], DispatchResult::Idle, now_ms);
            }
            assert!(line.next_due_ms().is_some(), "it is looked at again by itself");
        }
        assert_eq!(turns, 10 * IDLE_TURNS_MAX);
    }

    #[test]
    fn work_or_an_event_resets_the_count_of_idle_turns() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a"]));
        for turn in 0..5 * IDLE_TURNS_MAX {
            assert_eq!(line.choose(&all, 0, 1), all);
            line.record_result(&all[0], DispatchResult::Idle, 0);
            if turn % 2 == 0 {
                line.reset_backoff(&all[0]);
            } else {
                assert_eq!(line.choose(&all, 0, 1), all);
                line.record_result(&all[0], DispatchResult::Worked, 0);
            }
        }
        line.choose(&all, 0, 1);
        line.record_result(&all[0], DispatchResult::Idle, 0);
        line.choose(&[], IDLE_WINDOW_MS, 1);
        assert!(line.idle.is_empty(), "who is idle for long is forgotten");
    }

    #[test]
    fn an_agent_without_work_leaves_backoff() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a"]));
        line.choose(&all, 0, 1);
        line.record_result(&all[0], DispatchResult::Stuck, 0);
        assert_eq!(line.choose(&[], 1, 1), []);
        assert_eq!(line.next_due_ms(), None, "an idle daemon has no timer");
    }

    proptest! {
        /// An agent that always has work is served again before any other agent is served twice.
        #[test]
        fn no_agent_is_served_twice_while_another_waits(
            count in 1_usize..12, places in 1_usize..5, stuck in proptest::collection::btree_set(0_usize..12, 0..4),
        ) {
            let names: Vec<String> = (0..count).map(|n| format!("a{n:02}")).collect();
            let all = agents(&names.iter().map(String::as_str).collect::<Vec<_>>());
            let mut line = Dispatcher::default();
            let mut turns: BTreeMap<AgentId, u64> = BTreeMap::new();
            for _ in 0..200 {
                let chosen = line.choose(&all, 0, places);
                prop_assert!(chosen.len() <= places);
                for agent in chosen {
                    let index = all.iter().position(|one| *one == agent).expect("one of them");
                    let how = if stuck.contains(&index) { DispatchResult::Stuck } else { DispatchResult::Worked };
                    *turns.entry(agent.clone()).or_insert(0) += 1;
                    line.record_result(&agent, how, 0);
                }
            }
            let able = all.iter().enumerate().filter(|(index, _)| !stuck.contains(index));
            let counts: Vec<u64> = able.map(|(_, agent)| turns.get(agent).copied().unwrap_or(0)).collect();
            if let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) {
                prop_assert!(most - least <= 1, "{counts:?}");
            }
        }
    }
}
