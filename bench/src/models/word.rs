//! Measures the delay of the first word of `wakeful run` in a terminal: from the provider's write to the
//! arrival in the terminal.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use super::fake::Fake;
use super::forward::variables;
use crate::Setting;
use crate::measure::{Measure, Target, median, ms};
use crate::program::{ONE_ROUND, Site, wall_ms};
use crate::serve::stream::ping_pong_ms;

pub(crate) const NAME: &str = "run_first_word_p95_ms";

/// The first word that the fake provider writes.
const WORD: &[u8] = b"word";

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let fake = Fake::start()?;
    let folder = setting.folder.join("word");
    let site = Site::new(&folder, ONE_ROUND)?.asking("openai/m".to_owned(), variables(&fake, "paced"));
    // Creates the home.
    wall_ms(&mut setting.program.run(&site))?;
    let runs = setting.effort.pick(10, 50);
    let mut late = Vec::new();
    for _ in 0..runs {
        drop(fake.seen());
        let seen = first_word(setting, &site)?;
        let written = fake.seen().tokens.first().copied();
        let written = written.context("the provider was not asked")?;
        late.push(ms(seen.saturating_duration_since(written)));
    }
    let bare = ping_pong_ms(runs)?;
    Ok(vec![
        Measure::p95(NAME, "ms", &late, Target::AtMost(5.0))
            .beside_p95("a byte there and back over loopback, at a slow pace", &bare)
            .with("median_ms", median(&late)),
    ])
}

/// Runs the program in a terminal and returns when its first word arrived. `script` of util-linux provides the terminal.
fn first_word(setting: &Setting, site: &Site) -> Result<Instant> {
    let run = setting.program.run_for_a_person(site);
    let words = std::iter::once(run.get_program()).chain(run.get_args());
    let words: Vec<String> = words
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let mut terminal = Command::new("script");
    terminal.args([
        "--quiet",
        "--return",
        "--flush",
        "--command",
        &words.join(" "),
        "/dev/null",
    ]);
    terminal.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    terminal.env("TERM", "xterm");
    terminal
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = terminal.spawn().context("starting script")?;
    let mut output = child.stdout.take().context("its output")?;
    let (mut seen, mut text, mut chunk) = (None, Vec::new(), [0; 4_096]);
    loop {
        let count = output.read(&mut chunk)?;
        let now = Instant::now();
        text.extend_from_slice(chunk.get(..count).unwrap_or_default());
        if seen.is_none() && text.windows(WORD.len()).any(|found| found == WORD) {
            seen = Some(now);
        }
        if count == 0 {
            break;
        }
    }
    ensure!(
        child.wait()?.success(),
        "the run failed: {}",
        String::from_utf8_lossy(&text)
    );
    seen.context("the run wrote no word")
}
