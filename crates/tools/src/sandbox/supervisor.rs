//! Stage 1: creates the namespace, starts the reaper in it, receives orders, and terminates everything.
//!
//! The supervisor itself is not restricted. The PID namespace, Landlock's scope or a system call filter
//! prevents a command from signalling it, so it can always end the command.

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
use super::network_namespace::{self, NetworkAccess, Publishes};
use super::protocol::{Containment, LinkRead, Report, Spec, StageError, StageLink, TERMINATE};
use super::{SHOWN_NAME, Stage};
use crate::options::DisabledFeatures;
use crate::process;

/// How long orphans are killed without a namespace. Ordinary ones are gone immediately; those that fork as
/// fast as they can take longer and must not be left behind.
pub(crate) const HUNT_MAX: Duration = Duration::from_secs(10);

/// The priority of the supervisor if it alone limits the number of processes: it must be scheduled among
/// thousands of them. Only the superuser may set it, and only the superuser needs it.
const PRIORITY: i32 = -20;

/// Runs one command below this process and leaves none of its processes behind.
pub(super) fn supervise(above: &mut StageLink) -> Result<(), StageError> {
    setsid().map_err(StageError::failed("creating a session"))?;
    let json = above.receive_spec()?;
    let spec: Spec =
        serde_json::from_slice(&json).map_err(StageError::failed("reading the specification"))?;
    let (containment, network) = contain(spec.pretend)?;
    let (ours, theirs) = UnixStream::pair().map_err(StageError::failed("creating a socket pair"))?;
    // Before the reaper starts, because it mounts another /proc.
    let tasks_by_kernel = containment == Containment::Namespace || spec.group.bounds_processes();
    let limiter =
        UsageMonitor::new(&spec, tasks_by_kernel).map_err(StageError::failed("reading the limits"))?;
    let mut keeper = start_reaper(&spec, containment, network, theirs)?;
    // Before the reaper receives its specification, so that everything it starts is in the group too.
    spec.group.put(Pid::from_child(&keeper));
    let publishes = if spec.publishes_ports {
        Publishes::Ports
    } else {
        Publishes::Nothing
    };
    let socket_requests = match network {
        // Without the sockets the command has no proxy; the command can still use its loopback interface.
        NetworkAccess::Loopback => network_namespace::hand_over(above, publishes, &spec.loopback_ports)
            .ok()
            .flatten(),
        NetworkAccess::Refused => None,
    };
    drop(spec);
    let mut below = StageLink::new(ours);
    // If the reaper died before it read this, the wait for its reports detects that.
    let _died = below.send_spec(&json);
    let mut watch = SupervisorState {
        above,
        below,
        reaper: Pid::from_child(&keeper),
        containment,
        group: None,
        is_shell_gone: false,
        term: TermState::NotAsked,
        limiter,
        socket_requests,
    };
    let result = watch.run();
    watch.kill();
    let written = watch.limiter.written();
    // Reported before the rest is killed, because the parent does not wait for a long cleanup.
    above.report(&Report::Written {
        bytes: written.bytes,
        is_partial: written.is_partial,
    });
    end_all(&mut keeper, containment);
    result
}

/// Sets up the containment: future children are inside it, this process stays outside.
fn contain(pretend: DisabledFeatures) -> Result<(Containment, NetworkAccess), StageError> {
    if !pretend.no_namespaces && enter_namespaces(pretend)? {
        // The kernel kills the supervisor with the thread that started it, the reaper with the supervisor,
        // and the rest with the reaper. Without a namespace that would kill only the supervisor and leave
        // the orphans; there the closed socket is the signal.
        let asked = set_parent_process_death_signal(Some(Signal::KILL));
        asked.map_err(StageError::failed("setting the parent-death signal"))?;
        return Ok((Containment::Namespace, isolate_network(pretend)));
    }
    set_child_subreaper(Some(getpid())).map_err(StageError::failed("becoming a subreaper"))?;
    let _ordinary = setpriority_process(None, PRIORITY);
    Ok((Containment::Subreaper, NetworkAccess::Refused))
}

/// Creates a network namespace and sets its loopback interface up. If that is refused, the command gets no
/// sockets at all.
fn isolate_network(pretend: DisabledFeatures) -> NetworkAccess {
    let isolated = !pretend.no_network_namespace
        && unshare(UnshareFlags::NEWNET).is_ok()
        && network_namespace::set_loopback_up().is_ok();
    if isolated {
        NetworkAccess::Loopback
    } else {
        NetworkAccess::Refused
    }
}

/// Creates a PID and an IPC namespace for the children of this process. Returns false if the kernel or its
/// administrator refuses.
fn enter_namespaces(pretend: DisabledFeatures) -> Result<bool, StageError> {
    let (uid, gid) = (geteuid(), getegid());
    // Shared memory, semaphores and queues of the command are private and end with it.
    let needed = UnshareFlags::NEWUSER | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    // A mount namespace is an additional protection, so its refusal does not prevent the others.
    let unshared = unshare(needed | UnshareFlags::NEWNS).or_else(|_| unshare(needed));
    if unshared.is_err() {
        return Ok(false);
    }
    // User and group ids stay the same. The kernel requires setgroups(2) to be disabled before an ordinary
    // user maps a group.
    let count = i32::from(!pretend.no_user_mapping);
    let map = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{uid} {uid} {count}")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{gid} {gid} {count}")));
    // A process cannot leave the namespace, so the command must be restarted.
    map.map_err(|_| StageError::NoNamespaces)?;
    pass_on_mounting();
    Ok(true)
}

/// Lets the reaper mount, which only it can do for its namespace. Without this, an ordinary user would lose
/// the capability at the coming exec. If it fails, the reaper skips its mounts.
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
pub(super) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

fn start_reaper(
    spec: &Spec,
    containment: Containment,
    network: NetworkAccess,
    link: UnixStream,
) -> Result<Child, StageError> {
    // The running image itself, even if its file was replaced meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0(SHOWN_NAME)
        .args(&spec.args_prefix)
        .args(Stage::Reaper { containment, network }.arguments());
    // A separate group, so that a signal to the command does not reach the supervisor.
    command
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(link)))
        .process_group(0);
    command.spawn().map_err(StageError::failed("starting the reaper"))
}

fn end_all(keeper: &mut Child, containment: Containment) {
    // It fails only when the reaper is already gone.
    let _gone = keeper.kill();
    // In a namespace this waits until every process in it is gone. Otherwise they are our children from now
    // on.
    let _reaped = keeper.wait();
    match containment {
        Containment::Namespace => {}
        Containment::Subreaper => process::kill_own_descendants(Instant::now() + HUNT_MAX),
    }
}

/// Whether SIGTERM was requested and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TermState {
    NotAsked,
    /// Requested before the shell's group was known.
    Owed,
    Sent,
}

struct SupervisorState<'a> {
    above: &'a mut StageLink,
    below: StageLink,
    reaper: Pid,
    containment: Containment,
    /// The group to signal, once the shell is in it. In a namespace it is the reaper's own group, because
    /// process 1 ignores signals that it does not handle. Otherwise a signal would kill the reaper, so the
    /// shell has a separate group, which the reaper reports.
    group: Option<Pid>,
    /// The shell's exit was reported, so its pid may be reused.
    is_shell_gone: bool,
    term: TermState,
    limiter: UsageMonitor,
    /// Where Wakeful requests sockets of the command's network namespace, for published ports.
    socket_requests: Option<UnixStream>,
}

impl SupervisorState<'_> {
    /// Forwards reports and orders until the command is over or the parent is gone.
    fn run(&mut self) -> Result<(), StageError> {
        loop {
            let wait = match self.limiter.look(self.reaper) {
                Ok(wait) => wait,
                Err(exceeded) => {
                    self.read_sent_reports();
                    // Before the report, because every millisecond may use up more of the resource.
                    self.kill();
                    self.above.report(&Report::Exceeded(exceeded));
                    return Ok(());
                }
            };
            let wait = Timespec::try_from(wait).unwrap_or_default();
            let mut fds = vec![
                PollFd::new(&*self.above, PollFlags::IN),
                PollFd::new(&self.below, PollFlags::IN),
            ];
            let requests = self.socket_requests.as_ref();
            fds.extend(requests.map(|requests| PollFd::new(requests, PollFlags::IN)));
            match poll(&mut fds, Some(&wait)) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(e) => return Err(StageError::failed("waiting for orders")(e)),
            }
            let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
            let [from_above, from_below, is_requested] =
                std::array::from_fn(|_| ready.next().unwrap_or_default());
            // Reports first: the end of the command counts even if the order to end it came at the same time.
            if from_below && self.read_reports() == Next::End {
                // After the exit of the shell, its writes are attributed to the reaper.
                if let Some(exceeded) = self.limiter.look_at_end(self.reaper) {
                    self.above.report(&Report::Exceeded(exceeded));
                }
                return Ok(());
            }
            if from_above && self.handle_orders() == Next::End {
                return Ok(());
            }
            if is_requested {
                self.serve_socket_request();
            }
        }
    }

    /// Reads the reports that the reaper has sent: a command may exceed a limit immediately, and its result
    /// must show that it ran and how it was isolated.
    fn read_sent_reports(&mut self) {
        let mut fds = [PollFd::new(&self.below, PollFlags::IN)];
        if poll(&mut fds, Some(&Timespec::default())) == Ok(1) {
            let _killed_anyway = self.read_reports();
        }
    }

    fn read_reports(&mut self) -> Next {
        let Ok(LinkRead::Lines(lines)) = self.below.read_lines() else {
            return Next::End;
        };
        for line in lines {
            self.above.forward(&line);
            let report = serde_json::from_slice(&line);
            self.is_shell_gone |= matches!(report, Ok(Report::Ended(_)));
            match report {
                Ok(Report::Confined { .. }) => {}
                Ok(Report::Started { group }) => {
                    self.group = group.map_or(Some(self.reaper), Pid::from_raw);
                    if self.term == TermState::Owed {
                        self.terminate();
                    }
                }
                // The shell was asked to exit and did; its children have the rest of the grace period too.
                Ok(Report::Ended(_)) if self.term == TermState::Sent => {}
                Ok(
                    Report::Ended(_)
                    | Report::Exceeded(_)
                    | Report::Written { .. }
                    | Report::Refused { .. }
                    | Report::Network { .. }
                    | Report::NoNamespaces
                    | Report::Failed { .. },
                )
                | Err(_) => return Next::End,
            }
        }
        Next::Wait
    }

    fn serve_socket_request(&mut self) {
        let served = self.socket_requests.as_mut().map(network_namespace::serve_socket);
        if matches!(served, Some(Err(_))) {
            // Wakeful closed it, or no socket is available; its side reports that.
            self.socket_requests = None;
        }
    }

    fn handle_orders(&mut self) -> Next {
        let Some(orders) = self.above.orders() else {
            return Next::End;
        };
        if orders.contains(&TERMINATE) && self.term == TermState::NotAsked {
            self.terminate();
        }
        Next::Wait
    }

    /// Kills what one signal reaches: the whole namespace, or the shell's group. A group dies at once, so
    /// forking processes cannot outrun the signal; processes that left the group are killed afterwards.
    fn kill(&self) {
        // Both fail only when no process is left.
        let _gone = match (self.containment, self.group) {
            (Containment::Namespace, _) => kill_process(self.reaper, Signal::KILL),
            (Containment::Subreaper, Some(group)) if !self.is_shell_gone => {
                kill_process_group(group, Signal::KILL)
            }
            (Containment::Subreaper, _) => Ok(()),
        };
    }

    fn terminate(&mut self) {
        self.term = TermState::Owed;
        if let Some(group) = self.group {
            // It fails only when no process is left in the group.
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
