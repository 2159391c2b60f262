//! What the processes of a command say to one another.
//!
//! Each process below Wakeful has one end of a socket pair as its standard input. Downwards go the
//! specification, once and with its length before it, and then orders of one byte; the end of the stream means
//! that the one above has gone, and with it the reason to run. Upwards go reports, one JSON line each. A pipe
//! would carry only one direction, and arguments are limited to 128 KiB and visible to every process.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};

use super::cgroup::Group;
use super::isolation::Isolation;
use super::limits::LimitExceeded;
use crate::options::{CommandLimits, DisabledFeatures, UnsandboxedPolicy};

/// Largest specification. The command has at most 128 KiB, which JSON may stretch sixfold, and the few
/// variables of the environment share a page or two.
const SPEC_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Most bytes of reports that wait for their line to end. A report is a short line.
const REPORT_BYTES_MAX: usize = 64 * 1024;

/// The order to ask every process of the command to end.
pub(crate) const TERMINATE: u8 = b'T';

/// What to run, and within which walls.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    /// Wakeful's own process.
    pub(crate) host: i32,
    /// The arguments by which the program finds its way back to the sandbox.
    pub(crate) args_prefix: Vec<String>,
    /// The shell command.
    pub(crate) cmd: String,
    /// Where it runs.
    pub(crate) workdir: PathBuf,
    /// All the variables it sees.
    pub(crate) environment: BTreeMap<String, String>,
    /// The folder it cannot reach.
    pub(crate) home: PathBuf,
    /// Other places it cannot read, without symlinks.
    pub(crate) closed: Vec<PathBuf>,
    /// A folder out of the command's reach, for what is mounted over closed places.
    pub(crate) covers: PathBuf,
    /// The folders it may write to.
    pub(crate) writable: Vec<PathBuf>,
    /// The files inside those folders that it may only read, as far as a mount namespace can see to that.
    pub(crate) read_only: Vec<PathBuf>,
    /// What it may use.
    pub(crate) limits: CommandLimits,
    /// The control group that the kernel bounds it by; without parts where there is none.
    pub(crate) group: Group,
    /// What to do where the kernel cannot enforce this.
    pub(crate) unsandboxed: UnsandboxedPolicy,
    /// What the kernel is taken to lack.
    pub(crate) pretend: DisabledFeatures,
}

/// How the processes of a command are kept together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Containment {
    /// In a PID namespace that ends with its first process.
    Namespace,
    /// Under a process that inherits orphans and kills them one by one.
    Subreaper,
}

impl Containment {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Namespace => "pidns",
            Self::Subreaper => "subreaper",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Namespace, Self::Subreaper]
            .into_iter()
            .find(|containment| containment.as_str() == text)
    }
}

/// What is reported upwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The shell runs.
    Started {
        /// The isolation that was really enforced.
        isolation: Isolation,
        /// The shell's process group, where the supervisor can see it under that number.
        group: Option<i32>,
    },
    /// The shell ended.
    Ended(ShellEnd),
    /// The command used too much and is being ended.
    Exceeded(LimitExceeded),
    /// What the command wrote to disks, told when it is over.
    Written {
        /// As far as it was seen.
        bytes: u64,
        /// Whether some of it could not be seen.
        is_partial: bool,
    },
    /// The kernel cannot enforce the sandbox, and running without it was not allowed.
    Refused {
        /// What is missing.
        lacking: String,
    },
    /// A user namespace was made and cannot be used. Nothing has run; it must be begun again without one.
    NoNamespaces,
    /// The shell was never started.
    Failed {
        /// What was being attempted.
        doing: String,
        /// What the system said.
        cause: String,
    },
}

/// How a shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShellEnd {
    /// By itself, with this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

/// Why a stage of the sandbox could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    /// The namespace that this process is in cannot be used.
    #[error("the user namespace cannot be used")]
    NoNamespaces,
    /// The one above is gone, so nobody wants this command any more.
    #[error("nobody is listening")]
    Orphaned,
    /// Something that must work did not.
    #[error("{doing}: {cause}")]
    Failed {
        /// What was being attempted.
        doing: &'static str,
        /// What the system said.
        cause: String,
    },
}

impl StageError {
    /// Turns any failure into a sentence, for `map_err`.
    pub(crate) fn failed<E: std::fmt::Display>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self::Failed {
            doing,
            cause: cause.to_string(),
        }
    }
}

/// One end of the socket between two processes of a command.
#[derive(Debug)]
pub(crate) struct StageLink {
    socket: UnixStream,
    waiting: Vec<u8>,
}

/// What a read from a link found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkRead {
    /// These complete lines.
    Lines(Vec<Vec<u8>>),
    /// The other side is gone.
    End,
}

impl StageLink {
    /// Takes one end of a pair.
    pub(crate) const fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            waiting: Vec::new(),
        }
    }

    /// The end that was handed to this process as its standard input.
    pub(crate) fn of_stdin() -> io::Result<Self> {
        // A copy that closes on exec: the command must never hold an end, or its life would depend on itself.
        let copy = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self::new(UnixStream::from(copy)))
    }

    /// Sends a specification.
    pub(crate) fn send_spec(&mut self, json: &[u8]) -> io::Result<()> {
        let length = u32::try_from(json.len()).map_err(io::Error::other)?;
        self.socket.write_all(&length.to_le_bytes())?;
        self.socket.write_all(json)
    }

    /// Receives a specification, without a byte of what comes after it.
    pub(crate) fn receive_spec(&mut self) -> Result<Vec<u8>, StageError> {
        let mut length = [0; 4];
        self.socket
            .read_exact(&mut length)
            .map_err(|_| StageError::Orphaned)?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > SPEC_BYTES_MAX {
            return Err(StageError::Failed {
                doing: "reading the specification",
                cause: "it is too long".into(),
            });
        }
        let mut json = vec![0; length];
        self.socket
            .read_exact(&mut json)
            .map_err(|_| StageError::Orphaned)?;
        Ok(json)
    }

    /// Sends an order down.
    pub(crate) fn order(&mut self, order: u8) -> io::Result<()> {
        self.socket.write_all(&[order])
    }

    /// Tells the one below that nobody wants the command any more. Its reports can still be read.
    pub(crate) fn hang_up(&self) {
        // It fails only when the other side is gone already.
        let _gone = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Sends a report up. Nobody to hear it is no failure: the reader of orders finds that out by itself.
    pub(crate) fn report(&mut self, report: &Report) {
        let Ok(mut line) = serde_json::to_vec(report) else {
            return;
        };
        line.push(b'\n');
        self.forward(&line);
    }

    /// Passes on bytes that are a report already.
    pub(crate) fn forward(&mut self, line: &[u8]) {
        let _unheard = self.socket.write_all(line);
    }

    /// Reads what is there; blocks when nothing is, so ask [`poll`] first.
    pub(crate) fn hear(&mut self) -> io::Result<LinkRead> {
        let mut bytes = [0; 4096];
        let count = match self.socket.read(&mut bytes) {
            Ok(0) => return Ok(LinkRead::End),
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(LinkRead::End),
            read => read?,
        };
        self.waiting.extend(bytes.iter().take(count));
        if self.waiting.len() > REPORT_BYTES_MAX {
            return Err(io::Error::other("a report without an end"));
        }
        let mut lines: Vec<Vec<u8>> = self
            .waiting
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        self.waiting = lines
            .pop_if(|last| last.last() != Some(&b'\n'))
            .unwrap_or_default();
        Ok(LinkRead::Lines(lines))
    }

    /// Reads orders; nothing means that the one above has gone.
    pub(crate) fn orders(&mut self) -> Option<Vec<u8>> {
        let mut bytes = [0; 64];
        match self.socket.read(&mut bytes) {
            Ok(0) | Err(_) => None,
            Ok(count) => Some(bytes.iter().take(count).copied().collect()),
        }
    }

    /// Whether the other side has gone, without waiting for it.
    pub(crate) fn is_cut(&self) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let now = rustix::event::Timespec::default();
        match poll(&mut fds, Some(&now)) {
            Ok(0) => false,
            Ok(_) | Err(_) => true,
        }
    }
}

impl AsFd for StageLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
