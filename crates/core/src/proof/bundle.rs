//! A run on its way to another machine: one file of JSON lines that holds all that proves it, and the check that needs
//! nothing else. `docs/proof.md` describes the format.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::chain::{Flaw, Life, Link, Place, Walk};
use super::head::{SignedHead, rfc3339};
use super::replay::{Difference, Recorded, Replay, Told};
use super::signing::{Fingerprint, PublicKey};
use crate::blob::BlobHash;
use crate::id::AgentId;
use crate::key::{Digest, RunKey};
use crate::run::{Turn, is_known};
use crate::time::Millis;

/// What the first line calls the format.
pub const FORMAT: &str = "wakeful.bundle";

/// The version of the format. It grows when an old reader would misunderstand a new bundle.
pub const FORMAT_VERSION: u32 = 1;

/// Most events of a bundle, those of other runs between them included: a run of many days.
pub const EVENTS_MAX: u64 = 1_000_000;

/// Longest line: the largest content there is, spelled in hex.
pub const LINE_BYTES_MAX: usize = 72 * 1024 * 1024;

/// One line of a bundle. They come in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line: which run it is, and where its log begins.
    Opening(Box<Opening>),
    /// An event, from the first of the run to the last that the head covers.
    Event(EventLine),
    /// The head that was signed.
    Head(SignedHead),
    /// A transition of the run.
    Journal(JournalLine),
    /// A content that the run names.
    Blob(BlobLine),
    /// The last line: how many there should be.
    Closing(Closing),
}

/// Which run a bundle is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// Always [`FORMAT`].
    pub format: String,
    /// [`FORMAT_VERSION`] of whoever wrote it.
    pub version: u32,
    /// Whose run it is.
    pub agent_id: AgentId,
    /// Its name.
    pub run_key: RunKey,
    /// How it ended.
    pub outcome: String,
    /// The kind of machine.
    pub machine: String,
    /// The machine's version.
    pub machine_version: u32,
    /// How many transitions it made.
    pub transitions: i64,
    /// Its last state, as JSON; none when the journal was withheld.
    pub state: Option<String>,
    /// The place in the log before its first event.
    pub after: Place,
    /// The lives of the host that wrote the log, oldest first.
    pub lives: Vec<Life>,
    /// When it was exported.
    #[serde(with = "rfc3339")]
    pub exported_at: Millis,
}

/// An event of a bundle. Those of other runs are there without what they say: the chain needs their headers alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventLine {
    /// Its number.
    pub seq: u64,
    /// Whether it is of this run.
    pub own: bool,
    /// What happened.
    pub kind: String,
    /// When.
    #[serde(with = "rfc3339")]
    pub at: Millis,
    /// Its hash.
    pub hash: Digest,
    /// What the chain holds of the payload.
    pub payload_hash: Digest,
    /// Under which rules; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy_version: String,
    /// The payload, as canonical JSON, and its salt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<(String, Digest)>,
}

/// A transition of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalLine {
    /// Which transition, from 1.
    pub ordinal: i64,
    /// The input and what was read for it, as canonical JSON.
    pub body: String,
    /// Hash of what was read.
    pub reads_hash: Digest,
    /// Hash of the state it led to.
    pub state_hash: Digest,
    /// Hash of the effects it led to.
    pub effects_hash: Digest,
    /// When.
    #[serde(with = "rfc3339")]
    pub at: Millis,
}

/// A content of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobLine {
    /// Its name.
    pub hash: BlobHash,
    /// What it is.
    #[serde(flatten)]
    pub body: BlobBody,
}

/// What a content is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlobBody {
    /// Text.
    Text(String),
    /// Bytes that are no text, in hex.
    Hex(String),
    /// It was not to leave the home, and why.
    Withheld(String),
}

/// How many lines a bundle has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// Events.
    pub events: u64,
    /// Transitions.
    pub journal: u64,
    /// Contents.
    pub blobs: u64,
}

/// Why a bundle proves nothing.
#[derive(Debug, thiserror::Error)]
pub enum Unproven {
    /// It is no bundle.
    #[error("this is no bundle of a run")]
    Foreign,
    /// A newer program wrote it.
    #[error("the bundle has version {found}, this program knows {FORMAT_VERSION}")]
    Newer {
        /// What it has.
        found: u32,
    },
    /// A line that cannot be read, or that stands in the wrong place.
    #[error("line {line} of the bundle {what}")]
    Line {
        /// Which line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Lines are missing at its end.
    #[error("the bundle is cut off")]
    Cut,
    /// There is more than is taken in.
    #[error("the bundle has more than {EVENTS_MAX} events")]
    TooLong,
    /// Nobody signed it.
    #[error("the bundle holds no signed head")]
    Unsigned,
    /// The log in it is not what was written.
    #[error(transparent)]
    Flaw(#[from] Flaw),
    /// The run in it is not what was kept.
    #[error(transparent)]
    Difference(#[from] Difference),
    /// A content is not what its name says.
    #[error("the content {0} is not what its name says")]
    Blob(BlobHash),
    /// The machine of the run is not here.
    #[error("the run needs machine {machine} version {version}, which this program does not have")]
    Machine {
        /// The machine.
        machine: String,
        /// Its version.
        version: u32,
    },
}

/// What a bundle proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proven {
    /// Whose run it is.
    pub agent_id: AgentId,
    /// Which run.
    pub run_key: RunKey,
    /// How it ended.
    pub outcome: String,
    /// How many lines of each kind.
    pub lines: Closing,
    /// Contents, payloads and journals that did not leave their home, or were erased there.
    pub withheld: u64,
    /// Whether the run was applied again.
    pub replayed: bool,
    /// Whose signatures cover it.
    pub signers: BTreeSet<PublicKey>,
    /// The last event that they cover.
    pub last_seq: u64,
    /// When it was exported.
    pub exported_at: Millis,
}

impl Proven {
    /// What people compare the signers by.
    #[must_use]
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        self.signers.iter().map(PublicKey::fingerprint).collect()
    }
}

/// Checks a bundle, line by line.
#[derive(Debug, Default)]
pub struct Check {
    line: u64,
    begun: Option<Begun>,
    counted: Closing,
    withheld: u64,
    stage: Stage,
}

/// How far a bundle has been read.
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
struct Begun {
    opening: Opening,
    walk: Walk,
    replay: Option<Replay>,
    told: Vec<Told>,
    signers: BTreeSet<PublicKey>,
}

impl Check {
    /// Takes the next line.
    pub fn line(&mut self, text: &[u8]) -> Result<(), Unproven> {
        self.line += 1;
        let parsed = serde_json::from_slice(text);
        let line = match (parsed, self.line) {
            (Ok(line), _) => line,
            (Err(_), 1) => return Err(not_ours(text)),
            (Err(error), _) => return Err(self.wrong(format!("cannot be read: {error}"))),
        };
        self.take(line)
    }

    /// Takes the next line, already read.
    pub fn take(&mut self, line: Line) -> Result<(), Unproven> {
        let stage = match &line {
            Line::Opening(_) => Stage::Opening,
            Line::Event(_) => Stage::Events,
            Line::Head(_) => Stage::Heads,
            Line::Journal(_) => Stage::Journal,
            Line::Blob(_) => Stage::Blobs,
            Line::Closing(_) => Stage::Closed,
        };
        let opens = matches!(line, Line::Opening(_));
        if opens != self.begun.is_none() || stage < self.stage || self.stage == Stage::Closed {
            return Err(self.wrong("stands in the wrong place".to_owned()));
        }
        self.stage = stage;
        match line {
            Line::Opening(opening) => self.open(*opening),
            Line::Event(event) => self.event(event),
            Line::Head(head) => self.head(&head),
            Line::Journal(row) => self.journal(&row),
            Line::Blob(blob) => self.blob(&blob),
            Line::Closing(closing) if closing == self.counted => Ok(()),
            Line::Closing(_) => Err(Unproven::Cut),
        }
    }

    fn wrong(&self, what: String) -> Unproven {
        let line = self.line;
        Unproven::Line { line, what }
    }

    fn begun(&mut self) -> Result<&mut Begun, Unproven> {
        self.begun.as_mut().ok_or(Unproven::Foreign)
    }

    fn open(&mut self, opening: Opening) -> Result<(), Unproven> {
        if opening.format != FORMAT {
            return Err(Unproven::Foreign);
        }
        if opening.version != FORMAT_VERSION {
            let found = opening.version;
            return Err(Unproven::Newer { found });
        }
        let replay = match &opening.state {
            None => None,
            Some(_) if !is_known(&opening.machine, opening.machine_version) => {
                let (machine, version) = (opening.machine, opening.machine_version);
                return Err(Unproven::Machine { machine, version });
            }
            Some(state) => {
                let turn: Turn = serde_json::from_str(state)
                    .map_err(|error| self.wrong(format!("has a state that cannot be read: {error}")))?;
                if turn.run_key != opening.run_key {
                    return Err(self.wrong("has the state of another run".to_owned()));
                }
                Some(Replay::new(turn))
            }
        };
        self.withheld += u64::from(replay.is_none());
        self.begun = Some(Begun {
            walk: Walk::new(opening.agent_id.clone(), opening.lives.clone(), opening.after),
            opening,
            replay,
            told: Vec::new(),
            signers: BTreeSet::new(),
        });
        Ok(())
    }

    fn event(&mut self, event: EventLine) -> Result<(), Unproven> {
        self.counted.events += 1;
        if self.counted.events > EVENTS_MAX {
            return Err(Unproven::TooLong);
        }
        self.withheld += u64::from(event.own && event.payload.is_none());
        let begun = self.begun()?;
        let payload = event.payload.as_ref();
        begun.walk.link(&Link {
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
            let payload = event.payload.map(|(payload, _)| Digest::of(payload.as_bytes()));
            begun.told.push((event.kind, payload));
        }
        Ok(())
    }

    fn head(&mut self, head: &SignedHead) -> Result<(), Unproven> {
        let begun = self.begun()?;
        begun.walk.head(head)?;
        begun.signers.insert(head.public_key);
        Ok(())
    }

    fn journal(&mut self, row: &JournalLine) -> Result<(), Unproven> {
        self.counted.journal += 1;
        let begun = self.begun()?;
        let Some(replay) = &mut begun.replay else {
            return Err(self.wrong("is a transition that the first line does not announce".to_owned()));
        };
        replay.step(&Recorded {
            ordinal: row.ordinal,
            body: row.body.as_bytes(),
            reads_hash: row.reads_hash,
            state_hash: row.state_hash,
            effects_hash: row.effects_hash,
        })?;
        Ok(())
    }

    fn blob(&mut self, blob: &BlobLine) -> Result<(), Unproven> {
        self.counted.blobs += 1;
        let found = match &blob.body {
            BlobBody::Withheld(_) => {
                self.withheld += 1;
                return Ok(());
            }
            BlobBody::Text(text) => Some(Digest::of(text.as_bytes())),
            BlobBody::Hex(hex) => super::signing::from_hex(hex).map(|bytes| Digest::of(&bytes)),
        };
        (found == Some(blob.hash.0))
            .then_some(())
            .ok_or(Unproven::Blob(blob.hash))
    }

    /// What it proves, when all of it was read.
    pub fn finish(self) -> Result<Proven, Unproven> {
        let (Some(begun), Stage::Closed) = (self.begun, self.stage) else {
            return Err(if self.line == 0 {
                Unproven::Foreign
            } else {
                Unproven::Cut
            });
        };
        if begun.signers.is_empty() {
            return Err(Unproven::Unsigned);
        }
        if let (Some(replay), Some(state)) = (&begun.replay, &begun.opening.state) {
            replay.end(begun.opening.transitions, state)?;
            replay.told(&begun.told)?;
            if replay.outcome() != Some(begun.opening.outcome.as_str()) {
                return Err(Difference::State.into());
            }
        }
        let Opening {
            agent_id,
            run_key,
            outcome,
            exported_at,
            ..
        } = begun.opening;
        Ok(Proven {
            agent_id,
            run_key,
            outcome,
            lines: self.counted,
            withheld: self.withheld,
            replayed: begun.replay.is_some(),
            signers: begun.signers,
            last_seq: begun.walk.seen().last_seq,
            exported_at,
        })
    }
}

/// Why the first line cannot be read: a newer one may look otherwise, and says so.
fn not_ours(text: &[u8]) -> Unproven {
    let value: serde_json::Value = serde_json::from_slice(text).unwrap_or_default();
    let opening = value.get("opening");
    let member = |name| opening.and_then(|opening| opening.get(name));
    let version = member("version").and_then(serde_json::Value::as_u64);
    match (member("format").and_then(serde_json::Value::as_str), version) {
        (Some(FORMAT), Some(found)) if found != u64::from(FORMAT_VERSION) => Unproven::Newer {
            found: u32::try_from(found).unwrap_or(u32::MAX),
        },
        _ => Unproven::Foreign,
    }
}
