//! The limits of a command: the supervisor looks at what the whole tree uses, and says when it is too much.
//!
//! The kernel bounds single processes and, for the superuser, not even their number. So the tree is measured, the more
//! often the nearer it comes to a limit: no faster than memory can be filled does anything grow.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, fstatvfs, openat};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::usage::{Processes, Usage};
use crate::options::CommandLimits;

/// Longest and shortest time between two looks.
const LOOK_MAX: Duration = Duration::from_millis(100);
const LOOK_MIN: Duration = Duration::from_millis(5);

/// The fastest that memory or a disk is taken to be filled: 4 GiB in a second.
const BYTES_PER_MS: u64 = 4 * 1024 * 1024;

/// What stays free on the disk of the home: a fiftieth of it, within these bounds, and of a small disk a quarter. The
/// least is several times what is written between two looks.
const DISK_RESERVE_MIN: u64 = 64 << 20;
const DISK_RESERVE_MAX: u64 = 1 << 30;
const DISK_RESERVE_SHARE: u64 = 50;
const SMALL_DISK_SHARE: u64 = 4;

/// Files that can still be made on the disk of the home: a fiftieth of all, and at most this. Empty files take no space that
/// is counted, and a disk without room for another file is full.
const FILES_RESERVE_MAX: u64 = 10_000;

/// A disk that was nearly full before may lose this much while a command runs that writes nothing.
const DISK_NOISE_BYTES: u64 = 1 << 20;

/// The same for files: this part of what must stay free.
const FILES_NOISE_SHARE: u64 = 10;

/// What stays free of the machine's memory: a twentieth, and at most this. It covers what no process is charged with.
const MEMORY_RESERVE_MAX: u64 = 256 << 20;
const MEMORY_RESERVE_SHARE: u64 = 20;

/// Tasks beyond the limit that the kernel still lets a command make, so that the supervisor sees the limit crossed.
pub(super) const TASKS_SLACK: u64 = 64;

/// Which limit was crossed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Limit {
    /// Memory of the tree.
    Memory,
    /// Memory that is left to the machine.
    MachineMemory,
    /// Processes and threads.
    Processes,
    /// Bytes written to disks.
    Written,
    /// Free space on the disk of the home.
    FreeSpace,
    /// Files that can still be made on the disk of the home.
    FreeFiles,
}

/// A limit that was crossed, and by how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exceeded {
    pub(crate) limit: Limit,
    /// What was found; for what must stay free, how much was left.
    pub(crate) found: u64,
    /// What the limit is.
    pub(crate) allowed: u64,
}

/// What the machine has left at one moment.
#[derive(Debug, Clone, Copy)]
struct Left {
    memory: u64,
    disk: u64,
    files: u64,
}

/// What must not be crossed.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    memory: u64,
    tasks: u64,
    written: u64,
    memory_reserve: u64,
    disk_reserve: u64,
    files_reserve: u64,
}

/// Watches the tree of one command.
#[derive(Debug)]
pub(super) struct Limiter {
    processes: Processes,
    /// The home, for the free space of its disk.
    home: OwnedFd,
    bounds: Bounds,
    at_start: Left,
    /// The most that was written according to any look.
    written_bytes: u64,
}

impl Limiter {
    pub(super) fn new(limits: &CommandLimits, home: &Path) -> rustix::io::Result<Self> {
        let processes = Processes::open()?;
        let home = openat(CWD, home, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let (machine_memory, memory) = processes.machine_memory();
        let disk = Disk::of(&home);
        let bounds = Bounds {
            memory: limits.memory_bytes.unwrap_or(machine_memory / 2),
            tasks: limits.processes,
            written: limits.written_bytes,
            memory_reserve: (machine_memory / MEMORY_RESERVE_SHARE).min(MEMORY_RESERVE_MAX),
            disk_reserve: disk_reserve(disk.bytes),
            files_reserve: (disk.files / DISK_RESERVE_SHARE).min(FILES_RESERVE_MAX),
        };
        Ok(Self {
            processes,
            home,
            bounds,
            at_start: disk.left(memory),
            written_bytes: 0,
        })
    }

    /// Bytes that the tree has written to disks, as far as it was seen.
    pub(super) const fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Looks at the tree. Says which limit is crossed, or when to look again.
    pub(super) fn look(&mut self, root: Pid) -> Result<Duration, Exceeded> {
        let usage = self.processes.usage(root, self.bounds.tasks);
        self.written_bytes = self.written_bytes.max(usage.written_bytes);
        let usage = Usage {
            memory_bytes: match usage.memory_bytes > self.bounds.memory {
                true => self.processes.memory_without_doubles(root, self.bounds.tasks),
                false => usage.memory_bytes,
            },
            ..usage
        };
        let left = Disk::of(&self.home).left(self.processes.machine_memory().1);
        match crossed(&self.bounds, &usage, [self.at_start, left]) {
            Some(exceeded) => Err(exceeded),
            None => Ok(next_look(&self.bounds, &usage, left)),
        }
    }
}

/// A disk, and what of it an ordinary user may still take.
#[derive(Debug, Clone, Copy)]
struct Disk {
    bytes: u64,
    free_bytes: u64,
    /// None at all where the file system does not count them.
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

    const fn left(self, memory: u64) -> Left {
        Left {
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

/// The first limit that is crossed. What must stay free counts only if it became less since the start: a command that
/// uses nothing is not ended because the machine was full before.
fn crossed(bounds: &Bounds, usage: &Usage, [start, left]: [Left; 2]) -> Option<Exceeded> {
    let over = |limit, found, allowed| {
        (found > allowed).then_some(Exceeded {
            limit,
            found,
            allowed,
        })
    };
    // The kernel keeps a single file from passing it.
    let reached = |limit, found, allowed| {
        (found >= allowed).then_some(Exceeded {
            limit,
            found,
            allowed,
        })
    };
    let under = |limit, found: u64, allowed, is_less| {
        (found < allowed && is_less).then_some(Exceeded {
            limit,
            found,
            allowed,
        })
    };
    let took_memory = start.memory.saturating_sub(left.memory) > bounds.memory_reserve;
    let took_space = start.disk.saturating_sub(left.disk) > DISK_NOISE_BYTES;
    let took_files = start.files.saturating_sub(left.files) > bounds.files_reserve / FILES_NOISE_SHARE;
    over(Limit::Processes, usage.tasks, bounds.tasks)
        .or_else(|| over(Limit::Memory, usage.memory_bytes, bounds.memory))
        .or_else(|| reached(Limit::Written, usage.written_bytes, bounds.written))
        .or_else(|| under(Limit::FreeSpace, left.disk, bounds.disk_reserve, took_space))
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

/// Soon enough that nothing that still has room crosses its limit by much.
fn next_look(bounds: &Bounds, usage: &Usage, left: Left) -> Duration {
    let rooms = [
        bounds.memory.saturating_sub(usage.memory_bytes),
        left.memory.saturating_sub(bounds.memory_reserve),
        left.disk.saturating_sub(bounds.disk_reserve),
    ];
    let room = rooms.into_iter().min().unwrap_or(0);
    let by_bytes = Duration::from_millis(room / BYTES_PER_MS);
    // A tree that has half of its tasks may have all of them in a moment.
    let by_tasks = if usage.tasks > bounds.tasks / 2 {
        LOOK_MAX / 5
    } else {
        LOOK_MAX
    };
    by_bytes.min(by_tasks).clamp(LOOK_MIN, LOOK_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        memory: 1 << 30,
        tasks: 100,
        written: 1 << 30,
        memory_reserve: 256 << 20,
        disk_reserve: 1 << 30,
        files_reserve: 10_000,
    };

    const PLENTY: Left = Left {
        memory: 8 << 30,
        disk: 80 << 30,
        files: 1 << 20,
    };

    fn crossed_by(usage: Usage, left: Left) -> Option<Limit> {
        crossed(&BOUNDS, &usage, [PLENTY, left]).map(|exceeded| exceeded.limit)
    }

    #[test]
    fn each_limit_is_told_by_its_name() {
        let none = Usage::default();
        assert_eq!(crossed_by(none, PLENTY), None);
        let tasks = Usage { tasks: 101, ..none };
        let memory = Usage {
            memory_bytes: BOUNDS.memory + 1,
            ..none
        };
        let written = Usage {
            written_bytes: BOUNDS.written + 1,
            ..none
        };
        assert_eq!(crossed_by(tasks, PLENTY), Some(Limit::Processes));
        assert_eq!(crossed_by(memory, PLENTY), Some(Limit::Memory));
        assert_eq!(crossed_by(written, PLENTY), Some(Limit::Written));
        let disk = Left {
            disk: BOUNDS.disk_reserve - 1,
            ..PLENTY
        };
        assert_eq!(crossed_by(none, disk), Some(Limit::FreeSpace));
        let files = Left {
            files: BOUNDS.files_reserve - 1,
            ..PLENTY
        };
        assert_eq!(crossed_by(none, files), Some(Limit::FreeFiles));
        let machine = Left { memory: 1, ..PLENTY };
        assert_eq!(crossed_by(none, machine), Some(Limit::MachineMemory));
    }

    #[test]
    fn a_disk_that_was_full_before_ends_no_command_that_writes_nothing() {
        let full = Left {
            disk: 4 << 20,
            ..PLENTY
        };
        assert_eq!(crossed(&BOUNDS, &Usage::default(), [full, full]), None);
        let fuller = Left {
            disk: 2 << 20,
            ..PLENTY
        };
        assert!(crossed(&BOUNDS, &Usage::default(), [full, fuller]).is_some());
    }

    #[test]
    fn looks_come_faster_the_less_room_is_left() {
        let none = Usage::default();
        assert_eq!(next_look(&BOUNDS, &none, PLENTY), LOOK_MAX);
        let near = Left {
            disk: BOUNDS.disk_reserve + 40 * BYTES_PER_MS,
            ..PLENTY
        };
        assert_eq!(next_look(&BOUNDS, &none, near), Duration::from_millis(40));
        let there = Left {
            disk: BOUNDS.disk_reserve,
            ..PLENTY
        };
        assert_eq!(next_look(&BOUNDS, &none, there), LOOK_MIN);
    }

    #[test]
    fn a_disk_of_any_size_keeps_a_reserve() {
        assert_eq!(disk_reserve(64 << 20), 16 << 20);
        assert_eq!(disk_reserve(1 << 30), DISK_RESERVE_MIN);
        assert_eq!(disk_reserve(10 << 30), (10 << 30) / 50);
        assert_eq!(disk_reserve(1 << 40), DISK_RESERVE_MAX);
    }
}
