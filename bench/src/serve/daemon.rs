//! The daemon as a process: starts it, sends requests, observes it from outside, and ends it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::http::Line;
use crate::Setting;
use crate::machine::processor_ms_of;
use crate::measure::ms;
use crate::program::{Site, peak_mb_of, quiet, wall_ms};

/// The agent that receives the messages.
pub(crate) const AGENT: &str = "bench";

/// A script whose one answer is given at once and repeatedly.
const SCRIPT: &str = "repeat_last: true\nrounds:\n  - text: \"Good morning.\"\n";

/// The maximum rates and the maximum cap, because refusals are not measured. Requests to the fake provider
/// carry a key, so each has a reservation.
const CONFIG: &str = "[server]\nrate_per_minute = 1000000\nmessages_per_minute = 1000000\n\
    [agent]\ntool_calls_per_minute = 1000000\n[budget]\ndaily_usd = 1000000\n";

/// Maximum time for a daemon to start or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Polling interval while a daemon starts or ends. A thousandth of the measured value.
const LOOK: Duration = Duration::from_micros(200);

/// A running daemon. It is killed when dropped without being ended.
pub(crate) struct Daemon {
    child: Child,
    address: SocketAddr,
    token: String,
    /// Milliseconds from the start of the process until it was ready.
    pub(crate) ready_ms: f64,
}

/// A home with one ended run in its database and the maximum request rates.
pub(crate) fn furnished(setting: &Setting, name: &str) -> Result<Site> {
    let site = Site::new(&setting.folder.join(name), SCRIPT)?;
    wall_ms(&mut setting.program.run(&site))?;
    fs::write(site.home.join("config.toml"), CONFIG)?;
    Ok(site)
}

/// A folder with only a script and a workspace.
pub(crate) fn bare_ground(setting: &Setting, name: &str) -> Result<Site> {
    Site::new(&setting.folder.join(name), SCRIPT)
}

impl Daemon {
    /// Starts a daemon and waits until it is ready.
    pub(crate) fn start(setting: &Setting, site: &Site) -> Result<Self> {
        let address = free_address()?;
        let mut command = setting.program.serve(site, address);
        quiet(&mut command);
        let log = site.workspace.with_file_name("serve.log");
        command.stderr(File::create(&log)?);
        let begun = Instant::now();
        let child = command.spawn().context("starting the daemon")?;
        let mut daemon = Self {
            child,
            address,
            token: String::new(),
            ready_ms: 0.0,
        };
        while !daemon.is_ready() {
            ensure!(begun.elapsed() < PATIENCE, "the daemon does not become ready");
            let ended = daemon.child.try_wait()?;
            ensure!(ended.is_none(), "the daemon ended: {}", fs::read_to_string(&log)?);
            std::thread::sleep(LOOK);
        }
        daemon.ready_ms = ms(begun.elapsed());
        let token = site.home.join("token");
        daemon.token = fs::read_to_string(&token).context("reading the token")?;
        Ok(daemon)
    }

    fn is_ready(&self) -> bool {
        let asked =
            Line::open(self.address).and_then(|mut line| line.ask(&self.request("GET", "/readyz", "")));
        asked.is_ok_and(|answer| answer.status == 200)
    }

    /// Opens a connection to it.
    pub(crate) fn line(&self) -> Result<Line> {
        Line::open(self.address)
    }

    /// The bytes of a request.
    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let Self { address, token, .. } = self;
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    /// The bytes of a message to an agent. Each is new: the daemon assigns a key to a message without one.
    pub(crate) fn message(&self, agent: &str, number: usize) -> Vec<u8> {
        let body = format!("{{\"text\":\"Message {number}: please look at the newest report.\"}}");
        self.request("POST", &format!("/api/agents/{agent}/messages"), &body)
    }

    /// The bytes of a new delivery to a trigger, authorized only by its URL.
    pub(crate) fn delivery(&self, path: &str, number: usize, body: &str) -> Vec<u8> {
        let (address, length) = (self.address, body.len());
        format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nx-delivery-id: d{number}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    /// Sends a request on its own connection and reads the response.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> Result<Value> {
        let answer = self.line()?.ask(&self.request(method, path, body))?;
        let said = || String::from_utf8_lossy(&answer.body).into_owned();
        let is_good = (200..300).contains(&answer.status);
        ensure!(is_good, "{method} {path}: {} {}", answer.status, said());
        Ok(serde_json::from_slice(&answer.body)?)
    }

    /// Creates an agent that works in the site's workspace.
    pub(crate) fn make_agent(&self, site: &Site, agent: &str) -> Result<()> {
        let body = serde_json::json!({"agent_id": agent, "workspace": site.workspace});
        self.call("POST", "/api/agents", &body.to_string()).map(drop)
    }

    /// Pauses an agent, so that its messages are only queued.
    pub(crate) fn pause(&self, agent: &str) -> Result<()> {
        self.call("POST", &format!("/api/agents/{agent}/pause"), "")
            .map(drop)
    }

    /// Follows the events of an agent from now on. The next read starts after the cursor event.
    pub(crate) fn follow(&self, agent: &str) -> Result<Line> {
        let mut line = self.line()?;
        let path = format!("/api/agents/{agent}/events");
        let Self { address, token, .. } = self;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             accept: text/event-stream\r\n\r\n"
        );
        line.send(request.as_bytes())?;
        line.times_of("event: cursor", 1).context("following events")?;
        Ok(line)
    }

    pub(crate) fn memory_mb(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let kb = number_of(&status, "VmRSS:").context("the daemon has no memory information")?;
        Ok(kb as f64 * 1024.0 / 1e6)
    }

    /// Its peak memory so far, in megabytes.
    pub(crate) fn peak_mb(&self) -> Result<f64> {
        peak_mb_of(&self.child.id().to_string())
    }

    /// Its processor time so far, in milliseconds.
    pub(crate) fn processor_ms(&self) -> Result<f64> {
        processor_ms_of(&self.child.id().to_string())
    }

    /// Bytes that it has written to disk so far.
    pub(crate) fn written_bytes(&self) -> Result<u64> {
        let io = fs::read_to_string(format!("/proc/{}/io", self.child.id()))?;
        number_of(&io, "write_bytes:").context("no count of bytes written")
    }

    /// Context switches of each of its threads; every wake-up is one.
    pub(crate) fn switches(&self) -> Result<BTreeMap<u32, u64>> {
        let mut switches = BTreeMap::new();
        for entry in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let entry = entry?;
            let thread = entry.file_name().to_string_lossy().parse()?;
            // A thread may end between the two reads.
            let Ok(status) = fs::read_to_string(entry.path().join("status")) else {
                continue;
            };
            let count = |name| number_of(&status, name).context("no count of switches");
            let both = count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?;
            switches.insert(thread, both);
        }
        Ok(switches)
    }

    /// Ends it cleanly, so that the next one finds a clean home.
    pub(crate) fn end(mut self) -> Result<()> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM)?;
        let begun = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(begun.elapsed() < PATIENCE, "the daemon does not end");
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Killing a daemon that has already ended fails, which is harmless.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that was free a moment ago.
fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

fn number_of(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
