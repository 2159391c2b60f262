//! Measures the join of two records, compared with merging two plain maps of as many fields.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use serde_json::json;
use wakeful_core::causal::{CausalRecord, Write};

use crate::Setting;
use crate::measure::{Measure, Target};

pub(crate) const NAME: &str = "causal_join_us";

const FIELDS: usize = 50;

const JOINS: usize = 100;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let base = record(&CausalRecord::new(), "h0", "first")?;
    let (here, there) = (record(&base, "h1", "here")?, record(&base, "h2", "there")?);
    let (ours, theirs) = (map(1), map(2));
    let (mut concurrent, mut newer, mut same, mut bare) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setting.effort.pick(5, 101) {
        concurrent.push(per_join(&here, |record| record.join(black_box(&there))));
        newer.push(per_join(&base, |record| record.join(black_box(&there))));
        same.push(per_join(&there, |record| record.join(black_box(&there))));
        bare.push(per_join(&ours, |ours| {
            for (field, value) in black_box(&theirs) {
                let mine = ours.entry(field.clone()).or_default();
                *mine = (*mine).max(*value);
            }
        }));
    }
    let measure = Measure::median(NAME, "µs", &concurrent, Target::Below(20.0));
    let measure = measure.beside("two maps of 50 names merged by the greater number", &bare);
    Ok(vec![
        measure
            .with("fields", FIELDS as f64)
            .with("all_newer_us", crate::measure::median(&newer))
            .with("nothing_new_us", crate::measure::median(&same)),
    ])
}

/// A record in which a host that has seen another record wrote every field.
fn record(seen: &CausalRecord, host: &str, word: &str) -> Result<CausalRecord> {
    let mut record = seen.clone();
    for field in 0..FIELDS {
        let (name, value) = match field % 5 {
            0 => (
                format!("slot.extension.app:{field}"),
                json!({"word": word, "field": field}),
            ),
            _ => (format!("slot.preference.{field}"), json!(word)),
        };
        record.write(host, Write::parse(&name, &value)?)?;
    }
    Ok(record)
}

fn map(value: u64) -> BTreeMap<String, u64> {
    (0..FIELDS)
        .map(|field| (format!("slot.preference.{field}"), value))
        .collect()
}

/// Microseconds of one piece of work on a fresh copy, without the copying.
fn per_join<T: Clone>(fresh: &T, work: impl Fn(&mut T)) -> f64 {
    let mut copies = vec![fresh.clone(); JOINS];
    let begun = Instant::now();
    copies.iter_mut().for_each(work);
    let took = begun.elapsed().as_secs_f64();
    black_box(&copies);
    took * 1e6 / JOINS as f64
}
