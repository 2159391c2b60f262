//! Who is driven next, when more agents have work than there are places. Everybody gets a turn before anybody gets a
//! second one, and an agent that could not work rests, so that it takes no place from those who can.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::AgentId;

/// How long an agent that could not work rests before it is tried again without a reason.
pub const BACKOFF_MS: u64 = 30_000;

/// How often in a row an agent may have work and yet find nothing to do, within [`BREATH_MS`]. Somebody may have been quicker,
/// but not for ever.
pub const IDLE_TURNS_MAX: u32 = 20;

/// The time in which idle turns are counted, and how long an agent rests that had too many of them.
pub const BREATH_MS: u64 = 1_000;

/// The line of agents.
#[derive(Debug, Default)]
pub struct Dispatcher {
    busy: BTreeSet<AgentId>,
    /// To whom something happened while it was driven: its turn may have looked too early.
    again: BTreeSet<AgentId>,
    /// Who rests, and until when.
    resting: BTreeMap<AgentId, u64>,
    /// Whose last turns were idle: since when, and how many.
    idle: BTreeMap<AgentId, (u64, u32)>,
    /// Who was served last; whoever comes after it in the alphabet is next.
    last: Option<AgentId>,
    /// Whether somebody had work and found no place.
    left_out: bool,
}

/// How a turn of an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchResult {
    /// It did something, and there may be more.
    Worked,
    /// There was nothing to do.
    Idle,
    /// It could not work.
    Stuck,
}

impl Dispatcher {
    /// Chooses among those that have work, and takes note that they are driven from now on. `places` is how many may
    /// be driven at once.
    pub fn choose(&mut self, ready: &[AgentId], now_ms: u64, places: usize) -> Vec<AgentId> {
        let has_work: BTreeSet<&AgentId> = ready.iter().collect();
        // Somebody without work has nothing to rest from; and a rest that is over is over, place or no place.
        self.resting
            .retain(|agent, until| has_work.contains(agent) && *until > now_ms);
        self.idle
            .retain(|_, (since, _)| now_ms < since.saturating_add(BREATH_MS));
        let after = |agent: &&&AgentId| self.last.as_ref().is_some_and(|last| **agent <= last);
        let (again, first): (Vec<&AgentId>, Vec<&AgentId>) = has_work.iter().partition(after);
        let may = |agent: &&AgentId| !self.resting.contains_key(*agent) && !self.busy.contains(*agent);
        let free = places.saturating_sub(self.busy.len());
        let mut eligible = first.into_iter().chain(again).filter(may);
        let chosen: Vec<AgentId> = eligible.by_ref().take(free).cloned().collect();
        self.left_out = eligible.next().is_some();
        self.busy.extend(chosen.iter().cloned());
        self.last = chosen.last().cloned().or(self.last.take());
        chosen
    }

    /// A turn ended. True when it is worth looking again at once.
    pub fn record_result(&mut self, agent: &AgentId, how: DispatchResult, now_ms: u64) -> bool {
        self.busy.remove(agent);
        let rest = match how {
            DispatchResult::Stuck => Some(BACKOFF_MS),
            DispatchResult::Idle => self.is_breathless(agent, now_ms).then_some(BREATH_MS),
            DispatchResult::Worked => None,
        };
        if how != DispatchResult::Idle {
            self.idle.remove(agent);
        }
        match rest {
            Some(_) if self.again.contains(agent) => {}
            Some(ms) => drop(self.resting.insert(agent.clone(), now_ms.saturating_add(ms))),
            None => drop(self.resting.remove(agent)),
        }
        let again = self.again.remove(agent);
        how == DispatchResult::Worked || self.left_out || again
    }

    /// Counts an idle turn; true when there were too many. So no mistake in what has work, and none in what a turn goes on
    /// with, makes a turn follow a turn for ever.
    fn is_breathless(&mut self, agent: &AgentId, now_ms: u64) -> bool {
        let (since, turns) = self.idle.entry(agent.clone()).or_insert((now_ms, 0));
        if now_ms >= since.saturating_add(BREATH_MS) {
            (*since, *turns) = (now_ms, 0);
        }
        *turns += 1;
        *turns >= IDLE_TURNS_MAX
    }

    /// Whether an agent rests.
    #[must_use]
    pub fn is_backing_off(&self, agent: &AgentId) -> bool {
        self.resting.contains_key(agent)
    }

    /// Something happened to an agent, so there is a reason to try again.
    pub fn reset_backoff(&mut self, agent: &AgentId) {
        self.resting.remove(agent);
        self.idle.remove(agent);
        if self.busy.contains(agent) {
            self.again.insert(agent.clone());
        }
    }

    /// When the next one has rested enough; none while none rests.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<u64> {
        self.resting.values().min().copied()
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
    fn who_was_served_goes_to_the_end_of_the_line() {
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
    fn who_is_stuck_rests_and_takes_no_place_until_it_is_roused_or_has_rested() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a", "b"]));
        assert_eq!(line.choose(&all, 0, 1), agents(&["a"]));
        assert!(
            line.record_result(&all[0], DispatchResult::Stuck, 5),
            "b found no place"
        );
        assert_eq!(line.choose(&all, 6, 1), agents(&["b"]));
        assert!(
            !line.record_result(&all[1], DispatchResult::Idle, 6),
            "nobody is left out by somebody who rests"
        );
        assert_eq!(line.next_due_ms(), Some(5 + BACKOFF_MS));
        assert_eq!(line.choose(&agents(&["a"]), 6, 9), []);
        line.reset_backoff(&all[0]);
        assert_eq!(line.choose(&agents(&["a"]), 6, 9), agents(&["a"]));
        line.record_result(&all[0], DispatchResult::Stuck, 7);
        assert_eq!(line.choose(&agents(&["a"]), 7 + BACKOFF_MS, 9), agents(&["a"]));
    }

    #[test]
    fn what_happens_to_an_agent_during_its_turn_is_looked_at_after_it() {
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
            "it is told once"
        );
    }

    #[test]
    fn a_rest_that_is_over_is_no_reason_to_look_again_and_again() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a", "b"]));
        line.choose(&all[..1], 0, 1);
        line.record_result(&all[0], DispatchResult::Stuck, 0);
        assert_eq!(line.choose(&all[1..], 1, 1), agents(&["b"]));
        line.record_result(&all[0], DispatchResult::Stuck, 1);
        // It has rested, and the one place is taken: the end of whoever has it looks again, and no clock.
        assert_eq!(line.choose(&all, 1 + BACKOFF_MS, 1), []);
        assert_eq!(line.next_due_ms(), None);
        assert!(line.record_result(&all[1], DispatchResult::Idle, 1 + BACKOFF_MS));
        // And now it is driven, perhaps for hours.
        assert_eq!(line.choose(&all[..1], 1 + BACKOFF_MS, 1), agents(&["a"]));
        assert_eq!(line.next_due_ms(), None);
    }

    #[test]
    fn who_has_work_and_finds_none_again_and_again_takes_a_breath() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a"]));
        let mut turns = 0;
        for now_ms in 0..10 * BREATH_MS {
            // As a service does that is told at once that there is work.
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
    fn whoever_did_something_or_is_roused_in_between_needs_no_breath() {
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
        line.choose(&[], BREATH_MS, 1);
        assert!(line.idle.is_empty(), "who is idle for long is forgotten");
    }

    #[test]
    fn who_has_no_work_any_more_rests_no_more() {
        let (mut line, all) = (Dispatcher::default(), agents(&["a"]));
        line.choose(&all, 0, 1);
        line.record_result(&all[0], DispatchResult::Stuck, 0);
        assert_eq!(line.choose(&[], 1, 1), []);
        assert_eq!(line.next_due_ms(), None, "an idle daemon has no timer");
    }

    proptest! {
        /// Whoever always has work is served again before anybody is served twice in between.
        #[test]
        fn nobody_is_served_twice_while_another_who_can_work_waits(
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
