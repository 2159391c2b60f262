//! Exported runs: one file of JSON lines with everything needed to verify a run on another machine.
//! `docs/proof.md` describes the format.

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

/// The format name in the first line.
pub const FORMAT: &str = "wakeful.bundle";

/// The version of the format. It increases when an older reader would misinterpret a new bundle.
pub const FORMAT_VERSION: u32 = 2;

/// Maximum number of events in a bundle, including those of other runs in between: a run of many days.
pub const EVENTS_MAX: u64 = 1_000_000;

/// Maximum length of a line in bytes: the largest blob in hex.
pub const LINE_BYTES_MAX: usize = 72 * 1024 * 1024;

/// One line of a bundle. Lines appear in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BundleLine {
    /// The first line: the run, and where its log starts.
    Opening(Box<BundleHeader>),
    /// An event, from the first of the run to the last that a head covers.
    Event(EventLine),
    /// A signed head.
    Head(SignedHead),
    /// A transition of the run.
    Journal(RunLogLine),
    /// A blob that the run references.
    Blob(BlobLine),
    /// The last line: the number of lines of each kind.
    Closing(BundleFooter),
}

/// The run of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleHeader {
    /// Always [`FORMAT`].
    pub format: String,
    /// The [`FORMAT_VERSION`] of the program that wrote it.
    pub version: u32,
    pub agent_id: AgentId,
    pub run_key: RunKey,
    /// The data for a replay; `None` if the bundle contains only the log.
    pub again: Option<ReplayInfo>,
    /// The position in the log before its first event.
    pub after: ChainPosition,
    /// The incarnations of the host that wrote these events, oldest first. The first starts at the first
    /// event.
    pub lives: Vec<IncarnationStart>,
    /// When it was exported. Not covered by a signature.
    #[serde(with = "rfc3339")]
    pub exported_at: Millis,
}

/// The data that a replay needs in addition to the run log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayInfo {
    /// The kind of machine.
    pub machine: String,
    /// The version of the program that wrote the run last. It determines which programs can replay the run,
    /// and is not covered by a signature.
    pub machine_version: u32,
    /// The number of transitions.
    pub transitions: i64,
    /// The last state as JSON.
    pub state: String,
}

/// An event of a bundle. Events of other runs have no payload, because the chain needs only their headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventLine {
    pub seq: u64,
    /// Whether it belongs to this run.
    pub own: bool,
    pub kind: String,
    #[serde(with = "rfc3339")]
    pub at: Millis,
    pub hash: Digest,
    /// The salted hash of the payload, as in the chain.
    pub payload_hash: Digest,
    /// The policy version; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy_version: String,
    /// The payload as canonical JSON, and its salt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<(String, Digest)>,
}

/// A transition of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunLogLine {
    /// The number of the transition, from 1.
    pub ordinal: i64,
    /// The input and its read set as canonical JSON.
    pub body: String,
    /// Hash of the read set.
    pub reads_hash: Digest,
    /// Hash of the resulting state.
    pub state_hash: Digest,
    /// Hash of the resulting effects.
    pub effects_hash: Digest,
    #[serde(with = "rfc3339")]
    pub at: Millis,
}

/// A blob of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobLine {
    pub hash: BlobHash,
    #[serde(flatten)]
    pub body: BlobBody,
}

/// The content of a blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlobBody {
    /// UTF-8 text.
    Text(String),
    /// Other bytes, in hex.
    Hex(String),
    /// The content is not included, for this reason.
    Withheld(WithheldReason),
}

/// Why a blob is not included. Not covered by a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WithheldReason {
    /// It contains a secret.
    Secret,
    /// It is not stored any more.
    Gone,
}

/// The number of lines of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleFooter {
    pub events: u64,
    /// Transitions of the run log.
    pub journal: u64,
    pub blobs: u64,
}

/// The full tool outputs that a transcript entry references, of which the model read only a part.
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
        Block::Text { .. }
        | Block::ToolUse(_)
        | Block::Thinking { .. }
        | Block::WebSearch(_)
        | Block::Attachment(_) => None,
    });
    let artifacts = results.flat_map(|result| result.artifacts);
    artifacts.map(|artifact| artifact.blob).collect()
}
