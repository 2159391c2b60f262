//! Runs the shipped program as a process and measures its time and memory.

use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::measure::ms;

/// A script with one answer and no tool.
pub(crate) const ONE_ROUND: &str = "rounds:\n  - text: \"Good morning.\"\n";

/// A process whose memory did not grow for this long has reached its final output, also on a busy machine.
const STILL: Duration = Duration::from_millis(400);

/// Polling interval until then.
const LOOK: Duration = Duration::from_millis(5);

/// The program under measurement.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
}

/// The folders of one call of the program.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) home: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) model: String,
    /// Environment variables for the call.
    variables: Vec<(&'static str, String)>,
}

impl Site {
    /// Creates a folder with a workspace and a script. The program creates the home.
    pub(crate) fn new(folder: &Path, script: &str) -> Result<Self> {
        let file = folder.join("script.yaml");
        let site = Self {
            home: folder.join("home"),
            workspace: folder.join("workspace"),
            model: format!("scripted:{}", file.display()),
            variables: Vec::new(),
        };
        fs::create_dir_all(&site.workspace)?;
        fs::write(&file, script)?;
        Ok(site)
    }

    /// The same with a hosted model and the environment variables that it needs.
    pub(crate) fn asking(self, model: String, variables: Vec<(&'static str, String)>) -> Self {
        Self {
            model,
            variables,
            ..self
        }
    }

    /// The database of the home.
    pub(crate) fn database(&self) -> PathBuf {
        self.home.join("agent.sqlite")
    }
}

impl Program {
    /// The program at an existing path.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let path = path
            .canonicalize()
            .with_context(|| format!("program {} not found", path.display()))?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// `wakeful --version`.
    pub(crate) fn version(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("--version");
        command
    }

    /// `wakeful serve` on the site's home, at an address.
    pub(crate) fn serve(&self, site: &Site, address: SocketAddr) -> Command {
        let mut command = Command::new(&self.path);
        command.args(["serve", "--listen", &address.to_string()]);
        command.arg("--home").arg(&site.home);
        command.arg("--model").arg(&site.model);
        // The caller's own settings must not affect the measurement.
        let ours = std::env::vars_os().map(|(name, _)| name);
        for name in ours.filter(|name| name.as_encoded_bytes().starts_with(b"WAKEFUL_")) {
            command.env_remove(name);
        }
        command.envs(site.variables.iter().cloned());
        command
    }

    /// `wakeful status` on the site's home.
    pub(crate) fn status(&self, site: &Site) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("status").arg("--home").arg(&site.home);
        command.env_remove("WAKEFUL_DATABASE");
        command
    }

    /// `wakeful run` of the site's script.
    pub(crate) fn run(&self, site: &Site) -> Command {
        let mut command = self.run_for_a_person(site);
        command.arg("--json");
        command
    }

    /// The same with the output that people read.
    pub(crate) fn run_for_a_person(&self, site: &Site) -> Command {
        let mut command = Command::new(&self.path);
        command.args(["run", "hello", "--max-rounds", "1000"]);
        command.arg("--home").arg(&site.home);
        command.arg("--workspace").arg(&site.workspace);
        command.arg("--model").arg(&site.model);
        // The caller's own settings must not affect the measurement.
        command.env_remove("WAKEFUL_DATABASE").env_remove("WAKEFUL_MODEL");
        command.envs(site.variables.iter().cloned());
        command
    }
}

/// Milliseconds from the start of a command to its successful end.
pub(crate) fn wall_ms(command: &mut Command) -> Result<f64> {
    quiet(command);
    let begun = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("starting {command:?}"))?;
    let wall = ms(begun.elapsed());
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(wall)
}

/// The peak memory of a command in megabytes. The command must end by writing to its standard output.
///
/// The kernel keeps the peak only while the process lives. So the process gets an output pipe that is
/// already full: it blocks at its final write, the peak is read, and only then is the pipe drained. The
/// shutdown after that is covered by polling without a pause.
pub(crate) fn peak_mb(command: &mut Command) -> Result<f64> {
    quiet(command);
    let (mut reader, writer) = full_output()?;
    let mut child = command
        .stdout(OwnedFd::from(writer))
        .spawn()
        .with_context(|| format!("starting {command:?}"))?;
    // The command holds its end of the pipe open, which would keep the reader from seeing the end.
    command.stdout(Stdio::null());
    let status_file = format!("/proc/{}/status", child.id());
    let look = || {
        fs::read_to_string(&status_file)
            .ok()
            .and_then(|text| high_water_kb(&text))
    };
    let mut peak = None;
    let mut grown = Instant::now();
    while grown.elapsed() < STILL {
        if look() > peak {
            (peak, grown) = (look().max(peak), Instant::now());
        }
        thread::sleep(LOOK);
    }
    let drained = thread::spawn(move || io::copy(&mut reader, &mut io::sink()));
    let status = loop {
        peak = look().max(peak);
        if let Some(status) = child.try_wait()? {
            break status;
        }
    };
    ensure!(status.success(), "{command:?} ended with {status}");
    ensure!(
        drained.join().is_ok_and(|read| read.is_ok()),
        "the output could not be read"
    );
    let peak = peak.with_context(|| format!("{command:?} wrote no output"))?;
    Ok(f64::from(peak) * 1024.0 / 1e6)
}

/// An output pipe that accepts no byte until it is read.
fn full_output() -> Result<(UnixStream, UnixStream)> {
    let (reader, mut writer) = UnixStream::pair()?;
    writer.set_nonblocking(true)?;
    loop {
        match writer.write(&[0; 4096]) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error.into()),
        }
    }
    writer.set_nonblocking(false)?;
    Ok((reader, writer))
}

pub(crate) fn quiet(command: &mut Command) {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
}

/// The peak memory so far of the process with this id, in megabytes.
pub(crate) fn peak_mb_of(process: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let peak = high_water_kb(&status).context("the process has no memory information")?;
    Ok(f64::from(peak) * 1024.0 / 1e6)
}

fn high_water_kb(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_memory_is_parsed_and_a_dead_process_has_none() {
        assert_eq!(
            high_water_kb("Name:\tx\nVmHWM:\t    8124 kB\nVmRSS:\t 12 kB\n"),
            Some(8124)
        );
        assert_eq!(high_water_kb("Name:\tx\nState:\tZ (zombie)\n"), None);
    }
}
