//! What `/proc` says about processes, and the hunt for those that no namespace holds together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, wait};

/// Between two looks for processes that were told to die. The kernel needs far less for an ordinary one.
const KILL_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A process as no other can be: numbers are used again, but not with the same start time and boot.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProcessIdentity {
    pub(crate) pid: i32,
    /// In clock ticks since the boot.
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

/// Kills every descendant of this process, again and again until none is left or the time is over. This process
/// must be a subreaper, so that orphans become its children and the kernel can say when there are none.
///
/// Processes that make others faster than they are killed must be stopped first, and each at the moment it is found:
/// the kernel lists processes by number, and new ones have higher numbers, so that the list is read up to its end.
pub(crate) fn kill_own_descendants(deadline: Instant) {
    loop {
        let own = getpid().as_raw_nonzero().get();
        let mut found = BTreeSet::from([own]);
        // Twice without a new one: what was made before its parent was stopped may have a lower number.
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
            // It fails only when it is gone already.
            let _gone = kill_process(pid, Signal::KILL);
        }
        thread::sleep(KILL_POLL_INTERVAL);
        if !reap(deadline) || Instant::now() >= deadline {
            return;
        }
    }
}

/// Takes in children that have ended. False when there is none left of any kind, and so no descendant.
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

/// Stops every process whose parent is among those found, and adds it to them. True when there was one.
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

/// Kills a process and everything that descends from it, and waits until it is gone.
///
/// Orphans would go to a stranger, where nobody finds them. So all are stopped first, until a look finds no one
/// new: a stopped process makes no more children. Only then are they killed.
pub(crate) fn kill_tree(root: Pid, deadline: Instant) {
    // Opened first, so that what we wait for cannot become another process.
    let root_fd = pidfd_open(root, PidfdFlags::empty());
    let mut stopped = Vec::new();
    let mut found = vec![root];
    while !found.is_empty() && Instant::now() < deadline {
        for pid in found {
            // It fails only when it is gone already; so do the signals below.
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

/// Waits until a process has ended. False when the time was over first.
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

/// What the kernel tells of a process. Its name may hold any bytes, so it must not be able to hide by them.
fn stat_line(pid: i32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The parent of a process. Whether it runs does not matter: one whose first thread has ended counts as gone, and is still
/// the parent of its children.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    let line = stat_line(pid)?;
    let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
    fields.nth(1)?.parse().ok()
}

/// When a process began, in clock ticks since the boot. None for one that has ended.
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

    /// Reads the line that proc(5) describes. A process that has ended and only waits to be asked for counts
    /// as gone.
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
    fn a_process_with_parentheses_in_its_name_is_read() {
        let line = "42 (a) (b) S) R 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 5 rest";
        let stat = Stat::parse(line).expect("stat");
        assert_eq!((stat.parent, stat.start_time), (7, 987_654));
        assert!(Stat::parse(&line.replace(" R ", " Z ")).is_none());
        assert!(Stat::parse("42 (a").is_none());
    }

    #[test]
    fn a_process_is_found_again_only_under_its_own_identity() {
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
