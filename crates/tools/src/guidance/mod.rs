//! Makes guidance files (`AGENTS.md` and `CLAUDE.md` of a workspace) read-only for commands.
//!
//! Their contents are sent to the model as guidance of the next run, so a command that writes one would
//! write its own instructions. A mount namespace makes existing files read-only, but it cannot cover a
//! missing file, and not every machine supports one. So each call also compares: it records the files in
//! the home, which commands cannot reach, and afterwards renames every changed file and restores the
//! recorded one.
//!
//! The record survives a crash. While it holds a copy, guidance is read from the copy and not from the
//! workspace. A file lock shows whether any process has a call in progress: the kernel releases the lock
//! when the process exits, so a copy without a lock belongs to an interrupted call and is restored before
//! anything else happens in that workspace.

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

/// The files of a workspace that are read as guidance, in order of precedence.
pub const KINDS: [GuidanceKind; 2] = [GuidanceKind::AgentsMd, GuidanceKind::ClaudeMd];

/// The folder of the records, inside the home.
const FOLDER: &str = "guidance";

/// Largest record: two copies as lists of numbers, and their paths.
const RECORD_BYTES_MAX: u64 = 1024 * 1024;

/// Most records of a home that are searched for workspaces inside another one.
const RECORDS_MAX: usize = 4_096;

/// How often to try a lock that a reader holds briefly, and the wait between attempts.
const TRIES_MAX: u32 = 2_000;
const TRY_WAIT: Duration = Duration::from_millis(1);

/// The same at the end of a call, where another call in progress is as likely as a reader.
const LEAVE_TRIES_MAX: u32 = 5;

/// The stored record of one workspace.
#[derive(Debug, Serialize, Deserialize)]
struct GuidanceRecord {
    workspace: PathBuf,
    /// The files before the calls that are in progress or were interrupted; none if there are no such
    /// calls.
    baseline: Option<Baseline>,
}

/// The file of a record. A writer holds its exclusive lock; each call in progress holds a shared lock.
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

    /// Opens the record of a workspace, and creates it if it does not exist.
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

    /// Reads the baseline. A record that cannot be parsed was interrupted before its call started or after
    /// its call ended.
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
        // Synced before the command starts: the command's writes may survive a power loss, so the record
        // must survive it too.
        self.file.sync_data()
    }

    /// Tries to take the exclusive lock. Returns false if another process holds it.
    fn try_exclusive(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Restores what an interrupted call changed. The caller holds the exclusive lock.
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

    /// Joins the calls in progress; the first one records the current files.
    fn join(&mut self) -> io::Result<Vec<String>> {
        for _ in 0..TRIES_MAX {
            if self.try_exclusive()? {
                let restored = self.recover()?;
                if !restored.is_incomplete {
                    self.write(Some(Baseline::of(&self.workspace)))?;
                }
                self.file.lock_shared()?;
                // The kernel releases one lock before it takes the other, so the end of another command may
                // have cleared the record in between.
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
            // A reader holds the lock briefly.
            self.file.unlock()?;
            thread::sleep(TRY_WAIT);
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Leaves the calls in progress; the last one clears the record.
    fn leave(&mut self) -> io::Result<Vec<String>> {
        self.file.unlock()?;
        for _ in 0..LEAVE_TRIES_MAX {
            if self.try_exclusive()? {
                let restored = self.recover();
                self.file.unlock()?;
                return Ok(restored?.findings);
            }
            // A reader holds the lock briefly, or other calls are in progress.
            thread::sleep(TRY_WAIT);
        }
        // The last of the other calls clears the record. If that has already happened, it also restored
        // everything.
        let baseline = self.read()?;
        let restored = baseline.map(|baseline| baseline.restore(&self.workspace));
        Ok(restored.unwrap_or_default().findings)
    }
}

/// Keeps the guidance files of a workspace unchanged while a command runs.
#[derive(Debug)]
pub(crate) struct GuidanceGuard {
    records: Vec<GuidanceRecordFile>,
    findings: Vec<String>,
}

impl GuidanceGuard {
    /// Records the guidance files of a workspace and of other workspaces inside it.
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

    /// The files that a mount namespace can make read-only: existing files, and the targets of links.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let roots = self.records.iter().map(|record| &record.workspace);
        let paths = roots.flat_map(|root| KINDS.map(|kind| root.join(kind.file_name())));
        let real = paths.filter_map(|path| path.canonicalize().ok());
        real.filter(|path| path.is_file()).collect()
    }

    /// Restores what the command changed, and returns a description of each change.
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

/// The known workspaces inside another one: a command that can write to the outer one can write to them.
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

/// Where to read the guidance of a workspace.
#[derive(Debug)]
pub enum GuidanceLocation {
    /// From the files. No command changes them while this lock is held.
    Files(GuidanceLock),
    /// From these copies, in the order of [`KINDS`], because commands are in progress or one was
    /// interrupted. None where no file was read.
    Kept(Vec<Option<Vec<u8>>>),
}

/// Prevents commands from starting while guidance is read.
#[derive(Debug)]
pub struct GuidanceLock {
    _file: Option<File>,
}

/// Determines where to read the guidance of a workspace. Creates and changes nothing.
#[must_use]
pub fn reading(home: &Path, workspace: &Path) -> GuidanceLocation {
    let opened = File::open(GuidanceRecordFile::path(home, workspace)).ok();
    // Without a record, no command has run in the workspace.
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

/// Registers a workspace, restores what a command changed before a crash interrupted it, and returns a
/// description of each change.
pub fn register_and_restore(home: &Path, workspace: &Path) -> io::Result<Vec<String>> {
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
