//! Measures how fast the output of a command is searched for 20 secrets in all their forms, compared with copying it.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use wakeful_core::redact::Redactor;

use crate::Setting;
use crate::measure::{Measure, Target};

pub(crate) const NAME: &str = "redact_mb_per_s";

const SECRETS: usize = 20;

/// A read of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let secret = |n: usize| (format!("SECRET_{n}"), format!("sk-{n:02}-{}", "q7Zx".repeat(10)));
    let redactor = Redactor::new(&(0..SECRETS).map(secret).collect::<BTreeMap<_, _>>());
    let line = "   Compiling serde v1.0.228 (/home/me/work/crates/core) in 0.41s, 3 warnings emitted\n";
    let chunk: Vec<u8> = line.bytes().cycle().take(CHUNK_BYTES).collect();
    ensure!(redactor.bytes(&chunk).is_none(), "ordinary output has no secret");
    let mb_per_s = |began: Instant| CHUNK_BYTES as f64 / 1e6 / began.elapsed().as_secs_f64();
    let (mut searched, mut copied) = (Vec::new(), Vec::new());
    let mut stream = redactor.stream();
    for _ in 0..setting.effort.pick(200, 5_000) {
        let began = Instant::now();
        black_box(stream.push(black_box(&chunk)));
        searched.push(mb_per_s(began));
        let began = Instant::now();
        black_box(black_box(&chunk).clone());
        copied.push(mb_per_s(began));
    }
    let measure = Measure::median(NAME, "MB/s", &searched, Target::AtLeast(500.0));
    let measure = measure.beside("copying the same bytes", &copied);
    Ok(vec![measure.with("secrets", SECRETS as f64)])
}
