//! Ends the processes that a killed program left behind in its home.
//!
//! A power cut ends every process at once, but a kill ends only the program: its Git may write to a snapshot for another
//! moment. Without this, names would appear in a folder while the simulated power cut removes it.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// Maximum time until every process has ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Polling interval.
const LOOK: Duration = Duration::from_millis(1);

/// Kills every process whose working folder is in `home`, and waits until none is left.
pub(crate) fn end(home: &Path) -> Result<()> {
    end_all(|process| std::fs::read_link(process.join("cwd")).is_ok_and(|folder| folder.starts_with(home)))
}

/// Kills every copy of a program that has ended. Under libfiu a copy can wait forever between the fork and the start
/// of its own program, because libfiu starts a thread there. It would keep the address of the server.
pub(crate) fn end_copies(address: SocketAddr) -> Result<()> {
    let arguments = format!("\0serve\0--listen\0{address}\0");
    end_all(|process| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).ends_with(&arguments)
    })
}

/// Kills the processes whose folder in `/proc` fulfils a condition, and waits until none is left.
fn end_all(is_meant: impl Fn(&Path) -> bool) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = processes(&is_meant);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("processes {left:?} do not end");
        }
        for pid in left {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(LOOK);
    }
}

/// A process that has ended and was not waited for has neither a working folder nor arguments.
fn processes(is_meant: impl Fn(&Path) -> bool) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            is_meant(&entry.path()).then_some(pid)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_copy_of_an_ended_server_is_killed_and_others_are_not() -> Result<()> {
        let waiting = |address: &str| {
            let arguments = ["-c", "read line", "serve", "--listen", address];
            Command::new("sh").args(arguments).stdin(Stdio::piped()).spawn()
        };
        let (mut copy, mut other) = (waiting("127.0.0.1:1")?, waiting("127.0.0.1:11")?);
        end_copies("127.0.0.1:1".parse()?)?;
        assert_eq!(copy.wait()?.signal(), Some(9));
        assert_eq!(other.try_wait()?, None);
        other.wait()?;
        Ok(())
    }

    #[test]
    fn a_process_left_in_the_home_has_ended_before_the_cut() -> Result<()> {
        let home = tempfile::tempdir()?;
        let mut orphan = Command::new("cat")
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .spawn()?;
        end(home.path())?;
        // Without the kill it would end with a status, because waiting closes its input.
        assert_eq!(orphan.wait()?.signal(), Some(9));
        Ok(())
    }
}
