//! The shipped program as a process: how long it takes and how much memory it needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};

use crate::measure::ms;

/// A script with one answer and no tool.
pub(crate) const ONE_ROUND: &str = "rounds:\n  - text: \"Good morning.\"\n";

/// How often a process is started that ends before it was seen.
const LOOKS_MAX: usize = 50;

/// The program.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
}

/// Where one call of the program works.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) home: PathBuf,
    workspace: PathBuf,
    script: PathBuf,
}

impl Site {
    /// A folder with a workspace and a script. The home is made by the program.
    pub(crate) fn new(folder: &Path, script: &str) -> Result<Self> {
        let site = Self {
            home: folder.join("home"),
            workspace: folder.join("workspace"),
            script: folder.join("script.yaml"),
        };
        fs::create_dir_all(&site.workspace)?;
        fs::write(&site.script, script)?;
        Ok(site)
    }

    /// The database of the home.
    pub(crate) fn database(&self) -> PathBuf {
        self.home.join("agent.sqlite")
    }
}

impl Program {
    /// The program at a path, which must be there.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let path = path
            .canonicalize()
            .with_context(|| format!("there is no program {}", path.display()))?;
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

    /// `wakeful run` of the site's script.
    pub(crate) fn run(&self, site: &Site) -> Command {
        let mut command = Command::new(&self.path);
        command.args(["run", "hello", "--json", "--max-rounds", "1000"]);
        command.arg("--home").arg(&site.home);
        command.arg("--workspace").arg(&site.workspace);
        command.arg("--model").arg(format!("scripted:{}", site.script.display()));
        // What the caller set for its own runs must not change what is measured.
        command.env_remove("WAKEFUL_DATABASE").env_remove("WAKEFUL_MODEL");
        command
    }
}

/// Milliseconds from the start of a command to its end, which must be a good one.
pub(crate) fn wall_ms(command: &mut Command) -> Result<f64> {
    quiet(command);
    let begun = Instant::now();
    let status = command.status().with_context(|| format!("starting {command:?}"))?;
    let wall = ms(begun.elapsed());
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(wall)
}

/// The most memory a command ever had, in megabytes.
///
/// The kernel keeps this mark while the process lives and it only grows, so looking at it without a pause until
/// the process is gone misses at most what was touched in the last microseconds. On a busy machine a very short
/// process may be gone before the first look; then it is started again.
pub(crate) fn peak_mb(command: &mut Command) -> Result<f64> {
    quiet(command);
    for _ in 0..LOOKS_MAX {
        if let Some(peak_kb) = peak_kb(command)? {
            return Ok(f64::from(peak_kb) * 1024.0 / 1e6);
        }
    }
    bail!("{command:?} was always gone before it could be looked at")
}

fn peak_kb(command: &mut Command) -> Result<Option<u32>> {
    let mut child = command.spawn().with_context(|| format!("starting {command:?}"))?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = None;
    let status = loop {
        let seen = fs::read_to_string(&status_file).ok().and_then(|text| high_water_kb(&text));
        peak = seen.max(peak);
        if let Some(status) = child.try_wait()? {
            break status;
        }
    };
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(peak)
}

fn quiet(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
}

fn high_water_kb(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_read_where_the_kernel_wrote_it_and_a_dead_process_has_none() {
        assert_eq!(high_water_kb("Name:\tx\nVmHWM:\t    8124 kB\nVmRSS:\t 12 kB\n"), Some(8124));
        assert_eq!(high_water_kb("Name:\tx\nState:\tZ (zombie)\n"), None);
    }
}
