//! Stop requests: brakes and cancellations that take effect before the database has stored them.
//!
//! A request is in force as soon as a process has received it. Until the database has stored it, it is kept
//! in the slot, a file of fixed size that needs no free disk space. This module decides which requests are
//! in force and defines the format of the slot; the store reads and writes the file.

mod slot;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::slot::{SLOT_BYTES, SLOT_HALF_BYTES, SlotFull, StopSlot, half_of};
use crate::decision::Channel;
use crate::failure::truncate_chars;
use crate::id::AgentId;
use crate::key::RunKey;
use crate::time::Millis;

/// Largest number of pending requests in one process. A brake on all agents is accepted beyond it.
pub const REQUESTS_MAX: usize = 1_000;

/// Longest reason that the slot stores, so that many requests fit.
pub const SLOT_REASON_CHARS_MAX: usize = 80;

/// The target of a stop request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopTarget {
    /// Every agent: the global brake.
    All,
    /// One agent: its brake.
    Agent(AgentId),
    /// One run: its cancellation.
    Run(RunKey),
}

impl StopTarget {
    /// Returns the target of a brake on one agent, or on all.
    #[must_use]
    pub fn brake(agent: Option<&AgentId>) -> Self {
        agent.map_or(Self::All, |agent| Self::Agent(agent.clone()))
    }

    /// Returns the scope of a brake; the outer `None` means that the target is not a brake.
    #[must_use]
    pub const fn scope(&self) -> Option<Option<&AgentId>> {
        match self {
            Self::All => Some(None),
            Self::Agent(agent) => Some(Some(agent)),
            Self::Run(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    /// A random id. Removal names the id, so that a later request for the same target stays.
    pub id: u64,
    pub target: StopTarget,
    /// The reason that the person gave.
    pub reason: String,
    /// How it arrived.
    pub channel: Channel,
    pub at: Millis,
}

impl StopRequest {
    /// Returns the brake that applies while the slot is unreadable. Its contents are unknown, so everything
    /// stops until a person releases the brake, which also repairs the slot.
    #[must_use]
    pub fn unreadable_slot() -> Self {
        Self {
            id: 0,
            target: StopTarget::All,
            reason: "stop.slot in the home is damaged, so a brake may have been lost".to_owned(),
            channel: Channel::Cli,
            at: Millis(0),
        }
    }

    fn shortened(&self, reason_chars: usize) -> Self {
        Self {
            reason: truncate_chars(&self.reason, reason_chars),
            ..self.clone()
        }
    }
}

/// The pending requests for one target. They count as one request and end together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    /// The request of this process that is not known to be in the slot.
    held: Option<Held>,
    /// The requests of any process that the slot contained when it was last read.
    kept: Vec<StopRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    request: StopRequest,
    /// The value of [`PendingStops::holds`] with it.
    number: u64,
}

impl Pending {
    /// Returns the earliest known request, which gives reason and time.
    #[must_use]
    pub fn request(&self) -> Option<&StopRequest> {
        self.kept.first().or(self.held())
    }

    fn held(&self) -> Option<&StopRequest> {
        self.held.as_ref().map(|held| &held.request)
    }

    /// Returns the ids of all requests for this target.
    #[must_use]
    pub fn ids(&self) -> BTreeSet<u64> {
        let all = self.kept.iter().chain(self.held());
        all.map(|request| request.id).collect()
    }

    /// Returns whether the slot contains it, so that it survives this process.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.held.is_none()
    }
}

/// The pending requests that one process has received, by target: a command and a daemon that stop the same
/// target make one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingStops {
    by_target: BTreeMap<StopTarget, Pending>,
    holds: u64,
}

impl PendingStops {
    /// Adds a request. Returns the ids of all requests that now count as the same one: storing this request
    /// ends those and none that arrives later. None if too many are pending.
    pub fn hold(&mut self, request: StopRequest) -> Option<BTreeSet<u64>> {
        let is_full = self.by_target.len() >= REQUESTS_MAX && request.target != StopTarget::All;
        if is_full && !self.by_target.contains_key(&request.target) {
            return None;
        }
        let pending = self.by_target.entry(request.target.clone()).or_default();
        self.holds += 1;
        // Keep the earlier reason and the newer id, so that the end of the earlier request does not end
        // this one.
        let request = match pending.held() {
            Some(held) => StopRequest {
                id: request.id,
                ..held.clone()
            },
            None => request,
        };
        pending.held = Some(Held {
            request,
            number: self.holds,
        });
        Some(pending.ids())
    }

    /// Returns how many requests this process has held so far. The caller of [`Self::merge_slot`] passes
    /// the value from before the slot was read.
    #[must_use]
    pub const fn holds(&self) -> u64 {
        self.holds
    }

    /// Merges the contents of the slot. A request that was held before the slot was read, and whose target
    /// is in the slot, counts as the slot's request from now on. Once a request is in the slot, its absence
    /// means that a process stored or released it. Returns whether the slot contained a new request.
    pub fn merge_slot(&mut self, slot: Vec<StopRequest>, holds_before: u64) -> bool {
        let known: BTreeSet<u64> = self.by_target.values().flat_map(Pending::ids).collect();
        for pending in self.by_target.values_mut() {
            pending.kept.clear();
        }
        let has_new = slot.iter().any(|request| !known.contains(&request.id));
        for request in slot {
            let pending = self.by_target.entry(request.target.clone()).or_default();
            pending.held.take_if(|held| held.number <= holds_before);
            pending.kept.push(request);
        }
        self.drop_ended();
        has_new
    }

    /// Ends requests that only this process had. Requests in the slot end when they are removed from it.
    pub fn end(&mut self, ids: &BTreeSet<u64>) {
        for pending in self.by_target.values_mut() {
            pending.held.take_if(|held| ids.contains(&held.request.id));
        }
        self.drop_ended();
    }

    fn drop_ended(&mut self) {
        self.by_target.retain(|_, pending| pending.request().is_some());
    }

    /// Returns the requests that are not known to be in the slot.
    pub fn unkept(&self) -> impl Iterator<Item = &StopRequest> {
        self.by_target.values().filter_map(Pending::held)
    }

    /// Returns every request in force, one per target, brakes first.
    pub fn all(&self) -> impl Iterator<Item = &Pending> {
        self.by_target.values()
    }

    /// Returns whether the slot contains one of these requests.
    #[must_use]
    pub fn is_any_kept(&self, ids: &BTreeSet<u64>) -> bool {
        let mut kept = self.by_target.values().flat_map(|pending| &pending.kept);
        kept.any(|request| ids.contains(&request.id))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_target.is_empty()
    }

    #[must_use]
    pub fn is_braked(&self, agent: &AgentId) -> bool {
        self.by_target.contains_key(&StopTarget::All)
            || self.by_target.contains_key(&StopTarget::Agent(agent.clone()))
    }

    #[must_use]
    pub fn is_cancelled(&self, run: &RunKey) -> bool {
        self.by_target.contains_key(&StopTarget::Run(*run))
    }

    /// Returns the pending brakes that the database does not have (`stored`: the scopes of the brakes that
    /// it has).
    #[must_use]
    pub fn unstored_brakes(&self, stored: &BTreeSet<Option<AgentId>>) -> Vec<StopRequest> {
        let requests = self.all().filter_map(Pending::request);
        let unstored = requests.filter(|request| {
            let scope = request.target.scope();
            scope.is_some_and(|scope| !stored.contains(&scope.cloned()))
        });
        unstored.cloned().collect()
    }
}
