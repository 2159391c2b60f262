//! Unit tests of writes, joins and reads.

use serde_json::{Value, json};

use super::*;

/// Writes `value` to `field` as `host`.
#[expect(
    clippy::needless_pass_by_value,
    reason = "calls read better with the value in place"
)]
pub(super) fn write(record: &mut CausalRecord, host: &str, field: &str, value: Value) {
    let write = Write::parse(field, &value).expect("a write");
    record.write(host, write).expect("not destroyed");
}

/// Joins, in the given order, replicas that each wrote one value to the same field concurrently.
fn concurrent(field: &str, values: &[(&str, Value)]) -> CausalRecord {
    let mut joined = CausalRecord::new();
    for (host, value) in values {
        let mut record = CausalRecord::new();
        write(&mut record, host, field, value.clone());
        joined.join(&record);
    }
    joined
}

/// Reads a field after these concurrent writes, and checks that the order of joins does not matter.
fn read(field: &str, values: &[(&str, Value)], ancestry: &Ancestry) -> Value {
    let mut backwards = values.to_vec();
    backwards.reverse();
    let (here, there) = (concurrent(field, values), concurrent(field, &backwards));
    assert_eq!(here.digest(), there.digest());
    assert_eq!(here.read(ancestry), there.read(ancestry));
    here.read(ancestry).remove(field).expect("written")
}

fn messages(previous: &[(&str, &str)]) -> Result<Ancestry, AncestryCycle> {
    let previous = previous
        .iter()
        .map(|(id, before)| ((*id).to_owned(), (*before).to_owned()));
    Ancestry::new(previous.collect())
}

fn none() -> Ancestry {
    Ancestry::default()
}

// Conformance: L-028, L-088
#[test]
fn the_most_severe_of_concurrent_lifecycles_is_read() {
    let all = ["created", "active", "dormant", "destroyed"];
    for (i, here) in all.iter().enumerate() {
        for (j, there) in all.iter().enumerate() {
            let values = [("a", json!(here)), ("b", json!(there))];
            assert_eq!(read("lifecycle", &values, &none()), json!(all[i.max(j)]));
        }
    }
}

#[test]
fn a_destroyed_agent_accepts_no_other_lifecycle() {
    let mut record = CausalRecord::new();
    write(&mut record, "a", "lifecycle", json!("destroyed"));
    assert_eq!(
        record.write("b", Write::Lifecycle(Lifecycle::Active)),
        Err(AgentDestroyed)
    );
    assert_eq!(record.write("b", Write::Lifecycle(Lifecycle::Destroyed)), Ok(()));
    let mut unaware = CausalRecord::new();
    write(&mut unaware, "c", "lifecycle", json!("active"));
    unaware.join(&record);
    assert_eq!(unaware.lifecycle(), Some(Lifecycle::Destroyed));
    assert_eq!(
        unaware.write("c", Write::Lifecycle(Lifecycle::Active)),
        Err(AgentDestroyed)
    );
}

// Conformance: L-092
#[test]
fn concurrent_times_read_as_latest_barrier_and_earliest_wake() {
    let (early, late) = ("2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z");
    let values = [
        ("a", json!("2026-01-01T01:00:00+01:00")),
        ("b", json!(null)),
        ("c", json!(late)),
    ];
    assert_eq!(read("sleep_until", &values, &none()), json!(late));
    assert_eq!(
        read("next_wake_at", &values, &none()),
        json!(early),
        "a null loses"
    );
    assert_eq!(read("sleep_until", &values[1..2], &none()), json!(null));
}

// Conformance: L-090
#[test]
fn the_greatest_live_failure_count_is_read() {
    let values = [("a", json!(3)), ("b", json!(7))];
    assert_eq!(read("failure_count", &values, &none()), json!(7));
    let mut record = concurrent("failure_count", &values);
    write(&mut record, "a", "failure_count", json!(0));
    assert_eq!(record.read(&none())["failure_count"], json!(0));
}

// Conformance: L-089
#[test]
fn concurrent_pointers_drop_ancestors_then_the_greatest_host_wins() {
    let chain = messages(&[("m2", "m1"), ("m3", "m2"), ("x", "m1")]).expect("a chain");
    let values = [("h2", json!("m1")), ("h0", json!("m3")), ("h1", json!(null))];
    assert_eq!(read("recent_head", &values, &chain), json!("m3"));
    let values = [("h2", json!("m1")), ("h0", json!("m3")), ("h1", json!("x"))];
    assert_eq!(
        read("latest_summary", &values, &chain),
        json!("x"),
        "two branches"
    );
    assert_eq!(
        read("recent_head", &values, &none()),
        json!("m1"),
        "nothing is known of them"
    );
    // Hosts are compared as text, not as numbers.
    let values = [("h10", json!("p")), ("h2", json!("q"))];
    assert_eq!(read("recent_head", &values, &none()), json!("q"));
}

#[test]
fn a_cycle_of_messages_is_rejected_and_named() {
    assert_eq!(messages(&[("m1", "m1")]).err(), Some(AncestryCycle("m1".into())));
    let Err(AncestryCycle(id)) = messages(&[("ok", "root"), ("tail", "m2"), ("m1", "m2"), ("m2", "m1")])
    else {
        panic!("there is no beginning");
    };
    assert!(id == "m1" || id == "m2", "{id}");
}

// Conformance: L-091, L-210
#[test]
fn the_greater_slot_version_wins_then_the_greater_host() {
    let field = "slot.preference.tone.of.voice";
    assert_eq!(
        read(field, &[("a", json!("dry")), ("b", json!(null))], &none()),
        json!(null)
    );
    let (mut a, mut b) = (CausalRecord::new(), CausalRecord::new());
    write(&mut a, "a", field, json!("one"));
    write(&mut a, "a", field, json!("two"));
    write(&mut b, "b", field, json!("three"));
    b.join(&a);
    assert_eq!(
        b.read(&none())[field],
        json!("two"),
        "version 2 against version 1"
    );
    write(&mut b, "b", field, json!("four"));
    a.join(&b);
    assert_eq!(a.read(&none())[field], json!("four"));
}

// Conformance: L-091
#[test]
fn each_preference_and_extension_has_its_own_version() {
    let (mut a, mut b) = (CausalRecord::new(), CausalRecord::new());
    for value in 0..3 {
        write(&mut a, "a", "slot.extension.app:x", json!({ "n": value }));
    }
    write(&mut b, "b", "slot.extension.app:y", json!([1.5, null]));
    write(&mut b, "b", "slot.extension.app:x", json!("late"));
    a.join(&b);
    let read = a.read(&none());
    assert_eq!(read["slot.extension.app:x"], json!({"n": 2}));
    assert_eq!(read["slot.extension.app:y"], json!([1.5, null]));
}

#[test]
fn an_add_wins_over_a_concurrent_remove() {
    let field = "slot.open_loop_ids";
    let mut a = CausalRecord::new();
    write(&mut a, "a", field, json!({"add": "x"}));
    let mut b = a.clone();
    write(&mut b, "b", field, json!({"remove": "x"}));
    assert_eq!(b.read(&none())[field], json!([]));
    let mut told = a.clone();
    told.join(&b);
    assert_eq!(
        told.read(&none())[field],
        json!([]),
        "the remove had seen the add"
    );
    write(&mut a, "a", field, json!({"add": "x"}));
    write(&mut a, "a", field, json!({"add": "é"}));
    a.join(&b);
    assert_eq!(
        a.read(&none())[field],
        json!(["x", "é"]),
        "it had not seen this one"
    );
    let mut nothing = CausalRecord::new();
    write(&mut nothing, "a", field, json!({"remove": "x"}));
    let mut other = CausalRecord::new();
    other.join(&nothing);
    assert_eq!(
        other.read(&none())[field],
        json!([]),
        "that it was written is known"
    );
}

// Conformance: L-085
#[test]
fn a_write_replaces_only_what_its_author_has_seen() {
    let (mut a, mut b) = (CausalRecord::new(), CausalRecord::new());
    write(&mut a, "a", "failure_count", json!(9));
    write(&mut b, "b", "failure_count", json!(1));
    write(&mut b, "b", "failure_count", json!(2));
    a.join(&b);
    assert_eq!(a.read(&none())["failure_count"], json!(9));
    b.join(&a);
    write(&mut b, "b", "failure_count", json!(3));
    a.join(&b);
    assert_eq!(a.read(&none())["failure_count"], json!(3));
}

// Conformance: L-086
#[test]
fn a_replaced_write_never_returns() {
    let mut old = CausalRecord::new();
    write(&mut old, "a", "failure_count", json!(5));
    let mut new = old.clone();
    write(&mut new, "b", "failure_count", json!(0));
    let digest = new.digest();
    new.join(&old);
    assert_eq!(
        (new.read(&none())["failure_count"].clone(), new.digest()),
        (json!(0), digest)
    );
}

#[test]
fn a_record_sent_to_itself_changes_nothing() {
    let mut record = concurrent("failure_count", &[("a", json!(3)), ("b", json!(7))]);
    write(&mut record, "a", "slot.open_loop_ids", json!({"add": "x"}));
    write(&mut record, "a", "processed.z", json!(4));
    let (digest, same) = (record.digest(), record.clone());
    record.join(&same);
    assert_eq!(record.digest(), digest);
}

#[test]
fn equal_values_of_different_histories_have_different_digests() {
    let (mut a, mut b) = (CausalRecord::new(), CausalRecord::new());
    write(&mut a, "a", "failure_count", json!(1));
    write(&mut b, "b", "failure_count", json!(1));
    assert_eq!(a.read(&none()), b.read(&none()));
    assert_ne!(a.digest(), b.digest());
}

// Conformance: L-095
#[test]
fn runtime_fields_are_not_part_of_a_record() {
    for field in [
        "run_status",
        "failure_streak",
        "hot_message_count",
        "updated_at",
        "slot",
        "slot.",
        "",
    ] {
        let error = Write::parse(field, &json!("x")).expect_err("no field");
        assert_eq!(error, FormError::Field(field.into()));
    }
}

// Conformance: L-024
#[test]
fn a_value_of_the_wrong_type_is_rejected_with_its_field() {
    let bad = [
        ("lifecycle", json!("asleep")),
        ("lifecycle", json!(null)),
        ("sleep_until", json!("2026-01-01")),
        ("next_wake_at", json!(5)),
        ("recent_head", json!(5)),
        ("failure_count", json!(-1)),
        ("failure_count", json!(1.5)),
        ("failure_count", json!(9_007_199_254_740_992_u64)),
        ("processed.h", json!(0)),
        ("slot.primary_goal", json!(["x"])),
        ("slot.open_loop_ids", json!({"add": "x", "remove": "y"})),
        ("slot.open_loop_ids", json!({"add": 1})),
        ("slot.open_loop_ids", json!([])),
        ("slot.preference.a", json!(1)),
    ];
    for (field, value) in bad {
        let error = Write::parse(field, &value).expect_err("not of this form");
        assert!(error.to_string().contains(field), "{error}");
        assert!(matches!(error, FormError::Value { .. }), "{error}");
    }
    for field in [
        "processed.",
        "slot.preference.",
        "slot.extension.",
        "slot.extension.bare",
    ] {
        let error = Write::parse(field, &json!("x")).expect_err("no key");
        assert_eq!(error, FormError::Field(field.into()));
    }
}

/// Many steps in one request, and the longest chain of messages it allows.
#[test]
fn a_long_history_does_not_slow_down_later_steps() {
    let mut replicas = vec![CausalRecord::new(); 4];
    for step in 0..6_000_u64 {
        let at = usize::try_from(step % 4).expect("small");
        let field =
            ["processed.z", "slot.open_loop_ids", "recent_head"][usize::try_from(step % 3).expect("small")];
        let value = match step % 3 {
            0 => json!((step * 7_919) % 20_011 + 1),
            1 => json!({ "add": format!("loop {step}") }),
            _ => json!(format!("m{step}")),
        };
        write(&mut replicas[at], ["a", "b", "c", "d"][at], field, value);
        if step % 8 < 4 {
            CausalRecord::send(&mut replicas, at, (at + 1) % 4);
        }
    }
    let chain = (1..100_000).map(|n| (format!("m{n}"), format!("m{}", n - 1)));
    let chain = Ancestry::new(chain.collect()).expect("a chain");
    for record in &replicas {
        assert!(record.read(&chain)["recent_head"].is_string());
    }
}
