//! From the outside to the journal: watched folders and repositories are looked at when something happens there, and what
//! is not as it was seen becomes a change.
//!
//! Whoever looks is told by the kernel, and otherwise sleeps. What happens in quick succession is looked at once, when it
//! has become quiet or has gone on for long. What changed while nobody looked is found by the first look.

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

/// How long it must have been quiet at a source before it is looked at.
const DEBOUNCE_MS: u64 = 500;

/// How long it may go on without becoming quiet before it is looked at all the same.
const DEBOUNCE_MS_MAX: u64 = 5_000;

/// When a look that the database or others stopped is tried again. Each time it waits twice as long.
const RETRY_MS: u64 = 1_000;

/// How often that wait is doubled: about a minute is the longest.
const DOUBLED_MAX: u32 = 6;

/// How often somebody else may write what was seen before a look is given up.
const CONFLICTS_MAX: u32 = 8;

/// Why something about a source could not be done.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// It cannot be watched, or not be looked at.
    #[error(transparent)]
    Bad(#[from] BadSource),
    /// The journal said no.
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

/// A source to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSource {
    /// Its name; none for one that is made up.
    pub source_id: Option<SourceId>,
    /// What it is.
    pub kind: SourceKind,
    /// Where it is.
    pub path: String,
}

/// What a look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScanSummary {
    /// How many changes it told.
    pub changes: u64,
    /// How many entries could not be read.
    pub unreadable: u64,
}

/// Whoever looks outside.
pub struct SourceApi {
    /// Who remembers what was seen.
    pub sources: Arc<dyn SourceStore>,
    /// Who looks.
    pub lookout: Arc<dyn SourceScanner>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where names come from.
    pub entropy: Arc<dyn Entropy>,
    /// Which device this is: sources of others are left to them.
    pub device: String,
    /// Whether somebody stays to hear what happens.
    pub hearing: WatchMode,
    /// One look at a time: two would only tell each other of conflicts.
    pub turn: Mutex<()>,
}

/// When a source that stirred is looked at.
#[derive(Debug, Clone, Copy)]
struct NextScan {
    /// When it began to stir.
    since: u64,
    /// When it is looked at.
    at: u64,
    /// How many looks in a row were stopped.
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

    /// After a look that was stopped, so many before it.
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
    /// Looks at everything, and then whenever something happens, until a stop is asked for.
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
                    tracing::warn!(error = %with_causes(&error), "sources are not watched for now");
                }
            }
            tokio::select! {
                biased;
                () = halt.asked() => return,
                () = self.clock.sleep(RETRY_MS.saturating_mul(60)) => {}
            }
        }
        while !halt.is_set() {
            let now = self.clock.monotonic_ms();
            let next = due.values().map(|due: &NextScan| due.at).min();
            if next.is_some_and(|next| next <= now) {
                // Before listening again: where it never becomes quiet, there is always something to hear.
                tokio::select! {
                    biased;
                    () = halt.asked() => return,
                    () = self.scan_due(&mut due) => {}
                }
                continue;
            }
            tokio::select! {
                biased;
                () = halt.asked() => return,
                stirred = self.lookout.changed_sources() => {
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

    /// Looks at whatever is due.
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
                // Others got in the way again and again: what was to be seen is still there.
                Err(WatchError::Bad(busy @ BadSource::Busy(_))) => busy.to_string(),
                Err(WatchError::Bad(bad)) => {
                    tracing::warn!(source = %id, error = %bad, "the source cannot be read");
                    continue;
                }
                Err(WatchError::Journal(error)) => with_causes(&error),
            };
            tracing::warn!(source = %id, error = %why, "the source cannot be read; trying again later");
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

    /// Looks at a source, and writes down and tells what is not as it was seen.
    async fn scan_source(&self, id: &SourceId) -> Result<ScanSummary, WatchError> {
        let _turn = self.turn.lock().await;
        for _ in 0..CONFLICTS_MAX {
            let source = self.source(id).await?;
            let now = self.clock.now();
            let known = self.known(id).await?;
            let sight = self.lookout.scan(source.clone(), known, self.hearing, now).await;
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

    /// What was seen of a source, all of it.
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

    /// Writes differences, a bounded part of them in each transaction. None where somebody else was faster.
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

    /// Watches something from now on. The same one again is the same one.
    pub async fn add(&self, new: NewSource) -> Result<SourceStatus, WatchError> {
        let NewSource {
            source_id,
            kind,
            path,
        } = new;
        let path = self.lookout.canonical_path(kind, path).await?;
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
            // One whose first look was cut off is looked at now.
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
            // What cannot be looked at is not watched.
            self.lookout.unwatch(&id);
            self.sources.remove_source(id).await?;
            return Err(error);
        }
        self.listed(&id).await
    }

    /// A source that is watched. One whose first look was cut off is looked at now.
    async fn whole(&self, id: &SourceId) -> Result<SourceStatus, WatchError> {
        let listed = self.listed(id).await?;
        if !listed.source.is_fresh || listed.source.device != self.device {
            return Ok(listed);
        }
        self.scan_source(id).await?;
        self.listed(id).await
    }

    /// Watches it no longer.
    pub async fn remove(&self, id: SourceId) -> Result<SourceStatus, WatchError> {
        let _turn = self.turn.lock().await;
        let was = self.listed(&id).await?;
        self.sources.remove_source(id.clone()).await?;
        self.lookout.unwatch(&id);
        Ok(was)
    }

    /// All sources by name.
    pub async fn sources(&self) -> Result<Vec<SourceStatus>, WatchError> {
        Ok(self.sources.sources().await?)
    }

    /// Looks at it now.
    pub async fn scan(&self, source: SourceId) -> Result<ScanSummary, WatchError> {
        self.scan_source(&source).await
    }
}

#[cfg(test)]
mod tests;
