//! From change to wake: what the journal and the agents commit is told to whoever subscribes to it, each change once.
//!
//! A notice is what one transaction says. Whom it may concern is found in memory; then one transaction lets all of them
//! arrive and moves the cursor. Whatever a crash cuts off is found again where the cursor stands.

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

/// Most changes that are read from an outbox at once.
const CHANGES_PAGE: u32 = 512;

/// Most candidates of a notice that arrive in one transaction. The rest follows in the next ones.
pub const CANDIDATES_MAX: usize = 256;

/// Most records of one notice that are read for predicates and words.
const ENTITIES_MAX: usize = 1_024;

/// How many changes that concern nobody are passed before the cursor is moved for their sake alone.
const LEAD_MAX: u64 = 4_096;

/// How often somebody else may get in the way before it is left for another look.
const CONFLICTS_MAX: u32 = 64;

/// How often databases that others write to are looked at. Where this process is the only writer, never.
const SHARED_POLL_MS: u64 = 1_000;

/// When a look that failed is tried again.
const RETRY_MS: u64 = 1_000;

/// Whoever makes wakes of changes.
pub struct NoticeDispatcher {
    pub(crate) store: Store,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) book: Arc<SubscriptionIndex>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) work: Arc<WorkSignal>,
    pub(crate) writers: WriterMode,
}

/// Why a look came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum NoticeError {
    /// The journal could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The agents' database said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A message could not be made.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// How far a look has come beyond what is stored: changes that concern nobody move no cursor.
#[derive(Debug, Default)]
struct ScanProgress {
    row: OutboxCursorRow,
    seq: u64,
}

/// Whether a notice was seen to.
enum NoticeOutcome {
    /// It was; with the row that holds since.
    Through(OutboxCursorRow),
    /// Somebody else was faster, or subscriptions changed: look again.
    Conflict,
}

impl NoticeDispatcher {
    /// Looks whenever something was committed, until a stop is asked for.
    pub async fn run(&self, halt: &Halt) {
        let mut heard = self.journal.subscribe_commits();
        let (mut passed, mut last) = (ScanProgress::default(), None);
        loop {
            let failed = self.dispatch(&mut passed, halt).await.err();
            let why = failed.as_ref().map(|error| with_causes(error));
            // A failure that goes on is logged once.
            if let Some(why) = why.as_ref().filter(|_| why != last) {
                tracing::warn!(error = %why, "changes do not wake agents for now");
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
                () = halt.asked() => return,
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

    /// Sees to everything that was committed since the last look. For tests and single calls.
    pub async fn dispatch_once(&self) -> Result<(), NoticeError> {
        self.dispatch(&mut ScanProgress::default(), &Halt::never()).await
    }

    async fn dispatch(&self, passed: &mut ScanProgress, halt: &Halt) -> Result<(), NoticeError> {
        let mut conflicts = 0;
        while conflicts < CONFLICTS_MAX && !halt.is_set() {
            // The tellings before the subscriptions: who subscribed before something was told is then among them.
            let read = |view: &mut wakeful_store::View<'_>| {
                Ok((view.agent_outbox(CHANGES_PAGE)?, view.outbox_cursor()?))
            };
            let (tellings, row) = self.store.read(read).await?;
            self.book.refresh(&self.store, row.version).await?;
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
                // In a row: whoever comes on is not in a fight.
                PageOutcome::Something => conflicts = 0,
                PageOutcome::Conflict => conflicts += 1,
            }
        }
        if halt.is_set() {
            return Ok(());
        }
        // Left for another look, which an error brings about.
        Err(StoreError::Conflict.into())
    }

    async fn incarnation(&self) -> Result<wakeful_core::id::Incarnation, NoticeError> {
        Ok(self.store.read(|view| view.incarnation()).await?)
    }

    /// One page of the journal's outbox.
    async fn dispatch_journal(
        &self,
        passed: &mut ScanProgress,
        row: OutboxCursorRow,
    ) -> Result<PageOutcome, NoticeError> {
        let Some(since) = self.book.since() else {
            return Ok(PageOutcome::Nothing);
        };
        if passed.row != row {
            // Others moved it, or other subscriptions may be concerned by what was passed.
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

    /// Moves the cursor past changes that concern nobody. If somebody else did, the next look finds it there.
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

    /// Lets everybody whom a notice concerns be woken, or refused with a reason, and notes that it was seen to.
    async fn notify(&self, notice: &OutboxNotice, mut seen: OutboxRef) -> Result<NoticeOutcome, NoticeError> {
        let entities = match self.book.entities_needed(&notice.tokens) {
            Some(wanted) => self.entities(notice, wanted).await?,
            None => BTreeMap::new(),
        };
        let (version, mut judged) = self.book.matches(&notice.tokens, &entities);
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
        let records = told(notice, &entities);
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

    /// Commits the arrival of some candidates with the place up to which the notice was seen to.
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
                // The commit may stand all the same, and then nobody else says who has something to do.
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

    /// The records that predicates ask about, and those that are told of, in one read.
    async fn entities(
        &self,
        notice: &OutboxNotice,
        wanted: Vec<String>,
    ) -> Result<BTreeMap<String, Entity>, NoticeError> {
        let changed: BTreeSet<&String> = notice.records.iter().map(|(_, id)| id).collect();
        let told = notice.records.iter().take(RECORDS_LISTED_MAX).map(|(_, id)| id);
        // A notice names also what a record belongs to. That has not changed, so no predicate is asked of it.
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

/// What a look at a page came to.
enum PageOutcome {
    Nothing,
    Something,
    Conflict,
}

/// What is told of the records that changed.
fn told(notice: &OutboxNotice, entities: &BTreeMap<String, Entity>) -> Vec<ChangedRecord> {
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
