//! Reads process information from `/proc`, and kills process trees that no namespace contains.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, wait};

/// Time between two checks for killed processes. The kernel needs far less for an ordinary one.
const KILL_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Identifies a process uniquely: a pid may be reused, but not with the same start time and boot.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProcessIdentity {
    pub(crate) pid: i32,
    /// In clock ticks since boot.
    pub(crate) start_time: u64,
    pub(crate) boot_id: String,
}

impl ProcessIdentity {
    /// Identifies a running process.
    pub(crate) fn of(pid: Pid) -> Option<Self> {
        let pid = pid.as_raw_nonzero().get();
        let stat = Stat::read(pid)?;
        Some(Self {
            pid,
            start_time: stat.start_time,
            boot_id: boot_id()?,
        })
    }

    /// The process, if it is still the same one.
    pub(crate) fn find(&self) -> Option<Pid> {
        let pid = Pid::from_raw(self.pid)?;
        (Self::of(pid).as_ref() == Some(self)).then_some(pid)
    }
}

/// Kills every descendant of this process, repeatedly until none is left or the deadline passes. This
/// process must be a subreaper, so that orphans become its children and the kernel can report when there
/// are none.
///
/// Processes that fork faster than they are killed must be stopped first, each as soon as it is found: the
/// kernel lists processes by pid, and new ones have higher pids, so one pass over the list sees them.
pub(crate) fn kill_own_descendants(deadline: Instant) {
    loop {
        let own = getpid().as_raw_nonzero().get();
        let mut found = BTreeSet::from([own]);
        // Requires two passes without a new process: a child made before its parent was stopped may have a
        // lower pid.
        let mut quiet = 0;
        while quiet < 2 && Instant::now() < deadline {
            quiet = if stop_new_descendants(&mut found) {
                0
            } else {
                quiet + 1
            };
        }
        found.remove(&own);
        for pid in found.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            // It fails only when the process is already gone.
            let _gone = kill_process(pid, Signal::KILL);
        }
        thread::sleep(KILL_POLL_INTERVAL);
        if !reap(deadline) || Instant::now() >= deadline {
            return;
        }
    }
}

/// Reaps children that have exited. Returns false when no child is left, and so no descendant.
fn reap(deadline: Instant) -> bool {
    while Instant::now() < deadline {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
    true
}

/// Stops every process whose parent is in `found`, and adds it. Returns true if there was one.
fn stop_new_descendants(found: &mut BTreeSet<i32>) -> bool {
    let before = found.len();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if found.contains(&pid) || !Stat::read(pid).is_some_and(|stat| found.contains(&stat.parent)) {
            continue;
        }
        found.insert(pid);
        if let Some(pid) = Pid::from_raw(pid) {
            let _gone = kill_process(pid, Signal::STOP);
        }
    }
    found.len() > before
}

/// Kills a process and all its descendants, and waits until they are gone.
///
/// Orphans would be reparented to an unrelated process, where they cannot be found. So all are stopped
/// first, until a pass finds no new one: a stopped process forks no more children. Only then are they
/// killed.
pub(crate) fn kill_tree(root: Pid, deadline: Instant) {
    // Opened first, so that the pid cannot be reused by another process while this one is awaited.
    let root_fd = pidfd_open(root, PidfdFlags::empty());
    let mut stopped = Vec::new();
    let mut found = vec![root];
    while !found.is_empty() && Instant::now() < deadline {
        for pid in found {
            // It fails only when the process is already gone; so do the signals below.
            let _gone = kill_process(pid, Signal::STOP);
            stopped.push(pid);
        }
        found = descendants(root)
            .into_iter()
            .filter(|pid| !stopped.contains(pid))
            .collect();
    }
    for pid in stopped {
        let _gone = kill_process(pid, Signal::KILL);
    }
    if let Ok(root_fd) = root_fd {
        wait_gone(&root_fd, deadline);
    }
}

/// Waits until a process has exited. Returns false when the deadline passes first.
pub(crate) fn wait_gone(pidfd: &impl std::os::fd::AsFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left_spec = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&left_spec)) {
            Ok(1..) => return true,
            _ if left.is_zero() => return false,
            Ok(0) | Err(_) => {}
        }
    }
}

fn descendants(root: Pid) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(stat) = Stat::read(pid) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut waiting = vec![root.as_raw_nonzero().get()];
    while let Some(parent) = waiting.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            waiting.push(child);
            found.extend(Pid::from_raw(child));
        }
    }
    found
}

fn boot_id() -> Option<String> {
    Some(
        fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .ok()?
            .trim()
            .to_owned(),
    )
}

/// The `stat` line of a process. Its name may contain any bytes, which must not hide the process.
fn stat_line(pid: i32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The parent of a process. A process whose first thread has exited counts too: it is still the parent of
/// its children.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    let line = stat_line(pid)?;
    let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
    fields.nth(1)?.parse().ok()
}

/// The start time of a process, in clock ticks since boot. None if it has exited.
pub(crate) fn started_at(pid: i32) -> Option<u64> {
    Stat::read(pid).map(|stat| stat.start_time)
}

struct Stat {
    parent: i32,
    start_time: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(&stat_line(pid)?)
    }

    /// Parses the line described in proc(5). A zombie process counts as gone.
    fn parse(line: &str) -> Option<Self> {
        // The second field is the name, in parentheses, and may itself contain any of these characters.
        let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let start_time = fields.nth(17)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Self { parent, start_time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_parentheses_in_its_name_is_parsed() {
        let line = "42 (a) (b) S) R 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 5 rest";
        let stat = Stat::parse(line).expect("stat");
        assert_eq!((stat.parent, stat.start_time), (7, 987_654));
        assert!(Stat::parse(&line.replace(" R ", " Z ")).is_none());
        assert!(Stat::parse("42 (a").is_none());
    }

    #[test]
    fn a_process_is_found_only_by_its_own_identity() {
        let own = rustix::process::getpid();
        let identity = ProcessIdentity::of(own).expect("identity");
        assert_eq!(identity.find(), Some(own));
        assert_eq!(
            ProcessIdentity {
                start_time: identity.start_time + 1,
                ..identity.clone()
            }
            .find(),
            None
        );
        assert_eq!(
            ProcessIdentity {
                boot_id: "another".into(),
                ..identity
            }
            .find(),
            None
        );
    }
}
