//! Counts the bytes that each agent's commands wrote to disks within 24 hours.
//!
//! There is one small file per agent in the home, with a sum for each hour. It is read before a command and
//! written after it; a crash in between loses what that one command wrote, which its own limit bounds.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use wakeful_core::id::AgentId;
use wakeful_core::time::Millis;

const HOUR_MS: i64 = 3_600_000;

const HOURS: i64 = 24;

/// Largest file that is read: 24 short JSON entries take far less.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// One lock for the whole process, because commands of one agent may run at the same time.
static WRITING: Mutex<()> = Mutex::new(());

/// The write record of one agent.
#[derive(Debug, Clone)]
pub(crate) struct WriteQuota {
    file: PathBuf,
}

impl WriteQuota {
    pub(crate) fn of(home: &Path, agent: &AgentId) -> Self {
        let file = home.join("written").join(format!("{agent}.json"));
        Self { file }
    }

    /// Bytes written within the last 24 hours.
    pub(crate) fn bytes(&self, now: Millis) -> io::Result<u64> {
        let hours = self.read()?;
        let since = oldest(&hours, now);
        let bytes = hours.range(since..).map(|(_, bytes)| bytes);
        Ok(bytes.fold(0, |sum: u64, bytes| sum.saturating_add(*bytes)))
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Adds the bytes of one command.
    pub(crate) fn add(&self, now: Millis, bytes: u64) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let _alone = WRITING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut hours = self.read()?;
        let newest = hours.last_key_value().map_or(i64::MIN, |(hour, _)| *hour);
        // If the clock was set back, the newest hour is used; an earlier one would be dropped as too old.
        let sum = hours.entry(newest.max(now.0.div_euclid(HOUR_MS))).or_default();
        *sum = sum.saturating_add(bytes);
        let since = oldest(&hours, now);
        let kept = hours.split_off(&since);
        if let Some(folder) = self.file.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let draft = self.file.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&draft)?;
        file.write_all(&serde_json::to_vec(&kept)?)?;
        // An empty record after a power loss could not be parsed, and no command would start.
        file.sync_data()?;
        fs::rename(draft, &self.file)
    }

    /// Reads the sums by hour. An unreadable file is an error: treated as empty, it would grant a new quota
    /// to each agent whose command damages it.
    fn read(&self) -> io::Result<BTreeMap<i64, u64>> {
        let mut json = Vec::new();
        match fs::File::open(&self.file) {
            Ok(file) => file.take(FILE_BYTES_MAX).read_to_end(&mut json)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        Ok(serde_json::from_slice(&json)?)
    }
}

/// The first hour that counts. Setting the clock back does not change it.
fn oldest(hours: &BTreeMap<i64, u64>, now: Millis) -> i64 {
    let newest = hours.last_key_value().map_or(i64::MIN, |(hour, _)| *hour);
    newest.max(now.0.div_euclid(HOUR_MS)) - HOURS + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_count_for_a_day_even_if_the_clock_goes_back() {
        let home = tempfile::tempdir().expect("a folder");
        let agent = AgentId::parse("main").expect("a name");
        let written = WriteQuota::of(home.path(), &agent);
        let at = |hour: i64| Millis(hour * HOUR_MS);
        let bytes = |at| written.bytes(at).expect("a record");
        assert_eq!(bytes(at(100)), 0);
        written.add(at(100), 5).expect("kept");
        written.add(at(110), 7).expect("kept");
        assert_eq!(bytes(at(123)), 12);
        assert_eq!(bytes(at(124)), 7, "the first hour is a day old");
        assert_eq!(bytes(at(50)), 12, "the clock was set back");
        written.add(at(50), 1).expect("kept");
        assert_eq!(bytes(at(50)), 13, "and what is written then counts");
        assert_eq!(bytes(at(200)), 0);
    }

    #[test]
    fn an_unreadable_record_does_not_reset_the_quota() {
        let home = tempfile::tempdir().expect("a folder");
        let written = WriteQuota::of(home.path(), &AgentId::parse("main").expect("a name"));
        written.add(Millis(0), 5).expect("kept");
        fs::write(&written.file, "no json").expect("damaged");
        assert!(written.bytes(Millis(0)).is_err());
        assert!(written.add(Millis(0), 3).is_err(), "the damage stays visible");
        fs::remove_file(&written.file).expect("removed");
        assert_eq!(written.bytes(Millis(0)).expect("begun anew"), 0);
    }
}
