//! The ledger: what really happened in a simulation.
//!
//! Only ports and faults write it, and they never read it, so the engine cannot influence what it records.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::id::AgentId;
use wakeful_core::key::{DecisionId, Digest, OperationId, RunKey};
use wakeful_core::step::EffectClass;
use wakeful_core::time::Millis;

use crate::fault_plan::FaultKind;

/// A place where a fault can be injected.
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

/// What really happened. Written by ports and faults only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    /// Every effect, in order.
    pub(crate) deeds: Vec<Deed>,
    /// Every begun action, whether it took effect or not.
    pub(crate) begun: Vec<Begun>,
    /// Actions whose remains were ended.
    pub(crate) cleared: BTreeSet<OperationId>,
    /// The action that each operation id stood for, at every use.
    pub(crate) meanings: BTreeMap<OperationId, BTreeSet<Digest>>,
    /// The hashes of each model request, by ask and number: more than one if they differed.
    pub(crate) requests: BTreeMap<(u32, u32), BTreeSet<Digest>>,
    /// Errors that a port detected in a call.
    pub(crate) complaints: Vec<String>,
    /// Payloads that were shown to a person.
    pub(crate) shown: Vec<Digest>,
    /// Runs that were acknowledged.
    pub(crate) acknowledged: BTreeSet<RunKey>,
    /// Cancelled runs, and when.
    pub(crate) cancels: BTreeMap<RunKey, u64>,
    /// When a daemon that waited for a run's due time polled, and could notice its cancellation.
    pub(crate) looked: BTreeMap<RunKey, u64>,
    /// Runs whose end was reported: when the reporting process was started, and when it reported.
    pub(crate) ended: BTreeMap<RunKey, (u64, u64)>,
    /// Model requests that were dropped before their response, by model, and when.
    pub(crate) hung_up: BTreeMap<String, u64>,
    /// Processes that were asked to stop, and when.
    pub(crate) halts: BTreeMap<usize, u64>,
    /// Processes that stopped by themselves, and when.
    pub(crate) stopped: BTreeMap<usize, u64>,
    /// Actions whose tool could not determine the outcome.
    pub(crate) unsure: BTreeSet<OperationId>,
    /// Injected faults, and where.
    pub(crate) struck: Vec<(FaultKind, usize, Site)>,
    /// What a person would see of each begun action: the tool and its arguments.
    pub(crate) words: BTreeMap<OperationId, (String, String)>,
    /// Model requests that were sent, in order.
    pub(crate) sent: Vec<Sent>,
    /// Answers that people gave, accepted or not.
    pub(crate) said: BTreeSet<(DecisionId, String)>,
    /// Answers that were acknowledged.
    pub(crate) answers: Vec<Answered>,
    /// Answers that were refused or not acknowledged.
    pub(crate) rebuffs: u64,
    /// Brakes that were acknowledged, in order.
    pub(crate) brakes: Vec<Held>,
    /// How often a person tried to set a brake.
    pub(crate) brake_tries: u64,
    /// Corrupted states, as they were before.
    pub(crate) poisons: BTreeMap<RunKey, Poison>,
}

/// An answer that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) decision_id: DecisionId,
    pub(crate) option: String,
    pub(crate) at_ms: u64,
}

/// A brake that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    /// The agent that it holds; `None` for all.
    pub(crate) scope: Option<AgentId>,
    pub(crate) from_ms: u64,
    /// When its release was first requested.
    pub(crate) until_ms: Option<u64>,
}

/// A model request that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) at_ms: u64,
    /// Whether its process had been suspended, and so may have missed changes.
    pub(crate) slept: bool,
}

/// A state before its corruption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Poison {
    pub(crate) version: i64,
    pub(crate) state: String,
    pub(crate) machine_version: u32,
}

/// One effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deed {
    pub(crate) operation_id: OperationId,
    pub(crate) class: EffectClass,
    /// Whether its process had been suspended, and so may have missed what happened to the action.
    pub(crate) slept: bool,
}

/// The start of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) operation_id: OperationId,
    pub(crate) life: usize,
    pub(crate) at_ms: u64,
    /// Whether it cannot have been begun before: an action found begun must be settled even after a
    /// cancellation.
    pub(crate) fresh: bool,
    /// Whether its intent was stored and had no result when the tool was called.
    pub(crate) intended: bool,
    pub(crate) leased: bool,
    /// Whether a brake was acknowledged when the tool was called.
    pub(crate) braked: bool,
    /// Whether its process had been suspended.
    pub(crate) slept: bool,
    /// The time on the process's wall clock.
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

    /// Number of faults after which an outcome may be unknown: all that stop a process without notice.
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

    /// Whether an acknowledged brake is set.
    pub(crate) fn is_braked(&self) -> bool {
        self.brakes.iter().any(|held| held.until_ms.is_none())
    }

    /// Whether a fault of this kind was injected.
    pub(crate) fn had(&self, wanted: FaultKind) -> bool {
        self.struck.iter().any(|(what, ..)| *what == wanted)
    }

    /// Whether a process was suspended while others continued.
    pub(crate) fn has_sleepers(&self) -> bool {
        self.struck.iter().any(|(what, ..)| *what == FaultKind::Sleep)
    }
}
