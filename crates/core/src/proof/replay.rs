//! Replay of a run from its run log: every state, effect and event must equal the stored one.

use std::collections::{BTreeMap, BTreeSet};

use super::log_binding::attach_log_binding;
use crate::blob::{Blob, BlobHash};
use crate::json::{NotCanonical, canonical, digest};
use crate::key::Digest;
use crate::report::EventKind;
use crate::run::{InputReads, RunInput, RunMachine, RunOutcome, RunStatus, Transition};
use crate::time::Millis;

/// One transition in the run log.
#[derive(Debug, Clone, Copy)]
pub struct LoggedTransition<'a> {
    /// The number of the transition, from 1.
    pub ordinal: i64,
    /// The input and its read set as canonical JSON; empty if it was erased.
    pub body: &'a [u8],
    /// Hash of the read set.
    pub reads_hash: Digest,
    /// Hash of the resulting state.
    pub state_hash: Digest,
    /// Hash of the resulting effects.
    pub effects_hash: Digest,
    pub at: Millis,
}

/// The first difference between a replay and the stored run.
#[derive(Debug, thiserror::Error)]
pub enum ReplayMismatch {
    /// The input was erased, so nothing can be compared.
    #[error("the inputs of this run were erased, starting with transition {0}")]
    Erased(i64),
    /// A row of the run log is missing.
    #[error("transition {found} is in the place of transition {expected}")]
    Misplaced {
        /// The expected transition.
        expected: i64,
        /// The actual transition.
        found: i64,
    },
    /// A row of the run log cannot be parsed.
    #[error("transition {ordinal}: its input cannot be read: {why}")]
    Unreadable { ordinal: i64, why: String },
    /// The machine rejects the input.
    #[error("transition {ordinal}: {why}")]
    Refused {
        ordinal: i64,
        /// The error of the machine.
        why: String,
    },
    /// A stored hash differs.
    #[error("transition {ordinal}: the stored {what} has hash {kept}, but the replay gives {computed}")]
    Hash {
        ordinal: i64,
        /// `read set`, `state` or `list of effects`.
        what: &'static str,
        /// The stored hash.
        kept: Digest,
        /// The hash of the replay's result.
        computed: Digest,
    },
    /// The run log has another number of rows than the run has transitions.
    #[error("the run has made {version} transitions, but its run log has {rows}")]
    Length {
        /// Rows of the run log.
        rows: i64,
        /// Transitions of the run.
        version: i64,
    },
    /// The stored state is not the last one.
    #[error("the stored state of the run is not the one that its run log leads to")]
    State,
    /// The stored state cannot be parsed.
    #[error("the stored state of the run cannot be read: {0}")]
    NoState(String),
    /// An event of the replay is missing in the log.
    #[error(
        "the log lacks the {kind} event that the run log leads to (number {nth} of the run's own events)"
    )]
    Event {
        /// The kind of the missing event.
        kind: &'static str,
        /// The number of the event among those that the machine created, from 1.
        nth: usize,
    },
    /// The log has an event that the replay did not create.
    #[error("the log has a {kind} event that the run log does not lead to")]
    EventMissing {
        /// The kind of the additional event.
        kind: &'static str,
    },
}

/// The comparable parts of an event: its kind, and the hash of its payload unless that was erased.
pub type LoggedEvent = (String, Option<Digest>);

/// How completely the event log covers the run log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BindingStats {
    /// Events of the machine whose payloads were erased, so that their contents cannot be compared.
    pub erased: u64,
}

impl BindingStats {
    /// Whether the event log covers every transition that has events.
    #[must_use]
    pub const fn hold(&self) -> bool {
        self.erased == 0
    }
}

/// The hashes of an event that the machine created.
#[derive(Debug)]
struct ReplayedEvent {
    kind: EventKind,
    /// The hash with the log binding, for the last event of a transition.
    payload: Digest,
}

/// A replay in progress.
#[derive(Debug)]
pub struct Replay {
    turn: RunMachine,
    rows: i64,
    made: Vec<ReplayedEvent>,
    contents: BTreeSet<BlobHash>,
}

impl Replay {
    /// Starts at the initial state of the run. Every later state contains the run's options, so any of them
    /// can be given.
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

    /// Applies the next row and compares the results.
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
        let said = blobs_of_input(&input);
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

    /// Records the events of a transition and the blobs that it references.
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

    /// The number of compared transitions.
    #[must_use]
    pub const fn rows(&self) -> i64 {
        self.rows
    }

    /// The final status of the run, if it has ended.
    #[must_use]
    pub fn outcome(&self) -> Option<RunStatus> {
        self.turn.outcome().map(RunOutcome::status)
    }

    /// Compares the end of the replay with the stored run.
    pub fn end(&self, version: i64, state: &str) -> Result<(), ReplayMismatch> {
        if self.rows != version {
            let rows = self.rows;
            return Err(ReplayMismatch::Length { rows, version });
        }
        let same = canonical(&self.turn).is_ok_and(|ended| ended == state.as_bytes());
        same.then_some(()).ok_or(ReplayMismatch::State)
    }

    /// The blobs that the run log references: transcript entries and results of actions.
    #[must_use]
    pub const fn contents(&self) -> &BTreeSet<BlobHash> {
        &self.contents
    }

    /// Compares the events of the replay with those in the log. The log may have additional events of other
    /// writers in between, such as an admission or an answer. An erased payload matches anything and is
    /// counted.
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

    /// Checks that the log of an ended run has no machine events beyond those of the replay.
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

/// How an event in the log matches one of the replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventBinding {
    Held,
    Erased,
}

impl ReplayedEvent {
    /// Returns `None` if the event has another content.
    fn tie(&self, payload: Option<&Digest>) -> Option<EventBinding> {
        match payload {
            None => Some(EventBinding::Erased),
            Some(payload) => (*payload == self.payload).then_some(EventBinding::Held),
        }
    }
}

/// Whether only the machine creates events of this kind.
#[must_use]
pub const fn is_machine_event(kind: EventKind) -> bool {
    match kind {
        EventKind::RunStarted
        | EventKind::ProviderRoundCompleted
        | EventKind::AssistantRoundRecorded
        | EventKind::PolicyDecided
        | EventKind::GuardrailTripped
        | EventKind::HookExecuted
        | EventKind::ConnectionRefused
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
        | EventKind::PolicyChanged
        | EventKind::BrakeChanged
        | EventKind::RunQuarantined
        | EventKind::QuarantineResolved
        | EventKind::AttentionDismissed
        | EventKind::RunUndone
        | EventKind::ContentErased
        | EventKind::DataPruned
        | EventKind::RowsBound => false,
    }
}

/// The blobs that an input references.
fn blobs_of_input(input: &RunInput) -> Vec<BlobHash> {
    match input {
        RunInput::Admitted { body, history, .. } => {
            let earlier = history.iter().map(|entry| entry.content);
            std::iter::once(*body).chain(earlier).collect()
        }
        RunInput::Replied(reply) => {
            let originals = reply.calls.iter().filter_map(|call| call.original_input);
            std::iter::once(reply.content).chain(originals).collect()
        }
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

/// The machine before its first input: options are kept, results are reset.
fn beginning(later: RunMachine) -> RunMachine {
    let fresh = RunMachine::new(later.run_key, String::new(), 0);
    RunMachine {
        candidate: fresh.candidate,
        rounds: fresh.rounds,
        requests: fresh.requests,
        usage: fresh.usage,
        cost: fresh.cost,
        unpaid: fresh.unpaid,
        answer_repairs: fresh.answer_repairs,
        sources: fresh.sources,
        has_acted_untrusted: fresh.has_acted_untrusted,
        has_open_hosts: fresh.has_open_hosts,
        linked_reads: fresh.linked_reads,
        tool_rates: fresh.tool_rates,
        phase: fresh.phase,
        ..later
    }
}
