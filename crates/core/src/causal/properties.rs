//! Property tests of causal records, compared with a slow reference that implements the definition
//! directly.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const HOSTS: [&str; 5] = ["h0", "h1", "h10", "h2", "h3"];

type Dot = (&'static str, u64);

/// The slow reference: a join examines every write.
#[derive(Debug, Clone, Default, PartialEq)]
struct Twin {
    vector: BTreeMap<&'static str, u64>,
    live: BTreeMap<String, BTreeMap<Dot, (u64, Value)>>,
    adds: BTreeMap<Dot, String>,
    processed: BTreeMap<String, BTreeSet<u64>>,
    loops_written: bool,
}

/// Keeps the writes that both sides have, and those that the other side has not seen.
fn join<T: Clone + PartialEq>(
    here: &mut BTreeMap<Dot, T>,
    there: &BTreeMap<Dot, T>,
    seen: impl Fn(&Dot) -> bool,
    theirs: impl Fn(&Dot) -> bool,
) {
    here.retain(|dot, _| there.contains_key(dot) || !theirs(dot));
    let fresh = there.iter().filter(|(dot, _)| !seen(dot));
    here.extend(fresh.map(|(dot, write)| (*dot, write.clone())));
}

impl Twin {
    fn write(&mut self, host: &'static str, field: &str, value: &Value) {
        if let Some(origin) = field.strip_prefix("processed.") {
            let counter = value.as_u64().expect("a counter");
            self.processed
                .entry(origin.to_owned())
                .or_default()
                .insert(counter);
            return;
        }
        if field == "slot.open_loop_ids" {
            self.loops_written = true;
            let (add, id) = (
                value.get("add").is_some(),
                value.as_object().expect("a map").values().next(),
            );
            let id = id.and_then(Value::as_str).expect("an id");
            self.adds.retain(|_, known| known != id);
            if add {
                let dot = self.dot(host);
                self.adds.insert(dot, id.to_owned());
            }
            return;
        }
        let dot = self.dot(host);
        let live = self.live.entry(field.to_owned()).or_default();
        let version = live.values().map(|(version, _)| *version).max().unwrap_or(0) + 1;
        *live = BTreeMap::from([(dot, (version, value.clone()))]);
    }

    fn dot(&mut self, host: &'static str) -> Dot {
        let counter = self.vector.entry(host).or_default();
        *counter += 1;
        (host, *counter)
    }

    fn join(&mut self, other: &Self) {
        let (ours, theirs) = (self.vector.clone(), &other.vector);
        let seen =
            |vector: &BTreeMap<&str, u64>, dot: &Dot| vector.get(dot.0).is_some_and(|seen| *seen >= dot.1);
        let fields: BTreeSet<String> = self.live.keys().chain(other.live.keys()).cloned().collect();
        let nothing = BTreeMap::new();
        for field in fields {
            let there = other.live.get(&field).unwrap_or(&nothing);
            let here = self.live.entry(field).or_default();
            join(here, there, |dot| seen(&ours, dot), |dot| seen(theirs, dot));
        }
        join(
            &mut self.adds,
            &other.adds,
            |dot| seen(&ours, dot),
            |dot| seen(theirs, dot),
        );
        for (host, counters) in &other.processed {
            self.processed.entry(host.clone()).or_default().extend(counters);
        }
        for (host, counter) in theirs {
            let known = self.vector.entry(host).or_default();
            *known = (*known).max(*counter);
        }
        self.loops_written |= other.loops_written;
    }

    /// Reads the fields by the literal rules, without any optimization.
    fn read(&self, previous: &BTreeMap<String, String>) -> BTreeMap<String, Value> {
        let mut read: BTreeMap<String, Value> = self
            .live
            .iter()
            .map(|(field, live)| (field.clone(), resolve(field, live, previous)))
            .collect();
        for (host, counters) in &self.processed {
            let through = (1..)
                .take_while(|counter| counters.contains(counter))
                .last()
                .unwrap_or(0);
            let also: Vec<u64> = counters
                .iter()
                .copied()
                .filter(|counter| *counter > through)
                .collect();
            read.insert(
                format!("processed.{host}"),
                json!({"through": through, "also": also}),
            );
        }
        if self.loops_written {
            let ids: BTreeSet<&String> = self.adds.values().collect();
            read.insert("slot.open_loop_ids".into(), json!(ids));
        }
        read
    }
}

fn resolve(field: &str, live: &BTreeMap<Dot, (u64, Value)>, previous: &BTreeMap<String, String>) -> Value {
    let values: Vec<&Value> = live
        .values()
        .map(|(_, value)| value)
        .filter(|value| !value.is_null())
        .collect();
    match field {
        "lifecycle" => {
            let order = ["destroyed", "dormant", "active", "created"];
            json!(order.into_iter().find(|word| values.contains(&&json!(word))))
        }
        // All times here have the same format, so their text order is their time order.
        "sleep_until" => json!(values.iter().filter_map(|value| value.as_str()).max()),
        "next_wake_at" => json!(values.iter().filter_map(|value| value.as_str()).min()),
        "failure_count" => json!(values.iter().filter_map(|value| value.as_u64()).max()),
        "recent_head" | "latest_summary" => {
            let pointers = live
                .iter()
                .filter_map(|((host, _), (_, value))| Some((*host, value.as_str()?)));
            let pointers: Vec<(&str, &str)> = pointers.collect();
            let is_before = |one, other| is_before(one, other, previous);
            let newest = pointers
                .iter()
                .filter(|(_, one)| !pointers.iter().any(|(_, other)| is_before(one, other)));
            json!(newest.max().map(|(_, id)| id))
        }
        _ => {
            let greatest = live
                .iter()
                .max_by_key(|((host, _), (version, _))| (*version, *host));
            greatest.map_or(Value::Null, |(_, (_, value))| value.clone())
        }
    }
}

fn is_before<'a>(one: &str, mut other: &'a str, previous: &'a BTreeMap<String, String>) -> bool {
    while let Some(before) = previous.get(other) {
        if before == one {
            return true;
        }
        other = before;
    }
    false
}

#[derive(Debug, Clone)]
enum Step {
    Write(usize, String, Value),
    Send(usize, usize),
}

fn write() -> impl Strategy<Value = (String, Value)> {
    let time = |day: u8| json!(format!("2026-01-{day:02}T00:00:00.000Z"));
    let maybe_time = prop_oneof![Just(json!(null)), (1_u8..5).prop_map(time)];
    let pointer = prop_oneof![1 => Just(json!(null)), 5 => (0_u8..8).prop_map(|id| json!(format!("m{id}")))];
    let word = prop_oneof![
        Just(json!(null)),
        (0_u8..4).prop_map(|word| json!(format!("w{word}")))
    ];
    let verb = prop_oneof![3 => Just("add"), 2 => Just("remove")];
    let counter = prop_oneof![4 => 1_u64..9, 2 => 1_u64..200, 1 => Just((1 << 53) - 1)];
    let named = |name: &'static str| move |value: Value| (name.to_owned(), value);
    prop_oneof![
        prop_oneof![3 => Just("active"), 2 => Just("dormant"), 1 => Just("created")]
            .prop_map(|word| ("lifecycle".into(), json!(word))),
        maybe_time.clone().prop_map(named("sleep_until")),
        maybe_time.prop_map(named("next_wake_at")),
        pointer.clone().prop_map(named("recent_head")),
        pointer.prop_map(named("latest_summary")),
        (0_u64..9).prop_map(|count| ("failure_count".into(), json!(count))),
        (0_u8..2, counter).prop_map(|(host, counter)| (format!("processed.p{host}"), json!(counter))),
        word.clone().prop_map(named("slot.primary_goal")),
        (0_u8..3, word.clone()).prop_map(|(key, word)| (format!("slot.preference.k{key}"), word)),
        (0_u8..3, word).prop_map(|(key, word)| (format!("slot.extension.a:k{key}"), json!([word]))),
        (verb, 0_u8..4)
            .prop_map(|(verb, id)| ("slot.open_loop_ids".into(), json!({ verb: format!("l{id}") }))),
    ]
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..HOSTS.len(), write()).prop_map(|(at, (field, value))| Step::Write(at, field, value)),
        2 => (0..HOSTS.len(), 0..HOSTS.len()).prop_map(|(from, to)| Step::Send(from, to)),
    ];
    proptest::collection::vec(step, 0..most)
}

/// Applies the steps and returns the replicas, each with its reference.
fn play(steps: &[Step]) -> Vec<(CausalRecord, Twin)> {
    let mut world = vec![(CausalRecord::new(), Twin::default()); HOSTS.len()];
    for step in steps {
        match step {
            Step::Write(at, field, value) => {
                let write = Write::parse(field, value).expect("a write");
                world[*at]
                    .0
                    .write(HOSTS[*at], write)
                    .expect("these steps never destroy the agent");
                world[*at].1.write(HOSTS[*at], field, value);
            }
            Step::Send(from, to) => {
                let (record, twin) = world[*from].clone();
                world[*to].0.join(&record);
                world[*to].1.join(&twin);
            }
        }
    }
    world
}

/// Two chains that branch: m1 after m0, m2 and m3 after m1, and so on.
fn previous() -> BTreeMap<String, String> {
    let pairs = [(1, 0), (2, 1), (3, 1), (4, 3), (5, 2)];
    pairs
        .map(|(id, before)| (format!("m{id}"), format!("m{before}")))
        .into()
}

fn joined(one: &CausalRecord, other: &CausalRecord) -> CausalRecord {
    let mut joined = one.clone();
    joined.join(other);
    joined
}

proptest! {
    // Conformance: L-085
    /// The optimized join and read give the same results as the reference.
    #[test]
    fn a_record_matches_its_definition(steps in steps(120)) {
        let ancestry = Ancestry::new(previous()).expect("a chain");
        let world = play(&steps);
        for (record, twin) in &world {
            prop_assert_eq!(record.read(&ancestry), twin.read(&previous()));
        }
        for (one, one_twin) in &world {
            for (other, other_twin) in &world {
                prop_assert_eq!(one.digest() == other.digest(), one_twin == other_twin);
            }
        }
    }

    // Conformance: L-087, L-094, L-210
    /// These three laws make the result independent of delivery order and repetition.
    #[test]
    fn joining_is_commutative_associative_and_idempotent(steps in steps(80)) {
        let world = play(&steps);
        for [(a, _), (b, _), (c, _)] in world.windows(3).filter_map(|three| three.as_array::<3>()) {
            prop_assert_eq!(joined(a, b).digest(), joined(b, a).digest());
            prop_assert_eq!(joined(&joined(a, b), c).digest(), joined(a, &joined(b, c)).digest());
            prop_assert_eq!(joined(a, a).digest(), a.digest());
            prop_assert_eq!(joined(&joined(a, b), b).digest(), joined(a, b).digest());
        }
    }

    // Conformance: L-094
    /// When every replica has received every write, by any route, all replicas hold the same bytes.
    #[test]
    fn many_replicas_converge(steps in steps(400), rounds in proptest::collection::vec((0..HOSTS.len(), 0..HOSTS.len()), 20)) {
        let mut world: Vec<CausalRecord> = play(&steps).into_iter().map(|(record, _)| record).collect();
        let ring = (0..2 * HOSTS.len()).map(|step| (step % HOSTS.len(), (step + 1) % HOSTS.len()));
        for (from, to) in rounds.into_iter().chain(ring) {
            let record = world[from].clone();
            world[to].join(&record);
        }
        let ancestry = Ancestry::new(previous()).expect("a chain");
        for record in &world {
            prop_assert_eq!(record.digest(), world[0].digest());
            prop_assert_eq!(record.read(&ancestry), world[0].read(&ancestry));
        }
    }

    // Conformance: L-093
    /// Times affect only the value of time fields; no other conflict is decided by a clock.
    #[test]
    fn no_clock_settles_a_conflict(steps in steps(80), shift in 1_u8..20) {
        let moved = steps.iter().map(|step| match step {
            Step::Write(at, field, value) => {
                let day = value.as_str().filter(|_| field.ends_with("_at") || field.ends_with("_until"));
                let value = day.map_or(value.clone(), |_| json!(format!("2027-01-{shift:02}T00:00:00.000Z")));
                Step::Write(*at, field.clone(), value)
            }
            Step::Send(from, to) => Step::Send(*from, *to),
        });
        let moved: Vec<Step> = moved.collect();
        let ancestry = Ancestry::new(previous()).expect("a chain");
        for ((here, _), (there, _)) in play(&steps).iter().zip(play(&moved)) {
            let (mut here, mut there) = (here.read(&ancestry), there.read(&ancestry));
            for field in ["sleep_until", "next_wake_at"] {
                here.remove(field);
                there.remove(field);
            }
            prop_assert_eq!(here, there);
        }
    }
}
