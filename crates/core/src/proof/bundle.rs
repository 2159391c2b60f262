//! A run on its way to another machine: one file of JSON lines that holds all that proves it, and the check that needs
//! nothing else. `docs/proof.md` describes the format.

mod check;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use self::check::{BundleChecker, BundleError, VerifiedBundle};
use super::chain::{ChainPosition, IncarnationStart};
use super::head::{SignedHead, rfc3339};
use crate::blob::BlobHash;
use crate::conversation::Block;
use crate::id::AgentId;
use crate::key::{Digest, RunKey};
use crate::time::Millis;

/// What the first line calls the format.
pub const FORMAT: &str = "wakeful.bundle";

/// The version of the format. It grows when an old reader would misunderstand a new bundle.
pub const FORMAT_VERSION: u32 = 2;

/// Most events of a bundle, those of other runs between them included: a run of many days.
pub const EVENTS_MAX: u64 = 1_000_000;

/// Longest line: the largest content there is, spelled in hex.
pub const LINE_BYTES_MAX: usize = 72 * 1024 * 1024;

/// One line of a bundle. They come in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BundleLine {
    /// The first line: which run it is, and where its log begins.
    Opening(Box<BundleHeader>),
    /// An event, from the first of the run to the last that the head covers.
    Event(EventLine),
    /// The head that was signed.
    Head(SignedHead),
    /// A transition of the run.
    Journal(RunLogLine),
    /// A content that the run names.
    Blob(BlobLine),
    /// The last line: how many there should be.
    Closing(BundleFooter),
}

/// Which run a bundle is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleHeader {
    /// Always [`FORMAT`].
    pub format: String,
    /// [`FORMAT_VERSION`] of whoever wrote it.
    pub version: u32,
    /// Whose run it is.
    pub agent_id: AgentId,
    /// Its name.
    pub run_key: RunKey,
    /// What it is run again from; none where only the log came along.
    pub again: Option<ReplayInfo>,
    /// The place in the log before its first event.
    pub after: ChainPosition,
    /// The lives of the host that wrote these events, oldest first. The first is told from the first of the events on.
    pub lives: Vec<IncarnationStart>,
    /// When it was exported. Nobody has signed this.
    #[serde(with = "rfc3339")]
    pub exported_at: Millis,
}

/// What a run is run again from, beside its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayInfo {
    /// The kind of machine.
    pub machine: String,
    /// The version of the program that wrote it last. It says who can run it again, and nobody has signed it.
    pub machine_version: u32,
    /// How many transitions it made.
    pub transitions: i64,
    /// Its last state, as JSON.
    pub state: String,
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
pub struct RunLogLine {
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
    /// It did not come along, and why.
    Withheld(WithheldReason),
}

/// Why a content did not come along. Nobody has signed this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WithheldReason {
    /// A secret is in it.
    Secret,
    /// It is no longer there.
    Gone,
}

/// How many lines a bundle has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleFooter {
    /// Events.
    pub events: u64,
    /// Transitions.
    pub journal: u64,
    /// Contents.
    pub blobs: u64,
}

/// The whole outputs that a line of a transcript names: what a tool gave out beyond what the model read of it.
#[must_use]
pub fn artifacts_in(line: &[u8]) -> BTreeSet<BlobHash> {
    #[derive(Deserialize)]
    struct Result {
        #[serde(default)]
        artifacts: Vec<Artifact>,
    }
    #[derive(Deserialize)]
    struct Artifact {
        blob: BlobHash,
    }
    let blocks: Vec<Block> = serde_json::from_slice(line).unwrap_or_default();
    let results = blocks.into_iter().filter_map(|block| match block {
        Block::ToolResult { content, .. } => serde_json::from_str::<Result>(&content).ok(),
        Block::Text { .. } | Block::ToolUse(_) | Block::Thinking { .. } | Block::Attachment(_) => None,
    });
    let artifacts = results.flat_map(|result| result.artifacts);
    artifacts.map(|artifact| artifact.blob).collect()
}
