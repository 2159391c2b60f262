//! The subscriptions in memory: rebuilt from the rows when they are first needed, kept up to date after each commit, and
//! read again when somebody else has changed them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wakeful_core::change::Token;
use wakeful_core::subscription::{Entity, FilterIndex};
use wakeful_store::rows::{SubscriptionKey, SubscriptionRow};
use wakeful_store::{ROWS_MAX, Store, StoreError, View};

/// The subscriptions of a home, shared by whoever changes them and whoever matches them.
#[derive(Debug, Default)]
pub struct SubscriptionIndex(Mutex<IndexState>);

#[derive(Debug, Default)]
struct IndexState {
    /// Which version of the subscriptions it shows; none before it was read.
    version: Option<u64>,
    /// The oldest change that may concern anybody; none when nobody subscribes.
    since: Option<u64>,
    index: FilterIndex<SubscriptionKey>,
    rows: BTreeMap<SubscriptionKey, Arc<SubscriptionRow>>,
}

/// A subscription that a notice may concern, with what its predicate says; none for one that asks nothing.
pub(super) type MatchedSubscription = (SubscriptionKey, Arc<SubscriptionRow>, Option<bool>);

impl IndexState {
    fn insert(&mut self, row: SubscriptionRow) {
        // Terms are checked before they are kept. Some that cannot be read are older than the check, and wake nobody.
        let Ok(filter) = row.terms.filter() else { return };
        let place = place_of(&row);
        self.since = Some(
            self.since
                .map_or(row.journal_seq, |since| since.min(row.journal_seq)),
        );
        self.index.insert(place.clone(), filter);
        self.rows.insert(place, Arc::new(row));
    }

    fn read(view: &mut View<'_>) -> Result<Self, StoreError> {
        // The version first: what is changed in between is then read again, and nothing is missed.
        let mut pages = Self {
            version: Some(view.outbox_cursor()?.version),
            ..Self::default()
        };
        let mut after = None;
        loop {
            let rows = view.subscriptions(None, after.as_ref(), ROWS_MAX)?;
            let Some(last) = rows.last() else {
                return Ok(pages);
            };
            after = Some(last.subscription_id.clone());
            rows.into_iter().for_each(|row| pages.insert(row));
        }
    }
}

fn place_of(row: &SubscriptionRow) -> SubscriptionKey {
    SubscriptionKey {
        agent_id: row.agent_id.clone(),
        subscription_id: row.subscription_id.clone(),
    }
}

impl SubscriptionIndex {
    fn pages(&self) -> MutexGuard<'_, IndexState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the subscriptions again unless it shows this version of them.
    pub(super) async fn refresh(&self, store: &Store, version: u64) -> Result<(), StoreError> {
        if self.pages().version == Some(version) {
            return Ok(());
        }
        let pages = store.read(IndexState::read).await?;
        *self.pages() = pages;
        Ok(())
    }

    /// A subscription was kept, and this is their version since. A book that missed one before is read again later.
    pub(crate) fn insert_row(&self, row: SubscriptionRow, version: u64) {
        let mut pages = self.pages();
        if pages.version == version.checked_sub(1) {
            pages.insert(row);
            pages.version = Some(version);
        }
    }

    /// A subscription was put aside or taken up again, and this is their version since. What it asks for stays in the
    /// index: what it would have woken for is told.
    pub(crate) fn update_row(&self, row: SubscriptionRow, version: u64) {
        let mut pages = self.pages();
        if pages.version == version.checked_sub(1) {
            pages.rows.insert(place_of(&row), Arc::new(row));
            pages.version = Some(version);
        }
    }

    /// A subscription was taken away, and this is their version since.
    pub(crate) fn remove_row(&self, row: &SubscriptionRow, version: u64) {
        let mut pages = self.pages();
        if pages.version == version.checked_sub(1) {
            let place = place_of(row);
            pages.index.remove(&place);
            pages.rows.remove(&place);
            if pages.rows.is_empty() {
                pages.since = None;
            }
            pages.version = Some(version);
        }
    }

    /// The change from which on somebody may be concerned; none when nobody subscribes to anything.
    pub(super) fn since(&self) -> Option<u64> {
        self.pages().since
    }

    /// Whether these tokens may concern anybody, and which records have to be looked at to know.
    pub(super) fn entities_needed(&self, tokens: &BTreeSet<Token>) -> Option<Vec<String>> {
        let pages = self.pages();
        let candidates = pages.index.candidates(tokens);
        let wanted = candidates.wanted().map(str::to_owned).collect();
        (!candidates.judged(|_| None).is_empty()).then_some(wanted)
    }

    /// Whom these tokens may concern, in order, and the version of the subscriptions of which this holds.
    pub(super) fn matches(
        &self,
        tokens: &BTreeSet<Token>,
        entities: &BTreeMap<String, Entity>,
    ) -> (Option<u64>, Vec<MatchedSubscription>) {
        let pages = self.pages();
        let judged = pages.index.candidates(tokens).judged(|id| entities.get(id));
        let judged = judged.into_iter().filter_map(|(place, predicate)| {
            let row = pages.rows.get(place)?;
            Some((place.clone(), Arc::clone(row), predicate))
        });
        (pages.version, judged.collect())
    }
}
