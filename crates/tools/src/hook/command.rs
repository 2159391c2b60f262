//! Runs the command of a hook.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use wakeful_core::hook::{HOOK_OUTPUT_BYTES_MAX, HookEnd, HookOutput};

use crate::process::kill_tree;
use crate::secrets::SecretValue;

/// Variables that a hook receives if they are set. Keys are not among them.
const VARIABLES: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"];

/// The shell that runs commands.
const SHELL: &str = "/bin/sh";

/// How long the processes of a hook are killed before the rest is left to the kernel.
const KILL_MAX: Duration = Duration::from_secs(2);

/// The command of a hook.
pub(super) struct HookCommand<'a> {
    pub(super) text: &'a str,
    pub(super) folder: &'a Path,
    /// The variables of this process, of which the command gets a few.
    pub(super) environment: &'a BTreeMap<String, String>,
    /// The secrets that it gets in its environment, by name.
    pub(super) secrets: &'a BTreeMap<String, SecretValue>,
}

/// Runs a command with the input on its standard input. When it ends, and when this future is dropped, everything
/// that it started is killed.
pub(super) async fn run(hook: HookCommand<'_>, input: Vec<u8>) -> HookOutput {
    match start(&hook) {
        Ok(running) => running.finish(input).await,
        Err(error) => not_run(&error),
    }
}

fn not_run(error: &io::Error) -> HookOutput {
    HookOutput {
        end: HookEnd::NotRun(error.to_string()),
        answer: Vec::new(),
        errors: Vec::new(),
    }
}

/// A running hook. It is killed when dropped.
struct Running {
    tree: ProcessTree,
    exited: AsyncFd<OwnedFd>,
    stdin: Sender,
    stdout: Receiver,
    stderr: Receiver,
}

fn start(hook: &HookCommand<'_>) -> io::Result<Running> {
    let passed = VARIABLES
        .iter()
        .filter_map(|name| hook.environment.get_key_value(*name));
    let secrets = hook.secrets.iter().map(|(name, value)| (name, value.reveal()));
    let child = Command::new(SHELL)
        .args(["-c", hook.text])
        .env_clear()
        .envs(passed)
        .envs(secrets)
        .current_dir(hook.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let mut tree = ProcessTree(child);
    let missing = || io::Error::other("a stream of the hook is missing");
    let stdin = OwnedFd::from(tree.0.stdin.take().ok_or_else(missing)?);
    let stdout = OwnedFd::from(tree.0.stdout.take().ok_or_else(missing)?);
    let stderr = OwnedFd::from(tree.0.stderr.take().ok_or_else(missing)?);
    let exited = pidfd_open(tree.pid(), PidfdFlags::empty())?;
    #[expect(
        deprecated,
        reason = "its replacement is unsafe code; the descriptor stays open while it is owned here"
    )]
    let exited = AsyncFd::new(exited)?;
    Ok(Running {
        exited,
        tree,
        stdin: Sender::from_owned_fd(stdin)?,
        stdout: Receiver::from_owned_fd(stdout)?,
        stderr: Receiver::from_owned_fd(stderr)?,
    })
}

impl Running {
    async fn finish(self, input: Vec<u8>) -> HookOutput {
        let Self {
            mut tree,
            exited,
            mut stdin,
            stdout,
            stderr,
        } = self;
        let feed = async {
            // A hook need not read its input.
            let _unread = stdin.write_all(&input).await;
            drop(stdin);
            Ok(())
        };
        let read = async { tokio::try_join!(bounded(stdout), bounded(stderr), feed) };
        tokio::pin!(read);
        let mut done = None;
        let ended = loop {
            tokio::select! {
                ended = exited.readable() => break ended.map(drop),
                all = &mut read, if done.is_none() => match all {
                    Ok((answer, errors, ())) => done = Some((answer, errors)),
                    // A hook that writes too much is not waited for.
                    Err(TooMuchOutput) => return too_much(),
                },
            }
        };
        if let Err(error) = ended {
            return not_run(&error);
        }
        // Before the process is reaped, so that the group cannot be another one.
        tree.kill_group();
        let status = match tree.0.wait() {
            Ok(status) => status,
            Err(error) => return not_run(&error),
        };
        let (answer, errors) = match done {
            Some(both) => both,
            // A process that left the group may hold the streams.
            None => match tokio::time::timeout(KILL_MAX, read).await {
                Ok(Ok((answer, errors, ()))) => (answer, errors),
                Ok(Err(TooMuchOutput)) => return too_much(),
                Err(_) => return not_run(&io::Error::other("it left a process that keeps its output open")),
            },
        };
        let end = match (status.code(), status.signal()) {
            (Some(code), _) => HookEnd::Exited(code),
            (None, _) => HookEnd::Killed,
        };
        HookOutput { end, answer, errors }
    }
}

const fn too_much() -> HookOutput {
    HookOutput {
        end: HookEnd::TooMuchOutput,
        answer: Vec::new(),
        errors: Vec::new(),
    }
}

/// A stream is longer than allowed.
struct TooMuchOutput;

/// Reads a stream to its end.
async fn bounded(stream: impl AsyncRead + Unpin) -> Result<Vec<u8>, TooMuchOutput> {
    let limit = u64::try_from(HOOK_OUTPUT_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    // A stream that breaks has ended.
    let _broken = stream.take(limit.saturating_add(1)).read_to_end(&mut bytes).await;
    match bytes.len() <= HOOK_OUTPUT_BYTES_MAX {
        true => Ok(bytes),
        false => Err(TooMuchOutput),
    }
}

/// The processes of a hook.
struct ProcessTree(Child);

impl ProcessTree {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Kills the processes that did not leave the group.
    fn kill_group(&self) {
        // The group may be empty.
        let _gone = kill_process_group(self.pid(), Signal::KILL);
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        // Also the processes that left the group. It takes milliseconds.
        kill_tree(self.pid(), Instant::now() + KILL_MAX);
        self.kill_group();
        let _reaped = self.0.wait();
    }
}
