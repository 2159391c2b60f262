//! The directory of one test: homes for the program, a workspace with the world file, and all logs.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::rng::Rng;

/// Ports that are tried before giving up. Below the range that the system assigns to clients, which could
/// otherwise occupy the port while the program is dead.
const PORTS: std::ops::Range<u64> = 10_000..30_000;
const PORT_TRIES_MAX: u32 = 200;

/// The programs that a campaign needs.
#[derive(Debug, Clone)]
pub(crate) struct Tools {
    /// The program under test, with its fail points compiled in.
    pub(crate) program: PathBuf,
    /// The program that checks the results.
    pub(crate) checker: PathBuf,
    /// The library that injects disk faults between the program and its files.
    pub(crate) disk: PathBuf,
    /// The PostgreSQL connection string, if the campaign uses PostgreSQL.
    pub(crate) database: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct TestDir {
    pub(crate) folder: PathBuf,
    pub(crate) tools: Tools,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl TestDir {
    /// Creates a test directory with this number of homes.
    pub(crate) fn make(folder: PathBuf, tools: &Tools, homes: usize, rng: &mut Rng) -> Result<Self> {
        for part in ["work", "scripts"] {
            let path = folder.join(part);
            std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        }
        let addresses = (0..homes).map(|_| free_port(rng)).collect::<Result<_>>()?;
        Ok(Self {
            folder,
            tools: tools.clone(),
            addresses,
        })
    }

    pub(crate) fn home(&self, index: usize) -> PathBuf {
        self.folder.join(format!("home{index}"))
    }

    pub(crate) fn journal(&self, index: usize) -> PathBuf {
        self.folder.join(format!("journal{index}"))
    }

    /// The path prefix of the pipes that control disk faults; a process number and a suffix are appended.
    pub(crate) fn pipes(&self) -> PathBuf {
        self.folder.join("fiu")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// The watched folder. Files are written in [`Self::drafts`] and then moved here.
    pub(crate) fn watched(&self) -> PathBuf {
        self.folder.join("watched")
    }

    /// See [`Self::watched`].
    pub(crate) fn drafts(&self) -> PathBuf {
        self.folder.join("drafts")
    }

    pub(crate) fn world(&self) -> PathBuf {
        self.workspace().join("world.txt")
    }

    pub(crate) fn history(&self) -> PathBuf {
        self.folder.join("history.jsonl")
    }

    /// Writes the script of a message, and returns how the message refers to it.
    pub(crate) fn script(&self, name: &str, yaml: &str) -> Result<String> {
        let path = self.folder.join("scripts").join(format!("{name}.yaml"));
        std::fs::write(&path, yaml).with_context(|| format!("writing {}", path.display()))?;
        Ok(format!("scripted:{}", path.display()))
    }
}

fn free_port(rng: &mut Rng) -> Result<SocketAddr> {
    for _ in 0..PORT_TRIES_MAX {
        let port = u16::try_from(rng.between(PORTS.start, PORTS.end - 1))?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    bail!("no port is free")
}

/// Compiles the fault injection library.
pub(crate) fn build_disk(folder: &Path) -> Result<PathBuf> {
    let library = folder.join("disk.so");
    compile(include_str!("../shim/disk.c"), &library, &["-shared", "-fPIC"])?;
    Ok(library)
}

/// Compiles a C source.
pub(crate) fn compile(text: &str, to: &Path, flags: &[&str]) -> Result<()> {
    let source = to.with_extension("c");
    std::fs::write(&source, text).with_context(|| format!("writing {}", source.display()))?;
    let mut cc = std::process::Command::new("cc");
    cc.args(["-O2", "-Wall", "-Werror"])
        .args(flags)
        .arg("-o")
        .arg(to)
        .arg(&source);
    let status = cc.status().context("cc: install a C compiler")?;
    if !status.success() {
        bail!("{} does not compile", source.display());
    }
    Ok(())
}
