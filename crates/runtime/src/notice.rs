//! From change to wake: what the journal and the agents commit is told to whoever subscribes to it, each change once.
//!
//! A notice is what one transaction says. Whom it may concern is found in memory; then one transaction lets all of them
//! arrive and moves the cursor. Whatever a crash cuts off is found again where the cursor stands.

mod book;
mod candidate;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use wakeful_core::journal::RecordId;
use wakeful_core::notice::{RECORDS_TOLD_MAX, Told};
use wakeful_core::subscription::Entity;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_ports::fail;
use wakeful_ports::journal::{Journal, JournalError};
use wakeful_ports::planted;
use wakeful_store::rows::{AlertRow, Cursor};
use wakeful_store::{Store, StoreError};

pub use self::book::Book;
use self::candidate::Candidate;
use self::source::{Notice, Seen};
use crate::api::Work;
use crate::cause::AdmissionOutcome;
use crate::hub::Hub;
use crate::service::Writers;
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
const SHARED_LOOK_MS: u64 = 1_000;

/// When a look that failed is tried again.
const FAILED_LOOK_MS: u64 = 1_000;

/// Whoever makes wakes of changes.
pub struct Watcher {
    pub(crate) store: Store,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) book: Arc<Book>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) work: Arc<Work>,
    pub(crate) writers: Writers,
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
struct Passed {
    row: AlertRow,
    seq: u64,
}

/// Whether a notice was seen to.
enum Came {
    /// It was; with the row that holds since.
    Through(AlertRow),
    /// Somebody else was faster, or subscriptions changed: look again.
    Conflict,
}

impl Watcher {
    /// Looks whenever something was committed, until a stop is asked for.
    pub async fn run(&self, halt: &Halt) {
        let mut heard = self.journal.heard();
        let (mut passed, mut last) = (Passed::default(), None);
        loop {
            let failed = self.look(&mut passed, halt).await.err();
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
                ) => Some(FAILED_LOOK_MS),
                (_, Writers::Many) => Some(SHARED_LOOK_MS),
                (_, Writers::Alone) => None,
            };
            tokio::select! {
                biased;
                () = halt.asked() => return,
                () = heard.next() => {}
                () = self.hub.turned() => {}
                () = self.nap(again) => {}
            }
        }
    }

    async fn nap(&self, ms: Option<u64>) {
        match ms {
            Some(ms) => self.clock.sleep(ms).await,
            None => std::future::pending().await,
        }
    }

    /// Sees to everything that was committed since the last look. For tests and single calls.
    pub async fn look_once(&self) -> Result<(), NoticeError> {
        self.look(&mut Passed::default(), &Halt::never()).await
    }

    async fn look(&self, passed: &mut Passed, halt: &Halt) -> Result<(), NoticeError> {
        let mut conflicts = 0;
        while conflicts < CONFLICTS_MAX && !halt.is_set() {
            // The tellings before the subscriptions: who subscribed before something was told is then among them.
            let read = |view: &mut wakeful_store::View<'_>| Ok((view.tellings(CHANGES_PAGE)?, view.alert()?));
            let (tellings, row) = self.store.read(read).await?;
            self.book.show(&self.store, row.version).await?;
            let is_done = tellings.is_empty();
            for telling in tellings {
                let notice = Notice::of_agent(&telling, &self.incarnation().await?);
                if let Came::Conflict = self.notify(&notice, Seen::Telling(telling)).await? {
                    conflicts += 1;
                }
            }
            match self.look_at_journal(passed, row).await? {
                Looked::Nothing if is_done => return Ok(()),
                Looked::Nothing => {}
                // In a row: whoever comes on is not in a fight.
                Looked::Something => conflicts = 0,
                Looked::Conflict => conflicts += 1,
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
    async fn look_at_journal(&self, passed: &mut Passed, row: AlertRow) -> Result<Looked, NoticeError> {
        let Some(since) = self.book.since() else {
            return Ok(Looked::Nothing);
        };
        if passed.row != row {
            // Others moved it, or other subscriptions may be concerned by what was passed.
            let stored = row
                .cursor
                .seq
                .saturating_sub(u64::from(row.cursor.done.is_some()));
            *passed = Passed {
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
            return Ok(Looked::Nothing);
        }
        for notice in Notice::of_journal(&changes) {
            let came = self.notify(&notice, Seen::Journal(passed.row.clone())).await?;
            let Came::Through(row) = came else {
                return Ok(Looked::Conflict);
            };
            *passed = Passed { row, seq: notice.seq };
        }
        if passed.seq.saturating_sub(passed.row.cursor.seq) > LEAD_MAX && passed.row.cursor.done.is_none() {
            self.catch_up(passed).await?;
        }
        Ok(Looked::Something)
    }

    /// Moves the cursor past changes that concern nobody. If somebody else did, the next look finds it there.
    async fn catch_up(&self, passed: &mut Passed) -> Result<(), NoticeError> {
        let (seen, next) = (
            passed.row.clone(),
            Cursor {
                seq: passed.seq,
                done: None,
            },
        );
        let cursor = next.clone();
        match self.store.write(move |tx| tx.move_cursor(&seen, &next)).await {
            Ok(()) => passed.row.cursor = cursor,
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Lets everybody whom a notice concerns be woken, or refused with a reason, and notes that it was seen to.
    async fn notify(&self, notice: &Notice, mut seen: Seen) -> Result<Came, NoticeError> {
        let entities = match self.book.wanted(&notice.tokens) {
            Some(wanted) => self.entities(notice, wanted).await?,
            None => BTreeMap::new(),
        };
        let (version, mut judged) = self.book.judged(&notice.tokens, &entities);
        if let Seen::Journal(row) = &seen
            && version != Some(row.version)
        {
            return Ok(Came::Conflict);
        }
        judged.retain(|(place, row, _)| notice.is_after(row) && seen.is_left(place, notice.seq));
        if judged.is_empty() && !seen.must_be_noted() {
            return Ok(Came::Through(seen.into_row()));
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
                return Ok(Came::Conflict);
            };
            seen = after;
            if rest.is_empty() {
                return Ok(Came::Through(seen.into_row()));
            }
            judged = rest;
        }
    }

    /// Commits the arrival of some candidates with the place up to which the notice was seen to.
    async fn commit(
        &self,
        seen: &Seen,
        seq: u64,
        next: Option<wakeful_store::rows::Place>,
        mut candidates: Vec<Candidate>,
    ) -> Result<Option<Seen>, NoticeError> {
        if planted::bug("change_skipped") {
            candidates.clear();
        }
        let (before, after) = (seen.clone(), seen.moved(seq, next.clone()));
        fail::point("notice.before_commit");
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
                self.work.look();
                return Err(error.into());
            }
        };
        fail::point("notice.after_commit");
        for (agent, arrived) in arrived.into_iter().flatten() {
            match arrived {
                AdmissionOutcome::New(event) => {
                    self.hub.saw(&agent, &[event]);
                    self.work.look_at(agent);
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
        notice: &Notice,
        wanted: Vec<String>,
    ) -> Result<BTreeMap<String, Entity>, NoticeError> {
        let changed: BTreeSet<&String> = notice.records.iter().map(|(_, id)| id).collect();
        let told = notice.records.iter().take(RECORDS_TOLD_MAX).map(|(_, id)| id);
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
enum Looked {
    Nothing,
    Something,
    Conflict,
}

/// What is told of the records that changed.
fn told(notice: &Notice, entities: &BTreeMap<String, Entity>) -> Vec<Told> {
    let title = |id: &String| {
        let fields = entities.get(id)?;
        let named = ["title", "name", "text"]
            .iter()
            .find_map(|name| fields.get(*name));
        named.and_then(Value::as_str).map(str::to_owned)
    };
    let told = notice.records.iter().map(|(kind, id)| Told {
        kind: kind.to_string(),
        id: id.clone(),
        title: title(id),
    });
    told.collect()
}
