//! A run, applied again from its journal: every state, every effect and every event must be what was kept.

use std::collections::{BTreeMap, BTreeSet};

use super::log_binding::attach_log_binding;
use crate::blob::{Blob, BlobHash};
use crate::json::{NotCanonical, canonical, digest};
use crate::key::Digest;
use crate::report::EventKind;
use crate::run::{InputReads, RunInput, RunMachine, RunOutcome, RunStatus, Transition};
use crate::time::Millis;

/// One transition as the journal keeps it.
#[derive(Debug, Clone, Copy)]
pub struct LoggedTransition<'a> {
    /// Which transition, from 1.
    pub ordinal: i64,
    /// The input and what was read for it, as canonical JSON; empty when it was erased.
    pub body: &'a [u8],
    /// Hash of what was read.
    pub reads_hash: Digest,
    /// Hash of the state it led to.
    pub state_hash: Digest,
    /// Hash of the effects it led to.
    pub effects_hash: Digest,
    /// When.
    pub at: Millis,
}

/// The first place where a run is not what was kept of it.
#[derive(Debug, thiserror::Error)]
pub enum ReplayMismatch {
    /// There is nothing left to compare with.
    #[error("the inputs of this run were erased, transition {0} the first of them")]
    Erased(i64),
    /// A row of the journal is missing.
    #[error("transition {found} stands where transition {expected} should")]
    Misplaced {
        /// Which one should have come.
        expected: i64,
        /// Which one came.
        found: i64,
    },
    /// A row of the journal cannot be understood.
    #[error("transition {ordinal}: its input cannot be read: {why}")]
    Unreadable {
        /// Which transition.
        ordinal: i64,
        /// Why not.
        why: String,
    },
    /// The machine would not have taken the input.
    #[error("transition {ordinal}: {why}")]
    Refused {
        /// Which transition.
        ordinal: i64,
        /// What the machine says.
        why: String,
    },
    /// One of the hashes that are kept is another.
    #[error("transition {ordinal}: the {what} that was kept is {kept}, and the machine comes to {computed}")]
    Hash {
        /// Which transition.
        ordinal: i64,
        /// `read set`, `state` or `list of effects`.
        what: &'static str,
        /// The hash that is kept.
        kept: Digest,
        /// The hash of what the machine comes to.
        computed: Digest,
    },
    /// The journal is shorter or longer than the run.
    #[error("the run has made {version} transitions, and its journal holds {rows}")]
    Length {
        /// Rows of the journal.
        rows: i64,
        /// Transitions of the run.
        version: i64,
    },
    /// The state that is kept is not the last one.
    #[error("the state that is kept of the run is not the one that its journal leads to")]
    State,
    /// The state that is kept is none.
    #[error("the state that is kept of the run cannot be read: {0}")]
    NoState(String),
    /// The log tells another story.
    #[error("the log does not tell of the {kind} that the journal leads to, as event {nth} of the run's own")]
    Event {
        /// What should have been told.
        kind: &'static str,
        /// Which of the events that the machine made, from 1.
        nth: usize,
    },
    /// The log tells of more than the run did.
    #[error("the log tells of a {kind} that the journal does not lead to")]
    EventMissing {
        /// What is told.
        kind: &'static str,
    },
}

/// What a run has told, as far as it can be compared: the kind, and the hash of the payload unless that was erased.
pub type LoggedEvent = (String, Option<Digest>);

/// How firmly a journal is tied to the log that it was held against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BindingStats {
    /// Events of the machine whose payloads are gone. What they said is not known, and may have been anything.
    pub erased: u64,
}

impl BindingStats {
    /// Whether every transition that tells anything is held by the log.
    #[must_use]
    pub const fn hold(&self) -> bool {
        self.erased == 0
    }
}

/// An event that the machine made, by its hashes.
#[derive(Debug)]
struct ReplayedEvent {
    kind: EventKind,
    /// With the bond, where it is the last of its transition.
    payload: Digest,
}

/// A run on its way through its journal.
#[derive(Debug)]
pub struct Replay {
    turn: RunMachine,
    rows: i64,
    made: Vec<ReplayedEvent>,
    contents: BTreeSet<BlobHash>,
}

impl Replay {
    /// Begins where the run began. Its limits are carried in every later state, so any of them will do.
    #[must_use]
    pub fn new(later: RunMachine) -> Self {
        let turn = beginning(later);
        Self {
            turn,
            rows: 0,
            made: Vec::new(),
            contents: BTreeSet::new(),
        }
    }

    /// Applies the next row and compares.
    pub fn step(&mut self, row: &LoggedTransition<'_>) -> Result<Transition, ReplayMismatch> {
        let ordinal = self.rows + 1;
        if row.ordinal != ordinal {
            let (expected, found) = (ordinal, row.ordinal);
            return Err(ReplayMismatch::Misplaced { expected, found });
        }
        if row.body.is_empty() {
            return Err(ReplayMismatch::Erased(ordinal));
        }
        let unreadable = |why: String| ReplayMismatch::Unreadable { ordinal, why };
        let (input, reads): (RunInput, InputReads) =
            serde_json::from_slice(row.body).map_err(|error| unreadable(error.to_string()))?;
        let no_form = |error: NotCanonical| unreadable(error.to_string());
        let same = |what, kept: Digest, computed: Digest| match kept == computed {
            true => Ok(()),
            false => Err(ReplayMismatch::Hash {
                ordinal,
                what,
                kept,
                computed,
            }),
        };
        same("read set", row.reads_hash, digest(&reads).map_err(no_form)?)?;
        let said = said(&input);
        let moved = self.turn.clone().apply(&reads, input);
        let moved = moved.map_err(|error| ReplayMismatch::Refused {
            ordinal,
            why: error.to_string(),
        })?;
        same("state", row.state_hash, digest(&moved.turn).map_err(no_form)?)?;
        let effects = digest(&moved.effects).map_err(no_form)?;
        same("list of effects", row.effects_hash, effects)?;
        self.note(row, &moved).map_err(no_form)?;
        self.contents.extend(said);
        self.rows = ordinal;
        self.turn = moved.turn.clone();
        Ok(moved)
    }

    /// Keeps what a transition told and which contents it names.
    fn note(&mut self, row: &LoggedTransition<'_>, moved: &Transition) -> Result<(), NotCanonical> {
        for draft in &moved.events {
            self.made.push(ReplayedEvent {
                kind: draft.kind(),
                payload: digest(&draft.body)?,
            });
        }
        if let (Some(made), Some(last)) = (self.made.last_mut(), moved.events.last()) {
            let mut last = [last.clone()];
            attach_log_binding(&self.turn.run_key, row, &mut last);
            let [last] = last;
            made.payload = digest(&last.body)?;
        }
        self.contents
            .extend(moved.entries.iter().map(|entry| entry.content));
        self.contents.extend(moved.blobs.iter().map(Blob::hash));
        Ok(())
    }

    /// How many transitions were compared.
    #[must_use]
    pub const fn rows(&self) -> i64 {
        self.rows
    }

    /// How the run has ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<RunStatus> {
        self.turn.outcome().map(RunOutcome::status)
    }

    /// Compares the end with what is kept of the run.
    pub fn end(&self, version: i64, state: &str) -> Result<(), ReplayMismatch> {
        if self.rows != version {
            let rows = self.rows;
            return Err(ReplayMismatch::Length { rows, version });
        }
        let same = canonical(&self.turn).is_ok_and(|ended| ended == state.as_bytes());
        same.then_some(()).ok_or(ReplayMismatch::State)
    }

    /// The contents that its journal names: what was said in it, and what its actions gave.
    #[must_use]
    pub const fn contents(&self) -> &BTreeSet<BlobHash> {
        &self.contents
    }

    /// Compares what the machine had to tell with what the log tells of the run. Others may have told more in between:
    /// that a message came in, that a person answered. What is no longer there matches anything, and is counted.
    pub fn compare_events(&self, told: &[LoggedEvent]) -> Result<BindingStats, ReplayMismatch> {
        let (mut told, mut ties) = (told.iter(), BindingStats::default());
        for (nth, made) in (1..).zip(&self.made) {
            let kind = made.kind.as_str();
            let mut found = told
                .by_ref()
                .filter(|(name, _)| name == kind)
                .filter_map(|(_, hash)| made.tie(hash.as_ref()));
            let tie = found.next().ok_or(ReplayMismatch::Event { kind, nth })?;
            ties.erased += u64::from(tie == EventBinding::Erased);
        }
        Ok(ties)
    }

    /// Whether a run that has ended tells of nothing that its journal does not lead to.
    pub fn check_no_extra_events(&self, told: &[LoggedEvent]) -> Result<(), ReplayMismatch> {
        let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
        for made in &self.made {
            *counts.entry(made.kind.as_str()).or_default() += 1;
        }
        let of_machine = told.iter().filter_map(|(kind, _)| EventKind::parse(kind));
        for kind in of_machine.filter(|kind| is_machine_event(*kind)) {
            let kind = kind.as_str();
            let left = counts.entry(kind).or_default();
            *left -= 1;
            if *left < 0 {
                return Err(ReplayMismatch::EventMissing { kind });
            }
        }
        Ok(())
    }
}

/// How an event of the log holds one that the machine made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventBinding {
    Held,
    Erased,
}

impl ReplayedEvent {
    /// None for an event that says something else.
    fn tie(&self, payload: Option<&Digest>) -> Option<EventBinding> {
        match payload {
            None => Some(EventBinding::Erased),
            Some(payload) => (*payload == self.payload).then_some(EventBinding::Held),
        }
    }
}

/// Whether only the machine makes events of this kind.
#[must_use]
pub const fn is_machine_event(kind: EventKind) -> bool {
    match kind {
        EventKind::RunStarted
        | EventKind::ProviderRoundCompleted
        | EventKind::AssistantRoundRecorded
        | EventKind::PolicyDecided
        | EventKind::ToolExecuted
        | EventKind::ActionCancelled
        | EventKind::RuntimeError
        | EventKind::RunParked
        | EventKind::SubRunStarted
        | EventKind::RunEnded
        | EventKind::DecisionAsked => true,
        EventKind::MessageAdmitted
        | EventKind::AgentStateChanged
        | EventKind::WakeDecided
        | EventKind::DecisionAnswered
        | EventKind::DecisionEscalated
        | EventKind::BrakeChanged
        | EventKind::RunQuarantined
        | EventKind::QuarantineResolved
        | EventKind::ContentErased
        | EventKind::DataPruned
        | EventKind::RowsBound => false,
    }
}

/// Contents that an input brings.
fn said(input: &RunInput) -> Vec<BlobHash> {
    match input {
        RunInput::Admitted { body } => vec![*body],
        RunInput::Replied(reply) => vec![reply.content],
        RunInput::Settled { results } => results.iter().map(|result| result.content).collect(),
        RunInput::AttemptFailed { .. }
        | RunInput::Parked { .. }
        | RunInput::Resumed
        | RunInput::Started { .. }
        | RunInput::Postponed
        | RunInput::Cancelled
        | RunInput::Decided { .. }
        | RunInput::ApprovalExpired { .. } => Vec::new(),
    }
}

/// The turn before its first input: what it was limited to stays, what it came to goes.
fn beginning(later: RunMachine) -> RunMachine {
    let fresh = RunMachine::new(later.run_key, String::new(), 0);
    RunMachine {
        candidate: fresh.candidate,
        rounds: fresh.rounds,
        requests: fresh.requests,
        usage: fresh.usage,
        cost: fresh.cost,
        unpaid: fresh.unpaid,
        phase: fresh.phase,
        ..later
    }
}
