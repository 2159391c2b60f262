//! A run, applied again from its journal: every state, every effect and every event must be what was kept.

use crate::json::{NotCanonical, canonical, digest};
use crate::key::Digest;
use crate::report::{Draft, Kind};
use crate::run::{Input, Moved, Outcome, Reads, Turn};

/// One transition as the journal keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
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
}

/// The first place where a run is not what was kept of it.
#[derive(Debug, thiserror::Error)]
pub enum Difference {
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
    /// The log tells another story.
    #[error("the log does not tell of the {kind} that the journal leads to, as event {nth} of the run's own")]
    Event {
        /// What should have been told.
        kind: &'static str,
        /// Which of the events that the machine made, from 1.
        nth: usize,
    },
}

/// What a run has told, as far as it can be compared: the kind, and the hash of the payload unless that was erased.
pub type Told = (String, Option<Digest>);

/// A run on its way through its journal.
#[derive(Debug)]
pub struct Replay {
    turn: Turn,
    rows: i64,
    drafts: Vec<(Kind, Digest)>,
}

impl Replay {
    /// Begins where the run began. Its limits are carried in every later state, so any of them will do.
    #[must_use]
    pub fn new(later: Turn) -> Self {
        let turn = beginning(later);
        let (rows, drafts) = (0, Vec::new());
        Self { turn, rows, drafts }
    }

    /// Applies the next row and compares.
    pub fn step(&mut self, row: &Recorded<'_>) -> Result<Moved, Difference> {
        let ordinal = self.rows + 1;
        if row.ordinal != ordinal {
            let (expected, found) = (ordinal, row.ordinal);
            return Err(Difference::Misplaced { expected, found });
        }
        if row.body.is_empty() {
            return Err(Difference::Erased(ordinal));
        }
        let unreadable = |why: String| Difference::Unreadable { ordinal, why };
        let (input, reads): (Input, Reads) =
            serde_json::from_slice(row.body).map_err(|error| unreadable(error.to_string()))?;
        let no_form = |error: NotCanonical| unreadable(error.to_string());
        let same = |what, kept: Digest, computed: Digest| match kept == computed {
            true => Ok(()),
            false => Err(Difference::Hash {
                ordinal,
                what,
                kept,
                computed,
            }),
        };
        same("read set", row.reads_hash, digest(&reads).map_err(no_form)?)?;
        let moved = self.turn.clone().apply(&reads, input);
        let mut moved = moved.map_err(|error| Difference::Refused {
            ordinal,
            why: error.to_string(),
        })?;
        let mut state = digest(&moved.turn).map_err(no_form)?;
        if state != row.state_hash {
            self.as_version_three(&mut moved);
            state = digest(&moved.turn).map_err(no_form)?;
        }
        same("state", row.state_hash, state)?;
        let effects = digest(&moved.effects).map_err(no_form)?;
        same("list of effects", row.effects_hash, effects)?;
        for Draft { kind, payload, .. } in &moved.events {
            let payload = canonical(payload).map_err(no_form)?;
            self.drafts.push((*kind, Digest::of(&payload)));
        }
        self.rows = ordinal;
        self.turn = moved.turn.clone();
        Ok(moved)
    }

    /// The machine up to version 3 did not keep which model it had passed over for want of money, and went on without it. A
    /// run may have begun there and ended here, so this is asked of each row whose state is not what this machine comes to.
    fn as_version_three(&self, moved: &mut Moved) {
        if self.turn.unpaid.is_none() {
            moved.turn.unpaid = None;
        }
    }

    /// How many transitions were compared.
    #[must_use]
    pub const fn rows(&self) -> i64 {
        self.rows
    }

    /// How the run has ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&str> {
        self.turn.outcome().map(Outcome::as_str)
    }

    /// Compares the end with what is kept of the run.
    pub fn end(&self, version: i64, state: &str) -> Result<(), Difference> {
        if self.rows != version {
            let rows = self.rows;
            return Err(Difference::Length { rows, version });
        }
        // Earlier programs kept the members in the order of the fields.
        let canonical = canonical(&self.turn).is_ok_and(|ended| ended == state.as_bytes());
        let same = canonical || serde_json::to_string(&self.turn).is_ok_and(|ended| ended == state);
        same.then_some(()).ok_or(Difference::State)
    }

    /// Compares what the machine had to tell with what the log tells of the run. Others may have told more in between:
    /// that a message came in, that a person answered.
    pub fn told(&self, told: &[Told]) -> Result<(), Difference> {
        let mut told = told.iter();
        for (nth, (kind, payload)) in (1..).zip(&self.drafts) {
            let is_it = |(name, hash): &&Told| {
                *name == kind.as_str() && hash.as_ref().is_none_or(|hash| hash == payload)
            };
            if !told.by_ref().any(|event| is_it(&event)) {
                let kind = kind.as_str();
                return Err(Difference::Event { kind, nth });
            }
        }
        Ok(())
    }
}

/// The turn before its first input: what it was limited to stays, what it came to goes.
fn beginning(later: Turn) -> Turn {
    let fresh = Turn::new(later.run_key, String::new(), 0);
    Turn {
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
