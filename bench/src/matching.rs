//! Measures the matching of a notice: five tokens, ten hits, and an increasing number of other
//! subscriptions; then a fixed number of subscriptions and more hits.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use wakeful_core::change::Token;
use wakeful_core::id::SubscriptionId;
use wakeful_core::subscription::{Entity, Filter, FilterIndex, Predicate};

use crate::Setting;
use crate::measure::{Measure, Target, median, p99};

pub(crate) const NAME: &str = "match_notice_us";

/// Numbers of subscriptions, the largest last.
const SIZES: [usize; 3] = [1_000, 10_000, SIZE_MAX];

/// The largest number of subscriptions.
const SIZE_MAX: usize = 100_000;

/// Subscriptions that match one notice.
const HITS: usize = 10;

/// Other numbers of hits, to measure the cost of each.
const OTHER_HITS: [usize; 2] = [1, 100];

/// Distance between consecutive notices, so that caches do not help.
const STRIDE: usize = 7_919;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let notices = setting.effort.pick(2_000, 50_000);
    let mut parts = Vec::new();
    let mut largest = None;
    for size in SIZES {
        let (took, bare) = match_all(size, HITS, notices)?;
        parts.push((format!("p99_of_{size}_us"), p99(&took)));
        parts.push((format!("median_of_{size}_us"), median(&took)));
        parts.push((format!("bare_median_of_{size}_us"), median(&bare)));
        largest = Some((took, bare));
    }
    for hits in OTHER_HITS {
        let (took, _) = match_all(SIZE_MAX, hits, notices)?;
        parts.push((format!("p99_with_{hits}_hits_us"), p99(&took)));
        parts.push((format!("median_with_{hits}_hits_us"), median(&took)));
    }
    let (took, bare) = largest.context("no size")?;
    let measure = Measure::p99(NAME, "us", &took, Target::Below(50.0));
    let measure = measure.beside_p99("five lookups in a map of as many keys", &bare);
    let with = |measure: Measure, (part, value): (String, f64)| measure.with(part, value);
    Ok(vec![
        parts.into_iter().fold(measure, with).with("hits", HITS as f64),
    ])
}

/// Microseconds per notice with this many hits among this many subscriptions, and for the bare lookups of
/// its tokens.
fn match_all(size: usize, hits: usize, notices: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let groups = size / hits;
    let (mut index, mut bare_map) = (FilterIndex::new(), BTreeMap::new());
    for group in 0..groups {
        for (number, filter) in filters(group, hits)?.into_iter().enumerate() {
            index.insert(
                SubscriptionId::new(format!("subscription-{group}-{number}")),
                filter,
            );
        }
        bare_map.extend(tokens(group).into_iter().map(|token| (token, group)));
    }
    ensure!(
        index.len() == size,
        "{} subscriptions instead of {size}",
        index.len()
    );
    let entity = Entity::from_iter([("category".to_owned(), json!("gym"))]);
    let (mut took, mut bare) = (Vec::with_capacity(notices), Vec::with_capacity(notices));
    for number in 0..notices {
        let tokens = tokens(number * STRIDE % groups);
        let begun = Instant::now();
        for token in &tokens {
            black_box(bare_map.get(token));
        }
        bare.push(us(begun));
        // Another notice, because the bare lookups have warmed up this one.
        let tokens = self::tokens((number * STRIDE + groups / 2) % groups);
        let begun = Instant::now();
        let matched = black_box(index.candidates(&tokens).matching_ids(|_| Some(&entity)));
        took.push(us(begun));
        ensure!(matched.len() == hits, "{} hits instead of {hits}", matched.len());
    }
    Ok((took, bare))
}

fn us(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6
}

fn kind() -> Token {
    Token::SemanticKey("TASK".to_owned())
}

fn record(group: usize) -> Token {
    Token::EntityId(format!("018f3c1e-5a7b-7cc0-9d3e-{group:012}"))
}

fn list(group: usize) -> Token {
    Token::EntityId(format!("018f3c1e-5a7b-7cc0-9d3f-{group:012}"))
}

fn subtype(namespace: &str, value: String) -> Token {
    let namespace = namespace.to_owned();
    Token::Subtype { namespace, value }
}

/// The tokens of a notice: an open task with its own list and category.
fn tokens(group: usize) -> BTreeSet<Token> {
    let status = subtype("taskStatus", "open".to_owned());
    let category = subtype("category", format!("category-{group}"));
    BTreeSet::from([kind(), status, category, record(group), list(group)])
}

/// The matching subscriptions. One of them matches a record id.
fn filters(group: usize, hits: usize) -> Result<Vec<Filter>> {
    let category = || subtype("category", format!("category-{group}"));
    let asks = Predicate::parse(&json!({"field": "category", "op": "eq", "value": "gym"}))?;
    let mut filters = Vec::with_capacity(hits);
    for number in 1..hits {
        filters.push(match number % 3 {
            0 => Filter::new([], [kind(), record(group)], None)?,
            1 => Filter::new([category()], [], None)?,
            _ => Filter::new([list(group), record(group)], [kind()], None)?,
        });
    }
    filters.push(Filter::new([], [kind(), category()], Some(asks))?);
    Ok(filters)
}
