//! Turns changes of watched folders and repositories into journal changes: scans a source when something
//! happens there, and records the differences from the last scan.
//!
//! The kernel notifies the watcher, which otherwise sleeps. Rapid events lead to one scan, when the source
//! has become quiet or after a maximum time. The first scan finds what changed while no process was
//! watching.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use wakeful_core::id::SourceId;
use wakeful_core::key::Digest;
use wakeful_core::watch::{
    BadSource, CHANGES_PER_TX_MAX, EntryDiff, SILENT_WRITES_PER_TX_MAX, SOURCES_MAX, Source, SourceKind,
};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::journal::JournalError;
use wakeful_ports::watch::{
    AddSourceOutcome, SourceChanges, SourceScanner, SourceStatus, SourceStore, WatchMode,
};
use wakeful_store::{ROWS_MAX, StoreError};

use crate::Halt;
use wakeful_core::problem::{Problem, with_causes};

/// How long a source must be quiet before it is scanned.
const DEBOUNCE_MS: u64 = 500;

/// Maximum delay of a scan while a source does not become quiet.
const DEBOUNCE_MS_MAX: u64 = 5_000;

/// Delay before a failed scan is retried. It doubles with each failure.
const RETRY_MS: u64 = 1_000;

/// How often the delay is doubled: up to about a minute.
const DOUBLED_MAX: u32 = 6;

/// Maximum number of conflicts with other writers before a scan is aborted.
const CONFLICTS_MAX: u32 = 8;

/// Why an operation on a source failed.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The source cannot be watched or scanned.
    #[error(transparent)]
    Bad(#[from] BadSource),
    /// The journal returned an error.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl From<StoreError> for WatchError {
    fn from(error: StoreError) -> Self {
        Self::Journal(error.into())
    }
}

impl From<&WatchError> for Problem {
    fn from(error: &WatchError) -> Self {
        match error {
            WatchError::Bad(bad) => bad.into(),
            WatchError::Journal(error) => error.into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSource {
    /// The id; none to generate one.
    pub source_id: Option<SourceId>,
    pub kind: SourceKind,
    pub path: String,
}

/// The result of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScanSummary {
    /// The number of recorded changes.
    pub changes: u64,
    /// The number of unreadable entries.
    pub unreadable: u64,
}

/// Watches and scans sources.
pub struct SourceApi {
    /// Stores the results of scans.
    pub sources: Arc<dyn SourceStore>,
    pub scanner: Arc<dyn SourceScanner>,
    pub clock: Arc<dyn Clock>,
    /// Source of fresh ids.
    pub entropy: Arc<dyn Entropy>,
    /// The id of this device; sources of other devices are ignored.
    pub device: String,
    /// Whether a source stays watched after a scan.
    pub watch_mode: WatchMode,
    /// Allows one scan at a time, because concurrent scans would only conflict.
    pub turn: Mutex<()>,
}

/// When a changed source is scanned.
#[derive(Debug, Clone, Copy)]
struct NextScan {
    /// When the first event occurred.
    since: u64,
    /// When the scan is due.
    at: u64,
    /// The number of consecutive failed scans.
    stopped: u32,
}

impl NextScan {
    const fn at_once(now: u64) -> Self {
        Self {
            since: now,
            at: now,
            stopped: 0,
        }
    }

    /// The next scan after this number of failures.
    fn again(now: u64, stopped: u32) -> Self {
        let wait_ms = RETRY_MS << stopped.min(DOUBLED_MAX);
        Self {
            since: now,
            at: now.saturating_add(wait_ms),
            stopped: stopped.saturating_add(1),
        }
    }
}

impl SourceApi {
    /// Scans all sources, and then whenever something happens, until the process halts.
    pub async fn run(&self, halt: &Halt) {
        let mut due = BTreeMap::new();
        loop {
            match self.sources_of_device().await {
                Ok(mine) => {
                    let now = self.clock.monotonic_ms();
                    due.extend(mine.into_iter().map(|id| (id, NextScan::at_once(now))));
                    break;
                }
                Err(error) => {
                    tracing::warn!(error = %with_causes(&error), "sources cannot be watched at the moment; retrying");
                }
            }
            tokio::select! {
                biased;
                () = halt.wait_until_set() => return,
                () = self.clock.sleep(RETRY_MS.saturating_mul(60)) => {}
            }
        }
        while !halt.is_set() {
            let now = self.clock.monotonic_ms();
            let next = due.values().map(|due: &NextScan| due.at).min();
            if next.is_some_and(|next| next <= now) {
                // Scan before waiting for events: a source that is never quiet always has one.
                tokio::select! {
                    biased;
                    () = halt.wait_until_set() => return,
                    () = self.scan_due(&mut due) => {}
                }
                continue;
            }
            tokio::select! {
                biased;
                () = halt.wait_until_set() => return,
                stirred = self.scanner.changed_sources() => {
                    let now = self.clock.monotonic_ms();
                    for id in stirred {
                        let NextScan { since, stopped, .. } = due.get(&id).copied().unwrap_or(NextScan::at_once(now));
                        let at = (now + DEBOUNCE_MS).min(since + DEBOUNCE_MS_MAX);
                        due.insert(id, NextScan { since, at, stopped });
                    }
                }
                () = self.sleep(next.map(|next| next.saturating_sub(now))) => {}
            }
        }
    }

    async fn sleep(&self, ms: Option<u64>) {
        match ms {
            Some(ms) => self.clock.sleep(ms).await,
            None => std::future::pending().await,
        }
    }

    /// Performs the scans that are due.
    async fn scan_due(&self, due: &mut BTreeMap<SourceId, NextScan>) {
        let now = self.clock.monotonic_ms();
        let ready: Vec<(SourceId, u32)> = due
            .iter()
            .filter(|(_, due)| due.at <= now)
            .map(|(id, due)| (id.clone(), due.stopped))
            .collect();
        for (id, stopped) in ready {
            due.remove(&id);
            let why = match self.scan_source(&id).await {
                Ok(_) | Err(WatchError::Bad(BadSource::Unknown(_))) => continue,
                // Other writers caused repeated conflicts; the differences are still there.
                Err(WatchError::Bad(busy @ BadSource::Busy(_))) => busy.to_string(),
                Err(WatchError::Bad(bad)) => {
                    tracing::warn!(source = %id, error = %bad, "the source is unreadable");
                    continue;
                }
                Err(WatchError::Journal(error)) => with_causes(&error),
            };
            tracing::warn!(source = %id, error = %why, "the source is unreadable; retrying later");
            due.insert(id, NextScan::again(self.clock.monotonic_ms(), stopped));
        }
    }

    async fn sources_of_device(&self) -> Result<Vec<SourceId>, JournalError> {
        let all = self
            .sources
            .sources()
            .await?
            .into_iter()
            .map(|listed| listed.source);
        let mine = all.filter(|source| source.device == self.device);
        Ok(mine.map(|source| source.source_id).collect())
    }

    async fn listed(&self, id: &SourceId) -> Result<SourceStatus, WatchError> {
        let all = self.sources.sources().await?;
        let found = all.into_iter().find(|listed| listed.source.source_id == *id);
        Ok(found.ok_or_else(|| BadSource::Unknown(id.clone()))?)
    }

    async fn source(&self, id: &SourceId) -> Result<Source, WatchError> {
        let source = self.listed(id).await?.source;
        if source.device == self.device {
            Ok(source)
        } else {
            Err(BadSource::OtherDevice(id.clone()).into())
        }
    }

    /// Scans a source, and records the differences from the last scan.
    async fn scan_source(&self, id: &SourceId) -> Result<ScanSummary, WatchError> {
        let _turn = self.turn.lock().await;
        for _ in 0..CONFLICTS_MAX {
            let source = self.source(id).await?;
            let now = self.clock.now();
            let known = self.known(id).await?;
            let sight = self
                .scanner
                .scan(source.clone(), known, self.watch_mode, now)
                .await;
            let trouble = match &sight {
                Ok(sight) => sight.watch_error.as_ref().map(ToString::to_string),
                Err(bad) => Some(bad.to_string()),
            };
            if trouble != source.last_error {
                self.sources.set_last_error(id.clone(), trouble).await?;
            }
            let sight = sight?;
            if let Some(changes) = self.written(source, sight.differences).await? {
                let unreadable = sight.unreadable;
                return Ok(ScanSummary { changes, unreadable });
            }
        }
        Err(BadSource::Busy(id.clone()).into())
    }

    /// Reads all known entries of a source.
    async fn known(
        &self,
        id: &SourceId,
    ) -> Result<BTreeMap<Vec<u8>, wakeful_core::watch::EntryState>, JournalError> {
        let (mut known, mut after) = (BTreeMap::new(), None);
        loop {
            let page = self.sources.entries(id.clone(), after, ROWS_MAX).await?;
            let Some((last, _)) = page.last() else {
                return Ok(known);
            };
            after = Some(last.clone());
            known.extend(page);
        }
    }

    /// Writes differences in bounded transactions. Returns none if another process was faster.
    async fn written(
        &self,
        mut source: Source,
        differences: Vec<EntryDiff>,
    ) -> Result<Option<u64>, JournalError> {
        let at = self.clock.now();
        let told = |difference: &EntryDiff| difference.change.is_some() && !source.is_fresh;
        let (told, quiet): (Vec<_>, Vec<_>) = differences.into_iter().partition(told);
        let changes = u64::try_from(told.len()).unwrap_or(u64::MAX);
        let mut parts: Vec<Vec<EntryDiff>> = told.chunks(CHANGES_PER_TX_MAX).map(<[_]>::to_vec).collect();
        parts.extend(quiet.chunks(SILENT_WRITES_PER_TX_MAX).map(<[_]>::to_vec));
        if source.is_fresh && parts.is_empty() {
            parts.push(Vec::new());
        }
        let mut parts = parts.into_iter().peekable();
        while let Some(differences) = parts.next() {
            let finding = SourceChanges {
                settles: source.is_fresh && parts.peek().is_none(),
                source: source.clone(),
                differences,
                at,
            };
            if !self.sources.record_changes(finding).await? {
                return Ok(None);
            }
            source.version = source.version.saturating_add(1);
        }
        Ok(Some(changes))
    }

    /// Adds a source. Repeating the call with the same source has no effect.
    pub async fn add(&self, new: NewSource) -> Result<SourceStatus, WatchError> {
        let NewSource {
            source_id,
            kind,
            path,
        } = new;
        let path = self.scanner.canonical_path(kind, path).await?;
        let made_up = || SourceId::random(&Digest::from_bytes(self.entropy.random_bytes()));
        let is_named = source_id.is_some();
        let source = Source {
            source_id: source_id.unwrap_or_else(made_up),
            kind,
            path: path.clone(),
            device: self.device.clone(),
            created_at: self.clock.now(),
            version: 0,
            is_fresh: true,
            last_error: None,
        };
        let id = source.source_id.clone();
        match self.sources.add_source(source, SOURCES_MAX).await? {
            AddSourceOutcome::New => {}
            // A source whose first scan was interrupted is scanned now.
            AddSourceOutcome::Same(source) if source.is_fresh => {}
            AddSourceOutcome::Same(source) => return self.listed(&source.source_id).await,
            AddSourceOutcome::Exists => return Err(BadSource::Exists(id).into()),
            AddSourceOutcome::Watched(source_id) if is_named => {
                return Err(BadSource::AlreadyWatched { path, source_id }.into());
            }
            AddSourceOutcome::Watched(source_id) => return self.whole(&source_id).await,
            AddSourceOutcome::Full => return Err(BadSource::TooManySources.into()),
        }
        if let Err(error) = self.scan_source(&id).await {
            // A source that cannot be scanned is not watched.
            self.scanner.unwatch(&id);
            self.sources.remove_source(id).await?;
            return Err(error);
        }
        self.listed(&id).await
    }

    /// Returns a watched source. If its first scan was interrupted, scans it now.
    async fn whole(&self, id: &SourceId) -> Result<SourceStatus, WatchError> {
        let listed = self.listed(id).await?;
        if !listed.source.is_fresh || listed.source.device != self.device {
            return Ok(listed);
        }
        self.scan_source(id).await?;
        self.listed(id).await
    }

    /// Removes a source.
    pub async fn remove(&self, id: SourceId) -> Result<SourceStatus, WatchError> {
        let _turn = self.turn.lock().await;
        let was = self.listed(&id).await?;
        self.sources.remove_source(id.clone()).await?;
        self.scanner.unwatch(&id);
        Ok(was)
    }

    /// Lists all sources by name.
    pub async fn sources(&self) -> Result<Vec<SourceStatus>, WatchError> {
        Ok(self.sources.sources().await?)
    }

    /// Scans a source now.
    pub async fn scan(&self, source: SourceId) -> Result<ScanSummary, WatchError> {
        self.scan_source(&source).await
    }
}

#[cfg(test)]
mod tests;
