//! Rows of retention: how much data is stored, what may be pruned, and what was pruned.

use wakeful_core::blob::BlobHash;
use wakeful_core::id::{AgentId, ThreadId};
use wakeful_core::key::RunKey;
use wakeful_core::retention::DataClass;
use wakeful_core::time::Millis;

/// An amount of data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DataSize {
    /// Number of rows or files.
    pub rows: u64,
    /// Bytes of content.
    pub bytes: u64,
}

impl DataSize {
    /// Returns the sum of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            rows: self.rows.saturating_add(other.rows),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// Data that retention may prune.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneCandidate {
    /// The time of the event, or of the end of the run.
    pub at: Millis,
    pub agent_id: AgentId,
    pub what: PruneTarget,
    /// How much data would be removed.
    pub size: DataSize,
}

/// What can be pruned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PruneTarget {
    /// The payload of an event.
    Event { seq: u64 },
    /// The run log and the diagnostics of a run that has ended.
    Trace { run_key: RunKey },
    /// The transcript lines of a run that has ended, and the contents they refer to.
    Lines {
        run_key: RunKey,
        /// The thread that contains the lines.
        thread_id: ThreadId,
        /// The position of the first line.
        first: i64,
        /// The position of the last line.
        last: i64,
    },
}

impl PruneTarget {
    /// Returns the class of data to which the target belongs.
    #[must_use]
    pub const fn class(&self) -> DataClass {
        match self {
            Self::Event { .. } => DataClass::Events,
            Self::Trace { .. } => DataClass::Traces,
            Self::Lines { .. } => DataClass::Blobs,
        }
    }
}

/// What one transaction pruned of a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneResult {
    pub size: DataSize,
    /// Whether nothing of the target is left.
    pub is_all: bool,
}

/// The progress of retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionStateRow {
    /// The generation in which blobs are currently stored.
    pub generation: i64,
    /// When the current generation started.
    pub generation_at: Millis,
    /// The time by which ages were last measured, never far ahead of the wall clock; `None` before the
    /// first round.
    pub clock: Option<Millis>,
    /// When retention last completed a round; `None` before the first.
    pub pruned_at: Option<Millis>,
    /// The generation in which rows were last removed whose blobs are not collected yet.
    pub unswept: Option<i64>,
}

/// The position of the search for blob references. The order is the order in which references move: what a
/// state refers to now, an entry or a run log may refer to later, so states are read first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobRefCursor {
    /// In run states, after this run.
    Runs(Option<RunKey>),
    /// In messages, after this one.
    Messages(Option<RunKey>),
    /// In steps, after this run and ordinal.
    Steps(Option<(RunKey, i64)>),
    /// In run logs, after this run and ordinal.
    Journals(Option<(RunKey, i64)>),
    /// In transcript entries, after this thread and position.
    Entries(Option<(ThreadId, i64)>),
}

impl BlobRefCursor {
    pub const START: Self = Self::Runs(None);
}

/// One page of blob references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobRefs {
    /// The blobs referred to. Anything that looks like a blob hash counts as one.
    pub found: Vec<BlobHash>,
    /// Where to continue; `None` at the end.
    pub next: Option<BlobRefCursor>,
}

/// The result of removing files without a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileSweep {
    pub removed: DataSize,
    /// Whether all files were checked. They are not while a backup copies them.
    pub is_all: bool,
}
