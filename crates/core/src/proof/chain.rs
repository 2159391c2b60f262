//! The log of one agent, walked from its beginning: each event follows from the one before, nothing is missing, and
//! what heads say of it is so.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::head::SignedHead;
use super::signing::{Fingerprint, PublicKey};
use crate::id::{AgentId, Incarnation};
use crate::key::{Digest, RunKey};
use crate::report::payload::{EventBody, Payload};
use crate::report::{EventHeader, EventKind, event_hash, payload_hash};
use crate::retention::DataClass;
use crate::time::Millis;

/// Most devices that are told apart in one log. A person has a few.
pub const SIGNERS_MAX: usize = 1_000;

/// From which event on a log was written by one life of its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncarnationStart {
    /// The first event of it.
    pub first_seq: u64,
    /// The host and its life.
    pub incarnation: Incarnation,
}

/// One event as it is kept.
#[derive(Debug, Clone, Copy)]
pub struct ChainedEvent<'a> {
    /// Its number.
    pub seq: u64,
    /// The run it is kept under.
    pub run_key: Option<RunKey>,
    /// What happened.
    pub kind: &'a str,
    /// When.
    pub at: Millis,
    /// Its hash.
    pub hash: Digest,
    /// What the chain holds of the payload.
    pub payload_hash: Digest,
    /// Under which rules; empty for none.
    pub policy_version: &'a str,
    /// The payload and its salt, unless erased.
    pub payload: Option<(&'a [u8], &'a [u8; 32])>,
}

/// The first thing that is wrong with a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// Events were taken out.
    #[error("event {expected} is missing: the next one is {found}")]
    Missing {
        /// Which one should have come.
        expected: u64,
        /// Which one came.
        found: u64,
    },
    /// Events stand in another order, or one stands there twice.
    #[error("event {found} stands where event {expected} should")]
    Misplaced {
        /// Which one should have come.
        expected: u64,
        /// Which one came.
        found: u64,
    },
    /// Something of an event or before it was changed.
    #[error(
        "event {seq} does not follow from the one before: its hash is {stored}, and should be {computed}"
    )]
    Hash {
        /// Which event.
        seq: u64,
        /// The hash that is kept.
        stored: Digest,
        /// The hash of what is kept.
        computed: Digest,
    },
    /// A payload is another than the one that the chain holds.
    #[error(
        "the payload of event {seq} is not the one that was written: it hashes to {computed}, the chain holds {stored}"
    )]
    Payload {
        /// Which event.
        seq: u64,
        /// What the chain holds.
        stored: Digest,
        /// The hash of what is kept.
        computed: Digest,
    },
    /// An event was moved to another run.
    #[error("event {seq} is of another run than the one it is kept under")]
    Run {
        /// Which event.
        seq: u64,
    },
    /// Nothing says who wrote an event.
    #[error("nothing tells which life of the host wrote event {seq}")]
    Incarnation {
        /// Which event.
        seq: u64,
    },
    /// The log is shorter than its head says.
    #[error("the log ends with event {last}, and its head says {head}")]
    Short {
        /// The last event there is.
        last: u64,
        /// The last event there should be.
        head: u64,
    },
    /// The log goes on after its head.
    #[error("the log goes on after event {head}, where its head ends")]
    Long {
        /// Where the head ends.
        head: u64,
    },
    /// The head is of another log.
    #[error("the last event {seq} has hash {last}, and the head of the log says {head}")]
    Head {
        /// The last event.
        seq: u64,
        /// Its hash.
        last: Digest,
        /// What the head says.
        head: Digest,
    },
    /// A head that its key has not signed.
    #[error("the head at event {seq} is not signed by key {key}, which it names")]
    Signature {
        /// Which event it covers.
        seq: u64,
        /// Whose signature it should be.
        key: Fingerprint,
    },
    /// A signed head of another past.
    #[error("the head that key {key} signed at event {seq} is {signed}, and the event has {found}")]
    Signed {
        /// Which event it covers.
        seq: u64,
        /// Who signed it.
        key: Fingerprint,
        /// The hash that was signed.
        signed: Digest,
        /// The hash that is kept.
        found: Digest,
    },
    /// The log was cut off before a head that was signed.
    #[error("key {key} signed a head at event {seq}, and the log ends with event {last}")]
    Truncated {
        /// Which event the head covers.
        seq: u64,
        /// Who signed it.
        key: Fingerprint,
        /// The last event there is.
        last: u64,
    },
    /// Nobody with the key that was asked for has signed it.
    #[error("no head of the log is signed by key {key}")]
    UnknownSigner {
        /// Whose signature was asked for.
        key: Fingerprint,
    },
    /// Payloads went without anybody saying so.
    #[error("{gone} payloads are gone, and the log tells of {recorded} that were erased")]
    Unrecorded {
        /// How many are gone.
        gone: u64,
        /// How many the log tells of.
        recorded: u64,
    },
}

impl VerifyError {
    /// A stable word for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "event_missing",
            Self::Misplaced { .. } => "event_misplaced",
            Self::Hash { .. } => "event_changed",
            Self::Payload { .. } => "payload_changed",
            Self::Run { .. } => "event_run_mismatch",
            Self::Incarnation { .. } => "incarnation_missing",
            Self::Short { .. } => "log_shorter_than_head",
            Self::Long { .. } => "log_longer_than_head",
            Self::Head { .. } => "head_mismatch",
            Self::Signature { .. } => "signature_invalid",
            Self::Signed { .. } => "signed_head_mismatch",
            Self::Truncated { .. } => "log_truncated",
            Self::UnknownSigner { .. } => "unknown_signer",
            Self::Unrecorded { .. } => "erasure_unrecorded",
        }
    }

    /// The event at which it shows.
    #[must_use]
    pub const fn seq(&self) -> Option<u64> {
        match self {
            Self::Missing { expected: seq, .. }
            | Self::Misplaced { expected: seq, .. }
            | Self::Hash { seq, .. }
            | Self::Payload { seq, .. }
            | Self::Run { seq }
            | Self::Incarnation { seq }
            | Self::Short { last: seq, .. }
            | Self::Long { head: seq }
            | Self::Head { seq, .. }
            | Self::Signature { seq, .. }
            | Self::Signed { seq, .. }
            | Self::Truncated { seq, .. } => Some(*seq),
            Self::UnknownSigner { .. } | Self::Unrecorded { .. } => None,
        }
    }

    /// What can be done about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Missing { .. } | Self::Short { .. } | Self::Truncated { .. } => {
                "events were taken away: keep the home as it is, and put a backup that still has them beside it"
            }
            Self::Misplaced { .. }
            | Self::Hash { .. }
            | Self::Payload { .. }
            | Self::Run { .. }
            | Self::Incarnation { .. }
            | Self::Long { .. }
            | Self::Head { .. }
            | Self::Signed { .. } => {
                "the log was changed after it was written: keep the home as it is, and compare with a backup or an \
                 exported run from before"
            }
            Self::UnknownSigner { .. } => {
                "compare the fingerprint with `wakeful status` on the device that it should be from"
            }
            Self::Signature { .. } => "the head was not made by that device: ask whoever gave it to you",
            Self::Unrecorded { .. } => {
                "payloads are erased with `wakeful erase`, which leaves a record: compare with a backup"
            }
        }
    }
}

/// What a walk has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainSummary {
    /// Events that were checked.
    pub events: u64,
    /// Of these, how many have lost their payload.
    pub erased: u64,
    /// The last event; 0 before the first.
    pub last_seq: u64,
    /// Its hash.
    pub last_hash: Digest,
    /// Who signed heads of it, each with the last event that they covered.
    pub signers: BTreeMap<PublicKey, u64>,
}

/// Where a walk begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainPosition {
    /// The event after which it begins; 0 for the beginning.
    pub seq: u64,
    /// The hash of that event, which is believed.
    pub hash: Digest,
}

impl ChainPosition {
    /// Before the first event.
    pub const BEGINNING: Self = Self {
        seq: 0,
        hash: Digest::ZERO,
    };
}

/// A walk along the log of one agent.
#[derive(Debug)]
pub struct ChainVerifier {
    agent: AgentId,
    lives: Vec<IncarnationStart>,
    begun_at: u64,
    recorded: u64,
    seen: ChainSummary,
}

impl ChainVerifier {
    /// A walk that begins after a place. Lives come oldest first.
    #[must_use]
    pub const fn new(agent: AgentId, lives: Vec<IncarnationStart>, after: ChainPosition) -> Self {
        let seen = ChainSummary {
            events: 0,
            erased: 0,
            last_seq: after.seq,
            last_hash: after.hash,
            signers: BTreeMap::new(),
        };
        Self {
            agent,
            lives,
            begun_at: after.seq,
            recorded: 0,
            seen,
        }
    }

    /// What it has seen so far.
    #[must_use]
    pub const fn seen(&self) -> &ChainSummary {
        &self.seen
    }

    /// Takes the next event.
    pub fn link(&mut self, link: &ChainedEvent<'_>) -> Result<(), VerifyError> {
        let expected = self.seen.last_seq.saturating_add(1);
        match link.seq {
            seq if seq == expected => {}
            found if found > expected => return Err(VerifyError::Missing { expected, found }),
            found => return Err(VerifyError::Misplaced { expected, found }),
        }
        let seq = link.seq;
        let life = self.lives.iter().rev().find(|life| life.first_seq <= seq);
        let computed = event_hash(&EventHeader {
            previous: &self.seen.last_hash,
            agent: &self.agent,
            incarnation: &life.ok_or(VerifyError::Incarnation { seq })?.incarnation,
            seq,
            kind: link.kind,
            at: link.at,
            payload_hash: &link.payload_hash,
            policy_version: link.policy_version,
        });
        if computed != link.hash {
            let stored = link.hash;
            return Err(VerifyError::Hash {
                seq,
                stored,
                computed,
            });
        }
        self.payload(link)?;
        self.seen.events += 1;
        self.seen.last_seq = seq;
        self.seen.last_hash = link.hash;
        Ok(())
    }

    fn payload(&mut self, link: &ChainedEvent<'_>) -> Result<(), VerifyError> {
        let Some((payload, salt)) = link.payload else {
            self.seen.erased += 1;
            return Ok(());
        };
        let (seq, stored) = (link.seq, link.payload_hash);
        let computed = payload_hash(salt, payload);
        if computed != stored {
            return Err(VerifyError::Payload {
                seq,
                stored,
                computed,
            });
        }
        let Some(body) = EventBody::read(link.kind, payload) else {
            return Ok(());
        };
        // The hash does not cover which run an event is kept under; the payloads that begin and end a run do.
        let run = named_run(&body.payload);
        if run.is_some() && run != link.run_key {
            return Err(VerifyError::Run { seq });
        }
        self.recorded = self.recorded.saturating_add(recorded_by(&body.payload));
        Ok(())
    }

    /// Compares a signed head with the event that was taken last, which must be the one that it covers.
    pub fn head(&mut self, head: &SignedHead) -> Result<(), VerifyError> {
        let (seq, key) = (head.seq, head.public_key.fingerprint());
        if !head.is_sound() || head.agent_id != self.agent {
            return Err(VerifyError::Signature { seq, key });
        }
        let last = self.seen.last_seq;
        if seq != last {
            return Err(VerifyError::Truncated { seq, key, last });
        }
        let (signed, found) = (head.chain_hash, self.seen.last_hash);
        if signed != found {
            return Err(VerifyError::Signed {
                seq,
                key,
                signed,
                found,
            });
        }
        if self.seen.signers.len() < SIGNERS_MAX {
            self.seen.signers.insert(head.public_key, seq);
        }
        Ok(())
    }

    /// Whether a key has signed any of it. A log without events needs no signature.
    pub fn signed_by(&self, key: Fingerprint) -> Result<(), VerifyError> {
        let mut signers = self.seen.signers.keys();
        let is_signed = signers.any(|signer| signer.fingerprint() == key);
        (is_signed || self.seen.last_seq == 0)
            .then_some(())
            .ok_or(VerifyError::UnknownSigner { key })
    }

    /// Compares the end of the walk with where the log should end.
    pub fn end(&self, end: ChainPosition) -> Result<(), VerifyError> {
        let ChainSummary {
            last_seq, last_hash, ..
        } = self.seen;
        if last_seq < end.seq {
            let (last, head) = (last_seq, end.seq);
            return Err(VerifyError::Short { last, head });
        }
        if last_hash != end.hash {
            let (seq, last, head) = (last_seq, last_hash, end.hash);
            return Err(VerifyError::Head { seq, last, head });
        }
        // A walk from the middle may have passed by the record.
        if self.begun_at == 0 && self.seen.erased > self.recorded {
            let (gone, recorded) = (self.seen.erased, self.recorded);
            return Err(VerifyError::Unrecorded { gone, recorded });
        }
        Ok(())
    }
}

/// The run under which an event is kept, as its own payload says: those that begin and end a run do.
fn named_run(payload: &Payload) -> Option<RunKey> {
    let names = matches!(
        payload.kind(),
        EventKind::MessageAdmitted | EventKind::RunStarted | EventKind::RunEnded
    );
    payload.run_key().filter(|_| names)
}

/// How many payloads an event tells of that were taken away: by a person, or because they were old.
fn recorded_by(payload: &Payload) -> u64 {
    if let Payload::ContentErased(erased) = payload {
        erased.events
    } else if let Payload::DataPruned(pruned) = payload
        && pruned.class == DataClass::Events
    {
        pruned.rows
    } else {
        0
    }
}
