//! The messages between the processes of a command.
//!
//! Each process below Wakeful has one end of a socket pair as its standard input. The parent sends the
//! specification once, with a length prefix, and then orders of one byte; the end of the stream means that
//! the parent is gone and the command must end. The child sends reports, one JSON line each. A pipe would
//! carry only one direction, and arguments are limited to 128 KiB and visible to every process.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use super::cgroup::Group;
use super::isolation::Isolation;
use super::limits::LimitExceeded;
use crate::files::scan_task::ScanTask;
use crate::options::{CommandLimits, DisabledFeatures, UnsandboxedPolicy};
use crate::secrets::SecretValue;
use crate::worktree::SharedFolder;

/// Largest specification. The command has at most 128 KiB, which JSON escapes may expand sixfold, and the
/// environment variables are small.
const SPEC_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Most buffered bytes of an incomplete report. A report is a short line.
const REPORT_BYTES_MAX: usize = 64 * 1024;

/// Most ports of this machine that one command reaches on its own loopback addresses.
pub(crate) const LOOPBACK_PORTS_MAX: usize = 8;

/// Most descriptors that accompany a message: the proxy's socket, two for each port of this machine, and where
/// more can be requested.
const DESCRIPTORS_MAX: usize = 2 + 2 * LOOPBACK_PORTS_MAX;

/// The order to send SIGTERM to every process of the command.
pub(crate) const TERMINATE: u8 = b'T';

/// What to run, and with which restrictions.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    /// The pid of Wakeful's own process.
    pub(crate) host: i32,
    /// The arguments that make the program enter the sandbox.
    pub(crate) args_prefix: Vec<String>,
    pub(crate) cmd: String,
    /// The work of the sandboxed process itself, in place of a shell command.
    pub(crate) task: Option<ScanTask>,
    pub(crate) workdir: PathBuf,
    /// The complete environment of the command.
    pub(crate) environment: BTreeMap<String, String>,
    /// Secrets that the command receives beside it.
    pub(crate) secrets: BTreeMap<String, SecretValue>,
    /// The folder that the command cannot access.
    pub(crate) home: PathBuf,
    /// Other paths that the command cannot read, with symlinks resolved.
    pub(crate) closed: Vec<PathBuf>,
    /// A folder that the command cannot access, for what is mounted over denied paths.
    pub(crate) covers: PathBuf,
    /// The files and folders that the command may read. Everything else is unreadable.
    pub(crate) readable: Vec<PathBuf>,
    /// The folders that the command may write to, and read.
    pub(crate) writable: Vec<PathBuf>,
    /// The files and folders inside those that the command may only read, as far as a mount namespace can
    /// enforce that.
    pub(crate) read_only: Vec<PathBuf>,
    /// Whether `read_only` names everything that must be protected.
    pub(crate) is_read_only_complete: bool,
    /// A folder in which the command may create and replace files, if all of its protected entries can be made
    /// read-only.
    pub(crate) shared: Option<SharedFolder>,
    pub(crate) limits: CommandLimits,
    /// Whether ports of the command are published outside its network namespace.
    pub(crate) publishes_ports: bool,
    /// The ports on which the command reaches services of this machine.
    pub(crate) loopback_ports: Vec<u16>,
    /// The control group that limits the command; it has no parts if none is delegated.
    pub(crate) group: Group,
    /// What to do if the kernel cannot enforce the restrictions.
    pub(crate) unsandboxed: UnsandboxedPolicy,
    /// Kernel features to treat as missing.
    pub(crate) pretend: DisabledFeatures,
}

/// How the processes of a command are contained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Containment {
    /// In a PID namespace that ends with its first process.
    Namespace,
    /// Below a process that adopts orphans and kills them one by one.
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

/// A report from a process to its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The command is confined and starts next. It is reported first, because a command that exceeds a limit
    /// immediately may leave no time for another report.
    Confined {
        /// The isolation that was actually enforced.
        isolation: Isolation,
    },
    /// The shell runs.
    Started {
        /// The shell's process group, if the supervisor sees it under that number.
        group: Option<i32>,
    },
    /// The command has its own network namespace. Sockets of it accompany this report: the listener of the
    /// proxy, listeners that lead to ports of this machine, and where more can be requested.
    Network { loopback_listeners: usize },
    /// The shell ended.
    Ended(ShellEnd),
    /// The command exceeded a limit and is being killed.
    Exceeded(LimitExceeded),
    /// What the command wrote to disks, reported at the end.
    Written {
        /// As far as it was measured.
        bytes: u64,
        /// Whether some writes could not be measured.
        is_partial: bool,
    },
    /// The kernel cannot enforce the sandbox, and running without it was not allowed.
    Refused {
        /// The missing kernel features.
        lacking: String,
    },
    /// A user namespace was created and cannot be used. Nothing has run; the command must be restarted
    /// without one.
    NoNamespaces,
    /// The shell was never started.
    Failed {
        /// What was attempted.
        doing: String,
        /// The system's error.
        cause: String,
    },
}

/// How a shell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShellEnd {
    /// It exited with this status.
    Exit(i32),
    /// It was killed by this signal.
    Signal(i32),
}

/// Why a stage of the sandbox failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    /// The namespace that this process is in cannot be used.
    #[error("the user namespace cannot be used")]
    NoNamespaces,
    /// The parent is gone, so the command is not needed any more.
    #[error("the parent process is gone")]
    Orphaned,
    /// A required operation failed.
    #[error("{doing}: {cause}")]
    Failed {
        /// What was attempted.
        doing: &'static str,
        /// The system's error.
        cause: String,
    },
}

impl StageError {
    /// Converts any error, for `map_err`.
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
    /// Descriptors that accompanied reports.
    received: Vec<OwnedFd>,
}

/// The result of a read from a link.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkRead {
    /// Complete lines.
    Lines(Vec<Vec<u8>>),
    /// The other side has closed the link.
    End,
}

impl StageLink {
    pub(crate) const fn new(socket: UnixStream) -> Self {
        Self {
            socket,
            waiting: Vec::new(),
            received: Vec::new(),
        }
    }

    /// The link that this process received as its standard input.
    pub(crate) fn of_stdin() -> io::Result<Self> {
        // A close-on-exec copy: if the command held an end, its own existence would keep the link open.
        let copy = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self::new(UnixStream::from(copy)))
    }

    pub(crate) fn send_spec(&mut self, json: &[u8]) -> io::Result<()> {
        let length = u32::try_from(json.len()).map_err(io::Error::other)?;
        self.socket.write_all(&length.to_le_bytes())?;
        self.socket.write_all(json)
    }

    /// Receives a specification, without reading any bytes after it.
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

    /// Sends an order to the child.
    pub(crate) fn order(&mut self, order: u8) -> io::Result<()> {
        self.socket.write_all(&[order])
    }

    /// Tells the child that the command is not needed any more. Its reports can still be read.
    pub(crate) fn hang_up(&self) {
        // It fails only when the other side is already gone.
        let _gone = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Sends a report to the parent. A missing parent is not an error here: the reader of orders detects
    /// it.
    pub(crate) fn report(&mut self, report: &Report) {
        let Ok(mut line) = serde_json::to_vec(report) else {
            return;
        };
        line.push(b'\n');
        self.forward(&line);
    }

    /// Sends a report with descriptors.
    pub(crate) fn report_with(&mut self, report: &Report, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut line = serde_json::to_vec(report).map_err(io::Error::other)?;
        line.push(b'\n');
        send_descriptors(&self.socket, &line, descriptors)
    }

    /// The descriptors that were received so far.
    pub(crate) fn take_descriptors(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.received)
    }

    /// Forwards bytes that already are a report.
    pub(crate) fn forward(&mut self, line: &[u8]) {
        let _unheard = self.socket.write_all(line);
    }

    /// Reads the available bytes; blocks if there are none, so call [`poll`] first.
    pub(crate) fn read_lines(&mut self) -> io::Result<LinkRead> {
        let mut bytes = [0; 4096];
        let count = match receive_descriptors(&self.socket, &mut bytes, &mut self.received) {
            Ok(0) => return Ok(LinkRead::End),
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(LinkRead::End),
            read => read?,
        };
        self.waiting.extend(bytes.iter().take(count));
        if self.waiting.len() > REPORT_BYTES_MAX {
            return Err(io::Error::other("a report without a line end"));
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

    /// Reads orders; none means that the parent is gone.
    pub(crate) fn orders(&mut self) -> Option<Vec<u8>> {
        let mut bytes = [0; 64];
        match self.socket.read(&mut bytes) {
            Ok(0) | Err(_) => None,
            Ok(count) => Some(bytes.iter().take(count).copied().collect()),
        }
    }

    /// Whether the other side has closed the link, without blocking.
    pub(crate) fn is_cut(&self) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let now = rustix::event::Timespec::default();
        match poll(&mut fds, Some(&now)) {
            Ok(0) => false,
            Ok(_) | Err(_) => true,
        }
    }
}

/// Sends bytes with descriptors. The bytes are short, so the socket takes all of them at once.
pub(crate) fn send_descriptors(
    socket: &UnixStream,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors"));
    }
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == bytes.len() {
        return Ok(());
    }
    Err(io::ErrorKind::WriteZero.into())
}

/// Receives bytes, and adds the descriptors that accompany them, up to [`DESCRIPTORS_MAX`].
pub(crate) fn receive_descriptors(
    socket: &UnixStream,
    bytes: &mut [u8],
    received: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = recvmsg(
        socket,
        &mut [IoSliceMut::new(bytes)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    for ancillary in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = ancillary {
            received.extend(descriptors);
        }
    }
    received.truncate(DESCRIPTORS_MAX);
    Ok(message.bytes)
}

impl AsFd for StageLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
