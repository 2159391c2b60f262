//! Measures memory during many concurrent streams: our client alone, and the daemon with as many agents as
//! it runs together.

use std::process::Command;

use anyhow::{Result, ensure};
use wakeful_runtime::service::AGENTS_AT_ONCE_MAX;

use super::client::Used;
use super::fake::Fake;
use super::forward::variables;
use crate::Setting;
use crate::measure::{Measure, Target};
use crate::serve::daemon::{Daemon, furnished};

pub(crate) const NAME: &str = "model_200_streams_peak_mb";

/// Concurrently open streams.
const STREAMS: usize = 200;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let many = alone(STREAMS)?;
    let one = alone(1)?;
    let measure = Measure::most(NAME, "MB", &[many], Target::AtMost(60.0));
    Ok(vec![
        measure
            .beside("one stream", &[one])
            .with("kb_per_stream", (many - one) * 1e3 / STREAMS as f64)
            .with("daemon_streams", AGENTS_AT_ONCE_MAX as f64)
            .with("daemon_peak_mb", daemon(setting, AGENTS_AT_ONCE_MAX)?),
    ])
}

/// Our client with this many streams in one process. None of them ends before all have started.
fn alone(streams: usize) -> Result<f64> {
    let fake = Fake::start()?;
    let url = fake.url(&format!("held-{streams}"), "openai");
    let mut command = Command::new(std::env::current_exe()?);
    let count = streams.to_string();
    command.args([
        "client",
        "--provider",
        "openai",
        "--at-once",
        "--url",
        &url,
        "--count",
        &count,
    ]);
    let ended = command.output()?;
    ensure!(
        ended.status.success(),
        "the client failed: {}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let used: Used = serde_json::from_slice(&ended.stdout)?;
    Ok(used.peak_mb)
}

/// The daemon with one agent per stream and one listener for each.
fn daemon(setting: &Setting, agents: usize) -> Result<f64> {
    let fake = Fake::start()?;
    let manner = format!("held-{agents}");
    let site = furnished(setting, "crowd")?.asking("openai/m".to_owned(), variables(&fake, &manner));
    let daemon = Daemon::start(setting, &site)?;
    let names: Vec<String> = (0..agents).map(|number| format!("crowd-{number}")).collect();
    let mut listening = Vec::new();
    for name in &names {
        daemon.make_agent(&site, name)?;
        listening.push(daemon.follow(name)?);
    }
    for (number, name) in names.iter().enumerate() {
        daemon.line()?.ask(&daemon.message(name, number))?;
    }
    for events in &mut listening {
        events.times_of(r#""kind":"run_ended""#, 1)?;
    }
    let peak = daemon.peak_mb()?;
    daemon.end()?;
    Ok(peak)
}
