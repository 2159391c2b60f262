//! Stage 2: drops privileges, starts the shell, and reaps until no process is left.
//!
//! In a namespace this is process 1: it adopts orphans, and when it exits the kernel kills the rest.
//! Otherwise it is a subreaper below the supervisor, so that orphans stay in its tree.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpgid, getpid, getppid, getrlimit,
    set_child_subreaper, set_parent_process_death_signal, setpriority_process, setrlimit, wait,
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, secure_computing_mode, set_capabilities};

use super::isolation::Isolation;
use super::landlock::AllowedPaths;
use super::limits::TASKS_SLACK;
use super::network_namespace::{NetworkAccess, proxy_variables};
use super::protocol::{Containment, Report, ShellEnd, Spec, StageError, StageLink};
use super::seccomp::{self, ProtectedProcesses};
use super::{fallocate, landlock, mount_namespace};
use crate::files::scan_task::{self, ScanTask};
use crate::options::{CommandLimits, DisabledFeatures, UnsandboxedPolicy};

/// The shell that runs commands.
const SHELL: &str = "/bin/sh";

/// Largest file that a command may write: enough for a build, too little to fill a disk by mistake.
const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Open files of a process: the usual default, and the maximum to which a command may raise it.
const OPEN_FILES: u64 = 1024;
const OPEN_FILES_MAX: u64 = 4096;

/// Capabilities over files: ownership and permissions. Not `FSETID`, which keeps the setuid bit of a file
/// that is written to, and not `SETFCAP`.
const FILE_POWERS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER);

/// The maximum pid of a PID namespace, and the lowest value that the kernel accepts.
const NUMBERS: &str = "/proc/sys/kernel/pid_max";
const NUMBERS_MIN: u64 = 301;

/// Before this version of Linux, the file applies to the whole machine.
const NUMBERS_SINCE: (u32, u32) = (6, 14);

/// The priority of a command whose number of processes only the supervisor limits.
const PRIORITY: i32 = 10;

/// From this version on, Landlock blocks signals to processes outside the command.
const ABI_WITH_SIGNALS: u32 = 6;

/// Makes the command the first to be killed when the machine runs out of memory.
const OOM_SCORE: &str = "1000";

/// Runs the command of one specification and reports the result.
pub(super) fn run(
    above: &mut StageLink,
    containment: Containment,
    network: NetworkAccess,
) -> Result<(), StageError> {
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    asked.map_err(StageError::failed("setting the parent-death signal"))?;
    let json = above.receive_spec()?;
    let mut spec: Spec =
        serde_json::from_slice(&json).map_err(StageError::failed("reading the specification"))?;
    drop(json);
    // A supervisor that died before the parent-death signal was set sent no signal, but its end of the
    // socket is closed.
    if above.is_cut() {
        return Err(StageError::Orphaned);
    }
    if containment == Containment::Subreaper {
        set_child_subreaper(Some(getpid())).map_err(StageError::failed("becoming a subreaper"))?;
    }
    limit(&spec.limits, containment)?;
    // Read before /proc is mounted anew.
    let held = spec.group.held();
    let lacking = missing_features(spec.pretend);
    if !lacking.is_empty() && spec.unsandboxed == UnsandboxedPolicy::Refuse {
        above.report(&Report::Refused {
            lacking: lacking.join(" and "),
        });
        return Ok(());
    }
    let mut is_protected = false;
    if containment == Containment::Subreaper {
        spec.shared = None;
    } else {
        mount_namespace::mount_essentials(&mut spec.writable);
        if lacking.is_empty() {
            is_protected = mount_namespace::mount_folders(&mut spec);
        }
    }
    give_up_capabilities()?;
    let isolation = if lacking.is_empty() {
        let mut isolation = restrict(&spec, containment, network)?.bounded_by(&held);
        if !is_protected || !spec.is_read_only_complete {
            isolation.open_line("protected_paths");
        }
        isolation
    } else {
        Isolation::none()
    };
    above.report(&Report::Confined { isolation });
    if let Some(task) = &spec.task {
        above.report(&Report::Started { group: None });
        perform(task, above);
        return Ok(());
    }
    if network == NetworkAccess::Loopback {
        spec.environment.extend(proxy_variables());
    }
    let shell = start_shell(&spec, containment)?;
    let group = match containment {
        Containment::Namespace => None,
        Containment::Subreaper => Some(shell.as_raw_nonzero().get()),
    };
    above.report(&Report::Started { group });
    reap(shell, above)
}

fn limit(limits: &CommandLimits, containment: Containment) -> Result<(), StageError> {
    // If this is refused, the kernel chooses by size.
    let _by_size = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    let file_bytes = FILE_BYTES_MAX.min(limits.written_bytes);
    let tasks = limits.threads.saturating_add(TASKS_SLACK);
    let cap = |resource, soft: u64, hard: u64| {
        // A limit can only be lowered; a lower existing limit stays.
        let hard = getrlimit(resource)
            .maximum
            .map_or(hard, |standing| standing.min(hard));
        setrlimit(
            resource,
            Rlimit {
                current: Some(soft.min(hard)),
                maximum: Some(hard),
            },
        )
    };
    let set = cap(Resource::Core, 0, 0)
        .and_then(|()| cap(Resource::Fsize, file_bytes, file_bytes))
        .and_then(|()| cap(Resource::Nofile, OPEN_FILES, OPEN_FILES_MAX));
    let set = match containment {
        Containment::Namespace => {
            limit_numbers(tasks);
            set.and_then(|()| cap(Resource::Nproc, tasks, tasks))
        }
        // The kernel would count all processes of the user, and on a busy desktop nothing could start.
        Containment::Subreaper => {
            // The supervisor may have a high priority, which the command must not inherit.
            let _kept = setpriority_process(None, PRIORITY);
            set
        }
    };
    set.map_err(StageError::failed("limiting resources"))
}

/// Limits the processes of a namespace by its range of pids. Unlike the limit above, this one also applies
/// to the superuser. If the kernel does not support it, only the supervisor's count limits them.
fn limit_numbers(tasks: u64) {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    if is_since(&release, NUMBERS_SINCE) {
        let _counted = fs::write(NUMBERS, tasks.max(NUMBERS_MIN).to_string());
    }
}

/// Whether a release such as `6.18.44-generic` is at least this version.
fn is_since(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= version,
        _ => false,
    }
}

/// Restricts files and system calls, and returns the isolation.
fn restrict(spec: &Spec, containment: Containment, network: NetworkAccess) -> Result<Isolation, StageError> {
    let reach = AllowedPaths {
        home: &spec.home,
        closed: &spec.closed,
        readable: &spec.readable,
        writable: &spec.writable,
        shared: spec.shared.as_ref().map(|shared| shared.path.as_path()),
        network,
    };
    let abi = landlock::restrict(&reach, spec.pretend)?;
    let protected = match containment {
        // Processes outside have no pid in this namespace.
        Containment::Namespace => ProtectedProcesses::default(),
        // Landlock restricts signals only from version 6 on, and resource limits not at all.
        Containment::Subreaper => protected(spec),
    };
    // First, because the later filters need not allow this system call.
    fallocate::refuse_allocation()?;
    seccomp::restrict(abi, containment, network, &protected)?;
    let is_namespace = containment == Containment::Namespace;
    let lines = [
        ("processes", is_namespace || abi >= ABI_WITH_SIGNALS),
        (
            "metadata",
            is_namespace && mount_namespace::is_read_only(&spec.home),
        ),
    ];
    let open: Vec<&str> = lines
        .into_iter()
        .filter(|(_, is)| !is)
        .map(|(line, _)| line)
        .collect();
    let mut means = format!("landlock-abi{abi}+seccomp+{}", containment.as_str());
    if network == NetworkAccess::Loopback {
        means.push_str("+netns");
    }
    Ok(Isolation::with(means, &open))
}

/// The processes that can end a command and must survive it: its supervisor, and Wakeful.
fn protected(spec: &Spec) -> ProtectedProcesses {
    let processes: Vec<Pid> = getppid().into_iter().chain(Pid::from_raw(spec.host)).collect();
    let groups = processes
        .iter()
        .filter_map(|pid| getpgid(Some(*pid)).ok())
        .collect();
    ProtectedProcesses { processes, groups }
}

/// The missing kernel features. Checked before anything is restricted, so that the sandbox is never
/// partial.
fn missing_features(pretend: DisabledFeatures) -> Vec<&'static str> {
    let landlock = !pretend.no_landlock && landlock::is_available();
    let seccomp = !pretend.no_seccomp && secure_computing_mode().is_ok();
    [("Landlock", landlock), ("seccomp", seccomp)]
        .into_iter()
        .filter(|(_, there)| !there)
        .map(|(name, _)| name)
        .collect()
}

/// Drops every capability except those over files, which Landlock restricts. So a superuser can still work
/// on other users' files without a user namespace; an ordinary user has no capabilities left.
/// `no_new_privs` makes this permanent.
fn give_up_capabilities() -> Result<(), StageError> {
    let set = capabilities(None).and_then(|sets| {
        let kept = sets.permitted & FILE_POWERS;
        set_capabilities(
            None,
            CapabilitySets {
                effective: kept,
                permitted: kept,
                inheritable: CapabilitySet::empty(),
            },
        )
    });
    set.map_err(StageError::failed("dropping capabilities"))
}

/// Walks through folders in this process, which is restricted like a command, and prints what was found.
fn perform(task: &ScanTask, above: &mut StageLink) {
    let report = serde_json::to_vec(&scan_task::run(task)).unwrap_or_default();
    let mut output = io::stdout();
    let printed = output.write_all(&report).and_then(|()| output.flush());
    above.report(&Report::Ended(ShellEnd::Exit(i32::from(printed.is_err()))));
}

fn start_shell(spec: &Spec, containment: Containment) -> Result<Pid, StageError> {
    let mut command = Command::new(SHELL);
    command
        .arg("-c")
        .arg(&spec.cmd)
        .current_dir(&spec.workdir)
        .stdin(Stdio::null());
    let secrets = spec.secrets.iter().map(|(name, value)| (name, value.reveal()));
    command.env_clear().envs(&spec.environment).envs(secrets);
    if containment == Containment::Subreaper {
        command.process_group(0);
    }
    let shell = command
        .spawn()
        .map_err(StageError::failed("starting the shell"))?;
    Ok(Pid::from_child(&shell))
}

/// Waits for every current and future child. The supervisor decides whether to continue after the shell has
/// exited.
fn reap(shell: Pid, above: &mut StageLink) -> Result<(), StageError> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => above.report(&Report::Ended(end_of(status))),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Ok(()),
            Err(e) => return Err(StageError::failed("waiting for the shell")(e)),
        }
    }
}

fn end_of(status: WaitStatus) -> ShellEnd {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ShellEnd::Exit(code),
        (None, Some(signal)) => ShellEnd::Signal(signal),
        // Stops are not awaited, so this does not occur; a command that did not exit did not succeed.
        (None, None) => ShellEnd::Exit(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linux_release_is_compared_by_its_numbers() {
        for (release, is) in [
            ("6.14.0", true),
            ("6.18.44-fc-v445", true),
            ("7.0", true),
            ("6.13.9", false),
            ("5.15.0-91-generic", false),
            ("4.4.0", false),
            ("", false),
            ("next", false),
        ] {
            assert_eq!(is_since(release, NUMBERS_SINCE), is, "{release}");
        }
    }
}
