//! Measures an external system that calls a trigger far too often: what it costs, and how it affects other
//! clients.
//!
//! The flood does not wait for responses while one of its connections is free: deliveries that are not sent
//! in time are sent late, and those that are never sent are counted.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::event::Timespec;

use super::daemon::{Daemon, furnished};
use super::enqueue::{ACCEPTED, readable};
use super::http::Line;
use crate::Setting;
use crate::machine::processor_ms_of_thread;
use crate::measure::{Measure, Target, median, ms, p99};
use crate::program::Site;

pub(crate) const LATE: &str = "trigger_flood_other_p99_ms";
pub(crate) const MEMORY: &str = "trigger_flood_peak_mb";

/// Deliveries offered per millisecond.
const PER_MS: usize = 10;

/// Connections of the flood.
const LINES: usize = 64;

/// How long the flood waits for a response before it reads the clock again.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// Time between two requests of the other clients: a hundred a second, which is a light load.
const PACE: Duration = Duration::from_millis(10);

/// The agent that the flood does not address. It queues its messages.
const OTHER: &str = "other";

/// The body of a delivery.
const BODY: &str = "{\"event\":\"push\",\"ref\":\"refs/heads/main\"}";

/// The latencies of other clients, in milliseconds.
#[derive(Default)]
struct Felt {
    messages: Vec<f64>,
    questions: Vec<f64>,
}

/// The result of a flood.
#[derive(Default)]
struct Flooded {
    offered: usize,
    sent: usize,
    by_status: BTreeMap<u16, usize>,
    processor_ms: f64,
}

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "flood")?;
    let daemon = Daemon::start(setting, &site)?;
    daemon.make_agent(&site, OTHER)?;
    daemon.pause(OTHER)?;
    let time = Duration::from_secs(setting.effort.pick(3, 10) as u64);
    // A warm-up: the first requests pay for such things as compiled statements.
    feel(&daemon, Duration::from_secs(1))?;
    let before_mb = daemon.memory_mb()?;
    let (mut calm, mut flooded, mut guessed) = (Felt::default(), Felt::default(), Felt::default());
    let (mut right, mut wrong) = (Flooded::default(), Flooded::default());
    let mut daemon_ms = 0.0;
    for pass in 0..setting.effort.pick(1, 3) {
        // Each pass has its own agent, whose trigger has a fresh rate window.
        let path = trigger(&daemon, &site, &format!("flooded-{pass}"))?;
        calm.add(feel(&daemon, time)?);
        let spent = daemon.processor_ms()?;
        let (felt, came) = during(&daemon, time, &path)?;
        daemon_ms += daemon.processor_ms()? - spent;
        flooded.add(felt);
        right.add(came);
        let (stem, _) = path.rsplit_once('/').context("a trigger URL without a token")?;
        let (felt, came) = during(&daemon, time, &format!("{stem}/{}", "0".repeat(64)))?;
        guessed.add(felt);
        wrong.add(came);
    }
    let peak_mb = daemon.peak_mb()?;
    daemon.end()?;
    let late = Measure::p99(LATE, "ms", &flooded.messages, Target::RatioAtMost(2.0))
        .beside_p99("the same messages without a flood", &calm.messages)
        .with("median_ms", median(&flooded.messages))
        .with("calm_median_ms", median(&calm.messages))
        .with("question_p99_ms", p99(&flooded.questions))
        .with("calm_question_p99_ms", p99(&calm.questions))
        .with("guessed_p99_ms", p99(&guessed.messages))
        .with("guessed_question_p99_ms", p99(&guessed.questions))
        .with(
            "daemon_processor_us_per_delivery",
            daemon_ms * 1e3 / right.sent as f64,
        )
        .with(
            "client_processor_us_per_delivery",
            right.processor_ms * 1e3 / right.sent as f64,
        );
    let memory = Measure::most(MEMORY, "MB", &[peak_mb], Target::AtMost(60.0));
    Ok(vec![
        wrong.told(right.told(late, "delivered"), "guessed"),
        memory.beside("the same daemon before the flood", &[before_mb]),
    ])
}

/// Creates an agent and returns the path of its trigger.
fn trigger(daemon: &Daemon, site: &Site, agent: &str) -> Result<String> {
    daemon.make_agent(site, agent)?;
    let made = daemon.call("POST", &format!("/api/agents/{agent}/external-trigger"), "")?;
    let path = made.get("trigger_path").and_then(serde_json::Value::as_str);
    path.map(str::to_owned).context("the trigger has no URL")
}

/// The latencies of other clients during a flood.
fn during(daemon: &Daemon, time: Duration, path: &str) -> Result<(Felt, Flooded)> {
    let mut lines = (0..LINES).map(|_| daemon.line()).collect::<Result<Vec<_>>>()?;
    let request = |number: usize| daemon.delivery(path, number, BODY);
    thread::scope(|scope| {
        let flood = scope.spawn(move || flood(&mut lines, time, request));
        let felt = feel(daemon, time)?;
        let came = flood.join().map_err(|_| anyhow!("the flood panicked"))??;
        Ok((felt, came))
    })
}

/// Sends requests of other clients for a while: a message that must be durable, and a read.
fn feel(daemon: &Daemon, time: Duration) -> Result<Felt> {
    let mut line = daemon.line()?;
    let question = daemon.request("GET", &format!("/api/agents/{OTHER}/status"), "");
    let mut felt = Felt::default();
    let begun = Instant::now();
    while begun.elapsed() < time {
        thread::sleep(PACE);
        let message = daemon.message(OTHER, felt.messages.len());
        let sent = Instant::now();
        let answer = line.ask(&message)?;
        felt.messages.push(ms(sent.elapsed()));
        ensure!(
            answer.status == ACCEPTED,
            "a message was refused: {}",
            answer.status
        );
        let sent = Instant::now();
        let answer = line.ask(&question)?;
        felt.questions.push(ms(sent.elapsed()));
        ensure!(answer.status == 200, "a read was refused: {}", answer.status);
    }
    Ok(felt)
}

/// Offers deliveries for a while, and waits for the responses to those that were sent.
fn flood(lines: &mut [Line], time: Duration, request: impl Fn(usize) -> Vec<u8>) -> Result<Flooded> {
    let mut came = Flooded::default();
    let mut waits = vec![false; lines.len()];
    let begun = Instant::now();
    while begun.elapsed() < time || waits.contains(&true) {
        let elapsed = begun.elapsed();
        if elapsed < time {
            came.offered = usize::try_from(elapsed.as_millis())? * PER_MS;
            let free = lines.iter_mut().zip(&mut waits).filter(|(_, waits)| !**waits);
            for (line, waits) in free.take(came.offered.saturating_sub(came.sent)) {
                line.send(&request(came.sent))?;
                *waits = true;
                came.sent += 1;
            }
        }
        for index in readable(lines, Some(&TICK))? {
            let (Some(line), Some(waits)) = (lines.get_mut(index), waits.get_mut(index)) else {
                continue;
            };
            line.receive()?;
            if let Some(answer) = line.answer()? {
                *came.by_status.entry(answer.status).or_default() += 1;
                *waits = false;
            }
        }
    }
    came.processor_ms = processor_ms_of_thread()?;
    Ok(came)
}

impl Felt {
    fn add(&mut self, other: Self) {
        self.messages.extend(other.messages);
        self.questions.extend(other.questions);
    }
}

impl Flooded {
    fn add(&mut self, other: Self) {
        self.offered += other.offered;
        self.sent += other.sent;
        self.processor_ms += other.processor_ms;
        for (status, count) in other.by_status {
            *self.by_status.entry(status).or_default() += count;
        }
    }

    /// Adds the numbers of offered and sent deliveries, and of their responses by status.
    fn told(&self, measure: Measure, kind: &str) -> Measure {
        let measure = measure
            .with(format!("{kind}_offered"), self.offered as f64)
            .with(format!("{kind}_sent"), self.sent as f64);
        let answered = |measure: Measure, (status, count): (&u16, &usize)| {
            measure.with(format!("{kind}_answered_{status}"), *count as f64)
        };
        self.by_status.iter().fold(measure, answered)
    }
}
