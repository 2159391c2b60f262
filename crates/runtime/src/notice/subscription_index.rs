//! The in-memory subscription index: built from the rows on first use, updated after each commit, and
//! rebuilt when another process has changed the subscriptions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wakeful_core::change::Token;
use wakeful_core::subscription::{Entity, FilterIndex};
use wakeful_store::rows::{SubscriptionKey, SubscriptionRow};
use wakeful_store::{ROWS_MAX, Store, StoreError, View};

/// The subscriptions of a home, shared by the API that changes them and the dispatcher that matches them.
#[derive(Debug, Default)]
pub struct SubscriptionIndex(Mutex<IndexState>);

#[derive(Debug, Default)]
struct IndexState {
    /// The version of the indexed subscriptions; none before the first read.
    version: Option<u64>,
    /// The oldest change that may match a subscription; none without subscriptions.
    since: Option<u64>,
    index: FilterIndex<SubscriptionKey>,
    rows: BTreeMap<SubscriptionKey, Arc<SubscriptionRow>>,
}

/// A subscription that a notice may match, with the result of its predicate; none if it has no predicate.
pub(super) type MatchedSubscription = (SubscriptionKey, Arc<SubscriptionRow>, Option<bool>);

impl IndexState {
    fn insert(&mut self, row: SubscriptionRow) {
        // Specifications are validated before they are stored. Unreadable ones predate the validation and
        // wake no agent.
        let Ok(filter) = row.spec.filter() else { return };
        let place = place_of(&row);
        self.since = Some(
            self.since
                .map_or(row.journal_seq, |since| since.min(row.journal_seq)),
        );
        self.index.insert(place.clone(), filter);
        self.rows.insert(place, Arc::new(row));
    }

    fn read(view: &mut View<'_>) -> Result<Self, StoreError> {
        // Read the version first: changes made in between are then read again, and none is missed.
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

    /// Rebuilds the index unless it already has this version.
    pub(super) async fn refresh(&self, store: &Store, version: u64) -> Result<(), StoreError> {
        if self.pages().version == Some(version) {
            return Ok(());
        }
        let pages = store.read(IndexState::read).await?;
        *self.pages() = pages;
        Ok(())
    }

    /// Adds a subscription and sets the new version. An index that missed an earlier change is rebuilt
    /// later.
    pub(crate) fn insert_row(&self, row: SubscriptionRow, version: u64) {
        let mut pages = self.pages();
        if pages.version == version.checked_sub(1) {
            pages.insert(row);
            pages.version = Some(version);
        }
    }

    /// Replaces a paused or resumed subscription and sets the new version. Its filter stays indexed, so
    /// that wakes prevented by the pause can be recorded.
    pub(crate) fn update_row(&self, row: SubscriptionRow, version: u64) {
        let mut pages = self.pages();
        if pages.version == version.checked_sub(1) {
            pages.rows.insert(place_of(&row), Arc::new(row));
            pages.version = Some(version);
        }
    }

    /// Replaces a subscription whose terms changed and sets the new version.
    pub(crate) fn replace_row(&self, row: SubscriptionRow, version: u64) {
        let mut pages = self.pages();
        if pages.version == version.checked_sub(1) {
            pages.index.remove(&place_of(&row));
            pages.insert(row);
            pages.version = Some(version);
        }
    }

    /// Removes a subscription and sets the new version.
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

    /// The oldest change that may match a subscription; none without subscriptions.
    pub(super) fn since(&self) -> Option<u64> {
        self.pages().since
    }

    /// The records needed to match these tokens; none if no subscription can match.
    pub(super) fn entities_needed(&self, tokens: &BTreeSet<Token>) -> Option<Vec<String>> {
        let pages = self.pages();
        let candidates = pages.index.candidates(tokens);
        let wanted = candidates.wanted().map(str::to_owned).collect();
        (!candidates.evaluate(|_| None).is_empty()).then_some(wanted)
    }

    /// The subscriptions that these tokens may match, in order, and the version for which this holds.
    pub(super) fn matches(
        &self,
        tokens: &BTreeSet<Token>,
        entities: &BTreeMap<String, Entity>,
    ) -> (Option<u64>, Vec<MatchedSubscription>) {
        let pages = self.pages();
        let judged = pages.index.candidates(tokens).evaluate(|id| entities.get(id));
        let judged = judged.into_iter().filter_map(|(place, predicate)| {
            let row = pages.rows.get(place)?;
            Some((place.clone(), Arc::clone(row), predicate))
        });
        (pages.version, judged.collect())
    }
}
