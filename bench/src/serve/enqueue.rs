//! Measures durable messages per second: each response is sent after the commit is on disk. The agent is
//! paused, so that only the queueing is measured.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::commits::Commits;
use super::daemon::{AGENT, Daemon, furnished};
use super::http::{Answer, Line};
use crate::Setting;
use crate::machine::processor_ms;
use crate::measure::{Measure, Target, median};
use crate::parallel::commits;

pub(crate) const ONE: &str = "enqueue_one_connection_per_s";
pub(crate) const MANY: &str = "enqueue_16_connections_per_s";

/// Connections that send concurrently.
const LINES: usize = 16;

/// Messages of one pass over one connection.
const MESSAGES_ONE: usize = 320;

/// Messages of one pass over all connections.
const MESSAGES_MANY: usize = 1_600;

/// The status of a queued message.
pub(super) const ACCEPTED: u16 = 202;

/// The samples of one way to send.
#[derive(Default)]
struct Taken {
    rates: Vec<f64>,
    bare: Vec<f64>,
    per_commit: Vec<f64>,
    daemon_us: Vec<f64>,
    client_us: Vec<f64>,
    written: Vec<f64>,
}

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "enqueue")?;
    let bare = Commits::open(&site.workspace.join("bare.sqlite"))?;
    let daemon = Daemon::start(setting, &site)?;
    daemon.make_agent(&site, AGENT)?;
    daemon.pause(AGENT)?;
    let mut lines = (0..LINES).map(|_| daemon.line()).collect::<Result<Vec<_>>>()?;
    let (mut one, mut many) = (Taken::default(), Taken::default());
    for pass in 0..=setting.effort.pick(5, 15) {
        let alone = lines.get_mut(..1).unwrap_or_default();
        let first = one_pass(&daemon, &site.database(), alone, MESSAGES_ONE)?;
        let first_bare = MESSAGES_ONE as f64 / bare.time(MESSAGES_ONE, 1)?.as_secs_f64();
        let second = one_pass(&daemon, &site.database(), &mut lines, MESSAGES_MANY)?;
        let second_bare = MESSAGES_MANY as f64 / bare.time(MESSAGES_MANY, LINES)?.as_secs_f64();
        // The first pass is a warm-up: statements are compiled, files grow.
        if pass > 0 {
            one.note(&first, first_bare);
            many.note(&second, second_bare);
        }
    }
    daemon.end()?;
    Ok(vec![
        one.told(
            ONE,
            1_000.0,
            "plain SQLite: a commit for each row, every commit synced",
        ),
        many.told(
            MANY,
            5_000.0,
            "plain SQLite: a commit for every 16 rows, every commit synced",
        ),
    ])
}

struct Pass {
    messages: usize,
    wall: Duration,
    commits: u32,
    daemon_ms: f64,
    client_ms: f64,
    written_bytes: u64,
}

fn one_pass(daemon: &Daemon, database: &Path, lines: &mut [Line], messages: usize) -> Result<Pass> {
    let requests: Vec<Vec<u8>> = (0..messages)
        .map(|number| daemon.message(AGENT, number))
        .collect();
    let (commits_before, daemon_before, client_before) =
        (commits(database)?, daemon.processor_ms()?, processor_ms()?);
    let written_before = daemon.written_bytes()?;
    let wall = send_all(lines, &requests, ACCEPTED)?;
    Ok(Pass {
        messages,
        wall,
        commits: commits(database)?.wrapping_sub(commits_before),
        daemon_ms: daemon.processor_ms()? - daemon_before,
        client_ms: processor_ms()? - client_before,
        written_bytes: daemon.written_bytes()?.saturating_sub(written_before),
    })
}

/// Sends all requests over some connections from one thread, one request in progress per connection. Every
/// response must have this status.
pub(super) fn send_all(lines: &mut [Line], requests: &[Vec<u8>], wanted: u16) -> Result<Duration> {
    let mut waiting = requests.iter();
    let begun = Instant::now();
    for (line, request) in lines.iter_mut().zip(&mut waiting) {
        line.send(request)?;
    }
    let mut answered = 0;
    while answered < requests.len() {
        for index in readable(lines, None)? {
            let Some(line) = lines.get_mut(index) else {
                continue;
            };
            line.receive()?;
            let Some(answer) = line.answer()? else { continue };
            check(&answer, wanted)?;
            answered += 1;
            if let Some(request) = waiting.next() {
                line.send(request)?;
            }
        }
    }
    Ok(begun.elapsed())
}

/// The connections that are readable. Waits until one is, or for the given time; a closed connection is
/// readable as well.
pub(super) fn readable(lines: &[Line], at_most: Option<&Timespec>) -> Result<Vec<usize>> {
    if lines.len() == 1 && at_most.is_none() {
        return Ok(vec![0]);
    }
    let mut polled: Vec<_> = lines
        .iter()
        .map(|line| PollFd::new(line, PollFlags::IN))
        .collect();
    poll(&mut polled, at_most)?;
    let ready = polled
        .iter()
        .enumerate()
        .filter(|(_, fd)| !fd.revents().is_empty());
    Ok(ready.map(|(index, _)| index).collect())
}

fn check(answer: &Answer, wanted: u16) -> Result<()> {
    let said = || String::from_utf8_lossy(&answer.body).into_owned();
    ensure!(answer.status == wanted, "status {}: {}", answer.status, said());
    Ok(())
}

impl Taken {
    fn note(&mut self, pass: &Pass, bare: f64) {
        let messages = pass.messages as f64;
        self.rates.push(messages / pass.wall.as_secs_f64());
        self.bare.push(bare);
        self.per_commit.push(messages / f64::from(pass.commits));
        self.daemon_us.push(pass.daemon_ms * 1e3 / messages);
        self.client_us.push(pass.client_ms * 1e3 / messages);
        self.written.push(pass.written_bytes as f64 / messages);
    }

    fn told(&self, name: &'static str, at_least: f64, bare: &'static str) -> Measure {
        Measure::median(name, "messages/s", &self.rates, Target::AtLeast(at_least))
            .beside(bare, &self.bare)
            .with("messages_per_commit", median(&self.per_commit))
            .with("daemon_processor_us_per_message", median(&self.daemon_us))
            .with("client_processor_us_per_message", median(&self.client_us))
            .with("written_bytes_per_message", median(&self.written))
    }
}
