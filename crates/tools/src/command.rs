//! One command from its start to its end, on a thread of its own.
//!
//! The thread starts the supervisor and lives as long as it: the kernel sends the parent-death signal when the
//! *thread* that started a process ends. It waits for output, reports, the order to stop and the clock in one
//! place, so nothing can hang on a stream that a stray process keeps open.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::Pid;
use wakeful_core::step::ToolError;
use wakeful_ports::fail_point;
use wakeful_ports::tool::ToolOutcome;

use crate::cleanup::Cleanup;
use crate::operation_dir::OperationDir;
use crate::outcome::{CommandOutcome, EndReason, cancelled, refused, sandbox_unavailable, spawn_failed};
use crate::output::BoundedOutput;
use crate::permissions::PermissionsGuard;
use crate::process::ProcessIdentity;
use crate::sandbox::cgroup::Group;
use crate::sandbox::isolation::Isolation;
use crate::sandbox::protocol::{LinkRead, Report, ShellEnd, Spec, StageLink, TERMINATE};
use crate::sandbox::{SHOWN_NAME, SUPERVISE};
use crate::set_id::{self, Moment};

/// Between the request to end and the end. Enough for a program to save what it has.
const GRACE: Duration = Duration::from_secs(2);

/// For the supervisor to kill everything before the answer is given. With the grace it stays within the 5 s that a stop
/// may take; a supervisor that needs longer goes on without being waited for.
const KILLING_MAX: Duration = Duration::from_millis(2_300);

/// For the supervisor to take its specification. It does nothing else then, unless it is not our program.
const HANDOVER_MAX: Duration = Duration::from_secs(5);

/// Read at once: what a pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// Read after the end, of what was printed before it: the most a pipe can be made to hold.
const REST_BYTES_MAX: usize = 1024 * 1024;

/// The SIGKILL a shell must have died of when nobody saw its end.
const KILLED: ShellEnd = ShellEnd::Signal(9);

/// Tells a running command to stop, from any thread.
#[derive(Debug)]
pub(crate) struct CommandStop(OwnedFd);

impl CommandStop {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Once pulled it stays so.
    pub(crate) fn pull(&self) {
        // It fails only when the counter is full, and then it has been pulled often enough.
        let _full = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// A command ready to run.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) program: PathBuf,
    pub(crate) spec: Spec,
    pub(crate) folder: OperationDir,
    pub(crate) timeout: Duration,
    pub(crate) output_tokens: u32,
    /// What it wrote to disks, known after it ran.
    pub(crate) written_bytes: u64,
}

/// Nothing has run, because a user namespace was made that could not be used.
#[derive(Debug)]
pub(crate) struct NoNamespaces;

impl Command {
    /// Runs the command and leaves neither process nor folder behind.
    pub(crate) fn run(&mut self, brake: &CommandStop) -> Result<ToolOutcome, NoNamespaces> {
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
                return Ok(refused(&fault));
            }
        };
        running.watch(brake, begun + self.timeout);
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
        running.finish(begun.elapsed(), self.output_tokens)
    }

    fn start(&self) -> Result<(Cleanup, Running), ToolError> {
        let failed = |doing: &str, e: &dyn std::fmt::Display| {
            spawn_failed(
                &format!("{doing}: {e}"),
                "this is a fault of the machine or of Wakeful's own set-up",
            )
        };
        self.folder
            .make()
            .map_err(|e| failed("making the private folder", &e))?;
        let json = serde_json::to_vec(&self.spec).map_err(|e| failed("writing the specification", &e))?;
        let (ours, theirs) = UnixStream::pair().map_err(|e| failed("making a socket pair", &e))?;
        ours.set_write_timeout(Some(HANDOVER_MAX))
            .map_err(|e| failed("making a socket pair", &e))?;
        let mut child = self
            .spawn(theirs)
            .map_err(|e| failed("starting the sandbox", &e))?;
        let mut running = Running::new(StageLink::new(ours), &mut child);
        // The record comes first: nothing of the command runs before it can be found again. If one of these
        // fails, `running` is dropped, and with the socket the supervisor goes too.
        let begun = ProcessIdentity::of(Pid::from_child(&child))
            .ok_or_else(|| io::Error::other("it ended at once"))
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
                Err(failed("handing the command to the sandbox", &e))
            }
        }
    }

    fn spawn(&self, link: UnixStream) -> io::Result<Child> {
        let mut command = std::process::Command::new(&self.program);
        command
            .arg0(SHOWN_NAME)
            .args(&self.spec.args_prefix)
            .arg(SUPERVISE);
        command.env_clear().current_dir("/");
        command
            .stdin(Stdio::from(OwnedFd::from(link)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn()
    }
}

/// Where a command stands. Each phase lasts only until its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Terminating,
    Killing,
}

/// One stream of a command.
struct Stream {
    /// Nothing once it has ended.
    pipe: Option<OwnedFd>,
    kept: BoundedOutput,
}

struct Running {
    link: StageLink,
    streams: [Stream; 2],
    /// What is enforced, once the shell has been started.
    isolation: Option<Isolation>,
    end: Option<(EndReason, ShellEnd)>,
    ending: EndReason,
    /// The supervisor has said that the command is over, and ends what it left.
    is_over: bool,
    /// What the command wrote to disks.
    written_bytes: u64,
    /// What was set back about permissions, of the home's files and of set-id files.
    repaired: Vec<String>,
    /// Why the shell was not started.
    unstarted: Option<StartError>,
}

enum StartError {
    Fault(ToolError),
    NoNamespaces,
}

impl Running {
    fn new(link: StageLink, child: &mut Child) -> Self {
        let stream = |pipe| Stream {
            pipe,
            kept: BoundedOutput::default(),
        };
        let streams = [
            stream(child.stdout.take().map(OwnedFd::from)),
            stream(child.stderr.take().map(OwnedFd::from)),
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
        }
    }

    /// Reads and waits until the supervisor has gone, or can be waited for no longer.
    fn watch(&mut self, brake: &CommandStop, until: Instant) {
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
            if ready.link && self.hear() == Next::End {
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
        // A supervisor that is gone is found at the next look.
        let _gone = self.link.order(TERMINATE);
        (Phase::Terminating, Instant::now() + GRACE)
    }

    fn hear(&mut self) -> Next {
        let lines = match self.link.hear() {
            Ok(LinkRead::Lines(lines)) => lines,
            Ok(LinkRead::End) | Err(_) => return Next::End,
        };
        for line in lines {
            match serde_json::from_slice(&line) {
                Ok(Report::Started { isolation, .. }) => self.isolation = Some(isolation),
                Ok(Report::Ended(end)) => {
                    self.end = Some((self.ending, end));
                    self.is_over = true;
                }
                Ok(Report::Exceeded(exceeded)) => {
                    self.ending = EndReason::Exceeded(exceeded);
                    self.is_over = true;
                    // The kernel had refused it something before the shell ended.
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
                    let hint = "look whether the workspace and /bin/sh are as they should be";
                    let fault = spawn_failed(&format!("{doing}: {cause}"), hint);
                    self.unstarted = Some(StartError::Fault(fault));
                }
                Err(_) => return Next::End,
            }
        }
        Next::Wait
    }

    /// Takes what was printed before the end. Every writer is dead; one that is not must not keep us here.
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

    fn finish(self, duration: Duration, output_tokens: u32) -> Result<ToolOutcome, NoNamespaces> {
        let [stdout, stderr] = self.streams.map(|stream| stream.kept);
        let (ending, end) = self.end.unwrap_or((self.ending.or_killed(), KILLED));
        match (self.unstarted, self.isolation) {
            (Some(StartError::NoNamespaces), _) => Err(NoNamespaces),
            (Some(StartError::Fault(fault)), _) => Ok(refused(&fault)),
            (None, Some(isolation)) => {
                let ran = CommandOutcome {
                    ending,
                    end,
                    isolation,
                    repaired: self.repaired,
                    stdout,
                    stderr,
                    duration,
                };
                Ok(ran.done(output_tokens))
            }
            (None, None) => Ok(refused(&never_begun(self.ending))),
        }
    }
}

fn never_begun(ending: EndReason) -> ToolError {
    match ending {
        EndReason::Completed | EndReason::Killed => spawn_failed(
            "the sandbox ended without a word",
            "the program may have been stopped from outside, or does not know its sandbox verb",
        ),
        EndReason::TimedOut => ToolError::new("timed_out", "the time was over before the command began", ""),
        EndReason::Stopped => cancelled(),
        EndReason::Exceeded(exceeded) => exceeded.fault(),
    }
}

impl Stream {
    /// Reads once; blocks when nothing is there, so it is polled first.
    fn read(&mut self) {
        let Some(pipe) = self.pipe.take() else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut file = std::fs::File::from(pipe);
        match file.read(&mut chunk) {
            Ok(0) => {}
            Ok(count) => {
                self.kept.push(chunk.get(..count).unwrap_or_default());
                self.pipe = Some(file.into());
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => self.pipe = Some(file.into()),
            Err(_) => {}
        }
    }
}

/// What poll found.
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
