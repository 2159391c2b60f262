//! Contents and rows, compared with the log: what a walk along the chain alone does not see. Everything is read in pages,
//! so memory stays flat however large a home is.
//!
//! A daemon may write meanwhile. So rows and the events that tell of them are read in one snapshot, and each snapshot holds
//! a bounded number of rows: a long one would keep the write-ahead log of the database from being reused.

mod log;
mod outbox;
mod records;
mod run;

use wakeful_core::blob::BlobHash;
use wakeful_store::{Store, StoreError};

use self::run::Extent;
pub(super) use self::run::{Checked, RebuiltRun, RunEvents, check as check_run};
use crate::EngineError;

/// Most alterations that are told. More would say no more.
pub const ALTERATIONS_MAX: usize = 1_000;

/// Contents whose names are read at once.
const BLOBS_PAGE: u32 = 500;

/// Places of the queue read at once.
const QUEUE_PAGE: u32 = 1_000;

/// Something in the database that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFinding {
    /// The table, and the column where one is known: `table.column`.
    pub place: String,
    /// The row's key as text.
    pub row: String,
    /// What differs, in words.
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

    /// What can be done about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        "the row or the content was changed outside of wakeful: keep the home as it is, and compare it with a backup"
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
    /// Contents.
    pub blobs: u64,
    /// Messages.
    pub messages: u64,
    /// Runs that were run again.
    pub runs: u64,
    /// Runs of which contents were erased or are too old to be kept.
    pub gone: u64,
    /// Rows that are bound to the home's log.
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

/// What a check of contents found.
#[derive(Debug, Clone, Default)]
pub struct AuditReport {
    /// What is not as it was written, at most [`ALTERATIONS_MAX`].
    pub alterations: Vec<AuditFinding>,
    /// How much was compared.
    pub compared: AuditCounts,
}

impl AuditReport {
    pub(super) fn add(&mut self, found: impl IntoIterator<Item = AuditFinding>) {
        let room = ALTERATIONS_MAX.saturating_sub(self.alterations.len());
        self.alterations.extend(found.into_iter().take(room));
    }

    /// Takes what a check of one thing found. A row that cannot be read is an alteration as well.
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

    /// What concerns no single agent: contents, rows that are bound to the home's log, and rows that follow from others.
    pub(super) async fn whole(&mut self, store: &Store) -> Result<(), EngineError> {
        self.blobs(store).await?;
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

    /// Rows that follow from other rows. Each rule is one statement, and so one snapshot.
    async fn rules(&mut self, store: &Store) -> Result<(), EngineError> {
        for rule in 0.. {
            let found = store.read(move |view| view.inconsistencies(rule)).await?;
            let Some(found) = found else { break };
            let what = "it is not what other rows say";
            let found = found
                .iter()
                .map(|one| AuditFinding::new(one.place, &one.row, what));
            self.add(found.collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Every content against its name.
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

/// A content that is not what its name says.
pub(super) async fn blob(store: &Store, hash: BlobHash) -> Result<Option<AuditFinding>, EngineError> {
    let altered = |what: String| Ok(Some(AuditFinding::new("blob.bytes", &hash, what)));
    match store.read(move |view| view.blob(&hash)).await {
        Ok(_) => Ok(None),
        Err(StoreError::Corrupt(why)) => altered(format!("the content does not match its name: {why}")),
        Err(StoreError::Malformed(column)) => altered(format!("{column} cannot be read")),
        Err(error) => Err(error.into()),
    }
}

/// Places in the queue against the messages that have them.
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
                let what = "it is not the rank that its message has";
                found.push(AuditFinding::new("queue.rank", &place.run_key, what));
            }
            if message.admitted_at != place.admitted_at {
                let what = "it is not when its message was admitted";
                found.push(AuditFinding::new("queue.admitted_at_ms", &place.run_key, what));
            }
        }
        if is_end {
            return Ok(found);
        }
    }
}

/// A row that cannot be read is one that was not written like this; any other trouble is trouble.
pub(super) fn unreadable(
    row: &(impl ToString + ?Sized),
    error: EngineError,
) -> Result<AuditFinding, EngineError> {
    let what = "it cannot be read, or contradicts another column";
    if let EngineError::Store(StoreError::Malformed(place)) = &error {
        return Ok(AuditFinding::new(place, row, what));
    }
    if let EngineError::Store(StoreError::Corrupt(why)) = &error {
        return Ok(AuditFinding::new("blob.bytes", row, why.to_string()));
    }
    Err(error)
}
