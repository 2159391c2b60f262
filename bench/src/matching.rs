//! Whom a notice concerns: five tokens, ten hits, and ever more subscriptions that it does not concern; then as many
//! subscriptions and ever more hits.

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

/// How many subscriptions there are, the most last.
const SIZES: [usize; 3] = [1_000, 10_000, SIZE_MAX];

/// The most of them.
const SIZE_MAX: usize = 100_000;

/// Subscriptions that one notice concerns.
const HITS: usize = 10;

/// The same where it is asked what each of them costs.
const OTHER_HITS: [usize; 2] = [1, 100];

/// Between two notices that follow each other lie so many others, so that no cache knows what comes.
const STRIDE: usize = 7_919;

/// Takes the measure.
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

/// Microseconds for each notice that concerns so many of so many subscriptions, and for the bare lookups of its tokens.
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
        "{} subscriptions and not {size}",
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
        // Another one, because the bare lookups have warmed this one up.
        let tokens = self::tokens((number * STRIDE + groups / 2) % groups);
        let begun = Instant::now();
        let matched = black_box(index.candidates(&tokens).settle(|_| Some(&entity)));
        took.push(us(begun));
        ensure!(matched.len() == hits, "{} hits and not {hits}", matched.len());
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

/// What a notice says: a task of its own, in a list and a category of its own, is open.
fn tokens(group: usize) -> BTreeSet<Token> {
    let status = subtype("taskStatus", "open".to_owned());
    let category = subtype("category", format!("category-{group}"));
    BTreeSet::from([kind(), status, category, record(group), list(group)])
}

/// The subscriptions that it concerns. One of them asks about a record.
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
