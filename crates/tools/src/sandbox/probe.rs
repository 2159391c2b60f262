//! Determines which level of the sandbox this machine can enforce, by trying it in a process that then exits.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::mount::{MountFlags, mount_bind_recursive, mount_remount};
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, secure_computing_mode};

use super::supervisor::unshare;
use super::{PROBE, SHOWN_NAME, landlock, mount_namespace};
use crate::options::{DisabledFeatures, ToolsOptions};

/// Nothing can be enforced.
pub(crate) const NONE: u8 = 0;
/// Landlock and seccomp.
pub(crate) const RESTRICTED: u8 = 1;
/// Namespaces in addition, among them one with mounts of its own.
pub(crate) const NAMESPACES: u8 = 2;

/// Added to the level in the exit status, so that a program that does something else is not taken for a level.
const STATUS_BASE: u8 = 100;

/// A folder that exists everywhere, to try a mount on.
const PLACE: &str = "/proc";

/// What the process with the argument [`PROBE`] does.
pub(super) fn run() -> ExitCode {
    ExitCode::from(STATUS_BASE + level())
}

fn level() -> u8 {
    if !landlock::is_available() || secure_computing_mode().is_err() {
        return NONE;
    }
    if can_mount().is_some() {
        NAMESPACES
    } else {
        RESTRICTED
    }
}

/// Whether a namespace can be created, used, and given a read-only mount.
fn can_mount() -> Option<()> {
    let (uid, gid) = (geteuid(), getegid());
    let needed = UnshareFlags::NEWUSER | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWNS;
    unshare(needed).ok()?;
    fs::write("/proc/self/setgroups", "deny").ok()?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).ok()?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).ok()?;
    mount_bind_recursive(PLACE, PLACE).ok()?;
    let kept = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount_remount(PLACE, MountFlags::BIND | MountFlags::RDONLY | kept, "").ok()?;
    mount_namespace::is_read_only(Path::new(PLACE)).then_some(())
}

/// Starts the probe and returns the level. A probe that cannot run finds none.
pub(crate) fn level_here(options: &ToolsOptions) -> u8 {
    let DisabledFeatures {
        no_namespaces,
        no_user_mapping,
        no_landlock,
        no_seccomp,
        ..
    } = options.pretend;
    let mut probe = Command::new(&options.program);
    std::os::unix::process::CommandExt::arg0(&mut probe, SHOWN_NAME);
    probe
        .args(&options.program_args_prefix)
        .arg(PROBE)
        .env_clear()
        .current_dir("/");
    let quiet = probe
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = quiet.status().ok().and_then(|status| status.code());
    let found = status.and_then(|code| u8::try_from(code).ok()?.checked_sub(STATUS_BASE));
    let found = found.filter(|level| *level <= NAMESPACES).unwrap_or(NONE);
    match found {
        _ if no_landlock || no_seccomp => NONE,
        NAMESPACES if no_namespaces || no_user_mapping => RESTRICTED,
        found => found,
    }
}
