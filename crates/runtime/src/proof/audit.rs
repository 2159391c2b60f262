//! Compares blobs and rows with the log: damage that verifying the chain alone does not detect. Everything
//! is read in pages, so that memory use does not depend on the size of a home.
//!
//! A daemon may write meanwhile. Rows and the events about them are therefore read in one snapshot, and
//! each snapshot covers a bounded number of rows: a long one would keep the database's write-ahead log from
//! being reused.

mod entries;
mod log;
mod outbox;
mod records;
mod run;

use wakeful_core::blob::BlobHash;
use wakeful_store::{Store, StoreError};

use self::run::Extent;
pub(super) use self::run::{Checked, RebuiltRun, RunEvents, check as check_run};
use crate::EngineError;

/// Maximum number of reported findings.
pub const ALTERATIONS_MAX: usize = 1_000;

/// Blob hashes that are read at once.
const BLOBS_PAGE: u32 = 500;

/// Queue rows that are read at once.
const QUEUE_PAGE: u32 = 1_000;

/// A row or blob that differs from what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFinding {
    /// The table, and the column if known: `table.column`.
    pub place: String,
    /// The row's key as text.
    pub row: String,
    /// A description of the difference.
    pub what: String,
}

impl AuditFinding {
    pub(super) fn new(place: &str, row: &(impl ToString + ?Sized), what: impl Into<String>) -> Self {
        Self {
            place: place.to_owned(),
            row: row.to_string(),
            what: what.into(),
        }
    }

    /// What to do about the finding.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        "the row or blob was changed by another program: keep the home unchanged and compare it with a backup"
    }
}

impl std::fmt::Display for AuditFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of row {:?}: {}", self.place, self.row, self.what)
    }
}

/// How much was compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditCounts {
    pub blobs: u64,
    pub messages: u64,
    /// Replayed runs.
    pub runs: u64,
    /// Runs with erased or pruned contents.
    pub gone: u64,
    /// Rows bound to the home's log.
    pub records: u64,
}

impl AuditCounts {
    const fn count(&mut self, extent: Extent) {
        match extent {
            Extent::Whole => self.runs += 1,
            Extent::Gone => self.gone += 1,
            Extent::Nothing => {}
        }
    }
}

/// The result of an audit.
#[derive(Debug, Clone, Default)]
pub struct AuditReport {
    /// The findings, at most [`ALTERATIONS_MAX`].
    pub alterations: Vec<AuditFinding>,
    pub compared: AuditCounts,
}

impl AuditReport {
    pub(super) fn add(&mut self, found: impl IntoIterator<Item = AuditFinding>) {
        let room = ALTERATIONS_MAX.saturating_sub(self.alterations.len());
        self.alterations.extend(found.into_iter().take(room));
    }

    /// Adds the findings of one check. An unreadable row is a finding as well.
    pub(super) fn take(
        &mut self,
        row: &(impl ToString + ?Sized),
        found: Result<Vec<AuditFinding>, EngineError>,
    ) -> Result<(), EngineError> {
        match found {
            Ok(found) => self.add(found),
            Err(error) => self.add([unreadable(row, error)?]),
        }
        Ok(())
    }

    /// Checks data that belongs to no single agent: blobs, rows bound to the home's log, and derived rows.
    pub(super) async fn whole(&mut self, store: &Store) -> Result<(), EngineError> {
        self.blobs(store).await?;
        let altered = store.read(|view| view.altered_triggers()).await?;
        let what = "missing, changed or foreign: audit entries are not protected";
        self.add(
            altered
                .iter()
                .map(|name| AuditFinding::new("trigger", name, what)),
        );
        let records = records::compare(store, self).await;
        self.take("", records)?;
        let queue = queue(store).await;
        self.take("", queue)?;
        let notices = outbox::notices(store).await;
        self.take("", notices)?;
        let deliveries = outbox::deliveries(store).await;
        self.take("", deliveries)?;
        self.rules(store).await
    }

    /// Checks rows that are derived from other rows. Each rule is one statement, and therefore one
    /// snapshot.
    async fn rules(&mut self, store: &Store) -> Result<(), EngineError> {
        for rule in 0.. {
            let found = store.read(move |view| view.inconsistencies(rule)).await?;
            let Some(found) = found else { break };
            let what = "does not match the rows it is derived from";
            let found = found
                .iter()
                .map(|one| AuditFinding::new(one.place, &one.row, what));
            self.add(found.collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Compares every blob with its hash.
    async fn blobs(&mut self, store: &Store) -> Result<(), EngineError> {
        let mut after = None;
        loop {
            let page = store
                .read(move |view| view.blobs(None, after, BLOBS_PAGE))
                .await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(*last);
            for hash in page {
                self.compared.blobs += 1;
                let found = blob(store, hash).await?;
                self.add(found);
            }
        }
    }
}

/// Checks that a blob matches its hash.
pub(super) async fn blob(store: &Store, hash: BlobHash) -> Result<Option<AuditFinding>, EngineError> {
    let altered = |what: String| Ok(Some(AuditFinding::new("blob.bytes", &hash, what)));
    match store.read(move |view| view.blob(&hash)).await {
        Ok(_) => Ok(None),
        Err(StoreError::Corrupt(why)) => altered(format!("the content does not match its hash: {why}")),
        Err(StoreError::Malformed(column)) => altered(format!("{column} is unreadable")),
        Err(error) => Err(error.into()),
    }
}

/// Compares queue rows with their messages.
async fn queue(store: &Store) -> Result<Vec<AuditFinding>, EngineError> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.read(move |view| {
            let after = after.as_ref().map(|(agent, seq)| (agent, *seq));
            let places = view.queue_positions(after, QUEUE_PAGE)?;
            let with = places.into_iter().map(|place| {
                let message = view.message(&place.run_key)?;
                Ok((place, message))
            });
            with.collect::<Result<Vec<_>, StoreError>>()
        });
        let page = page.await?;
        let is_end = page.len() < QUEUE_PAGE as usize;
        after = page.last().map(|(last, _)| (last.agent_id.clone(), last.seq));
        for (place, message) in page {
            let Some(message) = message else { continue };
            if message.cause.priority.rank(place.seq) != place.rank {
                let what = "does not match the priority of its message";
                found.push(AuditFinding::new("queue.rank", &place.run_key, what));
            }
            if message.admitted_at != place.admitted_at {
                let what = "does not match the admission time of its message";
                found.push(AuditFinding::new("queue.admitted_at_ms", &place.run_key, what));
            }
        }
        if is_end {
            return Ok(found);
        }
    }
}

/// Reports an unreadable row as a finding; other errors are returned.
pub(super) fn unreadable(
    row: &(impl ToString + ?Sized),
    error: EngineError,
) -> Result<AuditFinding, EngineError> {
    let what = "unreadable, or contradicts another column";
    if let EngineError::Store(StoreError::Malformed(place)) = &error {
        return Ok(AuditFinding::new(place, row, what));
    }
    if let EngineError::Store(StoreError::Corrupt(why)) = &error {
        return Ok(AuditFinding::new("blob.bytes", row, why.to_string()));
    }
    Err(error)
}
