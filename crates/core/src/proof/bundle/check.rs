//! Verification of a bundle. Everything in it must be covered by a signature, or the bundle is rejected:
//!
//! a head signs the chain → the chain covers each event and the hash of its payload → payloads contain the
//! log bindings of the transitions → log bindings cover the rows of the run log → a replay of the run log
//! gives the state and the referenced blobs.

use std::collections::BTreeSet;

use super::{
    BlobBody, BlobLine, BundleFooter, BundleHeader, BundleLine, EVENTS_MAX, EventLine, FORMAT,
    FORMAT_VERSION, RunLogLine, artifacts_in,
};
use crate::blob::BlobHash;
use crate::id::AgentId;
use crate::key::{Digest, RunKey};
use crate::proof::chain::{ChainVerifier, ChainedEvent, VerifyError};
use crate::proof::head::SignedHead;
use crate::proof::replay::{BindingStats, LoggedEvent, LoggedTransition, Replay, ReplayMismatch};
use crate::proof::row_binding::without_row_hash;
use crate::proof::signing::{Fingerprint, PublicKey, from_hex};
use crate::report::EventKind;
use crate::report::payload::{EventBody, Payload};
use crate::run::{RunMachine, RunStatus, is_known};
use crate::time::Millis;

/// Why a bundle is rejected.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("this is not a bundle of a run")]
    Foreign,
    /// The format version is not supported.
    #[error("the bundle has version {found}, this program supports {FORMAT_VERSION}")]
    Version { found: u32 },
    /// A line is unreadable or in the wrong place.
    #[error("line {line} of the bundle {what}")]
    Line {
        /// The line number, from 1.
        line: u64,
        /// What is wrong with the line.
        what: String,
    },
    /// The end of the bundle is missing.
    #[error("the bundle is cut off")]
    Cut,
    /// The bundle has too many events.
    #[error("the bundle has more than {EVENTS_MAX} events")]
    TooLong,
    /// The bundle has no signed head.
    #[error("the bundle contains no signed head")]
    Unsigned,
    /// The log in it was changed.
    #[error(transparent)]
    Flaw(#[from] VerifyError),
    /// The replay differs from the stored run.
    #[error(transparent)]
    Difference(#[from] ReplayMismatch),
    /// The run log is not covered by the signed log.
    #[error(
        "nothing ties the run log to the signed log: {} of its events have no payload",
        .0.erased
    )]
    Unbound(BindingStats),
    /// A blob does not match its hash.
    #[error("the content {0} does not match its hash")]
    Blob(BlobHash),
    /// A referenced blob is missing.
    #[error("the run references the content {0}, which the bundle neither includes nor reports as withheld")]
    Missing(BlobHash),
    /// A blob is not referenced by the run.
    #[error("the run does not reference the content {0}")]
    Unnamed(BlobHash),
    /// This program cannot replay the run's machine version.
    #[error("the run needs machine {machine} version {version}, which this program does not have")]
    Machine { machine: String, version: u32 },
}

/// The verified facts of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedBundle {
    pub agent_id: AgentId,
    /// The run, if a signed event names it.
    pub run_key: Option<RunKey>,
    /// The final status, if a signed event contains it.
    pub outcome: Option<RunStatus>,
    /// The number of lines of each kind.
    pub lines: BundleFooter,
    /// The number of blobs and payloads that are not included, plus the run log if it is missing.
    pub withheld: u64,
    /// Whether the run was replayed and every part of it is bound to the log.
    pub replayed: bool,
    /// The keys whose signatures cover it.
    pub signers: BTreeSet<PublicKey>,
    /// The last event that is covered.
    pub last_seq: u64,
    /// When it was exported, according to the bundle itself.
    pub exported_at: Millis,
}

impl VerifiedBundle {
    /// The fingerprints of the signers, for comparison by people.
    #[must_use]
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        self.signers.iter().map(PublicKey::fingerprint).collect()
    }
}

/// Verifies a bundle line by line.
#[derive(Debug, Default)]
pub struct BundleChecker {
    line: u64,
    begun: Option<CheckState>,
    counted: BundleFooter,
    withheld: u64,
    stage: Stage,
}

/// The part of the bundle that was read last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Opening,
    Events,
    Heads,
    Journal,
    Blobs,
    Closed,
}

#[derive(Debug)]
struct CheckState {
    opening: BundleHeader,
    walk: ChainVerifier,
    replay: Option<Replay>,
    logged_events: Vec<LoggedEvent>,
    /// Whether a signed event names the run.
    is_named: bool,
    /// The final status according to a signed event.
    outcome: Option<RunStatus>,
    signers: BTreeSet<PublicKey>,
    /// Blobs that are included or reported as withheld.
    contents: BTreeSet<BlobHash>,
    /// Full outputs that those reference.
    artifacts: BTreeSet<BlobHash>,
}

impl BundleChecker {
    /// Checks the next line.
    pub fn line(&mut self, text: &[u8]) -> Result<(), BundleError> {
        self.line += 1;
        let parsed = serde_json::from_slice(text);
        let line: BundleLine = match (parsed, self.line) {
            (Ok(line), _) => line,
            (Err(_), 1) => return Err(not_ours(text)),
            (Err(error), _) => return Err(self.wrong(format!("cannot be read: {error}"))),
        };
        // Only the canonical spelling is accepted, so that a line cannot contain anything unchecked.
        if serde_json::to_vec(&line).is_ok_and(|spelled| spelled == text) {
            return self.take(line);
        }
        if matches!(&line, BundleLine::Opening(opening) if opening.format != FORMAT) {
            return Err(BundleError::Foreign);
        }
        Err(self.wrong("does not have the canonical spelling".to_owned()))
    }

    fn take(&mut self, line: BundleLine) -> Result<(), BundleError> {
        let stage = match &line {
            BundleLine::Opening(_) => Stage::Opening,
            BundleLine::Event(_) => Stage::Events,
            BundleLine::Head(_) => Stage::Heads,
            BundleLine::Journal(_) => Stage::Journal,
            BundleLine::Blob(_) => Stage::Blobs,
            BundleLine::Closing(_) => Stage::Closed,
        };
        let opens = matches!(line, BundleLine::Opening(_));
        if opens != self.begun.is_none() || stage < self.stage || self.stage == Stage::Closed {
            return Err(self.wrong("is in the wrong place".to_owned()));
        }
        self.stage = stage;
        match line {
            BundleLine::Opening(opening) => self.open(*opening),
            BundleLine::Event(event) => self.event(event),
            BundleLine::Head(head) => self.head(&head),
            BundleLine::Journal(row) => self.journal(&row),
            BundleLine::Blob(blob) => self.blob(&blob),
            BundleLine::Closing(closing) if closing == self.counted => Ok(()),
            BundleLine::Closing(_) => Err(BundleError::Cut),
        }
    }

    fn wrong(&self, what: String) -> BundleError {
        let line = self.line;
        BundleError::Line { line, what }
    }

    fn begun(&mut self) -> Result<&mut CheckState, BundleError> {
        self.begun.as_mut().ok_or(BundleError::Foreign)
    }

    fn open(&mut self, opening: BundleHeader) -> Result<(), BundleError> {
        if opening.format != FORMAT {
            return Err(BundleError::Foreign);
        }
        if opening.version != FORMAT_VERSION {
            let found = opening.version;
            return Err(BundleError::Version { found });
        }
        let replay = match &opening.again {
            None => None,
            Some(again) if !is_known(&again.machine, again.machine_version) => {
                let (machine, version) = (again.machine.clone(), again.machine_version);
                return Err(BundleError::Machine { machine, version });
            }
            Some(again) => {
                let turn: RunMachine = serde_json::from_str(&again.state)
                    .map_err(|error| self.wrong(format!("has an unreadable state: {error}")))?;
                if turn.run_key != opening.run_key {
                    return Err(self.wrong("has the state of another run".to_owned()));
                }
                Some(Replay::new(turn))
            }
        };
        self.withheld += u64::from(replay.is_none());
        self.begun = Some(CheckState {
            walk: ChainVerifier::new(opening.agent_id.clone(), opening.lives.clone(), opening.after),
            opening,
            replay,
            logged_events: Vec::new(),
            is_named: false,
            outcome: None,
            signers: BTreeSet::new(),
            contents: BTreeSet::new(),
            artifacts: BTreeSet::new(),
        });
        Ok(())
    }

    fn event(&mut self, event: EventLine) -> Result<(), BundleError> {
        self.counted.events += 1;
        if self.counted.events > EVENTS_MAX {
            return Err(BundleError::TooLong);
        }
        let is_first = self.counted.events == 1;
        if is_first && !(event.own && event.kind == EventKind::MessageAdmitted.as_str()) {
            return Err(self.wrong("should be the admission of the run's message".to_owned()));
        }
        if !event.own && event.payload.is_some() {
            return Err(self.wrong("is an event of another run".to_owned()));
        }
        self.withheld += u64::from(event.own && event.payload.is_none());
        let begun = self.begun()?;
        let payload = event.payload.as_ref();
        begun.walk.link(&ChainedEvent {
            seq: event.seq,
            run_key: event.own.then_some(begun.opening.run_key),
            kind: &event.kind,
            at: event.at,
            hash: event.hash,
            payload_hash: event.payload_hash,
            policy_version: &event.policy_version,
            payload: payload.map(|(payload, salt)| (payload.as_bytes(), salt.as_bytes())),
        })?;
        if event.own {
            begun.record_event(event);
        }
        Ok(())
    }

    /// Checks a head. Heads are sorted by key and unique.
    fn head(&mut self, head: &SignedHead) -> Result<(), BundleError> {
        let begun = self.begun()?;
        begun.walk.head(head)?;
        if begun.signers.last() >= Some(&head.public_key) {
            return Err(self.wrong("is in the wrong place".to_owned()));
        }
        begun.signers.insert(head.public_key);
        Ok(())
    }

    fn journal(&mut self, row: &RunLogLine) -> Result<(), BundleError> {
        self.counted.journal += 1;
        let begun = self.begun()?;
        let Some(replay) = &mut begun.replay else {
            return Err(self.wrong("is a transition that the first line does not announce".to_owned()));
        };
        replay.step(&LoggedTransition {
            ordinal: row.ordinal,
            body: row.body.as_bytes(),
            reads_hash: row.reads_hash,
            state_hash: row.state_hash,
            effects_hash: row.effects_hash,
            at: row.at,
        })?;
        Ok(())
    }

    /// Checks a blob. Blobs are sorted by hash and unique.
    fn blob(&mut self, blob: &BlobLine) -> Result<(), BundleError> {
        self.counted.blobs += 1;
        let begun = self.begun()?;
        if begun.contents.last() >= Some(&blob.hash) {
            return Err(self.wrong("is in the wrong place".to_owned()));
        }
        begun.contents.insert(blob.hash);
        let bytes = match &blob.body {
            BlobBody::Withheld(_) => {
                self.withheld += 1;
                return Ok(());
            }
            BlobBody::Text(text) => text.as_bytes().to_vec(),
            BlobBody::Hex(hex) => from_hex(hex).ok_or(BundleError::Blob(blob.hash))?,
        };
        if Digest::of(&bytes) != blob.hash.0 {
            return Err(BundleError::Blob(blob.hash));
        }
        // Only transcript entries reference other blobs.
        let replay = begun.replay.as_ref();
        if replay.is_some_and(|replay| replay.contents().contains(&blob.hash)) {
            begun.artifacts.extend(artifacts_in(&bytes));
        }
        Ok(())
    }

    /// Returns the verified facts after the last line.
    pub fn finish(self) -> Result<VerifiedBundle, BundleError> {
        let (Some(mut begun), Stage::Closed) = (self.begun, self.stage) else {
            return Err(if self.line == 0 {
                BundleError::Foreign
            } else {
                BundleError::Cut
            });
        };
        if begun.signers.is_empty() {
            return Err(BundleError::Unsigned);
        }
        begun.check_incarnations()?;
        begun.again()?;
        begun.contents()?;
        let BundleHeader {
            agent_id,
            run_key,
            exported_at,
            ..
        } = begun.opening;
        let replayed = begun.replay.is_some();
        Ok(VerifiedBundle {
            agent_id,
            run_key: (replayed || begun.is_named).then_some(run_key),
            outcome: begun.outcome,
            lines: self.counted,
            withheld: self.withheld,
            replayed,
            signers: begun.signers,
            last_seq: begun.walk.seen().last_seq,
            exported_at,
        })
    }
}

impl CheckState {
    /// Records an event of the run.
    fn record_event(&mut self, event: EventLine) {
        let payload = event.payload.as_ref().map(|(payload, _)| payload.as_bytes());
        let body = payload.and_then(|payload| EventBody::read(&event.kind, payload));
        let own = body.map(|body| body.payload);
        match own.filter(|said| said.run_key() == Some(self.opening.run_key)) {
            Some(Payload::MessageAdmitted(_) | Payload::RunStarted(_)) => self.is_named = true,
            Some(Payload::RunEnded(ended)) => {
                self.is_named = true;
                self.outcome = Some(ended.outcome);
            }
            Some(Payload::QuarantineResolved(released)) if released.status == RunStatus::Abandoned => {
                self.is_named = true;
                self.outcome = Some(released.status);
            }
            Some(_) | None => {}
        }
        let payload = payload.map(|payload| match without_row_hash(payload) {
            Some((plain, _)) => Digest::of(&plain),
            None => Digest::of(payload),
        });
        self.logged_events.push((event.kind, payload));
    }

    /// Checks that every listed incarnation wrote some of the events.
    fn check_incarnations(&self) -> Result<(), VerifyError> {
        let (first, last) = (
            self.opening.after.seq.saturating_add(1),
            self.walk.seen().last_seq,
        );
        let mut numbers = self.opening.lives.iter().map(|life| life.first_seq);
        let begins = numbers.next() == Some(first);
        let ascend = self
            .opening
            .lives
            .is_sorted_by(|one, two| one.first_seq < two.first_seq);
        let all = numbers.all(|number| number <= last);
        (begins && ascend && all)
            .then_some(())
            .ok_or(VerifyError::Incarnation { seq: first })
    }

    /// Checks that the run log leads to the stored state and that the signed log covers all of it.
    fn again(&mut self) -> Result<(), BundleError> {
        let (Some(replay), Some(again)) = (&self.replay, &self.opening.again) else {
            return Ok(());
        };
        replay.end(again.transitions, &again.state)?;
        let ties = replay.compare_events(&self.logged_events)?;
        replay.check_no_extra_events(&self.logged_events)?;
        if !ties.hold() {
            return Err(BundleError::Unbound(ties));
        }
        if let Some(outcome) = replay.outcome() {
            self.outcome = Some(outcome);
        }
        // Only a run that has ended can be exported.
        self.outcome
            .as_ref()
            .map(drop)
            .ok_or_else(|| ReplayMismatch::State.into())
    }

    /// Checks that the blobs are exactly those that the run log references, directly or through transcript
    /// entries.
    fn contents(&self) -> Result<(), BundleError> {
        let none = BTreeSet::new();
        let named = self.replay.as_ref().map_or(&none, Replay::contents);
        let mut named = named.union(&self.artifacts);
        if let Some(missing) = named.find(|hash| !self.contents.contains(hash)) {
            return Err(BundleError::Missing(*missing));
        }
        let is_named = |hash: &&BlobHash| {
            let by_journal = self.replay.as_ref().map(Replay::contents);
            by_journal.is_some_and(|named| named.contains(hash)) || self.artifacts.contains(hash)
        };
        match self.contents.iter().find(|hash| !is_named(hash)) {
            Some(unnamed) => Err(BundleError::Unnamed(*unnamed)),
            None => Ok(()),
        }
    }
}

/// The error of an unreadable first line: another format version is reported as such.
fn not_ours(text: &[u8]) -> BundleError {
    let value: serde_json::Value = serde_json::from_slice(text).unwrap_or_default();
    let opening = value.get("opening");
    let member = |name| opening.and_then(|opening| opening.get(name));
    let version = member("version").and_then(serde_json::Value::as_u64);
    match (member("format").and_then(serde_json::Value::as_str), version) {
        (Some(FORMAT), Some(found)) if found != u64::from(FORMAT_VERSION) => BundleError::Version {
            found: u32::try_from(found).unwrap_or(u32::MAX),
        },
        _ => BundleError::Foreign,
    }
}
