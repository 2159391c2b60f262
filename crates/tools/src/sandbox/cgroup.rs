//! Control groups: the kernel's own limits on the processes and the memory of one call, where a group is
//! delegated to Wakeful.
//!
//! The supervisor measures in any case. A group makes both limits exact, also for the superuser, to whom
//! `RLIMIT_NPROC` does not apply. Wakeful creates a group before each call and removes it afterwards; the
//! supervisor adds the reaper to it before the reaper receives its command.
//!
//! - Version 2: groups are created in the group that systemd marked as delegated (`user.delegate`), which
//!   is our own or its parent. The kernel enables controllers for the children of a group only if the group
//!   itself contains no process, so the daemon moves into its own child group.
//! - Version 1: groups are created below our own group of each hierarchy, if it is writable.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, getpid};
use serde::{Deserialize, Serialize};

use super::limits::{TASKS_SLACK, memory_limit};
use crate::mounts::Mount;
use crate::options::CommandLimits;
use crate::process;

/// Memory beyond the limit that the kernel still grants, so that the supervisor can detect the exceeded
/// limit.
const MEMORY_SLACK: u64 = 64 << 20;

/// Prefix of our group names; pid, start time and a counter follow.
const PREFIX: &str = "wakeful-";

/// The group of the daemon itself, below the delegated one.
const DAEMON_GROUP: &str = "daemon";

/// How often to try the removal of a group, and the wait between attempts: a process leaves its group
/// shortly after it exits.
const REMOVE_TRIES_MAX: u32 = 50;
const REMOVE_WAIT: Duration = Duration::from_millis(2);

/// Most entries of a folder that are checked for groups of dead daemons.
const SWEPT_MAX: usize = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Controller {
    Pids,
    Memory,
}

impl Controller {
    pub(crate) const ALL: [Self; 2] = [Self::Pids, Self::Memory];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pids => "pids",
            Self::Memory => "memory",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Version {
    V1,
    V2,
}

/// The group of this process for one controller.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnGroup {
    version: Version,
    folder: PathBuf,
}

/// The lines of `/proc/PID/cgroup`: controller names, empty for version 2, and the path of the group.
fn groups(cgroups: &str) -> impl Iterator<Item = (&str, &str)> {
    cgroups
        .lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'))
}

/// Finds our own group for a controller, from `/proc/self/cgroup` and the mounts.
fn own_group(controller: Controller, cgroups: &str, mounts: &[Mount]) -> Option<OwnGroup> {
    let in_v1 = groups(cgroups).find(|(names, _)| names.split(',').any(|name| name == controller.name()));
    let (version, path) = match in_v1 {
        Some((_, path)) => (Version::V1, path),
        None => (
            Version::V2,
            groups(cgroups).find(|(names, _)| names.is_empty())?.1,
        ),
    };
    let is_ours = |mount: &&Mount| match version {
        Version::V1 => mount.kind == "cgroup" && mount.super_has(controller.name()),
        Version::V2 => mount.kind == "cgroup2",
    };
    // A path outside the mounted hierarchy, such as `/../other`, cannot hold groups.
    let path = Path::new(path);
    let is_plain = path
        .components()
        .all(|part| part != std::path::Component::ParentDir);
    let inside = |mount: &Mount| Some(mount.point.join(path.strip_prefix(&mount.root).ok()?));
    let folder = mounts
        .iter()
        .filter(is_ours)
        .find_map(inside)
        .filter(|_| is_plain)?;
    // Removes a trailing slash, which would make `parent` return the same folder.
    let folder = folder.components().collect();
    Some(OwnGroup { version, folder })
}

/// A folder in which groups for calls can be created, and the controllers that they have.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Base {
    version: Version,
    folder: PathBuf,
    controllers: Vec<Controller>,
}

/// Whether to enable missing controllers or only to look for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Enable,
    Look,
}

/// The bases of this process. Computed once: the group of a daemon does not change.
fn bases() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| {
        let found = find_bases(getpid(), Mode::Enable);
        for base in &found {
            sweep(&base.folder);
        }
        found
    })
}

fn find_bases(pid: Pid, mode: Mode) -> Vec<Base> {
    let cgroups = fs::read_to_string(format!("/proc/{}/cgroup", pid.as_raw_nonzero())).unwrap_or_default();
    let mounts = Mount::all().unwrap_or_default();
    let mut bases: Vec<Base> = Vec::new();
    for controller in Controller::ALL {
        let Some(own) = own_group(controller, &cgroups, &mounts) else {
            continue;
        };
        let folder = match own.version {
            Version::V1 => Some(own.folder).filter(|folder| is_writable(folder)),
            Version::V2 => delegated(&own.folder, controller, mode),
        };
        let Some(folder) = folder else { continue };
        match bases.iter_mut().find(|base| base.folder == folder) {
            Some(base) => base.controllers.push(controller),
            None => bases.push(Base {
                version: own.version,
                folder,
                controllers: vec![controller],
            }),
        }
    }
    bases
}

fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
        && !super::mount_namespace::is_read_only(folder)
}

/// The delegated group, our own or its parent, whose children have the controller.
fn delegated(own: &Path, controller: Controller, mode: Mode) -> Option<PathBuf> {
    if mode == Mode::Enable && is_delegated(own) && !has_controller(own, controller, mode) {
        // If this fails, no group counts as delegated.
        let _stays = move_below(own);
    }
    let candidates = [Some(own), own.parent()].into_iter().flatten();
    let mut usable =
        candidates.filter(|folder| is_delegated(folder) && has_controller(folder, controller, mode));
    usable.next().map(Path::to_owned)
}

/// Moves this process out of a group in which it is alone, so that the group can enable controllers for its
/// children. If the group has other processes, the kernel refuses that anyway.
fn move_below(group: &Path) -> io::Result<()> {
    let processes = fs::read_to_string(group.join("cgroup.procs"))?;
    if processes.trim() != getpid().as_raw_nonzero().to_string() {
        return Ok(());
    }
    let own = group.join(DAEMON_GROUP);
    match fs::create_dir(&own) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // 0 means the writing process.
    fs::write(own.join("cgroup.procs"), "0")
}

/// Whether systemd, or the creator of the group, delegated it to us. Write permission does not show that,
/// because the superuser can write everywhere.
fn is_delegated(folder: &Path) -> bool {
    let is_marked = |name: &str| {
        let mut value = [0; 4];
        rustix::fs::getxattr(folder, name, &mut value).is_ok_and(|length| value.get(..length) == Some(b"1"))
    };
    is_marked("user.delegate") || is_marked("trusted.delegate")
}

/// Whether groups in a folder have the controller. The kernel refuses it to a group that contains
/// processes.
fn has_controller(folder: &Path, controller: Controller, mode: Mode) -> bool {
    let switch = folder.join("cgroup.subtree_control");
    let has = || {
        let names = fs::read_to_string(&switch).unwrap_or_default();
        names
            .split_ascii_whitespace()
            .any(|name| name == controller.name())
    };
    let enable = || fs::write(&switch, format!("+{}", controller.name())).is_ok();
    has() || (mode == Mode::Enable && enable() && has())
}

/// Removes the groups of dead daemons.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .take(SWEPT_MAX)
    {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(owner) else {
            continue;
        };
        if process::started_at(owner.0) != Some(owner.1) {
            // A group that still contains processes is emptied by their supervisor.
            let _populated = fs::remove_dir(entry.path());
        }
    }
}

/// Pid and start time of the daemon that created a group of this name.
fn owner(name: &str) -> Option<(i32, u64)> {
    let mut words = name.strip_prefix(PREFIX)?.split('-');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The controllers (`pids`, `memory`) with which the kernel limits the commands of a Wakeful process. The
/// supervisor of each command measures the rest.
#[must_use]
pub fn controllers_of(pid: u32) -> Vec<&'static str> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let bases = pid.map(|pid| find_bases(pid, Mode::Look)).unwrap_or_default();
    let controllers = bases.iter().flat_map(|base| &base.controllers);
    controllers.map(|controller| controller.name()).collect()
}

/// The group of one call: a folder in each hierarchy that has one of the controllers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Group {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Part {
    version: Version,
    folder: PathBuf,
    controllers: Vec<Controller>,
}

impl Group {
    /// Creates a group with the limits of a call. It has no parts if no group is delegated.
    pub(crate) fn make(limits: &CommandLimits) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let pid = getpid().as_raw_nonzero().get();
        let Some(started) = process::started_at(pid) else {
            return Self::default();
        };
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{pid}-{started}-{count}");
        let make = |base: &Base| {
            let part = Part {
                version: base.version,
                folder: base.folder.join(&name),
                controllers: base.controllers.clone(),
            };
            let made = fs::create_dir(&part.folder).and_then(|()| part.limit(limits));
            if made.is_err() {
                part.remove();
            }
            made.is_ok().then_some(part)
        };
        Self {
            parts: bases().iter().filter_map(make).collect(),
        }
    }

    /// Whether it limits the number of processes.
    pub(super) fn bounds_processes(&self) -> bool {
        self.parts
            .iter()
            .any(|part| part.controllers.contains(&Controller::Pids))
    }

    /// Adds a process, including its future children.
    pub(super) fn put(&self, pid: Pid) {
        for part in &self.parts {
            // `held` detects a failure, and the supervisor measures instead.
            let _measured = fs::write(part.folder.join("cgroup.procs"), pid.as_raw_nonzero().to_string());
        }
    }

    /// The controllers that limit this process.
    pub(super) fn held(&self) -> Vec<Controller> {
        let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let is_in = |part: &&Part| {
            let name = part.folder.file_name();
            groups(&cgroups).any(|(_, path)| Path::new(path).file_name() == name)
        };
        let parts = self.parts.iter().filter(is_in);
        parts.flat_map(|part| part.controllers.clone()).collect()
    }

    /// The limit at which the kernel refused a resource to the call or killed one of its processes.
    pub(super) fn crossed(&self) -> Option<Controller> {
        self.parts.iter().find_map(Part::crossed)
    }

    /// Removes the group. If that fails, the next daemon removes it at startup.
    pub(crate) fn remove(&self) {
        for part in &self.parts {
            part.remove();
        }
    }
}

impl Part {
    fn limit(&self, limits: &CommandLimits) -> io::Result<()> {
        for controller in &self.controllers {
            let (file, most) = match (controller, self.version) {
                (Controller::Pids, _) => ("pids.max", limits.threads.saturating_add(TASKS_SLACK)),
                (Controller::Memory, Version::V1) => ("memory.limit_in_bytes", memory_max(limits)),
                (Controller::Memory, Version::V2) => ("memory.max", memory_max(limits)),
            };
            fs::write(self.folder.join(file), most.to_string())?;
        }
        Ok(())
    }

    fn crossed(&self) -> Option<Controller> {
        let counted = |file: &str, name: &str| {
            let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.any(|(found, count)| found == name && count != "0")
        };
        let is_crossed = |controller: &&Controller| match (controller, self.version) {
            (Controller::Pids, _) => counted("pids.events", "max"),
            (Controller::Memory, Version::V1) => counted("memory.oom_control", "oom_kill"),
            (Controller::Memory, Version::V2) => counted("memory.events", "oom_kill"),
        };
        self.controllers.iter().find(is_crossed).copied()
    }

    fn remove(&self) {
        for _ in 0..REMOVE_TRIES_MAX {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(REMOVE_WAIT),
                Ok(()) | Err(_) => return,
            }
        }
    }
}

fn memory_max(limits: &CommandLimits) -> u64 {
    memory_limit(limits).saturating_add(MEMORY_SLACK)
}

#[cfg(test)]
mod tests;
