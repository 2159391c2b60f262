//! Cleans up after a command whose result is known: a supervisor that may still be killing processes, and a
//! folder.
//!
//! Without a PID namespace, the supervisor may kill orphans for longer than a caller can wait. So the
//! caller gets the result, and a thread waits for the supervisor. Each command holds its permit for at
//! least two seconds before it reaches this point, so at most six times as many threads wait as commands
//! may run at once.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::operation_dir::OperationDir;
use crate::process::{kill_tree, wait_gone};
use crate::sandbox::HUNT_MAX;
use crate::sandbox::cgroup::Group;

/// How long a disconnected supervisor may take to exit while the caller waits. Most need far less.
const MOMENT: Duration = Duration::from_millis(200);

/// How long the supervisor may kill orphans before it is killed together with them.
const SUPERVISOR_EXIT_MAX: Duration = HUNT_MAX.saturating_add(Duration::from_secs(1));

/// How long a forced kill may take.
const FORCE_MAX: Duration = Duration::from_millis(400);

/// The supervisor of a finished command, its cgroup, and the folder of its operation.
#[derive(Debug)]
pub(crate) struct Cleanup {
    pub(crate) supervisor: Child,
    pub(crate) folder: OperationDir,
    pub(crate) group: Group,
}

impl Cleanup {
    /// Waits briefly for the supervisor to exit. Returns whether it has.
    pub(crate) fn wait_moment(&self) -> bool {
        self.wait(MOMENT)
    }

    /// Removes the folder and the cgroup; on another thread if the supervisor is still killing processes.
    pub(crate) fn finish(self) {
        self.finish_within(SUPERVISOR_EXIT_MAX);
    }

    fn finish_within(self, patience: Duration) {
        if self.wait(Duration::ZERO) {
            return self.remove();
        }
        let pid = Pid::from_child(&self.supervisor);
        let work = move || {
            if self.wait(patience) {
                self.remove();
            } else {
                self.finish_by_force();
            }
        };
        if thread::Builder::new()
            .name("cleanup".to_owned())
            .spawn(work)
            .is_err()
        {
            kill_tree(pid, Instant::now() + FORCE_MAX);
        }
    }

    /// Kills the supervisor and all its descendants at once. For a supervisor that has started no command.
    pub(crate) fn finish_by_force(self) {
        if !self.wait(Duration::ZERO) {
            kill_tree(Pid::from_child(&self.supervisor), Instant::now() + FORCE_MAX);
        }
        self.remove();
    }

    fn wait(&self, time: Duration) -> bool {
        let pidfd = pidfd_open(Pid::from_child(&self.supervisor), PidfdFlags::empty());
        pidfd.is_ok_and(|pidfd| wait_gone(&pidfd, Instant::now() + time))
    }

    fn remove(mut self) {
        // Not `wait`: a process that the kernel cannot kill must not block this thread forever.
        let _status = self.supervisor.try_wait();
        self.group.remove();
        self.folder.remove();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    use wakeful_core::key::{Digest, OperationId};

    use super::*;

    /// A supervisor that is still busy: it exits when it reads a line, and prints that it did.
    fn busy() -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "read line; echo by itself"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("a process")
    }

    fn folder() -> (tempfile::TempDir, OperationDir) {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = OperationDir::of(scratch.path(), OperationId(Digest::of(b"operation")));
        folder.make().expect("made");
        (scratch, folder)
    }

    /// What a process prints until it exits, and how long to wait for it.
    fn output(supervisor: &mut Child) -> mpsc::Receiver<String> {
        let stdout = supervisor.stdout.take().expect("an output");
        let (tell, told) = mpsc::channel();
        thread::spawn(move || tell.send(std::io::read_to_string(stdout).expect("text")));
        told
    }

    fn cleanup(supervisor: Child, folder: OperationDir) -> Cleanup {
        Cleanup {
            supervisor,
            folder,
            group: Group::default(),
        }
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_supervisor_that_is_still_killing_orphans_is_not_killed() {
        let (scratch, folder) = folder();
        let mut supervisor = busy();
        let (mut stdin, said) = (
            supervisor.stdin.take().expect("an input"),
            output(&mut supervisor),
        );
        let cleanup = cleanup(supervisor, folder.clone());
        assert!(!cleanup.wait_moment());
        cleanup.finish_within(LONG);
        assert!(folder.temporary().exists(), "what is hunted may still use it");
        stdin.write_all(b"go on\n").expect("it lives");
        assert_eq!(said.recv_timeout(LONG).as_deref(), Ok("by itself\n"));
        drop(scratch);
    }

    #[test]
    fn a_supervisor_that_takes_too_long_is_killed() {
        let (_scratch, folder) = folder();
        let mut supervisor = busy();
        let (_stdin, said) = (supervisor.stdin.take(), output(&mut supervisor));
        cleanup(supervisor, folder).finish_within(Duration::from_millis(1));
        assert_eq!(said.recv_timeout(LONG).as_deref(), Ok(""));
    }
}
