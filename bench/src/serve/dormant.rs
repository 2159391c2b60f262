//! Measures a daemon with very many agents that wait for a distant time: its time until ready, its memory,
//! and that no agent keeps it awake.

use std::time::Instant;

use anyhow::Result;
use serde_json::json;

use super::daemon::{Daemon, furnished};
use super::enqueue::send_all;
use super::http::Line;
use super::{idle, ready};
use crate::Setting;
use crate::measure::{Measure, Target, ms};
use crate::program::{Site, peak_mb};

pub(crate) const READY: &str = "dormant_agents_ready_ms";
pub(crate) const MEMORY: &str = "dormant_agents_rss_mb";
pub(crate) const WAKEUPS: &str = "dormant_agents_wakeups";

/// Number of agents, each with a schedule and a subscription.
const AGENTS: usize = 10_000;

/// Number of agents in a quick measurement: creating them takes longer than measuring.
const AGENTS_QUICK: usize = 1_000;

/// Connections for creating the agents, which is not measured.
const LINES: usize = 16;

/// The status of a creation.
const CREATED: u16 = 201;

/// The status of an accepted subscription.
const OK: u16 = 200;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "dormant")?;
    let agents = setting.effort.pick(AGENTS_QUICK, AGENTS);
    let making_ms = make(setting, &site, agents)?;
    let (here, bare) = ready::starts(setting, &site, setting.effort.pick(3, 10))?;
    let bytes = site.database().metadata()?.len();
    let daemon = Daemon::start(setting, &site)?;
    let (sleeping, memory_mb) = idle::watch(setting, &daemon, WAKEUPS)?;
    let peak_mb_of_daemon = daemon.peak_mb()?;
    let begun = Instant::now();
    daemon.call("GET", "/api/schedules?limit=100", "")?;
    let listed_ms = ms(begun.elapsed());
    daemon.end()?;
    std::fs::remove_dir_all(&site.home)?;
    let floor = peak_mb(&mut setting.program.version())?;
    let count = agents as f64;
    let ready = Measure::median(READY, "ms", &here, Target::Below(1_000.0)).beside(ready::BARE, &bare);
    let memory = Measure::most(MEMORY, "MB", &[memory_mb], Target::Below(80.0));
    Ok(vec![
        ready
            .with("agents", count)
            .with("database_mb", bytes as f64 / 1e6)
            .with("made_per_agent_ms", making_ms / count),
        memory
            .beside("`wakeful --version`", &[floor])
            .with("agents", count)
            .with("peak_mb", peak_mb_of_daemon)
            .with("first_list_of_schedules_ms", listed_ms),
        sleeping.with("agents", count),
    ])
}

/// Creates this many agents with a schedule and a subscription each through the API, and returns the
/// duration.
fn make(setting: &Setting, site: &Site, agents: usize) -> Result<f64> {
    let daemon = Daemon::start(setting, site)?;
    let mut lines = (0..LINES).map(|_| daemon.line()).collect::<Result<Vec<Line>>>()?;
    let post = |path: &'static str, body: &dyn Fn(usize) -> serde_json::Value| -> Vec<Vec<u8>> {
        let request = |number| daemon.request("POST", path, &body(number).to_string());
        (0..agents).map(request).collect()
    };
    let made = post(
        "/api/agents",
        &|number| json!({"agent_id": name(number), "workspace": site.workspace}),
    );
    let subscribed = post(
        "/api/subscriptions",
        &|number| json!({"agent_id": name(number), "all": ["TASK", format!("category={number}")]}),
    );
    let timed = post("/api/schedules", &|number| {
        // Distinct minutes as far as possible, and all of them distant.
        let (day, hour, minute) = (1 + number / 1_440 % 28, number / 60 % 24, number % 60);
        let at = format!("2099-01-{day:02}T{hour:02}:{minute:02}:00Z");
        json!({
            "schedule_id": format!("timer-{number}"), "agent_id": name(number), "message": "Look around.",
            "pattern": {"at": at},
        })
    });
    let took = [
        send_all(&mut lines, &made, CREATED)?,
        send_all(&mut lines, &timed, CREATED)?,
        send_all(&mut lines, &subscribed, OK)?,
    ];
    daemon.end()?;
    Ok(took.into_iter().map(ms).sum())
}

fn name(number: usize) -> String {
    format!("sleeper-{number:05}")
}
