//! Measures the time from the start of the process until the daemon is ready.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use super::daemon::{Daemon, bare_ground, furnished};
use super::history;
use crate::measure::{Measure, Target, ms};
use crate::program::{Site, wall_ms};
use crate::{Setting, plain};

pub(crate) const EXISTING: &str = "serve_ready_existing_ms";
pub(crate) const FRESH: &str = "serve_ready_fresh_ms";
pub(crate) const MILLION: &str = "serve_ready_million_ms";
pub(crate) const OPEN: &str = "serve_ready_open_runs_ms";

/// Events of a home that has been used for years.
const EVENTS: usize = 1_000_000;

/// Events in a quick measurement: creating the home takes longer than measuring.
const EVENTS_QUICK: usize = 100_000;

/// Open runs in the home of a large installation that restarts.
const RUNS: usize = 100_000;

/// See [`EVENTS_QUICK`].
const RUNS_QUICK: usize = 10_000;

pub(super) const BARE: &str =
    "`wakeful --version`, a byte there and back over a new socket, plain SQLite: open, read its tables";

/// On an existing home.
pub(crate) fn take_existing(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "ready")?;
    let (here, bare) = samples(setting, &site)?;
    Ok(vec![
        Measure::median(EXISTING, "ms", &here, Target::AtMost(100.0)).beside(BARE, &bare),
    ])
}

/// On a home with a long history.
pub(crate) fn take_million(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "million")?;
    let events = setting.effort.pick(EVENTS_QUICK, EVENTS);
    history::add(&site.database(), u32::try_from(events)?)?;
    let (here, bare) = samples(setting, &site)?;
    let bytes = site.database().metadata()?.len();
    let daemon = Daemon::start(setting, &site)?;
    let begun = Instant::now();
    daemon.call("GET", "/api/agents", "")?;
    let listed_ms = ms(begun.elapsed());
    let memory_mb = daemon.memory_mb()?;
    daemon.end()?;
    std::fs::remove_dir_all(&site.home)?;
    let measure = Measure::median(MILLION, "ms", &here, Target::AtMost(300.0)).beside(BARE, &bare);
    Ok(vec![
        measure
            .with("events", events as f64)
            .with("database_mb", bytes as f64 / 1e6)
            .with("first_list_of_agents_ms", listed_ms)
            .with("memory_mb", memory_mb),
    ])
}

/// On a home with a hundred thousand open runs and a million events.
pub(crate) fn take_open(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "open")?;
    let (events, runs) = (
        setting.effort.pick(EVENTS_QUICK, EVENTS),
        setting.effort.pick(RUNS_QUICK, RUNS),
    );
    history::add(&site.database(), u32::try_from(events)?)?;
    history::add_open(&site.database(), u32::try_from(runs)?, &site.model)?;
    let mut ready = Vec::new();
    let mut answered = Vec::new();
    for _ in 0..setting.effort.pick(2, 5) {
        let daemon = Daemon::start(setting, &site)?;
        ready.push(daemon.ready_ms);
        let begun = Instant::now();
        daemon.call("GET", "/api/runs?limit=10", "")?;
        answered.push(ms(begun.elapsed()));
        daemon.end()?;
    }
    std::fs::remove_dir_all(&site.home)?;
    let measure = Measure::median(OPEN, "ms", &ready, Target::AtMost(5_000.0));
    Ok(vec![
        measure
            .with("open_runs", runs as f64)
            .with("events", events as f64)
            .with("first_list_of_runs_ms", crate::measure::median(&answered)),
    ])
}

/// On a home that must be created.
pub(crate) fn take_fresh(setting: &Setting) -> Result<Vec<Measure>> {
    let (mut here, mut bare) = (Vec::new(), Vec::new());
    for round in 0..setting.effort.pick(5, 20) {
        let site = bare_ground(setting, &format!("ready-fresh-{round}"))?;
        let daemon = Daemon::start(setting, &site)?;
        here.push(daemon.ready_ms);
        daemon.end()?;
        let schema = plain::schema(&plain::open_to_read(&site.database())?)?;
        let made = make_ms(&site.workspace.join("bare.sqlite"), &schema)?;
        bare.push(wall_ms(&mut setting.program.version())? + socket_ms()? + made);
    }
    let measure = Measure::median(FRESH, "ms", &here, Target::AtMost(250.0));
    Ok(vec![measure.beside(
        "`wakeful --version`, a byte there and back over a new socket, plain SQLite: make the same tables",
        &bare,
    )])
}

/// Starts, each with its bare limit.
fn samples(setting: &Setting, site: &Site) -> Result<(Vec<f64>, Vec<f64>)> {
    // The first start creates files that persist, such as the token.
    Daemon::start(setting, site)?.end()?;
    starts(setting, site, setting.effort.pick(7, 30))
}

/// This many starts, each with its bare limit.
pub(super) fn starts(setting: &Setting, site: &Site, count: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let (mut here, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let daemon = Daemon::start(setting, site)?;
        here.push(daemon.ready_ms);
        daemon.end()?;
        bare.push(wall_ms(&mut setting.program.version())? + socket_ms()? + look_ms(&site.database())?);
    }
    Ok((here, bare))
}

/// Milliseconds to bind, connect, accept, and send a byte there and back.
fn socket_ms() -> Result<f64> {
    let begun = Instant::now();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    let mut byte = [1];
    client.write_all(&byte)?;
    server.read_exact(&mut byte)?;
    server.write_all(&byte)?;
    client.read_exact(&mut byte)?;
    Ok(ms(begun.elapsed()))
}

/// Milliseconds to open a database and read its list of tables.
fn look_ms(database: &Path) -> Result<f64> {
    let begun = Instant::now();
    plain::schema(&plain::open(database)?)?;
    Ok(ms(begun.elapsed()))
}

/// Milliseconds to create a database with these tables. It is not closed, because the daemon keeps its own
/// open.
fn make_ms(database: &Path, schema: &str) -> Result<f64> {
    let begun = Instant::now();
    let connection = plain::open(database)?;
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {schema} COMMIT;"))?;
    Ok(ms(begun.elapsed()))
}
