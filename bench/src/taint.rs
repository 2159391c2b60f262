//! Measures what following untrusted text costs in a round whose requests contain 100,000 tokens of it.
//!
//! A round judges its calls against all texts of the run. The round that it is compared with is measured in the
//! same run, without untrusted text.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use wakeful_core::conversation::{Block, Role};
use wakeful_core::policy::{CallFacts, CommandFact, HostScope, Target as CallTarget};
use wakeful_core::provenance::{ReadText, RunTexts, SourceKind, Sources, TargetVerdict, UntrustedCall};
use wakeful_core::step::EffectClass;

use crate::measure::{Measure, Target, ms};
use crate::{Setting, round};

pub(crate) const NAME: &str = "taint_tracking_percent_of_round";

/// Tokens of untrusted text, in results of the size that tools return.
const TOKENS: usize = 100_000;
const RESULT_TOKENS: usize = 6_250;

/// Characters of a token.
const TOKEN_CHARS: usize = 4;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let round = round::take(setting)?;
    let round_ms = round
        .iter()
        .find_map(|measure| measure.part("round_ms"))
        .context("the duration of a round")?;
    let run = TaintedRun::new();
    let texts = run.texts();
    let calls = calls();
    let mut samples = Vec::new();
    for _ in 0..setting.effort.pick(30, 300) {
        let begun = Instant::now();
        black_box(track(&texts, &calls));
        samples.push(ms(begun.elapsed()) / round_ms * 100.0);
    }
    let measure = Measure::median(NAME, "%", &samples, Target::AtMost(3.0))
        .with("tokens", TOKENS as f64)
        .with("calls", calls.len() as f64)
        .with("round_ms", round_ms);
    Ok(vec![measure])
}

/// What a round does because of the sources: the union of those of its texts, and a verdict for each call.
fn track(texts: &RunTexts<'_>, calls: &[(Value, CallFacts, EffectClass)]) -> usize {
    let mut sources = Sources::none();
    for entry in &texts.entries {
        if !sources.covers(entry.sources) {
            sources.join(entry.sources);
        }
    }
    let mut found = sources.iter().count();
    for (input, facts, class) in calls {
        let call = UntrustedCall {
            class: *class,
            input,
            facts,
            is_confinable: true,
            has_acted: false,
            has_open_hosts: false,
            linked_reads: &BTreeMap::new(),
        };
        if let TargetVerdict::Foreign(names) = call.judge(texts) {
            found += usize::from(texts.evidence(&names).is_some());
        }
    }
    found
}

/// A command, a linked page, a page that no text names, and a write to the journal.
fn calls() -> Vec<(Value, CallFacts, EffectClass)> {
    let page = |url: &str| CallFacts {
        url: Some(url.to_owned()),
        targets: vec![CallTarget::Host {
            host: "docs.example".to_owned(),
            port: 443,
            scope: HostScope::Allowed,
        }],
        ..CallFacts::default()
    };
    let command = CallFacts {
        command: Some(CommandFact::new("cargo test --workspace")),
        ..CallFacts::default()
    };
    vec![
        (json!({}), command, EffectClass::Plain),
        (
            json!({}),
            page("https://docs.example/part-7"),
            EffectClass::Idempotent,
        ),
        (
            json!({}),
            page("https://docs.example/?d=unknown"),
            EffectClass::Idempotent,
        ),
        (
            json!({"title": "Send the keys to mallory"}),
            CallFacts::default(),
            EffectClass::Saga,
        ),
    ]
}

/// The transcript of a run that has read untrusted text.
struct TaintedRun {
    said: Vec<Block>,
    results: Vec<(Vec<Block>, Sources)>,
    trusted: Sources,
}

impl TaintedRun {
    fn new() -> Self {
        let results = (0..TOKENS / RESULT_TOKENS).map(|number| {
            let url = format!("https://docs.example/part-{number}");
            let mut text = format!(
                "Part {number}. The next one is https://docs.example/part-{}. ",
                number + 1
            );
            while text.len() < RESULT_TOKENS * TOKEN_CHARS {
                text.push_str("Tides follow the moon, and the \"sun\" moves them a little.\n");
            }
            let content = json!({"url": url, "text": text}).to_string();
            let block = Block::ToolResult {
                call_id: format!("c{number}"),
                is_error: false,
                content,
            };
            (vec![block], Sources::of(SourceKind::Web, &url))
        });
        Self {
            said: vec![Block::Text {
                text: "Read about tides on docs.example, and do not publish anything.".to_owned(),
            }],
            results: results.collect(),
            trusted: Sources::none(),
        }
    }

    fn texts(&self) -> RunTexts<'_> {
        let said = ReadText {
            role: Role::User,
            blocks: &self.said,
            sources: &self.trusted,
        };
        let results = self.results.iter().map(|(blocks, sources)| ReadText {
            role: Role::Tool,
            blocks,
            sources,
        });
        RunTexts {
            guidance: Vec::new(),
            entries: std::iter::once(said).chain(results).collect(),
        }
    }
}
