//! Stop requests: brakes and cancellations that hold before a database has taken them.
//!
//! A request is in force as soon as a process knows of it. Until the database has it, it is kept in a file of fixed size,
//! the slot, which needs no free space. This module says what requests are in force and how the slot is written; reading
//! and writing the file is the store's part.

mod slot;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use self::slot::{SLOT_BYTES, SLOT_HALF_BYTES, Slot, SlotFull, half_of};
use crate::decision::Channel;
use crate::failure::clip;
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
            reason: "brake.slot in the home is damaged, so a brake may have been lost".to_owned(),
            channel: Channel::Cli,
            at: Millis(0),
        }
    }

    fn shortened(&self, reason_chars: usize) -> Self {
        Self {
            reason: clip(&self.reason, reason_chars),
            ..self.clone()
        }
    }
}

/// The requests that wait for the database, as one process knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingStops {
    /// Known to this process only.
    own: Vec<StopRequest>,
    /// What the slot said when it was last read. It decides about every request that it has taken: one that is gone from it
    /// was stored or released by some process.
    slot: Vec<StopRequest>,
}

impl PendingStops {
    /// Takes a request in. One for the same target that is pending already stands, and its id is returned. None where too
    /// many wait.
    pub fn hold(&mut self, request: StopRequest) -> Option<u64> {
        if let Some(pending) = self.all().find(|pending| pending.target == request.target) {
            return Some(pending.id);
        }
        if self.all().count() >= REQUESTS_MAX && request.target != StopTarget::All {
            return None;
        }
        let id = request.id;
        self.own.push(request);
        Some(id)
    }

    /// Takes over what the slot says now.
    pub fn slot_says(&mut self, slot: Vec<StopRequest>) {
        let kept: BTreeSet<u64> = slot.iter().map(|request| request.id).collect();
        self.own.retain(|request| !kept.contains(&request.id));
        self.slot = slot;
    }

    /// Forgets requests that this process alone knew of.
    pub fn forget(&mut self, ids: &BTreeSet<u64>) {
        self.own.retain(|request| !ids.contains(&request.id));
    }

    /// The requests that only this process knows of.
    #[must_use]
    pub fn own(&self) -> &[StopRequest] {
        &self.own
    }

    /// Every request that is in force here.
    pub fn all(&self) -> impl Iterator<Item = &StopRequest> {
        self.own.iter().chain(&self.slot)
    }

    /// Whether a request would survive this process.
    #[must_use]
    pub fn is_kept(&self, id: u64) -> bool {
        self.slot.iter().any(|request| request.id == id)
    }

    /// Whether nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.own.is_empty() && self.slot.is_empty()
    }

    /// Whether a brake holds an agent.
    #[must_use]
    pub fn is_braked(&self, agent: &AgentId) -> bool {
        self.all().any(|request| match &request.target {
            StopTarget::All => true,
            StopTarget::Agent(braked) => braked == agent,
            StopTarget::Run(_) => false,
        })
    }

    /// Whether the cancellation of a run was requested.
    #[must_use]
    pub fn is_cancelled(&self, run: &RunKey) -> bool {
        self.all()
            .any(|request| matches!(&request.target, StopTarget::Run(cancelled) if cancelled == run))
    }

    /// The brakes that the database does not have, given the scopes of those that it has.
    #[must_use]
    pub fn brakes_beside(&self, stored: &BTreeSet<Option<AgentId>>) -> Vec<StopRequest> {
        let mut seen = stored.clone();
        let brakes = self.all().filter(|request| {
            let scope = request.target.scope();
            scope.is_some_and(|scope| seen.insert(scope.cloned()))
        });
        brakes.cloned().collect()
    }
}
