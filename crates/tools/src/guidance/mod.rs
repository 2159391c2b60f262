//! Guidance files (`AGENTS.md` and `CLAUDE.md` of a workspace) are read-only to commands.
//!
//! What they hold goes to the model as guidance of the next run, so a command that writes one would write its own
//! instructions. A mount namespace makes those that exist read-only, but it cannot cover a file that is not there, and not
//! every machine has one. So each call also compares: what stands before a call is recorded in the home, where no command
//! reaches it, and whatever differs afterwards is moved aside and put back.
//!
//! The record outlives a crash. While it holds a copy, guidance is read from the copy and not from the workspace. A file
//! lock says whether a call is under way in any process: the kernel drops it with the process, so a copy that nobody holds
//! is that of a call that was cut off, and is put back before anything else happens there.

mod snapshot;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wakeful_core::key::Digest;
use wakeful_core::prompt::GuidanceKind;

use self::snapshot::{Baseline, RestoreResult};

/// The files of a workspace that are read as guidance, first the one that counts first.
pub const KINDS: [GuidanceKind; 2] = [GuidanceKind::AgentsMd, GuidanceKind::ClaudeMd];

/// The folder of the records, in the home.
const FOLDER: &str = "guidance";

/// Largest record: two copies as lists of numbers, and their paths.
const RECORD_BYTES_MAX: u64 = 1024 * 1024;

/// Most workspaces of a home whose records are looked at to find those inside another one.
const RECORDS_MAX: usize = 4_096;

/// How often a lock is tried that a reader holds for a moment, and how long each try waits.
const TRIES_MAX: u32 = 2_000;
const TRY_WAIT: Duration = Duration::from_millis(1);

/// The same at the end of a call, where others under way are as likely as a reader.
const LEAVE_TRIES_MAX: u32 = 5;

/// What the home keeps of one workspace.
#[derive(Debug, Serialize, Deserialize)]
struct GuidanceRecord {
    workspace: PathBuf,
    /// What stood there before the calls that are under way, or that were cut off; none where there are none.
    baseline: Option<Baseline>,
}

/// The file of a record. Whoever changes it holds its exclusive lock; each call under way holds a shared one.
#[derive(Debug)]
struct GuidanceRecordFile {
    workspace: PathBuf,
    file: File,
}

impl GuidanceRecordFile {
    fn path(home: &Path, workspace: &Path) -> PathBuf {
        let name = Digest::of(workspace.as_os_str().as_bytes());
        home.join(FOLDER).join(format!("{name}.json"))
    }

    /// Opens the record of a workspace, and makes it where there is none.
    fn open(home: &Path, workspace: &Path) -> io::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(home.join(FOLDER))?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(Self::path(home, workspace))?;
        Ok(Self {
            workspace: workspace.to_owned(),
            file,
        })
    }

    /// What is recorded. A record that cannot be read was cut off before its call began, or after its end.
    fn read(&mut self) -> io::Result<Option<Baseline>> {
        self.file.rewind()?;
        let mut bytes = Vec::new();
        (&self.file).take(RECORD_BYTES_MAX).read_to_end(&mut bytes)?;
        let record: Option<GuidanceRecord> = serde_json::from_slice(&bytes).ok();
        Ok(record.and_then(|record| record.baseline))
    }

    fn write(&mut self, baseline: Option<Baseline>) -> io::Result<()> {
        let workspace = self.workspace.clone();
        let bytes = serde_json::to_vec(&GuidanceRecord { workspace, baseline })?;
        self.file.rewind()?;
        self.file.write_all(&bytes)?;
        self.file
            .set_len(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
        // Before the command begins: what it writes may survive a loss of power, and this must then, too.
        self.file.sync_data()
    }

    /// Whether nobody else holds the lock, and we do now.
    fn try_exclusive(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Puts back what a call left that was cut off. With the exclusive lock.
    fn recover(&mut self) -> io::Result<RestoreResult> {
        let Some(baseline) = self.read()? else {
            return Ok(RestoreResult::default());
        };
        let restored = baseline.restore(&self.workspace);
        if !restored.is_incomplete {
            self.write(None)?;
        }
        Ok(restored)
    }

    /// Joins the calls that are under way; the first records what stands there.
    fn join(&mut self) -> io::Result<Vec<String>> {
        for _ in 0..TRIES_MAX {
            if self.try_exclusive()? {
                let restored = self.recover()?;
                if !restored.is_incomplete {
                    self.write(Some(Baseline::of(&self.workspace)))?;
                }
                self.file.lock_shared()?;
                // The kernel lets go of one lock before it takes the other: another command's end may have cleared the
                // record in between.
                if restored.is_incomplete || self.read()?.is_some() {
                    return Ok(restored.findings);
                }
                self.file.unlock()?;
                continue;
            }
            self.file.lock_shared()?;
            if self.read()?.is_some() {
                return Ok(Vec::new());
            }
            // A reader holds it for a moment.
            self.file.unlock()?;
            thread::sleep(TRY_WAIT);
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Leaves the calls that are under way; the last clears the record.
    fn leave(&mut self) -> io::Result<Vec<String>> {
        self.file.unlock()?;
        for _ in 0..LEAVE_TRIES_MAX {
            if self.try_exclusive()? {
                let restored = self.recover();
                self.file.unlock()?;
                return Ok(restored?.findings);
            }
            // A reader holds it for a moment, or others are under way.
            thread::sleep(TRY_WAIT);
        }
        // The last of the others clears the record. If that has happened by now, it also put everything back.
        let baseline = self.read()?;
        let restored = baseline.map(|baseline| baseline.restore(&self.workspace));
        Ok(restored.unwrap_or_default().findings)
    }
}

/// Keeps the guidance files of a workspace as they are while a command runs.
#[derive(Debug)]
pub(crate) struct GuidanceGuard {
    records: Vec<GuidanceRecordFile>,
    findings: Vec<String>,
}

impl GuidanceGuard {
    /// Records what stands in a workspace, and in those of others that lie inside it.
    pub(crate) fn take(home: &Path, workspace: &Path) -> io::Result<Self> {
        let mut guard = Self {
            records: Vec::new(),
            findings: Vec::new(),
        };
        let inside = workspaces_inside(home, workspace)?;
        for root in [workspace.to_owned()].into_iter().chain(inside) {
            let joined = GuidanceRecordFile::open(home, &root).and_then(|mut record| {
                let findings = record.join()?;
                Ok((record, findings))
            });
            match joined {
                Ok((record, findings)) => {
                    guard.records.push(record);
                    guard.findings.extend(findings);
                }
                Err(error) => {
                    guard.release();
                    return Err(error);
                }
            }
        }
        Ok(guard)
    }

    /// The files that a mount namespace can make read-only: those that exist, and those that links lead to.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let roots = self.records.iter().map(|record| &record.workspace);
        let paths = roots.flat_map(|root| KINDS.map(|kind| root.join(kind.file_name())));
        let real = paths.filter_map(|path| path.canonicalize().ok());
        real.filter(|path| path.is_file()).collect()
    }

    /// Puts back what the command changed, and says what that was.
    pub(crate) fn release(mut self) -> Vec<String> {
        for record in &mut self.records {
            let left = record.leave();
            self.findings.extend(left.unwrap_or_else(|error| {
                let path = record.workspace.display();
                vec![format!(
                    "the guidance files of {path} could not be checked: {error}"
                )]
            }));
        }
        self.findings
    }
}

/// The known workspaces that lie inside another one: whoever may write to the one may write to them.
fn workspaces_inside(home: &Path, workspace: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(home.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut inside = Vec::new();
    for (nth, entry) in entries.enumerate() {
        if nth >= RECORDS_MAX {
            return Err(io::Error::other(format!(
                "the home has records of more than {RECORDS_MAX} workspaces"
            )));
        }
        let file = File::open(entry?.path())?;
        let record: Result<GuidanceRecord, _> = serde_json::from_reader(file.take(RECORD_BYTES_MAX));
        let path = record.ok().map(|record| record.workspace);
        inside.extend(path.filter(|path| path != workspace && path.starts_with(workspace) && path.is_dir()));
    }
    inside.sort();
    Ok(inside)
}

/// Where the guidance of a workspace is to be read.
#[derive(Debug)]
pub enum GuidanceLocation {
    /// From its files. No command changes them while this is held.
    Files(GuidanceLock),
    /// From here, in the order of [`KINDS`]: commands are under way, or one was cut off. None where nothing was read.
    Kept(Vec<Option<Vec<u8>>>),
}

/// Keeps commands from beginning while guidance is read.
#[derive(Debug)]
pub struct GuidanceLock {
    _file: Option<File>,
}

/// Where the guidance of a workspace is to be read. Makes and changes nothing.
#[must_use]
pub fn reading(home: &Path, workspace: &Path) -> GuidanceLocation {
    let opened = File::open(GuidanceRecordFile::path(home, workspace)).ok();
    // Where there is no record, no command ever ran there.
    let held = opened.filter(|file| file.lock_shared().is_ok());
    let mut record = held.map(|file| GuidanceRecordFile {
        workspace: workspace.to_owned(),
        file,
    });
    let baseline = record.as_mut().and_then(|record| record.read().ok().flatten());
    match baseline {
        Some(baseline) => GuidanceLocation::Kept(baseline.texts()),
        None => GuidanceLocation::Files(GuidanceLock {
            _file: record.map(|record| record.file),
        }),
    }
}

/// Makes a workspace known, and puts back what a command changed there that was cut off by a crash. Says what that was.
pub fn settle(home: &Path, workspace: &Path) -> io::Result<Vec<String>> {
    let mut record = GuidanceRecordFile::open(home, workspace)?;
    if !record.try_exclusive()? {
        return Ok(Vec::new());
    }
    let is_new = record.file.metadata()?.len() == 0;
    let restored = record.recover()?;
    if is_new {
        record.write(None)?;
    }
    Ok(restored.findings)
}

#[cfg(test)]
mod tests;
