//! Disk faults: which calls fail, how often and how, in libfiu's commands, and how they reach a running
//! program.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::rng::Rng;

const EIO: u8 = 5;
const ENOSPC: u8 = 28;

/// The calls that every commit needs.
const OF_COMMITS: [&str; 3] = ["posix/io/rw/write", "posix/io/rw/pwrite", "posix/io/sync/fsync"];

/// The other calls on a home's files.
const OF_ALL: [&str; 7] = [
    "posix/io/rw/write/reduce",
    "posix/io/rw/pwrite/reduce",
    "posix/io/oc/open",
    "posix/io/rw/ftruncate",
    "posix/io/dir/rename",
    "posix/io/dir/unlink",
    "posix/io/rw/read",
];

/// One kind of call that fails at random.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    name: &'static str,
    probability: &'static str,
    error: u8,
}

impl Fault {
    fn new(names: &[&'static str], probabilities: &[&'static str], rng: &mut Rng) -> Self {
        let name = rng.pick(names).copied().unwrap_or_default();
        let full = name.contains("write") && rng.percent(60);
        Self {
            name,
            probability: rng.pick(probabilities).copied().unwrap_or_default(),
            error: if full { ENOSPC } else { EIO },
        }
    }

    /// The command that enables it.
    pub(crate) fn begin(&self) -> String {
        let Self {
            name,
            probability,
            error,
        } = self;
        format!("enable_random name={name},probability={probability},failinfo={error}")
    }

    /// The command that disables it.
    pub(crate) fn end(&self) -> String {
        format!("disable name={}", self.name)
    }
}

/// Faults for a whole process, rare enough that it may become ready.
pub(crate) fn rare(rng: &mut Rng) -> Vec<Fault> {
    let names: Vec<&str> = OF_COMMITS.iter().chain(&OF_ALL).copied().collect();
    let count = rng.between(1, 3);
    (0..count)
        .map(|_| Fault::new(&names, &["0.001", "0.005", "0.02"], rng))
        .collect()
}

/// Faults for a while during the work, at least one of which affects commits, up to a full disk.
pub(crate) fn often(rng: &mut Rng) -> Vec<Fault> {
    let mut faults = vec![Fault::new(&OF_COMMITS, &["0.02", "0.1", "0.4", "1"], rng)];
    if rng.percent(50) {
        faults.push(Fault::new(&OF_ALL, &["0.005", "0.02", "0.1"], rng));
    }
    faults
}

/// Sends commands to the disk of a running program. The program may end meanwhile, which is harmless.
pub(crate) fn tell(pipes: &Path, pid: u32, orders: &[String]) {
    let mut command = Command::new("timeout");
    // The timeout avoids an endless wait for a pipe without a reader.
    command.args(["2", "fiu-ctrl", "-f"]).arg(pipes);
    for order in orders {
        command.args(["-c", order]);
    }
    let _ = command
        .arg(pid.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
