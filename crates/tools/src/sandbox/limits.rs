//! Decides when a command uses too much: memory, processes, written bytes, and the machine's free
//! resources.
//!
//! The kernel limits single processes and not the sum over a tree, so the supervisor measures the tree.
//! There are two kinds of checks. The machine (free disk space, free memory) is cheap to check, up to once
//! per millisecond when space is low. Walking the tree through `/proc` takes longer the more processes it
//! has, so it happens every 5 to 100 ms. The less headroom there is, the sooner the next check comes;
//! [`BYTES_PER_MS`] is the assumed consumption rate. If the command is in a cgroup, the kernel limits
//! processes and memory itself and counts refusals; those counters are checked too.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, fstatvfs, openat};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::cgroup::{Controller, Group};
use super::protocol::Spec;
use super::usage::{Processes, ResourceUsage};
use crate::options::CommandLimits;

/// Longest time between two checks of any kind.
const POLL_MAX: Duration = Duration::from_millis(100);

/// Shortest time between two walks of the tree.
const WALK_MIN: Duration = Duration::from_millis(5);

/// Longest time between two walks if the kernel does not limit the number of processes.
const UNBOUNDED_WALK_MAX: Duration = Duration::from_millis(20);

/// Shortest time between two checks of the machine.
const POLL_MIN: Duration = Duration::from_millis(1);

/// The assumed maximum rate at which memory or a disk fills: 4 GiB per second.
const BYTES_PER_MS: u64 = 4 * 1024 * 1024;

/// What may be written between the check that finds an exceeded limit and the exit of the last process: 16
/// ms of writing.
const HEADROOM_BYTES: u64 = 16 * BYTES_PER_MS;

/// What must stay free on the disk of the home: a fiftieth of it, within these bounds, and a quarter of a
/// small disk.
const DISK_RESERVE_MIN: u64 = 64 << 20;
const DISK_RESERVE_MAX: u64 = 1 << 30;
const DISK_RESERVE_SHARE: u64 = 50;
const SMALL_DISK_SHARE: u64 = 4;

/// Files that must stay available on the disk of the home: a fiftieth of all, and at most this. Empty files
/// use no counted space, and a disk without a free inode is full.
const FILES_RESERVE_MAX: u64 = 10_000;

/// Free space that a nearly full disk may lose while a command runs that writes nothing.
const DISK_NOISE_BYTES: u64 = 1 << 20;

/// The same for files: this fraction of the reserve.
const FILES_NOISE_SHARE: u64 = 10;

/// What must stay free of the machine's memory: a twentieth, and at most this. It covers memory that is
/// charged to no process.
const MEMORY_RESERVE_MAX: u64 = 256 << 20;
const MEMORY_RESERVE_SHARE: u64 = 20;

/// Tasks beyond the limit that the kernel still allows, so that the supervisor can detect the exceeded
/// limit.
pub(super) const TASKS_SLACK: u64 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Limit {
    /// Memory of the process tree.
    Memory,
    /// Free memory of the machine.
    MachineMemory,
    /// Processes of the tree.
    Processes,
    /// Threads of all of them.
    Threads,
    /// Bytes written to disks.
    Written,
    /// Free space on the disk of the home.
    FreeSpace,
    /// Files that can still be created on the disk of the home.
    FreeFiles,
}

/// An exceeded limit, and the measured value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LimitExceeded {
    pub(crate) limit: Limit,
    /// The measured value; for a reserve, what was left.
    pub(crate) found: u64,
    /// The limit.
    pub(crate) allowed: u64,
}

/// The free resources of the machine at one time.
#[derive(Debug, Clone, Copy)]
struct FreeResources {
    memory: u64,
    disk: u64,
    files: u64,
}

/// The limits of one command.
#[derive(Debug, Clone, Copy)]
struct CommandBounds {
    /// Whether the kernel limits the number of processes.
    tasks_by_kernel: bool,
    memory: u64,
    processes: u64,
    /// Threads, as the kernel counts them.
    tasks: u64,
    written: u64,
    memory_reserve: u64,
    disk_reserve: u64,
    files_reserve: u64,
}

/// The disk of the home has too little free space to start a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pub(crate) left: u64,
    pub(crate) needed: u64,
}

/// Whether a command may start: what it could write before it is killed must not fill the disk of the home.
pub(crate) fn check_room(home: &Path) -> rustix::io::Result<Result<(), NoRoom>> {
    let home = openat(CWD, home, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let disk = Disk::of(&home);
    let needed = needed_to_begin(disk.bytes);
    let left = disk.free_bytes;
    Ok(if left < needed {
        Err(NoRoom { left, needed })
    } else {
        Ok(())
    })
}

/// On a large disk that is nearly full, commands that write little can still run, for example to free
/// space.
const fn needed_to_begin(disk_bytes: u64) -> u64 {
    let reserve = disk_reserve(disk_bytes);
    let floor = if reserve < DISK_RESERVE_MIN {
        reserve
    } else {
        DISK_RESERVE_MIN
    };
    floor.saturating_add(HEADROOM_BYTES)
}

/// The memory limit of a command.
pub(super) fn memory_limit(limits: &CommandLimits) -> u64 {
    limits.memory_bytes.unwrap_or(CommandLimits::MEMORY_BYTES)
}

/// Monitors the process tree of one command.
#[derive(Debug)]
pub(super) struct UsageMonitor {
    processes: Processes,
    /// The home, to measure the free space of its disk.
    home: OwnedFd,
    group: Group,
    bounds: CommandBounds,
    at_start: FreeResources,
    /// When the next walk of the tree is due.
    walk_at: Instant,
    /// The result of all walks.
    written: Written,
}

/// What a process tree wrote to disks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    /// The maximum over all walks.
    pub(super) bytes: u64,
    /// Whether a process was unreadable, so that the true value may be higher.
    pub(super) is_partial: bool,
}

impl UsageMonitor {
    /// Prepares to monitor a tree. `tasks_by_kernel` is whether the kernel limits its number of processes.
    pub(super) fn new(spec: &Spec, tasks_by_kernel: bool) -> rustix::io::Result<Self> {
        let processes = Processes::open()?;
        let home = openat(CWD, &spec.home, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let (machine_memory, memory) = processes.machine_memory();
        let disk = Disk::of(&home);
        let bounds = CommandBounds {
            tasks_by_kernel,
            memory: memory_limit(&spec.limits),
            processes: spec.limits.processes,
            tasks: spec.limits.threads,
            written: spec.limits.written_bytes,
            memory_reserve: (machine_memory / MEMORY_RESERVE_SHARE).min(MEMORY_RESERVE_MAX),
            disk_reserve: disk_reserve(disk.bytes),
            files_reserve: (disk.files / DISK_RESERVE_SHARE).min(FILES_RESERVE_MAX),
        };
        Ok(Self {
            processes,
            home,
            group: spec.group.clone(),
            bounds,
            at_start: disk.left(memory),
            walk_at: Instant::now(),
            written: Written::default(),
        })
    }

    /// What the tree has written to disks, as far as it was measured.
    pub(super) const fn written(&self) -> Written {
        self.written
    }

    /// Checks the machine, and the tree if that is due. Returns the exceeded limit, or the time until the
    /// next check.
    pub(super) fn look(&mut self, root: Pid) -> Result<Duration, LimitExceeded> {
        let left = Disk::of(&self.home).left(self.processes.machine_memory().1);
        if let Some(exceeded) = crossed_by_machine(&self.bounds, self.at_start, left) {
            return Err(exceeded);
        }
        if let Some(exceeded) = self.crossed_by_group() {
            return Err(exceeded);
        }
        if Instant::now() >= self.walk_at {
            let usage = self.walk(root);
            if let Some(exceeded) = crossed_by_tree(&self.bounds, &usage) {
                return Err(exceeded);
            }
            self.walk_at = Instant::now() + next_walk(&self.bounds, &usage);
        }
        let until_walk = self.walk_at.saturating_duration_since(Instant::now());
        Ok(next_look(&self.bounds, left).min(until_walk))
    }

    /// The last check of a tree whose command has ended: what it wrote, what it started, and what the kernel
    /// refused. A shell exits when it cannot start another process, which may be before a walk has counted
    /// those that it started.
    pub(super) fn look_at_end(&mut self, root: Pid) -> Option<LimitExceeded> {
        let usage = self.walk(root);
        crossed_by_number(&self.bounds, &usage).or_else(|| self.crossed_by_group())
    }

    fn walk(&mut self, root: Pid) -> ResourceUsage {
        let usage = self.processes.usage(root, self.bounds.tasks);
        self.written.bytes = self.written.bytes.max(usage.written_bytes);
        self.written.is_partial |= usage.is_written_partial;
        ResourceUsage {
            memory_bytes: match usage.memory_bytes > self.bounds.memory {
                true => self.processes.memory_without_doubles(root, self.bounds.tasks),
                false => usage.memory_bytes,
            },
            ..usage
        }
    }

    fn crossed_by_group(&self) -> Option<LimitExceeded> {
        let (limit, allowed) = match self.group.crossed()? {
            Controller::Pids => (Limit::Threads, self.bounds.tasks),
            Controller::Memory => (Limit::Memory, self.bounds.memory),
        };
        Some(LimitExceeded {
            limit,
            found: allowed,
            allowed,
        })
    }
}

/// A disk, and the part of it that an ordinary user may still use.
#[derive(Debug, Clone, Copy)]
struct Disk {
    bytes: u64,
    free_bytes: u64,
    /// 0 if the file system does not count files.
    files: u64,
    free_files: u64,
}

impl Disk {
    fn of(folder: &OwnedFd) -> Self {
        let unknown = Self {
            bytes: u64::MAX,
            free_bytes: u64::MAX,
            files: 0,
            free_files: u64::MAX,
        };
        fstatvfs(folder).map_or(unknown, |disk| {
            let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
            Self {
                bytes: bytes(disk.f_blocks),
                free_bytes: bytes(disk.f_bavail),
                files: disk.f_files,
                free_files: disk.f_favail,
            }
        })
    }

    const fn left(self, memory: u64) -> FreeResources {
        FreeResources {
            memory,
            disk: self.free_bytes,
            files: self.free_files,
        }
    }
}

const fn disk_reserve(disk_bytes: u64) -> u64 {
    let share = disk_bytes / DISK_RESERVE_SHARE;
    let reserve = if share < DISK_RESERVE_MIN {
        DISK_RESERVE_MIN
    } else if share > DISK_RESERVE_MAX {
        DISK_RESERVE_MAX
    } else {
        share
    };
    let of_small = disk_bytes / SMALL_DISK_SHARE;
    if of_small < reserve { of_small } else { reserve }
}

/// The first limit that a tree exceeds.
fn crossed_by_tree(bounds: &CommandBounds, usage: &ResourceUsage) -> Option<LimitExceeded> {
    let when = |is_crossed: bool, limit, found, allowed| {
        is_crossed.then_some(LimitExceeded {
            limit,
            found,
            allowed,
        })
    };
    let (memory, written) = (usage.memory_bytes, usage.written_bytes);
    crossed_by_number(bounds, usage)
        .or_else(|| when(memory > bounds.memory, Limit::Memory, memory, bounds.memory))
        // The kernel prevents a single file from exceeding the limit, so reaching it is enough.
        .or_else(|| when(written >= bounds.written, Limit::Written, written, bounds.written))
}

/// The limit on processes or threads that a tree exceeds.
fn crossed_by_number(bounds: &CommandBounds, usage: &ResourceUsage) -> Option<LimitExceeded> {
    let counts = [
        (Limit::Processes, usage.processes, bounds.processes),
        (Limit::Threads, usage.tasks, bounds.tasks),
    ];
    let crossed = counts.into_iter().find(|(_, found, allowed)| found > allowed);
    crossed.map(|(limit, found, allowed)| LimitExceeded {
        limit,
        found,
        allowed,
    })
}

/// The first reserve that is used up. It counts only if it has shrunk since the start: a command that uses
/// nothing is not killed because the machine was full before.
fn crossed_by_machine(
    bounds: &CommandBounds,
    start: FreeResources,
    left: FreeResources,
) -> Option<LimitExceeded> {
    let under = |limit, found: u64, allowed, is_less| {
        (found < allowed && is_less).then_some(LimitExceeded {
            limit,
            found,
            allowed,
        })
    };
    let took_memory = start.memory.saturating_sub(left.memory) > bounds.memory_reserve;
    let took_space = start.disk.saturating_sub(left.disk) > DISK_NOISE_BYTES;
    let took_files = start.files.saturating_sub(left.files) > bounds.files_reserve / FILES_NOISE_SHARE;
    under(Limit::FreeSpace, left.disk, bounds.disk_reserve, took_space)
        .or_else(|| under(Limit::FreeFiles, left.files, bounds.files_reserve, took_files))
        .or_else(|| {
            under(
                Limit::MachineMemory,
                left.memory,
                bounds.memory_reserve,
                took_memory,
            )
        })
}

/// When to check the machine again: before its free resources can run out.
fn next_look(bounds: &CommandBounds, left: FreeResources) -> Duration {
    let room = left
        .memory
        .saturating_sub(bounds.memory_reserve)
        .min(left.disk.saturating_sub(bounds.disk_reserve));
    Duration::from_millis(room / BYTES_PER_MS).clamp(POLL_MIN, POLL_MAX)
}

/// When to walk the tree again: before it can exceed a limit by much.
fn next_walk(bounds: &CommandBounds, usage: &ResourceUsage) -> Duration {
    let room = bounds.memory.saturating_sub(usage.memory_bytes);
    let by_memory = Duration::from_millis(room / BYTES_PER_MS);
    // A tree with half of what it may have can reach the limit almost immediately.
    let is_near = usage.tasks > bounds.tasks / 2 || usage.processes > bounds.processes / 2;
    let by_tasks = match (bounds.tasks_by_kernel, is_near) {
        (true, false) => POLL_MAX,
        (true, true) => POLL_MAX / 5,
        (false, false) => UNBOUNDED_WALK_MAX,
        (false, true) => WALK_MIN,
    };
    by_memory.min(by_tasks).clamp(WALK_MIN, POLL_MAX)
}

#[cfg(test)]
mod tests;
