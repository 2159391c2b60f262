//! Watched sources: the store of their recorded entries, and the scanner.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;

use wakeful_core::id::SourceId;
use wakeful_core::time::Millis;
use wakeful_core::watch::{BadSource, EntryDiff, EntryState, Source, SourceKind};

use crate::journal::JournalFuture;

/// The result of adding a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddSourceOutcome {
    /// It was stored.
    New,
    /// The same source already exists under this name.
    Same(Source),
    /// Another source has this name.
    Exists,
    /// The same path is watched under this name.
    Watched(SourceId),
    /// The limit of sources is reached.
    Full,
}

/// A source with the number of its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStatus {
    pub source: Source,
    /// Number of entries at the last scan.
    pub entries: u64,
}

/// The result of a scan, or a part of it, to be written in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceChanges {
    /// The source at the version with which the scan compared.
    pub source: Source,
    pub differences: Vec<EntryDiff>,
    /// Whether this write completes the initial scan.
    pub settles: bool,
    pub at: Millis,
}

/// Stores sources and their recorded entries next to the outbox. Entries and notices are written in one
/// transaction, so that every change is reported once.
pub trait SourceStore: Send + Sync + 'static {
    /// Returns all sources by name.
    fn sources(&self) -> JournalFuture<'_, Vec<SourceStatus>>;
    /// Stores a source unless there are already `at_most`.
    fn add_source(&self, source: Source, at_most: u32) -> JournalFuture<'_, AddSourceOutcome>;
    /// Removes a source and its recorded entries. None if it does not exist.
    fn remove_source(&self, source: SourceId) -> JournalFuture<'_, Option<Source>>;
    /// Returns the recorded entries of a source that are not deleted, by name, after the given one.
    fn entries(
        &self,
        source: SourceId,
        after: Option<Vec<u8>>,
        limit: u32,
    ) -> JournalFuture<'_, Vec<(Vec<u8>, EntryState)>>;
    /// Writes changes and their notices in one transaction. Returns false without writing if the source was
    /// removed or another process wrote it since that version.
    fn record_changes(&self, finding: SourceChanges) -> JournalFuture<'_, bool>;
    /// Stores why the last scan of a source failed, or that it succeeded.
    fn set_last_error(&self, source: SourceId, trouble: Option<String>) -> JournalFuture<'_, ()>;
}

/// The result of one scan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScanResult {
    /// Differences from the recorded entries.
    pub differences: Vec<EntryDiff>,
    /// Number of unreadable entries, which are treated as unchanged.
    pub unreadable: u64,
    /// Why future changes may not be detected by watching.
    pub watch_error: Option<BadSource>,
}

/// Whether to keep watching after a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMode {
    /// Watch from before the scan, so that no change in between is missed.
    On,
    /// Scan once.
    Off,
}

/// The future of a scanner operation.
pub type ScanFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BadSource>> + Send + 'a>>;

/// Scans sources. A trait, because the runtime must not depend on the tools crate, which reads the file
/// system.
pub trait SourceScanner: Send + Sync + 'static {
    /// Returns the canonical path if it can be watched; all paths to the same place give the same result.
    fn canonical_path(&self, kind: SourceKind, path: String) -> ScanFuture<'_, String>;
    /// Scans a source and compares it with the recorded entries. `now` is the start time of the scan.
    fn scan(
        &self,
        source: Source,
        known: BTreeMap<Vec<u8>, EntryState>,
        hearing: WatchMode,
        now: Millis,
    ) -> ScanFuture<'_, ScanResult>;
    /// Stops watching a source.
    fn unwatch(&self, source: &SourceId);
    /// Completes with the sources that may have changed since their last scan.
    fn changed_sources(&self) -> Pin<Box<dyn Future<Output = BTreeSet<SourceId>> + Send + '_>>;
}
