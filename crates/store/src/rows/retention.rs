//! The rows of the care of data: what is held, what is old, what was taken away.

use wakeful_core::blob::BlobHash;
use wakeful_core::id::{AgentId, ThreadId};
use wakeful_core::key::RunKey;
use wakeful_core::retention::DataClass;
use wakeful_core::time::Millis;

/// How much of something there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DataSize {
    /// How many rows or files.
    pub rows: u64,
    /// How many bytes of content.
    pub bytes: u64,
}

impl DataSize {
    /// The sum of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            rows: self.rows.saturating_add(other.rows),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// Something that retention may take away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneCandidate {
    /// Since when nothing happens to it any more.
    pub at: Millis,
    /// Whose it is.
    pub agent_id: AgentId,
    /// What it is.
    pub what: PruneTarget,
    /// How much would go with it.
    pub size: DataSize,
}

/// What can be taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PruneTarget {
    /// The payload of an event.
    Event {
        /// Its number.
        seq: u64,
    },
    /// The journal and the diagnostics of a run that has ended.
    Trace {
        /// Which run.
        run_key: RunKey,
    },
    /// The lines of a run that has ended, and so what they name.
    Lines {
        /// Which run.
        run_key: RunKey,
        /// The thread they stand in.
        thread_id: ThreadId,
        /// The place of the first one.
        first: i64,
        /// The place of the last one.
        last: i64,
    },
}

impl PruneTarget {
    /// The class of data it belongs to.
    #[must_use]
    pub const fn class(&self) -> DataClass {
        match self {
            Self::Event { .. } => DataClass::Events,
            Self::Trace { .. } => DataClass::Traces,
            Self::Lines { .. } => DataClass::Blobs,
        }
    }
}

/// What of something old was taken away in one transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneResult {
    /// How much.
    pub size: DataSize,
    /// Whether nothing is left of it.
    pub is_all: bool,
}

/// How far the care of data has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionStateRow {
    /// In which generation blobs are put at present.
    pub generation: i64,
    /// Since when.
    pub generation_at: Millis,
    /// The time by which ages were last measured, never far ahead of the wall clock; none before the first round.
    pub clock: Option<Millis>,
    /// When retention last completed a round; none before the first.
    pub pruned_at: Option<Millis>,
    /// The generation in which rows were last removed whose contents are not swept yet.
    pub unswept: Option<i64>,
}

/// Where the search for names of blobs stands. The order is the order in which names move: what a state names today an
/// entry or a journal may name tomorrow, so states are read before them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobRefCursor {
    /// Among the states of runs, after this one.
    Runs(Option<RunKey>),
    /// Among messages, after this one.
    Messages(Option<RunKey>),
    /// Among steps, after this run and place.
    Steps(Option<(RunKey, i64)>),
    /// Among journals, after this run and place.
    Journals(Option<(RunKey, i64)>),
    /// Among entries, after this thread and place.
    Entries(Option<(ThreadId, i64)>),
}

impl BlobRefCursor {
    /// The very beginning.
    pub const START: Self = Self::Runs(None);
}

/// Some names of blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobRefs {
    /// What is named. Anything that looks like a name counts as one.
    pub found: Vec<BlobHash>,
    /// Where to go on; none at the end.
    pub next: Option<BlobRefCursor>,
}

/// What became of looking for files that no row names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileSweep {
    /// What was removed.
    pub removed: DataSize,
    /// Whether all of them were looked at. They are not while a backup copies them.
    pub is_all: bool,
}
