//! Measures the time from a write to the journal to the run that it starts. Three synced commits are
//! between them: the record, the wake of the subscriber, the start of the run.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::commits::Commits;
use super::daemon::{AGENT, Daemon, furnished};
use crate::Setting;
use crate::measure::{Measure, Target, median, ms, p99};
use crate::parallel::commits;

pub(crate) const NAME: &str = "commit_to_run_ms";

/// The minimum number of commits.
const COMMITS: usize = 3;

/// Time between the end of a run and the next write, so that the work after the end is finished.
const PACE: Duration = Duration::from_millis(10);

/// Other subscriptions that do not match the write.
const OTHERS: usize = 100;

/// The samples, in milliseconds.
#[derive(Default)]
struct Taken {
    /// From sending the write to seeing the run start.
    whole: Vec<f64>,
    /// From the response to the write, which is then durable, to seeing the run start; 0 when that came
    /// first.
    late: Vec<f64>,
    written: Vec<f64>,
    bare: Vec<f64>,
}

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "notice")?;
    let plain = Commits::open(&site.workspace.join("bare.sqlite"))?;
    let daemon = Daemon::start(setting, &site)?;
    daemon.make_agent(&site, AGENT)?;
    subscribe(
        &daemon,
        &json!({"agent_id": AGENT, "any": ["TASK"], "message": "Look at it."}),
    )?;
    for number in 0..OTHERS {
        let category = format!("category={number}");
        subscribe(&daemon, &json!({"agent_id": AGENT, "all": ["NOTE", category]}))?;
    }
    let mut taken = Taken::default();
    let wakes = setting.effort.pick(60, 1_000);
    // The first wakes are a warm-up: statements are compiled, files grow.
    let warm_up = wakes / 10;
    let (mut events, mut line) = (daemon.follow(AGENT)?, daemon.line()?);
    let before = commits(&site.database())?;
    for number in 0..wakes + warm_up {
        sleep(PACE);
        let body = json!({"title": format!("Task {number}: look at the newest report")});
        let request = daemon.request("POST", "/api/journal/tasks", &body.to_string());
        let sent = Instant::now();
        let answer = line.ask(&request)?;
        let answered = Instant::now();
        ensure!(answer.status == 200, "a task was refused: {}", answer.status);
        let begun = *events
            .times_of(r#""kind":"run_started""#, 1)?
            .first()
            .context("no run started")?;
        events.times_of(r#""kind":"run_ended""#, 1)?;
        let bare = plain.time(COMMITS, 1)?;
        if number >= warm_up {
            taken.whole.push(ms(begun.duration_since(sent)));
            taken.late.push(ms(begun.saturating_duration_since(answered)));
            taken.written.push(ms(answered.duration_since(sent)));
            taken.bare.push(ms(bare));
        }
    }
    let commits = f64::from(commits(&site.database())?.wrapping_sub(before));
    daemon.end()?;
    let measure = taken.told();
    Ok(vec![
        measure.with("commits_per_run", commits / (wakes + warm_up) as f64),
    ])
}

fn subscribe(daemon: &Daemon, terms: &serde_json::Value) -> Result<()> {
    daemon
        .call("POST", "/api/subscriptions", &terms.to_string())
        .map(drop)
}

impl Taken {
    fn told(&self) -> Measure {
        Measure::p99(NAME, "ms", &self.whole, Target::Below(20.0))
            .beside_p99(
                "plain SQLite: three commits of one row, every commit synced",
                &self.bare,
            )
            .with("median_ms", median(&self.whole))
            .with("bare_median_ms", median(&self.bare))
            .with("answer_to_run_median_ms", median(&self.late))
            .with("answer_to_run_p99_ms", p99(&self.late))
            .with("sent_to_answer_median_ms", median(&self.written))
            .with("sent_to_answer_p99_ms", p99(&self.written))
    }
}
