//! Ends the processes that a killed program left behind in its home.
//!
//! A power cut ends every process at once, but a kill ends only the program: its Git may write to a snapshot for another
//! moment. Without this, names would appear in a folder while the simulated power cut removes it.

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
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = working_in(home);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("processes {left:?} in {} do not end", home.display());
        }
        for pid in left {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(LOOK);
    }
}

/// A process that has ended and was not waited for has no working folder.
fn working_in(home: &Path) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let folder = std::fs::read_link(entry.path().join("cwd")).ok()?;
            folder.starts_with(home).then_some(pid)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};

    use super::*;

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
