//! Runs Git on a repository of snapshots.
//!
//! Git never opens a workspace: Wakeful reads and writes the files itself, and Git only stores and compares
//! contents. So no hook, filter, attribute, file system monitor or setting of a workspace can take effect.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The whole environment of Git besides the paths: no other setting than those of the command line applies.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_DEFAULT_REF_FORMAT", "files"),
    ("LC_ALL", "C"),
];

/// Names that Git would refuse on other systems are ordinary here, and every object is synced.
const SETTINGS: [&str; 11] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.quotePath=false",
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "core.compression=1",
    "gc.auto=0",
    "gc.packRefs=false",
];

/// Longest error text of Git that is kept.
const ERROR_BYTES_MAX: u64 = 4_096;

/// Git on one repository.
#[derive(Debug, Clone)]
pub(super) struct Git {
    pub(super) program: PathBuf,
    pub(super) repository: PathBuf,
}

/// Output of Git, cut at a limit.
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    pub(super) is_cut: bool,
}

/// A running Git that is killed at its deadline.
pub(super) struct Running {
    pub(super) child: Child,
    guard: Option<Guard>,
}

struct Guard {
    ended: mpsc::Sender<()>,
    thread: JoinHandle<bool>,
}

impl Guard {
    fn of(child: &Child, deadline: Instant) -> io::Result<Self> {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::NotFound)?;
        let process: OwnedFd = pidfd_open(pid, PidfdFlags::empty())?;
        let (ended, waiting) = mpsc::channel();
        let thread = std::thread::Builder::new().name("git-deadline".to_owned());
        let thread = thread.spawn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            let is_late = waiting.recv_timeout(left) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_late {
                // It fails only when the process is already gone.
                let _gone = pidfd_send_signal(&process, Signal::KILL);
            }
            is_late
        })?;
        Ok(Self { ended, thread })
    }

    /// Whether the process was killed.
    fn end(self) -> bool {
        let _ = self.ended.send(());
        self.thread.join().unwrap_or(true)
    }
}

impl Running {
    /// Waits for the end. The error is what Git printed.
    pub(super) fn finish(mut self) -> Result<(), String> {
        drop(self.child.stdin.take());
        let mut error = Vec::new();
        if let Some(stderr) = self.child.stderr.take() {
            let _ = stderr.take(ERROR_BYTES_MAX).read_to_end(&mut error);
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let is_late = self.guard.take().is_some_and(Guard::end);
        if is_late && !status.success() {
            return Err("git took too long".to_owned());
        }
        if status.success() {
            return Ok(());
        }
        let error = String::from_utf8_lossy(&error);
        let line = error.lines().next().unwrap_or_default();
        Err(format!("git ended with {status}: {line}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            guard.end();
        }
    }
}

impl Git {
    /// Starts Git with all three streams connected.
    pub(super) fn start(&self, arguments: &[&str], deadline: Instant) -> Result<Running, String> {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(ENVIRONMENT)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
            .env("GIT_DIR", &self.repository)
            .env("HOME", &self.repository);
        command.current_dir(self.repository.parent().unwrap_or(&self.repository));
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = command.spawn();
        let mut child =
            started.map_err(|error| format!("{} cannot be started: {error}", self.program.display()))?;
        match Guard::of(&child, deadline) {
            Ok(guard) => Ok(Running {
                child,
                guard: Some(guard),
            }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error.to_string())
            }
        }
    }

    /// Runs Git without input, and returns its output up to a limit.
    pub(super) fn output(
        &self,
        arguments: &[&str],
        bytes_max: usize,
        deadline: Instant,
    ) -> Result<Output, String> {
        let mut running = self.start(arguments, deadline)?;
        drop(running.child.stdin.take());
        let mut bytes = Vec::new();
        if let Some(stdout) = running.child.stdout.take() {
            let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
            stdout
                .take(limit)
                .read_to_end(&mut bytes)
                .map_err(|error| error.to_string())?;
        }
        if bytes.len() > bytes_max {
            bytes.truncate(bytes_max);
            return Ok(Output { bytes, is_cut: true });
        }
        running.finish()?;
        Ok(Output { bytes, is_cut: false })
    }

    /// Creates the repository unless it exists. Concurrent processes that do so all succeed.
    pub(super) fn create(&self, deadline: Instant) -> Result<(), String> {
        if self.repository.join("HEAD").exists() {
            return Ok(());
        }
        let temporary = self.repository.with_file_name(crate::remove_tree::fresh_name());
        let new = Self {
            repository: temporary.clone(),
            ..self.clone()
        };
        let arguments = [
            "init",
            "--quiet",
            "--bare",
            "--object-format=sha256",
            "--template=",
        ];
        let made = new.output(&arguments, 4_096, deadline);
        let moved = made
            .map(drop)
            .and_then(|()| std::fs::rename(&temporary, &self.repository).map_err(|error| error.to_string()));
        if moved.is_err() {
            let _ = std::fs::remove_dir_all(&temporary);
        }
        if self.repository.join("HEAD").exists() {
            Ok(())
        } else {
            moved
        }
    }

    /// Reads a ref from its file: refs of snapshots are never packed.
    pub(super) fn read_ref(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.repository.join(name)).ok()?;
        let text = text.trim();
        wakeful_core::key::Digest::from_hex(text).map(|_| text.to_owned())
    }
}

/// Finds the `git` program in a search path. Relative folders are skipped, because they depend on the
/// current folder.
#[must_use]
pub fn find_git(search_path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    let folders = std::env::split_paths(search_path?).filter(|folder| folder.is_absolute());
    let mut programs = folders.map(|folder| folder.join("git"));
    programs
        .find(|program| is_program(program))
        .and_then(|program| program.canonicalize().ok())
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The deadline of an operation that starts now.
pub(super) fn deadline(limit_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(limit_ms)
}
