//! The subscription index: finds the filters that match a notice by its tokens, without scanning all
//! filters.
//!
//! There is one index per token class. A filter is listed under a few of its tokens, its *anchors*: every
//! notice that matches the filter has one of them. The anchors are either all tokens of `any` or a single
//! token of `all`, whichever is more selective, because every notice has to check all filters that share an
//! anchor.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Entity, Filter, Predicate};
use crate::change::{Token, TokenClass};

/// The position of a filter.
type Slot = usize;

/// The filters listed under one token.
type Posting = BTreeSet<Slot>;

/// Filters by id and by anchor token.
#[derive(Debug)]
pub struct FilterIndex<Id> {
    slots: Vec<Option<Entry<Id>>>,
    free: Vec<Slot>,
    by_id: BTreeMap<Id, Slot>,
    semantic: BTreeMap<String, Posting>,
    subtype: BTreeMap<String, BTreeMap<String, Posting>>,
    entity: BTreeMap<String, Posting>,
}

#[derive(Debug)]
struct Entry<Id> {
    id: Id,
    filter: Filter,
    anchors: Vec<Token>,
}

impl<Id> Default for FilterIndex<Id> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_id: BTreeMap::new(),
            semantic: BTreeMap::new(),
            subtype: BTreeMap::new(),
            entity: BTreeMap::new(),
        }
    }
}

impl<Id: Ord + Clone> FilterIndex<Id> {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Adds a filter and returns the previous one with this id.
    pub fn insert(&mut self, id: Id, filter: Filter) -> Option<Filter> {
        let replaced = self.remove(&id);
        let anchors = self.anchors(&filter);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        for anchor in &anchors {
            self.posting_mut(anchor).insert(slot);
        }
        self.by_id.insert(id.clone(), slot);
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(Entry { id, filter, anchors });
        }
        replaced
    }

    /// Removes a filter and returns it.
    pub fn remove(&mut self, id: &Id) -> Option<Filter> {
        let slot = self.by_id.remove(id)?;
        let entry = self.slots.get_mut(slot)?.take()?;
        for anchor in &entry.anchors {
            self.unpost(anchor, slot);
        }
        self.free.push(slot);
        Some(entry.filter)
    }

    /// Returns the filters that match these tokens. The cost grows with the number of matches, not with the
    /// number of filters.
    #[must_use]
    pub fn candidates<'a>(&'a self, tokens: &'a BTreeSet<Token>) -> Candidates<'a, Id> {
        let mut slots: Vec<Slot> = Vec::new();
        for posting in tokens.iter().filter_map(|token| self.posting(token)) {
            slots.extend(posting);
        }
        slots.sort_unstable();
        slots.dedup();
        let entries = slots.iter().filter_map(|slot| self.slots.get(*slot)?.as_ref());
        let mut candidates = Candidates {
            tokens,
            certain: Vec::new(),
            asking: Vec::new(),
        };
        for entry in entries.filter(|entry| entry.filter.admits(tokens)) {
            match entry.filter.predicate() {
                Some(predicate) => candidates.asking.push((&entry.id, predicate)),
                None => candidates.certain.push(&entry.id),
            }
        }
        candidates
    }

    /// Returns the anchors of a filter: its most selective tokens. Classes have a fixed order of
    /// selectivity that does not depend on the current subscriptions; within one class the token with the
    /// fewest filters is chosen.
    fn anchors(&self, filter: &Filter) -> Vec<Token> {
        let rarest = filter.all().iter().max_by_key(|token| {
            let posted = self.posting(token).map_or(0, BTreeSet::len);
            (token.class(), Reverse(posted))
        });
        // Any token of `any` is sufficient to match, so the list is only as selective as its least
        // selective token.
        let plainest: Option<TokenClass> = filter.any().iter().map(Token::class).min();
        match rarest {
            Some(token) if plainest.is_none_or(|plainest| plainest <= token.class()) => vec![token.clone()],
            Some(_) | None => filter.any().iter().cloned().collect(),
        }
    }

    fn posting(&self, token: &Token) -> Option<&Posting> {
        match token {
            Token::SemanticKey(value) => self.semantic.get(value),
            Token::Subtype { namespace, value } => self.subtype.get(namespace)?.get(value),
            Token::EntityId(value) => self.entity.get(value),
        }
    }

    fn posting_mut(&mut self, token: &Token) -> &mut Posting {
        match token {
            Token::SemanticKey(value) => self.semantic.entry(value.clone()).or_default(),
            Token::Subtype { namespace, value } => {
                let values = self.subtype.entry(namespace.clone()).or_default();
                values.entry(value.clone()).or_default()
            }
            Token::EntityId(value) => self.entity.entry(value.clone()).or_default(),
        }
    }

    fn unpost(&mut self, token: &Token, slot: Slot) {
        match token {
            Token::SemanticKey(value) => unpost(&mut self.semantic, value, slot),
            Token::Subtype { namespace, value } => {
                let Some(values) = self.subtype.get_mut(namespace) else {
                    return;
                };
                unpost(values, value, slot);
                if values.is_empty() {
                    self.subtype.remove(namespace);
                }
            }
            Token::EntityId(value) => unpost(&mut self.entity, value, slot),
        }
    }
}

/// Removes a slot from a posting, and the posting when it becomes empty, so that removed filters leave
/// nothing behind.
fn unpost(postings: &mut BTreeMap<String, Posting>, value: &str, slot: Slot) {
    let Some(posting) = postings.get_mut(value) else {
        return;
    };
    posting.remove(&slot);
    if posting.is_empty() {
        postings.remove(value);
    }
}

/// Filters that match the tokens of a notice: some match definitely, others depend on the changed records.
#[derive(Debug)]
pub struct Candidates<'a, Id> {
    tokens: &'a BTreeSet<Token>,
    certain: Vec<&'a Id>,
    asking: Vec<(&'a Id, &'a Predicate)>,
}

impl<'a, Id: Ord> Candidates<'a, Id> {
    /// Returns the ids of the records that must be loaded, each once. Empty if no candidate has a
    /// predicate.
    pub fn wanted(&self) -> impl Iterator<Item = &'a str> {
        let tokens = if self.asking.is_empty() {
            None
        } else {
            Some(self.tokens)
        };
        tokens.into_iter().flatten().filter_map(Token::entity_id)
    }

    /// Returns every candidate with the result of its predicate; none for one without a predicate. `lookup`
    /// is called once per wanted record.
    #[must_use]
    pub fn evaluate<'e>(self, lookup: impl FnMut(&str) -> Option<&'e Entity>) -> Vec<(&'a Id, Option<bool>)> {
        let entities: Vec<&Entity> = self.wanted().filter_map(lookup).collect();
        let holds = |predicate: &Predicate| entities.iter().any(|entity| predicate.holds(entity));
        let asked = self
            .asking
            .into_iter()
            .map(|(id, predicate)| (id, Some(holds(predicate))));
        let mut judged: Vec<_> = self
            .certain
            .into_iter()
            .map(|id| (id, None))
            .chain(asked)
            .collect();
        judged.sort_unstable();
        judged
    }

    /// Returns the ids of the filters that match the notice. `lookup` is called once per wanted record and
    /// returns none for one that does not exist.
    #[must_use]
    pub fn matching_ids<'e>(self, lookup: impl FnMut(&str) -> Option<&'e Entity>) -> Vec<&'a Id> {
        let entities: Vec<&Entity> = self.wanted().filter_map(lookup).collect();
        let holds = |predicate: &Predicate| entities.iter().any(|entity| predicate.holds(entity));
        let mut matched = self.certain;
        let satisfied = self.asking.into_iter().filter(|(_, predicate)| holds(predicate));
        matched.extend(satisfied.map(|(id, _)| id));
        matched.sort_unstable();
        matched
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn semantic(value: &str) -> Token {
        Token::SemanticKey(value.into())
    }

    fn subtype(namespace: &str, value: &str) -> Token {
        let (namespace, value) = (namespace.into(), value.into());
        Token::Subtype { namespace, value }
    }

    fn entity(value: &str) -> Token {
        Token::EntityId(value.into())
    }

    fn filter(any: &[Token], all: &[Token], predicate: Option<serde_json::Value>) -> Filter {
        let predicate = predicate.map(|json| Predicate::parse(&json).expect("a predicate"));
        Filter::new(any.iter().cloned(), all.iter().cloned(), predicate).expect("a filter")
    }

    fn matched(
        index: &FilterIndex<&'static str>,
        tokens: &[Token],
        entities: &BTreeMap<String, Entity>,
    ) -> Vec<&'static str> {
        let tokens = tokens.iter().cloned().collect();
        let matched = index.candidates(&tokens).matching_ids(|id| entities.get(id));
        matched.into_iter().copied().collect()
    }

    // Conformance: L-056
    #[test]
    fn each_class_is_matched_by_its_own_tokens_only() {
        let mut index = FilterIndex::new();
        index.insert("semantic", filter(&[semantic("x")], &[], None));
        index.insert("subtype", filter(&[subtype("n", "x")], &[], None));
        index.insert("entity", filter(&[entity("x")], &[], None));
        let none = BTreeMap::new();
        assert_eq!(matched(&index, &[semantic("x")], &none), ["semantic"]);
        assert_eq!(matched(&index, &[subtype("n", "x")], &none), ["subtype"]);
        assert_eq!(matched(&index, &[entity("x")], &none), ["entity"]);
        assert!(matched(&index, &[subtype("x", "n"), subtype("n", "y")], &none).is_empty());
        assert_eq!(
            matched(&index, &[entity("x"), semantic("x")], &none),
            ["entity", "semantic"]
        );
    }

    /// Typical examples, each with a near miss.
    #[test]
    fn the_worked_examples_match_and_their_near_misses_do_not() {
        let mut index = FilterIndex::new();
        let gym = json!({"field": "categoryId", "op": "eq", "value": "gym"});
        index.insert("gym tasks", filter(&[semantic("TASK")], &[], Some(gym)));
        index.insert(
            "answers to x",
            filter(&[], &[semantic("AI_RESPONSE"), entity("task-x")], None),
        );
        index.insert("workouts", filter(&[semantic("WORKOUT")], &[], None));
        index.insert(
            "runs",
            filter(&[semantic("WORKOUT")], &[subtype("workoutType", "run")], None),
        );
        let task = |category: &str| {
            let fields = json!({"categoryId": category});
            BTreeMap::from([("t1".to_owned(), fields.as_object().expect("an object").clone())])
        };
        let task_changed = [semantic("TASK"), entity("t1")];
        assert_eq!(matched(&index, &task_changed, &task("gym")), ["gym tasks"]);
        assert!(matched(&index, &task_changed, &task("home")).is_empty());
        let answer = |task: &str| [semantic("AI_RESPONSE"), entity("r1"), entity(task)];
        assert_eq!(
            matched(&index, &answer("task-x"), &BTreeMap::new()),
            ["answers to x"]
        );
        assert!(matched(&index, &answer("task-y"), &BTreeMap::new()).is_empty());
        let workout = |kind: &str| [semantic("WORKOUT"), subtype("workoutType", kind)];
        assert_eq!(
            matched(&index, &workout("run"), &BTreeMap::new()),
            ["runs", "workouts"]
        );
        assert_eq!(matched(&index, &workout("swim"), &BTreeMap::new()), ["workouts"]);
    }

    // Conformance: L-044, L-203
    #[test]
    fn records_are_loaded_once_and_only_for_candidates_with_predicates() {
        let mut index = FilterIndex::new();
        let asks = json!({"field": "a", "op": "exists"});
        index.insert("asks", filter(&[semantic("A")], &[], Some(asks.clone())));
        index.insert("asks, too", filter(&[semantic("A")], &[], Some(asks)));
        index.insert("does not", filter(&[semantic("B")], &[], None));
        let looked_at = |first: Token| {
            let tokens = BTreeSet::from([first, entity("1"), entity("2"), subtype("n", "3")]);
            let mut looked_at = Vec::new();
            let matched = index.candidates(&tokens).matching_ids(|id| {
                looked_at.push(id.to_owned());
                None
            });
            (looked_at, matched.len())
        };
        assert_eq!(
            looked_at(semantic("A")),
            (vec!["1".to_owned(), "2".to_owned()], 0)
        );
        assert_eq!(looked_at(semantic("B")), (vec![], 1));
        assert_eq!(looked_at(semantic("C")), (vec![], 0));
    }

    #[test]
    fn removed_filters_leave_nothing_behind() {
        let mut index = FilterIndex::new();
        for round in 0..3 {
            for id in ["a", "b"] {
                let filter = filter(&[semantic(id), subtype("n", id)], &[entity(id)], None);
                assert!(index.insert(id, filter).is_none(), "round {round}");
            }
            assert_eq!(index.len(), 2);
            assert!(
                index.remove(&"a").is_some() && index.remove(&"b").is_some() && index.remove(&"b").is_none()
            );
        }
        assert!(
            index.is_empty()
                && index.semantic.is_empty()
                && index.subtype.is_empty()
                && index.entity.is_empty()
        );
        assert_eq!(index.slots.len(), 2, "slots are used again");
    }

    #[test]
    fn a_filter_is_listed_under_its_most_selective_tokens() {
        let index = FilterIndex::<&str>::new();
        let anchors = |any: &[Token], all: &[Token]| index.anchors(&filter(any, all, None));
        assert_eq!(anchors(&[], &[semantic("A"), entity("1")]), [entity("1")]);
        assert_eq!(
            anchors(&[semantic("A")], &[subtype("n", "x")]),
            [subtype("n", "x")]
        );
        assert_eq!(
            anchors(&[entity("1"), entity("2")], &[semantic("A")]),
            [entity("1"), entity("2")]
        );
        assert_eq!(
            anchors(&[entity("1"), semantic("B")], &[semantic("A")]),
            [semantic("A")]
        );
    }

    // Conformance: L-056, L-194
    /// A notice about one task must not check the filters of all other tasks, although all of them contain
    /// `TASK`.
    #[test]
    fn the_cost_of_a_notice_grows_with_its_matches() {
        let mut index = FilterIndex::new();
        for number in 0..10_000 {
            let task = entity(&format!("task-{number}"));
            index.insert(number, filter(&[], &[semantic("TASK"), task], None));
        }
        let tokens = BTreeSet::from([semantic("TASK"), entity("task-77")]);
        let looked_at: usize = tokens
            .iter()
            .filter_map(|token| index.posting(token))
            .map(BTreeSet::len)
            .sum();
        assert_eq!(looked_at, 1);
        assert_eq!(index.candidates(&tokens).matching_ids(|_| None), [&77]);
    }

    fn any_token() -> impl Strategy<Value = Token> {
        let value = || proptest::sample::select(vec!["a", "b", "c"]);
        prop_oneof![
            value().prop_map(semantic),
            (value(), value()).prop_map(|(namespace, value)| subtype(namespace, value)),
            value().prop_map(entity),
        ]
    }

    fn any_filter() -> impl Strategy<Value = Filter> {
        let tokens = || proptest::collection::vec(any_token(), 0..3);
        let predicate = proptest::option::of((0..3_i64, any::<bool>()).prop_map(|(number, not)| {
            let test = json!({"field": "n", "op": "eq", "value": number});
            Predicate::parse(&if not { json!({"not": test}) } else { test }).expect("a predicate")
        }));
        (tokens(), tokens(), predicate).prop_filter_map("some token", |(any, all, predicate)| {
            Filter::new(any, all, predicate).ok()
        })
    }

    /// A sequence of added, replaced and removed filters.
    fn any_history() -> impl Strategy<Value = Vec<(u8, Option<Filter>)>> {
        proptest::collection::vec((0..12_u8, proptest::option::weighted(0.8, any_filter())), 0..40)
    }

    proptest! {
        // Conformance: L-056
        /// The index is only an optimization: it finds exactly what a scan of all filters finds.
        #[test]
        fn the_index_finds_the_same_filters_as_a_full_scan(
            history in any_history(),
            tokens in proptest::collection::btree_set(any_token(), 0..6),
            entities in proptest::collection::btree_map("[abc]", 0..3_i64, 0..3),
        ) {
            let entities: BTreeMap<String, Entity> = entities
                .into_iter()
                .map(|(id, number)| (id, Entity::from_iter([("n".to_owned(), json!(number))])))
                .collect();
            let (mut index, mut all) = (FilterIndex::new(), BTreeMap::new());
            for (id, filter) in history {
                match filter {
                    Some(filter) => prop_assert_eq!(index.insert(id, filter.clone()), all.insert(id, filter)),
                    None => prop_assert_eq!(index.remove(&id), all.remove(&id)),
                }
            }
            let changed = || tokens.iter().filter_map(Token::entity_id).filter_map(|id| entities.get(id));
            let passes = |filter: &Filter| {
                let has_any = filter.any().is_empty() || filter.any().iter().any(|token| tokens.contains(token));
                let has_all = filter.all().iter().all(|token| tokens.contains(token));
                has_any && has_all && filter.predicate().is_none_or(|predicate| changed().any(|it| predicate.holds(it)))
            };
            let naive: Vec<u8> = all.iter().filter(|(_, filter)| passes(filter)).map(|(id, _)| *id).collect();
            let found: Vec<u8> =
                index.candidates(&tokens).matching_ids(|id| entities.get(id)).into_iter().copied().collect();
            prop_assert_eq!(found, naive);
            prop_assert_eq!(index.len(), all.len());
        }
    }
}
