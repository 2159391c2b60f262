//! Verification of an agent's log from its start: each event follows from its predecessor, nothing is
//! missing, and all heads agree with it.

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

/// Maximum number of devices that are distinguished in one log.
pub const SIGNERS_MAX: usize = 1_000;

/// The first event of an incarnation in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncarnationStart {
    pub first_seq: u64,
    pub incarnation: Incarnation,
}

/// One stored event.
#[derive(Debug, Clone, Copy)]
pub struct ChainedEvent<'a> {
    pub seq: u64,
    /// The run it is stored under.
    pub run_key: Option<RunKey>,
    pub kind: &'a str,
    pub at: Millis,
    pub hash: Digest,
    /// The salted hash of the payload, as in the chain.
    pub payload_hash: Digest,
    /// The policy version; empty if there is none.
    pub policy_version: &'a str,
    /// The payload and its salt, unless erased.
    pub payload: Option<(&'a [u8], &'a [u8; 32])>,
}

/// The first error in a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// Events were removed.
    #[error("event {expected} is missing: the next one is {found}")]
    Missing {
        /// The expected sequence number.
        expected: u64,
        /// The actual sequence number.
        found: u64,
    },
    /// Events are out of order, or one is repeated.
    #[error("event {found} is in the place of event {expected}")]
    Misplaced {
        /// The expected sequence number.
        expected: u64,
        /// The actual sequence number.
        found: u64,
    },
    /// An event or one of its predecessors was changed.
    #[error("event {seq} does not follow from the one before: its hash is {stored}, expected {computed}")]
    Hash {
        seq: u64,
        stored: Digest,
        /// The hash computed from the stored event.
        computed: Digest,
    },
    /// A payload does not match its hash in the chain.
    #[error("the payload of event {seq} was changed: it hashes to {computed}, the chain has {stored}")]
    Payload {
        seq: u64,
        /// The hash in the chain.
        stored: Digest,
        /// The hash of the stored payload.
        computed: Digest,
    },
    /// An event was moved to another run.
    #[error("event {seq} belongs to another run than the one it is stored under")]
    Run { seq: u64 },
    /// The incarnation that wrote an event is unknown.
    #[error("the incarnation of the host that wrote event {seq} is unknown")]
    Incarnation { seq: u64 },
    /// The log is shorter than its head.
    #[error("the log ends with event {last}, but its head is event {head}")]
    Short {
        /// The last event of the log.
        last: u64,
        /// The last event according to the head.
        head: u64,
    },
    /// The log continues after its head.
    #[error("the log continues after event {head}, where its head ends")]
    Long {
        /// The last event according to the head.
        head: u64,
    },
    /// The head belongs to another log.
    #[error("the last event {seq} has hash {last}, but the head of the log has {head}")]
    Head {
        /// The last event.
        seq: u64,
        /// The hash of the last event.
        last: Digest,
        /// The hash in the head.
        head: Digest,
    },
    /// The signature of a head is invalid.
    #[error("the head at event {seq} is not signed by key {key}, which it names")]
    Signature {
        /// The event that the head covers.
        seq: u64,
        /// The key that the head names.
        key: Fingerprint,
    },
    /// A signed head differs from the event that it covers.
    #[error("key {key} signed hash {signed} for event {seq}, but the event has {found}")]
    Signed {
        /// The event that the head covers.
        seq: u64,
        /// The signing key.
        key: Fingerprint,
        /// The signed hash.
        signed: Digest,
        /// The hash of the event.
        found: Digest,
    },
    /// The log ends before a signed head.
    #[error("key {key} signed a head at event {seq}, but the log ends with event {last}")]
    Truncated {
        /// The event that the head covers.
        seq: u64,
        /// The signing key.
        key: Fingerprint,
        /// The last event of the log.
        last: u64,
    },
    /// The expected key signed no head.
    #[error("no head of the log is signed by key {key}")]
    UnknownSigner {
        /// The expected key.
        key: Fingerprint,
    },
    /// Payloads are missing without a record of their erasure.
    #[error("{gone} payloads are missing, but the log records only {recorded} as erased")]
    Unrecorded {
        /// The number of missing payloads.
        gone: u64,
        /// The number of recorded erasures.
        recorded: u64,
    },
}

impl VerifyError {
    /// A stable code for programs.
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

    /// The event at which the error was found.
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

    /// What to do about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Missing { .. } | Self::Short { .. } | Self::Truncated { .. } => {
                "events were removed: leave the home unchanged, and compare it with a backup that still has them"
            }
            Self::Misplaced { .. }
            | Self::Hash { .. }
            | Self::Payload { .. }
            | Self::Run { .. }
            | Self::Incarnation { .. }
            | Self::Long { .. }
            | Self::Head { .. }
            | Self::Signed { .. } => {
                "the log was changed after it was written: leave the home unchanged, and compare it with an earlier backup or exported run"
            }
            Self::UnknownSigner { .. } => {
                "compare the fingerprint with `wakeful status` on the device that should have signed it"
            }
            Self::Signature { .. } => "that device did not sign the head: ask the person who gave it to you",
            Self::Unrecorded { .. } => {
                "payloads are erased with `wakeful erase`, which leaves a record: compare with a backup"
            }
        }
    }
}

/// The result of a verification so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainSummary {
    /// The number of verified events.
    pub events: u64,
    /// How many of them have no payload any more.
    pub erased: u64,
    /// The last event; 0 before the first.
    pub last_seq: u64,
    pub last_hash: Digest,
    /// The keys that signed heads, each with the last event that it covers.
    pub signers: BTreeMap<PublicKey, u64>,
}

/// A position in the log at which a verification starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainPosition {
    /// The event before the first verified one; 0 for the start of the log.
    pub seq: u64,
    /// The hash of that event, which is trusted.
    pub hash: Digest,
}

impl ChainPosition {
    /// Before the first event.
    pub const BEGINNING: Self = Self {
        seq: 0,
        hash: Digest::ZERO,
    };
}

/// Verifies the log of one agent.
#[derive(Debug)]
pub struct ChainVerifier {
    agent: AgentId,
    lives: Vec<IncarnationStart>,
    begun_at: u64,
    recorded: u64,
    seen: ChainSummary,
}

impl ChainVerifier {
    /// Starts after a position. Incarnations are sorted, oldest first.
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

    #[must_use]
    pub const fn seen(&self) -> &ChainSummary {
        &self.seen
    }

    /// Verifies the next event.
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
        // The hash does not cover the run that an event is stored under; the payloads of a run's start and
        // end do.
        let run = named_run(&body.payload);
        if run.is_some() && run != link.run_key {
            return Err(VerifyError::Run { seq });
        }
        self.recorded = self.recorded.saturating_add(recorded_by(&body.payload));
        Ok(())
    }

    /// Verifies a signed head against the last verified event, which must be the one that it covers.
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

    /// Checks that a key has signed part of the log. An empty log needs no signature.
    pub fn signed_by(&self, key: Fingerprint) -> Result<(), VerifyError> {
        let mut signers = self.seen.signers.keys();
        let is_signed = signers.any(|signer| signer.fingerprint() == key);
        (is_signed || self.seen.last_seq == 0)
            .then_some(())
            .ok_or(VerifyError::UnknownSigner { key })
    }

    /// Compares the end of the log with its expected end.
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
        // A verification that starts in the middle may have missed the record.
        if self.begun_at == 0 && self.seen.erased > self.recorded {
            let (gone, recorded) = (self.seen.erased, self.recorded);
            return Err(VerifyError::Unrecorded { gone, recorded });
        }
        Ok(())
    }
}

/// The run that an event belongs to, according to its own payload: the events of a run's start and end
/// contain it.
fn named_run(payload: &Payload) -> Option<RunKey> {
    let names = matches!(
        payload.kind(),
        EventKind::MessageAdmitted | EventKind::RunStarted | EventKind::RunEnded
    );
    payload.run_key().filter(|_| names)
}

/// The number of payloads whose removal an event records, by erasure or by retention.
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
