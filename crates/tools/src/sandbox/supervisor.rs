//! Stage 1: makes the namespace, starts the keeper in it, hears orders, and ends everything.
//!
//! The supervisor itself is not restricted. A command cannot signal it, be it for the PID namespace, for
//! Landlock's scope or for a filter of system calls, so it is there when the command must end.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, getegid, geteuid, getpid, kill_process, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, setpriority_process, setsid,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

use super::limits::UsageMonitor;
use super::protocol::{Containment, LinkRead, Report, Spec, StageError, StageLink, TERMINATE};
use super::{KEEP, SHOWN_NAME};
use crate::options::DisabledFeatures;
use crate::process;

/// How long orphans are hunted where there is no namespace. Ordinary ones are gone in a moment; those that make others
/// as fast as they can take longer, and must not be given up.
pub(crate) const HUNT_MAX: Duration = Duration::from_secs(10);

/// How long the keeper may take to report the shell that it has just started.
const START_MAX: Duration = Duration::from_millis(20);

/// Of the supervisor where it alone limits the number of processes: it must get its turn among thousands of them. Only
/// the superuser may have it, and only for the superuser it is needed.
const PRIORITY: i32 = -20;

/// Runs one command below this process and leaves no process of it behind.
pub(super) fn supervise(above: &mut StageLink) -> Result<(), StageError> {
    setsid().map_err(StageError::failed("beginning a session"))?;
    let json = above.receive_spec()?;
    let spec: Spec =
        serde_json::from_slice(&json).map_err(StageError::failed("reading the specification"))?;
    let containment = contain(spec.pretend)?;
    let (ours, theirs) = UnixStream::pair().map_err(StageError::failed("making a socket pair"))?;
    // Before the keeper is there: it mounts another /proc.
    let tasks_by_kernel = containment == Containment::Namespace || spec.group.bounds_processes();
    let limiter =
        UsageMonitor::new(&spec, tasks_by_kernel).map_err(StageError::failed("reading the limits"))?;
    let mut keeper = start_keeper(&spec, containment, theirs)?;
    // Before it gets its specification, so that everything it starts is in the group too.
    spec.group.put(Pid::from_child(&keeper));
    drop(spec);
    let mut below = StageLink::new(ours);
    // A keeper that died before it read this is found when its reports are awaited.
    let _died = below.send_spec(&json);
    let mut watch = SupervisorState {
        above,
        below,
        keeper: Pid::from_child(&keeper),
        containment,
        group: None,
        is_shell_gone: false,
        term: TermState::NotAsked,
        limiter,
    };
    let result = watch.run();
    watch.kill();
    let written = watch.limiter.written();
    // Before the rest is ended: the one above does not wait for a long hunt.
    above.report(&Report::Written {
        bytes: written.bytes,
        is_partial: written.is_partial,
    });
    end_all(&mut keeper, containment);
    result
}

/// Makes the walls around the processes to come: they are born inside, this process stays outside.
fn contain(pretend: DisabledFeatures) -> Result<Containment, StageError> {
    if !pretend.no_namespaces && enter_namespaces(pretend)? {
        // The kernel kills us with the thread that started us, the keeper with us, and the rest with the keeper.
        // Without a namespace that would end the hunter and not the hunted; there the socket must do.
        let asked = set_parent_process_death_signal(Some(Signal::KILL));
        asked.map_err(StageError::failed("asking to die with the parent"))?;
        return Ok(Containment::Namespace);
    }
    set_child_subreaper(Some(getpid())).map_err(StageError::failed("becoming a subreaper"))?;
    let _ordinary = setpriority_process(None, PRIORITY);
    Ok(Containment::Subreaper)
}

/// Gives the children of this process a PID and an IPC namespace. False where the kernel or its administrator says no.
fn enter_namespaces(pretend: DisabledFeatures) -> Result<bool, StageError> {
    let (uid, gid) = (geteuid(), getegid());
    // Shared memory, semaphores and queues of the command are its own and go with it.
    let needed = UnshareFlags::NEWUSER | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    // Own mounts are one wall more, so their refusal is no reason to do without the rest.
    let unshared = unshare(needed | UnshareFlags::NEWNS).or_else(|_| unshare(needed));
    if unshared.is_err() {
        return Ok(false);
    }
    // Everyone stays who they are. The kernel wants setgroups(2) given up before an ordinary user maps a group.
    let count = i32::from(!pretend.no_user_mapping);
    let map = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{uid} {uid} {count}")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{gid} {gid} {count}")));
    // There is no way back from here, only a new beginning.
    map.map_err(|_| StageError::NoNamespaces)?;
    pass_on_mounting();
    Ok(true)
}

/// Lets the keeper mount, which only it can do for its namespace. Whoever is not the superuser would lose the
/// power by the coming exec. Without it the keeper does without its mounts.
fn pass_on_mounting() {
    let mount = CapabilitySet::SYS_ADMIN;
    let _without = capabilities(None)
        .and_then(|sets| {
            set_capabilities(
                None,
                CapabilitySets {
                    inheritable: mount,
                    ..sets
                },
            )
        })
        .and_then(|()| configure_capability_in_ambient_set(mount, true));
}

#[expect(
    deprecated,
    reason = "unsound only with UnshareFlags::FILES, and this process has one thread"
)]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

fn start_keeper(spec: &Spec, containment: Containment, link: UnixStream) -> Result<Child, StageError> {
    // The running image itself, even if its file was replaced meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0(SHOWN_NAME)
        .args(&spec.args_prefix)
        .args([KEEP, containment.as_str()]);
    // A group of its own, so that a signal to the command does not end the supervisor.
    command
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(link)))
        .process_group(0);
    command.spawn().map_err(StageError::failed("starting the keeper"))
}

fn end_all(keeper: &mut Child, containment: Containment) {
    // It fails only when the keeper is gone.
    let _gone = keeper.kill();
    // In a namespace this waits until every process in it is gone. Elsewhere they are our children from now on.
    let _reaped = keeper.wait();
    match containment {
        Containment::Namespace => {}
        Containment::Subreaper => process::kill_own_descendants(Instant::now() + HUNT_MAX),
    }
}

/// Whether the command has been asked to end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TermState {
    NotAsked,
    /// Asked before the shell's group was known.
    Owed,
    Sent,
}

struct SupervisorState<'a> {
    above: &'a mut StageLink,
    below: StageLink,
    keeper: Pid,
    containment: Containment,
    /// The group to signal, once the shell is in it. In a namespace it is the keeper's own, for the first
    /// process there ignores what it does not handle. Elsewhere a signal would end the keeper, so the shell
    /// has its own group and the keeper tells which.
    group: Option<Pid>,
    /// The shell's end was reported, so its number may be another's soon.
    is_shell_gone: bool,
    term: TermState,
    limiter: UsageMonitor,
}

impl SupervisorState<'_> {
    /// Carries reports up and orders down until the command is over or nobody wants it any more.
    fn run(&mut self) -> Result<(), StageError> {
        loop {
            let wait = match self.limiter.look(self.keeper) {
                Ok(wait) => wait,
                Err(exceeded) => {
                    self.hear_start();
                    // Before the report: each moment may take what is left.
                    self.kill();
                    self.above.report(&Report::Exceeded(exceeded));
                    return Ok(());
                }
            };
            let wait = Timespec::try_from(wait).unwrap_or_default();
            let mut fds = [
                PollFd::new(&*self.above, PollFlags::IN),
                PollFd::new(&self.below, PollFlags::IN),
            ];
            match poll(&mut fds, Some(&wait)) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(e) => return Err(StageError::failed("waiting for orders")(e)),
            }
            let [from_above, from_below] = fds.map(|fd| !fd.revents().is_empty());
            // Reports first: the end of the command counts even if the order to end it came at the same time.
            if from_below && self.hear() == Next::End {
                // What the shell wrote is the keeper's to tell now.
                if let Some(exceeded) = self.limiter.look_at_end(self.keeper) {
                    self.above.report(&Report::Exceeded(exceeded));
                }
                return Ok(());
            }
            if from_above && self.obey() == Next::End {
                return Ok(());
            }
        }
    }

    /// Hears that the shell was started, if that is not known yet: a command may cross a limit in its first moment, and its
    /// result has to say that it ran and how it was confined.
    fn hear_start(&mut self) {
        let wait = Timespec::try_from(START_MAX).unwrap_or_default();
        let mut fds = [PollFd::new(&self.below, PollFlags::IN)];
        if self.group.is_none() && poll(&mut fds, Some(&wait)) == Ok(1) {
            let _killed_anyway = self.hear();
        }
    }

    fn hear(&mut self) -> Next {
        let Ok(LinkRead::Lines(lines)) = self.below.hear() else {
            return Next::End;
        };
        for line in lines {
            self.above.forward(&line);
            let report = serde_json::from_slice(&line);
            self.is_shell_gone |= matches!(report, Ok(Report::Ended(_)));
            match report {
                Ok(Report::Started { group, .. }) => {
                    self.group = group.map_or(Some(self.keeper), Pid::from_raw);
                    if self.term == TermState::Owed {
                        self.terminate();
                    }
                }
                // The shell was asked to end, and did; what it started has the rest of its time to do so too.
                Ok(Report::Ended(_)) if self.term == TermState::Sent => {}
                Ok(
                    Report::Ended(_)
                    | Report::Exceeded(_)
                    | Report::Written { .. }
                    | Report::Refused { .. }
                    | Report::NoNamespaces
                    | Report::Failed { .. },
                )
                | Err(_) => return Next::End,
            }
        }
        Next::Wait
    }

    fn obey(&mut self) -> Next {
        let Some(orders) = self.above.orders() else {
            return Next::End;
        };
        if orders.contains(&TERMINATE) && self.term == TermState::NotAsked {
            self.terminate();
        }
        Next::Wait
    }

    /// Kills at once what one signal reaches: the whole namespace, or the shell's group. A group dies in one moment, so
    /// that processes that make others cannot outrun it; who left the group is hunted after this.
    fn kill(&self) {
        // Both fail only when nobody is left.
        let _gone = match (self.containment, self.group) {
            (Containment::Namespace, _) => kill_process(self.keeper, Signal::KILL),
            (Containment::Subreaper, Some(group)) if !self.is_shell_gone => {
                kill_process_group(group, Signal::KILL)
            }
            (Containment::Subreaper, _) => Ok(()),
        };
    }

    fn terminate(&mut self) {
        self.term = TermState::Owed;
        if let Some(group) = self.group {
            // It fails only when nobody is left in the group.
            let _gone = kill_process_group(group, Signal::TERM);
            self.term = TermState::Sent;
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Wait,
    End,
}
