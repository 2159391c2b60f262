//! From change to message: dispatches changes of the journal and notices of agents to matching
//! subscriptions, each once.
//!
//! A notice describes one transaction. The subscriptions it may match (the candidates) are found in memory;
//! then a transaction admits a message for each and advances the cursor. A notice with very many candidates
//! needs several transactions. After a crash, dispatch continues at the cursor.

mod candidate;
mod outbox;
mod subscription_index;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use wakeful_core::journal::RecordId;
use wakeful_core::notice::{ChangedRecord, RECORDS_LISTED_MAX};
use wakeful_core::subscription::Entity;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::fail_point;
use wakeful_ports::journal::{Journal, JournalError};
use wakeful_ports::planted_bugs;
use wakeful_store::rows::{OutboxCursor, OutboxCursorRow};
use wakeful_store::{Store, StoreError};

use self::candidate::Candidate;
use self::outbox::{OutboxNotice, OutboxRef};
pub use self::subscription_index::SubscriptionIndex;
use crate::admission::AdmissionOutcome;
use crate::api::WorkSignal;
use crate::hub::Hub;
use crate::service::WriterMode;
use crate::{EngineError, Halt, Observer as _};
use wakeful_core::problem::with_causes;

/// Maximum number of changes that are read from an outbox at once.
const CHANGES_PAGE: u32 = 512;

/// Maximum number of candidates of a notice that are admitted in one transaction. The rest follows in
/// further transactions.
pub const CANDIDATES_MAX: usize = 256;

/// Maximum number of records of one notice that are read for predicates and for the message text.
const ENTITIES_MAX: usize = 1_024;

/// After this number of changes without subscribers, the cursor is advanced although nothing is admitted.
const LEAD_MAX: u64 = 4_096;

/// Maximum number of conflicts with other writers in a row before dispatch is retried later.
const CONFLICTS_MAX: u32 = 64;

/// Poll interval for databases with other writers. Not used when this process is the only writer.
const SHARED_POLL_MS: u64 = 1_000;

/// Delay before a failed dispatch is retried.
const RETRY_MS: u64 = 1_000;

/// Turns changes into messages for the agents that subscribe to them.
pub struct NoticeDispatcher {
    pub(crate) store: Store,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) subscription_index: Arc<SubscriptionIndex>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) work: Arc<WorkSignal>,
    pub(crate) writers: WriterMode,
    pub(crate) redact: RedactText,
}

/// Removes secrets from a text; none if it contains none.
pub type RedactText = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Why a dispatch failed.
#[derive(Debug, thiserror::Error)]
pub enum NoticeError {
    /// The journal could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The agents' database returned an error.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A message could not be created.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The progress of the scan, which may be ahead of the stored cursor: changes without subscribers do not
/// advance it.
#[derive(Debug, Default)]
struct ScanProgress {
    /// The stored cursor as last read or written.
    row: OutboxCursorRow,
    /// The newest change that was scanned.
    seq: u64,
}

/// The result of dispatching a notice.
enum NoticeOutcome {
    /// The notice is dispatched; the new cursor row.
    Through(OutboxCursorRow),
    /// Another process was faster, or subscriptions changed: dispatch again.
    Conflict,
}

impl NoticeDispatcher {
    /// Removes secrets from the texts of messages. Names of files, refs and records come from watched sources and
    /// programs, and never pass through the API, which redacts everything else.
    #[must_use]
    pub fn with_redaction(self, redact: RedactText) -> Self {
        Self { redact, ..self }
    }

    /// Dispatches after every commit until the process halts.
    pub async fn run(&self, halt: &Halt) {
        let mut heard = self.journal.subscribe_commits();
        let (mut passed, mut last) = (ScanProgress::default(), None);
        loop {
            let failed = self.dispatch(&mut passed, halt).await.err();
            let why = failed.as_ref().map(|error| with_causes(error));
            // A persistent failure is logged once.
            if let Some(why) = why.as_ref().filter(|_| why != last) {
                tracing::warn!(error = %why, "changes cannot wake agents at the moment; retrying");
            }
            last = why;
            let again = match (failed, self.writers) {
                (
                    Some(
                        NoticeError::Store(_)
                        | NoticeError::Engine(_)
                        | NoticeError::Journal(JournalError::Store(_)),
                    ),
                    _,
                ) => Some(RETRY_MS),
                (_, WriterMode::Many) => Some(SHARED_POLL_MS),
                (_, WriterMode::Alone) => None,
            };
            tokio::select! {
                biased;
                () = halt.wait_until_set() => return,
                () = heard.next() => {}
                () = self.hub.wait_for_agent_notice() => {}
                () = self.sleep(again) => {}
            }
        }
    }

    async fn sleep(&self, ms: Option<u64>) {
        match ms {
            Some(ms) => self.clock.sleep(ms).await,
            None => std::future::pending().await,
        }
    }

    /// Dispatches everything committed since the last call. For tests and single calls.
    pub async fn dispatch_once(&self) -> Result<(), NoticeError> {
        self.dispatch(&mut ScanProgress::default(), &Halt::never()).await
    }

    async fn dispatch(&self, passed: &mut ScanProgress, halt: &Halt) -> Result<(), NoticeError> {
        let mut conflicts = 0;
        while conflicts < CONFLICTS_MAX && !halt.is_set() {
            // Read the agent outbox before the subscriptions, so that every subscription made before a
            // notice is included.
            let read = |view: &mut wakeful_store::View<'_>| {
                Ok((view.agent_outbox(CHANGES_PAGE)?, view.outbox_cursor()?))
            };
            let (tellings, row) = self.store.read(read).await?;
            self.subscription_index.refresh(&self.store, row.version).await?;
            let is_done = tellings.is_empty();
            for telling in tellings {
                let notice = OutboxNotice::of_agent(&telling, &self.incarnation().await?);
                if let NoticeOutcome::Conflict = self.notify(&notice, OutboxRef::Agent(telling)).await? {
                    conflicts += 1;
                }
            }
            match self.dispatch_journal(passed, row).await? {
                PageOutcome::Nothing if is_done => return Ok(()),
                PageOutcome::Nothing => {}
                // Only conflicts in a row count: progress resets the count.
                PageOutcome::Something => conflicts = 0,
                PageOutcome::Conflict => conflicts += 1,
            }
        }
        if halt.is_set() {
            return Ok(());
        }
        // Return an error, so that dispatch is retried later.
        Err(StoreError::Conflict.into())
    }

    async fn incarnation(&self) -> Result<wakeful_core::id::Incarnation, NoticeError> {
        Ok(self.store.read(|view| view.incarnation()).await?)
    }

    /// Dispatches one page of the journal's outbox.
    async fn dispatch_journal(
        &self,
        passed: &mut ScanProgress,
        row: OutboxCursorRow,
    ) -> Result<PageOutcome, NoticeError> {
        let Some(since) = self.subscription_index.since() else {
            return Ok(PageOutcome::Nothing);
        };
        if passed.row != row {
            // Another process advanced the cursor, or new subscriptions may match changes that were
            // skipped.
            let stored = row
                .cursor
                .seq
                .saturating_sub(u64::from(row.cursor.done.is_some()));
            *passed = ScanProgress {
                seq: if row.cursor.done.is_some() {
                    stored
                } else {
                    stored.max(since)
                },
                row,
            };
        }
        let changes = self.journal.changes(passed.seq, CHANGES_PAGE).await?;
        if changes.is_empty() {
            return Ok(PageOutcome::Nothing);
        }
        for notice in OutboxNotice::of_journal(&changes) {
            let came = self
                .notify(&notice, OutboxRef::Journal(passed.row.clone()))
                .await?;
            let NoticeOutcome::Through(row) = came else {
                return Ok(PageOutcome::Conflict);
            };
            *passed = ScanProgress { row, seq: notice.seq };
        }
        if passed.seq.saturating_sub(passed.row.cursor.seq) > LEAD_MAX && passed.row.cursor.done.is_none() {
            self.catch_up(passed).await?;
        }
        Ok(PageOutcome::Something)
    }

    /// Advances the cursor past changes without subscribers. If another process has advanced it, the next
    /// scan starts there.
    async fn catch_up(&self, passed: &mut ScanProgress) -> Result<(), NoticeError> {
        let (seen, next) = (
            passed.row.clone(),
            OutboxCursor {
                seq: passed.seq,
                done: None,
            },
        );
        let cursor = next.clone();
        match self
            .store
            .write(move |tx| tx.advance_outbox_cursor(&seen, &next))
            .await
        {
            Ok(()) => passed.row.cursor = cursor,
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Admits or refuses a message for every subscription that a notice matches, and records the notice as
    /// dispatched.
    async fn notify(&self, notice: &OutboxNotice, mut seen: OutboxRef) -> Result<NoticeOutcome, NoticeError> {
        let entities = match self.subscription_index.entities_needed(&notice.tokens) {
            Some(wanted) => self.entities(notice, wanted).await?,
            None => BTreeMap::new(),
        };
        let (version, mut judged) = self.subscription_index.matches(&notice.tokens, &entities);
        if let OutboxRef::Journal(row) = &seen
            && version != Some(row.version)
        {
            return Ok(NoticeOutcome::Conflict);
        }
        judged.retain(|(place, row, _)| notice.is_after(row) && seen.is_left(place, notice.seq));
        if judged.is_empty() && !seen.must_be_noted() {
            return Ok(NoticeOutcome::Through(seen.into_row()));
        }
        let preceding = self.preceding(notice).await?;
        let records = changed_records(notice, &entities);
        loop {
            let rest = judged.split_off(judged.len().min(CANDIDATES_MAX));
            let last = judged.last().map(|(place, ..)| place.clone());
            let next = if rest.is_empty() { None } else { last };
            let mut candidates = Vec::with_capacity(judged.len());
            for (_, row, predicate) in judged {
                let candidate = self.candidate(notice, &records, &row, &preceding).await?;
                candidates.push(candidate.with_predicate(predicate));
            }
            let Some(after) = self.commit(&seen, notice.seq, next, candidates).await? else {
                return Ok(NoticeOutcome::Conflict);
            };
            seen = after;
            if rest.is_empty() {
                return Ok(NoticeOutcome::Through(seen.into_row()));
            }
            judged = rest;
        }
    }

    /// Commits the admission of some candidates together with the position up to which the notice is
    /// dispatched.
    async fn commit(
        &self,
        seen: &OutboxRef,
        seq: u64,
        next: Option<wakeful_store::rows::SubscriptionKey>,
        mut candidates: Vec<Candidate>,
    ) -> Result<Option<OutboxRef>, NoticeError> {
        if planted_bugs::is_planted("change_skipped") {
            candidates.clear();
        }
        let (before, after) = (seen.clone(), seen.moved(seq, next.clone()));
        fail_point::fail_point("notice.before_commit");
        let arrived = self.store.write(move |tx| {
            before.advance(tx, seq, next.as_ref())?;
            let arrive = |candidate: &Candidate| candidate.arrive(tx);
            candidates
                .iter()
                .map(arrive)
                .collect::<Result<Vec<_>, StoreError>>()
        });
        let arrived = match arrived.await {
            Ok(arrived) => arrived,
            Err(StoreError::Conflict) => return Ok(None),
            Err(error) => {
                // The commit may have succeeded, and no other signal would announce the work.
                self.work.signal_any();
                return Err(error.into());
            }
        };
        fail_point::fail_point("notice.after_commit");
        for (agent, arrived) in arrived.into_iter().flatten() {
            match arrived {
                AdmissionOutcome::New(event) => {
                    self.hub.on_events(&agent, &[event]);
                    self.work.signal_agent(agent);
                }
                AdmissionOutcome::Known
                | AdmissionOutcome::KeyReused
                | AdmissionOutcome::Refused(_)
                | AdmissionOutcome::Unknown => {}
            }
        }
        Ok(Some(after))
    }

    /// Reads the records needed for predicates and for the message text, in one read.
    async fn entities(
        &self,
        notice: &OutboxNotice,
        wanted: Vec<String>,
    ) -> Result<BTreeMap<String, Entity>, NoticeError> {
        let changed: BTreeSet<&String> = notice.records.iter().map(|(_, id)| id).collect();
        let told = notice.records.iter().take(RECORDS_LISTED_MAX).map(|(_, id)| id);
        // A notice also names the parent of a record. The parent has not changed, so predicates are not
        // evaluated on it.
        let asked = wanted.iter().filter(|id| changed.contains(id));
        let ids: BTreeSet<&String> = asked.chain(told).collect();
        let ids = ids.into_iter().filter_map(|id| RecordId::parse("id", id).ok());
        let ids: Vec<RecordId> = ids.take(ENTITIES_MAX).collect();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let found = self.journal.entities(ids).await?;
        let fields = found.into_iter().filter_map(|(id, value)| match value {
            Value::Object(fields) => Some((id.to_string(), fields)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        });
        Ok(fields.collect())
    }
}

/// The result of dispatching a page of the journal's outbox.
enum PageOutcome {
    /// There are no new changes.
    Nothing,
    /// All changes of the page are dispatched; there may be more.
    Something,
    /// Another process advanced the cursor, or subscriptions changed: dispatch again.
    Conflict,
}

/// The changed records as the message describes them.
fn changed_records(notice: &OutboxNotice, entities: &BTreeMap<String, Entity>) -> Vec<ChangedRecord> {
    let title = |id: &String| {
        let fields = entities.get(id)?;
        let named = ["title", "name", "text"]
            .iter()
            .find_map(|name| fields.get(*name));
        named.and_then(Value::as_str).map(str::to_owned)
    };
    let told = notice.records.iter().map(|(kind, id)| ChangedRecord {
        kind: kind.to_string(),
        id: id.clone(),
        title: title(id),
    });
    told.collect()
}
