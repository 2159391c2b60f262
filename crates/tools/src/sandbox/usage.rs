//! Measures the resource usage of a command's process tree, from `/proc`.
//!
//! Every walk stops at the limit on processes, because the command is killed beyond it anyway.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::Pid;

/// Bytes read of one file in `/proc`. The list of a process's children is the longest.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// The current and accumulated resource usage of a process tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ResourceUsage {
    pub(super) processes: u64,
    /// Their threads; at most one more than requested.
    pub(super) tasks: u64,
    /// Private memory of the tree in bytes, without file pages, which the kernel can drop.
    pub(super) memory_bytes: u64,
    /// Bytes written to disks by running processes and by those that were reaped.
    pub(super) written_bytes: u64,
    /// Whether the writes of a process could not be read: for everyone except the superuser, those of a
    /// process that is not dumpable.
    pub(super) is_written_partial: bool,
}

/// A view of `/proc`. It is opened before the reaper mounts another one, in which pids differ.
#[derive(Debug)]
pub(super) struct Processes {
    proc: OwnedFd,
}

impl Processes {
    pub(super) fn open() -> rustix::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = openat(CWD, "/proc", flags, Mode::empty())?;
        Ok(Self { proc })
    }

    /// The usage of a process and its descendants. Stops at the first task beyond `tasks_max`.
    pub(super) fn usage(&self, root: Pid, tasks_max: u64) -> ResourceUsage {
        let mut usage = ResourceUsage::default();
        let mut waiting = vec![root.as_raw_nonzero().get()];
        while let Some(pid) = waiting.pop() {
            usage.processes += 1;
            usage.memory_bytes += self.memory(pid);
            match self.written(pid) {
                Ok(bytes) => usage.written_bytes += bytes,
                Err(Errno::ACCESS | Errno::PERM) => usage.is_written_partial |= self.has_memory(pid),
                // The process has exited.
                Err(_) => {}
            }
            for task in self.tasks(pid) {
                usage.tasks += 1;
                if usage.tasks > tasks_max {
                    return usage;
                }
                waiting.extend(self.children(pid, task));
            }
        }
        usage
    }

    /// The memory of the tree with every shared page counted once. Reading it is slow, so it is used only
    /// for a tree whose plain sum exceeds the limit: forked processes share most of their pages.
    pub(super) fn memory_without_doubles(&self, root: Pid, tasks_max: u64) -> u64 {
        let mut bytes: u64 = 0;
        let mut tasks: u64 = 0;
        let mut waiting = vec![root.as_raw_nonzero().get()];
        while let Some(pid) = waiting.pop() {
            bytes += self.proportional(pid).unwrap_or_else(|| self.memory(pid));
            for task in self.tasks(pid) {
                tasks += 1;
                if tasks > tasks_max {
                    return bytes;
                }
                waiting.extend(self.children(pid, task));
            }
        }
        bytes
    }

    fn memory(&self, pid: i32) -> u64 {
        let text = self.read(&format!("{pid}/status")).unwrap_or_default();
        ["RssAnon:", "RssShmem:", "VmSwap:"]
            .iter()
            .filter_map(|name| kibibytes(&text, name))
            .sum()
    }

    fn proportional(&self, pid: i32) -> Option<u64> {
        let text = self.read(&format!("{pid}/smaps_rollup"))?;
        let anonymous = kibibytes(&text, "Pss_Anon:");
        let shared = kibibytes(&text, "Pss_Shmem:");
        // Kernels before 5.11 report only the sum, including files.
        let held = anonymous
            .zip(shared)
            .map(|(anonymous, shared)| anonymous + shared);
        let held = held.or_else(|| kibibytes(&text, "Pss:"))?;
        Some(held + kibibytes(&text, "SwapPss:").unwrap_or(0))
    }

    /// Whether a process has memory. One that has exited has none, and its files belong to root until its parent
    /// reads its status.
    fn has_memory(&self, pid: i32) -> bool {
        let text = self.read(&format!("{pid}/status")).unwrap_or_default();
        text.lines().any(|line| line.starts_with("VmSize:"))
    }

    fn written(&self, pid: i32) -> Result<u64, Errno> {
        let text = self.try_read(&format!("{pid}/io"))?;
        Ok(number(&text, "write_bytes:").unwrap_or(0))
    }

    fn tasks(&self, pid: i32) -> Vec<i32> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(self.proc.as_fd(), format!("{pid}/task"), flags, Mode::empty());
        let Ok(entries) = folder.and_then(Dir::new) else {
            return Vec::new();
        };
        let names = entries.flatten().map(|entry| entry.file_name().to_owned());
        names
            .filter_map(|name| name.to_str().ok()?.parse().ok())
            .collect()
    }

    fn children(&self, pid: i32, task: i32) -> Vec<i32> {
        let text = self
            .read(&format!("{pid}/task/{task}/children"))
            .unwrap_or_default();
        text.split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect()
    }

    /// A file of a process; none if the process is gone or unreadable.
    fn read(&self, path: &str) -> Option<String> {
        self.try_read(path).ok()
    }

    fn try_read(&self, path: &str) -> Result<String, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(self.proc.as_fd(), path, flags, Mode::empty())?;
        let mut bytes = Vec::new();
        let read = File::from(file).take(FILE_BYTES_MAX).read_to_end(&mut bytes);
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        // The name of a process may contain any bytes, which must not hide the process.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Total memory of the machine, and how much of it is available.
    pub(super) fn machine_memory(&self) -> (u64, u64) {
        let text = self.read("meminfo").unwrap_or_default();
        let of = |name| kibibytes(&text, name).unwrap_or(u64::MAX);
        (of("MemTotal:"), of("MemAvailable:"))
    }
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    number(text, name).map(|number| number.saturating_mul(1024))
}

fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_exited_hides_no_writes() {
        let processes = Processes::open().expect("/proc");
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("a child");
        let pid = i32::try_from(child.id()).expect("a number");
        assert!(processes.has_memory(pid));
        drop(child.stdin.take());
        // Waits for the end without reading the status.
        let id = rustix::process::WaitId::Pid(rustix::process::Pid::from_raw(pid).expect("a process"));
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(id, options).expect("its end");
        assert!(!processes.has_memory(pid));
        child.wait().expect("gone");
    }

    #[test]
    fn this_process_is_measured_with_its_threads_and_children() {
        let processes = Processes::open().expect("/proc");
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("a child");
        let usage = processes.usage(rustix::process::getpid(), 10_000);
        // The test's own thread, the main thread, and the child.
        assert_eq!(usage.processes, 2);
        assert!(usage.tasks >= 3 && usage.memory_bytes > 0, "{usage:?}");
        let cut = processes.usage(rustix::process::getpid(), 1);
        assert_eq!(cut.tasks, 2, "a walk ends at its bound");
        let once = processes.memory_without_doubles(rustix::process::getpid(), 10_000);
        assert!(once > 0);
        let (total, available) = processes.machine_memory();
        assert!(available > 0 && available <= total);
        drop(child.stdin.take());
        child.wait().expect("gone");
    }
}
