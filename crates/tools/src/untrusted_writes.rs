//! Records when actions with untrusted data changed a folder. A file that was changed during such an action is an
//! untrusted source for later runs, until a person changes it or reviews the folder.
//!
//! The kernel sets the time of the last change, and no program can choose it: `touch -d`, `cp -p`, `tar -x` and
//! renaming set it to now. So two times per action tell which files it may have written, by any means; nothing has
//! to walk through the folder.

mod listing;
mod period;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use wakeful_core::key::{Digest, RunKey};
use wakeful_ports::tool::ToolRequest;

pub use self::listing::{FILES_LISTED_MAX, UntrustedFile, UntrustedFiles};
use self::period::{Period, RunningProcess, bound};

/// Name of the folder of records in the home.
const FOLDER: &str = "untrusted-writes";

/// The clock of file systems is a little behind the one that programs read: by one tick of the kernel.
const CLOCK_TICK_MS: u64 = 20;

/// Largest record that is read: the most periods, with ids.
const FILE_BYTES_MAX: u64 = 512 * 1024;

/// File systems of this machine whose times of the last change are those of the kernel, for every way to write.
/// On others, such as `tmpfs`, a write through a mapping leaves the time as it is, or a server sets it.
const RELIABLE_FILE_SYSTEMS: [u64; 7] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0xF2F5_2010, // F2FS
    0x2FC1_2FC1, // ZFS
    0xCA45_1A4E, // bcachefs
    0x794C_7630, // overlayfs, which has the times of one of these
];

/// Whether a command could move a folder into the workspace as it is. The files in it keep their times, so the time
/// of the folder counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderMoves {
    /// Every writable folder is a mount of its own, and nothing can be moved between mounts.
    Impossible,
    /// Without a mount namespace.
    Possible,
}

/// The record of one folder, in the home, where no command can reach it.
#[derive(Debug, Clone)]
pub struct UntrustedWrites {
    records: PathBuf,
    folder: PathBuf,
    file: PathBuf,
}

/// What the record holds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// The folder, for people who look at the file.
    folder: String,
    periods: Vec<Period>,
}

/// The period of an action that is not over.
#[derive(Debug)]
pub(crate) struct OpenPeriod {
    id: String,
    from_ms: u64,
    began: Instant,
}

/// What becomes of the period of an action that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeriodEnd {
    /// What was written in it is untrusted.
    Kept,
    /// The action received nothing from outside.
    Dropped,
}

/// Whether the end of an action decides if its period counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeriodStart {
    Certain,
    /// It counts once the action has reached a host, or if its process dies before its end.
    Tentative,
}

impl UntrustedWrites {
    #[must_use]
    pub fn of(home: &Path, folder: &Path) -> Self {
        let name = Digest::of(folder.as_os_str().as_encoded_bytes());
        let records = home.join(FOLDER);
        Self {
            file: records.join(format!("{name}.json")),
            records,
            folder: folder.to_owned(),
        }
    }

    /// Records that an action begins. It is durable before the action, so that no crash loses it.
    pub(crate) fn begin(&self, act: &ToolRequest, start: PeriodStart) -> io::Result<OpenPeriod> {
        self.open(Period::new(act, 0), start)
    }

    /// Records that a person restores files of a run, if any file of the folder may be untrusted: the restored ones have
    /// new times, and would count as the person's.
    pub(crate) fn begin_undo(&self, run: RunKey) -> io::Result<Option<OpenPeriod>> {
        match self.is_any() {
            true => self.open(Period::of_undo(run), PeriodStart::Certain).map(Some),
            false => Ok(None),
        }
    }

    fn open(&self, period: Period, start: PeriodStart) -> io::Result<OpenPeriod> {
        let open = OpenPeriod {
            id: period.operation.clone(),
            from_ms: now_ms().saturating_sub(CLOCK_TICK_MS),
            began: monotonic(),
        };
        let period = Period {
            from_ms: open.from_ms,
            process: Some(RunningProcess::own()),
            is_tentative: start == PeriodStart::Tentative,
            ..period
        };
        self.change(|periods| periods.push(period))?;
        Ok(open)
    }

    /// Records that an action ended. After an error, everything that is written later is untrusted.
    pub(crate) fn end(&self, open: &OpenPeriod, end: PeriodEnd) -> io::Result<()> {
        let (from_ms, until_ms) = open.bounds();
        self.change(|periods| match end {
            PeriodEnd::Dropped => periods.retain(|period| !period.is_open_as(&open.id)),
            PeriodEnd::Kept => {
                for period in periods.iter_mut().filter(|period| period.is_open_as(&open.id)) {
                    period.from_ms = period.from_ms.min(from_ms);
                    period.close(until_ms);
                }
            }
        })
    }

    /// Records an action that turned out to have received something from outside.
    pub(crate) fn add(&self, act: &ToolRequest, since: Instant) -> io::Result<()> {
        let open = OpenPeriod {
            id: String::new(),
            from_ms: u64::MAX,
            began: since,
        };
        let (from_ms, until_ms) = open.bounds();
        self.change(|periods| {
            let mut period = Period::new(act, from_ms);
            period.close(until_ms);
            periods.push(period);
        })
    }

    /// The number of actions with untrusted data that changed the folder; several old ones count as one.
    #[must_use]
    pub fn actions(&self) -> usize {
        self.read().map_or(1, |record| {
            record.periods.iter().filter(|one| one.counts()).count()
        })
    }

    /// Whether any action with untrusted data has changed the folder. An unreadable record counts.
    pub(crate) fn is_any(&self) -> bool {
        self.read()
            .map_or(true, |record| record.periods.iter().any(Period::counts))
    }

    /// Whether such an action may have written a file.
    pub(crate) fn may_have_written(&self, path: &Path, moves: FolderMoves) -> bool {
        let Ok(record) = self.read() else {
            return true;
        };
        if record.periods.is_empty() {
            return false;
        }
        let is_in_period = |path: &Path| {
            fs::metadata(path).is_ok_and(|found| {
                let at_ms = changed_ms(&found);
                record.periods.iter().any(|period| period.contains(at_ms))
            })
        };
        // A file that cannot be examined has no content that could be read.
        let Ok(found) = path.canonicalize() else {
            return false;
        };
        let mut above = found.ancestors().skip(1).take_while(|above| {
            above.starts_with(&self.folder) && *above != self.folder && moves == FolderMoves::Possible
        });
        is_in_period(&found) || !has_reliable_times(&found) || above.any(is_in_period)
    }

    /// Forgets the periods that ended until a time, because a person has reviewed the folder. Returns how many stay.
    pub fn review(&self, until_ms: u64) -> io::Result<usize> {
        let mut left = 0;
        self.change(|periods| {
            periods.retain(|period| period.until_ms.is_none_or(|until| until > until_ms));
            left = periods.len();
        })?;
        Ok(left)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Period>)) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.records)?;
        // Actions of several agents and processes may share a folder.
        let mut options = fs::OpenOptions::new();
        let lock = options.write(true).create(true).truncate(false).mode(0o600);
        let lock = lock.open(self.records.join("lock"))?;
        lock.lock()?;
        let mut record = self.read()?;
        record.folder = self.folder.to_string_lossy().into_owned();
        let now = now_ms().saturating_add(CLOCK_TICK_MS);
        // The commands of a process end with it.
        let orphans = record.periods.iter_mut().filter(|period| period.is_orphan());
        orphans.for_each(|period| period.close(now));
        change(&mut record.periods);
        bound(&mut record.periods);
        let draft = self.file.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&draft)?;
        file.write_all(&serde_json::to_vec(&record)?)?;
        file.sync_data()?;
        fs::rename(draft, &self.file)
    }

    fn read(&self) -> io::Result<Record> {
        let mut json = Vec::new();
        match fs::File::open(&self.file) {
            Ok(file) => file.take(FILE_BYTES_MAX).read_to_end(&mut json)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Record::default()),
            Err(error) => return Err(error),
        };
        Ok(serde_json::from_slice(&json)?)
    }
}

impl OpenPeriod {
    /// The first and the last time of a file that the action wrote, also if the clock was set meanwhile.
    fn bounds(&self) -> (u64, u64) {
        let elapsed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let now = now_ms();
        let from_ms = now.saturating_sub(elapsed).saturating_sub(CLOCK_TICK_MS);
        let until_ms = match self.from_ms {
            u64::MAX => now,
            from => now.max(from.saturating_add(elapsed).saturating_add(CLOCK_TICK_MS)),
        };
        (from_ms.min(self.from_ms), until_ms.saturating_add(CLOCK_TICK_MS))
    }
}

/// The records of several folders that one action writes to.
#[derive(Debug)]
pub(crate) struct OpenPeriods(Vec<(UntrustedWrites, OpenPeriod)>);

impl OpenPeriods {
    pub(crate) fn begin(
        folders: &BTreeSet<PathBuf>,
        home: &Path,
        act: &ToolRequest,
        start: PeriodStart,
    ) -> io::Result<Self> {
        let writes = folders.iter().map(|folder| UntrustedWrites::of(home, folder));
        let begun = writes.map(|writes| {
            let open = writes.begin(act, start)?;
            Ok((writes, open))
        });
        begun.collect::<io::Result<Vec<_>>>().map(Self)
    }

    /// If this fails, a period stays open, and what is written later counts as untrusted.
    pub(crate) fn end(self, end: PeriodEnd) {
        for (writes, open) in self.0 {
            let _open = writes.end(&open, end);
        }
    }
}

/// The time of the last change, in milliseconds.
fn changed_ms(found: &fs::Metadata) -> u64 {
    let seconds = u64::try_from(found.ctime()).unwrap_or_default();
    let rest = u64::try_from(found.ctime_nsec()).unwrap_or_default() / 1_000_000;
    seconds.saturating_mul(1_000).saturating_add(rest)
}

fn has_reliable_times(path: &Path) -> bool {
    let kind = rustix::fs::statfs(path).ok();
    let kind = kind.and_then(|found| u64::try_from(found.f_type).ok());
    kind.is_some_and(|kind| RELIABLE_FILE_SYSTEMS.contains(&kind))
}

/// How long an action takes is measured by the clock that is never set.
pub(crate) fn monotonic() -> Instant {
    Instant::now()
}

/// The time by the clock that file systems use.
#[expect(
    clippy::disallowed_methods,
    reason = "it is compared with the times of files, which no test can set"
)]
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
