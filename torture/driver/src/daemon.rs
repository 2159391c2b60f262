//! One process of the program under test: how it starts, and how it ends.

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail};

use crate::http::Api;
use crate::orphans;
use crate::test_dir::TestDir;

/// The API token of every episode; a fixed one, because clients must not depend on a file that a power cut
/// may remove.
const TOKEN: &str = "torture-torture-torture-torture-01";

/// The directory of libfiu's libraries on Debian.
const FIU: &str = "/usr/lib/fiu";

/// Maximum time until a healthy program is ready.
const READY: Duration = Duration::from_secs(30);

/// Maximum duration of one sync on a disk that will lose power.
const SYNC_US: &str = "1500";

/// The signal of an aborted program.
const SIGABRT: i32 = 6;

/// Polling interval of a process.
const LOOK: Duration = Duration::from_millis(2);

/// The conditions of a process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Circumstances {
    /// No faults.
    Healthy,
    /// Its commands have low limits, so that an attack reaches them before it affects the machine.
    Confined { processes: u64, memory_mib: u64 },
    /// It aborts at the n-th passage of a fail point.
    Armed { point: &'static str, passage: u64 },
    /// Its disk records what was not synced.
    Journaled,
    /// Its disk fails as instructed through libfiu, now or later.
    Faulty { orders: Vec<String> },
}

/// A running program.
#[derive(Debug)]
pub(crate) struct DaemonRun {
    child: Child,
    pub(crate) began: SystemTime,
    /// The address of a program whose disk fails, which copies of it may keep.
    faulty: Option<SocketAddr>,
}

/// Starts the program in one of an episode's homes.
pub(crate) fn begin(
    place: &TestDir,
    home: usize,
    how: &Circumstances,
    planted: Option<&str>,
) -> Result<DaemonRun> {
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(place.folder.join("daemon.log"))
        .context("opening the log")?;
    let mut command = Command::new(&place.tools.program);
    let address = place.addresses.get(home).context("a home without an address")?;
    command
        .args(["serve", "--listen", &address.to_string()])
        .current_dir(place.workspace())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .env_clear();
    command
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", &place.folder)
        .env("WAKEFUL_HOME", place.home(home))
        // Faults are tested, not rates.
        .env("WAKEFUL_SERVER_RATE_PER_MINUTE", "1000000")
        .env("WAKEFUL_SERVER_MESSAGES_PER_MINUTE", "1000000")
        .env("WAKEFUL_SERVER_OUTSIDE_REQUESTS_PER_MINUTE", "1000000")
        .env("WAKEFUL_SERVER_OUTSIDE_TURNS_PER_MINUTE", "1000000")
        .env("WAKEFUL_AGENT_TOOL_CALLS_PER_MINUTE", "1000000")
        .env("WAKEFUL_TOKEN", TOKEN);
    if let Some(database) = &place.tools.database {
        command.env("WAKEFUL_DATABASE", database);
    }
    if let Some(bug) = planted {
        command.env("WAKEFUL_PLANTED_BUG", bug);
    }
    circumstances(&mut command, place, home, how)?;
    let began = SystemTime::now();
    let child = command.spawn().context("starting the program")?;
    let faulty = matches!(how, Circumstances::Faulty { .. }).then_some(*address);
    Ok(DaemonRun { child, began, faulty })
}

fn circumstances(command: &mut Command, place: &TestDir, home: usize, how: &Circumstances) -> Result<()> {
    match how {
        Circumstances::Healthy => {}
        Circumstances::Confined {
            processes,
            memory_mib,
        } => {
            command
                .env("WAKEFUL_TOOLS_PROCESSES_MAX", processes.to_string())
                .env("WAKEFUL_TOOLS_MEMORY_MIB_MAX", memory_mib.to_string());
        }
        Circumstances::Armed { point, passage } => {
            command.env("WAKEFUL_FAIL_POINT", format!("{point}:{passage}"));
        }
        Circumstances::Journaled => {
            let journal = place.journal(home);
            std::fs::create_dir_all(&journal).context("creating the disk journal")?;
            command
                .env("LD_PRELOAD", &place.tools.disk)
                .env("DISK_ROOT", place.home(home))
                .env("DISK_JOURNAL", journal)
                .env("DISK_SYNC_US", SYNC_US);
        }
        Circumstances::Faulty { orders } => {
            // What `fiu-run -x` sets, preceded by our library, so that only files fail.
            let disk = place.tools.disk.display();
            let preload = format!("{disk} {FIU}/fiu_run_preload.so {FIU}/fiu_posix_preload.so");
            command
                .env("LD_PRELOAD", preload)
                .env("DISK_ROOT", place.home(home))
                .env("FIU_CTRL_FIFO", place.pipes())
                .env("FIU_ENABLE", orders.join("\n"));
        }
    }
    Ok(())
}

/// The API of one of an episode's homes.
pub(crate) fn api(place: &TestDir, home: usize) -> Result<Api> {
    let address = *place.addresses.get(home).context("a home without an address")?;
    let token = TOKEN.to_owned();
    Ok(Api { address, token })
}

impl DaemonRun {
    /// Waits until it is ready.
    pub(crate) fn wait_ready(&mut self, api: &Api) -> Result<()> {
        let deadline = Instant::now() + READY;
        while Instant::now() < deadline {
            if api.get("/readyz").is_some_and(|answer| answer.status == 200) {
                return Ok(());
            }
            if self.is_over()? {
                bail!("the program ended before it was ready");
            }
            std::thread::sleep(LOOK);
        }
        bail!("the program was not ready within {READY:?}")
    }

    /// Whether it aborted, as it does at a fail point.
    pub(crate) fn is_aborted(&mut self) -> Result<bool> {
        let status = self.child.try_wait().context("reading the program's status")?;
        Ok(status.is_some_and(|status| status.signal() == Some(SIGABRT)))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&mut self) -> Result<bool> {
        Ok(self
            .child
            .try_wait()
            .context("reading the program's status")?
            .is_some())
    }

    /// Waits for this long, or until it ends by itself. Returns true if it did.
    pub(crate) fn wait(&mut self, at_most: Duration) -> Result<bool> {
        let deadline = Instant::now() + at_most;
        while Instant::now() < deadline {
            if self.is_over()? {
                return Ok(true);
            }
            std::thread::sleep(LOOK.min(deadline.saturating_duration_since(Instant::now())));
        }
        self.is_over()
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.end()
    }

    /// `kill -9` before a restart.
    pub(crate) fn die(&mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        // It may just have ended by itself.
        let _ = self.child.kill();
        self.child.wait().context("waiting for the program")?;
        self.faulty.map_or(Ok(()), orphans::end_copies)
    }
}

impl Drop for DaemonRun {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
