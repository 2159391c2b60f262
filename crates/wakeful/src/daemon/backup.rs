//! Daily backups: the daemon makes one every day on which something changed, and removes the oldest.
//!
//! A child process runs `wakeful backup`. SQLite keeps file locks per process, so reading the databases again
//! in this process could release the locks of its own connections; and a child can be ended at any time.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use wakeful_api::{BackupMode, BackupProblem, BackupStatus};
use wakeful_core::backup::{
    BackupLimit, RETRY_AFTER_MS, StoredBackup, file_name, made_at, make_room, newest, next_due,
    sort_oldest_first,
};
use wakeful_core::key::derived_hash;
use wakeful_core::problem::Problem;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::journal::Journal as _;
use wakeful_runtime::Halt;
use wakeful_runtime::retention::{CommitCounter, newest_event};
use wakeful_tools::remove_tree::{self, RemovalLimits};

use super::files::RunDir;
use crate::cli::backup::unwritable;
use crate::config::Backup;
use crate::denied_paths;
use crate::failure::{DISK_FULL, Failure};
use crate::home::Home;
use crate::open_home::OpenHome;
use crate::system::RealClock;

/// Maximum duration of a backup. A disk that is slower has failed.
const BACKUP_TIME_MAX: Duration = Duration::from_secs(6 * 3_600);

/// Maximum number of files in the folder that are looked at: more than can be kept.
const FILES_MAX: usize = 20_000;

/// The subfolder of a backup in progress. Its content is removed before the next backup.
const PARTIAL: &str = ".partial";

/// The folder of a home's daily backups.
#[derive(Debug, Clone)]
pub(crate) struct BackupFolder {
    home: PathBuf,
    path: PathBuf,
    mode: BackupMode,
}

impl BackupFolder {
    /// The folder by the settings: in the home, or a subfolder per home in the configured folder, so that
    /// two homes never remove each other's backups.
    pub(crate) fn of(home: &Path, settings: &Backup) -> Self {
        let path = match &settings.folder {
            None => home.join("backups"),
            Some(folder) => {
                let name = derived_hash("backup.home", &[&home.to_string_lossy()]).to_string();
                Path::new(folder).join(format!("home-{}", name.get(..8).unwrap_or(&name)))
            }
        };
        Self {
            home: home.to_owned(),
            path,
            mode: match settings.daily {
                true => BackupMode::Daily,
                false => BackupMode::Off,
            },
        }
    }

    /// The same folder for a home whose data is on a database server.
    pub(crate) fn with_database_server(self) -> Self {
        Self {
            mode: BackupMode::DatabaseServer,
            ..self
        }
    }

    /// What clients see. A folder that cannot be read counts as empty.
    pub(crate) fn status(&self) -> BackupStatus {
        let now = RealClock::new().now();
        let stored = self.stored(now).unwrap_or_default();
        BackupStatus {
            mode: self.mode,
            folder: self.path.display().to_string(),
            count: stored.len() as u64,
            bytes: stored.iter().map(|backup| backup.bytes).sum(),
            newest_at: newest(&stored, now).map(Millis::rfc3339),
            problem: RunDir::of(&self.home).backup_failure(),
        }
    }

    /// The daily backups, the oldest first.
    fn stored(&self, now: Millis) -> io::Result<Vec<StoredBackup>> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut stored = Vec::new();
        for entry in entries.take(FILES_MAX) {
            let entry = entry?;
            let found = entry.metadata();
            if let (Some(made_at), Ok(found)) = (entry.file_name().to_str().and_then(made_at), found)
                && found.is_file()
            {
                let bytes = found.len();
                stored.push(StoredBackup { made_at, bytes });
            }
        }
        sort_oldest_first(&mut stored, now);
        Ok(stored)
    }

    fn partial(&self) -> PathBuf {
        self.path.join(PARTIAL)
    }

    /// Removes what an interrupted backup has left.
    fn clear(&self) {
        let _left = remove_tree::remove(&self.partial(), RemovalLimits::EXTENDED);
    }

    /// Creates the folder and makes room for a backup, if necessary by removing the oldest ones.
    fn prepare(&self, now: Millis) -> Result<PathBuf, Failure> {
        self.clear();
        let partial = self.partial();
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&partial);
        made.map_err(|error| unwritable(&partial, &error))?;
        // The home is denied to commands anyway; another folder is not, and it holds copies of the databases.
        if !self.path.starts_with(&self.home) {
            denied_paths::remember(&self.path);
        }
        let needed = bytes_needed(&self.home);
        let stored = self.stored(now).map_err(|error| unwritable(&self.path, &error))?;
        let disk = rustix::fs::statvfs(&self.path).map_err(|error| unwritable(&self.path, &error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let surplus = make_room(&stored, needed, free).ok_or_else(|| no_room(&self.path, needed, free))?;
        self.remove(stored.get(..surplus).unwrap_or_default())?;
        Ok(partial.join("backup.tar"))
    }

    /// Gives a finished backup its name, and removes the surplus.
    fn publish(&self, draft: &Path, now: Millis, limit: BackupLimit) -> Result<(), Failure> {
        let target = self.path.join(file_name(now));
        let moved = fs::rename(draft, &target).and_then(|()| fs::File::open(&self.path)?.sync_all());
        moved.map_err(|error| unwritable(&target, &error))?;
        self.clear();
        let stored = self.stored(now).map_err(|error| unwritable(&self.path, &error))?;
        let surplus = limit.surplus(&stored);
        self.remove(stored.get(..surplus).unwrap_or_default())
    }

    fn remove(&self, backups: &[StoredBackup]) -> Result<(), Failure> {
        for backup in backups {
            let path = self.path.join(file_name(backup.made_at));
            fs::remove_file(&path).map_err(|error| unwritable(&path, &error))?;
            tracing::info!(file = %path.display(), "an old daily backup was removed");
        }
        Ok(())
    }
}

/// Space that a backup needs while it is made: a copy of each database and the file itself.
fn bytes_needed(home: &Path) -> u64 {
    let databases = Home::DATABASES.into_iter().flat_map(|name| {
        let wal = format!("{name}-wal");
        [home.join(name), home.join(wal)]
    });
    let size = |path: &Path| fs::symlink_metadata(path).map_or(0, |found| found.len());
    let databases: u64 = databases.map(|path| size(&path)).sum();
    let folders = fs::read_dir(home.join("blobs")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let blobs: u64 = files.map(|file| size(&file.path())).sum();
    databases.saturating_mul(2).saturating_add(blobs)
}

fn no_room(folder: &Path, needed: u64, free: u64) -> Failure {
    let message = format!(
        "the daily backup needs {} MiB in {}, and only {} MiB are free",
        (needed >> 20) + 1,
        folder.display(),
        free >> 20
    );
    let hint =
        "free some space (1 GiB stays free), or choose another disk: `wakeful config set backup.folder DIR`";
    Failure::new(DISK_FULL, message, hint)
}

/// Makes daily backups while a daemon runs.
pub(super) struct DailyBackup<'a> {
    pub(super) place: &'a OpenHome,
    pub(super) folder: BackupFolder,
    pub(super) limit: BackupLimit,
    /// Signals commits of runs.
    pub(super) commits: &'a CommitCounter,
}

impl DailyBackup<'_> {
    /// Makes a backup whenever one is due and something changed, until the process halts. An unchanged home
    /// has no timer.
    pub(super) async fn run(&self, halt: &Halt) {
        if self.folder.mode != BackupMode::Daily {
            return;
        }
        self.folder.clear();
        let clock = RealClock::new();
        let mut journal = self.place.journal.subscribe_commits();
        let mut due = self.next_due(clock.now());
        while !halt.is_set() {
            let wait_ms = due.since(clock.now());
            // From here on every commit signals, so that none is missed during the check.
            self.commits.suspend_until(Millis(0));
            if !self.has_changed().await {
                tokio::select! {
                    biased;
                    () = halt.wait_until_set() => return,
                    () = self.commits.wait_until_due() => {}
                    () = journal.next() => {}
                }
            } else if wait_ms > 0 {
                self.commits.suspend_until(due);
                tokio::select! {
                    biased;
                    () = halt.wait_until_set() => return,
                    () = clock.sleep(wait_ms) => {}
                    // The timer stands still while the machine sleeps.
                    () = self.commits.wait_until_due() => {}
                }
            } else {
                tokio::select! {
                    biased;
                    // Ends the child process.
                    () = halt.wait_until_set() => return,
                    next = self.attempt(clock.now()) => due = next,
                }
            }
        }
    }

    fn next_due(&self, now: Millis) -> Millis {
        let created_at = self.place.home.created_at().unwrap_or(Millis(0));
        let stored = self.folder.stored(now).unwrap_or_default();
        next_due(&stored, created_at, now)
    }

    /// Whether something changed since the newest backup. If it cannot be determined, the backup is made,
    /// which reports the reason.
    async fn has_changed(&self) -> bool {
        let now = RealClock::new().now();
        let newest = newest(&self.folder.stored(now).unwrap_or_default(), now).unwrap_or(Millis::MIN);
        let event = self.place.store.read(newest_event).await;
        if event.map_or(true, |at| at.is_some_and(|at| at >= newest)) {
            return true;
        }
        let journal = &self.place.journal;
        let change = match journal.last_seq().await {
            Ok(seq) => journal.changes(seq.saturating_sub(1), 1).await,
            Err(error) => Err(error),
        };
        change.map_or(true, |changes| changes.iter().any(|change| change.at >= newest))
    }

    /// Makes a backup. Returns when the next one is due.
    async fn attempt(&self, now: Millis) -> Millis {
        let files = RunDir::of(self.place.home.root());
        match self.make(now).await {
            Ok(()) => {
                files.forget_backup_failure();
                tracing::info!(folder = %self.folder.path.display(), "the daily backup was made");
                self.next_due(RealClock::new().now())
            }
            Err(failure) => {
                tracing::warn!(error = %failure, "the daily backup failed");
                let occurred_at = now.rfc3339();
                let problem = Problem::from(failure);
                // If it cannot be noted either, the log has it.
                let _unwritable = files.note_backup_failure(&BackupProblem { occurred_at, problem });
                Millis(now.0.saturating_add(RETRY_AFTER_MS))
            }
        }
    }

    async fn make(&self, now: Millis) -> Result<(), Failure> {
        let (folder, limit) = (self.folder.clone(), self.limit);
        let draft = in_background(move || folder.prepare(now)).await?;
        copy(&self.folder.home, &draft).await?;
        let folder = self.folder.clone();
        in_background(move || folder.publish(&draft, now, limit)).await
    }
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(interrupted(&error.to_string())))
}

/// Runs `wakeful backup`. The child ends with this future.
async fn copy(home: &Path, draft: &Path) -> Result<(), Failure> {
    // Stays valid when an upgrade replaces the program while the daemon runs.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg("backup")
        .arg(draft)
        .arg("--home")
        .arg(home)
        .arg("--json");
    command.stdin(Stdio::null()).kill_on_drop(true);
    let ran = tokio::time::timeout(BACKUP_TIME_MAX, command.output()).await;
    let output = match ran {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(interrupted(&error.to_string())),
        Err(_) => return Err(interrupted("it took more than six hours")),
    };
    if output.status.success() {
        return Ok(());
    }
    // A child that was killed printed nothing.
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let member = |name: &str| {
        printed
            .pointer(&format!("/error/{name}"))?
            .as_str()
            .map(str::to_owned)
    };
    match (member("code"), member("message"), member("hint")) {
        (Some(code), Some(message), Some(hint)) => Err(Failure::new(code, message, hint)),
        _ => Err(interrupted(&output.status.to_string())),
    }
}

fn interrupted(reason: &str) -> Failure {
    Failure::new(
        "backup_interrupted",
        format!("the daily backup was interrupted: {reason}"),
        "it is tried again within the next hour of activity; `wakeful backup FILE` makes one now",
    )
}
