//! Measures the delay of an event to a listener, and the cost of many listeners while nothing happens.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::daemon::{AGENT, Daemon, furnished};
use crate::Setting;
use crate::measure::{Measure, Target, median, ms, p95};

pub(crate) const LATE: &str = "event_to_sse_p95_ms";
pub(crate) const LISTENERS: &str = "sse_1000_idle_mb";

/// Time between two messages: a hundred a second, which is a light load.
const PACE: Duration = Duration::from_millis(10);

/// Idle listeners.
const CLIENTS: usize = 1_000;

/// Files other than the listeners' that a process may have open here.
const OTHER_FILES: u64 = 200;

/// Time after the last listener connected, so that memory used only for connecting is released.
const SETTLE: Duration = Duration::from_secs(2);

pub(crate) fn take_late(setting: &Setting) -> Result<Vec<Measure>> {
    let site = furnished(setting, "late")?;
    let daemon = Daemon::start(setting, &site)?;
    daemon.make_agent(&site, AGENT)?;
    daemon.pause(AGENT)?;
    let messages = setting.effort.pick(200, 1_000);
    let requests: Vec<Vec<u8>> = (0..messages)
        .map(|number| daemon.message(AGENT, number))
        .collect();
    let mut events = daemon.follow(AGENT)?;
    let listening = thread::spawn(move || events.times_of(r#""kind":"message_admitted""#, messages));
    let mut line = daemon.line()?;
    let (mut sent, mut answered) = (Vec::new(), Vec::new());
    for request in &requests {
        thread::sleep(PACE);
        sent.push(Instant::now());
        let answer = line.ask(request)?;
        answered.push(Instant::now());
        ensure!(answer.status == 202, "a message was refused: {}", answer.status);
    }
    let seen = listening.join().map_err(|_| anyhow!("the listener panicked"))??;
    daemon.end()?;
    // An event that arrived before the response has no delay.
    let between = |from: &[Instant], to: &[Instant]| -> Vec<f64> {
        let pairs = from.iter().zip(to);
        pairs
            .map(|(from, to)| ms(to.saturating_duration_since(*from)))
            .collect()
    };
    let late = between(&answered, &seen);
    let whole = between(&sent, &seen);
    let posts = between(&sent, &answered);
    let bare = ping_pong_ms(messages)?;
    let measure = Measure::p95(LATE, "ms", &late, Target::Below(5.0));
    Ok(vec![
        measure
            .beside_p95("a byte there and back over loopback, at the same pace", &bare)
            .with("sent_to_event_median_ms", median(&whole))
            .with("sent_to_event_p95_ms", p95(&whole))
            .with("sent_to_answer_median_ms", median(&posts))
            .with("sent_to_answer_p95_ms", p95(&posts)),
    ])
}

/// Milliseconds of each of this many round trips of a byte to another thread.
pub(crate) fn ping_pong_ms(count: usize) -> Result<Vec<f64>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let echo = thread::spawn(move || -> std::io::Result<()> {
        let mut byte = [0];
        for _ in 0..count {
            server.read_exact(&mut byte)?;
            server.write_all(&byte)?;
        }
        Ok(())
    });
    let mut times = Vec::with_capacity(count);
    let mut byte = [1];
    for _ in 0..count {
        thread::sleep(PACE);
        let begun = Instant::now();
        client.write_all(&byte)?;
        client.read_exact(&mut byte)?;
        times.push(ms(begun.elapsed()));
    }
    echo.join().map_err(|_| anyhow!("the echo panicked"))??;
    Ok(times)
}

pub(crate) fn take_listeners(setting: &Setting) -> Result<Vec<Measure>> {
    allow_files()?;
    let site = furnished(setting, "listeners")?;
    let daemon = Daemon::start(setting, &site)?;
    daemon.make_agent(&site, AGENT)?;
    let alone = daemon.memory_mb()?;
    let begun = Instant::now();
    let clients = (0..CLIENTS).map(|_| daemon.follow(AGENT));
    let clients = clients.collect::<Result<Vec<_>>>().context("listening")?;
    let coming_ms = ms(begun.elapsed());
    thread::sleep(SETTLE);
    let together = daemon.memory_mb()?;
    drop(clients);
    daemon.end()?;
    let measure = Measure::most(LISTENERS, "MB", &[together], Target::AtMost(60.0));
    Ok(vec![
        measure
            .beside("the same daemon before they came", &[alone])
            .with("kb_per_client", (together - alone) * 1e3 / CLIENTS as f64)
            .with("ms_to_come_per_client", coming_ms / CLIENTS as f64),
    ])
}

/// Raises the limit of open files for this process and the daemon that it starts, if needed.
fn allow_files() -> Result<()> {
    let wanted = CLIENTS as u64 + OTHER_FILES;
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|files| files >= wanted) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: now.maximum,
    };
    setrlimit(Resource::Nofile, raised).context("raising the limit of open files")
}
