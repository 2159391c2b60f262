//! Counterexamples for simpler merge rules, each showing why the rule fails.

use std::collections::BTreeMap;

use serde_json::json;

use super::tests::write;
use super::{Ancestry, CausalRecord};

/// A snapshot with its vector clock, as the rejected rule merges it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Snapshot {
    clock: BTreeMap<&'static str, u64>,
    failures: u64,
}

fn snapshot(clock: &[(&'static str, u64)], failures: u64) -> Snapshot {
    Snapshot {
        clock: clock.iter().copied().collect(),
        failures,
    }
}

impl Snapshot {
    fn is_within(&self, other: &Self) -> bool {
        self.clock
            .iter()
            .all(|(host, seen)| other.clock.get(host).is_some_and(|theirs| theirs >= seen))
    }

    /// The dominating snapshot replaces the other; concurrent snapshots are merged per field, here by the
    /// greater count.
    fn merge(&self, other: &Self) -> Self {
        match (self.is_within(other), other.is_within(self)) {
            (true, false) => other.clone(),
            (false, true) => self.clone(),
            (true, true) | (false, false) => {
                let mut clock = self.clock.clone();
                for (host, theirs) in &other.clock {
                    let seen = clock.entry(host).or_default();
                    *seen = (*seen).max(*theirs);
                }
                Self {
                    clock,
                    failures: self.failures.max(other.failures),
                }
            }
        }
    }
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Three replicas receive the same three updates. Joining them in another order gives another state with
/// the same vector clock, so nothing ever repairs the difference.
#[test]
fn pairwise_snapshot_merges_depend_on_their_order() {
    let updates = [
        snapshot(&[("a", 1)], 5),
        snapshot(&[("b", 1)], 0),
        snapshot(&[("a", 2)], 0),
    ];
    let ends = ORDERS.map(|[x, y, z]| updates[x].merge(&updates[y]).merge(&updates[z]));
    assert!(
        ends.iter().all(|end| end.clock == ends[0].clock),
        "all replicas have the same updates"
    );
    assert_eq!(ends.iter().filter(|end| end.failures == 5).count(), 2);
    assert_eq!(ends.iter().filter(|end| end.failures == 0).count(), 4);
}

#[test]
fn joining_live_writes_gives_one_result_in_every_order() {
    let mut first = CausalRecord::new();
    write(&mut first, "a", "failure_count", json!(5));
    let mut second = CausalRecord::new();
    write(&mut second, "b", "failure_count", json!(0));
    let mut third = first.clone();
    write(&mut third, "a", "failure_count", json!(0));
    let updates = [first, second, third];
    let ends = ORDERS.map(|order| {
        let mut end = CausalRecord::new();
        order.into_iter().for_each(|at| end.join(&updates[at]));
        (
            end.digest(),
            end.read(&Ancestry::default())["failure_count"].clone(),
        )
    });
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
    assert_eq!(ends[0].1, json!(0), "the five was replaced");
}

// Conformance: L-086
/// Two replicas suffice: one writes another field and carries the old count along, and the merge per field
/// treats the carried value as a write.
#[test]
fn an_inherited_value_beats_a_fresh_write_only_under_the_rejected_rule() {
    let carried = snapshot(&[("a", 2)], 5);
    let fresh = snapshot(&[("a", 1), ("b", 1)], 0);
    assert_eq!(carried.merge(&fresh).failures, 5, "the rule that fails");

    let mut a = CausalRecord::new();
    write(&mut a, "a", "failure_count", json!(5));
    let mut b = a.clone();
    write(&mut a, "a", "slot.primary_goal", json!("another field"));
    write(&mut b, "b", "failure_count", json!(0));
    a.join(&b);
    assert_eq!(a.read(&Ancestry::default())["failure_count"], json!(0));
}

// Conformance: L-087
/// Changes 1, 2 and 5 have arrived and were processed; 3 and 4 arrive later, by backfill.
#[test]
fn a_bare_maximum_loses_the_wakes_of_late_arrivals() {
    let arrived = [1, 2, 5];
    let watermark = arrived.into_iter().max().expect("some");
    assert!(
        [3, 4].iter().all(|late| *late <= watermark),
        "the rule that fails: both count as processed"
    );

    let mut record = CausalRecord::new();
    arrived
        .iter()
        .for_each(|counter| write(&mut record, "a", "processed.phone", json!(counter)));
    let read = |record: &CausalRecord| record.read(&Ancestry::default())["processed.phone"].clone();
    assert_eq!(
        read(&record),
        json!({"through": 2, "also": [5]}),
        "neither 3 nor 4 is processed"
    );
    let mut other = CausalRecord::new();
    [3, 4, 7]
        .iter()
        .for_each(|counter| write(&mut other, "b", "processed.phone", json!(counter)));
    record.join(&other);
    assert_eq!(read(&record), json!({"through": 5, "also": [7]}));
}

// Conformance: L-089
/// A descendant beats its ancestor; unrelated pointers are decided by the greater host. Pairwise, m2 beats
/// m1, m1 beats x, and x beats m2.
#[test]
fn pairwise_comparison_of_pointers_is_cyclic() {
    let is_ancestor = |one: &str, other: &str| one == "m1" && other == "m2";
    let better = |one: (&'static str, &'static str), other: (&'static str, &'static str)| {
        if is_ancestor(one.1, other.1) {
            other
        } else if is_ancestor(other.1, one.1) {
            one
        } else {
            one.max(other)
        }
    };
    let written = [("h0", "m2"), ("h1", "x"), ("h2", "m1")];
    let mut ends = ORDERS.map(|[x, y, z]| better(better(written[x], written[y]), written[z]).1);
    ends.sort_unstable();
    assert_eq!(ends, ["m1", "m1", "m2", "m2", "x", "x"], "the rule that fails");

    let chain = Ancestry::new(BTreeMap::from([("m2".into(), "m1".into())])).expect("a chain");
    let ends = ORDERS.map(|order| {
        let mut end = CausalRecord::new();
        for at in order {
            let mut record = CausalRecord::new();
            write(&mut record, written[at].0, "recent_head", json!(written[at].1));
            end.join(&record);
        }
        end.read(&chain)["recent_head"].clone()
    });
    assert!(ends.iter().all(|end| *end == json!("x")), "{ends:?}");
}
