//! What comes from outside: who remembers what was seen, and who looks.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;

use wakeful_core::id::SourceId;
use wakeful_core::time::Millis;
use wakeful_core::watch::{BadSource, EntryDiff, EntryState, Source, SourceKind};

use crate::journal::JournalFuture;

/// What came of adding a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddSourceOutcome {
    /// It is kept.
    New,
    /// It was there, under this name and just so.
    Same(Source),
    /// The name is that of another one.
    Exists,
    /// The same place is watched under this name.
    Watched(SourceId),
    /// There are too many.
    Full,
}

/// A source with how much was seen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStatus {
    /// The source.
    pub source: Source,
    /// How many entries it had when it was last looked at.
    pub entries: u64,
}

/// What a look found, or a part of it, to be written in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceChanges {
    /// Where it was found, at which version of what had been seen.
    pub source: Source,
    /// What differs.
    pub differences: Vec<EntryDiff>,
    /// Whether everything is written down with it that was there from the beginning.
    pub settles: bool,
    /// When.
    pub at: Millis,
}

/// Remembers sources and what was seen of them, beside the outbox that tells of it: what was seen moves in the
/// transaction that tells it, so that a change is told once.
pub trait SourceStore: Send + Sync + 'static {
    /// All of them by name.
    fn sources(&self) -> JournalFuture<'_, Vec<SourceStatus>>;
    /// Keeps a source, unless there are so many already.
    fn add_source(&self, source: Source, at_most: u32) -> JournalFuture<'_, AddSourceOutcome>;
    /// Takes a source away, and all that was seen of it. None where there is none.
    fn remove_source(&self, source: SourceId) -> JournalFuture<'_, Option<Source>>;
    /// What was seen of a source and is not gone, by name, after one.
    fn entries(
        &self,
        source: SourceId,
        after: Option<Vec<u8>>,
        limit: u32,
    ) -> JournalFuture<'_, Vec<(Vec<u8>, EntryState)>>;
    /// Writes what was found and tells it, in one transaction. False where the source is gone, or was written by somebody
    /// else since that version: then nothing is written.
    fn record_changes(&self, finding: SourceChanges) -> JournalFuture<'_, bool>;
    /// Writes down why a source could not be looked at, or that it could.
    fn set_last_error(&self, source: SourceId, trouble: Option<String>) -> JournalFuture<'_, ()>;
}

/// What one look at a source found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScanResult {
    /// What is not as it was seen.
    pub differences: Vec<EntryDiff>,
    /// How many entries could not be read. They are taken to be as they were.
    pub unreadable: u64,
    /// Why not everything that happens from now on is heard of.
    pub watch_error: Option<BadSource>,
}

/// Whether somebody goes on listening after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMode {
    /// From before the look on, so that nothing falls in between.
    On,
    /// It is one look.
    Off,
}

/// An answer of somebody who looks, on its way.
pub type ScanFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BadSource>> + Send + 'a>>;

/// Looks at the world outside. A trait, because the runtime must not depend on the tools crate, which reads the file system.
pub trait SourceScanner: Send + Sync + 'static {
    /// The place that a path means, if it can be watched: the same for every way that leads there.
    fn canonical_path(&self, kind: SourceKind, path: String) -> ScanFuture<'_, String>;
    /// Looks at everything there is, and compares it with what was seen. `now` is when it began.
    fn scan(
        &self,
        source: Source,
        known: BTreeMap<Vec<u8>, EntryState>,
        hearing: WatchMode,
        now: Millis,
    ) -> ScanFuture<'_, ScanResult>;
    /// Stops listening to a source.
    fn unwatch(&self, source: &SourceId);
    /// Ready as soon as something may have happened to these sources since they were looked at.
    fn changed_sources(&self) -> Pin<Box<dyn Future<Output = BTreeSet<SourceId>> + Send + '_>>;
}
