//! Stop requests: brakes and cancellations that hold before a database has taken them.
//!
//! A request is in force as soon as a process knows of it. Until the database has it, it is kept in a file of fixed size,
//! the slot, which needs no free space. This module says what requests are in force and how the slot is written; reading
//! and writing the file is the store's part.

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

/// Most requests that wait for the database in one process. A brake on everything is taken beyond it.
pub const REQUESTS_MAX: usize = 1_000;

/// Longest reason that the slot keeps, so that many requests fit.
pub const SLOT_REASON_CHARS_MAX: usize = 80;

/// What a request stops.
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
    /// The target of a brake on one agent, or on all.
    #[must_use]
    pub fn brake(agent: Option<&AgentId>) -> Self {
        agent.map_or(Self::All, |agent| Self::Agent(agent.clone()))
    }

    /// Whose brake it is; the outer none where it is no brake.
    #[must_use]
    pub const fn scope(&self) -> Option<Option<&AgentId>> {
        match self {
            Self::All => Some(None),
            Self::Agent(agent) => Some(Some(agent)),
            Self::Run(_) => None,
        }
    }
}

/// One request to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    /// Random. Removing a request names it, so that a later one for the same target stays.
    pub id: u64,
    /// What it stops.
    pub target: StopTarget,
    /// Why, in the words of the person who asked.
    pub reason: String,
    /// How it came in.
    pub channel: Channel,
    /// When.
    pub at: Millis,
}

impl StopRequest {
    /// The brake that holds while a slot cannot be read: what it said is unknown, so everything stops until a person
    /// releases the brake, which also repairs the slot.
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

/// The requests for one target that wait for the database. They count as one: what ends it ends them all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    /// Held by this process, and not known to be in the slot.
    held: Option<Held>,
    /// In the slot when it was last read, by whichever process.
    kept: Vec<StopRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    request: StopRequest,
    /// The value of [`PendingStops::holds`] with it.
    number: u64,
}

impl Pending {
    /// The request that says why and since when: the earliest that is known.
    #[must_use]
    pub fn request(&self) -> Option<&StopRequest> {
        self.kept.first().or(self.held())
    }

    fn held(&self) -> Option<&StopRequest> {
        self.held.as_ref().map(|held| &held.request)
    }

    /// The ids of every request that counts as this one.
    #[must_use]
    pub fn ids(&self) -> BTreeSet<u64> {
        let all = self.kept.iter().chain(self.held());
        all.map(|request| request.id).collect()
    }

    /// Whether the slot has it, so that it survives this process.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.held.is_none()
    }
}

/// The requests that wait for the database, as one process knows them: by target, because a verb and a daemon that stop
/// the same thing make one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingStops {
    by_target: BTreeMap<StopTarget, Pending>,
    holds: u64,
}

impl PendingStops {
    /// Takes a request in. The ids of all that count as the same request now: whoever stores this one ends those, and no
    /// request that arrives later. None where too many wait.
    pub fn hold(&mut self, request: StopRequest) -> Option<BTreeSet<u64>> {
        let is_full = self.by_target.len() >= REQUESTS_MAX && request.target != StopTarget::All;
        if is_full && !self.by_target.contains_key(&request.target) {
            return None;
        }
        let pending = self.by_target.entry(request.target.clone()).or_default();
        self.holds += 1;
        // The earlier reason stands. The newer id does, so that the end of the earlier request does not end this one.
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

    /// How many requests this process has held so far. [`Self::merge_slot`] is given the value from before the slot was read.
    #[must_use]
    pub const fn holds(&self) -> u64 {
        self.holds
    }

    /// Takes over what the slot says. A request that was held before the slot was read, and whose target the slot has,
    /// counts as the slot's from now on. The slot decides about what it has taken: one that is gone from it was stored or
    /// released by some process. True where the slot has a request that was not known.
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

    /// Ends requests that this process alone knew of. Those in the slot end when they leave it.
    pub fn end(&mut self, ids: &BTreeSet<u64>) {
        for pending in self.by_target.values_mut() {
            pending.held.take_if(|held| ids.contains(&held.request.id));
        }
        self.drop_ended();
    }

    fn drop_ended(&mut self) {
        self.by_target.retain(|_, pending| pending.request().is_some());
    }

    /// The requests that the slot is not known to have.
    pub fn unkept(&self) -> impl Iterator<Item = &StopRequest> {
        self.by_target.values().filter_map(Pending::held)
    }

    /// Every request that is in force here, one for each target: brakes first.
    pub fn all(&self) -> impl Iterator<Item = &Pending> {
        self.by_target.values()
    }

    /// Whether the slot has one of these requests.
    #[must_use]
    pub fn is_any_kept(&self, ids: &BTreeSet<u64>) -> bool {
        let mut kept = self.by_target.values().flat_map(|pending| &pending.kept);
        kept.any(|request| ids.contains(&request.id))
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_target.is_empty()
    }

    /// Whether a brake holds an agent.
    #[must_use]
    pub fn is_braked(&self, agent: &AgentId) -> bool {
        self.by_target.contains_key(&StopTarget::All)
            || self.by_target.contains_key(&StopTarget::Agent(agent.clone()))
    }

    /// Whether the cancellation of a run was requested.
    #[must_use]
    pub fn is_cancelled(&self, run: &RunKey) -> bool {
        self.by_target.contains_key(&StopTarget::Run(*run))
    }

    /// The pending brakes of agents for which the database has none (`stored`: the scopes of the brakes that it has).
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
