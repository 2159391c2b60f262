//! Measures the size of a default agent's first request with all built-in tools, in each provider's format.

use anyhow::{Context as _, Result};

use super::fake::Fake;
use crate::Setting;
use crate::measure::{Measure, Target, most};
use crate::program::{ONE_ROUND, Site, wall_ms};

pub(crate) const NAME: &str = "first_request_bytes";

/// The formats, each with the variables of its key and its address.
const FORMATS: [(&str, &str, &str); 4] = [
    ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    ("openai-chat", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    ("gemini", "GEMINI_API_KEY", "GEMINI_BASE_URL"),
];

/// Approximate number of bytes per token in English and JSON.
const BYTES_PER_TOKEN: f64 = 4.0;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let fake = Fake::start()?;
    let mut sizes = Vec::new();
    for (provider, key, url) in FORMATS {
        let site = Site::new(&setting.folder.join(format!("first-{provider}")), ONE_ROUND)?;
        let variables = vec![
            (key, "no-key-but-as-long-as-one".to_owned()),
            (url, fake.url("whole", provider)),
        ];
        let site = site.asking(format!("{provider}/m"), variables);
        wall_ms(&mut setting.program.run(&site))?;
        let bytes = fake.seen().body_bytes.first().copied();
        sizes.push((provider, bytes.context("no request was sent")? as f64));
    }
    let all: Vec<f64> = sizes.iter().map(|(_, bytes)| *bytes).collect();
    let measure = Measure::most(NAME, "bytes", &all, Target::AtMost(12_000.0));
    let measure = measure.with("estimated_tokens", most(&all) / BYTES_PER_TOKEN);
    let with = |measure: Measure, (name, bytes): &(&str, f64)| measure.with(*name, *bytes);
    Ok(vec![sizes.iter().fold(measure, with)])
}
