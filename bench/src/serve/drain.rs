//! Measures how a queue is drained: the cost of a message from the time the agent resumes, when the model
//! responds at once and calls no tool.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::commits::Commits;
use super::daemon::{Daemon, furnished};
use super::enqueue::{ACCEPTED, send_all};
use crate::Setting;
use crate::measure::{Measure, Target, median, ms};
use crate::parallel::commits;

pub(crate) const NAME: &str = "drain_ms_per_message";

/// Messages in the queue.
const MESSAGES: usize = 200;

/// Messages at either end that are measured separately: the difference shows what grows with the
/// conversation.
const SOME: usize = 20;

/// Minimum number of commits per message: the start of its run, and its end with the answer.
const COMMITS: usize = 2;

/// Connections for filling the queue, which is not measured.
const LINES: usize = 16;

/// The samples, per message.
#[derive(Default)]
struct Taken {
    here_ms: Vec<f64>,
    bare_ms: Vec<f64>,
    first_ms: Vec<f64>,
    last_ms: Vec<f64>,
    commits: Vec<f64>,
    daemon_ms: Vec<f64>,
    written: Vec<f64>,
}

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "drain")?;
    let plain = Commits::open(&site.workspace.join("bare.sqlite"))?;
    let daemon = Daemon::start(setting, &site)?;
    let mut lines = (0..LINES).map(|_| daemon.line()).collect::<Result<Vec<_>>>()?;
    let mut taken = Taken::default();
    for pass in 0..setting.effort.pick(3, 7) {
        // Each pass has its own agent, so that the conversation does not grow from pass to pass.
        let agent = format!("bench-{pass}");
        daemon.make_agent(&site, &agent)?;
        daemon.pause(&agent)?;
        let requests: Vec<Vec<u8>> = (0..MESSAGES)
            .map(|number| daemon.message(&agent, number))
            .collect();
        send_all(&mut lines, &requests, ACCEPTED)?;
        taken.pass(&daemon, &agent, &site.database())?;
        taken
            .bare_ms
            .push(each_ms(plain.time(MESSAGES * COMMITS, 1)?, MESSAGES));
    }
    daemon.end()?;
    Ok(vec![taken.told()])
}

impl Taken {
    /// Resumes an agent and waits until it has answered everything.
    fn pass(&mut self, daemon: &Daemon, agent: &str, database: &Path) -> Result<()> {
        let mut events = daemon.follow(agent)?;
        let mut line = daemon.line()?;
        let (commits_before, written_before) = (commits(database)?, daemon.written_bytes()?);
        let daemon_before = daemon.processor_ms()?;
        let begun = Instant::now();
        line.send(&daemon.request("POST", &format!("/api/agents/{agent}/resume"), ""))?;
        let ended = events.times_of(r#""kind":"run_ended""#, MESSAGES)?;
        let commits = commits(database)?.wrapping_sub(commits_before);
        let written = daemon.written_bytes()?.saturating_sub(written_before);
        let since = |at: Option<&Instant>| at.map_or(Duration::MAX, |at| at.duration_since(begun));
        let whole = since(ended.last());
        self.here_ms.push(each_ms(whole, MESSAGES));
        self.first_ms.push(each_ms(since(ended.get(SOME - 1)), SOME));
        self.last_ms.push(each_ms(
            whole.saturating_sub(since(ended.get(MESSAGES - SOME - 1))),
            SOME,
        ));
        self.commits.push(f64::from(commits) / MESSAGES as f64);
        self.daemon_ms
            .push((daemon.processor_ms()? - daemon_before) / MESSAGES as f64);
        self.written.push(written as f64 / MESSAGES as f64);
        Ok(())
    }

    fn told(&self) -> Measure {
        Measure::median(NAME, "ms", &self.here_ms, Target::AtMost(8.0))
            .beside(
                "plain SQLite: two commits of one row, every commit synced",
                &self.bare_ms,
            )
            .with("commits_per_message", median(&self.commits))
            .with("daemon_processor_ms_per_message", median(&self.daemon_ms))
            .with("written_bytes_per_message", median(&self.written))
            .with("first_20_ms_per_message", median(&self.first_ms))
            .with("last_20_ms_per_message", median(&self.last_ms))
    }
}

fn each_ms(whole: Duration, count: usize) -> f64 {
    ms(whole) / count as f64
}
