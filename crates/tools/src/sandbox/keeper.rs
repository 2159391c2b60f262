//! Stage 2: gives up rights, starts the shell, and reaps until nobody is left.
//!
//! In a namespace this is process 1: orphans come to it, and when it ends the kernel ends the rest. Elsewhere
//! it is a subreaper below the supervisor, so that orphans stay in its tree.

use std::ffi::CStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, getrlimit, set_child_subreaper,
    set_parent_process_death_signal, setrlimit, wait,
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, secure_computing_mode, set_capabilities};

use super::wire::{Containment, End, Link, Report, Spec, Trouble};
use super::{calls, files};
use crate::options::Unsandboxed;

/// The shell that reads commands.
const SHELL: &str = "/bin/sh";

/// Largest file a command may write: enough for a build, too little to fill a disk with one mistake.
const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Open files of a process: the customary number, and how far a command may raise it.
const OPEN_FILES: u64 = 1024;
const OPEN_FILES_MAX: u64 = 4096;

/// Where programs share memory by name, and how much of it a command may take.
const SHARED_MEMORY: &str = "/dev/shm";
const SHARED_MEMORY_OPTIONS: &CStr = c"mode=1777,size=256m";

/// Powers over files: to whom they belong and who may use them.
const FILE_POWERS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Processes of one command, where they are counted apart from those of the user: stops a fork bomb.
const PROCESSES_MAX: u64 = 4096;

/// Runs the command of one specification and reports how it went.
pub(super) fn keep(above: &mut Link, containment: Containment) -> Result<(), Trouble> {
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    asked.map_err(Trouble::failed("asking to die with the parent"))?;
    let json = above.receive_spec()?;
    let mut spec: Spec =
        serde_json::from_slice(&json).map_err(Trouble::failed("reading the specification"))?;
    drop(json);
    // A supervisor that died before we asked to die with it sent no signal, but its end of the socket is closed.
    if above.is_cut() {
        return Err(Trouble::Orphaned);
    }
    if containment == Containment::Subreaper {
        set_child_subreaper(Some(getpid())).map_err(Trouble::failed("becoming a subreaper"))?;
    }
    limit(containment)?;
    if containment == Containment::Namespace {
        furnish(&mut spec.writable);
    }
    give_up_capabilities()?;
    let Some(level) = restrict(&spec, containment, above)? else {
        return Ok(());
    };
    let shell = start_shell(&spec, containment)?;
    let group = match containment {
        Containment::Namespace => None,
        Containment::Subreaper => Some(shell.as_raw_nonzero().get()),
    };
    above.report(&Report::Started { level, group });
    reap(shell, above)
}

/// Makes the namespace a place in which programs find what they expect. Where the kernel refuses a mount, as in
/// most containers, the command sees what is outside, with the rights it would have had anyway.
///
/// It cannot change the mounts of anyone else: our powers reach only as far as our own user namespace.
fn furnish(writable: &mut Vec<PathBuf>) {
    let plain = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // Numbers of processes differ inside, and `pkill` goes by what it reads here.
    let _outside = mount("proc", "/proc", "proc", plain, None);
    // Semaphores of C libraries are files in this folder. A private one is as good as `TMPDIR`.
    if mount("tmpfs", SHARED_MEMORY, "tmpfs", plain, SHARED_MEMORY_OPTIONS).is_ok() {
        writable.push(PathBuf::from(SHARED_MEMORY));
    }
}

fn limit(containment: Containment) -> Result<(), Trouble> {
    let cap = |resource, soft: u64, hard: u64| {
        // A limit may be lowered only; where a lower one stands already, that one holds.
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
        .and_then(|()| cap(Resource::Fsize, FILE_BYTES_MAX, FILE_BYTES_MAX))
        .and_then(|()| cap(Resource::Nofile, OPEN_FILES, OPEN_FILES_MAX));
    let set = match containment {
        Containment::Namespace => set.and_then(|()| cap(Resource::Nproc, PROCESSES_MAX, PROCESSES_MAX)),
        // The kernel would count everything the user runs, and a busy desktop could start nothing at all.
        Containment::Subreaper => set,
    };
    set.map_err(Trouble::failed("limiting resources"))
}

/// Gives up rights and names the level. Nothing when the command must not run; that has been reported then.
fn restrict(spec: &Spec, containment: Containment, above: &mut Link) -> Result<Option<String>, Trouble> {
    let lacking = lacking(spec);
    if lacking.is_empty() {
        let abi = files::restrict(&spec.home, &spec.writable)?;
        calls::refuse()?;
        return Ok(Some(format!(
            "enforced: landlock-abi{abi}+seccomp+{}",
            containment.as_str()
        )));
    }
    match spec.unsandboxed {
        Unsandboxed::Allow => Ok(Some("not_enforced".to_owned())),
        Unsandboxed::Refuse => {
            above.report(&Report::Refused {
                lacking: lacking.join(" and "),
            });
            Ok(None)
        }
    }
}

/// What the kernel cannot do. Asked before anything is given up, so that there is no half of a sandbox.
fn lacking(spec: &Spec) -> Vec<&'static str> {
    let landlock = !spec.pretend.no_landlock && files::is_available();
    let seccomp = !spec.pretend.no_seccomp && secure_computing_mode().is_ok();
    [("Landlock", landlock), ("seccomp", seccomp)]
        .into_iter()
        .filter(|(_, there)| !there)
        .map(|(name, _)| name)
        .collect()
}

/// Gives up every power but those over files, which Landlock bounds. So a superuser can still work on files of
/// others, where there is no user namespace; whoever is none has nothing left. `no_new_privs` keeps it so.
fn give_up_capabilities() -> Result<(), Trouble> {
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
    set.map_err(Trouble::failed("giving up capabilities"))
}

fn start_shell(spec: &Spec, containment: Containment) -> Result<Pid, Trouble> {
    let mut command = Command::new(SHELL);
    command
        .arg("-c")
        .arg(&spec.cmd)
        .current_dir(&spec.workdir)
        .stdin(Stdio::null());
    command.env_clear().envs(&spec.environment);
    if containment == Containment::Subreaper {
        command.process_group(0);
    }
    let shell = command.spawn().map_err(Trouble::failed("starting the shell"))?;
    Ok(Pid::from_child(&shell))
}

/// Waits for every child there is or will be. Whether to go on after the shell is the supervisor's decision.
fn reap(shell: Pid, above: &mut Link) -> Result<(), Trouble> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => above.report(&Report::Ended(end_of(status))),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Ok(()),
            Err(e) => return Err(Trouble::failed("waiting for the shell")(e)),
        }
    }
}

fn end_of(status: WaitStatus) -> End {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => End::Exit(code),
        (None, Some(signal)) => End::Signal(signal),
        // Stops are not waited for, so this does not occur; a command that did not exit did not succeed.
        (None, None) => End::Exit(1),
    }
}
