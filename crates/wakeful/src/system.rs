//! The real clock, real randomness, and the identity of this process.

use std::fs::{self, File, OpenOptions};
use std::future::Future;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use wakeful_core::id::RunnerId;
use wakeful_core::time::Millis;
use wakeful_ports::clock::{CLOCK_RECHECK_MS_MAX, Clock, Entropy};
use wakeful_store::rows::Runner;

/// Replaces a file atomically, so that readers and crashes see either the old or the new file. Only the owner
/// can read it.
pub(crate) fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let passing = folder.join(format!(".new-{}", fresh_id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&passing)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&passing, path));
    if let Err(error) = written {
        // The temporary file may not exist.
        let _ = fs::remove_file(&passing);
        return Err(error);
    }
    File::open(folder)?.sync_all()
}

/// The wall clock and the monotonic clock of this machine.
pub(crate) struct RealClock {
    began: Instant,
}

impl RealClock {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
        }
    }
}

impl Clock for RealClock {
    fn now(&self) -> Millis {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the clock that all other code uses"
        )]
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Millis(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }

    /// The kernel wakes the process at the given time, also after a suspend, and when the clock is set.
    /// Where the kernel cannot, the clock is polled once a minute.
    fn sleep_until(&self, moment: Millis) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        match wall_alarm(moment) {
            Ok(alarm) => Box::pin(async move {
                // If waiting fails, the caller checks the clock again.
                let _ = alarm.readable().await;
            }),
            Err(_) => self.sleep(moment.since(self.now()).clamp(1, CLOCK_RECHECK_MS_MAX)),
        }
    }
}

/// A timer that becomes readable at a wall-clock time, or when the clock is set.
fn wall_alarm(moment: Millis) -> std::io::Result<AsyncFd<OwnedFd>> {
    let clock = TimerfdClockId::Realtime;
    let alarm = timerfd_create(clock, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
    // The kernel interprets 0 as no alarm.
    let moment = moment.max(Millis(1));
    let when = Timespec {
        tv_sec: moment.0.div_euclid(1000),
        tv_nsec: moment.0.rem_euclid(1000) * 1_000_000,
    };
    let once = Itimerspec {
        it_interval: Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
        it_value: when,
    };
    let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    timerfd_settime(&alarm, flags, &once)?;
    #[expect(
        deprecated,
        reason = "the lint warns of a descriptor that changes during the wait, which an `OwnedFd` cannot"
    )]
    AsyncFd::with_interest(alarm, Interest::READABLE)
}

pub(crate) struct RealEntropy;

impl Entropy for RealEntropy {
    fn random_bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        if getrandom::fill(&mut bytes).is_err() {
            // No supported machine fails here; if one does, two version 7 ids still differ from call to
            // call.
            let halves = [uuid::Uuid::now_v7(), uuid::Uuid::now_v7()];
            bytes
                .iter_mut()
                .zip(halves.iter().flat_map(uuid::Uuid::as_bytes))
                .for_each(|(to, from)| *to = *from);
        }
        bytes
    }
}

/// A new id: ordered by time, with a random suffix.
pub(crate) fn fresh_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// This process as a registered runner.
pub(crate) fn this_runner() -> Runner {
    Runner {
        runner_id: RunnerId::new(fresh_id()),
        // A unique machine name if the real one cannot be determined.
        machine: place_name().unwrap_or_else(|| format!("unknown/{}", fresh_id())),
        pid: std::process::id(),
        pid_started: pid_started(std::process::id()).unwrap_or(0),
    }
}

/// Whether a runner registered on this machine is certainly dead. If it cannot be checked it counts as
/// alive: its lease expires anyway, and removing a live runner would interrupt its work.
pub(crate) fn is_dead_here(runner: &Runner) -> bool {
    if place_name().as_deref() != Some(runner.machine.as_str()) {
        return false;
    }
    let fields = stat(runner.pid).unwrap_or_default();
    match started_in(&fields) {
        Some(started) => has_ended(&fields) || started != runner.pid_started,
        None => no_such_process(runner.pid),
    }
}

/// Whether a process with this pid is alive on this machine. If it cannot be checked it counts as alive.
pub(crate) fn is_process(pid: u32) -> bool {
    !no_such_process(pid)
}

/// Whether this exact process is alive, and not another one that reuses its pid. A zombie still has its pid
/// and counts as dead.
pub(crate) fn is_alive(pid: u32, started: u64) -> bool {
    let Some(fields) = stat(pid) else { return false };
    !has_ended(&fields) && started_in(&fields) == Some(started)
}

fn no_such_process(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// The scope in which pids are valid: this boot of this kernel, and this process namespace.
fn place_name() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", boot.trim(), space.display()))
}

/// When a process started, in clock ticks after boot.
fn pid_started(pid: u32) -> Option<u64> {
    started_in(&stat(pid)?)
}

/// The fields of `/proc/PID/stat`, from the state on.
fn stat(pid: u32) -> Option<String> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name in parentheses may contain anything, so fields are counted after its end.
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.to_owned())
}

fn started_in(fields: &str) -> Option<u64> {
    fields.split_whitespace().nth(19)?.parse().ok()
}

/// Whether a process is a zombie.
fn has_ended(fields: &str) -> bool {
    matches!(fields.split_whitespace().next(), Some("Z" | "X" | "x"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wall_clock_time_is_awaited_by_the_kernel() {
        let clock = RealClock::new();
        let moment = Millis(clock.now().0 + 20);
        clock.sleep_until(moment).await;
        assert!(clock.now() >= moment);
        // A past time resolves at once, and a distant one does not.
        clock.sleep_until(Millis(0)).await;
        let far = clock.sleep_until(Millis(clock.now().0 + 3_600_000));
        assert!(tokio::time::timeout(Duration::from_millis(5), far).await.is_err());
    }

    #[test]
    fn a_live_process_is_not_dead_and_a_reused_pid_is() {
        let me = this_runner();
        assert!(!is_dead_here(&me));
        assert!(is_dead_here(&Runner {
            pid_started: me.pid_started + 1,
            ..me.clone()
        }));
    }

    #[test]
    fn a_zombie_process_counts_as_dead() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("starts");
        let (pid, started) = (child.id(), pid_started(child.id()).expect("started"));
        assert!(is_alive(pid, started));
        drop(child.stdin.take());
        while !stat(pid).is_some_and(|fields| has_ended(&fields)) {
            std::thread::yield_now();
        }
        assert!(!is_alive(pid, started));
        child.wait().expect("gone");
    }

    #[test]
    fn only_a_pid_of_this_machine_and_boot_can_be_dead() {
        let me = this_runner();
        let nobody = i32::MAX.unsigned_abs();
        assert!(is_dead_here(&Runner {
            pid: nobody,
            ..me.clone()
        }));
        assert!(!is_dead_here(&Runner {
            machine: "elsewhere".into(),
            pid: nobody,
            ..me
        }));
    }
}
