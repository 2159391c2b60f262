//! Runs one command from start to end, on its own thread.
//!
//! The thread starts the supervisor and lives as long as the supervisor does, because the kernel sends the
//! parent-death signal when the *thread* that started a process exits. It waits for output, reports, the
//! stop signal and the deadline in one poll, so a stream that a stray process keeps open cannot block it.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::Pid;
use wakeful_core::redact::{Redactor, StreamRedactor};
use wakeful_core::step::ToolError;
use wakeful_ports::fail_point;
use wakeful_ports::tool::{OutputSink, OutputStream, ToolOutcome};

use crate::cleanup::Cleanup;
use crate::network::call::{CallNetwork, NetworkOptions, NetworkReport};
use crate::operation_dir::OperationDir;
use crate::outcome::{CommandOutcome, EndReason, cancelled, refused, sandbox_unavailable, spawn_failed};
use crate::output::BoundedOutput;
use crate::permissions::PermissionsGuard;
use crate::process::ProcessIdentity;
use crate::sandbox::cgroup::Group;
use crate::sandbox::isolation::Isolation;
use crate::sandbox::network_namespace::NamespaceSockets;
use crate::sandbox::protocol::{LinkRead, Report, ShellEnd, Spec, StageLink, TERMINATE};
use crate::sandbox::{SHOWN_NAME, Stage};
use crate::set_id::{self, Moment};

/// Time between the request to terminate and the kill. Enough for a program to save its data.
const GRACE: Duration = Duration::from_secs(2);

/// How long the supervisor may take to kill everything before the result is returned. Together with the
/// grace period it stays within the 5 s that a stop may take; a supervisor that needs longer continues in
/// the background.
const KILLING_MAX: Duration = Duration::from_millis(2_300);

/// How long the supervisor may take to read its specification. It does nothing else at that point, unless
/// it is a different program.
const HANDOVER_MAX: Duration = Duration::from_secs(5);

/// Bytes per read: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes read after the end from what was printed before it: the maximum capacity of a pipe.
const REST_BYTES_MAX: usize = 1024 * 1024;

/// The assumed end of a shell whose exit was not observed: SIGKILL.
const KILLED: ShellEnd = ShellEnd::Signal(9);

/// Stops a running command, from any thread.
#[derive(Debug)]
pub(crate) struct CommandStop(OwnedFd);

impl CommandStop {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Requests the stop. It cannot be withdrawn.
    pub(crate) fn pull(&self) {
        // The write fails only when the counter is full, and then the stop was already requested.
        let _full = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) program: PathBuf,
    pub(crate) spec: Spec,
    pub(crate) folder: OperationDir,
    pub(crate) timeout: Duration,
    pub(crate) output_tokens: u32,
    /// The hosts that it may reach, if it gets its own network namespace.
    pub(crate) network: NetworkOptions,
    /// Receives the output while the command runs.
    pub(crate) output: OutputSink,
    /// Removes secrets from the output.
    pub(crate) redactor: Arc<Redactor>,
    /// Bytes that the command wrote to disks, known after it ran.
    pub(crate) written_bytes: u64,
}

/// Nothing has run, because a user namespace was created and could not be used.
#[derive(Debug)]
pub(crate) struct NoNamespaces;

/// How a command went.
#[derive(Debug)]
pub(crate) enum Execution {
    /// It ran.
    Ran(CommandOutcome),
    /// It did not run.
    Refused(ToolError),
}

impl Command {
    /// Runs the command and leaves neither a process nor a folder behind. The result is that of the tool.
    pub(crate) fn run(&mut self, brake: &CommandStop) -> Result<ToolOutcome, NoNamespaces> {
        let tokens = self.output_tokens;
        Ok(match self.execute(brake)? {
            Execution::Ran(ran) => ran.done(tokens, &self.redactor),
            Execution::Refused(fault) => refused(&fault),
        })
    }

    /// Runs the command and leaves neither a process nor a folder behind.
    pub(crate) fn execute(&mut self, brake: &CommandStop) -> Result<Execution, NoNamespaces> {
        let (begun, since) = (Instant::now(), Moment::now());
        let guard = PermissionsGuard::new(&self.spec.home);
        if !self.spec.pretend.no_cgroups {
            self.spec.group = Group::make(&self.spec.limits);
        }
        let (cleanup, mut running) = match self.start() {
            Ok(started) => started,
            Err(fault) => {
                self.spec.group.remove();
                self.folder.remove();
                return Ok(Execution::Refused(fault));
            }
        };
        running.watch(brake, begun + self.timeout, &self.network);
        // Published ports end with the command.
        running.end_network();
        cleanup.wait_moment();
        running.read_rest();
        self.written_bytes = running.written_bytes;
        running.repaired = guard.repair();
        if running.isolation.as_ref().is_some_and(Isolation::is_nothing) {
            let folders = self.spec.writable.first().into_iter();
            running
                .repaired
                .extend(folders.flat_map(|workspace| set_id::strip(workspace, since)));
        }
        if running.isolation.is_some() {
            cleanup.finish();
        } else {
            cleanup.finish_by_force();
        }
        running.finish(begun.elapsed())
    }

    fn start(&self) -> Result<(Cleanup, Running), ToolError> {
        let failed = |doing: &str, e: &dyn std::fmt::Display| {
            spawn_failed(
                &format!("{doing}: {e}"),
                "the machine or Wakeful's installation is at fault; run `wakeful doctor`",
            )
        };
        self.folder
            .make()
            .map_err(|e| failed("creating the private folder", &e))?;
        let json = serde_json::to_vec(&self.spec).map_err(|e| failed("writing the specification", &e))?;
        let (ours, theirs) = UnixStream::pair().map_err(|e| failed("creating a socket pair", &e))?;
        ours.set_write_timeout(Some(HANDOVER_MAX))
            .map_err(|e| failed("creating a socket pair", &e))?;
        let mut child = self
            .spawn(theirs)
            .map_err(|e| failed("starting the sandbox", &e))?;
        let mut running = Running::new(StageLink::new(ours), &mut child, self);
        // The record is written first, so that the command can be found again after a crash. If one of
        // these steps fails, `running` is dropped, and closing the socket ends the supervisor.
        let begun = ProcessIdentity::of(Pid::from_child(&child))
            .ok_or_else(|| io::Error::other("it exited immediately"))
            .and_then(|identity| self.folder.record(&identity))
            .and_then(|()| running.link.send_spec(&json));
        let cleanup = Cleanup {
            supervisor: child,
            folder: self.folder.clone(),
            group: self.spec.group.clone(),
        };
        match begun {
            Ok(()) => {
                fail_point::fail_point("act.in_process");
                Ok((cleanup, running))
            }
            Err(e) => {
                drop(running);
                cleanup.wait_moment();
                cleanup.finish_by_force();
                Err(failed("sending the command to the sandbox", &e))
            }
        }
    }

    fn spawn(&self, link: UnixStream) -> io::Result<Child> {
        let mut command = std::process::Command::new(&self.program);
        command
            .arg0(SHOWN_NAME)
            .args(&self.spec.args_prefix)
            .args(Stage::Supervisor.arguments());
        command.env_clear().current_dir("/");
        command
            .stdin(Stdio::from(OwnedFd::from(link)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn()
    }
}

/// The phase of a command. Each phase has its own deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Terminating,
    Killing,
}

/// One output stream of a command.
struct Stream {
    /// None after the stream has ended.
    pipe: Option<OwnedFd>,
    /// Secrets are removed before the output is cut, because a part of one would not be found afterwards.
    redactor: StreamRedactor,
    kept: BoundedOutput,
    kind: OutputStream,
    sink: OutputSink,
}

struct Running {
    link: StageLink,
    streams: [Stream; 2],
    /// The enforced isolation, known before the shell starts.
    isolation: Option<Isolation>,
    end: Option<(EndReason, ShellEnd)>,
    ending: EndReason,
    /// The supervisor has reported the end of the command and is killing leftover processes.
    is_over: bool,
    /// Bytes that the command wrote to disks.
    written_bytes: u64,
    /// Permissions that were restored, of the home's files and of set-id files.
    repaired: Vec<String>,
    unstarted: Option<StartError>,
    network: Option<CallNetwork>,
    network_report: NetworkReport,
}

enum StartError {
    Fault(ToolError),
    NoNamespaces,
}

impl Running {
    fn new(link: StageLink, child: &mut Child, command: &Command) -> Self {
        let stream = |kind, pipe| Stream {
            pipe,
            redactor: command.redactor.stream(),
            kept: BoundedOutput::default(),
            kind,
            sink: command.output.clone(),
        };
        let streams = [
            stream(OutputStream::Stdout, child.stdout.take().map(OwnedFd::from)),
            stream(OutputStream::Stderr, child.stderr.take().map(OwnedFd::from)),
        ];
        Self {
            link,
            streams,
            isolation: None,
            end: None,
            ending: EndReason::Completed,
            is_over: false,
            written_bytes: 0,
            repaired: Vec::new(),
            unstarted: None,
            network: None,
            network_report: NetworkReport::default(),
        }
    }

    /// Reads and waits until the supervisor has exited or its deadline has passed.
    fn watch(&mut self, brake: &CommandStop, until: Instant, network: &NetworkOptions) {
        let (mut phase, mut until) = (Phase::Running, until);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(ready) = self.poll(brake, phase, left) else {
                return;
            };
            for (stream, ready) in self.streams.iter_mut().zip(ready.streams) {
                if ready {
                    stream.read();
                }
            }
            if ready.link && self.read_reports(network) == Next::End {
                return;
            }
            (phase, until) = match phase {
                Phase::Running if self.is_over => (Phase::Killing, Instant::now() + KILLING_MAX),
                Phase::Running if ready.brake => self.terminate(EndReason::Stopped),
                Phase::Running if left.is_zero() => self.terminate(EndReason::TimedOut),
                Phase::Terminating if left.is_zero() => {
                    self.link.hang_up();
                    (Phase::Killing, Instant::now() + KILLING_MAX)
                }
                Phase::Killing if left.is_zero() => return,
                Phase::Running | Phase::Terminating | Phase::Killing => (phase, until),
            };
        }
    }

    fn poll(&self, brake: &CommandStop, phase: Phase, left: Duration) -> io::Result<PollResult> {
        let mut fds = vec![PollFd::new(&self.link, PollFlags::IN)];
        let watches_brake = phase == Phase::Running;
        fds.extend(watches_brake.then(|| PollFd::new(&brake.0, PollFlags::IN)));
        let open = self.streams.each_ref().map(|stream| stream.pipe.as_ref());
        fds.extend(
            open.iter()
                .flatten()
                .map(|pipe| PollFd::new(*pipe, PollFlags::IN)),
        );
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&left)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(PollResult::default()),
            Err(e) => return Err(e.into()),
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let mut next = |asked: bool| asked && ready.next().unwrap_or(false);
        Ok(PollResult {
            link: next(true),
            brake: next(watches_brake),
            streams: open.map(|pipe| next(pipe.is_some())),
        })
    }

    fn terminate(&mut self, why: EndReason) -> (Phase, Instant) {
        self.ending = why;
        // If the supervisor is gone, the next poll finds out.
        let _gone = self.link.order(TERMINATE);
        (Phase::Terminating, Instant::now() + GRACE)
    }

    fn end_network(&mut self) {
        if let Some(network) = self.network.take() {
            self.network_report = network.finish();
        }
    }

    fn start_network(&mut self, options: &NetworkOptions, loopback_listeners: usize) {
        let Some(sockets) = NamespaceSockets::of(self.link.take_descriptors(), loopback_listeners) else {
            return;
        };
        match CallNetwork::start(options, sockets) {
            Ok(network) => self.network = Some(network),
            Err(error) => {
                let finding = format!("the command had no proxy, so no host could be reached: {error}");
                self.network_report.findings.push(finding);
            }
        }
    }

    fn read_reports(&mut self, network: &NetworkOptions) -> Next {
        let Ok(LinkRead::Lines(lines)) = self.link.read_lines() else {
            return Next::End;
        };
        for line in lines {
            match serde_json::from_slice(&line) {
                Ok(Report::Network { loopback_listeners }) => self.start_network(network, loopback_listeners),
                Ok(Report::Confined { isolation }) => self.isolation = Some(isolation),
                Ok(Report::Started { .. }) => {}
                Ok(Report::Ended(end)) => {
                    self.end = Some((self.ending, end));
                    self.is_over = true;
                }
                Ok(Report::Exceeded(exceeded)) => {
                    self.ending = EndReason::Exceeded(exceeded);
                    self.is_over = true;
                    // The kernel had already refused a resource before the shell ended.
                    if let Some((ending, _)) = &mut self.end {
                        *ending = self.ending;
                    }
                }
                Ok(Report::Written { bytes, is_partial }) => {
                    self.written_bytes = bytes;
                    if let Some(isolation) = self.isolation.as_mut().filter(|_| is_partial) {
                        isolation.open_line("written_bytes");
                    }
                }
                Ok(Report::NoNamespaces) => self.unstarted = Some(StartError::NoNamespaces),
                Ok(Report::Refused { lacking }) => {
                    self.unstarted = Some(StartError::Fault(sandbox_unavailable(&lacking)));
                }
                Ok(Report::Failed { doing, cause }) => {
                    let hint = "check that the workspace and /bin/sh exist and are accessible";
                    let fault = spawn_failed(&format!("{doing}: {cause}"), hint);
                    self.unstarted = Some(StartError::Fault(fault));
                }
                Err(_) => return Next::End,
            }
        }
        Next::Wait
    }

    /// Reads what was printed before the end. The read is bounded, because a surviving writer must not
    /// block this thread.
    fn read_rest(&mut self) {
        for stream in &mut self.streams {
            let before = stream.kept.total_bytes();
            while let Some(pipe) = &stream.pipe
                && poll(
                    &mut [PollFd::new(pipe, PollFlags::IN)],
                    Some(&Timespec::default()),
                ) == Ok(1)
                && stream.kept.total_bytes() - before < REST_BYTES_MAX as u64
            {
                stream.read();
            }
        }
    }

    fn finish(self, duration: Duration) -> Result<Execution, NoNamespaces> {
        let [stdout, stderr] = self.streams.map(Stream::finish);
        let (ending, end) = self.end.unwrap_or((self.ending.or_killed(), KILLED));
        match (self.unstarted, self.isolation) {
            (Some(StartError::NoNamespaces), _) => Err(NoNamespaces),
            (Some(StartError::Fault(fault)), _) => Ok(Execution::Refused(fault)),
            (None, Some(isolation)) => {
                let ran = CommandOutcome {
                    ending,
                    end,
                    isolation,
                    repaired: self.repaired,
                    network: self.network_report,
                    stdout,
                    stderr,
                    duration,
                };
                Ok(Execution::Ran(ran))
            }
            (None, None) => Ok(Execution::Refused(never_begun(self.ending))),
        }
    }
}

fn never_begun(ending: EndReason) -> ToolError {
    match ending {
        EndReason::Completed | EndReason::Killed => spawn_failed(
            "the sandbox exited without a report",
            "it may have been killed from outside, or the program does not support its sandbox verb",
        ),
        EndReason::TimedOut => ToolError::new(
            "timed_out",
            "the time limit passed before the command started",
            "",
        ),
        EndReason::Stopped => cancelled(),
        EndReason::Exceeded(exceeded) => exceeded.fault(),
    }
}

impl Stream {
    /// Reads once. It blocks when no data is available, so callers poll first.
    fn read(&mut self) {
        let Some(pipe) = self.pipe.take() else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut file = std::fs::File::from(pipe);
        match file.read(&mut chunk) {
            Ok(0) => {}
            Ok(count) => {
                let bytes = self.redactor.push(chunk.get(..count).unwrap_or_default());
                self.pass_on(&bytes);
                self.pipe = Some(file.into());
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => self.pipe = Some(file.into()),
            Err(_) => {}
        }
    }

    fn pass_on(&mut self, bytes: &[u8]) {
        self.kept.push(bytes);
        self.sink.send(self.kind, bytes);
    }

    /// The output after the end of the stream.
    fn finish(mut self) -> BoundedOutput {
        let rest = self.redactor.finish();
        self.pass_on(&rest);
        self.kept
    }
}

#[derive(Debug, Default)]
struct PollResult {
    link: bool,
    brake: bool,
    streams: [bool; 2],
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Wait,
    End,
}
