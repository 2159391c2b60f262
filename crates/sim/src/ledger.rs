//! The ledger: what really happened, as the world saw it.
//!
//! It is written by ports and mishaps alone and never read by them, so the engine cannot talk it into anything.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::id::AgentId;
use wakeful_core::key::{DecisionId, Digest, OperationId, RunKey};
use wakeful_core::step::EffectClass;
use wakeful_core::time::Millis;

use crate::fault_plan::FaultKind;

/// A place where a process may be struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Site {
    Sleep,
    BeforeAsk,
    AfterAnswer,
    BeforeAct,
    AfterAct,
    Clear,
    Pack,
    Read,
    BeforeCommit,
    AfterCommit,
}

/// What really happened. Written by the ports alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    /// Every effect on the world, in order.
    pub(crate) deeds: Vec<Deed>,
    /// Every action that was begun, whether it took effect or not.
    pub(crate) begun: Vec<Begun>,
    /// Actions after which the world was tidied.
    pub(crate) cleared: BTreeSet<OperationId>,
    /// What each operation id stood for, whenever it was performed.
    pub(crate) meanings: BTreeMap<OperationId, BTreeSet<Digest>>,
    /// The hash of each request that the model saw, by ask and number: more than one when they differed.
    pub(crate) requests: BTreeMap<(u32, u32), BTreeSet<Digest>>,
    /// What a port itself found wrong with a call.
    pub(crate) complaints: Vec<String>,
    /// Payloads that were shown to a person.
    pub(crate) shown: Vec<Digest>,
    /// Runs that somebody was told of.
    pub(crate) acknowledged: BTreeSet<RunKey>,
    /// Runs whose end was asked for, and when.
    pub(crate) cancels: BTreeMap<RunKey, u64>,
    /// When a daemon that waited for the moment of a run looked, and could see that its end was asked for.
    pub(crate) looked: BTreeMap<RunKey, u64>,
    /// Runs that somebody was told the end of: when who told it was born, and when it was told.
    pub(crate) ended: BTreeMap<RunKey, (u64, u64)>,
    /// Requests to the model that were given up before their answer came, by the model that was asked, and when.
    pub(crate) hung_up: BTreeMap<String, u64>,
    /// Processes that were asked to stop, and when.
    pub(crate) halts: BTreeMap<usize, u64>,
    /// Processes that stopped by themselves, and when.
    pub(crate) stopped: BTreeMap<usize, u64>,
    /// Actions whose own tool could not say what became of them.
    pub(crate) unsure: BTreeSet<OperationId>,
    /// Mishaps that struck, and where.
    pub(crate) struck: Vec<(FaultKind, usize, Site)>,
    /// What a person would see of each action that was begun: the tool and its arguments.
    pub(crate) words: BTreeMap<OperationId, (String, String)>,
    /// Model requests that left, in order.
    pub(crate) sent: Vec<Sent>,
    /// What people said to questions, whether it was taken or not.
    pub(crate) said: BTreeSet<(DecisionId, String)>,
    /// Answers that somebody was told are taken.
    pub(crate) answers: Vec<Answered>,
    /// Answers that were not taken, or that nobody was told of.
    pub(crate) rebuffs: u64,
    /// Brakes that somebody was told are on, in order.
    pub(crate) brakes: Vec<Held>,
    /// How often somebody reached for a brake.
    pub(crate) brake_tries: u64,
    /// States that rotted, as they were before.
    pub(crate) poisons: BTreeMap<RunKey, Poison>,
}

/// An answer that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) decision_id: DecisionId,
    pub(crate) option: String,
    pub(crate) at_ms: u64,
}

/// A brake that is known to be on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    /// Whom it holds; none for all.
    pub(crate) scope: Option<AgentId>,
    /// When it was acknowledged.
    pub(crate) from_ms: u64,
    /// When somebody reached for its release.
    pub(crate) until_ms: Option<u64>,
}

/// A model request that left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) at_ms: u64,
    /// Whether its process had slept, and so may not have seen what happened meanwhile.
    pub(crate) slept: bool,
}

/// A state before it rotted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Poison {
    pub(crate) version: i64,
    pub(crate) state: String,
    pub(crate) machine_version: u32,
}

/// One effect on the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deed {
    pub(crate) operation_id: OperationId,
    pub(crate) class: EffectClass,
    /// Whether its process had slept, and so may not have known what became of it meanwhile.
    pub(crate) slept: bool,
}

/// The beginning of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) operation_id: OperationId,
    pub(crate) life: usize,
    pub(crate) at_ms: u64,
    /// Whether nobody can have begun it before: a found one must be settled even when the run is cancelled.
    pub(crate) fresh: bool,
    /// Whether its intent was durable and had no result when the tool was reached for.
    pub(crate) intended: bool,
    /// Whether its process held the lease.
    pub(crate) leased: bool,
    /// Whether a brake was known to be on when the tool was reached for.
    pub(crate) braked: bool,
    /// Whether its process had slept.
    pub(crate) slept: bool,
    /// What its process took the time for.
    pub(crate) wall: Millis,
}

impl Ledger {
    /// How often an action took effect.
    pub(crate) fn count(&self, operation_id: OperationId) -> usize {
        self.deeds
            .iter()
            .filter(|deed| deed.operation_id == operation_id)
            .count()
    }

    /// Mishaps after which an outcome may be unknown: all in which a process stops without having its say.
    pub(crate) fn disturbances(&self) -> usize {
        let struck = self.struck.iter().filter(|(what, ..)| match what {
            FaultKind::Crash | FaultKind::Loop | FaultKind::Sleep | FaultKind::StoreFails => true,
            FaultKind::Halt
            | FaultKind::Cancel
            | FaultKind::Answer
            | FaultKind::Brake
            | FaultKind::Release
            | FaultKind::Poison
            | FaultKind::Jump => false,
        });
        struck.count()
    }

    /// Whether a brake that somebody was told of is on.
    pub(crate) fn is_braked(&self) -> bool {
        self.brakes.iter().any(|held| held.until_ms.is_none())
    }

    /// Whether something of a kind struck.
    pub(crate) fn had(&self, wanted: FaultKind) -> bool {
        self.struck.iter().any(|(what, ..)| *what == wanted)
    }

    /// Whether a process slept while others went on.
    pub(crate) fn has_sleepers(&self) -> bool {
        self.struck.iter().any(|(what, ..)| *what == FaultKind::Sleep)
    }
}
